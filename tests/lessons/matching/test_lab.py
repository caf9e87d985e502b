"""The laboratory of learned images, driven in Python: what it shows is what DM makes, and what
`evaluate` says of it.
"""

import statistics
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.data import ImageData, siamese_views
from ddlab.explorers import Laboratory, Value
from ddlab.figures import alt_text
from ddlab.lessons.matching.lab import MatchingLab, scores
from ddlab.lessons.matching.world import LEARNED, METHODS, REAL, World, student_config
from ddlab.methods import dc, dm, dsa, selection
from ddlab.runs import Inputs, process
from ddlab.training import supervised
from tests.support import made_data

NARROW = networks.spec("convnet", width=4, norm="instance")
SMALL = dm.Config.teaching(
    network=NARROW, networks=5, iterations=6, batch_size=4, learning_rate=5.0
)
STUDENT = supervised.Config.teaching(network=NARROW, epochs=40, mixup_alpha=0.0)


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data()


@pytest.fixture
def lab(data: ImageData) -> Iterator[Laboratory]:
    laboratory = MatchingLab(data, SMALL, student=STUDENT, seeds=2)
    yield laboratory
    laboratory.close()


def by_itself(data: ImageData, config: dm.Config) -> tuple[list[torch.Tensor], list[float]]:
    """The images before each update and after the last one, and the distance before each."""
    inputs = Inputs(data=data)
    steps = list(process.steps(dm, config, inputs))
    images = [process.start(dm, config, inputs).images, *(step.state.images for step in steps)]
    return images, [float(step.trace.loss) for step in steps]


def press(lab: Any, words: str) -> None:
    (button,) = (candidate for candidate in lab.buttons.values() if candidate.description == words)
    button.click()
    lab.runner.join()


def filled(lab: Any, values: dict[str, list[float]]) -> None:
    """As if these students had been trained, of each kind one for each seed."""
    results = lab.results
    frame = lab.schedule.watched_run.at(results.step)
    for kind, accuracies in values.items():
        for seed, accuracy in enumerate(accuracies):
            arguments = (
                (lab.schedule.watched_run, frame, seed)
                if kind == LEARNED
                else (kind, lab.settings.images_per_class, seed)
            )
            student = Value(
                getattr(lab.world, "learned" if kind == LEARNED else "real"), *arguments
            )
            lab.schedule.keep(student, accuracy)
            lab.schedule.want([student])
    lab.draw()


# -- the run


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"images_per_class": 2},
        {"initialisation": "noise"},
        {"strategy": "crop_flip", "views": "independent"},
        {"iterations": 90, "networks": 2},
    ],
    ids=str,
)
def test_the_frames_and_distances_are_dms_own(data: ImageData, changes: dict[str, Any]) -> None:
    config = SMALL.replace(**changes)
    world = World(data, config)
    run = world.run(world.start).advance()
    images, distances = by_itself(data, config)
    assert run.complete and run.config == config and type(run.config) is dm.Config
    steps = [frame.step for frame in run.frames]
    assert (
        steps == sorted({*steps, 0, 1, config.iterations})
        and min(config.iterations, 40) < len(steps) <= 42
    )
    for frame in run.frames:
        assert torch.equal(frame.content.images, images[frame.step]), frame.step
        if frame.step:
            assert float(frame.content.numbers["distance"].value) == distances[frame.step - 1]


@pytest.mark.parametrize("method", [dc, dsa])
@pytest.mark.parametrize(
    ("networks", "inner_epochs", "loops"), [(2, 3, (2, 3)), (50, 3, (6, 1)), (1, 0, (1, 6))]
)
def test_gradients_are_matched_as_dc_and_dsa_do_it(
    data: ImageData, method: Any, networks: int, inner_epochs: int, loops: tuple[int, int]
) -> None:
    world = World(data, SMALL)
    (match,) = (words for words, module in METHODS.items() if module is method)
    settings = world.start.replace(match=match, networks=networks, inner_epochs=inner_epochs)
    run = world.run(settings).advance()
    count, matchings = (2, 3) if networks == 2 else loops
    views = {"strategy": siamese_views.UPRIGHT} if method is dsa else {}
    config = method.Config(
        network=NARROW,
        networks=count,
        outer_steps=matchings,
        inner_epochs=inner_epochs,
        batch_size=4,
        learning_rate=0.5,
        initialisation="real",
        **views,
    )
    assert run.process is method and run.config == config and run.total == 6
    steps = list(process.steps(method, config, Inputs(data=data)))
    assert torch.equal(run.at().content.images, steps[-1].state.images)
    for frame in run.frames[1:]:
        expected = float(steps[frame.step - 1].trace.loss)
        assert float(frame.content.numbers["distance"].value) == expected


def test_what_was_matched_before_stays_beside_what_is_on_show(lab: Any) -> None:
    rivals = {kind: [0.5, 0.5] for kind in REAL}
    press(lab, "Learn")
    filled(lab, rivals | {LEARNED: [0.6, 0.7]})
    lab.panel["match"].value = "gradients"
    lab.runner.join()
    press(lab, "Learn")
    filled(lab, {LEARNED: [0.8, 0.8]})
    names = alt_text(lab.widget(scores).figure)
    assert "DM, 5 networks +15.0" in names and "DC, 5 networks, update" in names
    assert lab.panel["views"].disabled


# -- students


@pytest.mark.parametrize("images_per_class", [1, 2])
def test_students_are_those_of_evaluate(
    data: ImageData, images_per_class: int, no_cache: None
) -> None:
    config = SMALL.replace(images_per_class=images_per_class)
    lab = MatchingLab(data, config, student=STUDENT, seeds=2)
    press(lab, "Learn")
    lab.slider.index = 4
    press(lab, "Train students")
    options: dict[str, Any] = {"labels": "hard", "config": STUDENT}
    labels = torch.arange(3).repeat(images_per_class)
    distilled = ddlab.from_images(by_itself(data, config)[0][4], labels, data)
    expected = {
        "learned, update 4": ddlab.evaluate(distilled, data, seeds=(0, 1), **options).per_seed
    }
    for kind, words in REAL.items():
        expected[words] = {}
        for seed in (0, 1):
            selection_config = selection.Config(
                kind=kind, images_per_class=images_per_class, seed=seed
            )
            chosen = ddlab.distill("selection", data, config=selection_config, progress=False)
            expected[words] |= ddlab.evaluate(chosen, data, seeds=(seed,), **options).per_seed
    figure = lab.widget(scores).figure
    points = []
    for trace in figure.data:
        for x in trace.x:
            points.append(float(x))
    every = []
    for values in expected.values():
        for value in values.values():
            every.append(value)
    assert len({*every}) > 2, "equal numbers would show nothing"
    rival = expected[REAL["centres"]]
    ahead = []
    for name, values in expected.items():
        if name != REAL["centres"]:
            for seed in (0, 1):
                ahead.append(100 * (values[seed] - rival[seed]))  # in points
    for value in ahead:
        assert any(point == pytest.approx(value, abs=1e-4) for point in points), value
    for words, values in expected.items():
        clause = (
            f"{words.replace('learned, update 4', 'these images')} "
            f"{statistics.fmean(values.values()):.1%}"
        )
        assert clause in lab.sentence
        shown_name = words.removesuffix(" real images").replace(
            "learned, update 4", "DM, 5 networks, update 4"
        )
        assert shown_name in alt_text(figure)
    assert figure.layout.title.text == "Students, minus k-means centres"
    (button,) = (
        candidate for candidate in lab.buttons.values() if candidate.description == "Train students"
    )
    assert button.disabled and lab.progress.description == ""
    lab.slider.index = 2
    assert (
        not button.disabled
        and "these images" not in lab.sentence
        and "Accuracy of students: random real images" in lab.sentence
    )
    lab.close()


def test_students_learn_from_class_numbers_and_single_views(data: ImageData) -> None:
    config = student_config(data)
    assert (config.labels, config.mixup_alpha) == ("hard", 0)
    assert config.network == networks.spec("convnet", width=32, norm="instance")
    assert student_config(data, epochs=3).epochs == 3 and World(data).learning == config


# -- the quest


def test_the_quest_asks_for_every_student_and_a_lead_over_all_rivals(lab: Any) -> None:
    rivals = {kind: [0.5, 0.5] for kind in REAL}
    press(lab, "Learn")
    for kind in REAL:  # a rival whose second student is missing
        lab.schedule.values.clear()
        filled(lab, rivals | {kind: [0.5], LEARNED: [0.9, 0.9]})
        assert not lab.quest.met
    for kind in REAL:  # one rival is too good
        for rival in (0.9, 0.895):
            lab.schedule.values.clear()
            filled(lab, rivals | {kind: [rival, rival], LEARNED: [0.9, 0.9]})
            assert not lab.quest.met
    lab.schedule.values.clear()
    filled(lab, rivals | {LEARNED: [0.9]})
    assert not lab.quest.met
    lab.schedule.values.clear()
    filled(lab, {LEARNED: [0.9, 0.9]})
    lab.slider.index = 3  # those students belong to another update
    filled(lab, rivals)
    assert not lab.quest.met
    filled(lab, {LEARNED: [0.502, 0.52]})
    assert lab.quest.met and 'data-met="true"' in lab.quest.value


# -- what cannot be
