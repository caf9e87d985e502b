"""What a reader sees of every explorer, for `tests.freeze`: its sentence, plots, pictures and texts, after each of some moves.

A laboratory is one function of `LABS`: it builds the explorer on tiny data and gives the moves. Moves name a control by the field or
the words beside it, a button by its words. Nothing else of an explorer is used, so that its inside may change.

A plot is known by the titles of its axes, a trace by its name; "data" is what is drawn, "look" the rest. Times are masked.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets as widgets
import numpy as np
import torch

import ddlab
from ddlab import explorers, networks
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.explorers import Explorer
from ddlab.figures import encode_png, loss_curves
from ddlab.lessons.bases_and_views.bases_lab import BasesLab
from ddlab.lessons.bases_and_views.budget_lab import BudgetLab
from ddlab.lessons.bases_and_views.lab import SelfSupervisedLab
from ddlab.lessons.claims_on_trial import experiments
from ddlab.lessons.claims_on_trial.crop_lab import CropMaps
from ddlab.lessons.claims_on_trial.trial_card import TrialCard
from ddlab.lessons.data_residuals.lab import ResidualLab
from ddlab.lessons.diversity.lab import DiversityLab
from ddlab.lessons.diversity.latents import LatentConflict
from ddlab.lessons.ideal_data.lab import LandscapeLab, RhoLab, SigmaLab
from ddlab.lessons.inverting_a_network.diversity_view import DiversityView
from ddlab.lessons.shared.labels_against_images import LabelsAgainstImages
from ddlab.methods import boost, dwa, fadrm, sre2l
from ddlab.networks import Network
from ddlab.runs import Frame
from ddlab.training import supervised
from ddlab.training.pretraining import Config as Pretraining
from tests.support import made_data

_TIME = re.compile(r"about [\d.,]+ (s|min|h|seconds|minutes|hours)\b")
_CLASS = re.compile(r"(?:\w+\.(?:<locals>\.)?)+(?=\w+ must be)")
_DATA = ("x", "y", "z", "text", "customdata", "values", "labels", "error_x", "error_y", "i", "j", "k", "surfacecolor")


# -- moves


@dataclasses.dataclass(frozen=True)
class Move:
    """What a reader does.

    Attributes:
        words: for the names of the entries. plots: False where what the plots show depends on the speed of the machine.
    """

    words: str
    do: Callable[[Explorer], Any]
    plots: bool = True


def turn(name: str, value: Any) -> Move:
    """Set a control: the one of that field, or the one that has these words beside it."""

    def do(explorer: Any) -> None:
        panel = getattr(explorer, "panel", ())
        control = panel[name] if name in list(panel) else described(explorer, name)
        control.value = value

    return Move(f"{name} = {value!r}", do)


def slide(name: str, position: int) -> Move:
    """Set a slider over frames, or a list, to its entry of that number."""
    return Move(f"{name} at {position}", lambda explorer: setattr(described(explorer, name), "index", position))


def press(words: str, *, plots: bool = True) -> Move:
    """Click a button."""
    return Move(f"press {words}", lambda explorer: described(explorer, words, widgets.Button).click(), plots)


def restore(text: str) -> Move:
    """Type a shared text."""
    return Move(f"restore {text}", lambda explorer: setattr(described(explorer, "settings"), "value", text))


def drag(point: int, x: float, y: float) -> Move:
    """Move a point of the plot that lets points be moved."""

    def do(explorer: Explorer) -> None:
        plot = next(one for one in inside(explorer, "Plot") if one.draggable)
        plot.dragged = {"count": plot.dragged.get("count", 0) + 1, "point": point, "x": x, "y": y, "done": True}

    return Move(f"drag {point} to {x}, {y}", do)


def inside(box: Any, kind: str | None = None) -> Iterator[Any]:
    """The widgets of a kind in a box, from top to bottom."""
    for child in getattr(box, "children", ()):
        if kind is None or any(base.__name__ == kind for base in type(child).__mro__):
            yield child
        yield from inside(child, kind)


def described(explorer: Explorer, words: str, kind: type = widgets.Widget) -> Any:
    """The widget that has these words on it or beside it."""
    found = [one for one in inside(explorer) if isinstance(one, kind) and getattr(one, "description", "") == words]
    if not found:
        raise LookupError(f"{type(explorer).__name__} has nothing with {words!r} on it")
    return found[0]


def rest(explorer: Any) -> str:
    """Wait until nothing is computed: what was raised meanwhile, in words."""
    refused = ""
    for _ in range(2):  # what one thread has computed may start another
        for name in ("worker", "mapper", "runner", "beside"):
            thread = getattr(explorer, name, None)
            if thread is not None:
                try:
                    thread.join(300)
                except DDLabError as problem:
                    refused = str(problem)
    return refused


# -- what is seen


def look(explorer: Any, *, plots: bool = True) -> dict[str, Any]:
    """All that is on show, by name."""
    found: dict[str, Any] = {"sentence": masked(explorer.sentence), "error": masked(str(explorer.error or ""))}
    found["texts"] = [text for text in map(words_of, inside(explorer)) if text]
    found["settings"] = "".join(one.value for one in inside(explorer, "Text") if one.description == "settings")
    panel = list(getattr(explorer, "panel", ()))
    found["greyed"] = [name for name in panel if getattr(explorer.panel[name], "disabled", False)]
    for number, picture in enumerate(inside(explorer, "Picture"), 1):
        found[f"picture {number}/bytes"] = hashed(bytes(picture.value))
        found[f"picture {number}/alt"] = picture.alt
    seen: dict[str, int] = {}
    for plot in inside(explorer, "Plot") if plots else ():
        name = title_of(plot.figure)
        seen[name] = seen.get(name, 0) + 1
        name = f"plot {name}" if seen[name] == 1 else f"plot {name} ({seen[name]})"
        found |= {f"{name}/{part}": value for part, value in of_figure(plot.figure).items()}
        found[f"{name}/alt"], found[f"{name}/cursor"] = plot.alt, repr(plot.cursor)
    return found


def of_figure(figure: Any) -> dict[str, Any]:
    """Each trace's data and look, and each part of the layout."""
    plain, found = canonical(figure.to_plotly_json()), {}
    found["traces"] = [str(trace.get("name", "")) for trace in plain["data"]]
    for number, trace in enumerate(plain["data"]):
        name = f"trace {number} {trace.get('name', '')}"
        found[f"{name}/data"] = short({part: value for part, value in trace.items() if part in _DATA})
        found[f"{name}/look"] = short({part: value for part, value in trace.items() if part not in _DATA})
    return found | {f"layout/{part}": short(value) for part, value in plain["layout"].items()}


def title_of(figure: Any) -> str:
    """The titles of its axes."""
    if any(trace.type == "surface" for trace in figure.data):
        return "surface"
    return f"{figure.layout.xaxis.title.text or ''} | {figure.layout.yaxis.title.text or ''}"


def canonical(value: Any) -> Any:
    """Dicts, lists and texts alone; numbers by `repr` of the float, so that a list and an array of the same numbers are the same."""
    if isinstance(value, dict) and {"bdata", "dtype"} <= value.keys():
        array = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
        shape = [int(size) for size in str(value.get("shape", len(array))).split(",")]
        return canonical(array.reshape(shape))
    if isinstance(value, dict):
        return {str(name): canonical(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return repr(float(value))
    return value


def short(value: Any) -> str:
    """A JSON text, or its hash where it is long."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= 80 else f"{len(text)} characters {hashed(text.encode())}"


def hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def words_of(widget: Any) -> str:
    """The text of an HTML widget or a sentence, without marks."""
    if type(widget).__name__ == "Sentence":
        return masked(widget.text)
    if not isinstance(widget, (widgets.HTML, widgets.HTMLMath)):
        return ""
    text = re.sub(r"<style>.*?</style>", "", widget.value, flags=re.DOTALL)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in text.split("<tr>")[1:]]
    timed = rows[0].index("seconds") if rows and "seconds" in rows[0] else None
    table = "".join("\n" + " | ".join(cell for n, cell in enumerate(row) if n != timed) for row in rows)
    plain = re.sub(r"<[^>]*>", " ", text.split("<tr>")[0] + table)
    return masked("\n".join(" ".join(line.split()) for line in html.unescape(plain).splitlines() if line.strip()))


def masked(text: str) -> str:
    """Without times, and without the classes that a refusal may name before the field."""
    return _CLASS.sub("", _TIME.sub(r"about ... \1", text))


# -- the laboratories


Visit = tuple[Explorer, list[Move]]


@functools.cache
def plain_world() -> tuple[ImageData, Network]:
    """Grey images of 8 px and a network that has learned nothing."""
    data = made_data(size=8)
    return data, networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


@functools.cache
def taught_world() -> tuple[ImageData, Network]:
    """More of them, and a teacher that knows them."""
    data = made_data(train=30)
    config = supervised.Config.teaching(
        "teacher", network=networks.spec("convnet", width=8), epochs=20, batch_size=12, crop_pixels=0
    )
    return data, ddlab.train_teacher(data, config, device="cpu", progress=False)


def labels_against_images() -> Visit:
    data, teacher = taught_world()
    real = ddlab.distill("selection", data, teacher, device="cpu", progress=False)
    draw = torch.Generator().manual_seed(0)
    noise = ddlab.from_images(torch.randn(real.images.shape, generator=draw), real.labels, data, teacher)
    config = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=20)
    explorer = LabelsAgainstImages(data, teacher, {"real": real, "noise": noise, "recovered": real}, config)
    return explorer, [
        turn("images", "noise"),
        turn("labels", "online"),
        turn("seed", 3),
        restore('images="recovered",labels="stored"'),
        turn("labels", "hard"),
    ]


def live_recovery() -> Visit:
    data, teacher = plain_world()
    explorer = explorers.Live("sre2l", data, teacher, sre2l.Config.teaching(iterations=20))
    return explorer, [
        press("Step"),
        press("Step"),
        turn("lambda_var", 0.5),
        press("Step"),
        press("Step"),
        press("Step"),
        turn("initialisation", "real"),
        press("Step"),
        press("Play", plots=False),
        press("Reset"),
        restore("seed=5"),
    ]


def recovery_film() -> Visit:
    data, teacher = plain_world()
    inputs = ddlab.Inputs(data=data, teachers=(teacher,), device="cpu")
    run = ddlab.Run(sre2l, sre2l.Config.teaching(iterations=50), inputs, keep=ddlab.Keep(10)).advance()
    return explorers.film(run), [slide("step", 0), slide("step", 3)]


def scrubber() -> Visit:
    frames = [Frame(step, encode_png(np.full((4, 4, 3), step, np.uint8))) for step in range(5, 55, 5)]
    curve = loss_curves({"loss": np.arange(50.0)})
    explorer = explorers.Scrubber(frames, curve, describe=lambda index: f"loss {index - 1}.")
    return explorer, [slide("step", 1), slide("step", 7)]


def diversity_view() -> Visit:
    data, teacher = taught_world()
    inputs = ddlab.Inputs(data=data, teachers=(teacher,), device="cpu")
    run = ddlab.Run(sre2l, sre2l.Config.teaching(iterations=12), inputs, keep=ddlab.Keep(tuple(range(1, 13))))
    recovered = run.to_end()
    chosen = ddlab.distill("selection", data, teacher, device="cpu", progress=False)
    sets = {"random": chosen, "recovered": recovered}
    explorer = DiversityView(data, teacher, sets, films={"recovered": run}, points=60)
    return explorer, [
        turn("images", "recovered"),
        turn("frame", 0),
        turn("layer", "logits"),
        drag(1, 0.5, 0.5),
        turn("perplexity", 10),
        turn("map", "t-SNE"),
        press("Other seed"),
    ]


def diversity_lab() -> Visit:
    data, teacher = taught_world()
    student = supervised.Config.teaching(network=networks.spec("convnet", width=8), epochs=3)
    config = dwa.Config(images_per_class=2, iterations=6, roll_pixels=2)
    explorer = DiversityLab(data, teacher, config, student=student, points=60, at_once=1e9)
    return explorer, [
        press("Run"),
        turn("initialisation", "noise"),
        turn("layer", "logits"),
        turn("coupled", True),
        turn("perturbation", "none"),
        turn("images_per_class", 3),
        restore("seed=2"),
    ]


def latent_conflict() -> Visit:
    return LatentConflict(), [
        turn("lambda_var", 1.0),
        turn("updates", 30),
        drag(2, 1.234, -2.0),
        turn("latents", 9),
        turn("lambda_mean", 0.0),
        press("Other points"),
        press("Reset"),
        restore('latents=3,hand="1.2.3.4.5.6",updates=12'),
    ]


_TOYS = [
    turn("momentum", 0.5),
    turn("landscape", "contours"),
    turn("landscape", "3-D"),
    press("Other seeds"),
    press("Reset"),
]


def sigma_lab() -> Visit:
    moves = [turn("deviation", 0.45), turn("gap", 2.0), turn("measure", "share wrong")]
    return SigmaLab("steps=60,seeds=3"), moves + _TOYS


def rho_lab() -> Visit:
    moves = [turn("relabelling", 0.75), turn("teacher_deviation", 0.5), turn("measure", "share wrong")]
    return RhoLab("steps=60,seeds=3,deviation=1,relabelling=0.5"), moves + _TOYS


def landscape_lab() -> Visit:
    return LandscapeLab("steps=60,seeds=3"), [turn("deviation", 0.3), turn("plane", "random filters")]


def landscape_lab_of_rho() -> Visit:
    explorer = LandscapeLab("steps=60,seeds=3,deviation=1,relabelling=0.5", vary="relabelling")
    return explorer, [turn("relabelling", 0.25), turn("landscape", "3-D")]


def crop_maps() -> Visit:
    explorer = CropMaps(made_data(size=12, channels=3), images=6, views=3)
    return explorer, [
        turn("least_area", 0.04),
        turn("second", "c"),
        turn("least_area", 1.0),
        turn("first", "c"),
        restore('least_area=0.3,second="b"'),
    ]


def residual_lab() -> Visit:
    data = made_data(size=16, channels=3)
    teacher = networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0)
    config = fadrm.Config(
        images_per_class=2, iterations=12, merges=2, small_size=8, roll_pixels=1, candidates_per_class=8
    )
    student = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)
    explorer = ResidualLab(data, teacher, config, student=student, seeds=2)
    measures: Any = explorer.panel["measure"]
    return explorer, [
        turn("merge_ratio", 0.3),
        turn("class", "b"),
        slide("step", 5),
        *(slide_field("measure", position) for position in range(len(measures.options))),
        turn("merges", 3),
        turn("small_size", 16),
        turn("patches", "mosaic"),
        turn("initialisation", "noise"),
        press("Train students"),
        turn("images_per_class", 3),
        restore("merge_ratio=2"),
        press("Reset"),
        slide("step", 2),
        press("Train students"),
    ]


def slide_field(name: str, position: int) -> Move:
    """Set the control of a field to its entry of that number."""
    return Move(f"{name} at {position}", lambda explorer: setattr(explorer.panel[name], "index", position))


def bases_lab() -> Visit:
    explorer = BasesLab(made_data(size=8, channels=3, train=12, test=8), settings="bases=7")
    return explorer, [
        turn("bases", 20),
        turn("page", 2),
        turn("split", "training"),
        turn("below", "last bases"),
        turn("below", "nothing"),
        turn("scale", 4),
        turn("image_mean", "lost"),
        restore("bases=4"),
    ]


def bases_lab_with_a_teacher() -> Visit:
    data = made_data(size=8, channels=3, train=12, test=8)
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=1)
    explorer = BasesLab(data, teacher, settings="bases=7,representation_bases=3")
    return explorer, [turn("representation_bases", 5), turn("representation_mean", "lost"), turn("scale", 1)]


def budget_lab() -> Visit:
    explorer = BudgetLab()
    presets = described(explorer, "Table 5").options
    return explorer, [
        *(slide("Table 5", position) for position in range(1, len(presets))),
        turn("images", 5),
        turn("augmentation", "crop"),
        turn("shift", "stored"),
        turn("scale", 4),
        press("Reset"),
        restore("images=20,representation_size=64,representation_bases=16,image_bases=16,channels=1"),
    ]


def self_supervised_lab() -> Visit:
    data, other = made_data(size=8, train=60), made_data(size=8, seed=5)
    teacher = networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=0)
    inner = networks.spec("convnet", width=2, depth=2)
    config = boost.Config(
        budget=12,
        image_bases=6,
        representation_bases=3,
        hidden=2,
        network=inner,
        pool_size=2,
        pool_steps=4,
        iterations=6,
        batch_size=16,
        learning_rate=1e-2,
    )
    learning = Pretraining(network=inner, epochs=3)
    explorer = SelfSupervisedLab(data, teacher, config, other=other, pretraining=learning, candidates=(1e-2,))
    return explorer, [
        turn("image_bases", 5),
        turn("scale", 4),
        turn("scale", 2),
        turn("augmentation", "crop"),
        press("Run"),
        slide("outer step", 3),
        turn("all_views", True),
        press("Pre-train and probe"),
        turn("method", "KRR-ST"),
        press("Run"),
        press("Pre-train and probe"),
        turn("method", "Boost"),
        turn("bases_start", "random"),
        turn("shift", "bias"),
        restore("scale=3"),
        press("Reset"),
        press("Run"),
    ]


def trial_cards() -> Iterator[tuple[str, Visit]]:
    """Every trial: answered, then at three settings."""
    for name, trial in experiments.trials().items():
        card = TrialCard(trial)
        answer = Move("answer", lambda card, trial=trial: card.commit(trial.verdict))
        some = experiments.some_settings(trial.parameters, 3)
        yield f"trial {name}", (card, [answer, *(restore(view.to_string()) for view in some)])


LABS: dict[str, Callable[[], Visit]] = {
    "labels against images": labels_against_images,
    "live recovery": live_recovery,
    "recovery film": recovery_film,
    "scrubber": scrubber,
    "diversity view": diversity_view,
    "diversity lab": diversity_lab,
    "latent conflict": latent_conflict,
    "sigma lab": sigma_lab,
    "rho lab": rho_lab,
    "landscape lab": landscape_lab,
    "landscape lab of rho": landscape_lab_of_rho,
    "crop maps": crop_maps,
    "residual lab": residual_lab,
    "bases lab": bases_lab,
    "bases lab with a teacher": bases_lab_with_a_teacher,
    "budget lab": budget_lab,
    "self-supervised lab": self_supervised_lab,
}


def seen() -> dict[str, Any]:
    """What is on show in every laboratory, at first and after each move."""
    found: dict[str, Any] = {}
    for name, make in LABS.items():
        found |= visited(name, *make())
    for name, (card, moves) in trial_cards():
        found |= visited(name, card, moves)
    return found


def visited(name: str, explorer: Explorer, moves: list[Move]) -> dict[str, Any]:
    """What one explorer shows, by move; it is closed afterwards."""
    found: dict[str, Any] = {}
    try:
        for number, move in enumerate([Move("at first", lambda _: None), *moves]):
            refused = ""
            try:
                move.do(explorer)
            except DDLabError as problem:  # outside a kernel a refusal is raised as well as shown
                refused = str(problem)
            refused = rest(explorer) or refused
            shown = look(explorer, plots=move.plots) | {"refused": masked(refused)}
            found |= {f"{name}/{number} {move.words}/{part}": value for part, value in shown.items()}
    finally:
        explorer.close()
    return found
