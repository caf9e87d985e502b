"""The diversity view: real and distilled images on one map, moved by hand, with the share of the
real ones covered.

DiversityView(data, teacher, {"random": chosen, "recovered": recovered})

The map is fitted once to all points and then stands still. What a reader moves by hand becomes the
real image of the same class that lies nearest on the map, so that it has features, and a coverage,
like every other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from torch import Tensor

from ... import figures
from ...core import Parameters, errors, narrow, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import embeddings
from ...explorers import (
    Change,
    Chart,
    Drag,
    Handles,
    Lab,
    Named,
    Quest,
    Results,
    Strip,
    Tabs,
    Value,
)
from ...explorers.ready import HEIGHT, Watch
from ...figures import embedding_map, encode_grid
from ...figures.embedding import DISTILLED
from ...figures.theme import literal
from ...networks import Network
from .coverage import BY_HAND, Map, MappedImages, PointsOnShow

# Pictures in the strip, the pixels that each takes, and the letters above it.
_PICTURES = 10
_CELL = 56
_LETTERS = 8
# Of coverage, by which the quest wants to be ahead of all that needs no hand.
_LEAD = 0.03
_KINDS = {"PCA": "pca", "t-SNE": "t_sne", "UMAP": "umap"}


@dataclass(frozen=True, kw_only=True)
class View(Parameters):
    """What is shown; `images` gets its choices from the sets of one explorer."""

    images: str = parameter("", help="Whose points are shown large.")
    map: str = parameter(
        "PCA", choices=tuple(_KINDS), help="How the points are laid out.", explorable=True
    )
    layer: str = parameter(
        "features",
        choices=embeddings.LAYERS,
        help="What the teacher says of an image that is mapped.",
        explorable=True,
    )
    perplexity: float = parameter(
        30.0,
        range=(2, 100),
        explorable=(5, 60),
        step=5,
        help="t-SNE only: how many neighbours each point keeps close.",
    )
    neighbours: int = parameter(
        15,
        range=(2, 100),
        explorable=(5, 60),
        help="UMAP only: how many neighbours each point is tied to.",
    )
    seed: int = parameter(0, range=(0, 999), help="Of t-SNE and UMAP.")
    hand: str = parameter("", help="The real images chosen by hand, as numbers joined by dots.")

    @property
    def map_config(self) -> embeddings.Config:
        """The settings of the map.

        What the chosen kind does not use stays at its default, so that equal maps are equal.
        """
        used = {"PCA": (), "t-SNE": ("perplexity", "seed"), "UMAP": ("neighbours", "seed")}[
            self.map
        ]
        return embeddings.Config(
            kind=_KINDS[self.map], **{name: getattr(self, name) for name in used}
        )


class World:
    """Real and distilled images as points; where the controls start.

    Args:
        data: whose training images are the real points.
        teacher: its features or logits are mapped.
        sets: name -> distilled set.
        points: how many real images, as many of each class as there are.

    Raises:
        DDLabError: sets that do not fit the data.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        sets: Mapping[str, DistilledSet],
        *,
        points: int = 300,
    ) -> None:
        self.mapped = MappedImages(data, teacher, sets, points)
        self.first = next(iter(self.mapped.sets))
        choices = (*self.mapped.sets, BY_HAND)
        start = narrow(View, images=choices)()
        # A few dozen points have no thirty neighbours each.
        largest = max(2, (len(self.mapped.pool) - 1) // 3)
        self.start = start.replace(
            perplexity=min(start.perplexity, largest), neighbours=min(start.neighbours, largest)
        )
        # What a reader has to beat. By hand, everything begins at the real images nearest to a set.
        rivals = [self.mapped.luck("features", self.per_class(self.of_first()))]
        for name in self.mapped.sets:
            given = PointsOnShow(name, "features")
            nearest = PointsOnShow(BY_HAND, "features", hand=self.mapped.nearest_real(given))
            rivals += [self.mapped.coverage(given), self.mapped.coverage(nearest)]
        self.goal = max(rivals) + _LEAD

    def of_first(self) -> PointsOnShow:
        """Return the points of the first set, by the teacher's features."""
        return PointsOnShow(self.first, "features")

    def map(self, layer: str, config: embeddings.Config, *, watch: Watch) -> Map:
        """Return the map that is fitted to all points; t-SNE and UMAP take seconds."""
        return self.mapped.map(layer, config, announce=lambda words: watch(words, 0.01))

    def hand(self, view: View) -> tuple[int, ...]:
        """Return the real images that are chosen by hand: what is nearest to the first set at first.

        Raises:
            DDLabError: a text that names none of them.
        """
        if not view.hand:
            return self.mapped.nearest_real(self.of_first())
        parts = view.hand.split(".")
        count = len(self.mapped.pool)
        for part in parts:
            if not (part.isascii() and part.isdecimal() and len(part) < 10 and int(part) < count):
                errors.fail("hand", f"numbers below {count} joined by dots", view.hand)
        return tuple(map(int, parts))

    def on_show(self, view: View, name: str | None = None) -> PointsOnShow:
        """Return the points that the view asks for; with a name, the finished set of that name."""
        if (name or view.images) == BY_HAND:
            return PointsOnShow(BY_HAND, view.layer, hand=self.hand(view))
        return PointsOnShow(name or view.images, view.layer)

    def per_class(self, on_show: PointsOnShow) -> int:
        """Return the images per class of these points."""
        count = len(self.mapped.points(on_show)[1])
        return max(1, round(count / self.mapped.data.classes))

    def chance(self, view: View) -> float:
        """Return what as many random real images cover on average."""
        on_show = self.on_show(view)
        return self.mapped.chance(on_show.layer, self.per_class(on_show))

    def shares(self, view: View) -> dict[str, float]:
        """Return the coverage of each set, and of what was put by hand once a hand has moved."""
        names = (*self.mapped.sets, BY_HAND) if view.hand else tuple(self.mapped.sets)
        return {name: self.mapped.coverage(self.on_show(view, name)) for name in names}


def list_jobs(world: World, view: View, run: None) -> list[Value]:
    """Return the map."""
    return [Value(world.map, view.layer, view.map_config)]


def map_of(world: World, view: View, results: Results) -> Map | None:
    """Return the map on show, None while it is fitted."""
    return results(results.jobs[0])


def put(world: World, view: View, point: int, x: float, y: float) -> View:
    """Return the settings in which a point is the real image of its class nearest to (x, y)."""
    fitted = world.mapped.known_map(view.layer, view.map_config)
    if fitted is None:  # the map that the reader sees is not the one that is asked for
        return view
    on_show = world.on_show(view)
    labels = world.mapped.points(on_show)[1]
    errors.check_choice("point", point, range(len(labels)))
    hand = on_show.hand or world.mapped.nearest_real(on_show)
    nearest = world.mapped.nearest_on(fitted, int(labels[point]), x, y)
    moved = [*hand[:point], nearest, *hand[point + 1 :]]
    return view.replace(images=BY_HAND, hand=".".join(map(str, moved)))


def handles(world: World, view: View, results: Results) -> Handles | None:
    """Return the distilled points on the map."""
    if results.shared is None:
        return None
    on_show = world.on_show(view)
    names = world.mapped.data.class_names
    labels = world.mapped.points(on_show)[1].tolist()
    positions = world.mapped.positions(results.shared, on_show)
    return Handles([names[label] for label in labels], positions, results.shared.extent)


def map_data(world: World, view: View, results: Results) -> Named | None:
    """Return the map and the points on it; what is on show stays while a map is fitted."""
    if results.shared is None:
        return None
    return {
        "mapped": world.mapped,
        "fitted": results.shared,
        "on_show": world.on_show(view),
        "kind": view.map,
        "config": view.map_config.to_string(),
    }


def points_on_map(mapped: MappedImages, fitted: Map, on_show: PointsOnShow) -> dict[str, Any]:
    """Return what changes on a map when points move."""
    names = mapped.data.class_names
    # Names would lie on each other: a point has the number of its picture in the strip.
    numbers = [str(point + 1) for point in range(len(mapped.points(on_show)[1]))]
    return {
        "real": fitted.real,
        "distilled": mapped.positions(fitted, on_show),
        "covered": mapped.covered(on_show),
        "real_classes": [names[label] for label in mapped.labels.tolist()],
        "distilled_classes": numbers,
    }


def point_map(
    mapped: MappedImages, fitted: Map, on_show: PointsOnShow, kind: str, config: str
) -> go.Figure:
    """Draw the map, with the density of the real images."""
    figure = embedding_map(
        **points_on_map(mapped, fitted, on_show),
        density=(fitted.density.x, fitted.density.y, fitted.density.rank),
        extent=fitted.extent,
        title=f"{kind} of the teacher's {on_show.layer}: {on_show.name}",
        height=HEIGHT,
    )
    # A reader's zoom is kept while points move, and let go when the map is another one.
    figure.layout.uirevision = f"{on_show.layer} {config}"
    return figure


def bars_data(world: World, view: View, results: Results) -> Named:
    """Return what each set covers, and what as many random real images do."""
    return {"shares": tuple(world.shares(view).items()), "chance": world.chance(view)}


def bars(shares: tuple[tuple[str, float], ...], chance: float) -> go.Figure:
    """Draw the coverage of each set; a dashed line is that of as many random real images."""
    coverage = dict(shares)
    figure = figures.bars(
        list(coverage),
        list(coverage.values()),
        title="Real images covered",
        y_label="covered share",
        text_format=".1%",
        reference=("drawn at random", chance),
        height=HEIGHT,
    )
    figure.update_xaxes(
        tickvals=[*range(len(coverage))],
        ticktext=[literal(name).replace(" ", "<br>") for name in coverage],
        tickangle=0,
        tickfont_size=11,
    )
    top = max(*coverage.values(), chance, 0.05)
    return figure.update_yaxes(tickformat=".0%", range=[0, 1.2 * top])


def picture_data(world: World, view: View, results: Results) -> Named:
    """Return the points whose images are shown."""
    return {"world": world, "on_show": world.on_show(view)}


def picture(world: World, on_show: PointsOnShow) -> tuple[bytes, str]:
    """Draw the images of the points, and say whose they are."""
    images: Tensor = world.mapped.images(on_show)
    pixels = images[:_PICTURES].cpu().numpy()
    names = world.mapped.data.class_names
    labels = []
    for point, label in enumerate(world.mapped.points(on_show)[1][:_PICTURES].tolist()):
        words = f"{point + 1} {names[label]}"
        labels.append(words if len(words) <= _LETTERS else f"{words[: _LETTERS - 1]}.")
    grid = encode_grid(pixels, columns=len(pixels), cell=_CELL, column_labels=labels, gap=4)
    return grid, f"The {len(images)} images whose points are shown: {on_show.name}."


def sentence(world: World, view: View, results: Results) -> str:
    """Say how much of the real images the points on show cover."""
    if results.shared is None:
        return f"{view.map} lays the points out ..."
    on_show = world.on_show(view)
    map_words = f"{view.map} of the {view.layer}"
    if results.shared.kept_variance is not None:
        map_words += f" (which shows {results.shared.kept_variance:.0%} of their variance)"
    count = len(world.mapped.images(on_show))
    return (
        f"{map_words}: the {count} images ({on_show.name}) cover "
        f"{world.mapped.coverage(on_show):.1%} of {len(world.mapped.pool)} real images. As many "
        f"random real images cover {world.chance(view):.1%} on average."
    )


def quest(world: World) -> Quest:
    """Return the quest: better by hand than any set, and than the best of 100 random choices."""
    return Quest(
        f"By hand, cover more than {world.goal:.1%} of the real images.",
        lambda world, view, results: (
            world.mapped.coverage(PointsOnShow(BY_HAND, "features", hand=world.hand(view)))
            > world.goal
        ),
    )


def unused(world: World, view: View) -> list[str]:
    """Return the sliders that do nothing now."""
    kinds = {"perplexity": "t-SNE", "neighbours": "UMAP"}
    return [name for name, kind in kinds.items() if view.map != kind]


def other_seed(view: View) -> View:
    """Return the settings with the next seed, which PCA does not read."""
    return view if view.map == "PCA" else view.replace(seed=(view.seed + 1) % 1000)


DiversityView = Lab(
    "Where do the distilled images lie among the real ones?",
    World,
    controls=("images", "map", "layer"),
    folded=("perplexity", "neighbours"),
    labels={"layer": "map of teacher's"},
    check=World.hand,
    jobs=list_jobs,
    opens_with=1,
    shared=map_of,
    unused=unused,
    buttons=[
        Change(
            "Other seed",
            other_seed,
            "random",
            "Lay the same points out again with another seed (t-SNE, UMAP)",
        )
    ],
    views=[
        Strip(picture_data, picture),
        Tabs(
            ("Map", Chart(map_data, point_map, drag=Drag(DISTILLED, put, handles))),
            ("Coverage", Chart(bars_data, bars)),
        ),
    ],
    sentence=sentence,
    quest=quest,
)
