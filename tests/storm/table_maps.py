"""Right arguments for maps and coverage: embeddings, their measures, figures and explorer."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import figures
from ddlab.evaluation import embeddings
from tests.storm.good import Good


def _map() -> Any:
    return figures.embedding_map(
        [[0, 0], [1, 2], [2, 1]],
        [[1, 1]],
        covered=[True, False, True],
        real_classes=list("aba"),
        distilled_classes=["a"],
    )


MAPS: dict[str, Good] = {
    "evaluation.embeddings.features_of": Good(
        lambda g: {"network": g.teacher, "images": g.images()}, nan_passes="read off the network as they are"
    ),
    "evaluation.embeddings.fit": Good(
        lambda g: {"groups": {"real": g.tensor(6, 3), "made": g.tensor(2, 3, seed=1)}, "config": embeddings.Config()},
        whole=("config",),
        left_out={"config": "t-SNE and UMAP take seconds; a wrong kind is refused by the same line"},
    ),
    "evaluation.embeddings.density": Good(
        lambda g: {"positions": g.tensor(6, 2), "cells": 4, "margin": 0.1, "bandwidth": 0.5}, largest={"cells": 50}
    ),
    "evaluation.measures.covered": Good(
        lambda g: {"real": g.tensor(8, 3), "radii": torch.ones(8), "points": g.tensor(2, 3)}
    ),
    "evaluation.measures.nearest_neighbour_coverage": Good(
        lambda g: {"real": g.tensor(8, 3), "points": g.tensor(2, 3), "neighbours": 2}
    ),
    "figures.coverage_bars": Good(lambda g: {"coverage": {"random": 0.3, "made": 0.5}, "chance": 0.4}),
    "figures.embedding_map": Good(
        lambda g: {
            "real": g.tensor(4, 2),
            "distilled": g.tensor(2, 2, seed=1),
            "covered": [True, False, True, True],
            "real_classes": list("abab"),
            "distilled_classes": list("ab"),
            "extent": ((-1.0, 1.0), (-2.0, 2.0)),
            "density": (g.tensor(3), g.tensor(2), g.tensor(2, 3)),
            "chosen": 1,
        },
    ),
    "figures.move_points": Good(
        lambda g: {
            "figure": _map(),
            "real": g.tensor(3, 2),
            "distilled": g.tensor(1, 2, seed=1),
            "covered": [True, False, True],
            "real_classes": list("aba"),
            "distilled_classes": ["b"],
        },
    ),
    "figures.raise_bars": Good(
        lambda g: {
            "figure": figures.bars(["a", "b"], [1.0, 2.0], title="Title", y_label="y"),
            "values": [2.0, 1.0],
            "text_format": ".2g",
        }
    ),
    "lessons.shared.diversity_view.DiversityView": Good(
        lambda g: {"data": g.data, "teacher": g.teacher, "sets": {"random": g.distilled}, "points": 12}
    ),
}
