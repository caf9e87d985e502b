"""The start page: its effects."""

from __future__ import annotations

import pytest

from ddlab.lessons.start_page import claims

pytestmark = pytest.mark.slow  # the register: it goes


def test_effects_are_differences_within_pairs() -> None:
    found = {("random", "hard"): [0.1, 0.2], ("random", "online"): [0.4, 0.3], ("SRe2L", "online"): [0.2, 0.3]}
    effects = claims.label_effects(found)
    assert effects["X1 shapes labels"] == pytest.approx([0.3, 0.1])
    assert effects["X1 shapes images"] == pytest.approx([-0.2, 0.0])
