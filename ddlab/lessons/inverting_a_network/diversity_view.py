"""The diversity view: real and distilled images on one map, moved by a recorded run or by hand,
with the share of the real ones covered.

run = ddlab.Run(sre2l, config, ddlab.Inputs(data=data, teachers=(teacher,)))
recovered = run.to_end()
DiversityView(data, teacher, {"random": chosen, "recovered": recovered}, films={"recovered": run})

The map is fitted once to all points and then stands still: the frames of a recording are placed on
it. What a reader moves by hand becomes the real image of the same class that lies nearest on the
map, so that it has features, and a coverage, like every other.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from ...core import errors
from ...core.parameters import Parameters, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import embeddings
from ...explorers.controls import Controls
from ...explorers.images import Picture
from ...explorers.layout import Explorer, side_by_side
from ...explorers.lines import QuestLine
from ...explorers.plot import Plot
from ...explorers.pointer import PointSliders
from ...explorers.runner import Runner
from ...explorers.stops import name_stops
from ...figures import coverage_bars, embedding_map, encode_grid, move_points, raise_bars
from ...figures.embedding import DISTILLED
from ...networks import Network
from ...runs import Run
from ..shared.coverage import BY_HAND, MappedImages, PointsOnShow

_KINDS = {"PCA": "pca", "t-SNE": "t_sne", "UMAP": "umap"}


@dataclass(frozen=True, kw_only=True)
class View(Parameters):
    """What is shown; `images` and `frame` get their choices from the sets of one explorer."""

    images: str = parameter(BY_HAND, help="Whose points are shown large.")
    map: str = parameter(
        "PCA", choices=tuple(_KINDS), help="How the points are laid out.", explorable=True
    )
    layer: str = parameter(
        "features",
        choices=embeddings.LAYERS,
        help="What the teacher says of an image that is mapped.",
        explorable=True,
    )
    frame: int = parameter(0, range=(0, None), help="Which frame of the recording.")
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


class DiversityView(Explorer):
    """Real and distilled images on one map; see the module.

    Attributes:
        mapped: the points, their maps and what they cover. hand: the real images chosen by hand,
            positions in `mapped.pool`.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        sets: Mapping[str, DistilledSet],
        *,
        films: Mapping[str, Run] | None = None,
        points: int = 300,
        key: str = "diversity view",
    ) -> None:
        """
        Args:
            data: whose training images are the real points.
            teacher: its features or logits are mapped.
            sets: name -> distilled set.
            films: for some of them the run that made it, whose frames hold looks with one image of
                each class.
            points: how many real images, as many of each class as there are.
        """
        self.mapped = MappedImages(data, teacher, sets, films, points)
        self._first = next(iter(self.mapped.sets))
        longest = max(self.mapped.frames.values(), key=len, default=())
        start = _view_class(tuple(self.mapped.sets), max(len(longest), 1))()
        # A few dozen points have no thirty neighbours each.
        largest = max(2, (len(self.mapped.pool) - 1) // 3)
        start = start.replace(
            perplexity=min(start.perplexity, largest), neighbours=min(start.neighbours, largest)
        )
        frame = ["frame"] if self.mapped.frames else []
        folded = ["layer", "perplexity", "neighbours"]
        self.panel = Controls(
            start,
            ["images", "map", *frame, *folded],
            folded=folded,
            labels={"layer": "teacher's", "frame": "step"},
            stacked=True,
        )
        if frame:
            name_stops(
                self.panel,
                "frame",
                {place: str(film_frame.step) for place, film_frame in enumerate(longest)},
            )
        # Of ten real digits random ones cover 20% on average and 30% at best, the centres of
        # k-means 26%, a greedy choice 45%.
        self._luck = self.mapped.luck("features", self._per_class())
        self.quest = QuestLine(
            f"By hand, cover more than {self._luck:.1%} of the real images: the best of 100 "
            "random choices."
        )
        self.map = self.mapped.map(start.layer, start.map_config)
        self.hand = self._nearest_to_first()
        # What the figures show: as long as it stays the same they are changed in place, which is
        # ten times faster.
        self._drawing = threading.RLock()
        self._drawn_map: Any = None
        self._drawn_shares: Any = None
        self._bars_top = 0.0
        self.plot = Plot(self._map_figure(), announce=False, draggable=DISTILLED)
        self.bars = Plot(self._bars_figure(*self._shares()), announce=False)
        self.picture = Picture(self._grid(), alt=self._alt())
        self.seed_button = widgets.Button(
            description="Other seed",
            tooltip="Lay the same points out again with another seed (t-SNE, UMAP)",
        )
        self.sliders = PointSliders(self._move, self.guard)
        super().__init__(
            "Where do the distilled images lie among the real ones?",
            controls=[self.quest, self.panel, self.seed_button, self.sliders],
            views=[self.plot, side_by_side([self.bars, self.picture])],
            key=key,
            beside=True,
        )
        self.runner = self.owns(Runner(self._fit, on_error=self.show_error, name="ddlab-diversity"))
        # First: the plot is sent before the text that can be shared.
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.plot.observe(self.guard(self._dragged), "dragged")
        self.seed_button.on_click(self.guard(lambda _button: self._other_seed()))
        self._redraw()

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        old = change["old"]
        view = change["new"]
        if view.hand != old.hand and view.hand != _joined(self.hand):
            self.hand = self._hand_from(view.hand)
        cached_map = self.mapped.known_map(view.layer, view.map_config)
        if cached_map is None:
            self._enable(view)
            self.say(f"{view.map} lays the points out ...")
            self.runner.submit(view)
        else:
            self.map = cached_map
            self._redraw()

    def _fit(self, view: View, leave: Callable[[], None]) -> None:
        # A map cannot be given up halfway; the runner takes the newest view next.
        fitted = self.mapped.map(view.layer, view.map_config, announce=self.say)
        leave()
        view = self.panel.value
        if self.mapped.known_map(view.layer, view.map_config) is fitted:
            self.map = fitted
            self._redraw()

    def _other_seed(self) -> None:
        view = self.panel.value
        if view.map == "PCA":
            self.say("PCA has no chance in it: every seed gives this map. Choose t-SNE or UMAP.")
        else:
            self.panel.value = view.replace(seed=(view.seed + 1) % 1000)

    def _dragged(self, change: Any) -> None:
        moved = change["new"]
        if moved:
            self._move(int(moved["point"]), float(moved["x"]), float(moved["y"]))

    def _move(self, point: int, x: float, y: float) -> None:
        """Move a distilled point to the real image of its class nearest to (x, y) on the map."""
        view = self.panel.value
        on_show = self._on_show()
        labels = self.mapped.points(on_show)[1]
        errors.check_choice("point", point, range(len(labels)))
        hand = list(self.hand if on_show.name == BY_HAND else self.mapped.nearest_real(on_show))
        hand[point] = self.mapped.nearest_on(self.map, int(labels[point]), x, y)
        self.hand = tuple(hand)
        self.sliders.point.value = point
        self.panel.value = view.replace(images=BY_HAND, hand=_joined(self.hand))

    def _nearest_to_first(self) -> tuple[int, ...]:
        return self.mapped.nearest_real(PointsOnShow(self._first, "features"))

    def _hand_from(self, text: str) -> tuple[int, ...]:
        """Read `View.hand`; where it says nothing, take what is nearest to the first set."""
        if not text:
            return self._nearest_to_first()
        parts = text.split(".")
        count = len(self.mapped.pool)
        if not all(
            part.isascii() and part.isdecimal() and len(part) < 10 and int(part) < count
            for part in parts
        ):
            errors.fail("hand", f"numbers below {count} joined by dots", text)
        return tuple(int(part) for part in parts)

    # -- views

    def _on_show(self, name: str | None = None) -> PointsOnShow:
        """Return the points that the view asks for; with a name, the finished set of that name."""
        view = self.panel.value
        if (name or view.images) == BY_HAND:
            return PointsOnShow(BY_HAND, view.layer, hand=self.hand)
        if name is not None or view.images not in self.mapped.frames:
            return PointsOnShow(name or view.images, view.layer)
        return PointsOnShow(
            view.images, view.layer, min(view.frame, len(self.mapped.frames[view.images]) - 1)
        )

    def _redraw(self) -> None:
        with self._drawing:
            self.plot.figure = self._map_figure()
            shares = self._shares()
            if shares != self._drawn_shares:
                self.bars.figure = self._bars_figure(*shares)
        self.picture.show_bytes(self._grid(), alt=self._alt())
        self._enable(self.panel.value)
        self._follow()
        self.quest.look(
            self.mapped.coverage(PointsOnShow(BY_HAND, "features", hand=self.hand)) > self._luck
        )
        self.say(self._words())

    def _follow(self) -> None:
        on_show = self._on_show()
        names = self.mapped.data.class_names
        labels = self.mapped.points(on_show)[1].tolist()
        self.sliders.follow(
            [names[label] for label in labels],
            self.mapped.positions(self.map, on_show),
            self.map.extent,
        )

    def _enable(self, view: View) -> None:
        """Grey out the sliders that do nothing now."""
        used = {"perplexity": view.map == "t-SNE", "neighbours": view.map == "UMAP"}
        if self.mapped.frames:
            used["frame"] = view.images in self.mapped.frames
        for name, on in used.items():
            setattr(self.panel[name], "disabled", not on)  # noqa: B010

    def _map_figure(self) -> go.Figure:
        view = self.panel.value
        on_show = self._on_show()
        names = self.mapped.data.class_names
        points: dict[str, Any] = {
            "real": self.map.real,
            "distilled": self.mapped.positions(self.map, on_show),
            "covered": self.mapped.covered(on_show),
            "real_classes": [names[label] for label in self.mapped.labels.tolist()],
            "distilled_classes": [
                names[label] for label in self.mapped.points(on_show)[1].tolist()
            ],
        }
        drawing_key = id(self.map), on_show.name, len(points["distilled"])
        if drawing_key == self._drawn_map:
            return move_points(self.plot.figure, **points)
        self._drawn_map = drawing_key
        figure = embedding_map(
            **points,
            density=(self.map.density.x, self.map.density.y, self.map.density.rank),
            extent=self.map.extent,
            title=f"{view.map} of the teacher's {view.layer}: {view.images}",
            height=370,
        )
        # A reader's zoom is kept while points move, and let go when the map is another one.
        figure.layout.uirevision = f"{view.layer} {view.map_config.to_string()}"
        return figure

    def _shares(self) -> tuple[dict[str, float], float]:
        """Return the coverage of each set, and that of as many random real images."""
        view = self.panel.value
        shares = {}
        for name in (*self.mapped.sets, BY_HAND):
            shares[name] = self.mapped.coverage(self._on_show(name))
        shares[view.images] = self.mapped.coverage(self._on_show())
        return shares, self._chance()

    def _bars_figure(self, shares: dict[str, float], chance: float) -> go.Figure:
        before = self._drawn_shares
        self._drawn_shares = (shares, chance)
        top = max([*shares.values(), chance])
        if (
            before is not None
            and before[1] == chance
            and before[0].keys() == shares.keys()
            and top <= self._bars_top
        ):
            return raise_bars(self.bars.figure, list(shares.values()), text_format=".1%")
        self._bars_top = top
        upright = {"tickangle": 0, "tickfont": {"size": 11}}
        return coverage_bars(shares, chance=chance, height=175).update_xaxes(**upright)

    def _chance(self) -> float:
        on_show = self._on_show()
        return self.mapped.chance(on_show.layer, self._per_class(on_show))

    def _per_class(self, on_show: PointsOnShow | None = None) -> int:
        """Return the images per class on show, or of the first set."""
        count = len(self.mapped.points(on_show or PointsOnShow(self._first, "features"))[1])
        return max(1, round(count / self.mapped.data.classes))

    def _grid(self) -> bytes:
        images = self.mapped.images(self._on_show())[:100].cpu().numpy()
        return encode_grid(
            images,
            columns=5 if len(images) <= 20 else 10,
            scale=max(1, round(48 / images.shape[-1])),
        )

    def _alt(self) -> str:
        on_show = self._on_show()
        return (
            f"The {len(self.mapped.images(on_show))} images whose points are shown: {on_show.name}."
        )

    def _words(self) -> str:
        view = self.panel.value
        on_show = self._on_show()
        moment = (
            ""
            if on_show.frame is None
            else f" after step {self.mapped.frames[on_show.name][on_show.frame].step}"
        )
        map_of = f"{view.map} of the {view.layer}"
        if self.map.kept_variance is not None:
            map_of += f" (shows {self.map.kept_variance:.0%} of their variance)"
        count = len(self.mapped.images(on_show))
        pool = len(self.mapped.pool)
        return (
            f"{map_of}: the {count} images ({on_show.name}){moment} cover "
            f"{self.mapped.coverage(on_show):.1%} of {pool} real images; as many "
            f"real ones drawn at random cover {self._chance():.1%} on average."
        )


def _view_class(names: tuple[str, ...], frames: int) -> type[View]:
    """Return the View of one explorer: its sets are the choices."""

    @dataclass(frozen=True, kw_only=True)
    class SetsView(View):
        """What is shown, among the given sets."""

        images: str = parameter(
            names[0],
            choices=(*names, BY_HAND),
            help="Whose points are shown large.",
            explorable=True,
        )
        frame: int = parameter(
            frames - 1,
            range=(0, frames - 1),
            explorable=(0, max(frames - 1, 1)),
            help="Which frame of the recording.",
        )

    return SetsView


def _joined(hand: tuple[int, ...]) -> str:
    return ".".join(map(str, hand))
