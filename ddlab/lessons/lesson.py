"""The frame of a lesson: start, predictions, checks."""

import html
import importlib
import os
import platform
from collections.abc import Sequence
from typing import Any

import torch

from ..core import devices, errors
from ..explorers import Prediction
from .answers import NotYet
from .contents import LESSONS

_predictions: dict[str, dict[str, Prediction]] = {}  # of each page: its first cell may be run again


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
        self._checks = importlib.import_module(
            f".{LESSONS[name].folder}.checks", __package__
        ).CHECKS

    def predict(self, key: str, question: str, choices: Sequence[str]) -> Prediction:
        """Return a question to be answered before the result is known; `compare` shows both.

        An answer that was locked before stays.
        """
        before = self._predictions.get(key)
        prediction = Prediction(question, choices)
        if before is not None and before.locked in choices:
            prediction.choose(before.locked)
            prediction.lock()
        self._predictions[key] = prediction
        return prediction

    def compare(self, key: str, result: str) -> None:
        """Print the locked prediction beside the result.

        Where there is none yet, say that it comes first.
        """
        prediction = self._predictions.get(key)
        if prediction is None or prediction.locked is None:
            print(
                "Answer the question above first: run its cell, choose, and lock your "
                f"answer. Measured: {result}."
            )
        else:
            print(prediction.against(result))

    def show(self, figure: Any) -> None:
        """Display a static figure and, folded below it, its alt text."""
        show(figure)

    def check(self, exercise: str, answer: Any) -> bool:
        """Check an exercise: print "Right" or a hint, at once.

        A wrong answer raises nothing, but where solutions are tested.

        Raises:
            AssertionError: a wrong answer while the variable DDLAB_SOLUTIONS is set, as `make test`
                does for the solutions.
        """
        check = self._checks[errors.check_choice("exercise", exercise, tuple(self._checks))]
        try:
            print(f"Right: {check(answer)}")
        except NotYet as hint:
            reply = f"{'No answer yet. ' if answer is None else ''}{hint}"
            print(f"Not yet: {reply}")
            if os.environ.get("DDLAB_SOLUTIONS"):
                raise AssertionError(
                    f"the solution of exercise {exercise!r} is not right: {reply}"
                ) from None
            return False
        return True


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


def show(figure: Any) -> None:
    """Display a plotly figure in the page's theme and, folded below it, its alt text."""
    from IPython.display import HTML, display

    from ..explorers import Plot
    from ..figures import alt_text

    display(Plot(figure, announce=False))
    display(
        HTML(
            f"<details><summary>In words</summary><p>{html.escape(alt_text(figure))}</p></details>"
        )
    )
