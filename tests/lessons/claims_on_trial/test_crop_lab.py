"""Maps of cropped views, driven in Python: what moves, that the numbers are those of the pixels, and what is computed ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from ddlab.explorers.crop_maps import SCALES

from ddlab import explorers, theory
from ddlab.data import ImageData
from ddlab.errors import DDLabError
from ddlab.explorers import CropMaps
from ddlab.figures import alt_text, classes_on_map
from tests.support import made_data


@pytest.fixture
def data() -> ImageData:
    return made_data(size=12, channels=3)


@pytest.fixture
def explorer(data: ImageData) -> Iterator[CropMaps]:
    made = CropMaps(data, images=6, views=3)
    made.worker.join()
    yield made
    made.close()


def at(explorer: CropMaps, least_area: float) -> None:
    explorer.panel["least_area"].value = least_area
    explorer.worker.join()


def test_all_maps_of_the_two_classes_are_made_ahead(explorer: CropMaps) -> None:
    assert {view.least_area for view in explorer.known} == set(SCALES) and len(explorer.known) == 6
    assert {(view.first, view.second) for view in explorer.known} == {("a", "b")}
    explorer.panel["second"].value = "c"
    explorer.worker.join()
    assert len(explorer.known) == 12 and "Views of a and c" in explorer.sentence


def test_going_back_to_classes_that_were_left_early_makes_the_rest(explorer: CropMaps) -> None:
    view = explorer.panel.value.replace(second="c")
    explorer.known[view] = explorer.shown
    explorer.panel["second"].value = "c"
    explorer.worker.join()
    assert len(explorer.known) == 12


def test_the_numbers_are_those_of_the_views(explorer: CropMaps, data: ImageData) -> None:
    at(explorer, 0.04)
    points, sources = [], torch.arange(6).repeat_interleave(3)
    for label in (0, 1):
        images = data.normalised(torch.nonzero(data.train_labels == label)[:6, 0])
        points.append(theory.crop_views(images, minimum_scale=0.04, views=3, seed=label).flatten(0, 1).flatten(1))
    about = [float((part.double() - part.double().mean(0)).square().sum(1).mean()) for part in points]
    assert explorer.shown.within == pytest.approx(sum(about) / 2)
    assert explorer.shown.overlap == theory.class_overlap(*points, first_sources=sources, second_sources=sources)
    whole = explorer.known[explorer.panel.value.replace(least_area=1.0)]
    assert explorer.sentence == (
        f"Views of a and b with a least area of 0.04: the variance within the classes is {explorer.shown.within:.0f} and their "
        f"overlap {explorer.shown.overlap:.2f}, {whole.within:.0f} and {whole.overlap:.2f} without augmentation."
    )


def test_map_bars_and_pictures_follow_the_slider(explorer: CropMaps, data: ImageData) -> None:
    before = explorer.picture.value
    at(explorer, 1.0)
    assert "no augmentation" in explorer.plot.figure.layout.title.text and explorer.picture.value != before
    drawn = {trace.name: len(trace.x) for trace in explorer.plot.figure.data}
    assert drawn == {"a": 18, "b": 18}
    first = data.train_images[torch.nonzero(data.train_labels == 0)[:6, 0]]
    assert torch.equal(explorer.shown.images[0][:6], first), "all of the area: the images themselves"
    row = [explorer.known[explorer.panel.value.replace(least_area=scale)] for scale in SCALES]
    for plot, values in ((explorer.spread, [c.within for c in row]), (explorer.overlap, [c.overlap for c in row])):
        (trace,) = plot.figure.data
        assert plot.figure.layout.xaxis.type == "category", "names, not numbers"
        assert list(trace.x) == list(SCALES.values()) and list(trace.y) == pytest.approx(values)


def test_a_view_is_shared_and_another_area_is_laid_out(explorer: CropMaps) -> None:
    explorer.share_field.value = 'least_area=0.3,second="c"'
    explorer.worker.join()
    assert "Views of a and c with a least area of 0.3:" in explorer.sentence and explorer.error is None
    assert ".3" in "".join(explorer.overlap.figure.data[0].x)
    assert explorer.share_field.value == explorer.panel.value.to_string()


def test_one_class_twice_is_refused_in_a_sentence(explorer: CropMaps) -> None:
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


def test_an_error_of_the_worker_is_shown(explorer: CropMaps, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_view: Any) -> None:
        raise DDLabError("views must be whole; given none.")

    monkeypatch.setattr(explorer, "_cropped", broken)
    explorer.panel["second"].value = "c"
    with pytest.raises(DDLabError, match="views must be whole"):
        explorer.worker.join()
    assert str(explorer.error) == "views must be whole; given none."


def test_closing_ends_the_thread_and_a_second_one_replaces_the_first(data: ImageData) -> None:
    def own() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "ddlab-crops"]

    first = CropMaps(data, images=3, views=2)
    second = CropMaps(data, images=3, views=2)
    assert len(own()) <= 1 and first.worker.thread is None
    second.worker.join()
    explorers.close_all()
    assert own() == []


def test_the_figure_tells_classes_apart_without_colour() -> None:
    figure = classes_on_map({"disc": [[0, 0], [1, 0]], "cross": [[2, 1]]})
    assert len({trace.marker.symbol for trace in figure.data}) == 2
    assert alt_text(figure) == "Map of views: 2 of disc and 1 of cross."
    with pytest.raises(DDLabError, match="classes must be a mapping"):
        classes_on_map({})
    with pytest.raises(DDLabError, match="classes\\['a'\\] must be an array of shape"):
        classes_on_map({"a": [[1.0]]})
