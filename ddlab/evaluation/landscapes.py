r"""Loss landscapes: a loss over a plane of weights, or of images, and paths seen in it.

    plane = plane_through(start, goal, other)                       # each [P]
    x, y = plane.axes(torch.stack([*expert, *student]))             # ends that hold the paths
    losses = plane.measure(terms, x, y)                            # [terms, rows, columns]
    plane.places(path), plane.share(path)                           # [n, 2], and how much it holds

$$f(a, b) = L(\theta + a \, \delta + b \, \eta)$$                   (Li et al. 2018, arXiv 1712.09913, equation 1)

`landscape` draws the one of a distilled set. A landscape is of one plane and one seed. What lies
beside the plane, it does not show.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import among, checked, errors, progress_bar, randomness, within
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from ..runs import Inputs, Keep, Run
from ..runs.inputs import Teachers
from ..training import losses, supervised
from ..training.relabelling import teacher_logits
from ..training.trajectories import buffers_of, by_name, vector
from .students import prepare_students

if TYPE_CHECKING:
    from tqdm import tqdm

CELLS = 25
# Width of a plot's area by its height, about: units are equally long in both directions.
_ASPECT = 1.8
# Frames of each path.
_FRAMES = 20
REAL = "real test images"
ON_SET = "the set"


@dataclass(frozen=True, eq=False)
class Plane:
    """The points `origin + a directions[0] + b directions[1]`.

    Attributes:
        origin: [P].
        directions: [2, P], not on one line.
    """

    origin: Tensor
    directions: Tensor

    def places(self, points: Tensor) -> Tensor:
        """Return the place (a, b) of the nearest point of the plane for points [n, P]: [n, 2].

        By least squares in float64, since directions need not be orthogonal or of length 1.
        """
        moves = (points - self.origin).double()
        return torch.linalg.lstsq(self.directions.double().T, moves.T).solution.T

    def points(self, places: Tensor) -> Tensor:
        """Return the points [n, P] at places [n, 2]."""
        return self.origin + places.to(self.directions) @ self.directions

    def share(self, points: Tensor) -> float:
        """Return the share of the movement of points [n, P] from the origin that the plane holds.

        Squared lengths count: 1 where all points lie in the plane.
        """
        in_plane = self.places(points) @ self.directions.double()
        whole = (points - self.origin).double().square().sum()
        return float(in_plane.square().sum() / whole.clamp_min(1e-300))

    def axes(self, points: Tensor, cells: int = CELLS, room: float = 0.15) -> tuple[Tensor, Tensor]:
        """Return both axes [cells] of a grid that holds points [n, P], with room around them.

        A unit is equally long on both axes of a plot of the usual shape.
        """
        places = self.places(points)
        low, high = places.amin(0), places.amax(0)
        middle, half = (low + high) / 2, (high - low).clamp_min(1e-12) / 2 * (1 + 2 * room)
        shape = half.new_tensor([_ASPECT, 1.0])
        half = shape * (half / shape).max()
        x, y = (torch.linspace(-1, 1, cells, dtype=half.dtype) * size for size in half)
        return x + middle[0], y + middle[1]

    def measure(
        self,
        terms: Callable[[Tensor], Tensor],
        x: Tensor,
        y: Tensor,
        *,
        at_once: int = 64,
        on_part: Callable[[int], Any] = lambda finished: None,
    ) -> Tensor:
        """Return the terms of a loss at all places of a grid: [terms, rows of y, columns of x].

        Args:
            terms: points [n, P] -> [n, terms], so that weights of the terms can change afterwards.
            at_once: points in a call.
            on_part: told after each call how many places are done.
        """
        places = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).flatten(0, 1)
        values = []
        for part in places.split(at_once):
            values.append(terms(self.points(part)))
            on_part(sum(map(len, values)))
        return torch.cat(values).T.unflatten(1, (len(y), len(x)))


def plane_through(first: Tensor, second: Tensor, third: Tensor) -> Plane:
    """Return the plane through three points [P]: the first at (0, 0), the second at (1, 0).

    The axes are orthogonal, and a unit is as long on both.

    Raises:
        DDLabError: three points on one line.
    """
    across = second - first
    up = third - first
    up = up - across * (up @ across / (across @ across).clamp_min(1e-30))
    if not float(up.norm()) > 1e-6 * float(across.norm()) > 0:
        errors.fail("points", "three that do not lie on one line", [first, second, third])
    return Plane(first, torch.stack([across, up / up.norm() * across.norm()]))


def main_plane(points: Tensor, origin: Tensor) -> Plane:
    """Return the plane at `origin` that holds most of the movement of points [n, P] (section 7).

    Squared lengths count. Each direction has length 1 and points to where the points reach farthest.
    """
    coordinates, _, right = torch.linalg.svd((points - origin).double(), full_matrices=False)
    farthest = coordinates[:, :2].gather(0, coordinates[:, :2].abs().argmax(0, keepdim=True))[0]
    return Plane(origin, (right[:2] * farthest.sign()[:, None]).to(origin))


def random_plane(weights: Mapping[str, Tensor], *, seed: int) -> Plane:
    """Return a random plane through a network's weights, scaled filter by filter (section 4).

    A filter of a direction, a row of a weight, is as long as the network's own. Biases and all else
    with fewer than two dimensions stay.
    """
    directions = []
    for number in range(2):
        draw = randomness.generator(seed, number, "landscape direction")
        parts = []
        for value in weights.values():
            part = torch.randn(value.shape, generator=draw, dtype=torch.float64).to(value)
            filters, network_filters = part.view(len(part), -1), value.reshape(len(value), -1)
            scale = network_filters.norm(dim=1, keepdim=True) / filters.norm(dim=1, keepdim=True)
            parts.append((filters * scale).flatten() if value.ndim > 1 else torch.zeros_like(value))
        directions.append(torch.cat(parts))
    return Plane(
        torch.cat([value.flatten() for value in weights.values()]), torch.stack(directions)
    )


def weight_terms(
    spec: NetworkSpec, *measured_on: tuple[Tensor, Callable[[Tensor], Tensor]]
) -> Callable[[Tensor], Tensor]:
    """Return a function of weights [n, P] that measures losses of their networks: [n, terms].

    Batch norm takes the statistics of the images that it sees, for running ones have no place
    between two networks.

    Args:
        measured_on: for each term its images [m, c, h, w], and the loss of their logits.
    """
    first_images = measured_on[0][0]
    buffers = {}
    for name, value in buffers_of(spec, first_images.device).items():
        buffers[name] = value.to(first_images) if value.is_floating_point() else value

    @torch.no_grad()
    def terms(rows: Tensor) -> Tensor:
        values = []
        # One network after another: `torch.func.vmap` takes nearly as long for narrow convolutions
        # and four times as long for wide ones.
        for row in rows.unbind():
            weights = by_name(spec, row) | buffers
            for images, loss in measured_on:
                outputs, _ = networks.call(spec, weights, images, train=bool(buffers))
                values.append(loss(outputs.logits))
        return torch.stack(values).view(len(rows), -1)

    return terms


@dataclass(frozen=True, eq=False)
class Landscape:
    """Two losses over one plane of weights, and the two trainings that span it; of one seed.

    Attributes:
        x, y: [cells].
        losses: "the set" and "real test images" -> [rows of y, columns of x].
        paths: "student of the set" and "student of real images" -> places [n, 2].
        share: of the paths' movement that the plane holds.
    """

    x: Tensor
    y: Tensor
    losses: dict[str, Tensor]
    paths: dict[str, Tensor]
    share: float

    def figure(self, on: str = REAL, **options: Any) -> Any:
        """Draw the landscape of one of the losses, as `ddlab.figures.landscape` does."""
        # Lazily: the core runs without plotly.
        from ..figures import landscape

        errors.check_choice("on", on, tuple(self.losses))
        settings: dict[str, Any] = {
            "title": f"Loss on {on}",
            "x_label": "towards the student of real images",
            "y_label": "away from that line",
        }
        return landscape(
            self.x,
            self.y,
            self.losses[on],
            paths=self.paths,
            share=self.share,
            **settings | options,
        )


@checked
def landscape(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Annotated[str, among("hard", "stored", "online")] = "hard",
    teacher: Teachers | None = None,
    network: NetworkSpec | str | None = None,
    config: supervised.Config | None = None,
    seed: Annotated[int, within(0)] = 0,
    cells: Annotated[int, within(3, 200)] = CELLS,
    images: Annotated[int, within(1)] = 200,
    device: torch.device | str = "auto",
    progress: bool = True,
) -> Landscape:
    """Return the loss landscape around a student of `distilled` and one of all real images.

    The plane goes through their common first weights and the last weights of both. Both make as
    many updates, with the same settings but for the labels: those of real images are their classes.

    Args:
        labels, teacher, network, config, device: of the student, as in `evaluate`.
        seed: of both students.
        cells: of the grid in each direction. Each cell is one network that sees all images.
        images: test images that the loss is measured on, drawn at random; fewer where there are not
            as many. Of the set at most as many.
        progress: one line on standard output: the updates of both students, then the cells.

    Raises:
        DDLabError: what `evaluate` refuses.
    """
    evaluation = prepare_students(
        distilled,
        data,
        labels=labels,
        teacher=teacher,
        network=network,
        seeds=(seed,),
        config=config,
        device=device,
    )
    inputs = evaluation.inputs
    on_set = evaluation.config.replace(seed=seed)
    assert isinstance(on_set, supervised.Config)
    updates = on_set.epochs * on_set.steps_per_epoch(len(distilled))
    epochs = -(-updates // on_set.steps_per_epoch(len(data.train_labels)))
    on_real = on_set.replace(labels="hard", epochs=epochs)
    terms = weight_terms(
        on_set.network.for_data(data),
        _loss_on_set(on_set, inputs, randomness.permutation(len(distilled), seed)[:images]),
        _loss_on_test(
            data, inputs.device, randomness.permutation(len(data.test_labels), seed)[:images]
        ),
    )
    with progress_bar("landscape", 2 * updates + cells**2, progress) as bar:
        set_path = _path(on_set, inputs, updates, bar)
        real_path = _path(on_real, Inputs(data=data, device=inputs.device), updates, bar)
        plane = plane_through(real_path[0], real_path[-1], set_path[-1])
        points = torch.cat([set_path, real_path])
        x, y = plane.axes(points, cells)
        measure_plane = plane.measure(
            terms, x, y, on_part=lambda done: bar.update(2 * updates + done - bar.n)
        )
    return Landscape(
        x.cpu(),
        y.cpu(),
        dict(zip((ON_SET, REAL), measure_plane.cpu(), strict=True)),
        {
            "student of the set": plane.places(set_path).cpu(),
            "student of real images": plane.places(real_path).cpu(),
        },
        plane.share(points),
    )


def _path(config: supervised.Config, inputs: Inputs, updates: int, bar: "tqdm") -> Tensor:
    """Return a student's parameters at moments of its training, [moments, P]; `bar` goes along."""
    names = networks.parameter_names(config.network.for_data(inputs.data or inputs.distilled))

    def parameters(config: Any, inputs: Any, state: supervised.State, trace: Any) -> Tensor:
        return vector({name: state.weights[name] for name in names})

    moments = Keep(_FRAMES).of(updates)
    run = Run(supervised, config, inputs, keep=Keep(moments, parameters))
    run.advance(until=updates, watch=lambda run: bar.update())
    return torch.stack([frame.content for frame in run.frames])


def _loss_on_set(
    config: supervised.Config, inputs: Inputs, rows: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return images of the set without views, and their loss with the labels of the training."""
    distilled: Any = inputs.distilled
    images = distilled.images[rows].to(inputs.device)
    targets = F.one_hot(distilled.labels[rows], distilled.classes).float()
    temperature = 1.0
    if config.labels != "hard":
        temperature = config.temperature
        logits = (
            distilled.target("stored").logits[rows]
            if config.labels == "stored"
            else teacher_logits(inputs.teachers, images)
        )
        targets = losses.soft_targets(logits, temperature)
    targets = targets.to(images)
    return images, lambda logits: losses.distillation_loss(logits, targets, temperature=temperature)


def _loss_on_test(
    data: ImageData, device: torch.device | str, rows: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    labels = data.test_labels[rows].to(device)
    images = data.normalised(rows, "test", device)
    return images, lambda logits: F.cross_entropy(logits, labels)
