"""What the laboratory of self-supervised distillation shows, from what it knows: images, curves, map, bill, tables and the sentence."""

from __future__ import annotations

import statistics
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ..errors import DDLabError
from ..figures import encode_grid, loss_curves, sets_on_map, storage_bill
from ..methods import kernel_ridge_self_supervised as krr
from ..methods import parameterised_self_supervised as boost
from ..predefined_views import NAMES
from .self_supervised_runs import Frame, Run, SelfSupervisedRuns
from .self_supervised_view import BOOST, KRR_ST, PCA, SelfSupervisedView, name_of, process_of
from .self_supervised_worth import Worth
from .tables import table

COLUMNS = 10  # images in a row
_CELL = 72  # pixels that an image is wide at least, where whole multiples allow it
_MEAN_OF = 10  # outer steps: each is another batch and another network
_COMPARED = 3  # runs on the curves beside the one on show
_HEIGHT = 380
_TARGETS, _VIEWS, _SAID = "targets of the images", "targets of the views", "teacher on the images"
_SIZES = {_TARGETS: 9, _VIEWS: 5, _SAID: 7}  # of their points: views are many
_LOW = 290  # of plots that have the whole width


def picture(runs: SelfSupervisedRuns, run: Run, frame: Frame, view: SelfSupervisedView) -> tuple[bytes, str]:
    """The first images of the set below the real ones that they began as, encoded, and the words for who does not see it."""
    shown = runs.shown(run, frame).images
    columns = min(COLUMNS, shown.shape[1])
    rows = {"real, at first": runs.real(run)[:columns], "distilled": shown[0, :columns]}
    if view.all_views and isinstance(run.config, boost.Config):
        rows |= {words: images[:columns] for words, images in zip(NAMES[run.config.augmentation], shown, strict=True)}
        del rows["distilled"]  # "as it is"
    scale = max(1, round(_CELL / shown.shape[-1]))
    encoded = encode_grid(torch.cat(list(rows.values())), columns, scale, row_labels=list(rows), gap=4)
    words = ", ".join(rows)
    return encoded, (
        f"The first {columns} of {run.pairs} images of {name_of(run.config)} after outer step {frame.step}; "
        f"rows from top to bottom: {words}."
    )


def outer_curve(runs: SelfSupervisedRuns, run: Run) -> go.Figure:
    """The outer loss of the run on show, and of the last ones beside it."""
    others = [one for one in runs.finished() if one is not run and one.outer][:_COMPARED]
    shown = [(label(one), _smoothed(one)) for one in [run, *others] if one.outer]
    return _outer(tuple(shown))


@lru_cache(maxsize=64)
def _outer(shown: tuple[tuple[str, tuple[float, ...]], ...]) -> go.Figure:
    figure = loss_curves(
        dict(shown) or {"no outer step yet": [float("nan")]}, log_y=bool(shown), height=_HEIGHT,
        title="Outer loss, the run on show first" if shown else "Outer loss: no step yet",
        x_label="outer step", y_label=f"outer loss (mean of {_MEAN_OF} steps)",
    )  # fmt: skip
    # A run stays within a decade: without the digits between powers of ten the axis would have no number.
    return figure.update_yaxes(dtick="D1") if shown else figure


def pool_curve(run: Run) -> go.Figure:
    """The inner loss of each network while the pool is filled."""
    return _pool(tuple(tuple(losses) for losses in run.pool if losses))


@lru_cache(maxsize=64)
def _pool(losses: tuple[tuple[float, ...], ...]) -> go.Figure:
    named = {f"network {number}": values for number, values in enumerate(losses[:6], 1)}
    return loss_curves(
        named or {"no inner step yet": [float("nan")]}, log_y=bool(named), height=_LOW,
        title="Before it: networks learn from the first set" if named else "Inner loss of the pool: no step yet",
        x_label="inner step of a network", y_label="inner loss",
    )  # fmt: skip


def map_figure(runs: SelfSupervisedRuns, run: Run, frame: Frame, layout: str) -> go.Figure:
    """Representations of real images, of the set, and what the teacher says of its images now."""
    places = runs.positions(run, frame, layout)
    first = runs.positions(run, run.frames[0], PCA) if layout == PCA else places
    both = torch.cat([*places.values(), *first.values()])
    room = 0.06 * (both.amax(0) - both.amin(0))
    low, high = (both.amin(0) - room).tolist(), (both.amax(0) + room).tolist()
    sets = {_TARGETS: places["targets"].numpy(), _SAID: places["said"].numpy()}
    if len(places["targets of views"]):
        sets[_VIEWS] = places["targets of views"].numpy()
    figure = sets_on_map(
        places["real"].numpy(), sets, extent=((low[0], high[0]), (low[1], high[1])), height=_HEIGHT,
        title=f"Representations after outer step {frame.step}",
        x_label=f"{layout} of real ones, first axis", y_label=f"{layout} of real ones, second axis",
    )  # fmt: skip
    for name, size in _SIZES.items():
        figure.update_traces(marker_size=size, selector={"name": name})
    return figure


def bill_figure(runs: SelfSupervisedRuns, view: SelfSupervisedView) -> go.Figure:
    """The floats of the set, and of the other method's for the same budget, beside the budget; papers count images alone for KRR-ST."""
    image = runs.data.train_images[0].numel()
    plain = (("images", view.budget * image), ("targets", view.budget * runs.features.shape[1]))
    rows: list[tuple[str, tuple[tuple[str, int], ...]]] = [(f"{KRR_ST}, m = {view.budget}", plain)]
    try:
        config = view.replace(method=BOOST).config
        count = boost.count_pairs(config, runs.inputs)  # type: ignore[arg-type]
        bill = boost.factors(config, runs.inputs).bill(count)  # type: ignore[arg-type]
        rows.append(
            (f"{BOOST}, m = {count}", tuple((name.replace("_", " "), number) for name, number in vars(bill).items()))
        )
    except DDLabError:  # the reader is told where this is the method that was chosen
        pass
    return _bill(tuple(reversed(rows)), view.budget, view.budget * image)


@lru_cache(maxsize=128)
def _bill(rows: tuple[tuple[str, tuple[tuple[str, int], ...]], ...], images: int, floats: int) -> go.Figure:
    return storage_bill(
        {name: dict(parts) for name, parts in rows}, budget=(f"budget, {images} images", floats), height=_LOW,
        title="What the set takes",
    )  # fmt: skip


def run_table(runs: SelfSupervisedRuns, run: Run) -> str:
    """HTML: the last runs."""
    rows = []
    for one in runs.finished():
        last = outer_loss(one, one.iteration)
        rows.append((
            label(one) + (", on show" if one is run else ""), f"{one.pairs}", f"{one.iteration} of {one.config.iterations}",
            "not yet" if last is None else f"{last:.4g}", f"{one.seconds:.1f}",
        ))  # fmt: skip
    heads = ("run", "m", "outer steps", f"outer loss, mean of {_MEAN_OF}", "seconds")
    return table("The last runs", heads, rows) if rows else ""


def worth_table(worth: Worth) -> str:
    """HTML: what networks learned from each set that was asked about, below the networks to compare with."""
    rows = [
        (row.words, f"{row.pairs}" if row.pairs else "none", *(f"{value:.1%}" for value in row.accuracies))
        for row in [*worth.controls.values(), *worth.rows.values()]
    ]
    caption = "Test accuracy of a linear probe on one network pre-trained on each set; all began with the same weights"
    missing = [("nothing yet: press Pre-train and probe", "", *("" for _ in worth.datasets))]
    return table(caption, ("pre-trained on", "images", *worth.datasets), rows or missing)


def sentence(runs: SelfSupervisedRuns, run: Run, frame: Frame) -> str:
    """What is shown, with its numbers."""
    shown = runs.shown(run, frame)
    views = len(shown.images)
    config = run.config
    floats = (
        sum(value.numel() for value in frame.parameters.values())
        if name_of(config) == KRR_ST
        else _bill_of(runs, config)
    )
    budget = config.budget * runs.data.train_images[0].numel()
    against = "" if floats <= budget else ", for which the papers count its images alone"
    said = (
        f"{name_of(config)}: a budget of {config.budget} images buys m = {run.pairs} images of {views} view{'s' * (views > 1)}, which take "
        f"{floats:,} floats with their targets; the budget has {budget:,}{against}. "
    )
    apart = float((shown.targets[0] - shown.said).square().sum() / shown.said.square().sum().clamp_min(1e-30))
    said += f"After outer step {frame.step} of {config.iterations} the images' targets are {apart:.3f} (relative squared) from what the "
    said += "teacher says of them"
    loss, first = outer_loss(run, frame.step), outer_loss(run, min(_MEAN_OF, config.iterations))
    if loss is not None and first is not None:
        said += (
            f"; the outer loss is {loss:.4g}, in the first {min(_MEAN_OF, config.iterations)} steps it was {first:.4g}"
        )
    return said + "."


def phase(run: Run) -> str:
    """Where a run stands."""
    if run.state.step <= run.filling:
        return f"pool {run.state.step} of {run.filling}"
    return f"step {run.iteration} of {run.config.iterations}"


def todo(run: Run, running: bool) -> str:
    """What comes next."""
    if run.complete:
        return "This run is finished."
    if not run.state.step:
        return f"Press Run: {run.filling} inner steps fill the pool of networks, then come {run.config.iterations} outer steps."
    left = run.total - run.state.step
    if running:
        return f"Being computed: {left} steps are left."
    return f"Stopped with {left} steps left; Run goes on."


def outer_loss(run: Run, step: int) -> float | None:
    """The mean outer loss of the last steps up to one; None before the first."""
    values = run.outer[max(0, step - _MEAN_OF) : step]
    return statistics.fmean(values) if values else None


def label(run: Run) -> str:
    """A short name: "run 2: Boost, N 20, U 40, V 24, s 2, rotation"; without a number before the first step."""
    config = run.config
    words = [name_of(config), f"N {config.budget}"]
    if isinstance(config, boost.Config):
        words += [
            f"U {config.image_bases}",
            f"V {config.representation_bases}",
            f"s {config.scale}",
            config.augmentation,
        ]
        if (config.bases_start, config.coefficients_start) != ("principal", "projection"):
            words.append(f"{config.bases_start} bases, {config.coefficients_start} coefficients")
    return f"run {run.number}: " * bool(run.number) + ", ".join(words)


def _bill_of(runs: SelfSupervisedRuns, config: krr.Config) -> int:
    process = process_of(config)
    return process.factors(config, runs.inputs).bill(process.count_pairs(config, runs.inputs)).total


def _smoothed(run: Run) -> tuple[float, ...]:
    values: Tensor = torch.tensor(run.outer, dtype=torch.float64).cumsum(0)
    before = torch.cat([torch.zeros(min(_MEAN_OF, len(values))), values[:-_MEAN_OF]])
    counts = np.minimum(np.arange(len(values)) + 1, _MEAN_OF)
    return tuple(((values - before) / torch.from_numpy(counts)).tolist())
