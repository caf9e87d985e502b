"""Names of classes on a map do not lie over each other."""

import numpy as np
import torch

from ddlab import figures
from ddlab.figures.embedding import apart


def overlaps(at: np.ndarray, sizes: np.ndarray) -> int:
    over = (sizes[:, None] + sizes[None]) / 2 - np.abs(at[:, None] - at[None]) > 1e-6
    return int((over.all(2).sum() - len(at)) / 2)


def test_boxes_that_overlap_move_aside_and_others_stay() -> None:
    sizes = np.tile([[0.25, 0.08]], (10, 1))
    crowded = np.random.default_rng(0).uniform(0.4, 0.6, (10, 2))
    assert overlaps(crowded, sizes) > 5 and overlaps(apart(crowded, sizes), sizes) == 0
    assert overlaps(apart(np.full((3, 2), 0.5), sizes[:3]), sizes[:3]) == 0, (
        "even where all are at one place"
    )
    wide = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert (apart(wide, sizes[:3]) == wide).all()


def test_names_on_a_map_are_moved() -> None:
    points = torch.randn(60, 2, generator=torch.Generator().manual_seed(0)).numpy()
    names = []
    for number in range(60):
        names.append(("triangle", "star", "circle")[number % 3])
    figure = figures.embedding_map(
        points, points[:3], covered=[True] * 60, real_classes=names, distilled_classes=names[:3]
    )
    names_trace = next(trace for trace in figure.data if trace.name == "middle of a class")
    span = np.ptp(points, axis=0)
    at = np.stack([names_trace.x, names_trace.y], 1) / span
    sizes = np.array(
        [[11 * len(name) + 6, 26] for name in ("triangle", "star", "circle")]
    ) / np.array([380.0, 300.0])
    assert overlaps(at, sizes) == 0
    medians = []
    for name in ("triangle", "star", "circle"):
        medians.append(np.median(points[np.array(names) == name], 0))
    middles = np.array(medians)
    assert overlaps(middles / span, sizes) > 0, "in their middles they would overlap"
