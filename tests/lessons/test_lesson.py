"""The frame of a lesson: predictions, checks, threads."""

import textwrap
from typing import Any

import pytest
import torch

import ddlab
from ddlab.core import DDLabError
from ddlab.lessons import Prediction, exercise
from ddlab.lessons import lesson as frame
from ddlab.methods import sre2l

NAME = "20_inverting_a_network"


def test_a_locked_prediction_stays() -> None:
    prediction = Prediction("Which?", ["a", "b"])
    prediction.lock()
    assert prediction.locked is None, "nothing chosen, nothing locked"
    prediction.choose("a")
    prediction.lock()
    prediction.choose("b")
    prediction.lock()
    assert prediction.locked == "a"


def test_whoever_observes_an_answer_hears_of_it_once_and_finds_it_locked() -> None:
    prediction = Prediction("Which?", ["a", "b"])
    heard = []
    prediction.observe(lambda change: heard.append((change["new"], prediction.locked)), "locked")
    prediction.choose("a")
    assert heard == []
    prediction.lock()
    prediction.lock()
    assert heard == [("a", "a")]


def test_signs_of_a_question_are_not_taken_for_html() -> None:
    prediction = Prediction("Is a < b & c?", ["a < b", "no"])
    assert "Is a &lt; b &amp; c?" in prediction.children[0].value
    prediction.choose("a < b")
    prediction.lock()
    assert (
        prediction.locked == "a < b"
        and prediction.children[2].children[1].value == "Locked: a &lt; b"
    )


@pytest.mark.parametrize("choices", [[], ["a"], ["a", "a"]])
def test_a_question_needs_different_answers(choices: list[str]) -> None:
    with pytest.raises(DDLabError, match="choices must be at least two different answers"):
        Prediction("Which?", choices)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The lines that are displayed, the newest last."""
    displayed: list[Any] = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    return displayed


def test_a_verdict_comes_by_itself_once_a_guess_is_locked(capsys, verdicts: list[Any]) -> None:
    lesson = ddlab.start(NAME, seed=3)
    printed = capsys.readouterr().out
    assert "seed 3" in printed and "torch" in printed
    prediction = lesson.predict("distance", "Which?", ["a", "b"])
    prediction.choose("a")
    lesson.compare("distance", "3.5", right=1)
    (verdict,) = verdicts
    assert "Lock your guess" in verdict.text and "3.5" not in verdict.text, "nothing of the answer"
    prediction.lock()
    assert verdict.text == "You said: a. Not so; it is: b. Measured: 3.5."
    lesson.compare("distance", "3.5", right=0)
    assert verdicts[-1].text == "You said: a. Right. Measured: 3.5."
    with pytest.raises(DDLabError, match="right must be an integer in \\[0, 1\\]; given 2"):
        lesson.compare("distance", "3.5", right=2)


def test_a_page_without_a_kernel_has_the_replies_to_all_answers(verdicts: list[Any]) -> None:
    lesson = ddlab.start("50_kernels")
    prediction = lesson.predict("size", "How many?", ["few", "many"])
    lesson.compare("size", "3", right=1)
    assert verdicts[0].replies == [
        "You said: few. Not so; it is: many. Measured: 3.",
        "You said: many. Right. Measured: 3.",
    ]
    assert verdicts[0].button == prediction.on_page["button"]


def test_cells_may_run_in_any_order(verdicts: list[Any]) -> None:
    """Cell 1 run again, a result before its question, a question asked again: what was locked stays
    locked, and the verdict finds it.
    """
    name = "90_theorems_on_trial"
    ddlab.start(name).compare("key", "b", right=1)
    (verdict,) = verdicts
    assert "Lock your guess" in verdict.text
    prediction = ddlab.start(name).predict("key", "Which?", ["a", "b"])
    prediction.choose("a")
    prediction.lock()
    assert verdict.text == "You said: a. Not so; it is: b. Measured: b."
    again = ddlab.start(name)
    assert again.predict("key", "Which?", ["a", "b"]).locked == "a"
    other = again.predict("key", "Which now?", ["c", "d"])
    assert other.locked is None
    other.choose("d")
    other.lock()
    assert verdict.text.startswith("You said: d. Right.")
    ddlab.start(NAME).compare("key", "b", right=1)
    assert "Lock your guess" in verdicts[-1].text, "another page's answers are its own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "21_x"}, "name must be one of"),
        ({"name": NAME, "seed": -1}, "seed must be"),
        ({"name": NAME, "device": "gpu"}, "device must be"),
    ],
)
def test_bad_starts_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DDLabError, match=message):
        ddlab.start(**arguments)


@pytest.mark.slow
def test_the_quest_makes_what_it_is_given(capsys) -> None:
    """On the lesson's digits: from real images recovery helps, from noise it does not, and a rate
    of nothing changes nothing.
    """
    data = ddlab.data.load("digits")
    teacher = ddlab.train_teacher(data, progress=False)
    lesson = ddlab.start(NAME)
    usual = sre2l.Config.teaching(images_per_class=1, initialisation="real")
    assert lesson.check("ahead", (data, teacher, usual))
    for wrong, why in (
        (usual.replace(initialisation="noise"), "Where should the images start"),
        (usual.replace(learning_rate=0.001), "still the real images"),
    ):
        capsys.readouterr()
        assert not lesson.check("ahead", (data, teacher, wrong)) and why in capsys.readouterr().out


def test_a_wrong_answer_raises_where_solutions_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = ddlab.start("20_inverting_a_network")
    assert not lesson.check("bytes", 1.0)
    monkeypatch.setenv("DDLAB_SOLUTIONS", "1")
    assert lesson.check("bytes", 3.99)
    with pytest.raises(AssertionError, match="'bytes' is not right: Yours is 1"):
        lesson.check("bytes", 1.0)


def test_a_static_figure_is_shown_above_its_finding(monkeypatch) -> None:
    import IPython.display

    from ddlab import figures

    displayed: list = []
    monkeypatch.setattr(IPython.display, "display", lambda value, **_: displayed.append(value))
    figure = figures.bars(["a", "b"], [0.1, 0.2], title="Bars", y_label="height")
    ddlab.start(NAME).show(figure, "b is higher than a < b.")
    plot, caption = displayed
    assert plot.figure is figure and plot.alt == figures.alt_text(figure)
    assert "b is higher than a &lt; b." in caption.data


def test_a_lesson_on_the_cpu_takes_one_thread() -> None:
    torch.set_num_threads(2)
    frame.start(NAME, device="cpu")
    assert torch.get_num_threads() == 1


def test_an_exercise_of_a_teachers_own(capsys: pytest.CaptureFixture[str]) -> None:
    """As the docstring of `ddlab.lessons.exercise` has it."""
    _, text = (exercise.__doc__ or "").split("exercise\n\n", 1)
    space: dict[str, Any] = {"torch": torch, "exercise": exercise}
    exec(textwrap.dedent(text.partition("    exercise.check(")[0]), space)
    assert exercise.check(space["mean"], lambda values: values.mean())
    assert not exercise.check(space["mean"], lambda values: values.median())
    said = "Right. Each value counts one n-th.\nNot yet: That is the median.\n"
    assert capsys.readouterr().out == said
