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
    answer_questions(opened.page)
    opened.wait_for_plots(1, timeout=60)
    assert opened.problems() == []
    assert all(plot["traces"] for plot in opened.plots()), "no plot is empty"
    still, first_seen = [], {}

    def look_for_tightness(moment: str) -> None:
        for words in tight(opened.page):
            first_seen.setdefault(words, moment)

    for theme in ("light", "dark"):
        opened.set_theme(theme)
        look_for_tightness(theme)
        for control in controls(opened):
            # A choice may mean what the one before meant: "judged by the same", and by its name.
            moves = 1 if control.kind == "slider" else 2
            if not any(redraws(opened, control, seconds=60) for _ in range(moves)):
                still.append(str(control))
            look_for_tightness(f"{theme}, after {control}")
    opened.set_theme("light")
    lines = [f"{words} ({moment})" for words, moment in first_seen.items()]
    assert not lines, "these have no room:\n" + "\n".join(lines)
    assert still == [], f"these controls redraw nothing: {still}"
    assert opened.problems() == []
    in_both_themes(opened, lesson.stem)
    after_a_reload(opened, len([plot for plot in opened.plots() if plot["alt"]]))
