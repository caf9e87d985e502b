"""Every lesson in Chromium, read by one generic reader (make test-all): Run All, each control once
in both themes, a reload. Nothing may be tight, before or after a control has moved.
"""

import pytest

from tests.browser.reader import (
    NOTEBOOKS,
    after_a_reload,
    answer_questions,
    controls,
    in_both_themes,
    redraws,
    tight,
)

LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_as_a_reader_uses_it(open_notebook, lesson) -> None:
    opened = open_notebook(lesson)
    opened.page.set_viewport_size({"width": 1280, "height": 720})
    opened.open_file_browser()
    opened.run_all(600)
    opened.unfold()
    answer_questions(opened)
    opened.wait_for_plots(1, timeout=60)
    assert opened.problems() == []
    assert all(plot["traces"] for plot in opened.plots()), "no plot is empty"
    still, without_room = [], {}
    for theme in ("light", "dark"):
        opened.set_theme(theme)
        without_room[theme] = tight(opened)
        for control in controls(opened):
            if not redraws(opened, control):
                still.append(str(control))
            if misfits := tight(opened):
                without_room[f"{theme}, {control}"] = misfits
    opened.set_theme("light")
    misfits = {moment: words for moment, words in without_room.items() if words}
    assert not misfits, "these have no room:\n" + "\n".join(
        f"{moment}: {words}" for moment, words in misfits.items()
    )
    assert still == [], f"these controls redraw nothing: {still}"
    assert opened.problems() == []
    in_both_themes(opened, lesson.stem)
    after_a_reload(opened, len([plot for plot in opened.plots() if plot["alt"]]))
