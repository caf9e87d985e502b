"""Lesson 30: one class of several runs, step by step, beside their feature entropy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from ... import figures
from ...evaluation import entropy
from ...explorers import Scrubber
from ...figures import encode_grid, pipeline, pipelines
from ...runs import Frame
from . import checks
from .world import kept_steps, merge_steps


def film(runs: Mapping[str, Sequence[torch.Tensor]], *, merges: int, label: int) -> Scrubber:
    """One class of several runs, step by step, beside their mean feature entropy (Figs 3 and 4); the drawing says what is at work.

    Args:
        runs: name -> images before each update and after the last, uint8 [classes, channels, height, width] of one size.
    """
    data, last = checks.world().data, min(map(len, runs.values())) - 1
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
    return float(checks.feature_entropy(images).mean())
