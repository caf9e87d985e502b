"""The diversity view, driven in Python: what moves, what is said, and that the numbers are those of
the features.
"""

from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.evaluation import embeddings, measures
from ddlab.explorers import Laboratory
from ddlab.figures.embedding import DISTILLED
from ddlab.lessons.diversity.by_hand import (
    DiversityView,
    bars,
    point_map,
)
from ddlab.lessons.diversity.coverage import BY_HAND, PointsOnShow
from ddlab.methods import sre2l
from ddlab.training import supervised
from tests.support import made_data, refuses

# Numba, on which UMAP runs, looks at functions that newer versions of other packages call old.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def material() -> tuple[ImageData, Any, dict[str, Any]]:
    data = made_data(train=30)
    spec = networks.spec("convnet", width=8)
    teacher = ddlab.train_teacher(
        data, supervised.Config.teaching("teacher", network=spec, epochs=4), progress=False
    )
    config = sre2l.Config.teaching(iterations=12)
    recovered = ddlab.distill("sre2l", data, teacher, config, progress=False)
    chosen = ddlab.distill("selection", data, teacher, progress=False)
    return data, teacher, {"random": chosen, "recovered": recovered}


@pytest.fixture
def view(material):
    data, teacher, sets = material
    laboratory = DiversityView(data, teacher, sets, points=60)
    laboratory.runner.join()
    yield laboratory
    laboratory.close()


def trace(view: Laboratory, name: str) -> Any:
    figure = view.widget(point_map).figure
    return next(candidate for candidate in figure.data if candidate.name == name)


def map_of(view: Laboratory) -> Any:
    return view.world.mapped.known_map(view.settings.layer, view.settings.map_config)


def hand_of(view: Laboratory) -> tuple[int, ...]:
    return view.world.hand(view.settings)


def sliders_of(view: Laboratory) -> Any:
    return next(shown.sliders for shown in view.views_on_page if shown.sliders is not None)


def press_other_seed(view: Laboratory) -> None:
    (button,) = (shown for shown in view.buttons.values() if shown.description == "Other seed")
    button.click()
    view.runner.join()


def places(view: Laboratory) -> list[tuple[float, float]]:
    points = trace(view, DISTILLED)
    return list(zip(points.x, points.y, strict=True))


def test_it_starts_with_the_first_set_on_the_pca_map(view, material) -> None:
    data, teacher, sets = material
    assert view.panel.value.images == "random" and "PCA of the features" in view.sentence
    real = embeddings.features_of(teacher, data.normalised(view.world.mapped.pool))
    points = embeddings.features_of(teacher, sets["random"].images)
    expected = measures.nearest_neighbour_coverage(real, points)
    assert f"the 3 images (random) cover {expected:.1%} of 60 real images" in view.sentence
    assert list(view.widget(bars).figure.data[0].x) == ["random", "recovered"]
    assert view.widget(bars).figure.data[0].y[0] == pytest.approx(expected)
    joint = torch.cat([real, points, embeddings.features_of(teacher, sets["recovered"].images)])
    fitted = embeddings.fit({"all": joint}).positions["all"]
    torch.testing.assert_close(torch.tensor(places(view)), fitted[60:63], atol=2e-3, rtol=1e-3)
    counts = len(trace(view, "real, covered").x), len(trace(view, "real, not covered").x)
    assert counts[0] == round(60 * expected) and sum(counts) == 60


def test_a_point_moved_by_hand_becomes_the_nearest_real_image_of_its_class(view, material) -> None:
    data = material[0]
    target = int((view.world.mapped.labels == 1).nonzero()[5])
    x, y = map_of(view).real[target].tolist()
    view.widget(point_map).dragged = {"count": 1, "point": 1, "x": x, "y": y, "done": False}
    assert view.panel.value.images == BY_HAND and hand_of(view)[1] == target
    assert view.world.mapped.labels[list(hand_of(view))].tolist() == [0, 1, 2]
    assert places(view)[1] == pytest.approx((x, y), abs=2e-3)
    assert torch.equal(
        view.world.mapped.images(view.world.on_show(view.settings))[1],
        data.train_images[view.world.mapped.pool[target]],
    )
    expected = view.world.mapped.coverage(PointsOnShow(BY_HAND, "features", hand=hand_of(view)))
    assert f"(by hand) cover {expected:.1%}" in view.sentence
    assert view.widget(bars).figure.data[0].y[2] == pytest.approx(expected)


def test_the_quest_is_met_by_hand_alone_and_lies_above_chance(view) -> None:
    """A choice made one class at a time, as a reader can; no set that is given, nor a random one,
    meets it.
    """
    mapped = view.world.mapped
    goal = view.world.goal
    assert (
        f"more than {goal:.1%}" in view.quest.value
        and goal > mapped.luck("features", 1) > mapped.chance("features", 1)
        and not view.quest.met
    )
    hand = list(hand_of(view))
    for label in range(3):
        members = (mapped.labels == label).nonzero().flatten().tolist()
        choices = [(*hand[:label], member, *hand[label + 1 :]) for member in members]
        hand = list(
            max(
                choices,
                key=lambda choice: mapped.coverage(PointsOnShow(BY_HAND, "features", hand=choice)),
            )
        )
    view.panel.value = view.panel.value.replace(images=BY_HAND, hand=".".join(map(str, hand)))
    assert (
        view.quest.met
        and mapped.coverage(PointsOnShow(BY_HAND, "features", hand=tuple(hand))) > goal
    )


def test_sliders_do_what_the_mouse_does(view) -> None:
    sliders = sliders_of(view)
    assert [name for name, _ in sliders.point.options] == ["1: a", "2: b", "3: c"]
    sliders.selected_index = 0
    sliders.point.value = 2
    (low, high), _ = map_of(view).extent
    at = places(view)[2]
    assert sliders.across.value == pytest.approx((at[0] - low) / (high - low), abs=0.011), (
        "they begin where the point is"
    )
    sliders.across.value = 0.2
    sliders.up.value = 0.6
    position = [
        a + share * (b - a) for share, (a, b) in zip((0.2, 0.6), map_of(view).extent, strict=True)
    ]
    assert hand_of(view)[2] == view.world.mapped.nearest_on(map_of(view), 2, *position)
    assert (sliders.across.value, sliders.up.value) == (0.2, 0.6), (
        "the point snaps, the sliders stay"
    )
    assert view.panel.value.images == BY_HAND
    view.panel["images"].value = "recovered"
    assert view.panel.value.images == "recovered", "following the points is no move"


def test_maps_layers_and_seeds(view) -> None:
    before = places(view)
    view.panel["layer"].value = "logits"
    view.runner.join()
    assert "teacher's logits" in view.widget(point_map).figure.layout.title.text
    assert "logits" in view.sentence and places(view) != before
    view.panel["perplexity"].value = 10
    view.panel["map"].value = "t-SNE"
    view.runner.join()
    assert view.sentence.startswith("t-SNE of the logits") and view.error is None
    first = places(view)
    press_other_seed(view)
    view.runner.join()
    assert view.panel.value.seed == 1 and places(view) != first
    view.panel["map"].value = "PCA"
    press_other_seed(view)
    assert view.panel.value.seed == 1, "PCA has no chance in it"


def test_a_map_that_cannot_be_made_is_explained_and_the_view_goes_on(view) -> None:
    view.panel["perplexity"].value = 60
    view.panel["map"].value = "t-SNE"
    with refuses("perplexity"):
        view.runner.join()
    assert "perplexity must be at most" in str(view.error)
    view.panel["perplexity"].value = 10
    view.runner.join()
    assert view.error is None and view.sentence.startswith("t-SNE")


def test_sliders_without_use_are_greyed_out(view) -> None:
    def disabled() -> set[str]:
        sliders = ("perplexity", "neighbours")
        return {name for name in sliders if view.panel[name].disabled}

    assert disabled() == {"perplexity", "neighbours"}
    view.panel["map"].value = "t-SNE"
    assert disabled() == {"neighbours"}
    view.runner.join()


def test_the_state_is_a_short_text(view, material) -> None:
    data, teacher, sets = material
    sliders_of(view).across.value = 0.9
    text = view.share_field.value
    assert "by hand" in text and len(text) < 80
    restored = DiversityView(data, teacher, sets, points=60, key="another")
    restored.share_field.value = text
    assert hand_of(restored) == hand_of(view) and places(restored) == places(view)
    with pytest.raises(ddlab.DDLabError, match="hand must be numbers below 60"):
        restored.share_field.value = 'images="by hand",hand="1.999"'
    assert hand_of(restored) == hand_of(view) and "numbers below 60" in str(restored.error)
    restored.close()


def test_more_real_images_by_chance_cover_more(view) -> None:
    shares = [view.world.mapped.chance("features", count) for count in (1, 2, 5, 20)]
    assert shares == sorted(shares) and shares[-1] == 1
