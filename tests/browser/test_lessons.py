"""Every lesson in Chromium, read by one generic reader (make test-all): Run All, each control once,
both themes, a reload.
"""

import pytest

from tests.browser.reader import (
    NOTEBOOKS,
    after_a_reload,
    answer_questions,
    controls,
    heights,
    in_both_themes,
    redraws,
    unfitting,
)

TALLEST = 660  # px of an explorer with its controls
NARROW = 1010  # px: an explorer is then as wide as at 1,280 beside JupyterLab's file browser
LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_as_a_reader_uses_it(open_notebook, lesson) -> None:
    opened = open_notebook(lesson)
    opened.run_all(600)
    opened.unfold()
    answer_questions(opened)
    opened.wait_for_plots(1, timeout=60)
    assert opened.problems() == []
    assert max(heights(opened).values()) <= TALLEST, heights(opened)
    assert unfitting(opened, NARROW, TALLEST) == []
    assert all(plot["traces"] for plot in opened.plots()), "no plot is empty"
    still = []
    for control in controls(opened):
        if not redraws(opened, control):
            still.append(str(control))
    assert still == [], f"these controls redraw nothing: {still}"
    assert opened.problems() == []
    in_both_themes(opened, lesson.stem)
    after_a_reload(opened, len([plot for plot in opened.plots() if plot["alt"]]))
