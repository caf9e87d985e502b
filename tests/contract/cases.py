"""The cases of the contract: each method with each of its choices, training in each of its roles,
the teacher without labels, and
pre-training on what it said. `MAIN` is one small config for each process, which holds every
property; the others are choices of a field.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ddlab import methods, networks
from ddlab.core import parameters
from ddlab.core.randomness import generator
from ddlab.data import ImageData, predefined_views
from ddlab.distilled import (
    DistilledSet,
    OnlineTeacher,
    OrderedSteps,
    RegressionLabels,
    Representations,
)
from ddlab.methods import fadrm, selection
from ddlab.methods.shared.own import from_loss
from ddlab.networks import Network
from ddlab.runs import Inputs, Step, process
from ddlab.runs.process import needs_teacher
from ddlab.training import ordered, supervised
from ddlab.unlabelled import pretraining, self_supervised, with_targets
from ddlab.unlabelled.self_supervised import barlow_twins

ANY_SIZE = "data and two teachers of any size"
PLAIN_TEACHERS = "data and three teachers without batch norm"
ORDERED = "set with ordered steps"
SEVERAL = "set and two teachers"
REGRESSION = "set with labels for a regression"
REPRESENTED = "set with representations of every view"
PLAIN = networks.spec("convnet", width=4, norm="none")


@dataclasses.dataclass(frozen=True)
class Case:
    """A process, its config, and what it runs on: "data", "data and teacher", ANY_SIZE, "set and
    teacher", SEVERAL,
    REGRESSION or REPRESENTED.
    """

    name: str
    module: Any
    config: Any
    runs_on: str


class ByObjective(self_supervised.Teacher):
    """A teacher whose update a test may replace: of a subclass only the fields are frozen."""


PARTS = (
    "NAME",
    "ALIASES",
    "NEEDS",
    "Config",
    "State",
    "Trace",
    "total_steps",
    "init",
    "update",
    "finish",
    "look",
    "SMALL",
    "Config.teaching",
    "Config.paper",
)


def lacking(module: Any) -> list[str]:
    """Which parts a method of the house has not."""
    return [
        part
        for part in PARTS
        if functools.reduce(lambda of, name: getattr(of, name, None), part.split("."), module)
        is None
    ]


def method_cases() -> Iterator[Case]:
    """Each method's `SMALL` as it is, and once for each value of each of its choices."""
    for name in methods.names():
        module = methods.get(name)
        missing = ", ".join(lacking(module))
        assert not missing, (
            f"{name} must have the parts that CONTRIBUTING.md lists under 'Add a method'; it "
            f"lacks {missing}."
        )
        yield Case(name, module, module.SMALL, "data and teacher")
        for field, described in parameters.describe(module.Config).items():
            for choice in described.choices or ():
                if choice != getattr(module.SMALL, field):
                    changed = module.SMALL.replace(**{field: choice})
                    runs_on = PLAIN_TEACHERS if choice == "pretrained" else "data and teacher"
                    runs_on = "data, set and teacher" if choice == "given" else runs_on
                    yield Case(f"{name}-{field}-{choice}", module, changed, runs_on)
        if not needs_teacher(module):
            yield Case(f"{name}-without-teacher", module, module.SMALL, "data")
    for kind in ("average", "k_means", "herding", "k_center"):
        config = selection.SMALL.replace(kind=kind, space="features")
        yield Case(f"selection-features-{kind}", selection, config, "data and teacher")
    yield Case(
        "data_residual_matching-small-size", fadrm, fadrm.SMALL.replace(small_size=6), ANY_SIZE
    )


def training_cases() -> Iterator[Case]:
    """Training as teacher and as student, on every kind of labels, with both optimisers."""
    small = supervised.SMALL
    for optimiser in ("adamw", "sgd"):
        for labels in ("hard", "online"):
            config = small.replace(optimiser=optimiser, labels=labels, batch_size=16, epochs=2)
            yield Case(f"teacher-{labels}-{optimiser}", supervised, config, "data and teacher")
        for labels in ("hard", "stored", "online"):
            config = small.replace(optimiser=optimiser, labels=labels)
            yield Case(f"student-{labels}-{optimiser}", supervised, config, "set and teacher")
    yield Case("student-several-teachers", supervised, small.replace(labels="online"), SEVERAL)
    config = small.replace(labels="regression")
    yield Case("student-regression", supervised, config, REGRESSION)
    for draw in ("xavier", "pytorch"):
        changed = ordered.Config(network=networks.spec("mlp", width=4), initial_weights=draw)
        yield Case(f"student-ordered-{draw}", ordered, changed, ORDERED)
    yield Case(
        "student-plain",
        supervised,
        small.replace(network=PLAIN, mixup_alpha=0.0),
        "set and teacher",
    )


def other_training_cases() -> Iterator[Case]:
    """The teacher without labels by every objective, and pre-training, with each optimiser;
    pre-training without batch norm.
    """
    for name, objective in self_supervised.OBJECTIVES.items():
        is_barlow_twins = objective is barlow_twins  # the package itself
        for optimiser in ("lars", "adamw"):
            process = self_supervised if is_barlow_twins else ByObjective(objective)
            config = objective.SMALL.replace(optimiser=optimiser)
            yield Case(
                f"self-supervised-{optimiser}{'' if is_barlow_twins else f'-{name}'}",
                process,
                config,
                "data",
            )
    small = pretraining.SMALL
    for optimiser in ("sgd", "adamw"):
        yield Case(
            f"pretraining-{optimiser}", pretraining, small.replace(optimiser=optimiser), REPRESENTED
        )
    yield Case(
        "pretraining-plain",
        pretraining,
        small.replace(network=PLAIN, final_fraction=0.1),
        REPRESENTED,
    )


def rela_cases() -> Iterator[Case]:
    """By every objective, and once for each way in which lambda falls, with W trained or not."""
    for name, objective in self_supervised.OBJECTIVES.items():
        yield Case(
            f"rela-{name}",
            with_targets,
            with_targets.SMALL.replace(objective=objective.SMALL),
            REPRESENTED,
        )
    for schedule in ("switch", "adaptive", "constant"):
        changes: dict[str, Any] = {
            "schedule": schedule,
            "subset": "static",
            "train_projection": True,
        }
        yield Case(
            f"rela-{schedule}", with_targets, with_targets.SMALL.replace(**changes), REPRESENTED
        )


def brighter(
    config: Any, inputs: Inputs, images: torch.Tensor, labels: torch.Tensor, step: int
) -> Any:
    """A loss with a parameter, a draw and two terms."""
    noise = torch.randn(len(images), generator=generator(config.seed, step, "weights")).to(
        images.device
    )
    weights = (1 + 0.1 * noise).view(-1, 1, 1, 1)
    return {
        "light": (weights * (images - config.light)).square().mean(),
        "size": 0.1 * images.abs().mean(),
    }


def own_cases() -> Iterator[Case]:
    """Methods from a loss."""
    process = from_loss(
        "brighter",
        brighter,
        light=parameters.parameter(0.5, help="Aim."),
        iterations=4,
        learning_rate=0.05,
    )
    for start in ("real", "noise"):
        config = process.Config(
            initialisation=start, images_per_class=2, valid_pixels=start == "real"
        )
        yield Case(f"from-loss-{start}", process, config, "data")


CASES = [*method_cases(), *own_cases(), *training_cases(), *other_training_cases(), *rela_cases()]
NETWORKS = (  # processes that finish with a network
    supervised,
    ordered,
    self_supervised,
    pretraining,
    with_targets,
    *map(ByObjective, self_supervised.OBJECTIVES.values()),
)
MATCHING = (  # published on small images
    "gradient_matching",
    "siamese_gradient_matching",
    "distribution_matching",
    "kernel_inducing_points",
    "label_solve",
)
MAIN = [  # one small config for each process: its `SMALL` where it is a method
    case
    for case in CASES
    if case.name
    in {
        *methods.names(),
        "from-loss-real",
        "teacher-hard-sgd",
        "student-online-sgd",
        "self-supervised-lars",
        "student-ordered-xavier",
        "pretraining-sgd",
        "rela-barlow_twins",
    }
]
PROCESSES = [
    *map(methods.get, methods.names()),
    supervised,
    self_supervised,
    pretraining,
    with_targets,
]


def bundle(case: Case, data: ImageData, teacher: Network, distilled: DistilledSet) -> Inputs:
    if case.runs_on == "set and teacher":
        return Inputs(distilled=distilled, teachers=(teacher,))
    if case.runs_on == REGRESSION:
        return Inputs(
            distilled=distilled.with_targets(
                RegressionLabels(distilled.target("stored").logits.tanh())
            )
        )
    if case.runs_on == REPRESENTED:
        views = predefined_views.augmented(distilled.images, "rotation")
        representations = torch.stack([networks.predict(teacher, view).features for view in views])
        return Inputs(
            distilled=dataclasses.replace(
                distilled,
                targets=(Representations({"representations": representations}, "rotation"),),
            )
        )
    if case.runs_on == SEVERAL:
        teachers = (teacher, networks.initialise(teacher.spec, seed=1))
        named = OnlineTeacher(teachers[0].fingerprint, (teachers[1].fingerprint,))
        return Inputs(distilled=distilled.with_targets(named), teachers=teachers)
    if case.runs_on == PLAIN_TEACHERS:
        plain = PLAIN.for_data(data)
        return Inputs(
            data=data, teachers=tuple(networks.initialise(plain, seed=seed) for seed in (0, 1, 2))
        )
    if case.runs_on == ORDERED:
        return Inputs(
            distilled=distilled.with_targets(OrderedSteps(torch.tensor([[0.1], [0.2], [0.3]])))
        )
    if case.runs_on == ANY_SIZE:
        pooled = networks.spec("shufflenet_v2_x0_5").for_data(data)
        return Inputs(
            data=data, teachers=tuple(networks.initialise(pooled, seed=seed) for seed in (0, 1))
        )
    from_set = distilled if case.runs_on == "data, set and teacher" else None
    return Inputs(
        data=data, teachers=(teacher,) if "teacher" in case.runs_on else (), distilled=from_set
    )


def states(case: Case, inputs: Inputs, state: Any = None) -> list[Step]:
    return list(process.steps(case.module, case.config, inputs, state))


class Unread(TorchDispatchMode):
    """Refuses to hand a computed number to Python: on a GPU the run would wait for it. (Indices lie
    on the CPU and are checked.)
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        read = "local_scalar_dense" in str(func) and args[0].is_floating_point()
        assert not read, "a look reads no number of a tensor"
        return func(*args, **(kwargs or {}))


def poisoned(part: Any) -> Any:
    """The same tensors, or names and tensors, full of NaN."""
    if isinstance(part, dict):
        return {name: poisoned(value) for name, value in part.items()}
    if isinstance(part, tuple):
        return tuple(map(poisoned, part))
    return part * torch.nan if part.is_floating_point() else part


def is_complete(result: DistilledSet | Network) -> bool:
    return result.complete if isinstance(result, DistilledSet) else result.provenance["complete"]


def assert_usable(result: DistilledSet | Network, inputs: Inputs) -> None:
    source = inputs.data or inputs.distilled
    assert source is not None
    if isinstance(result, Network):
        images = torch.zeros((2, source.channels, *source.image_size))
        assert networks.predict(result, images).logits.isfinite().all()
    else:
        assert result.images.isfinite().all() and result.images.shape[1:] == (
            source.channels,
            *source.image_size,
        )
        assert len(result) == len(result.images) and result.to_uint8().dtype == torch.uint8
        if any(target.kind == "representations" for target in result.targets):
            views, representations = result.pairs()
            assert len(views) == len(representations) and representations.isfinite().all()
        else:
            assert len(result.labels) == len(result.images)
