"""What several laboratories share, ready to be declared: a method's world, strips of images, the
curve of a run.

class World(MethodWorld):
    method, settings, first = dd, Settings, dd.Config.teaching()
"""

import dataclasses
import functools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ..core import Parameters, describe, errors, parameter
from ..data import ImageData
from ..distilled import DistilledSet, OrderedSteps
from ..evaluation.students import student_accuracy
from ..figures import add_reference, encode_grid, loss_curves
from ..methods import selection
from ..networks import Network, NetworkSpec
from ..runs import Frame, Inputs, Keep, Run, Runs, cache
from ..training import supervised
from .schedule import Results
from .views import Named, Strip

HEIGHT = 356  # of a plot, in pixels
# Pixels that a grid, and an image in a strip, are wide at least, where whole multiples allow it.
_ROW = 480
_CELL = 112
_WIDEST = 640
# The frame of the chosen image; Okabe and Ito's orange is seen on light and on dark.
_EDGE = 4
# Red, green and blue of that orange.
_MARK = (230, 159, 0)
_MISSING = 128  # the grey of an image that is not there yet

Watch = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SteppedSettings(Parameters):
    """Settings of a laboratory that shows one step of a run."""

    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


def world_of(first: Parameters) -> type[Any]:
    """Return a world of nothing but its first settings: all there is to see follows from them."""
    attributes = {"__doc__": type(first).__doc__, "__module__": type(first).__module__}
    return type("World", (), {"start": first, **attributes})


class MethodWorld:
    """Data, and where the controls start: a method's settings, its run for each of them, and
    students.

    Attributes:
        method: a process.
        settings: what a reader moves, a subclass of its Config.
        first: the Config where the controls start.
        frames: how many moments of a run are kept, spread evenly, beside its beginning. frame: what
            one holds, as in `Keep.make`.
        learning: how students are trained. seeds: of the students of each set.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method: Any
    settings: type[Any]
    first: Any
    frames = 20
    frame: Any = None

    def __init__(
        self,
        data: ImageData,
        config: Any = None,
        *,
        teacher: Network | None = None,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        """
        Args:
            data: what is distilled.
            config: where the controls start; default `first`.
            teacher: of a method that needs one.
            student: how students are trained; default `supervised.Config.quick(data)`.
            seeds: how many students of each set.
            device: of the runs.
        """
        self.data = errors.check_instance("data", data, ImageData)
        config = self.first if config is None else config
        errors.check_instance(
            "config", config, self.method.Config, f"a {self.method.NAME} Config or None"
        )
        needs_teacher = "teacher" in getattr(self.method, "NEEDS", ())
        teachers = (errors.check_instance("teacher", teacher, Network),) if needs_teacher else ()
        self.inputs = Inputs(data=data, teachers=teachers, device=device)
        errors.check_instance(
            "student", student, (supervised.Config, type(None)), "a training Config or None"
        )
        self.learning = supervised.Config.quick(data) if student is None else student
        self.seeds = range(errors.check_integer("seeds", seeds, 1, 20))
        self.start = self.started(config)
        self._runs = Runs()

    def started(self, config: Any) -> Any:
        """Return the first settings: every field of the Config as it was given."""
        return self.settings(**vars(config))

    def config(self, settings: Any) -> Any:
        """Return the config that the method is given."""
        return _method_config(settings, self.method.Config)

    def run(self, settings: Any) -> Run:
        """Return the run with these settings, as far as it has come."""
        return self.of(self.config(settings))

    def of(self, config: Any, inputs: Inputs | None = None) -> Run:
        """Return the run with this Config, and with other inputs than the world's where it is told some."""
        return self._runs.get(
            self.method, config, self.inputs if inputs is None else inputs, self.keep(config)
        )

    def keep(self, config: Any) -> Keep:
        """Return which frames of a run are kept."""
        return Keep(self.frames + 1, self.frame)

    def chosen(self, kind: str, images_per_class: int = 1, seed: int = 0) -> DistilledSet:
        """Choose real images by a rule of `selection`, or average them; nothing is learned."""
        config = selection.Config(kind=kind, images_per_class=images_per_class, seed=seed)
        return cache.run(selection, config, self.inputs)

    def taught(
        self, distilled: DistilledSet, students: Sequence[Any], watch: Watch
    ) -> tuple[float, ...]:
        """Return the test accuracies of students of a set, one for each Config of a training.

        Those of one seed share first weights and views.
        """
        # Without the data: a student must not see what it is tested on.
        inputs = dataclasses.replace(self.inputs, data=None, distilled=distilled)
        accuracies = []
        for number, config in enumerate(students):
            words = f"student {number + 1} of {len(students)}" if len(students) > 1 else "student"
            on_step = lambda step, words=words: watch(words, step.index / step.total)  # noqa: E731
            accuracies.append(student_accuracy(config, inputs, self.data, on_step=on_step))
        return tuple(accuracies)

    def mean_taught(self, distilled: DistilledSet, students: Sequence[Any], watch: Watch) -> float:
        """Return the mean of these accuracies."""
        return statistics.fmean(self.taught(distilled, students, watch))


# A drawing asks for the configs of the settings on show and of those before: each is built once.
@functools.lru_cache(maxsize=256)
def _method_config(settings: Any, config: type[Any]) -> Any:
    return settings.part(config)


def in_steps(
    chosen: DistilledSet, network: NetworkSpec, rates: Tensor, passes: int = 1
) -> DistilledSet:
    """Return images that learned no rates as the steps of a training.

    Its network starts as PyTorch starts.

    Args:
        network: with its channels, classes and size.
        rates: [steps, 1], of each step.
        passes: over all steps.
    """
    provenance = {"network": network.to_dict(), "initial_weights": "pytorch"}
    steps = chosen.with_targets(OrderedSteps(rates, passes=passes))
    return dataclasses.replace(steps, provenance=chosen.provenance | provenance)


def values_by_setting(
    results: Results,
    compute: Callable[..., Any],
    settings: Parameters,
    name: str,
    *other_arguments: Any,
) -> dict[Any, Any]:
    """Return what is known by the value of one field, the smallest first.

    Only settings that differ from those asked for in this field alone count.

    Args:
        compute: the job that was computed, a function of (settings, *other_arguments).
    """
    without_field = {name: None}
    own_fields = vars(settings) | without_field
    computed = results.every(compute)
    values = {
        getattr(other_settings, name): value
        for (other_settings, *arguments), value in computed
        if (*arguments,) == other_arguments and vars(other_settings) | without_field == own_fields
    }
    return dict(sorted(values.items()))


def tried_by_arm(
    results: Results,
    compute: Callable[..., Any],
    settings: Parameters,
    along: str,
    arm: str,
    *other_arguments: Any,
) -> dict[Any, dict[Any, Any]]:
    """Return `values_by_setting` for each choice of a second field that was tried.

    The choice on show comes first, whether or not anything is known of it; the others stay beside it
    as its rivals.
    """
    own_choice = getattr(settings, arm)
    other_choices = [
        choice for choice in describe(settings)[arm].choices or () if choice != own_choice
    ]
    arms = {}
    for choice in (own_choice, *other_choices):
        at_choice = settings.replace(**{arm: choice})
        values = values_by_setting(results, compute, at_choice, along, *other_arguments)
        if values or choice == own_choice:
            arms[choice] = values
    return arms


def earlier_update(results: Results, before: int = 0) -> str:
    """Return a sentence that names the update on show, "" where it is the end of the run.

    Args:
        before: updates of the run that are none of the images.
    """
    if results.step is None or results.step >= results.run.total:
        return ""
    step, total = max(results.step - before, 0), results.run.total - before
    return f" On show is update {step} of {total}; these numbers are those of the last one."


def frame_at(run: Run, step: int) -> Frame | None:
    """Return the frame of this very step, where it is there."""
    frame = run.at(step)
    return frame if frame is not None and frame.step == step else None


def strip(images: Mapping[str, Tensor | None], size: tuple[int, int], *, chosen: str = "") -> bytes:
    """Encode images beside each other, each under its name, the chosen one framed.

    Args:
        images: name -> uint8 [channels, height, width], or None for one that is not there yet,
            which is grey.
        size: (height, width).
    """
    # A page would shrink a wider strip, and its captions with it.
    width = min(_CELL, _WIDEST / len(images))
    scale = max(1, round(width / size[1]))
    cells = []
    for name, image in images.items():
        pixels = np.full((*size, 3), _MISSING, np.uint8)
        if image is not None:
            pixels[:] = image.numpy().transpose(1, 2, 0)
        cell = pixels.repeat(scale, 0).repeat(scale, 1)
        if name == chosen:
            cell[:_EDGE] = cell[-_EDGE:] = cell[:, :_EDGE] = cell[:, -_EDGE:] = _MARK
        cells.append(cell)
    heads = [f"{name}{' ...' * (image is None)}" for name, image in images.items()]
    return encode_grid(np.stack(cells), columns=len(cells), column_labels=heads, gap=6)


def learned_images(data: ImageData, frame: Frame, rows: int) -> tuple[bytes, str]:
    """Encode the images of a frame, a column for each class, and describe them in words.

    Its `content.images` has classes in turn.
    """
    pixels = data.to_uint8(frame.content.images[: rows * data.classes])
    names = [name if len(name) <= 8 else f"{name[:7]}." for name in data.class_names]
    alt = (
        f"{rows} learned {'image' if rows == 1 else 'images'} of each class after update "
        f"{frame.step}, "
        f"a column for each of {', '.join(data.class_names)}."
    )
    return encode_grid(
        pixels, data.classes, cell=_ROW / data.classes, column_labels=names, gap=4
    ), alt


def learned_images_strip(most_rows: int = 1) -> Strip:
    """Return a view of the frame on show as a row of images for each of the first images per class."""

    def data(world: MethodWorld, settings: Any, results: Results) -> Named:
        return {
            "data": world.data,
            "frame": results.frame,
            "rows": min(settings.images_per_class, most_rows),
        }

    return Strip(data, learned_images)


def run_curve(
    name: str,
    points: Sequence[tuple[int, float]],
    *,
    total: int,
    references: Mapping[str, float] | None = None,
    **options: Any,
) -> go.Figure:
    """Draw one number along a run, so far, beside levels that are known without it.

    Args:
        points: (step, number).
        total: steps of the whole run.
        references: name -> level.
        options: of `figures.loss_curves`.
    """
    steps, values = zip(*points, strict=True)
    figure = loss_curves(
        {name: list(values)}, list(steps), x_label="update", height=HEIGHT, **options
    )
    for reference, level in (references or {}).items():
        add_reference(figure, reference, level)
    return figure.update_xaxes(range=[0, total])
