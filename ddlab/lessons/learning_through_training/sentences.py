"""The laboratory of learned sentences (TDD): six rows of word vectors that change word by word.

SentenceLab(questions)
"""

import html
import statistics
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch

from ...core import errors, parameter
from ...data.text import TextData
from ...explorers import Chart, Lab, Named, Results, Tabs, Value, step_on_show
from ...explorers.ready import MethodWorld, SteppedSettings, Watch, run_curve
from ...explorers.views import Html
from ...methods import tdd
from ...runs import Run
from ...training import ordered

_OTHER_STARTS = 3  # starts beside the own one


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, tdd.Config):
    """TDD's hyper-parameters as a reader moves them."""

    epochs: int = parameter(3, range=(1, None), explorable=(1, 5), help="Steps of training (N).")
    starts: str = parameter(
        "fixed", choices=("fixed", "random"), explorable=True, help="One start, or new ones."
    )
    seed: int = parameter(0, range=(0, None), explorable=(0, 9), help="Of every draw.")


class World(MethodWorld):
    """Sentences, and where the controls start.

    Args:
        questions: what is distilled. config: where the controls start; default TDD's teaching
            preset. device: of the runs.

    Raises:
        DDLabError: no `TextData`, or settings that the method refuses.
    """

    method = tdd
    settings = Settings
    first = tdd.Config.teaching()
    frames = 50

    def __init__(
        self,
        questions: TextData,
        config: tdd.Config | None = None,
        *,
        device: torch.device | str = "auto",
    ) -> None:
        self.questions = errors.check_instance("questions", questions, TextData)
        super().__init__(questions.embedded, config, device=device)

    def scores(self, run: Run, *, watch: Watch) -> tuple[float, ...]:
        """Return the test accuracies from the run's own start, and from others."""
        distilled = run.advance().result()
        seeds = range(run.config.seed, run.config.seed + _OTHER_STARTS + 1)
        students = [ordered.Config.for_set(distilled, seed=seed) for seed in seeds]
        return self.taught(distilled, students, watch)


def sentences_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the kinds of questions, the sentences on show and those before the first update."""
    current, first = (
        tuple(world.questions.words(frame.content.images))
        for frame in (results.frame, results.frames[0])
    )
    return {"kinds": world.data.class_names, "current": current, "first": first}


def sentences_table(
    kinds: tuple[str, ...], current: tuple[str, ...], first: tuple[str, ...]
) -> str:
    """Write a row for each sentence; words that it did not begin with are bold."""
    rows = []
    for kind, sentence, beginning in zip(kinds, current, first, strict=True):
        words = [
            html.escape(word) if word in beginning.split() else f"<b>{html.escape(word)}</b>"
            for word in sentence.split()
        ]
        rows.append(f"<tr><td>{html.escape(kind)}</td><td>{' '.join(words)}</td></tr>")
    return f"<table><tr><th>kind</th><th>nearest words</th></tr>{''.join(rows)}</table>"


def changed_words(current: tuple[str, ...], first: tuple[str, ...]) -> int:
    """Return how many words on show are none of those that their sentence began with."""
    return sum(
        word not in beginning.split()
        for sentence, beginning in zip(current, first, strict=True)
        for word in sentence.split()
    )


def loss_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the outer loss at the updates that were kept, so far."""
    points = tuple(
        (frame.step, float(frame.content.numbers["loss"].value)) for frame in results.frames[1:]
    )
    return {"points": points, "total": results.run.total} if points else None


def loss_chart(points: tuple[tuple[int, float], ...], total: int) -> go.Figure:
    """Draw the loss of the trained network on real questions, along the updates."""
    return run_curve(
        "loss on real questions",
        points,
        total=total,
        title="Loss of a network that trained on the sentences",
        y_label="cross-entropy",
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how many words have changed, and what the finished sentences teach."""
    _, current, first = sentences_data(world, settings, results).values()
    text = (
        f"Update {results.frame.step} of {results.run.total}: {changed_words(current, first)} of "
        f"{sum(len(words.split()) for words in current)} words are new."
    )
    scores = results(Value(world.scores, results.run))
    if scores is None:
        return text
    return (
        f"{text} At the end, networks classify {scores[0]:.0%} of the test questions correctly from "
        f"start {settings.seed}, and {statistics.fmean(scores[1:]):.0%} from {_OTHER_STARTS} others."
    )


def list_jobs(world: World, settings: Settings, run: Any) -> list[Run | Value]:
    """List the sentences, and what they teach."""
    return [run, Value(world.scores, run)]


SentenceLab = Lab(
    "Which words does a training need?",
    World,
    controls=("epochs", "starts", "learn_labels"),
    folded=("initial_rate", "learning_rate", "seed"),
    labels={"epochs": "steps (N)", "initial_rate": "first rate", "learn_labels": "learn labels"},
    run=World.run,
    jobs=list_jobs,
    opens_with=1,
    step_words="update",
    views=[
        Tabs(
            ("Sentences", Html(sentences_data, sentences_table)),
            ("Loss", Chart(loss_data, loss_chart, cursor=step_on_show)),
        )
    ],
    sentence=sentence,
)
