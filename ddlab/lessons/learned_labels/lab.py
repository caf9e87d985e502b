"""The laboratory of learned labels: pictures stay as they are, their labels learn, and networks are
asked for digits.

LabelLab(data)
LabelLab(data, ld.Config.teaching(iterations=500), pictures=50)

Every number of pictures that was visited stays as a point.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import parameter, randomness
from ...data import ImageData, shapes
from ...data.aligning import aligned
from ...distilled import DistilledSet, StoredLabels
from ...explorers import Chart, Lab, Named, Quest, Results, Strip, Tabs, Value
from ...explorers.ready import (
    HEIGHT,
    MethodWorld,
    SteppedSettings,
    Watch,
    earlier_update,
    tried_by_arm,
    values_by_setting,
)
from ...figures import encode_grid, label_matrix, tried_settings
from ...methods import ld
from ...methods.distillation import from_images
from ...networks import NetworkSpec
from ...runs import Frame, Inputs, Run
from ...training import supervised

SOURCES = ("noise", "shapes", "the data")
STRANGER = networks.spec("convnet", width=16, norm="instance")  # takes no part in the learning
STUDENT_KINDS = ("the learner's network", "a ConvNet, no part in it", "labels shuffled")
# The same kinds, short enough for a legend in one line.
_SHORT_NAMES = ("perceptron", "ConvNet", "labels shuffled")
MOST_PICTURES = 500  # pictures
# Of each kind, whose mean is shown.
STUDENTS = 2
# Pictures on show, above their labels.
_STRIP_PICTURES = 10
# Of accuracy, by which the quest wants to be ahead of one real image of each class.
_AHEAD = 0.15
_FEW = 300  # pictures, of the quest
# Values of the axis that are written.
_TICKS = (10, 20, 50, 100, 200, 500)
# Pixels that a picture takes on the page, about.
_CELL = 48


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, ld.Config):
    """LD's hyper-parameters as a reader moves them, and which pictures are labelled."""

    pictures: int = parameter(
        20,
        range=(10, MOST_PICTURES),
        explorable=(10, MOST_PICTURES),
        step=10,
        help="Pictures whose labels are learned.",
    )
    source: str = parameter(
        "noise", choices=SOURCES, explorable=True, help="Where the pictures come from."
    )
    iterations: int = parameter(
        1000, range=(1, None), explorable=(100, 2000), step=100, help="Steps."
    )
    seed: int = parameter(0, range=(0, None), explorable=(0, 9), help="Of every draw.")


@dataclass(frozen=True)
class Moment:
    """What a frame holds: the labels [n, classes], and the share of errors on real images before
    the step.
    """

    labels: Tensor
    errors: float


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: which classes the labels are to teach.
        config: where the controls start; default LD's teaching preset.
        pictures: how many at first.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = ld
    settings = Settings
    first = ld.Config.teaching()

    def __init__(
        self,
        data: ImageData,
        config: ld.Config | None = None,
        *,
        pictures: int = 20,
        device: torch.device | str = "auto",
    ) -> None:
        super().__init__(data, config, device=device)
        self.start = self.start.replace(pictures=pictures)
        like = aligned(shapes.load(size=16, train=1000, test=10), data)
        self._drawn = {"shapes": like, "the data": self.data}

    def base(self, source: str, pictures: int, seed: int) -> DistilledSet:
        """Return pictures of a source, the same ones first for every number of them.

        Their class labels mean nothing.
        """
        draws = randomness.generator(seed, 0, f"pictures of {source}")
        if source == "noise":
            images = torch.randn(
                (MOST_PICTURES, self.data.channels, *self.data.image_size), generator=draws
            )[:pictures]
        else:
            source_data = self._drawn[source]
            images = source_data.normalised(
                torch.randint(len(source_data.train_labels), (MOST_PICTURES,), generator=draws)[
                    :pictures
                ]
            )
        return from_images(images, torch.arange(pictures) % self.data.classes, self.data)

    def run(self, settings: Settings) -> Run:
        """Return LD's run on these pictures, as far as it has come."""
        base = self.base(settings.source, settings.pictures, settings.seed)
        return self.of(self.config(settings), dataclasses.replace(self.inputs, distilled=base))

    def frame(self, config: Any, inputs: Inputs, state: ld.State, trace: ld.Trace | None) -> Moment:
        """Return what is kept of a step: the labels, and the share of errors."""
        return Moment(state.labels, 1.0 if trace is None else float(trace.error_fraction))

    def score(self, settings: Settings, kind: str, *, watch: Watch) -> float:
        """Return the mean accuracy of one kind of students. The run is finished first."""
        distilled = self.run(settings).advance().result()
        student = ld.student(
            distilled, network=STRANGER if kind == STUDENT_KINDS[1] else settings.network
        )
        if kind == STUDENT_KINDS[2]:
            logits = distilled.target("stored").logits
            order = randomness.permutation(len(logits), settings.seed, 0, "shuffled")
            distilled = distilled.with_targets(StoredLabels(logits[order]))
        return self.mean_taught(distilled, _students(student, settings.seed), watch)

    def rival(
        self, network: NetworkSpec, seed: int, kind: str = "random", *, watch: Watch
    ) -> float:
        """Return the learner's accuracy on one real image of each class, or on the class means.

        Both have their true labels.
        """
        plain: dict[str, Any] = {
            "crop_pixels": 0,
            "flip": False,
            "mixup_alpha": 0.0,
            "learning_rate": 1e-3,
        }
        student = supervised.Config.teaching(network=network, epochs=200, **plain)
        return self.mean_taught(self.chosen(kind, seed=seed), _students(student, seed), watch)


def _students(config: supervised.Config, seed: int) -> list[supervised.Config]:
    """Return the students of a seed, which are other ones for each."""
    return [config.replace(seed=STUDENTS * seed + number) for number in range(STUDENTS)]


def list_jobs(world: World, settings: Settings, run: Run) -> list[Run | Value]:
    """Return the labels, what they teach, and what one real image of each class teaches."""
    scores = [Value(world.score, settings, kind) for kind in STUDENT_KINDS]
    return [run, *scores, Value(world.rival, settings.network, settings.seed)]


def share_scores(
    world: World, settings: Settings, results: Results
) -> tuple[list[dict[int, float]], float | None]:
    """Return accuracies by the number of pictures for each kind of students, and of one real image.

    Only visited settings that differ in the number alone count.
    """
    scores = [
        values_by_setting(results, world.score, settings, "pictures", kind)
        for kind in STUDENT_KINDS
    ]
    return scores, results(results.jobs[-1])


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the first ten pictures, and the frame on show."""
    return {"data": world.data, "base": results.run.inputs.distilled, "frame": results.frame}


def strip(data: ImageData, base: DistilledSet, frame: Frame) -> tuple[bytes, str]:
    """Draw each picture under its likeliest class."""
    surest, likeliest = frame.content.labels[:_STRIP_PICTURES].max(1)
    label_texts = [
        f"{data.class_names[at]}: {value:.0%}"
        for at, value in zip(likeliest.tolist(), surest.tolist(), strict=True)
    ]
    pixels = data.to_uint8(base.images[:_STRIP_PICTURES])
    return encode_grid(
        pixels, len(pixels), cell=_CELL, column_labels=label_texts, gap=4
    ), f"Pictures labelled {', '.join(label_texts)}."


def labels_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the frame on show."""
    return {"names": world.data.class_names, "frame": results.frame}


def labels_map(names: tuple[str, ...], frame: Frame) -> go.Figure:
    """Draw the labels of the pictures in the strip, a row for each picture."""
    labels = frame.content.labels[:_STRIP_PICTURES].cpu().numpy()
    title = f"Their labels at step {frame.step}"
    return label_matrix(labels, names, title=title, height=HEIGHT)


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return the accuracies of the source on show, and the learner's of other sources tried."""
    scores, rival = results.shared
    arms = {
        f"{settings.source}: {name}": tuple(points.items())
        for name, points in zip(_SHORT_NAMES, scores, strict=True)
    }
    by_source = tried_by_arm(results, world.score, settings, "pictures", "source", STUDENT_KINDS[0])
    for source, points in by_source.items():
        arms[f"{source}: {_SHORT_NAMES[0]}"] = tuple(points.items())
    score = scores[0].get(settings.pictures)
    return {
        "arms": tuple(arms.items()),
        "rival": rival,
        "on_show": None if score is None else (settings.pictures, score),
    }


def curve(arms: tuple, rival: float | None, on_show: tuple[int, float] | None) -> go.Figure:
    """Draw the accuracy against the number of pictures."""
    return tried_settings(
        {name: {count: [score] for count, score in points} for name, points in arms},
        rivals={} if rival is None else {"one real image per class": rival},
        on_show=on_show,
        title="Test accuracy of students, by their pictures",
        x_label="number of pictures",
        places=_TICKS,
        log=True,
        height=HEIGHT,
    )


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say what the labels teach, or how far they have been learned."""
    learner_score, stranger_score, shuffled = (
        scores_of_kind.get(settings.pictures) for scores_of_kind in results.shared[0]
    )
    pictures = {"shapes": "shapes", "noise": "pictures of noise", "the data": "real images"}
    learner = f"{settings.pictures} {pictures[settings.source]}"
    if learner_score is None:
        run = results.run
        return f"The labels of {learner} are at step {run.step} of {run.total}."
    statement = (
        f"From {learner}, perceptrons learn to classify {learner_score:.1%} of the test images "
        "correctly"
    )
    if stranger_score is None or shuffled is None:
        return f"{statement}."
    return (
        f"{statement}, and ConvNets {stranger_score:.1%}. With the labels shuffled, perceptrons "
        f"reach {shuffled:.1%}.{earlier_update(results)}"
    )


def quest_met(world: World, settings: Settings, results: Results) -> bool:
    """Return whether pictures without any image of the data are well ahead of real images."""
    (learner_scores, *_), rival = results.shared
    score = learner_scores.get(settings.pictures)
    has_real_images = settings.source == "the data"
    if has_real_images or settings.pictures > _FEW or score is None or rival is None:
        return False
    return score >= rival + _AHEAD


LabelLab = Lab(
    "What can labels teach through pictures of something else?",
    World,
    controls=("source", "pictures", "solver"),
    recorded={"pictures": 6},
    folded=("iterations", "seed"),
    labels={"source": "pictures of", "pictures": "number of pictures", "solver": "gradient by"},
    run=World.run,
    jobs=list_jobs,
    opens_with=2,
    shared=share_scores,
    job_words=lambda world, run: f"labels of {len(run.inputs.distilled)} pictures",
    views=[
        Strip(strip_data, strip),
        Tabs(
            ("Students", Chart(curve_data, curve, ghosts=False, tried=("pictures", "source"))),
            ("Labels", Chart(labels_data, labels_map)),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        f"With {_FEW} pictures or fewer, none of them a real image, beat one real image of each "
        "class by fifteen points.",
        quest_met,
        solution=[("source", "shapes"), ("pictures", 300)],
    ),
)
