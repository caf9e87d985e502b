"""Lesson 30: RDED's contest as it is on show."""

import math

import torch

from ddlab.data import ImageData
from ddlab.lessons.data_residuals import crops
from ddlab.methods import rded
from ddlab.networks import Network
from ddlab.runs import Inputs, process


def test_the_squares_on_show_are_rdeds(grey: ImageData, teacher: Network) -> None:
    config = rded.Config.teaching(candidates_per_class=6, crops_per_image=3)
    lab = crops.CropLab(grey, config, teacher=teacher, device="cpu").run()
    steps = list(process.steps(rded, config, Inputs(data=grey, teachers=(teacher,))))
    frames = lab.schedule.watched_run.frames
    assert [frame.step for frame in frames] == list(range(grey.classes + 1))
    for frame, step in zip(frames[1:], steps, strict=True):
        shown, mosaics = frame.content, step.trace.mosaics
        assert shown.label == step.trace.label and torch.equal(shown.losses, mosaics.losses)
        assert torch.equal(shown.mosaic, grey.to_uint8(mosaics.images)[0])
        winner = shown.winners.nonzero().tolist()
        assert winner == [[int(mosaics.rows[0, 0]), int(mosaics.crops[0, 0])]]
        # The first picture is the winner's, and the last that of the image with the worst best square.
        order = mosaics.losses.min(1).values.argsort(stable=True)
        first = grey.train_images[step.trace.candidates[order[0]]]
        outside = shown.framed[0] != first
        top, left, height, width = mosaics.boxes[
            order[0], mosaics.losses[order[0]].argmin()
        ].tolist()
        assert not outside[:, :top].any() and not outside[:, top + height :].any()
        assert not outside[:, :, :left].any() and not outside[:, :, left + width :].any()
        area = height * width / math.prod(grey.image_size)
        assert math.isclose(float(shown.areas[winner[0][0], winner[0][1]]), area, rel_tol=1e-6)
    assert f"covers {area:.0%} of its image" in lab.sentence
    lab.close()
