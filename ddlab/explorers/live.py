"""Any process in front of the reader: sliders from its Config, play and stop, images, curves, and
what they are worth.

    Live("sre2l", data, teacher)                       # every name of methods.names(), and their aliases
    Live(ddlab.training.supervised, data)              # a network that learns: curves alone
    Live(mine, data, teacher, mine.Config(steps=50))   # a process of your own; the docstring of `ddlab.runs` has one
    Live(run)                                          # a film: back and forth through a `Run` that was advanced

It starts paused, before any update, or with the last frame of the run that it is given. Moving a
control begins the run with the new setting and the same seed, and goes on playing if it did; the
curve of the run before stays. A run that was played is remembered: its settings show it again.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go
import torch

from .. import methods
from ..core import Parameters, describe, errors, parameter
from ..core.parameters import with_field
from ..data import ImageData
from ..distilled import DistilledSet
from ..runs import Frame, Inputs, Keep, Run, Step
from ..runs.inputs import Teachers, as_teachers
from ..training import supervised
from . import looks
from .jobs import Compute, Part, Value
from .lab import Lab
from .live_students import accuracies
from .ready import Watch
from .schedule import Results
from .views import Named, Row, Strip, View

_KEEP = Keep(60)  # frames of a run, spread evenly; those at which it rested are kept too
_RUNS = 8  # that are remembered


class World:
    """A process, what it runs on, and where the controls start.

    Args:
        method: name or alias of a method, or a process: `ddlab.training.supervised`,
            `self_supervised.Teacher(objective)`, one of your own; or a `Run` that has begun, which
            says all but the last two.
        data: the images that it runs on; a distilled set for a process that trains on one.
        teacher: one network or several, for processes that need them.
        config: where the controls start; default the Config's preset for these data, or its
            teaching preset.
        first: the fields that are seen at once; default the first four that can be explored. The
            others are folded away.
        device: of the runs.

    Raises:
        DDLabError: what is no process, a config of another one, what the process says of its
            inputs, or a run without looks.
    """

    def __init__(
        self,
        method: Any,
        data: ImageData | DistilledSet | None = None,
        teacher: Teachers | None = None,
        config: Parameters | None = None,
        *,
        first: Sequence[str] | None = None,
        device: torch.device | str = "auto",
    ) -> None:
        self.film: Run | None = None
        start: Any = config
        if isinstance(method, Run):
            looks.check_looks("run", method.frames)
            self.film = method
            self.process = method.process
            self.inputs = method.inputs
            start = method.config
            data = self.inputs.distilled if self.inputs.data is None else self.inputs.data
        else:
            self.process = methods.get(method)
            errors.check_instance(
                "data", data, (ImageData, DistilledSet), "an ImageData or a DistilledSet"
            )
            source: dict[str, Any] = {
                "distilled" if isinstance(data, DistilledSet) else "data": data
            }
            self.inputs = Inputs(**source, teachers=as_teachers(teacher, "teacher"), device=device)
            start = _first_config(self.process, data) if config is None else config
        # Not `Runs`, which finds a run by its process's source: one of a reader's own may change
        # while it runs.
        self._runs: OrderedDict[Any, Run] = OrderedDict()
        first_run = self.of(start) if self.film is None else self.film
        first_run.begin()
        # A step beside the process's own fields, so that it is shared and restored with them.
        self.settings = with_field(
            self.process.Config,
            step=(int | None, parameter(None, range=(0, None), help="Where in the run.")),
        )
        self.start = self.settings(**vars(start))
        self.first, self.folded = _split_fields(start, first)
        self.has_images = looks.picture(self.inputs, first_run.frames[-1]) is not None
        self.can_teach = self.has_images and isinstance(data, ImageData)

    def run(self, settings: Any) -> Run:
        """Return the run with these settings, as far as it has come."""
        return self.of(settings.part(self.process.Config))

    def of(self, config: Any) -> Run:
        """Return the run with this Config; the last ones are remembered."""
        if self.film is not None and config == self.film.config:
            return self.film
        if config not in self._runs:
            self._runs[config] = Run(self.process, config, self.inputs, keep=_KEEP)
        self._runs.move_to_end(config)
        while len(self._runs) > _RUNS:
            self._runs.popitem(last=False)
        return self._runs[config]

    def student_words(self, settings: Any, step: int, *, watch: Watch) -> str:
        """Train students of the images at a step and of random real ones; say what they learn."""
        run = self.run(settings).advance(until=step)
        distilled = run.process.finish(run.config, run.inputs, run.state(step))

        def on_step(student_step: Step) -> None:
            watch("student", student_step.index / student_step.total)

        errors.check_instance("what is trained on", distilled, DistilledSet)
        return accuracies(distilled, self.inputs, on_step)


def list_jobs(world: World, settings: Any, run: Run) -> list[Part]:
    """Return the state before the first update: all else is done when a button asks for it."""
    return [Part(run, 0)]


def play(world: World, settings: Any, results: Results) -> list[Run]:
    """Return the rest of the run."""
    return [results.run]


def step_once(world: World, settings: Any, results: Results) -> list[Part]:
    """Return the next update."""
    run = results.run
    return [] if run.complete or results.doing(run) else [Part(run, run.step + 1)]


def train(world: World, settings: Any, results: Results) -> list[Value]:
    """Return the students of the step on show."""
    return [Value(world.student_words, settings, results.step or 0)]


def state_of(results: Results) -> str:
    """Return whether the run is running, finished or paused."""
    if results.doing(results.run):
        return "running"
    return "finished" if results.run.complete else "paused"


class Curves(View):
    """Charts of a run's numbers, of which the reader chooses one."""

    def widget(self, drawing: Any) -> Any:
        return looks.Charts(*drawing)

    def show(self, widget: Any, drawing: Any) -> None:
        widget.draw_by(*drawing)


def picture_data(world: World, settings: Any, results: Results) -> Named:
    """Return the frame on show."""
    return {"inputs": world.inputs, "frame": results.frame}


def picture(inputs: Inputs, frame: Frame) -> tuple[bytes, str]:
    """Draw the images of a frame; only processes that have some show this."""
    drawing = looks.picture(inputs, frame)
    assert drawing is not None
    return drawing


def curves_data(world: World, settings: Any, results: Results) -> tuple:
    """Return the frames so far, those of the run before and how it differs, and the one on show."""
    earlier: tuple[Frame, ...] = ()
    difference = ""
    # The newest of the earlier settings whose run was played; one that was only looked at has no
    # curve.
    for past in results.past[1:]:
        run = world.run(past)
        if any(frame.content.numbers for frame in run.frames):
            earlier = run.frames
            difference = _difference(run.config, results.run.config)
            break
    return results.frames, earlier, difference, results.frame


def curves(
    frames: Sequence[Frame], earlier: Sequence[Frame], difference: str, on_show: Frame
) -> tuple[Callable[[str | None], tuple[go.Figure, float | None]], list[str]]:
    """Return what draws a chart of a name, and the names of the charts."""

    def draw(name: str | None) -> tuple[go.Figure, float | None]:
        figure = looks.curve(frames, name, (difference, earlier))
        return figure, None if name is None else looks.cursor(on_show, name)

    # A curve that the newest frame is on comes first, and has a marker.
    return draw, looks.chart_names([frames[-1], *earlier, *frames])


def sentence(world: World, settings: Any, results: Results) -> str:
    """Say where the run stands, its numbers, and what students have learned."""
    run = results.run
    frame = results.frame
    if frame.step == 0 and run.step == 0:
        fields = [f"{name.replace('_', ' ')} {getattr(run.config, name)}" for name in world.first]
        words = f" with {', '.join(fields)}" if fields else ""
        return f"Before the first of {run.total} updates{words}: press Play."
    numbers = looks.words(frame.content)
    beside = f": {numbers}" if numbers else ""
    return f"Step {frame.step} of {run.total}, {state_of(results)}{beside}.{_students(world, settings, results)}"


def _students(world: World, settings: Any, results: Results) -> str:
    """Return what the last students of this run have learned, or ""."""
    words = ""
    for (of_settings, step), accuracy_words in results.every(world.student_words):
        if of_settings == settings:
            words = f" Students of the images at step {step}: {accuracy_words}."
    return words


def buttons(world: World) -> list[Compute]:
    """Return the buttons; students are for images alone."""
    compute_buttons = [
        Compute("Play", play, "play", "Let the run go on", stays=False, goes_on=True),
        Compute(
            "Step", step_once, "step-forward", "One step, then rest", stays=False, shows_end=True
        ),
    ]
    if world.can_teach:
        hint = "On the images of this step, and one on as many random real images"
        compute_buttons.append(
            Compute("Train a student", train, "graduation-cap", hint, stays=False)
        )
    return compute_buttons


def views(world: World) -> list[Any]:
    """Return the images of the step on show, where it has some, and the curves."""
    charts = Curves(curves_data, curves)
    return [Row(Strip(picture_data, picture), charts) if world.has_images else charts]


Live = Lab(
    lambda world: f"{_title(world.process)}, {'live' if world.film is None else 'as it went'}",
    World,
    controls=lambda world: world.first,
    folded=lambda world: world.folded,
    # A stop is a whole run, which may take minutes: the page of a lesson has the film of one.
    recorded=lambda world: dict.fromkeys(world.first, 1),
    run=World.run,
    jobs=list_jobs,
    opens_with=1,
    shows_newest=True,
    job_words=lambda world, run: f"step {run.step}",
    buttons=buttons,
    views=views,
    sentence=sentence,
)


def _split_fields(config: Parameters, first: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the fields that are seen at once, and those that are folded away."""
    described = describe(config)
    explorable = [
        name
        for name, field in described.items()
        if field.explorable is not None and getattr(config, name) is not None
    ]
    fields = explorable[:4] if first is None else first
    errors.check_instance("first", fields, (list, tuple), "a list of fields")
    fields_in_front = [errors.check_choice("first", name, tuple(described)) for name in fields]
    return fields_in_front, [name for name in explorable if name not in fields_in_front]


def _title(process: Any) -> str:
    """Return a process's title as its paper has it.

    A module of ours begins with that name and a colon.
    """
    name, colon, _ = (process.__doc__ or "").partition(":")
    return (
        name
        if colon and len(name) < 40 and "\n" not in name
        else str(process.NAME).replace("_", " ").capitalize()
    )


def _first_config(process: Any, data: Any) -> Parameters:
    """Return the preset of a process for these data."""
    if process is supervised and isinstance(data, ImageData):
        return supervised.Config.for_data(data, "teacher")
    if hasattr(process.Config, "for_data"):
        return process.Config.for_data(data)
    return getattr(process.Config, "teaching", process.Config)()


def _difference(earlier: Any, later: Any) -> str:
    """Say in which settings two configs differ."""
    changed = [name for name in describe(earlier) if getattr(earlier, name) != getattr(later, name)]
    return ", ".join(f"{name} {getattr(earlier, name)}" for name in changed) or "same settings"
