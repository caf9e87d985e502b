"""The frame of a lesson: start, predictions, checks."""

import html
import importlib
import os
import platform
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ..core import devices, errors
from ..explorers import Prediction
from ..explorers.prediction import Verdict
from . import predictions
from .answers import check, judge
from .contents import LESSONS

# Of each page, by the key of the question: its first cell may be run again.
_predictions: dict[str, dict[str, Prediction]] = {}
_verdicts: dict[str, dict[str, Verdict]] = {}


class Lesson:
    """One run of a lesson; made by `start`.

    Attributes:
        name, seed, device: of this run.
    """

    def __init__(self, name: str, *, seed: int, device: str) -> None:
        self.name = errors.check_choice("name", name, tuple(LESSONS))
        self.seed = errors.check_integer("seed", seed, 0)
        self.device = devices.checked_device(device)
        if self.device.type == "cpu":
            # Small networks are fastest with one: waking a second takes longer than what it does.
            # Before anything is computed, because gradients differ between one thread and two.
            torch.set_num_threads(1)
        self._predictions = _predictions.setdefault(name, {})
        self._kept = predictions.load(name)
        self._verdicts = _verdicts.setdefault(name, {})
        self._checks = importlib.import_module(
            f".{LESSONS[name].folder}.checks", __package__
        ).CHECKS

    def predict(self, key: str, question: str, choices: Sequence[str]) -> Prediction:
        """Return a question to be answered before the result is known; `compare` shows both.

        An answer that was locked before stays, also when the kernel was restarted: it is kept in
        `ddlab-predictions.json` beside the notebook (`lessons.predictions`).
        """
        before = self._predictions.get(key)
        locked = self._kept.get(key) if before is None else before.locked
        prediction = Prediction(question, choices)
        if locked is not None and locked in choices:
            prediction.choose(locked)
            prediction.lock()
        prediction.on_lock = partial(predictions.keep, self.name, key, question)
        self._predictions[key] = prediction
        if key in self._verdicts:
            self._verdicts[key].follow(prediction)
        return prediction

    def compare(self, key: str, result: str, *, right: int) -> None:
        """Show a line that says, once an answer is locked, whether it was right.

        Before that it tells nothing of the result; it changes by itself.

        Args:
            key: of the question.
            result: what was measured, with its number.
            right: the number of the answer that the result agrees with, from 0.

        Raises:
            DDLabError: an answer that the question does not offer.
        """
        from IPython.display import display

        def reply(choices: Sequence[str]) -> list[str]:
            answer = choices[errors.check_integer("right", right, 0, len(choices) - 1)]
            replies = []
            for choice in choices:
                verdict = "Right" if choice == answer else f"Not so; it is: {answer}"
                replies.append(f"You said: {choice}. {verdict}. Measured: {result}.")
            return replies

        verdict = Verdict(reply)
        if key in self._predictions:
            verdict.follow(self._predictions[key])
        self._verdicts[key] = verdict
        display(verdict)

    def show(self, figure: Any, finding: str) -> None:
        """Display a static figure, and under it a caption that states its finding."""
        show(figure, finding)

    def check(self, exercise: str, answer: Any) -> bool:
        """Check an exercise: print "Right" or a hint, at once.

        A wrong answer raises nothing, but where solutions are tested.

        Raises:
            AssertionError: a wrong answer while the variable DDLAB_SOLUTIONS is set, as `make test`
                does for the solutions.
        """
        table = self._checks[errors.check_choice("exercise", exercise, tuple(self._checks))]
        is_right = check(table, answer)
        if not is_right and os.environ.get("DDLAB_SOLUTIONS"):
            _, reply = judge(table, answer)
            raise AssertionError(f"the solution of exercise {exercise!r} is not right: {reply}")
        return is_right


def start(name: str, *, seed: int = 0, device: str = "auto") -> Lesson:
    """Begin a lesson: print versions and how long it takes to read.

    On a CPU it sets torch's number of threads to 1 for the whole kernel, in which small networks
    are fastest; `torch.set_num_threads` afterwards takes more.

    Args:
        name: of the notebook, without ".ipynb".
        seed: of everything drawn in it.
        device: "auto" is a GPU where there is one.
    """
    lesson = Lesson(name, seed=seed, device=device)
    threads = torch.get_num_threads()
    print(f"ddlab lesson {name}: about {LESSONS[name].minutes} minutes to read")
    print(f"seed {seed}, device {lesson.device}, {threads} thread{'s' if threads != 1 else ''}")
    print(f"Python {platform.python_version()}, torch {torch.__version__}")
    return lesson


def show(figure: Any, finding: str = "") -> None:
    """Display a plotly figure in the page's theme, and under it a caption that states its finding."""
    from IPython.display import HTML, display

    from ..explorers import Plot

    display(Plot(figure, announce=False))
    if finding:
        display(HTML(f'<p style="margin:2px 0 10px">{html.escape(finding)}</p>'))
