"""Lesson 40: figures and tables of bases, of watched runs, of drawn views, and of its records (Boost, Tables 2, 3, 4, 11 and 12)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ... import figures, records, theory
from ...distilled import DistilledSet, bases, factorisation
from ...distilled.storage_budget import Factorised, most_bases_that_save
from ...evaluation import embeddings
from ...explorers import Scrubber
from ...figures import encode_grid
from ...methods import boost, krr_st
from ...records import self_supervised as sweep
from ...records.self_supervised import BOOST, BUDGETS, BY_BUDGET, KRR_ST, SELECTED, SHIFT_MODELS, UNTRAINED
from ...runs import Frame
from ..shared import printed_tables as printed
from ..shared import recorded
from ..shared.recorded import interval_of
from . import experiments as lesson
from .claims import ARCHITECTURES, FITTING, VIEWS, shift_values, values
from .experiments import Run

# What the lesson calls the rows of the record: (method, changes).
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": (SELECTED, {}),
    "k-means": (SELECTED, {"kind": "k_means"}),
    "random, targets paid": (SELECTED, {"targets_count": True}),
    "random and turned, free": (SELECTED, {"augmentation": "rotation"}),
    "random and turned, paid": (SELECTED, FITTING),
    "KRR-ST": (KRR_ST, {}),
    "Boost without views": (BOOST, {"augmentation": "none"}),
    "Boost": (BOOST, {}),
}
_SHOWN = 9  # images of a run
_SMOOTHED = 10  # outer iterations: each has another network of the pool


def few_bases(counts: Sequence[int], *, scale: int = 2) -> Any:
    """One image of each class, and what the first of the image bases make of it, one row for each number of them."""
    data = lesson.world().data
    every = factorisation.downsampled(data.normalised(torch.arange(len(data.train_labels))), scale=scale)
    first = bases.principal_bases(every, count=max(counts)).bases
    chosen = torch.stack([data.of_class(label)[0] for label in range(data.classes)])
    images = data.normalised(chosen)
    small = factorisation.downsampled(images, scale=scale)
    rows = [images]
    for count in counts:
        coefficients = factorisation.project(small, first[:count])
        rows.append(factorisation.decoded(coefficients, first[:count], scale=scale))
    return figures.image_grid(
        data.to_uint8(torch.cat(rows)), data.classes, title="Ten images from few bases",
        row_labels=["real", *(f"{count} base{'s' * (count > 1)}" for count in counts)],
        description=f"real images above what the first {', '.join(map(str, counts))} bases make of them",
    )  # fmt: skip


def film(runs: Sequence[Run]) -> Scrubber:
    """The same images of several runs, outer iteration by outer iteration, beside the outer loss."""
    steps = sorted(set.intersection(*(set(run.frames) for run in runs)))
    pictures = []
    for step in steps:
        shown = torch.cat([run.frames[step][:_SHOWN] for run in runs])
        labels = [run.name for run in runs]
        pictures.append(Frame(step, encode_grid(shown, columns=_SHOWN, scale=3, row_labels=labels, gap=6)))
    losses = {run.name: _smoothed(run.losses) for run in runs}
    curve = figures.loss_curves(
        losses, title="Outer loss (eq 3)", x_label="outer iteration", y_label=f"loss, mean of {_SMOOTHED}", log_y=True
    )

    def describe(step: int) -> str:
        now = ", ".join(f"{name} {loss[min(max(step - 1, 0), len(loss) - 1)]:.4f}" for name, loss in losses.items())
        return f"outer loss, mean of {_SMOOTHED} iterations: {now}."

    return Scrubber(
        pictures, curve, title="What is distilled, along the run", describe=describe, what="images", key="bases film"
    )


def _smoothed(losses: Sequence[float]) -> list[float]:
    return [statistics.fmean(losses[max(0, end - _SMOOTHED) : end]) for end in range(1, len(losses) + 1)]


def representations_on_map(sets: Mapping[str, DistilledSet]) -> Any:
    """The teacher's representations of real images in their two principal directions, and those of sets among them (Fig 2)."""
    real = krr_st.teacher_features(lesson.inputs())
    found = embeddings.fit({"real": real}, announce=None)
    placed = {name: found.transform(made.target("representations").values.flatten(0, 1)) for name, made in sets.items()}
    share = f"{found.kept_variance:.0%} of the variance" if found.kept_variance is not None else "PCA"
    return figures.sets_on_map(
        found.positions["real"][::5], placed, title=f"Representations, two principal directions ({share})",
        x_label="first principal direction", y_label="second principal direction",
    )  # fmt: skip


def drawn_gradients(found: Mapping[str, theory.RandomViewGradients]) -> Any:
    """Outer gradients with drawn views: each one, their mean, and the gradient with all views, in units of its length."""
    figure = figures.start_figure(
        title="Does a draw point where all views point?", x_label="along the gradient with all views (its length = 1)",
        y_label="across it (same unit)", height=400,
    )  # fmt: skip
    said = []
    for index, (name, each) in enumerate(found.items()):
        style = figures.series_style(index)
        figure.add_scatter(
            x=each.along.tolist(), y=each.across.tolist(), mode="markers", name=f"{name}: each draw",
            marker={"symbol": f"{style.marker}-open", "color": style.colour, "size": 5}, opacity=0.5,
        )  # fmt: skip
        along = float(each.probabilities @ each.along)
        across = math.sqrt(max(each.bias**2 - (along - 1) ** 2, 0.0))
        figure.add_scatter(
            x=[along], y=[across], mode="markers", name=f"{name}: mean",
            marker={"symbol": style.marker, "color": style.colour, "size": 14, "line": {"width": 1.5}},
        )  # fmt: skip
        said.append(f"with {name} the mean gradient is {each.bias:.2f} of its length away")
    figure.add_scatter(
        x=[1.0], y=[0.0], mode="markers", name="all views",
        marker={"symbol": "star", "size": 16, "color": figures.series_style(len(found)).colour},
    )  # fmt: skip
    figure.update_layout(showlegend=True)
    return figures.finish_figure(figure, alt=f"Outer gradients beside that with all views: {'; '.join(said)}.")


def row(name: str, column: str = "source") -> list[float]:
    """One of `ROWS`, one number per seed."""
    method, changes = ROWS[name]
    return values(column, method, **changes)


def comparison(*names: str, column: str = "source") -> Any:
    """Mean, 95% interval and seeds of some of `ROWS`, by default all, of the record."""
    chosen = names or tuple(ROWS)
    seeds = [row(name, column) for name in chosen]
    lows, highs = zip(*(interval_of(row) for row in seeds), strict=True)
    means = [statistics.fmean(row) for row in seeds]
    where = {"source": "shapes", "other": "digits"}[column]
    title = f"A linear probe on {where}, budget of twenty images"
    return figures.comparison(
        list(chosen), means, lows, highs, seeds=seeds, title=title, x_label="what is pre-trained on"
    )


def worth_table(found: Mapping[str, Mapping[str, float]]) -> str:
    """What one network learns from each set, here and now, as a Markdown table."""
    lines = ["| pre-trained on | probe on shapes | probe on digits |", "|---|---|---|"]
    return "\n".join(
        lines + [f"| {name} | {each['source']:.3f} | {each['other']:.3f} |" for name, each in found.items()]
    )


def budget_curves() -> Any:
    """Accuracy by budget (Table 2)."""
    curves = {
        name: torch.tensor(
            [values("source", ROWS[name][0], budget=size, **ROWS[name][1]) for size in BUDGETS]
        ).T.tolist()
        for name in ("random", "k-means", "KRR-ST", "Boost")
    }
    return figures.sweep_bands(
        list(BUDGETS),
        curves,
        x_label="budget N (images)",
        title="By budget, with twice as many bases as images (Table 2)",
    )


def start_table() -> str:
    """Table 4 with its arms crossed: what bases and coefficients begin as, printed and here, in percent."""
    known = {
        ("principal", "projection"): printed.BOOST_4["principal components"],
        ("real", "random"): printed.BOOST_4["real"],
        ("random", "random"): printed.BOOST_4["random"],
    }
    lines = ["| bases begin as | coefficients begin as | paper | here |", "|---|---|---|---|"]
    for first in ("principal", "real", "random"):
        for second in ("projection", "random"):
            ours = recorded.cell(values(bases_start=first, coefficients_start=second))
            lines.append(f"| {first} | {second} | {_percent(known.get((first, second)))} | {ours} |")
    return "\n".join(lines)


def parts_table() -> str:
    """Tables 3 and 12 as printed, beside ours."""
    rows = {
        "KRR-ST": (printed.BOOST_3[0], values(method=KRR_ST)),
        "KRR-ST, counter not reset": (None, values(method=KRR_ST, reset=False)),
        "bases, no views": (printed.BOOST_3[1], values(augmentation="none")),
    } | {f"bases, {kind}": (printed.BOOST_12[kind], values(augmentation=kind)) for kind in VIEWS}
    lines = ["| | paper | here |", "|---|---|---|"]
    return "\n".join(
        lines + [f"| {name} | {_percent(paper)} | {recorded.cell(ours)} |" for name, (paper, ours) in rows.items()]
    )


def shifts_table() -> str:
    """Table 11 as printed, beside ours; errors as a part of that of no shift."""
    lines = [
        "| shift of the views | error, paper | error, here | accuracy, paper | accuracy, here | pairs, here |",
        "|---|" + "---|" * 5,
    ]
    none = printed.BOOST_11_SHIFTS["same"][1]
    for shift, hidden in SHIFT_MODELS:
        name = shift if hidden is None else f"networks of width {hidden}"
        accuracy, error = printed.BOOST_11_SHIFTS[name]
        theirs = "0" if math.isnan(error) else f"{error / none:.2f}"
        ours = recorded.cell(shift_values("error", shift, hidden), fraction=False)
        reached = recorded.cell(shift_values("source", shift, hidden, compared_on=BY_BUDGET))
        pairs = shift_values("pairs", shift, hidden, compared_on=BY_BUDGET)[0]
        lines.append(f"| {name} | {theirs} | {ours} | {_percent(accuracy)} | {reached} | {pairs:.0f} |")
    return "\n".join(lines)


def architectures_table() -> str:
    """Table 1 as printed (CIFAR-100: Boost and the best other method), beside ours: networks of other architectures."""
    table = records.load(ARCHITECTURES)
    chosen = (UNTRAINED, SELECTED, KRR_ST, BOOST)
    lines = [f"| network | best other, paper | Boost, paper | {' | '.join(chosen)} |", "|---|" + "---|" * 6]
    # The first column of the printed table is the ConvNet, which made the sets.
    for name, paper in zip(sweep.ARCHITECTURES, printed.BOOST_1["CIFAR-100"][1:], strict=True):
        ours = [recorded.cell(table.values("source", architecture=name, method=method)) for method in chosen]
        lines.append(f"| {name} | {' | '.join([*map(_percent, paper), *ours])} |")
    return "\n".join(lines)


def pairs_table() -> str:
    """m under the rule U = V = 2N of Table 5, and how few image bases would take less than m small images, for CIFAR and here."""
    here = boost.factors(boost.Config.teaching(), lesson.inputs())
    lines = ["| images | N | U = V | m | most image bases that would save floats |", "|---|---|---|---|---|"]
    cifar = [
        ("CIFAR, 32 px", Factorised(), budget, boost.TABLE_5["cifar100"][budget]) for budget in (25, 50, 100, 1000)
    ]
    shapes = [("shapes, 16 px", here, budget, (2 * budget, 2 * budget)) for budget in BUDGETS]
    for name, sizes, budget, (image_bases, representation_bases) in cifar + shapes:
        chosen = sizes.replace(image_bases=image_bases, representation_bases=representation_bases)
        count = chosen.largest_count(budget * chosen.image_floats)
        most = most_bases_that_save(count, basis_floats=chosen.basis_floats, floats=chosen.basis_floats)
        lines.append(f"| {name} | {budget} | {image_bases} and {representation_bases} | {count} | {most} |")
    return "\n".join(lines)


def repeated(*, seed: int) -> str:
    """Two points of the record, KRR-ST and Boost as published, computed again.

    Raises:
        AssertionError: one is farther than three standard deviations from the recorded seeds.
    """
    table, lines = records.load("self_supervised"), []
    for method in (KRR_ST, BOOST):
        wanted = sweep.point(method, seed=seed)
        known = table.where(**{name: wanted[name] for name in wanted if name != "seed"})
        lines += [method, recorded.repeated("self_supervised", known, ("source", "other"), seeds=[seed])]
    return "\n".join(lines)


def _percent(accuracy: float | None) -> str:
    return "-" if accuracy is None else f"{accuracy:.2f}%"
