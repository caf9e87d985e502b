"""Lesson 45: its exercises."""

import pytest
import torch

from ddlab.lessons.representations.checks import predicted


def test_what_pixels_foretell_is_between_nothing_and_all() -> None:
    draw = torch.Generator().manual_seed(0)
    images = torch.randn((2000, 1, 3, 3), generator=draw)
    linear = images.flatten(1) @ torch.randn((9, 4), generator=draw)
    assert predicted(linear, images) > 0.98
    assert predicted(torch.randn((2000, 4), generator=draw), images) < 0.02
    assert predicted(
        linear + linear.std() * torch.randn((2000, 4), generator=draw), images
    ) == pytest.approx(0.5, abs=0.06)
