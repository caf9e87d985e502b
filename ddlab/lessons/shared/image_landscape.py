"""The loss of a recovery over a plane of images: through the start, recovered and real images.

The cross-entropy and both gaps are kept apart, so that other weights only weigh them anew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...evaluation.landscapes import CELLS, Plane, plane_through
from ...figures import finish_figure, landscape, start_figure
from ...methods.shared.recovery import weighted_gap
from ...networks import Network

COARSE = 9
# More sets at once leave the processor's memory.
_NUMBERS = 64_000
_LEAST = 5


@dataclass(frozen=True, eq=False)
class Surface:
    """A plane of sets of images, and each term of the loss over it.

    Attributes:
        x, y: [cells].
        terms: cross-entropy, mean gap and variance gap, [3, rows of y, columns of x].
        corners: the places of the three sets [3, 2].
    """

    plane: Plane
    x: Tensor
    y: Tensor
    terms: Tensor
    corners: Tensor

    def loss(self, lambda_mean: float, lambda_var: float) -> Tensor:
        """Return the loss with these weights of the gaps, [rows, columns]."""
        return torch.einsum(
            "t,tyx->yx", self.terms.new_tensor([1, lambda_mean, lambda_var]), self.terms
        )


def recovery_terms(
    teacher: Network, labels: Tensor, shape: torch.Size
) -> Callable[[Tensor], Tensor]:
    """Return a function of sets of images [n, P] that measures the terms of each: [n, 3].

    The teacher sees all images in one batch, but each set has statistics of its own.

    Args:
        labels: of the images of a set [m].
        shape: of a set of images, [m, c, h, w].
    """

    @torch.no_grad()
    def terms(sets: Tensor) -> Tensor:
        gaps: list[Tensor] = []  # of each layer, [2, sets]

        def compare(layer: str, inputs: Tensor) -> Tensor:
            parts = inputs.unflatten(0, (len(sets), -1))
            variances, means = torch.var_mean(parts, (1, 3, 4), correction=0)
            offsets = (
                means - teacher.weights[f"{layer}.running_mean"],
                variances - teacher.weights[f"{layer}.running_var"],
            )
            gaps.append(torch.stack(offsets).norm(dim=2))
            return inputs

        images = sets.view(-1, *shape[1:])
        outputs, _ = networks.call(teacher.spec, teacher.weights, images, at_batch_norm=compare)
        classes = labels.repeat(len(sets))
        losses = F.cross_entropy(outputs.logits, classes, reduction="none").view(len(sets), -1)
        return torch.stack([losses.mean(1), *weighted_gap(torch.stack(gaps))], 1)

    return terms


def surface(
    teacher: Network,
    labels: Tensor,
    corners: Sequence[Tensor],
    cells: int = CELLS,
    *,
    watch: Callable[[str, float], None],
) -> Surface:
    """Return the terms over the plane through three sets of images [m, c, h, w] with these labels.

    The first lies at (0, 0), the second at (1, 0).
    """
    points = torch.stack(list(corners)).flatten(1)
    plane = plane_through(*points)
    x, y = plane.axes(points, cells, room=0.25)
    terms = plane.measure(
        recovery_terms(teacher, labels, corners[0].shape),
        x,
        y,
        at_once=max(_LEAST, _NUMBERS // points.shape[1]),
        on_part=lambda done: watch("the landscape", done / cells**2),
    )
    return Surface(plane, x, y, terms.cpu(), plane.places(points).cpu())


def draw(
    surface: Surface | None,
    weights: tuple[float, float],
    paths: Mapping[str, Tensor],
    *,
    title: str,
    corner: str,
    height: int,
    **labels: str,
) -> go.Figure:
    """Draw the loss with these weights of the gaps, and paths of images name -> [n, m, c, h, w].

    Args:
        corner: name of the third set.
        labels: of the axes.
    """
    if surface is None:
        waiting = start_figure(
            title="The landscape follows in a few seconds", **labels, height=height
        )
        return finish_figure(waiting, alt="The landscape is being computed.")
    rows = {name: images.flatten(1) for name, images in paths.items()}
    return landscape(
        surface.x,
        surface.y,
        surface.loss(*weights),
        paths={name: surface.plane.places(row) for name, row in rows.items()},
        points={corner: surface.corners[2]},
        share=surface.plane.share(torch.cat([*rows.values()])),
        title=title,
        height=height,
        **labels,
    )
