"""The laboratory of diversity, driven in Python: its numbers are those of distill, evaluate and the measures."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import ddlab
from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import embeddings, measures
from ddlab.explorers import Laboratory, Value
from ddlab.explorers import lab as labs
from ddlab.figures import encode_grid
from ddlab.lessons.diversity import world as worlds
from ddlab.lessons.diversity.lab import (
    DiversityLab,
    accuracy_figure,
    compared,
    distance_figure,
    map_figure,
    picture_now,
    picture_real,
    run_table,
    runs,
)
from ddlab.lessons.diversity.world import BEFORE, NOW, REAL, Images, Settings, real
from ddlab.methods import dwa, selection, sre2l
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.support import assert_same, made_data, refuses

SPEC = networks.spec("convnet", width=8)
STUDENT = supervised.Config.teaching(network=SPEC, epochs=3)
CONFIG = dwa.Config(images_per_class=2, iterations=6, roll_pixels=2)
WORDS = re.compile(r"<[^>]*>")


@pytest.fixture(scope="module")
def given() -> tuple[ImageData, Any]:
    data = made_data(train=30)
    teacher_config = supervised.Config.teaching("teacher", network=SPEC, epochs=20, batch_size=12, crop_pixels=0)
    return data, ddlab.train_teacher(data, teacher_config, progress=False)


@pytest.fixture
def explorer(given):
    made = DiversityLab(given[0], given[1], CONFIG, student=STUDENT, points=60, at_once=1e9)
    yield made
    made.close()


def trace(explorer: Laboratory, name: str) -> Any:
    return next(one for one in explorer.widget(map_figure).figure.data if one.name == name)


def places(explorer: Laboratory, name: str) -> torch.Tensor:
    drawn = trace(explorer, name)
    return torch.tensor(np.stack([drawn.x, drawn.y], 1))


def rows(explorer: Laboratory) -> list[list[str]]:
    body = explorer.widget(run_table).value.split("<tbody>")[1]
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in body.split("<tr>")[1:]]


def button(explorer: Laboratory) -> Any:
    return next(iter(explorer.buttons.values()))


def shown(explorer: Laboratory, name: str = NOW) -> Images:
    """What is compared under a name."""
    return compared(runs(explorer.world, explorer.settings, explorer._known())[2])[name][0]


def distilled(explorer: Laboratory) -> DistilledSet:
    """The images on show."""
    return explorer.world.run(shown(explorer).source).result()


def slow(explorer: Laboratory) -> None:
    """As if an image update took ten seconds, and a reader had one."""
    explorer.world.at_once = 1.0
    run = explorer.world.run(CONFIG)
    run.seconds = 10.0 * run.step


def test_it_begins_with_the_images_of_distill_and_without_a_thread(explorer, given) -> None:
    made = ddlab.distill("dwa", given[0], given[1], CONFIG, progress=False)
    assert torch.equal(distilled(explorer).images, made.images)
    by_class = made.to_uint8()[[0, 3, 1, 4, 2, 5]]  # a batch has one image of each class
    assert explorer.widget(picture_now).value == encode_grid(by_class, columns=2, scale=6, row_labels=list("abc"))
    distances = measures.feature_distance(made, given[1])
    assert torch.equal(torch.tensor(explorer.widget(distance_figure).figure.data[0].y, dtype=torch.float32), distances)
    assert f"feature distance {distances.mean():.3f}" in explorer.sentence and "press Run" in explorer.sentence
    assert "directed, K = 12, ρ = 0.015, from real images, 2 per class, 6 updates" in explorer.sentence
    assert not [thread for thread in threading.enumerate() if thread.name == "ddlab-lab"]


@pytest.mark.parametrize("perturbation", ["none", "random", "directed"])
def test_a_change_gives_what_distill_gives_bit_for_bit(explorer, given, perturbation, no_cache) -> None:
    settings = explorer.panel.value.replace(
        perturbation=perturbation, initialisation="noise", adjustment_steps=2, adjustment_radius=0.5, lambda_mean=0.3, lambda_var=0.2,
        images_per_class=3, seed=1,
    )  # fmt: skip
    explorer.panel.value = settings
    explorer.runner.join()
    config = CONFIG.replace(**{name: getattr(settings, name) for name in vars(CONFIG)})
    assert shown(explorer).source == config and type(shown(explorer).source) is dwa.Config
    made = ddlab.distill("dwa", given[0], given[1], config, progress=False)
    assert_same(made.tensors, distilled(explorer).tensors)
    assert made.provenance == distilled(explorer).provenance


def test_students_are_those_of_evaluate_for_both_kinds_of_labels_and_images(explorer, given, no_cache) -> None:
    data, teacher = given
    student = explorer.world.student = STUDENT.replace(epochs=40)  # long enough to differ
    explorer.panel["seed"].value = 3
    explorer.runner.join()
    ddlab.runs.cache.clear()
    found = set()
    chosen = ddlab.distill("selection", data, teacher, selection.Config(images_per_class=2, seed=3), progress=False)
    said = explorer.sentence
    table = explorer.widget(accuracy_figure).figure.data[0].text
    for row, made in enumerate((distilled(explorer), chosen)):
        for column, labels in enumerate(("hard", "online")):
            expected = ddlab.evaluate(made, data, labels=labels, teacher=teacher, seeds=[3], config=student).mean
            found.add(expected)
            assert table[row][column] == f"{expected:.2f}"
            word = f"{labels} labels {expected:.1%}" if row == 0 else f"(random real {expected:.1%})"
            assert word in said
    assert len(found) > 2, "equal numbers would show nothing"
    assert button(explorer).disabled and explorer.progress.description == "at rest"


def test_the_real_images_are_those_that_a_real_start_begins_with(explorer, given) -> None:
    inputs = Inputs(data=given[0], teachers=(given[1],))
    first = sre2l.init(CONFIG, inputs).images
    chosen = explorer.world.run(real(CONFIG)).result()
    assert torch.equal(chosen.images[chosen.labels.argsort(stable=True)][::2], first)
    assert explorer.widget(picture_real).value != explorer.widget(picture_now).value


def test_runs_are_placed_on_one_map_that_stands_still(explorer, given) -> None:
    data, teacher = given
    first, still = places(explorer, NOW), places(explorer, "real images")
    explorer.panel["initialisation"].value = "noise"
    explorer.runner.join()
    assert torch.equal(places(explorer, BEFORE), first) and torch.equal(places(explorer, "real images"), still)
    chosen = ddlab.distill("selection", data, teacher, selection.Config(images_per_class=2), progress=False)
    pool = embeddings.features_of(teacher, data.normalised(explorer.world.mapped.pool))
    model = PCA(2, svd_solver="full").fit(torch.cat([pool, embeddings.features_of(teacher, chosen.images)]).numpy())
    points = embeddings.features_of(teacher, distilled(explorer).images)
    expected = torch.from_numpy(model.transform(points.numpy())).float()
    torch.testing.assert_close(places(explorer, NOW), expected, atol=1e-3, rtol=1e-3)
    layout = explorer.widget(map_figure).figure.layout
    (low_x, high_x), (low_y, high_y) = layout.xaxis.range, layout.yaxis.range
    for name in (NOW, BEFORE, REAL, "real images"):
        x, y = places(explorer, name).T
        assert low_x <= x.min() and x.max() <= high_x and low_y <= y.min() and y.max() <= high_y
    assert trace(explorer, NOW).text[0] == data.class_names[int(distilled(explorer).labels[0])]


def test_coverage_is_that_of_the_chosen_layer_and_nothing_is_computed_for_it(explorer, given, monkeypatch) -> None:
    data, teacher = given
    monkeypatch.setattr(explorer.runner, "submit", pytest.fail)
    for layer in ("logits", "features"):
        explorer.panel["layer"].value = layer
        pool, points = (
            embeddings.features_of(teacher, images, layer)
            for images in (data.normalised(explorer.world.mapped.pool), distilled(explorer).images)
        )
        expected = f"coverage {measures.nearest_neighbour_coverage(pool, points):.1%}"
        assert expected in explorer.sentence and expected in explorer.widget(map_figure).figure.layout.title.text
        assert layer in explorer.widget(map_figure).figure.layout.title.text


def test_coupled_sliders_move_together(explorer) -> None:
    explorer.panel["coupled"].value = True
    assert explorer.panel.value.lambda_mean == explorer.panel.value.lambda_var == 0.11
    explorer.panel["lambda_mean"].value = 0.01
    assert explorer.panel["lambda_var"].value == 0.01
    explorer.panel["lambda_var"].value = 0.11
    assert explorer.panel["lambda_mean"].value == 0.11 and explorer.panel.value.config.lambda_mean == 0.11
    assert Settings.from_string(explorer.share_field.value) == explorer.panel.value
    explorer.panel["coupled"].value = False
    explorer.panel["lambda_mean"].value = 0.01
    assert explorer.panel["lambda_var"].value == 0.11
    explorer.runner.join()
    assert shown(explorer).source == CONFIG


def test_long_runs_wait_for_the_button(explorer) -> None:
    slow(explorer)
    explorer.panel["iterations"].value = 10
    explorer.runner.join()
    assert (
        explorer.sentence.startswith("Press Run: these images take about 200.0 s") and shown(explorer).source == CONFIG
    )
    assert explorer.runner.thread is None and not button(explorer).disabled
    button(explorer).click()
    explorer.runner.join()
    assert shown(explorer).source == CONFIG.replace(iterations=10) and button(explorer).disabled


def test_the_speed_is_that_of_the_last_run(explorer) -> None:
    world, other = explorer.world, CONFIG.replace(iterations=7)
    first, last = world.run(CONFIG), world.run(CONFIG.replace(seed=2)).advance()
    first.seconds, last.seconds = 60.0, 24.0
    assert world.seconds(other) == pytest.approx(2 * 7 * 24.0 / 12)
    world.run(other).advance(until=4).seconds = 2.0
    assert world.seconds(other) == pytest.approx(10 * 2.0 / 4), "its own speed, for what is left"
    assert world.seconds(CONFIG) == 0


def test_known_settings_are_shown_at_once(explorer, monkeypatch) -> None:
    explorer.run()
    first, picture = explorer.sentence, explorer.widget(picture_now).value
    explorer.panel["initialisation"].value = "noise"
    explorer.runner.join()
    assert explorer.widget(picture_now).value != picture
    monkeypatch.setattr(dwa, "update", pytest.fail)
    monkeypatch.setattr(worlds, "student_accuracy", pytest.fail)
    explorer.panel["initialisation"].value = "real"
    assert explorer.sentence == first and explorer.widget(picture_now).value == picture


def test_students_go_on_while_the_reader_looks_at_what_waits_for_the_button(explorer) -> None:
    explorer.panel["seed"].value = 4
    slow(explorer)
    explorer.world.run(CONFIG.replace(seed=4)).seconds = 120.0
    explorer.panel["iterations"].value = 10
    assert explorer.sentence.startswith("Press Run")
    explorer.runner.join()
    assert explorer.sentence.startswith("Press Run") and explorer.progress.description == "at rest"
    explorer.panel["iterations"].value = 6
    assert "seed" in explorer.share_field.value and "online labels" in explorer.sentence


def test_stop_leaves_what_is_computed_and_begins_nothing(given) -> None:
    student = STUDENT.replace(epochs=100_000)
    explorer = DiversityLab(given[0], given[1], CONFIG, student=student, points=60)
    button(explorer).click()
    while "hard labels" not in explorer.progress.description:
        time.sleep(0.005)
    explorer.stop_button.click()
    explorer.runner.join(20)
    assert explorer.error is None and not button(explorer).disabled and explorer.progress.description == "at rest"
    assert explorer.sentence.endswith("press Run to train students.")
    explorer.close()


def test_the_last_images_stay_on_show_until_there_are_others(explorer, monkeypatch) -> None:
    go_on, begun, update = threading.Event(), threading.Event(), dwa.update

    def held(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return update(*arguments)

    picture = explorer.widget(picture_now).value
    monkeypatch.setattr(dwa, "update", held)
    explorer.panel["initialisation"].value = "noise"
    assert begun.wait(20) and shown(explorer).source == CONFIG
    assert explorer.widget(picture_now).value == picture and "from real images" in explorer.sentence
    go_on.set()
    explorer.runner.join()
    assert shown(explorer).source == CONFIG.replace(initialisation="noise") and shown(explorer, BEFORE).source == CONFIG
    assert explorer.widget(picture_now).value != picture and "from noise" in explorer.sentence


def test_the_table_holds_the_last_five_runs_and_real_images(explorer, given) -> None:
    for seed in (1, 2, 3, 4, 5, 1):
        explorer.panel["seed"].value = seed
        explorer.runner.join()
    cells = rows(explorer)
    assert [row[0] for row in cells] == [
        "this run",
        "1 before",
        "2 before",
        "3 before",
        "4 before",
        "random real images",
    ]
    assert [row[8] for row in cells] == ["1", "5", "4", "3", "2", "1"]
    assert cells[0][1:8] == ["0.01", "0.11", "directed, K = 12, ρ = 0.015", "real", "2", "6", "0.25"]
    for row, seed in zip(cells, (1, 5, 4, 3, 2), strict=False):
        made = explorer.world.run(CONFIG.replace(seed=seed)).result()
        assert row[9] == f"{measures.feature_distance(made, given[1]).mean():.3f}"
    chosen = explorer.world.run(real(CONFIG.replace(seed=1))).result()
    assert cells[5][9] == f"{measures.feature_distance(chosen, given[1]).mean():.3f}"
    assert "not yet" not in explorer.widget(run_table).value
    accuracy = explorer._known()(Value(explorer.world.accuracy, CONFIG.replace(seed=1), "hard"))
    assert cells[0][11] == f"{accuracy:.1%}"


def test_old_runs_are_forgotten_and_not_those_on_show(explorer, monkeypatch) -> None:
    monkeypatch.setattr(labs, "_VALUES", 24)
    monkeypatch.setattr(explorer.world._runs, "_limit", 5 * explorer.world.run(CONFIG).nbytes)
    for steps in range(8):
        explorer.panel["adjustment_steps"].value = steps
        explorer.runner.join()
    assert len(explorer.values) == 24 and len(list(explorer.world._runs)) < 8
    cells = rows(explorer)
    assert [row[3] for row in cells[:5]] == [f"directed, K = {steps}, ρ = 0.015" for steps in (7, 6, 5, 4, 3)]
    # What was forgotten is made again.
    explorer.panel["adjustment_steps"].value = 0
    explorer.runner.join()
    assert shown(explorer).source == CONFIG.replace(adjustment_steps=0) and "online labels" in explorer.sentence


def test_controls_without_use_are_greyed_out(explorer) -> None:
    off = lambda: [explorer.panel[name].disabled for name in ("adjustment_steps", "adjustment_radius")]  # noqa: E731
    assert off() == [False, False]
    explorer.panel["perturbation"].value = "none"
    assert off() == [True, True]
    explorer.runner.join()
    assert "adjustment none" in explorer.sentence


def test_bad_input(given) -> None:
    data, teacher = given
    with refuses("config"):
        DiversityLab(data, teacher, sre2l.Config())
    for wrong in (1, 31):
        with refuses("images_per_class"):
            DiversityLab(data, teacher, CONFIG.replace(images_per_class=wrong))
    with refuses("points"):
        DiversityLab(data, teacher, CONFIG, points=8)


def test_the_quest_is_met_where_images_lie_farther_apart_than_real_ones(explorer) -> None:
    apart = {name: float(shown(explorer, name).distances.mean()) for name in (NOW, REAL)}
    assert explorer.quest is not None and not explorer.quest.met and apart[NOW] <= apart[REAL]
    for start, weight in (("noise", 0.11), ("noise", 1.0), ("real", 1.0)):
        explorer.panel.value = explorer.panel.value.replace(initialisation=start, lambda_var=weight)
        explorer.runner.join()
        apart = {name: float(shown(explorer, name).distances.mean()) for name in (NOW, REAL)}
        assert explorer.quest.met >= (apart[NOW] > apart[REAL])
    assert explorer.quest.met, "by the controls that are seen"
