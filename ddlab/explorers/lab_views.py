"""What the laboratory of diversity shows: figures, pictures, the table of runs and the sentence, from what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ..figures import cell_table, distances_by_class, encode_grid, sets_on_map
from ..methods import directed_weight_adjustment as dwa
from .laboratory import LABELS, Laboratory, Made
from .tables import table

_HEADS = (
    "images", "λ_mean", "λ_var", "adjustment", "start", "per class", "updates", "η", "seed", "feature distance", "coverage",
    "accuracy, hard labels", "accuracy, online labels",
)  # fmt: skip


def map_figure(lab: Laboratory, compared: Mapping[str, Made], layer: str) -> go.Figure:
    """All compared images on the one map of a layer; the title has the coverage of the first."""
    names, on = lab.data.class_names, lab.map(layer)
    coverage = percent(lab.coverage(next(iter(compared.values())), layer))
    figure = sets_on_map(
        on.real, {name: on.sets[made.name] for name, made in compared.items()},
        real_classes=[names[label] for label in lab.mapped.labels.tolist()],
        set_classes={name: [names[label] for label in made.distilled.labels.tolist()] for name, made in compared.items()},
        density=(on.density.x, on.density.y, on.density.rank), extent=on.extent,
        title=f"PCA of the teacher's {layer}; coverage {coverage}",
    )  # fmt: skip
    figure.layout.uirevision = layer  # a reader's zoom is kept on the same map
    return figure


def distance_figure(lab: Laboratory, compared: Mapping[str, Made]) -> go.Figure:
    """The feature distance inside each class."""
    distances = {name: made.distances for name, made in compared.items()}
    return distances_by_class(lab.data.class_names, distances, height=300)


def accuracy_figure(lab: Laboratory, compared: Mapping[str, Made]) -> go.Figure:
    """The accuracy of students, as far as it is known."""
    known = [[lab.accuracy(made, labels) for labels in LABELS] for made in compared.values()]
    return cell_table(
        np.array(known, dtype=float), [f"{labels} labels" for labels in LABELS], tuple(compared), height=300, empty="not yet",
        title="Test accuracy of one student each", x_label="labels it learns from", y_label="images it learns from",
    )  # fmt: skip


def picture_of(lab: Laboratory, made: Made) -> bytes:
    """The images, encoded, one row per class."""
    images = made.distilled.to_uint8()[made.distilled.labels.argsort(stable=True)].numpy()
    width, each = images.shape[-1], made.config.images_per_class
    scale = max(1, min(round(48 / width), 200 // (each * width)))  # beside the map there is room for two
    return encode_grid(images, columns=each, scale=scale, row_labels=lab.data.class_names)


def sentence(lab: Laboratory, made: Made, layer: str) -> str:
    """What the run gave, beside random real images."""
    real, config = lab.real(made.config), made.config
    start = "real images" if config.initialisation == "real" else "noise"
    text = (
        f"λ_mean = {config.lambda_mean:g}, λ_var = {config.lambda_var:g}, adjustment {adjustment_in_words(config)}, from {start}, "
        f"{config.images_per_class} per class, {config.iterations} updates: feature distance {float(made.distances.mean()):.3f} "
        f"(random real {float(real.distances.mean()):.3f}), coverage {percent(lab.coverage(made, layer))} "
        f"(random real {percent(lab.chance(made, layer))} on average)"
    )
    known = [(labels, lab.accuracy(made, labels), lab.accuracy(real, labels)) for labels in LABELS]
    learned = [
        f"{labels} labels {percent(one)} (random real {percent(other)})"
        for labels, one, other in known
        if one is not None
    ]
    return f"{text}; students: {', '.join(learned)}." if learned else f"{text}; press Run to train students."


def run_table(lab: Laboratory, runs: Sequence[Made], layer: str) -> str:
    """HTML: a row per run, the newest first, and one of real images for the newest.

    Args:
        runs: the newest first. layer: where the coverage is taken.
    """
    names = ["this run", *[f"{back} before" for back in range(1, len(runs))]]
    rows = [[name, *_settings(made.config), *_worth(lab, made, layer)] for name, made in zip(names, runs, strict=True)]
    real, config = lab.real(runs[0].config), runs[0].config
    rows.append(
        ["random real images", *["–"] * 4, str(config.images_per_class), "0", "–", str(config.seed), *_worth(lab, real, layer)]
    )  # fmt: skip
    return table("The last runs", _HEADS, rows)


def adjustment_in_words(config: dwa.Config) -> str:
    """ "directed, K = 12, ρ = 0.015"; "none"."""
    if config.perturbation == "none":
        return "none"
    return f"{config.perturbation}, K = {config.adjustment_steps}, ρ = {config.adjustment_radius:g}"


def percent(share: float | None) -> str:
    """ "94.2%", or "not yet"."""
    return "not yet" if share is None else f"{share:.1%}"


def _settings(config: dwa.Config) -> list[str]:
    return [
        f"{config.lambda_mean:g}", f"{config.lambda_var:g}", adjustment_in_words(config), config.initialisation,
        str(config.images_per_class), str(config.iterations), f"{config.learning_rate:g}", str(config.seed),
    ]  # fmt: skip


def _worth(lab: Laboratory, made: Made, layer: str) -> list[str]:
    accuracies = [percent(lab.accuracy(made, labels)) for labels in LABELS]
    return [f"{float(made.distances.mean()):.3f}", percent(lab.coverage(made, layer)), *accuracies]
