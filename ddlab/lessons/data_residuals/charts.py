"""Lesson 30: figures and tables of its records (FADRM, Tables 3, 5 and 6, Fig 6), and of its own sets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ... import figures, records, theory
from ...distilled import DistilledSet
from ...evaluation import entropy
from ...explorers import Scrubber
from ...figures import encode_grid, pipeline, pipelines
from ...records.setting import FADRM, RANDOM, RDED, SRE2L
from ...runs import Frame
from ..shared import printed_tables as printed
from ..shared import recorded
from ..shared.recorded import interval_of
from . import experiments
from .claims import STAGES, values
from .sweep import LABELS, PULLED_BACK, RATIOS, SMALL_SIZE, STOPPED
from .world import kept_steps, merge_steps

# What the lesson calls the rows of the record: (method, changes).
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "random real": (RANDOM, {}),
    "RDED, one crop": (RDED, {"factor": 1}),
    "RDED, four crops": (RDED, {"factor": 2}),
    "SRe2L, from noise": (SRE2L, {}),
    "no residual": (FADRM, {"merge_ratio": 1.0}),
    STOPPED: (STOPPED, {}),
    PULLED_BACK: (PULLED_BACK, {}),
    "FADRM": (FADRM, {}),
    "FADRM, one crop": (FADRM, {"patches": "crop"}),
    "FADRM, four crops": (FADRM, {"patches": "mosaic"}),
}


def ratio_map(labels: str = "online") -> Any:
    """Mean accuracy over the merge ratio, at full size and at two sizes (Table 5)."""
    sizes = {f"{SMALL_SIZE} and 64 px": SMALL_SIZE, "64 px": None}
    cells = [[values(labels, merge_ratio=ratio, small_size=size) for size in sizes.values()] for ratio in RATIOS]
    means = [[statistics.fmean(seeds) for seeds in row] for row in cells]
    lows, highs = ([[interval_of(seeds)[end] for seeds in row] for row in cells] for end in (0, 1))
    return figures.heat_map(
        ["none" if ratio == 1 else f"α = {ratio:g}" for ratio in RATIOS], list(sizes), means, row_label="residual",
        column_label="size in turn", intervals=(lows, highs), reference=("no residual, 64 px", means[0][1]),
        title=f"Recorded: five images per class, {labels} labels", height=420,
    )  # fmt: skip


def merge_sweep() -> Any:
    """Accuracy along the number of merges, by labels (Table 6, left)."""
    counts = range(7)
    curves = {
        f"{labels} labels": torch.tensor([values(labels, merges=merges) for merges in counts]).T.tolist()
        for labels in ("online", "hard")
    }
    return figures.sweep_bands(
        list(counts),
        curves,
        x_label="merges k (0: no residual)",
        title="Recorded, how often: five images per class, α = .5",
    )


def beside_the_paper() -> str:
    """Tables 5 and 6 as printed, beside ours, in percent: the merge ratio at two sizes, then the number of merges."""
    ratios = dict(zip(RATIOS, printed.FADRM_5[0][1:], strict=True))
    merges = dict(zip(range(1, 7), printed.FADRM_6_MERGES[1], strict=True))
    lines = ["| | paper, % | ours, recorded, % |", "|---|---|---|"]
    for ratio, accuracy in ratios.items():
        ours = statistics.fmean(values("online", merge_ratio=ratio, small_size=SMALL_SIZE))
        name = "no residual" if ratio == 1 else f"α = {ratio:g}"
        sizes = "sizes in turn (paper: ImageNet-1K, 200 and 224 px; ours: 48 and 64 px)"
        lines.append(f"| {name}, {sizes} | {accuracy} | {100 * ours:.1f} |")
    for count, accuracy in merges.items():
        ours = statistics.fmean(values("online", merges=count))
        lines.append(f"| k = {count} (paper: CIFAR-100) | {accuracy} | {100 * ours:.1f} |")
    return "\n".join(lines)


def size_table() -> str:
    """Accuracy and exact cost by the smaller size, as a Markdown table (Table 6, right)."""
    lines = ["| smaller size | cost, share of full size | accuracy, online labels |", "|---|---|---|"]
    for size in (32, 40, SMALL_SIZE, None):
        shown, cost = "none", 1.0
        if size is not None:
            cost = theory.resolution_cost_ratio(budget=120, merges=3, small_side=size, side=64)
            shown = f"{size} px"
        lines.append(f"| {shown} | {cost:.2f} | {recorded.cell(values('online', small_size=size))} |")
    return "\n".join(lines)


def comparison(labels: str, *names: str) -> Any:
    """Mean, 95% interval and seeds of some of `ROWS`, by default all, with one kind of labels."""
    seeds = {name: values(labels, ROWS[name][0], **ROWS[name][1]) for name in names or ROWS}
    return recorded.compared(seeds, f"Recorded: five images per class, {labels} labels", x_label="images")


def labels_table() -> str:
    """What FADRM's images and their patches teach, step by step to FADRM's labels and views, as a Markdown table."""
    record = records.load("residual_labels")
    lines = ["| labels | random real images | FADRM |", "|---|---|---|"]
    for name in LABELS:
        cells = [recorded.cell(values("accuracy", method, record, labels=name)) for method in (RANDOM, FADRM)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def continual_table() -> str:
    """Accuracy over the classes seen so far, as a Markdown table (Fig 6)."""
    tasks = records.load("residual_continual")
    lines = ["| images \\ classes seen | " + " | ".join(map(str, STAGES)) + " |", "|---" * (len(STAGES) + 1) + "|"]
    for name, (method, own) in {"RDED": (RDED, {"factor": 1}), "FADRM": (FADRM, {})}.items():
        cells = [recorded.cell(values(f"online_{seen}", method, tasks, **own)) for seen in STAGES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def repeated(*, seed: int) -> str:
    """One point of the record, FADRM at full size, computed again.

    Raises:
        AssertionError: it is not near the recorded seeds.
    """
    known = records.load("residuals").where(method=FADRM, merge_ratio=0.5, merges=3, small_size=None, patches="real")
    known = known.where(precision="float32")
    return recorded.repeated("residuals", known, ("hard", "online", "pixel_entropy", "contrast"), seeds=[seed])


def pixel_entropies(sets: Mapping[str, DistilledSet], **references: torch.Tensor) -> Any:
    """Pixel entropy of each class, one bar per set, with reference images' (uint8) as lines across (Fig 3, right)."""
    first = next(iter(sets.values()))
    bars = {name: by_class(made) for name, made in sets.items()}
    lines = {name: float(entropy.pixel_entropy(images).mean()) for name, images in references.items()}
    return figures.class_bars(
        bars, first.class_names, unit="entropy of the pixels (bits)", references=lines,
        title="Does it tell information from noise?",
    )  # fmt: skip


def by_class(made: DistilledSet) -> list[float]:
    """Mean pixel entropy in bits of the images of each class."""
    bits = entropy.pixel_entropy(made.to_uint8())
    return [float(bits[made.labels == label].mean()) for label in range(made.classes)]


def film(runs: Mapping[str, Sequence[torch.Tensor]], *, merges: int, label: int) -> Scrubber:
    """One class of several runs, step by step, beside their mean feature entropy (Figs 3 and 4); the drawing says what is at work.

    Args:
        runs: name -> images before each update and after the last, uint8 [classes, channels, height, width] of one size.
    """
    data, last = experiments.world().data, min(map(len, runs.values())) - 1
    steps = kept_steps(last, merges)
    shown = {name: [run[step] for step in steps] for name, run in runs.items()}
    curves = {name: [mean_bits(images) for images in every] for name, every in shown.items()}
    kinds = entropy.reference_images(data, 3 * data.classes)  # few: a hundred at once take 100 MB
    references = {kind: mean_bits(kinds[kind]) for kind in ("real", "noise", "constant")}
    curve = figures.vanishing_curves(
        curves, steps=steps, unit=f"feature entropy, mean of {data.classes} classes (bits)", references=references, close=True
    )  # fmt: skip
    heads = [name.replace("α", "alpha") for name in runs]  # the font of the grid has no Greek letters
    pictures = []
    for place, step in enumerate(steps):
        row = torch.stack([images[place][label] for images in shown.values()])
        larger = row.repeat_interleave(2, 2).repeat_interleave(2, 3)
        pictures.append(Frame(step, encode_grid(larger, columns=len(runs), column_labels=heads, gap=6)))

    def describe(step: int) -> str:
        now = ", ".join(f"{name} {values[steps.index(step)]:.2f}" for name, values in curves.items())
        return f"feature entropy in bits, mean over classes: {now}."

    def at_work(step: int) -> str:
        box = "patch" if step == 0 else "merge" if step in merge_steps(last, merges) else "recover"
        return pipeline(pipelines.FADRM, box)

    return Scrubber(
        pictures, curve, title=f"One {data.class_names[label]}, more and less of its patch", describe=describe,
        drawing=at_work, key="residual film",
    )  # fmt: skip


def mean_bits(images: torch.Tensor) -> float:
    """Feature entropy in bits, mean over uint8 images."""
    return float(experiments.feature_entropy(images).mean())
