"""The laboratory of diversity, driven in Python: its numbers are those of distill, evaluate and the
measures.
"""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import ddlab
from ddlab import networks, records
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import embeddings, measures
from ddlab.explorers import Laboratory
from ddlab.explorers.students import accuracy_text
from ddlab.figures import encode_grid
from ddlab.lessons.diversity import lab as labs
from ddlab.lessons.diversity import students
from ddlab.lessons.diversity.lab import (
    NEAREST_RUN,
    REAL,
    THIS_RUN,
    DiversityLab,
    Images,
    World,
)
from ddlab.methods import dwa, selection
from ddlab.networks import Network
from ddlab.training import supervised
from tests.support import assert_same, made_data, moved, share_of_checks

SPEC = networks.spec("convnet", width=8)
STUDENT = supervised.Config.teaching(network=SPEC, epochs=40)
CONFIG = dwa.Config(images_per_class=2, iterations=6, roll_pixels=2)


@pytest.fixture(scope="module")
def data_and_teacher() -> tuple[ImageData, Network]:
    data = made_data(train=30)
    teacher_config = supervised.Config.teaching(
        "teacher", network=SPEC, epochs=20, batch_size=12, crop_pixels=0
    )
    return data, ddlab.train_teacher(data, teacher_config, progress=False)


@pytest.fixture
def lab(data_and_teacher: tuple[ImageData, Network]) -> Iterator[Laboratory]:
    laboratory = DiversityLab(*data_and_teacher, CONFIG, student=STUDENT, seeds=2, points=60)
    yield laboratory
    laboratory.close()


def images_on_show(lab: Laboratory) -> dict[str, Images]:
    return lab.results.shared


def distilled(lab: Laboratory) -> DistilledSet:
    return lab.world.run(lab.settings).result()


def places(lab: Laboratory, name: str) -> torch.Tensor:
    trace = next(
        candidate for candidate in lab.widget(labs.map_figure).figure.data if candidate.name == name
    )
    return torch.tensor(np.stack([trace.x, trace.y], 1))


@pytest.mark.parametrize("perturbation", ["none", "random", "directed"])
def test_what_is_shown_is_what_distill_makes_bit_for_bit(
    lab: Laboratory, data_and_teacher: tuple[ImageData, Network], perturbation: str, no_cache: None
) -> None:
    changes = {
        "initialisation": "noise",
        "adjustment_radius": 0.5,
        "lambda_var": 0.33,
        "perturbation": perturbation,
    }
    moved(lab, **changes)
    by_distill = ddlab.distill("dwa", *data_and_teacher, CONFIG.replace(**changes), progress=False)
    assert_same(by_distill.tensors, distilled(lab).tensors)
    picture = lab.widget(labs.pictures).value
    chosen = ddlab.distill(
        "selection", *data_and_teacher, selection.Config(images_per_class=2), progress=False
    )
    # DWA's batches hold one image of each class; chosen images stand by class.
    rows = torch.cat([by_distill.to_uint8(), *(chosen.to_uint8()[place::2] for place in range(2))])
    assert picture == encode_grid(rows, 3, 4, row_labels=[THIS_RUN, "", REAL, ""])
    distances = measures.feature_distance(by_distill, data_and_teacher[1])
    pool = embeddings.features_of(
        data_and_teacher[1], data_and_teacher[0].normalised(lab.world.mapped.pool)
    )
    points = embeddings.features_of(data_and_teacher[1], by_distill.images)
    covered = measures.nearest_neighbour_coverage(pool, points)
    share = f"coverage {covered:.1%}"
    assert share in lab.sentence and f"feature distance {distances.mean():.3f}" in lab.sentence
    assert lab.sentence.startswith("Images from noise, λ_mean = 0.01, λ_var = 0.33")
    traces = {trace.name: trace for trace in lab.widget(labs.trade).figure.data}
    on_show = traces["on show"]
    assert on_show.x == pytest.approx((float(distances.mean()),), abs=1e-6)
    assert on_show.y == pytest.approx((covered,))


def test_the_map_is_fitted_once_and_holds_all_that_is_placed(
    lab: Laboratory, data_and_teacher: Any
) -> None:
    data, teacher = data_and_teacher
    chosen = ddlab.distill(
        "selection", data, teacher, selection.Config(images_per_class=2), progress=False
    )
    fitted = [data.normalised(lab.world.mapped.pool), chosen.images]
    model = PCA(2, svd_solver="full").fit(
        np.concatenate([embeddings.features_of(teacher, images) for images in fitted])
    )
    assert "t-SNE of features" in lab.widget(labs.map_figure).figure.layout.title.text
    moved(lab, lambda_var=1.0, initialisation="noise", map="PCA")
    expected = torch.from_numpy(
        model.transform(embeddings.features_of(teacher, distilled(lab).images).numpy())
    ).float()
    torch.testing.assert_close(places(lab, THIS_RUN), expected, atol=1e-3, rtol=1e-3)
    figure = lab.widget(labs.map_figure).figure
    for name in (THIS_RUN, REAL, "real images"):
        ranges = figure.layout.xaxis.range, figure.layout.yaxis.range
        for points, (low, high) in zip(places(lab, name).T, ranges, strict=True):
            assert low <= points.min() and points.max() <= high
    names = next(trace for trace in figure.data[1:] if trace.mode == "text")
    assert [*names.text] == [f"<b>{name}</b>" for name in data.class_names]


def test_only_a_class_that_is_chosen_has_lines_from_real_images_to_theirs(lab: Laboratory) -> None:
    def line() -> Any:
        traces = {trace.name: trace for trace in lab.widget(labs.map_figure).figure.data}
        return traces.get("from start to result")

    moved(lab, initialisation="real", map="PCA")
    assert line() is None
    moved(lab, moves="b")
    ours, theirs = (
        places(lab, name)[images_on_show(lab)[name].labels == 1] for name in (THIS_RUN, REAL)
    )
    ends = torch.tensor(np.array([line().x, line().y], float)).T.float()
    gap = torch.full((2, 2), torch.nan)
    expected = torch.stack([theirs, ours, gap], 1).flatten(0, 1)
    torch.testing.assert_close(ends, expected, equal_nan=True)


def test_students_are_those_of_evaluate_in_pairs(
    lab: Laboratory, data_and_teacher: Any, no_cache: None
) -> None:
    data, teacher = data_and_teacher
    next(iter(lab.buttons.values())).click()
    lab.runner.join()
    chosen = ddlab.distill(
        "selection", data, teacher, selection.Config(images_per_class=2), progress=False
    )
    for distilled_set in (distilled(lab), chosen):
        for labels in ("hard", "online"):
            evaluation = ddlab.evaluate(
                distilled_set, data, labels=labels, teacher=teacher, seeds=[0, 1], config=STUDENT
            )
            assert (
                accuracy_text([*evaluation.per_seed.values()])
                in lab.widget(students.score_table).value
            )


def test_a_press_shows_the_nearest_at_once_and_its_own_run_next(
    lab: Laboratory, monkeypatch: Any
) -> None:
    go_on = threading.Event()
    update = dwa.update

    def held_back(*arguments: Any) -> Any:
        assert go_on.wait(20)
        return update(*arguments)

    recorded = {
        CONFIG.replace(lambda_var=weight): torch.full((6, 1, 8, 8), 9 * n)
        for n, weight in enumerate((0.3, 1.0))
    }
    lab.world.film = {config: images.to(torch.uint8) for config, images in recorded.items()}
    monkeypatch.setattr(dwa, "update", held_back)
    before = lab.widget(labs.pictures).value
    for weight, nearest in ((1.0, 1.0), (0.33, 0.3), (0.11, 0.11)):
        lab.panel["lambda_var"].value = weight
        images_now = images_on_show(lab)
        assert (
            next(iter(images_now)) == (THIS_RUN if weight == 0.11 else NEAREST_RUN)
            and next(iter(images_now.values())).source.lambda_var == nearest
        )
        assert (lab.widget(labs.pictures).value == before) == (weight == 0.11)
        assert lab.sentence.startswith("Your images are being recovered") == (weight != 0.11)
        assert f"λ_var = {nearest:g}" in lab.sentence and not lab.quest.met
    go_on.set()
    moved(lab, lambda_var=1.0)
    assert next(iter(images_on_show(lab))) == THIS_RUN and lab.sentence.startswith(
        "Images from real images"
    )


def test_the_film_is_of_the_lessons_data_and_holds_every_stop_of_the_sliders(
    data_and_teacher: Any,
) -> None:
    data = ddlab.data.load("shapes", size=16)
    film = records.film("diversity", data)
    assert (
        records.film("diversity", data_and_teacher[0]) == []
        and World(*data_and_teacher, CONFIG, points=60).film == {}
    )
    configs = {dwa.Config.teaching(**settings) for settings, _ in film}
    for start in ("real", "noise"):
        for weight in labs.WEIGHTS:
            changes = {
                "images_per_class": 3,
                "iterations": 100,
                "initialisation": start,
                "lambda_var": weight,
            }
            expected = [dwa.Config.teaching(**changes, perturbation="none")]
            for kind in ("random", "directed"):
                for r in labs.RADII:
                    expected.append(
                        dwa.Config.teaching(**changes, perturbation=kind, adjustment_radius=r)
                    )
            assert configs >= set(expected)
    assert all(
        images.shape == (30, 3, 16, 16) and images.dtype == torch.uint8 for _, images in film
    )


def test_a_press_computes_more_than_it_checks(lab: Laboratory) -> None:
    """Settings that were seen before: what is left is drawing, and every check is one too many."""
    for value in (0.33, 0.11) * 2:
        lab.panel.value = lab.panel.value.replace(lambda_var=value)
        lab.run()
    settings = lab.panel.value.replace(lambda_var=(0.33, 0.11)[0])
    assert share_of_checks(lambda: setattr(lab.panel, "value", settings)) < 0.2
