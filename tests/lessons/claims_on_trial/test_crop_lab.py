"""Maps of cropped views, driven in Python: what moves, that the numbers are those of the pixels, and what is computed ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ddlab import theory
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.evaluation import embeddings
from ddlab.explorers import Laboratory
from ddlab.figures import alt_text, classes_on_map
from ddlab.lessons.claims_on_trial.crop_lab import CropMaps, class_map, overlap, spread, strip, value
from ddlab.lessons.claims_on_trial.crop_world import SCALES, Cropped
from tests.support import made_data


@pytest.fixture
def data() -> ImageData:
    return made_data(size=12, channels=3)


@pytest.fixture
def explorer(data: ImageData) -> Iterator[Laboratory]:
    made = CropMaps(data, images=6, views=3)
    made.runner.join()
    yield made
    made.close()


def at(explorer: Laboratory, least_area: float) -> None:
    explorer.panel["least_area"].value = least_area
    explorer.runner.join()


def found(explorer: Laboratory, least_area: float | None = None) -> Cropped:
    area = explorer.settings.least_area if least_area is None else least_area
    return explorer.values[value(explorer.world, explorer.settings, area)]


def known(explorer: Laboratory) -> list[tuple[Any, ...]]:
    return [one.arguments for one in explorer.values]


def test_it_opens_with_the_first_map_and_then_makes_the_others_in_order(data: ImageData) -> None:
    made = CropMaps(data, images=6, views=3)
    assert made.sentence.startswith("Views of a and b with a least area of 0.08: the variance")
    made.runner.join()
    assert [area for _, _, area in known(made)] == [0.08, 0.02, 0.04, 0.2, 0.5, 1.0]
    made.close()


def test_all_maps_of_the_two_classes_are_made_ahead(explorer: Laboratory) -> None:
    assert {area for _, _, area in known(explorer)} == set(SCALES) and len(known(explorer)) == 6
    assert {(first, second) for first, second, _ in known(explorer)} == {("a", "b")}
    explorer.panel["second"].value = "c"
    assert explorer.sentence == "Views of a and c are laid out ..."
    explorer.runner.join()
    assert len(known(explorer)) == 12 and "Views of a and c with" in explorer.sentence


def test_going_back_to_classes_that_were_left_early_makes_the_rest(explorer: Laboratory) -> None:
    explorer.keep(value(explorer.world, explorer.settings.replace(second="c"), 0.08), found(explorer))
    explorer.panel["second"].value = "c"
    explorer.runner.join()
    assert len(known(explorer)) == 12


def test_the_numbers_are_those_of_the_views(explorer: Laboratory, data: ImageData) -> None:
    at(explorer, 0.04)
    points, sources = [], torch.arange(6).repeat_interleave(3)
    for label in (0, 1):
        images = data.normalised(torch.nonzero(data.train_labels == label)[:6, 0])
        points.append(theory.crop_views(images, minimum_scale=0.04, views=3, seed=label).flatten(0, 1).flatten(1))
    about = [float((part.double() - part.double().mean(0)).square().sum(1).mean()) for part in points]
    assert found(explorer).within == pytest.approx(sum(about) / 2)
    assert found(explorer).overlap == theory.class_overlap(*points, first_sources=sources, second_sources=sources)
    whole = found(explorer, 1.0)
    assert explorer.sentence == (
        f"Views of a and b with a least area of 0.04: the variance within the classes is {found(explorer).within:.0f} and "
        f"their overlap {found(explorer).overlap:.2f}, {whole.within:.0f} and {whole.overlap:.2f} without augmentation."
    )


def test_map_bars_and_pictures_follow_the_slider(explorer: Laboratory, data: ImageData) -> None:
    before = explorer.widget(strip).value
    at(explorer, 1.0)
    figure = explorer.widget(class_map).figure
    assert "no augmentation" in figure.layout.title.text and explorer.widget(strip).value != before
    assert "no augmentation" in explorer.widget(strip).alt and figure.layout.uirevision == "least_area=1.0"
    drawn = {trace.name: len(trace.x) for trace in figure.data}
    assert drawn == {"a": 18, "b": 18}
    first = data.train_images[torch.nonzero(data.train_labels == 0)[:6, 0]]
    assert torch.equal(found(explorer).images[0][:6], first), "all of the area: the images themselves"
    row = [found(explorer, scale) for scale in SCALES]
    for draw, values in ((spread, [c.within for c in row]), (overlap, [c.overlap for c in row])):
        figure = explorer.widget(draw).figure
        (trace,) = figure.data
        assert figure.layout.xaxis.type == "category", "names, not numbers"
        assert list(trace.x) == list(SCALES.values()) and list(trace.y) == pytest.approx(values)


def test_a_view_is_shared_and_another_area_is_laid_out(explorer: Laboratory) -> None:
    explorer.share_field.value = 'least_area=0.3,second="c"'
    explorer.runner.join()
    assert "Views of a and c with a least area of 0.3:" in explorer.sentence and explorer.error is None
    assert ".3" in "".join(explorer.widget(overlap).figure.data[0].x)
    assert explorer.share_field.value == explorer.panel.value.to_string()


def test_one_class_twice_is_refused_in_a_sentence(explorer: Laboratory) -> None:
    explorer.panel["first"].value = "b"
    assert explorer.panel.message == "second must be another class than 'b'; given 'b'."
    assert explorer.panel.value.first == "a"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": (0, 0)}, "classes must be two different class numbers"),
        ({"classes": (0, 9)}, r"classes must be an integer in \[0, 2\]"),
        ({"classes": "ab"}, "classes must be two different class numbers"),
        ({"images": 200, "views": 4}, "views must be an integer"),
    ],
)
def test_wrong_settings_are_refused(data: ImageData, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DDLabError, match=message):
        CropMaps(data, **settings)


def test_what_is_on_show_stays_while_another_map_is_laid_out(
    explorer: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gate, fit = threading.Event(), threading.Event(), embeddings.fit

    def held(*given: Any, **options: Any) -> Any:
        begun.set()
        assert gate.wait(10)
        return fit(*given, **options)

    monkeypatch.setattr(embeddings, "fit", held)
    shown = [explorer.widget(draw) for draw in (class_map, spread, overlap)]
    before = [plot.figure for plot in shown]
    explorer.panel["second"].value = "c"
    assert begun.wait(10)
    assert explorer.sentence == "Views of a and c are laid out ..." and [plot.figure for plot in shown] == before
    explorer.panel["second"].value = "b"
    assert explorer.sentence.startswith("Views of a and b with")
    gate.set()
    explorer.runner.join()
    assert len(known(explorer)) == 7, "a map cannot be given up halfway; then nothing is missing"


def test_the_words_beside_the_slider(explorer: Laboratory) -> None:
    words = {stop: said for said, stop in explorer.panel["least_area"].options}
    assert words == SCALES | {1.0: "no augmentation"}


def test_the_figure_tells_classes_apart_without_colour() -> None:
    figure = classes_on_map({"disc": [[0, 0], [1, 0]], "cross": [[2, 1]]})
    assert len({trace.marker.symbol for trace in figure.data}) == 2
    assert alt_text(figure) == "Map of views: 2 of disc and 1 of cross."
    with pytest.raises(DDLabError, match="classes must be a mapping"):
        classes_on_map({})
    with pytest.raises(DDLabError, match="classes\\['a'\\] must be an array of shape"):
        classes_on_map({"a": [[1.0]]})
