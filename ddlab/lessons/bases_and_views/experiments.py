"""Lesson 40: the world of its records, runs that are watched, one outer step in small; the exercises stand in `exercises`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ... import methods, networks, theory
from ...data import predefined_views
from ...distilled import DistilledSet
from ...distilled.factorisation import decoded
from ...evaluation import probe
from ...methods import boost, krr_st
from ...networks import Network
from ...records import Place
from ...records import self_supervised as sweep
from ...records.self_supervised import BOOST, BUDGET, METHODS, PUBLISHED, SELECTED
from ...runs import cache, process
from ...runs.process import Inputs, Step
from ...training import pretraining
from .exercises import CHECKS

__all__ = [
    "CHECKS", "SETTING", "OuterStep", "Run", "config", "drawn", "first_coefficients", "images_of", "inner_network", "inputs",
    "outer_step", "selected", "teacher_accuracy", "untrained", "view_problem", "watched", "world", "worth",
]  # fmt: skip

SETTING = "shapes 16 px, ConvNet-3 of width 32 as teacher without labels"
FRAME_EVERY = 10  # outer iterations
_REAL = 256  # images in an outer loss, as in the teaching preset
_SAMPLES = 500  # of draws of several views


def world() -> sweep.World:
    """Images, other images, networks and pre-training of the records, so that a point of theirs can be repeated here."""
    return sweep.world(Place())


@functools.cache
def inputs() -> Inputs:
    """The images and the shipped teacher."""
    return world().inputs(Place())


def config(method: str, *, seed: int) -> krr_st.Config:
    """Of KRR-ST or Boost, as published but small: what the records ran."""
    _, found = world().config(method, budget=BUDGET, seed=seed, **PUBLISHED[method])
    return found


@dataclass
class Run:
    """A run that was watched.

    Attributes:
        frames: outer iteration -> uint8 images [m, c, h, w] after it. losses: of every outer iteration, before its step.
        filling: steps that filled the pool before. made: the set.
    """

    name: str
    filling: int
    frames: dict[int, Tensor] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    made: DistilledSet | None = None

    def keep(self, chosen: krr_st.Config, step: Step) -> None:
        """Look at a step as it passes."""
        iteration = step.index - self.filling
        if step.trace.phase == "outer":
            self.losses.append(float(step.trace.loss))
        last = step.index == step.total
        if iteration == 0 or (iteration > 0 and (iteration % FRAME_EVERY == 0 or last)):
            self.frames[iteration] = world().data.to_uint8(images_of(chosen, step.state.parameters))


def images_of(chosen: krr_st.Config, parameters: dict[str, Tensor]) -> Tensor:
    """The images that are distilled, without their views, normalised: [m, c, h, w]."""
    if isinstance(chosen, boost.Config):
        return decoded(parameters["image_coefficients"], parameters["image_bases"], scale=chosen.scale)
    return parameters["images"]


_watched: dict[tuple[str, int], Run] = {}


def watched(method: str, *, seed: int) -> Run:
    """A run of KRR-ST or Boost with a line of progress; the whole one is kept, so that running the cell again costs nothing.

    An interrupt leaves the part that is there.
    """
    if (method, seed) in _watched:
        return _watched[method, seed]
    chosen, module = config(method, seed=seed), methods.get(METHODS[method])
    run = Run(method, krr_st.filling_steps(chosen))
    options: dict[str, Any] = {"on_step": functools.partial(run.keep, chosen), "progress": True}
    run.made = cache.run(module, chosen, inputs(), **options)
    if not run.frames:  # its result was known, not its frames
        run.made = process.run(module, chosen, inputs(), **options)
    if run.made is not None and run.made.complete:
        _watched[method, seed] = run
    return run


def selected(*, seed: int, **changes: Any) -> DistilledSet:
    """Real images with the teacher's representations: by default as many random ones as the budget has images."""
    return sweep.distilled(sweep.point(SELECTED, seed=seed, **changes), Place())


def worth(made: DistilledSet, *, seed: int) -> dict[str, float]:
    """source, other: accuracy of a linear probe of one network that is pre-trained on the set; as the records measure it."""
    return sweep.accuracies(made, seed, Place())


@functools.cache
def untrained(*, seed: int) -> dict[str, float]:
    """The same of the network before its pre-training."""
    return sweep.unlearned(world().pretraining.replace(seed=seed), Place())


def teacher_accuracy() -> float:
    """Test accuracy of a linear probe of the teacher's features."""
    teacher, strength = inputs().teachers[0], sweep.PROBE_STRENGTH
    return probe(teacher, world().data, kind="linear", candidates=(strength,), device="cpu", keep=False).mean


@functools.cache
def inner_network(seed: int, *, width: int = 16) -> Network:
    """A network as the pool holds it halfway: 25 steps on twenty real images, their turned views and the teacher's representations.

    Args:
        width: channels of its first block; 16 are the pool's.
    """
    network = networks.spec("convnet", width=width, growth=2)
    chosen = pretraining.Config(network=network, epochs=25, seed=seed)
    return process.run(
        pretraining, chosen, Inputs(distilled=selected(seed=seed, augmentation="rotation"), device="cpu")
    )


@dataclass(frozen=True, kw_only=True)
class OuterStep:
    """What one outer loss is made from, in float64: distilled images [m, ...] and targets [m, d_y], real ones [n, ...] and [n, d_y]."""

    images: Tensor
    targets: Tensor
    real: Tensor
    wanted: Tensor


def outer_step(*, seed: int, pairs: int = BUDGET) -> OuterStep:
    """Random real images with the teacher's representations, as the pairs begin, and other real images to predict."""
    images, wanted = world().data, krr_st.teacher_features(inputs())
    chosen = krr_st.real_indices(len(wanted), pairs + _REAL, seed=seed)
    of_pairs, of_real = chosen[:pairs], chosen[pairs:]
    return OuterStep(
        images=images.normalised(of_pairs).double(),
        targets=wanted[of_pairs].double(),
        real=images.normalised(of_real).double(),
        wanted=wanted[of_real].double(),
    )


def view_problem(*, seed: int, pairs: int = 3) -> theory.ViewProblem:
    """A few distilled images, each with its turned views and the teacher's representations of them: few enough to count all draws."""
    step, teacher = outer_step(seed=seed, pairs=pairs), inputs().teachers[0]
    views = predefined_views.augmented(step.images.float(), "rotation")
    seen = networks.predict(teacher, views.flatten(0, 1)).features
    return theory.ViewProblem(
        images=step.images,
        targets=seen.double().unflatten(0, views.shape[:2]),
        real=step.real,
        wanted=step.wanted,
        features=theory.frozen_features(inner_network(seed, width=8)),  # of 128 features: all their slopes are held
    )


def drawn(*, seed: int, draws: int) -> theory.RandomViewGradients:
    """The outer gradients of drawn views: all draws of one view of each image, or `_SAMPLES` of several, which are too many."""
    samples = None if draws == 1 else _SAMPLES

    def compute() -> theory.RandomViewGradients:
        return theory.random_view_gradients(view_problem(seed=seed), draws=draws, samples=samples, seed=seed)

    return cache.remember(compute, "drawn views of lesson 40", seed, draws)


def first_coefficients(*, seed: int) -> Tensor:
    """C^y and C^y_a before the first step of Boost: [A + 1, m, V], those of the images first."""
    state = process.start(boost, config(BOOST, seed=seed), inputs())
    return state.parameters["representation_coefficients"]
