"""The live recovery and the scrubber over a recorded one."""

from __future__ import annotations

import threading

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.errors import DDLabError, NonFiniteError
from ddlab.explorers import LiveRecovery, RecoveryFilm
from ddlab.methods import squeeze_recover_relabel as sre2l
from ddlab.networks import Network
from tests.support import made_data

CHANGES = [
    ("initialisation", "real"),
    ("lambda_mean", 0.5),
    ("lambda_var", 0.5),
    ("learning_rate", 0.05),
    ("iterations", 40),
]


@pytest.fixture(scope="module")
def given():
    data = made_data(size=8)
    return data, networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)


@pytest.fixture
def live(given):
    data, teacher = given
    explorer = LiveRecovery(data, teacher, sre2l.Config.teaching(iterations=20))
    yield explorer
    explorer.close()


def test_it_starts_paused_and_shows_the_first_images(live: LiveRecovery) -> None:
    assert live.player.state == "paused" and live.player.last is None
    assert "Before the first update: noise" in live.sentence
    assert len(live.plot.figure.data) == 1


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_at_rest_every_control_changes_the_plot(live: LiveRecovery, name: str, value: object) -> None:
    before = live.plot.figure.to_json()
    live.panel[name].value = value
    assert live.plot.figure.to_json() != before


def test_the_bars_at_rest_are_the_terms_of_the_first_loss(live: LiveRecovery) -> None:
    config = sre2l.Config.teaching(iterations=20, roll_pixels=0)
    (step, *_) = ddlab.steps(sre2l, config, live.inputs)
    trace = step.trace
    weighted = [trace.class_loss, config.lambda_mean * trace.mean_gap, config.lambda_var * trace.variance_gap]
    assert list(live.plot.figure.data[0].y) == pytest.approx([float(term) for term in weighted], rel=1e-4)
    assert sum(live.plot.figure.data[0].y) == pytest.approx(float(trace.total_loss), rel=1e-4)


def test_play_runs_to_the_end_and_equals_the_plain_run(live: LiveRecovery, given) -> None:
    live.buttons["play"].click()
    live.player.join()
    assert live.player.state == "finished" and live.sentence.startswith("Step 20 of 20")
    plain = list(
        ddlab.steps(sre2l, sre2l.Config.teaching(iterations=20), ddlab.Inputs(data=given[0], teachers=(given[1],)))
    )
    assert torch.equal(live.player.last.state.images, plain[-1].state.images)


def test_single_steps_and_reset_repeat_the_same_run(live: LiveRecovery) -> None:
    live.buttons["step"].click()
    live.player.join()
    first = live.player.last.state.images.clone()
    assert live.player.last.index == 1 and live.player.state == "paused"
    live.buttons["reset"].click()
    assert "Before the first update" in live.sentence
    live.buttons["step"].click()
    live.player.join()
    assert torch.equal(live.player.last.state.images, first), "reset keeps the seed"


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_every_control_starts_a_run_with_its_setting(live: LiveRecovery, name: str, value: object) -> None:
    live.buttons["step"].click()
    live.player.join()
    live.panel[name].value = value
    assert live.player.state == "paused" and "Before the first update" in live.sentence
    live.buttons["play"].click()
    live.player.join()
    assert getattr(live.running_config, name) == pytest.approx(value)
    assert live.player.last.total == live.panel.value.iterations
    assert any("before" in trace.name for trace in live.plot.figure.data), "the last run stays for comparison"


def test_a_control_moved_while_playing_goes_on_playing(given) -> None:
    data, teacher = given
    explorer = LiveRecovery(data, teacher, sre2l.Config.teaching(iterations=390))
    explorer.buttons["play"].click()
    explorer.panel["lambda_var"].value = 0.5
    explorer.player.join()
    assert explorer.player.state == "finished" and explorer.running_config.lambda_var == pytest.approx(0.5)
    explorer.close()


def test_a_run_that_blows_up_is_shown(given) -> None:
    data, teacher = given
    weights = {n: v * torch.nan if v.is_floating_point() else v for n, v in teacher.weights.items()}
    explorer = LiveRecovery(data, Network(spec=teacher.spec, weights=weights))
    explorer.buttons["play"].click()
    with pytest.raises(NonFiniteError, match="must stay finite"):
        explorer.player.join()
    assert isinstance(explorer.error, NonFiniteError) and explorer.player.state == "failed"
    explorer.close()


def test_close_ends_the_thread(given) -> None:
    before = set(threading.enumerate())
    explorer = LiveRecovery(*given)
    explorer.buttons["play"].click()
    explorer.close()
    assert set(threading.enumerate()) <= before


def test_a_film_keeps_frames_and_makes_a_scrubber(given) -> None:
    data, teacher = given
    film = RecoveryFilm(data, capacity=10)
    config = sre2l.Config.teaching(iterations=50)
    ddlab.distill("sre2l", data, teacher, config, progress=False, on_step=film)
    assert 2 <= len(film.recording) <= 10 and film.recording.frames[-1].index == 50
    scrubber = film.scrubber()
    shown = scrubber.picture.value
    scrubber.slider.index = 0
    assert scrubber.picture.value != shown and scrubber.sentence.startswith("Step 1 of 50: cross-entropy")
    assert scrubber.plot is not None and scrubber.plot.cursor == 1
    scrubber.close()


def test_an_interrupted_film_is_kept(given) -> None:
    data, teacher = given
    film = RecoveryFilm(data)

    def interrupt(step: ddlab.Step) -> None:
        film(step)
        if step.index == 5:
            raise KeyboardInterrupt

    made = ddlab.distill(
        "sre2l", data, teacher, sre2l.Config.teaching(iterations=50), progress=False, on_step=interrupt
    )
    assert not made.complete and len(film.recording) == 5
    film.scrubber().close()


def test_stop_can_be_pressed_as_soon_as_the_run_plays(live: LiveRecovery) -> None:
    assert live.buttons["stop"].disabled
    live.buttons["play"].click()
    assert not live.buttons["stop"].disabled
    live.buttons["stop"].click()
    assert live.player.state in ("stopped", "finished")


def test_a_shared_state_with_another_seed_shows_its_own_first_images(live: LiveRecovery) -> None:
    before = live.picture.value
    live.share_field.value = live.panel.value.replace(seed=5).to_string()
    assert live.panel.value.seed == 5 and live.picture.value != before


def test_a_shared_state_that_cannot_run_leaves_everything_as_it_was(live: LiveRecovery) -> None:
    before = live.panel.value
    with pytest.raises(DDLabError, match="images_per_class must be at most"):
        live.share_field.value = before.replace(initialisation="real", images_per_class=1000).to_string()
    assert live.panel.value == before and isinstance(live.error, DDLabError)
    assert "noise" in live.sentence and live.panel["initialisation"].value == "noise"


def test_an_empty_film_says_so(given) -> None:
    with pytest.raises(DDLabError, match="film must have been filled"):
        RecoveryFilm(given[0]).scrubber()
