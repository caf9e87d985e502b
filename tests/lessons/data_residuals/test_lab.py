"""The laboratory of the merge ratio, driven in Python: what it shows is what the method makes, for every ratio at every step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ddlab import evaluation, networks
from ddlab.core.errors import DDLabError
from ddlab.data import ImageData
from ddlab.evaluation import entropy
from ddlab.explorers import Laboratory
from ddlab.figures import encode_grid
from ddlab.lessons.data_residuals import lab as labs
from ddlab.lessons.data_residuals import world as worlds
from ddlab.lessons.data_residuals.lab import ResidualLab, curves, in_words, score_table, stages, strip
from ddlab.lessons.data_residuals.world import (
    ALPHAS,
    DISTANCE,
    FEATURES,
    LOSS,
    PIXELS,
    Settings,
    World,
    allowed_sizes,
    by_nearness,
    kept_steps,
    merge_steps,
)
from ddlab.methods import fadrm, selection
from ddlab.networks import Network
from ddlab.runs import process as driver
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.support import made_data, refuses

SMALL = fadrm.Config(images_per_class=2, iterations=12, merges=2, small_size=8, roll_pixels=1, candidates_per_class=8)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=16, channels=3)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4, head="mean").for_data(data), seed=0)


@pytest.fixture
def student() -> supervised.Config:
    return supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)


@pytest.fixture
def lab(data: ImageData, teacher: Network, student: supervised.Config) -> Iterator[Laboratory]:
    made = ResidualLab(data, teacher, SMALL, student=student, seeds=2)
    made.runner.join()
    yield made
    made.close()


def one(config: fadrm.Config, **changes: Any) -> fadrm.Config:
    return config.replace(**{"images_per_class": 1} | changes)


def by_itself(data: ImageData, teacher: Network, config: fadrm.Config) -> dict[int, torch.Tensor]:
    """The images of every step of the method's own run, at full size."""
    inputs = Inputs(data=data, teachers=(teacher,))
    found = {0: driver.start(fadrm, config, inputs).images}
    found |= {step.index: step.state.images for step in driver.steps(fadrm, config, inputs)}
    return {step: data.to_uint8(fadrm.resampled(images, data.image_size)) for step, images in found.items()}


# -- the runs


@pytest.mark.parametrize(
    "changes",
    [{}, {"merges": 3}, {"merges": 11}, {"merges": 0}, {"small_size": None}, {"initialisation": "noise"}, {"patches": "mosaic"}],
    ids=str,
)  # fmt: skip
def test_the_frames_are_the_methods_own_images(data: ImageData, teacher: Network, changes: dict[str, Any]) -> None:
    runs = World(data, teacher, SMALL)
    for alpha in (0.3, 1.0):
        config = one(SMALL, merge_ratio=alpha, **changes)
        run = runs.run_of(config).begin().advance()
        wanted = by_itself(data, teacher, config)
        assert [frame.step for frame in run.frames] == list(kept_steps(12, config.merges)) and run.complete
        for frame in run.frames:
            assert torch.equal(frame.content.images, wanted[frame.step]), frame.step


def test_every_measure_is_what_it_says(data: ImageData, teacher: Network) -> None:
    runs, config = World(data, teacher, SMALL), one(SMALL, merge_ratio=0.3)
    frame, patches = runs.run_of(config).advance().at(8), by_itself(data, teacher, one(SMALL, small_size=None))[0]
    assert frame is not None and frame.step == 8 and torch.equal(runs.reference(config).patches, patches)
    pixels = frame.content.images.numpy().astype(float)
    distance = np.sqrt(((pixels - patches.numpy()) ** 2).mean((1, 2, 3)))
    np.testing.assert_allclose(frame.content.measured[DISTANCE], distance)
    bits = []
    for channel in frame.content.images[1].numpy():
        share = np.bincount(channel.ravel(), minlength=256) / channel.size
        share = share[share > 0]
        bits.append(-(share * np.log2(share)).sum())
    assert float(frame.content.measured[PIXELS][1]) == pytest.approx(np.mean(bits))
    normal = (frame.content.images / 255 - data.mean[:, None, None]) / data.std[:, None, None]
    seen = networks.predict(teacher, normal)
    real = entropy.reference_images(data, 24)["real"]
    edges = entropy.feature_edges(
        networks.predict(teacher, (real / 255 - data.mean[:, None, None]) / data.std[:, None, None]).last_conv
    )
    torch.testing.assert_close(
        frame.content.measured[FEATURES], entropy.feature_entropy(seen.last_conv, edges), atol=1e-9, rtol=0
    )
    losses = [-float(F.log_softmax(seen.logits, 1)[label, label]) for label in range(3)]
    assert frame.content.measured[LOSS].tolist() == pytest.approx(losses, abs=1e-5)


def test_what_the_curves_are_beside(data: ImageData, teacher: Network) -> None:
    runs, config = World(data, teacher, SMALL), one(SMALL)
    ground, found = runs.reference(config), entropy.reference_images(data, 24)
    assert runs.reference(config.replace(iterations=30)) is ground is runs.known_reference(runs.start)
    assert runs.known_reference(runs.start.replace(seed=3)) is None
    assert set(ground.levels) == {"real", "noise", "constant"}
    for kind, levels in ground.levels.items():
        wanted = entropy.pixel_entropy(found[kind][1::3]).mean()  # of class 1
        assert float(levels[PIXELS][1]) == pytest.approx(float(wanted))
        far = entropy.distance_to(found[kind][1::3], ground.patches[1:2].expand(8, -1, -1, -1)).mean()
        assert float(levels[DISTANCE][1]) == pytest.approx(float(far))
    assert ground.levels["constant"][PIXELS].tolist() == [0, 0, 0] and ground.patch[DISTANCE].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("iterations", "merges"), [(100, 3), (100, 0), (7, 6), (10, 3), (1, 0), (400, 6)])
def test_the_steps_that_are_kept(iterations: int, merges: int) -> None:
    stages = [fadrm.stage_of(step, iterations=iterations, merges=merges) for step in range(iterations)]
    changes = [step for step in range(1, iterations) if stages[step] > stages[step - 1]]
    steps = kept_steps(iterations, merges)
    assert list(merge_steps(iterations, merges)) == changes and len(changes) == merges
    assert {0, iterations, *changes, *(step - 1 for step in changes)} <= set(steps)
    assert list(steps) == sorted(set(steps)) and len(steps) <= 17 + 2 * merges


def test_the_chosen_ratio_comes_first_then_none_then_the_nearest() -> None:
    assert by_nearness(0.5) == [0.5, 1.0, 0.4, 0.6, 0.2, 0.8, 0.0]
    assert by_nearness(0.75) == [0.75, 1.0, 0.8, 0.6, 0.5, 0.4, 0.2, 0.0]
    assert by_nearness(1.0)[:2] == [1.0, 0.8]


# -- the small sizes, and what cannot be


def test_small_sizes_are_those_the_teacher_takes(data: ImageData, teacher: Network) -> None:
    assert allowed_sizes(data, teacher, None) == (12, 8)
    assert allowed_sizes(data, teacher, (8, 10)) == (10, 8)
    positions = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    assert allowed_sizes(data, positions, None) == ()
    with refuses("small_sizes", "convnet", "8 px"):
        ResidualLab(data, positions, small_sizes=(8,))
    with refuses("teacher", "8 x 8"):
        ResidualLab(data, positions, SMALL)
    plain = ResidualLab(data, positions, SMALL.replace(small_size=None))
    assert "small_size" not in list(plain.panel) and plain.widget(stages).figure is not None
    plain.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"data": 1}, ("data", "ImageData")),
        ({"teacher": None}, ("teacher", "Network")),
        ({"config": World}, ("config", "data_residual_matching")),
        ({"small_sizes": (16,)}, ("small_sizes", "15", "16")),
        ({"small_sizes": 8}, ("small_sizes", "tuple")),
        ({"config": SMALL.replace(small_size=16)}, ("small_size", "below the image size of 16 px")),
        ({"seeds": 0}, ("seeds",)),
        ({"student": SMALL}, ("student", "training Config")),
        ({"config": SMALL.replace(images_per_class=99)}, ("images_per_class", "12", "99")),
        ({"config": SMALL.replace(roll_pixels=8)}, ("roll_pixels", "8 px")),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_said(
    data: ImageData, teacher: Network, wrong: dict[str, Any], words: tuple[str, ...]
) -> None:
    with refuses(*words):
        ResidualLab(**{"data": data, "teacher": teacher, "config": SMALL} | wrong)


# -- the explorer


def train(lab: Laboratory) -> Any:
    """The button that asks for students."""
    return next(iter(lab.buttons.values()))


def moved(lab: Laboratory, **values: Any) -> None:
    for name, value in values.items():
        lab.panel[name].value = value
    lab.runner.join()


def values_of(figure: Any, name: str) -> dict[float, float]:
    trace = next(one for one in figure.data if one.name == name)
    pairs = zip(np.asarray(trace.x, float), np.asarray(trace.y, float), strict=True)
    return {x: y for x, y in pairs if not np.isnan(y)}


def test_the_curves_and_the_sentence_have_the_numbers(lab: Laboratory) -> None:
    moved(lab, merge_ratio=0.3, class_name="b", measure=DISTANCE)
    for name, alpha in (("with residual, α = 0.3", 0.3), ("without residual, α = 1", 1.0)):
        run = lab.world.run_of(one(SMALL, merge_ratio=alpha))
        wanted = {float(frame.step): float(frame.content.measured[DISTANCE].mean()) for frame in run.frames}
        assert values_of(lab.widget(curves).figure, name) == pytest.approx(wanted)
    ends = [lab.world.run_of(one(SMALL, merge_ratio=alpha)).at(12) for alpha in (0.3, 1.0)]
    chosen, plain = (float(end.content.measured[DISTANCE].mean()) for end in ends if end is not None)
    assert lab.sentence.startswith(
        "α = 0.3, 2 merges, 12 steps at 8 and 16 px: after step 12 the distance to the patch, mean of 3 classes, is"
    )
    assert f"is {chosen:.2f} pixel values; without the residual {plain:.2f}, real images " in lab.sentence
    assert "Being computed" not in lab.sentence and chosen < plain


def test_the_axis_holds_what_is_drawn_and_names_stand_at_their_lines(lab: Laboratory) -> None:
    for measure in (FEATURES, PIXELS, DISTANCE, LOSS):
        moved(lab, measure=measure)
        figure, ground = lab.widget(curves).figure, lab.world.reference(one(SMALL))
        levels = {"patch": ground.patch[measure].mean()} | {
            kind: of[measure].mean() for kind, of in ground.levels.items()
        }
        lines = (values_of(figure, name) for name in ("with residual, α = 0.5", "without residual, α = 1"))
        drawn = [*(value for curve in lines for value in curve.values()), *map(float, levels.values())]
        low, high = figure.layout.yaxis.range
        assert low < min(drawn) and max(drawn) < high and (high - low) < 1.13 * (max(drawn) - min(drawn))
        pixels = 280 / (high - low)
        heights = sorted((note.y - low) * pixels + note.yshift for note in figure.layout.annotations)
        assert len(heights) == 4 and min(np.diff(heights)) > 14.9, "names do not cover each other"
        lowest = min(figure.layout.annotations, key=lambda note: note.y)
        assert lowest.yshift == 0 and all(note.yshift >= 0 for note in figure.layout.annotations)


def test_the_strip_shows_every_ratio_at_the_step(lab: Laboratory) -> None:
    moved(lab, merge_ratio=0.3, class_name="c")
    lab.slider.index = 5
    step = kept_steps(12, 2)[5]
    assert lab.panel.value.step == step and lab.widget(curves).cursor == step
    frames = [lab.world.run_of(one(SMALL, merge_ratio=alpha)).at(step) for alpha in sorted({*ALPHAS, 0.3})]
    images = [
        lab.world.reference(one(SMALL)).patches[2],
        *(frame.content.images[2] for frame in frames if frame is not None),
    ]
    cells = [image.numpy().transpose(1, 2, 0).repeat(7, 0).repeat(7, 1).copy() for image in images]
    for side in (np.s_[:4], np.s_[-4:], np.s_[:, :4], np.s_[:, -4:]):
        cells[3][side] = (230, 159, 0)
    heads = [
        "patch",
        "alpha 0",
        "alpha 0.2",
        "alpha 0.3, chosen",
        *[f"alpha {alpha}" for alpha in (0.4, 0.5, 0.6, 0.8, 1)],
    ]
    wanted = encode_grid(np.stack(cells), columns=9, column_labels=heads, gap=6)
    assert bytes(lab.widget(strip).value) == wanted
    assert (
        f"after step {step}" in lab.widget(strip).alt
        and "0.3 is framed" in lab.widget(strip).alt
        and "not computed" not in lab.widget(strip).alt
    )
    assert f"after step {step} the" in lab.sentence and lab.sentence.endswith("The row shows the c.")


def test_looking_elsewhere_computes_nothing(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("computed anew")

    monkeypatch.setattr(fadrm, "update", refused)
    before = bytes(lab.widget(strip).value)
    moved(lab, class_name="b", measure=PIXELS)
    lab.slider.index = 2
    moved(lab, merge_ratio=0.8)
    assert bytes(lab.widget(strip).value) != before and lab.error is None and "not computed" not in lab.sentence


def test_the_step_is_kept_and_the_end_stays_the_end(lab: Laboratory) -> None:
    assert lab.panel.value.step is None and lab.slider.index == len(kept_steps(12, 2)) - 1
    moved(lab, iterations=20)
    assert [step for _, step in lab.slider.options] == list(kept_steps(20, 2))
    assert lab.slider.index == len(kept_steps(20, 2)) - 1 and "after step 20" in lab.sentence
    lab.slider.index = kept_steps(20, 2).index(12)
    moved(lab, merges=1)
    assert lab.panel.value.step == 12 and lab.slider.index is not None
    assert abs(kept_steps(20, 1)[lab.slider.index] - 12) <= 1


def test_without_merges_all_ratios_are_one_run(lab: Laboratory) -> None:
    moved(lab, merges=0)
    runs = {id(lab.world.run(lab.panel.value, alpha)) for alpha in ALPHAS}
    named = [trace.name for trace in lab.widget(curves).figure.data if trace.name and "residual" in trace.name]
    assert len(runs) == 1 and named == ["without residual"]
    assert "0 merges" in lab.sentence and "without the residual" not in lab.sentence


@pytest.mark.parametrize("patches", ["crop", "mosaic"])
def test_other_patches_stand_at_the_left(lab: Laboratory, data: ImageData, teacher: Network, patches: str) -> None:
    before = bytes(lab.widget(strip).value)
    moved(lab, patches=patches)
    config = one(SMALL, patches=patches)
    start = fadrm.init(config.replace(small_size=None), Inputs(data=data, teachers=(teacher,))).images
    assert (
        torch.equal(lab.world.reference(config).patches, data.to_uint8(start))
        and bytes(lab.widget(strip).value) != before
    )


def slowed(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.02) -> list[tuple[float, int]]:
    """Updates that take a while; (ratio, step) of each."""
    seen: list[tuple[float, int]] = []
    update = fadrm.update

    def slow(config: Any, inputs: Any, state: Any) -> Any:
        time.sleep(seconds)
        seen.append((config.merge_ratio, state.step))
        return update(config, inputs, state)

    monkeypatch.setattr(fadrm, "update", slow)
    return seen


@pytest.mark.slow
def test_the_curve_is_seen_to_grow(data: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    slowed(monkeypatch)
    lab = ResidualLab(data, teacher, SMALL.replace(iterations=60))
    lengths: list[int] = []
    lab.widget(curves).observe(
        lambda _: lengths.append(len(values_of(lab.widget(curves).figure, "with residual, α = 0.5"))), "_figure"
    )
    assert "eing computed" in lab.sentence
    lab.runner.join()
    known = [length for length in lengths if length]
    assert known == sorted(known) and len(set(known)) > 3 and known[-1] == len(kept_steps(60, 2))
    lab.close()


def test_a_new_setting_comes_first_and_the_old_one_is_gone_on_with_later(
    data: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = slowed(monkeypatch)
    lab = ResidualLab(data, teacher, SMALL)
    while len(seen) < 6:
        time.sleep(0.005)
    lab.panel["merge_ratio"].value = 0.2
    done = len(seen)
    lab.runner.join()
    assert seen[done + 1][0] == 0.2, "the run that is no longer wanted is left within a step"
    own = [alpha for alpha, step in seen if step >= 3]
    assert list(dict.fromkeys(own[own.index(0.2) :])) == [0.2, 1.0, 0.0, 0.4, 0.5, 0.6, 0.8]
    assert len(seen) == len(set(seen)) == 3 + 7 * 9, "nothing is computed twice"
    lab.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("iterations=12,merges=12", "merges"),
        ("small_size=9", "small_size"),
        ('class_name="z"', "class_name"),
        ("small_size=8,roll_pixels=8", "roll_pixels"),
        ("images_per_class=99", "images_per_class"),
    ],
)
def test_settings_that_are_none(lab: Laboratory, text: str, words: str) -> None:
    before, picture = lab.panel.value, bytes(lab.widget(strip).value)
    with pytest.raises(DDLabError, match=words):
        lab.share_field.value = text
    lab.runner.join()
    assert lab.panel.value == before and bytes(lab.widget(strip).value) == picture
    assert lab.error is not None and words in str(lab.error)


def test_the_quest_is_a_last_merge_that_raises_the_loss(
    data: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images made for a teacher's classes alone lose them where a merge puts the patches back; an untrained teacher says so softly."""
    monkeypatch.setattr(labs, "HARM", 0.005)
    easy = SMALL.replace(
        iterations=40, small_size=None, learning_rate=0.5, lambda_mean=0.0, lambda_var=0.0, crop="never"
    )
    lab = ResidualLab(data, teacher, easy.replace(merges=0))
    lab.runner.join()
    assert lab.quest is not None and not lab.quest.met, "no merge, no harm"
    lab.close()
    lab = ResidualLab(data, teacher, easy.replace(merge_ratio=0.0))
    lab.runner.join()
    moved(lab, measure=LOSS)
    losses = {frame.step: float(frame.content.measured[LOSS].mean()) for frame in lab.world.run(lab.panel.value).frames}
    last = merge_steps(40, 2)[-1]
    assert losses[last] - losses[last - 1] >= labs.HARM
    assert lab.quest is not None and lab.quest.met
    lab.close()


# -- students


def test_students_learn_from_the_images_and_from_real_ones(
    lab: Laboratory, data: ImageData, teacher: Network, student: supervised.Config
) -> None:
    assert lab.widget(score_table).value.count("not yet") == 6 and lab.stop_button.disabled
    train(lab).click()
    lab.runner.join()
    inputs = Inputs(data=data, teachers=(teacher,))
    made = driver.run(fadrm, SMALL, inputs)
    real = driver.run(selection, selection.Config(images_per_class=2), inputs)
    for labels in ("hard", "online"):
        accuracies = []
        for distilled in (made, real):
            wanted = evaluation.evaluate(distilled, data, labels=labels, teacher=teacher, seeds=(0, 1), config=student)
            accuracies.append(tuple(wanted.per_seed.values()))
            assert in_words(accuracies[-1]) in lab.widget(score_table).value
        gain = tuple(one - other for one, other in zip(*accuracies, strict=True))
        assert in_words(gain, signed=True) in lab.widget(score_table).value
    assert train(lab).disabled and lab.stop_button.disabled and lab.progress.description == "at rest"
    moved(lab, class_name="b")
    assert train(lab).disabled
    moved(lab, images_per_class=3)
    assert not train(lab).disabled and "3 images per class" in lab.widget(score_table).value


def test_what_the_students_are_given(
    lab: Laboratory, data: ImageData, teacher: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[torch.Tensor, str, int]] = []

    def learn(config: Any, inputs: Inputs, on: Any, *, on_step: Any) -> float:
        given.append((inputs.distilled.images, config.labels, config.seed))  # type: ignore[union-attr]
        return 0.5

    monkeypatch.setattr(worlds, "student_accuracy", learn)
    moved(lab, merge_ratio=0.2)
    train(lab).click()
    lab.runner.join()
    inputs = Inputs(data=data, teachers=(teacher,))
    made = driver.run(fadrm, SMALL.replace(merge_ratio=0.2), inputs).images
    real = driver.run(selection, selection.Config(images_per_class=2), inputs).images
    wanted = [(images, labels, seed) for seed in (0, 1) for labels in ("hard", "online") for images in (made, real)]
    assert [(labels, seed) for _, labels, seed in given] == [(labels, seed) for _, labels, seed in wanted]
    assert all(torch.equal(images, other) for (images, _, _), (other, _, _) in zip(given, wanted, strict=True))
    train(lab).click()
    lab.runner.join()
    assert len(given) == 8, "those that are known are not trained again"


def test_accuracies_in_words() -> None:
    assert in_words(()) == "not yet" and in_words((0.25,)) == "25.0% (one seed)"
    assert in_words((0.2, 0.4)) == "30.0% (-97.1% to 157.1%)"  # t(1) = 12.706, standard error 0.1
    assert in_words((0.1, 0.1, 0.1), signed=True) == "+10.0% (+10.0% to +10.0%)"


def test_students_are_given_up(data: ImageData, teacher: Network, student: supervised.Config) -> None:
    lab = ResidualLab(data, teacher, SMALL, student=student.replace(epochs=100_000))
    lab.runner.join()
    train(lab).click()
    while not lab.progress.description.startswith("student"):
        time.sleep(0.005)
    lab.stop_button.click()
    lab.runner.join(10)
    assert "after step 12" in lab.sentence and lab.widget(score_table).value.count("not yet") == 6
    lab.close()


def test_scrubbing_leaves_the_students_alone(data: ImageData, teacher: Network, student: supervised.Config) -> None:
    lab = ResidualLab(data, teacher, SMALL, student=student, seeds=1)
    lab.runner.join()
    train(lab).click()
    for index in range(8):
        lab.slider.index = index
        lab.panel["class_name"].value = "abc"[index % 3]
    lab.runner.join()
    assert "not yet" not in lab.widget(score_table).value and lab.panel.value.step == kept_steps(12, 2)[7]
    lab.close()


def test_where_a_reader_without_a_config_begins(data: ImageData, teacher: Network) -> None:
    lab = ResidualLab(data, teacher)
    view = lab.panel.value
    assert (view.iterations, view.merges, view.merge_ratio, view.small_size) == (100, 3, 0.5, 12)
    assert isinstance(view, Settings) and view.images_per_class == 5
    assert [value for _, value in lab.panel["small_size"].options] == [16, 12, 8]
    assert lab.share_field.value == "small_size=12" and view.measure == DISTANCE
    moved(lab, iterations=20, small_size=16)
    assert lab.world.config(lab.panel.value).small_size is None and "20 steps at full size" in lab.sentence
    assert lab.panel["small_size"].index == 0, "the button that was pressed is seen to be"
    lab.close()
