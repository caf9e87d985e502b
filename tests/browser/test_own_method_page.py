"""The page "a method of your own" in a real browser: Run All with the instructor's answers, its film, both themes."""

from __future__ import annotations

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, p95


@pytest.mark.timeout(600)
def test_the_page_of_a_method_of_ones_own(open_notebook) -> None:
    opened = open_notebook(NOTEBOOKS / "assignments" / "instructor" / "your_own_method.ipynb")
    reader = Reader(opened)
    opened.run_all()
    opened.wait_for_plots(2)
    assert opened.problems() == [] and all(plot["traces"] for plot in opened.plots())
    assert reader.sentence("scrubber").startswith("Step 40 of 40: loss ")
    assert p95(opened.move_slider("step", presses=20, key="ArrowLeft", kind="cursor")) < 1000
    assert reader.sentence("scrubber").startswith("Step 20 of 40: loss ")
    reader.in_both_themes("own_method")
    assert opened.problems() == []
