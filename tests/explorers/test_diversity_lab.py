"""The laboratory of diversity, driven in Python: its numbers are those of distill, evaluate and the measures."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import ddlab
from ddlab import embeddings, measures, networks, training
from ddlab.data import ImageData
from ddlab.explorers import DiversityLab, laboratory
from ddlab.explorers.diversity_lab import BEFORE, NOW, REAL
from ddlab.explorers.laboratory import Settings
from ddlab.figures import encode_grid
from ddlab.methods import directed_weight_adjustment as dwa
from ddlab.methods import selection
from ddlab.methods import squeeze_recover_relabel as sre2l
from ddlab.process import Inputs
from tests.support import assert_same, made_data, refuses

SPEC = networks.spec("convnet", width=8)
STUDENT = training.Config.teaching(network=SPEC, epochs=3)
CONFIG = dwa.Config(images_per_class=2, iterations=6, roll_pixels=2)
WORDS = re.compile(r"<[^>]*>")


@pytest.fixture(scope="module")
def given() -> tuple[ImageData, Any]:
    data = made_data(train=30)
    teacher_config = training.Config.teaching("teacher", network=SPEC, epochs=20, batch_size=12, crop_pixels=0)
    return data, ddlab.train_teacher(data, teacher_config, progress=False)


@pytest.fixture
def explorer(given):
    made = DiversityLab(given[0], given[1], CONFIG, student=STUDENT, points=60, at_once=1e9)
    yield made
    made.close()


def trace(explorer: DiversityLab, name: str) -> Any:
    return next(one for one in explorer.plot.figure.data if one.name == name)


def places(explorer: DiversityLab, name: str) -> torch.Tensor:
    drawn = trace(explorer, name)
    return torch.tensor(np.stack([drawn.x, drawn.y], 1))


def rows(explorer: DiversityLab) -> list[list[str]]:
    body = explorer.table.value.split("<tbody>")[1]
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in body.split("<tr>")[1:]]


def slow(explorer: DiversityLab) -> None:
    """As if an image update took ten seconds, and a reader had one."""
    explorer.at_once = 1.0
    explorer.lab._seconds_per_update = 10.0


def test_it_begins_with_the_images_of_distill_and_without_a_thread(explorer, given) -> None:
    made = ddlab.distill("dwa", given[0], given[1], CONFIG, progress=False)
    assert torch.equal(explorer.shown.distilled.images, made.images)
    by_class = made.to_uint8()[[0, 3, 1, 4, 2, 5]]  # a batch has one image of each class
    assert explorer.picture.value == encode_grid(by_class, columns=2, scale=6, row_labels=list("abc"))
    distances = measures.feature_distance(made, given[1])
    assert torch.equal(torch.tensor(explorer.bars.figure.data[0].y, dtype=torch.float32), distances)
    assert f"feature distance {distances.mean():.3f}" in explorer.sentence and "press Run" in explorer.sentence
    assert "directed, K = 12, ρ = 0.015, from real images, 2 per class, 6 updates" in explorer.sentence
    assert not [thread for thread in threading.enumerate() if thread.name == "ddlab-diversity-lab"]


@pytest.mark.parametrize("perturbation", ["none", "random", "directed"])
def test_a_change_gives_what_distill_gives_bit_for_bit(explorer, given, perturbation, no_cache) -> None:
    settings = explorer.panel.value.replace(
        perturbation=perturbation, initialisation="noise", adjustment_steps=2, adjustment_radius=0.5, lambda_mean=0.3, lambda_var=0.2,
        images_per_class=3, seed=1,
    )  # fmt: skip
    explorer.panel.value = settings
    explorer.worker.join()
    config = CONFIG.replace(**{name: getattr(settings, name) for name in vars(CONFIG)})
    assert explorer.shown.config == config and type(explorer.shown.config) is dwa.Config
    made = ddlab.distill("dwa", given[0], given[1], config, progress=False)
    assert_same(made.tensors, explorer.shown.distilled.tensors)
    assert made.provenance == explorer.shown.distilled.provenance


def test_students_are_those_of_evaluate_for_both_kinds_of_labels_and_images(explorer, given, no_cache) -> None:
    data, teacher = given
    student = explorer.lab.student = STUDENT.replace(epochs=40)  # long enough to differ
    explorer.panel["seed"].value = 3
    explorer.worker.join()
    ddlab.cache.clear()
    found = set()
    chosen = ddlab.distill("selection", data, teacher, selection.Config(images_per_class=2, seed=3), progress=False)
    said = explorer.sentence
    table = explorer.accuracies.figure.data[0].text
    for row, made in enumerate((explorer.shown.distilled, chosen)):
        for column, labels in enumerate(("hard", "online")):
            expected = ddlab.evaluate(made, data, labels=labels, teacher=teacher, seeds=[3], config=student).mean
            found.add(expected)
            assert table[row][column] == f"{expected:.2f}"
            word = f"{labels} labels {expected:.1%}" if row == 0 else f"(random real {expected:.1%})"
            assert word in said
    assert len(found) > 2, "equal numbers would show nothing"
    assert explorer.run_button.disabled and explorer.progress.description == "at rest"


def test_the_real_images_are_those_that_a_real_start_begins_with(explorer, given) -> None:
    inputs = Inputs(data=given[0], teachers=(given[1],))
    first = sre2l.init(CONFIG, inputs).images
    real = explorer.lab.real(CONFIG).distilled
    assert torch.equal(real.images[real.labels.argsort(stable=True)][::2], first)
    assert explorer.real_picture.value != explorer.picture.value


def test_runs_are_placed_on_one_map_that_stands_still(explorer, given) -> None:
    data, teacher = given
    first, real = places(explorer, NOW), places(explorer, "real images")
    explorer.panel["initialisation"].value = "noise"
    explorer.worker.join()
    assert torch.equal(places(explorer, BEFORE), first) and torch.equal(places(explorer, "real images"), real)
    chosen = ddlab.distill("selection", data, teacher, selection.Config(images_per_class=2), progress=False)
    pool = embeddings.features_of(teacher, data.normalised(explorer.lab.mapped.pool))
    model = PCA(2, svd_solver="full").fit(torch.cat([pool, embeddings.features_of(teacher, chosen.images)]).numpy())
    points = embeddings.features_of(teacher, explorer.shown.distilled.images)
    expected = torch.from_numpy(model.transform(points.numpy())).float()
    torch.testing.assert_close(places(explorer, NOW), expected, atol=1e-3, rtol=1e-3)
    (low_x, high_x), (low_y, high_y) = explorer.plot.figure.layout.xaxis.range, explorer.plot.figure.layout.yaxis.range
    for name in (NOW, BEFORE, REAL, "real images"):
        x, y = places(explorer, name).T
        assert low_x <= x.min() and x.max() <= high_x and low_y <= y.min() and y.max() <= high_y
    assert trace(explorer, NOW).text[0] == data.class_names[int(explorer.shown.distilled.labels[0])]


def test_coverage_is_that_of_the_chosen_layer_and_nothing_is_computed_for_it(explorer, given, monkeypatch) -> None:
    data, teacher = given
    monkeypatch.setattr(explorer.worker, "submit", pytest.fail)
    for layer in ("logits", "features"):
        explorer.panel["layer"].value = layer
        real, points = (
            embeddings.features_of(teacher, images, layer)
            for images in (data.normalised(explorer.lab.mapped.pool), explorer.shown.distilled.images)
        )
        expected = f"coverage {measures.nearest_neighbour_coverage(real, points):.1%}"
        assert expected in explorer.sentence and expected in explorer.plot.figure.layout.title.text
        assert layer in explorer.plot.figure.layout.title.text


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
    explorer.worker.join()
    assert explorer.shown.config == CONFIG


def test_long_runs_wait_for_the_button(explorer) -> None:
    slow(explorer)
    explorer.panel["iterations"].value = 10
    explorer.worker.join()
    assert (
        explorer.sentence.startswith("Press Run: these images take about 200.0 s") and explorer.shown.config == CONFIG
    )
    assert explorer.worker.thread is None and not explorer.run_button.disabled
    explorer.run_button.click()
    explorer.worker.join()
    assert explorer.shown.config == CONFIG.replace(iterations=10) and explorer.run_button.disabled


def test_the_speed_is_known_where_the_first_images_were_known_before(explorer, given, monkeypatch) -> None:
    explorer.lab.images(CONFIG.replace(seed=2))
    assert 0 < explorer.lab.seconds(CONFIG.replace(seed=9)) < 60
    again = DiversityLab(given[0], given[1], CONFIG.replace(seed=2), student=STUDENT, points=60, key="again")
    assert again.lab._seconds_per_update is None, "the images came from the cache"
    clock = iter(range(100))
    monkeypatch.setattr(laboratory.time, "monotonic", lambda: float(next(clock)))
    assert again.lab.seconds(CONFIG.replace(iterations=7)) == pytest.approx(2 * 7 / 3), "three updates in one second"
    assert again.lab.seconds(CONFIG.replace(seed=2)) == 0
    again.close()


def test_known_settings_are_shown_at_once(explorer, monkeypatch) -> None:
    explorer.run()
    first, picture = explorer.sentence, explorer.picture.value
    explorer.panel["initialisation"].value = "noise"
    explorer.worker.join()
    assert explorer.picture.value != picture
    monkeypatch.setattr(explorer.worker, "submit", pytest.fail)
    explorer.panel["initialisation"].value = "real"
    assert explorer.sentence == first and explorer.picture.value == picture


def test_run_works_in_the_foreground(explorer) -> None:
    assert explorer.run() is explorer and explorer.worker.thread is None
    assert "hard labels" in explorer.sentence and "online labels" in explorer.sentence
    assert explorer.progress.value == 0


@pytest.mark.parametrize("what", ["images", "students"])
def test_what_nobody_waits_for_is_given_up(given, what) -> None:
    student = STUDENT.replace(epochs=100_000) if what == "students" else STUDENT
    explorer = DiversityLab(given[0], given[1], CONFIG, student=student, points=60)
    seen, first = threading.Event(), explorer.panel.value
    word = {"images": "images", "students": "hard labels"}[what]
    explorer.progress.observe(lambda change: seen.set() if word in change["new"] else None, "description")
    slow(explorer)
    # A worker that is patient no more lets a computation end, whatever waits; the explorer must not.
    explorer.worker._patience = 0.0
    if what == "images":
        explorer.panel.value = first.replace(iterations=1_000_000)
    explorer.run_button.click()
    assert seen.wait(20)
    explorer.lab.student = STUDENT
    explorer.panel.value = first.replace(seed=1)
    explorer.run_button.click()
    explorer.worker.join(20)
    assert explorer.shown.config == CONFIG.replace(seed=1) and "online labels" in explorer.sentence
    assert CONFIG.replace(iterations=1_000_000) not in explorer.lab._made
    explorer.close()


def test_a_result_that_comes_late_does_not_cover_what_is_asked_for(explorer) -> None:
    late = explorer.lab.images(CONFIG.replace(seed=5))
    explorer._show(late)
    assert explorer.shown.config == CONFIG
    explorer._wanted = CONFIG.replace(seed=6)
    explorer._show(late)
    assert explorer.shown is late, "something moves while what is wanted is still under way"


def test_the_table_holds_the_last_five_runs_and_real_images(explorer, given) -> None:
    for seed in (1, 2, 3, 4, 5, 1):
        explorer.panel["seed"].value = seed
        explorer.worker.join()
    shown = rows(explorer)
    assert [row[0] for row in shown] == [
        "this run",
        "1 before",
        "2 before",
        "3 before",
        "4 before",
        "random real images",
    ]
    assert [row[8] for row in shown] == ["1", "5", "4", "3", "2", "1"]
    assert shown[0][1:8] == ["0.01", "0.11", "directed, K = 12, ρ = 0.015", "real", "2", "6", "0.25"]
    for row, run in zip(shown, explorer.runs, strict=False):
        assert row[9] == f"{measures.feature_distance(run.distilled, given[1]).mean():.3f}"
    real = explorer.lab.real(explorer.shown.config)
    assert shown[5][9] == f"{real.distances.mean():.3f}" and "not yet" not in explorer.table.value
    assert rows(explorer)[0][11] == f"{explorer.lab.accuracy(explorer.shown, 'hard'):.1%}"


def test_old_runs_are_forgotten_and_not_those_on_show(explorer, monkeypatch) -> None:
    monkeypatch.setattr(laboratory, "_KEPT", 7)
    real = explorer.lab.real(CONFIG)
    for steps in range(8):
        explorer.panel["adjustment_steps"].value = steps
        explorer.worker.join()
    known = explorer.lab.mapped
    names = {made.name for made in explorer.lab._made.values()}
    assert len(names) == 7 and set(known.sets) == names | {"first"} == set(explorer.lab.map("logits").sets)
    assert {run.name for run in explorer.runs} <= names
    assert explorer.lab.real(CONFIG) is real, "on show all the time"


def test_controls_without_use_are_greyed_out(explorer) -> None:
    off = lambda: [explorer.panel[name].disabled for name in ("adjustment_steps", "adjustment_radius")]  # noqa: E731
    assert off() == [False, False]
    explorer.panel["perturbation"].value = "none"
    assert off() == [True, True]
    explorer.worker.join()
    assert "adjustment none" in explorer.sentence


def test_errors_are_shown_and_the_laboratory_goes_on(explorer, monkeypatch) -> None:
    with refuses("images_per_class"):
        explorer.share_field.value = "images_per_class=31"
    assert "images_per_class" in str(explorer.error) and explorer.panel.value.images_per_class == 2
    monkeypatch.setattr(explorer.lab, "learn", lambda *_: ddlab.errors.fail("labels", "known", "none"))
    explorer.panel["seed"].value = 7
    with refuses("labels must be known"):
        explorer.worker.join()
    assert "labels must be known" in str(explorer.error) and explorer.progress.description == "at rest"
    monkeypatch.undo()
    explorer.panel["seed"].value = 8
    explorer.worker.join()
    assert explorer.error is None and explorer.shown.config.seed == 8


def test_the_state_is_a_short_text(explorer, given) -> None:
    explorer.panel["coupled"].value = True
    explorer.panel["layer"].value = "logits"
    explorer.worker.join()
    text = explorer.share_field.value
    assert len(text) < 100
    other = DiversityLab(given[0], given[1], CONFIG, student=STUDENT, points=60, at_once=1e9, key="another")
    other.share_field.value = text
    other.worker.join()
    assert other.panel.value == explorer.panel.value and other.sentence == explorer.sentence
    other.close()


def test_closing_ends_the_thread_and_a_cell_run_again_closes_the_old_one(given) -> None:
    old = DiversityLab(given[0], given[1], CONFIG, student=STUDENT.replace(epochs=100_000), points=60)
    old.run_button.click()
    assert [thread for thread in threading.enumerate() if thread.name == "ddlab-diversity-lab"]
    DiversityLab(given[0], given[1], CONFIG, student=STUDENT, points=60).close()
    assert not [thread for thread in threading.enumerate() if thread.name == "ddlab-diversity-lab"]
    assert old.comm is None


def test_bad_input(given) -> None:
    data, teacher = given
    wrong: Any
    for wrong in ("dwa", sre2l.Config(), {}):
        with refuses("config"):
            DiversityLab(data, teacher, wrong)
    for wrong in (1, 31):
        with refuses("images_per_class"):
            DiversityLab(data, teacher, CONFIG.replace(images_per_class=wrong))
    with refuses("student"):
        DiversityLab(data, teacher, CONFIG, student="small")  # type: ignore[arg-type]
    with refuses("points"):
        DiversityLab(data, teacher, CONFIG, points=8)
    with refuses("data"):
        DiversityLab("digits", teacher, CONFIG)  # type: ignore[arg-type]
    with refuses("teacher"):
        DiversityLab(data, "teacher", CONFIG)  # type: ignore[arg-type]
