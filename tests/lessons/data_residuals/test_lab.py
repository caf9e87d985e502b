"""The laboratory of the merge ratio, driven in Python: what it shows is what the method makes, for
every ratio at every step.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ddlab import evaluation, networks
from ddlab.data import ImageData
from ddlab.explorers import Laboratory
from ddlab.explorers.ready import strip
from ddlab.lessons.data_residuals import entropy
from ddlab.lessons.data_residuals import lab as labs
from ddlab.lessons.data_residuals import world as worlds
from ddlab.lessons.data_residuals.lab import ResidualLab
from ddlab.lessons.data_residuals.world import DISTANCE, PIXELS, World, kept_steps
from ddlab.methods import fadrm, selection
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.runs import process as driver
from ddlab.training import supervised
from tests.support import made_data, moved, refuses, run_to_end, share_of_checks

SMALL = fadrm.Config(images_per_class=2, iterations=12, merges=2, roll_pixels=1)
STUDENT = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=2)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=16, channels=3)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


@pytest.fixture
def lab(data: ImageData, teacher: Network) -> Iterator[Laboratory]:
    laboratory = ResidualLab(data, teacher, SMALL, student=STUDENT, seeds=2)
    laboratory.runner.join()
    yield laboratory
    laboratory.close()


def by_itself(data: ImageData, teacher: Network, **changes: Any) -> dict[int, torch.Tensor]:
    """The images of every step of the method's own run, one of each class."""
    inputs = Inputs(data=data, teachers=(teacher,))
    config = SMALL.replace(images_per_class=1, **changes)
    images_at = {0: driver.start(fadrm, config, inputs).images}
    for step in driver.steps(fadrm, config, inputs):
        images_at[step.index] = step.state.images
    return {step: data.to_uint8(images) for step, images in images_at.items()}


def values_of(figure: Any, name: str) -> dict[float, float]:
    trace = next(candidate for candidate in figure.data if candidate.name == name)
    return dict(
        zip(np.asarray(trace.x, float).tolist(), np.asarray(trace.y, float).tolist(), strict=True)
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"merges": 11}, {"merges": 0}, {"initialisation": "noise"}, {"patches": "crop"}],
    ids=str,
)
def test_the_frames_are_the_methods_own_images(
    data: ImageData, teacher: Network, changes: dict[str, Any]
) -> None:
    changes |= {"candidates_per_class": 4}
    world = World(data, teacher, SMALL.replace(**changes))
    for alpha in (0.3, 1.0):
        run = world.with_ratio(world.run(world.start).config, alpha).advance()
        expected = by_itself(data, teacher, merge_ratio=alpha, **changes)
        assert [frame.step for frame in run.frames] == list(kept_steps(run.config)) and run.complete
        assert all(torch.equal(frame.content.images, expected[frame.step]) for frame in run.frames)


def test_every_measure_is_what_it_says(data: ImageData, teacher: Network) -> None:
    world = World(data, teacher, SMALL)
    plain = by_itself(data, teacher)
    frame = world.run(world.start).advance().at(8)
    assert frame is not None and frame.step == 8
    images = frame.content.images
    measured = frame.content.measured
    far = np.sqrt(((images.numpy().astype(float) - plain[0].numpy()) ** 2).mean((1, 2, 3)))
    np.testing.assert_allclose(measured[DISTANCE], far)
    torch.testing.assert_close(measured[PIXELS], entropy.pixel_entropy(images))
    mean, std = data.mean[:, None, None], data.std[:, None, None]
    outputs = networks.predict(teacher, (images / 255 - mean) / std)
    real = entropy.reference_images(data, 24)["real"]
    edges = entropy.feature_edges(networks.predict(teacher, (real / 255 - mean) / std).last_conv)
    bits = entropy.feature_entropy(outputs.last_conv, edges)
    torch.testing.assert_close(measured[worlds.FEATURES], bits, atol=1e-9, rtol=0)
    losses = F.cross_entropy(outputs.logits, torch.arange(3), reduction="none")
    torch.testing.assert_close(measured[worlds.LOSS].float(), losses)
    levels = world.mixed_in(SMALL.patches, SMALL.candidates_per_class, SMALL.seed).levels[DISTANCE]
    assert (
        levels["patch"] == 0
        and levels["real"] > 0
        and list(levels) == ["patch", "real", "noise", "constant"]
    )


@pytest.mark.parametrize(
    ("iterations", "merges"), [(100, 3), (100, 0), (7, 6), (10, 3), (1, 0), (400, 6)]
)
def test_the_steps_that_are_kept(iterations: int, merges: int) -> None:
    config = fadrm.Config(iterations=iterations, merges=merges)
    stages = [
        fadrm.stage_of(step, iterations=iterations, merges=merges) for step in range(iterations)
    ]
    changes = [step for step in range(1, iterations) if stages[step] > stages[step - 1]]
    steps = kept_steps(config)
    assert list(worlds.merge_steps(config)) == changes
    assert {0, iterations, *changes, *(step - 1 for step in changes)} <= set(steps) and len(
        steps
    ) <= 17 + 2 * merges


def test_the_chosen_ratio_comes_first_then_none_then_the_nearest() -> None:
    assert worlds.by_nearness(0.75) == [0.75, 1.0, 0.8, 0.6, 0.5, 0.4, 0.2, 0.0]


def test_what_cannot_be_is_said(data: ImageData, teacher: Network) -> None:
    with refuses("images_per_class", "12", "99"):
        ResidualLab(data, teacher, SMALL.replace(images_per_class=99))
    with refuses("student", "training Config"):
        ResidualLab(data, teacher, student=SMALL)  # type: ignore[arg-type]


def test_what_is_shown_is_that_of_the_runs(
    lab: Laboratory, data: ImageData, teacher: Network
) -> None:
    moved(lab, merge_ratio=0.3, class_name="c")
    lab.slider.index = 5
    runs = {alpha: by_itself(data, teacher, merge_ratio=alpha) for alpha in (*worlds.ALPHAS, 0.3)}
    step = kept_steps(SMALL)[5]
    patches = runs[1.0][0]

    def far(alpha: float, at: int) -> float:
        return float(entropy.distance_to(runs[alpha][at], patches).mean())

    for name, alpha in (("with residual, α = 0.3", 0.3), ("without residual", 1.0)):
        curve = values_of(lab.widget(labs.curves).figure, name)
        assert curve == pytest.approx({float(at): far(alpha, at) for at in kept_steps(SMALL)})
    assert lab.sentence.startswith(
        f"α = 0.3, 2 merges: after step {step} the distance to the patch is {far(0.3, step):.2f}"
    )
    assert f" pixel values; without residual {far(1.0, step):.2f}, real " in lab.sentence
    images = {"patch": patches[2]} | {
        f"alpha {alpha:g}": runs[alpha][step][2] for alpha in sorted(runs)
    }
    assert bytes(lab.widget(labs.ratios_strip).value) == strip(images, (16, 16), chosen="alpha 0.3")
    assert (
        "alpha 0.3 is framed." in lab.widget(labs.ratios_strip).alt
        and lab.widget(labs.curves).cursor == step
    )


def test_looking_elsewhere_computes_nothing(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fadrm, "update", pytest.fail)
    before = bytes(lab.widget(labs.ratios_strip).value)
    moved(lab, class_name="b", measure=PIXELS)
    lab.slider.index = 2
    moved(lab, merge_ratio=0.8)
    assert bytes(lab.widget(labs.ratios_strip).value) != before
    assert lab.error is None and "not computed" not in lab.sentence


def test_students_learn_from_the_runs_images_and_from_their_patches(
    lab: Laboratory, data: Any, teacher: Network
) -> None:
    button = next(iter(lab.buttons.values()))
    button.click()
    lab.runner.join()
    inputs = Inputs(data=data, teachers=(teacher,))
    sets = [
        run_to_end(process, config, inputs)
        for process, config in ((fadrm, SMALL), (selection, selection.Config(images_per_class=2)))
    ]
    mine, real = (
        tuple(
            evaluation.evaluate(
                distilled, data, labels="online", teacher=teacher, seeds=(0, 1), config=STUDENT
            ).per_seed.values()
        )
        for distilled in sets
    )
    rows = labs.student_data(lab.world, lab.settings, lab.results)
    assert rows["points"] == ((SMALL.merge_ratio, mine),) and rows["level"] == real
    assert button.disabled
    ahead = sum(mine) / 2 - sum(real) / 2
    assert labs.ahead_of_patches(lab.world, lab.settings, lab.results) == (ahead >= labs.AHEAD)
    moved(lab, merge_ratio=1.0)
    button.click()
    lab.runner.join()
    rows = labs.student_data(lab.world, lab.settings, lab.results)
    assert [alpha for alpha, _ in rows["points"]] == [SMALL.merge_ratio, 1.0]
    moved(lab, images_per_class=3)
    assert (
        not button.disabled
        and not labs.student_data(lab.world, lab.settings, lab.results)["points"]
    )


def test_a_press_computes_more_than_it_checks(lab: Laboratory) -> None:
    """Settings that were seen before: what is left is drawing, and every check is one too many."""
    for value in (0.4, 0.6) * 2:
        lab.panel.value = lab.panel.value.replace(merge_ratio=value)
        lab.run()
    settings = lab.panel.value.replace(merge_ratio=(0.4, 0.6)[0])
    assert share_of_checks(lambda: setattr(lab.panel, "value", settings)) < 0.2


def test_the_landscape_has_the_runs_in_the_plane_of_the_one_without_merges(
    lab: Laboratory, data: ImageData
) -> None:
    world, config, drawn, paths = labs.landscape_data(lab.world, lab.settings, lab.results).values()
    assert drawn is not None and [name for name, _ in paths] == [*lab.results.shared.compared]
    unmerged = dict(paths)["without residual"]
    corners = world.pixels([unmerged[0], unmerged[-1]]).flatten(1)
    torch.testing.assert_close(
        drawn.plane.places(corners).float(), torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    )
    assert drawn.plane.share(corners) == pytest.approx(1)
    figure = labs.landscape_chart(world, config, drawn, paths)
    assert figure.data[0].type == "contour" and len(figure.data) == 2 + len(paths)
