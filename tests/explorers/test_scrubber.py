"""The scrubber: slider, picture, marker and sentence agree; moving it is cheap."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ddlab.explorers import Scrubber
from ddlab.figures import encode_png, loss_curves
from ddlab.runs import Frame
from tests.support import refuses


def frame(value: int) -> bytes:
    return encode_png(np.full((4, 4, 3), value % 256, np.uint8))


@pytest.fixture
def frames():
    return [Frame(step, frame(step)) for step in range(5, 55, 5)]


def test_starts_at_the_last_frame(frames):
    scrub = Scrubber(frames, loss_curves({"loss": np.arange(50.0)}))
    assert scrub.slider.label == "50" and scrub.plot is not None and scrub.plot.cursor == 50
    assert scrub.picture is not None and bytes(scrub.picture.value) == frame(50)
    assert scrub.picture is not None and "after step 50" in scrub.picture.alt and "Step 50 of 50" in scrub.sentence
    scrub.close()


def test_everything_follows_the_slider(frames):
    scrub = Scrubber(frames, loss_curves({"loss": np.arange(50.0)}), describe=lambda index: f"loss {index - 1}.")
    scrub.slider.index = 1
    assert scrub.picture is not None and bytes(scrub.picture.value) == frame(10)
    assert scrub.plot is not None and scrub.plot.cursor == 10
    assert scrub.sentence == "Step 10 of 50: loss 9."
    scrub.close()


def test_without_a_curve(frames):
    scrub = Scrubber(frames)
    scrub.slider.index = 0
    assert scrub.plot is None and scrub.picture is not None and bytes(scrub.picture.value) == frame(5)
    scrub.close()


def test_the_drawing_follows_the_slider(frames):
    scrub = Scrubber(frames, drawing=lambda step: f"<svg>{step}</svg>")
    assert scrub.drawing.value == "<svg>50</svg>" and scrub.drawing in scrub.views_box.children
    scrub.slider.index = 0
    assert scrub.drawing.value == "<svg>5</svg>"
    scrub.close()


def test_errors_of_the_description_are_shown(frames):
    def describe(index):
        if index < 50:
            raise RuntimeError("no such step")
        return "fine"

    scrub = Scrubber(frames, describe=describe)
    with pytest.raises(RuntimeError):
        scrub.slider.index = 0
    assert "no such step" in scrub._error_box.value
    scrub.close()


def test_one_move_costs_little_in_python(frames):
    scrub = Scrubber(frames, loss_curves({"loss": np.arange(50.0)}))
    start = time.process_time()
    for position in range(100):
        scrub.slider.index = position % 10
    assert (time.process_time() - start) / 100 < 0.02
    scrub.close()


def test_what_is_no_recording_is_refused():
    for wrong in ([], [b"png"], 3):
        with refuses("frames", "a list of Frames that is not empty"):
            Scrubber(wrong)  # type: ignore[arg-type]
