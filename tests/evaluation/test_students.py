"""evaluate: the same students for the same seeds, and an interval that says what it should."""

import copy
import dataclasses
import math
import statistics
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ddlab import networks
from ddlab.core.interval import interval_text
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet, HardLabels
from ddlab.evaluation import Evaluation, accuracy, evaluate, interval
from ddlab.evaluation.students import evaluate_all, student_accuracy
from ddlab.methods.distillation import from_images
from ddlab.networks import Network
from ddlab.networks.family import REGISTERED
from ddlab.runs import Inputs, cache
from ddlab.training import supervised
from tests.support import assert_same, made_data, refuses, run_to_end

CONFIG = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=3)


@pytest.fixture(autouse=True)
def _empty(no_cache: None) -> None:
    """No student from another test."""


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=12), confidence=st.floats(0.01, 0.99))
def test_interval_equals_scipys(values: list[float], confidence: float) -> None:
    limits = interval(values, confidence)
    assert limits is not None
    scale = stats.sem(values)
    if scale == 0 or len(set(values)) == 1:
        assert limits == pytest.approx((values[0], values[0]))
        return
    expected: Any = stats.t.interval(
        confidence, len(values) - 1, loc=statistics.fmean(values), scale=scale
    )
    assert limits == pytest.approx(tuple(expected), rel=1e-6, abs=1e-9)


def test_interval_of_few_values() -> None:
    assert interval([0.5]) is None and interval([]) is None
    assert interval([0.4, 0.6]) == pytest.approx(
        (0.5 - 12.7062 * 0.1, 0.5 + 12.7062 * 0.1), rel=1e-4
    )


@pytest.mark.parametrize("confidence", [0, 1.1, math.nan, "0.95"])
def test_bad_confidence(confidence: Any) -> None:
    with refuses("confidence"):
        interval([0.1, 0.2], confidence)


def plain_accuracy(network: Network, data: ImageData, split: str = "test") -> float:
    logits = networks.predict(network, data.normalised(split=split)).logits  # type: ignore[arg-type]
    return float((logits.argmax(1) == data.labels(split)).double().mean())  # type: ignore[arg-type]


def test_accuracy(grey: ImageData, teacher: Network) -> None:
    for split in ("train", "test"):
        assert accuracy(teacher, grey, split) == pytest.approx(plain_accuracy(teacher, grey, split))
        assert accuracy(teacher, grey, split, batch_size=5) == pytest.approx(
            plain_accuracy(teacher, grey, split)
        )


@pytest.mark.parametrize("labels", ["hard", "stored", "online"])
def test_the_last_weights_count(
    labels: str, grey: ImageData, distilled: DistilledSet, teacher: Network
) -> None:
    evaluation = evaluate(
        distilled, grey, labels=labels, teacher=teacher, seeds=(3, 7), config=CONFIG
    )
    expected = {}
    for seed in (3, 7):
        inputs = Inputs(distilled=distilled, teachers=(teacher,))
        expected[seed] = plain_accuracy(
            run_to_end(supervised, CONFIG.replace(labels=labels, seed=seed), inputs), grey
        )
    assert evaluation.per_seed == pytest.approx(expected)
    values = list(expected.values())
    assert evaluation.mean == pytest.approx(
        statistics.fmean(values)
    ) and evaluation.std == pytest.approx(statistics.stdev(values))
    assert (
        evaluation.interval == pytest.approx(interval(values))
        and evaluation.complete
        and evaluation.cpu_seconds > 0
    )
    assert (evaluation.labels, evaluation.network) == (labels, "convnet(width=4)")


def test_nothing_of_the_test_set_reaches_a_student(
    grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another test set changes the accuracy and nothing else."""
    students = []
    run = supervised.finish

    def keep(*arguments: Any) -> Network:
        students.append(run(*arguments))
        return students[-1]

    monkeypatch.setattr(supervised, "finish", keep)
    for data in (
        grey,
        dataclasses.replace(
            grey, test_images=255 - grey.test_images, test_labels=grey.test_labels.flip(0)
        ),
    ):
        cache.clear()
        evaluate(distilled, data, labels="hard", seeds=(0,), config=CONFIG)
    assert_same(students[0].weights, students[1].weights)


def test_same_seeds_same_result(grey: ImageData, distilled: DistilledSet) -> None:
    first = evaluate(distilled, grey, labels="stored", seeds=(0, 1), config=CONFIG)
    torch.rand(3)
    cache.clear()
    second = evaluate(
        distilled, grey, labels="stored", seeds=[1, 0], config=CONFIG.replace(seed=9, labels="hard")
    )
    assert dict(sorted(second.per_seed.items())) == first.per_seed and second.mean == pytest.approx(
        first.mean
    )


@pytest.mark.parametrize("edited", ["images", "classes", "test images", "test labels"])
def test_what_is_edited_in_place_is_evaluated_anew(
    edited: str, grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = copy.deepcopy(grey)
    distilled_copy = copy.deepcopy(distilled)
    finish = supervised.finish
    trained = []
    monkeypatch.setattr(
        supervised, "finish", lambda *parts: trained.append(parts) or finish(*parts)
    )

    def students() -> int:
        evaluate(distilled_copy, data, labels="hard", seeds=[0], config=CONFIG)
        return len(trained)

    assert students() == students() == 1
    parts = {
        "images": distilled_copy.images,
        "classes": distilled_copy.labels,
        "test images": data.test_images,
        "test labels": data.test_labels,
    }
    parts[edited].zero_()
    assert students() == students() == 2


def test_one_seed_has_no_interval(grey: ImageData, distilled: DistilledSet) -> None:
    evaluation = evaluate(distilled, grey, labels="hard", seeds=(0,), config=CONFIG)
    assert (
        evaluation.std is None and evaluation.interval is None and "interval" not in str(evaluation)
    )


def test_another_architecture(grey: ImageData, distilled: DistilledSet) -> None:
    evaluation = evaluate(
        distilled,
        grey,
        labels="hard",
        seeds=(0,),
        config=CONFIG,
        network=networks.spec("convnet", width=5, norm="group"),
    )
    assert evaluation.network == 'convnet(width=5,norm="group")'


def test_a_set_that_is_not_complete_is_evaluated_with_a_warning(
    grey: ImageData, distilled: DistilledSet
) -> None:
    with pytest.warns(UserWarning, match="distilled is not complete"):
        evaluate(
            dataclasses.replace(distilled, complete=False),
            grey,
            labels="hard",
            seeds=(0,),
            config=CONFIG,
        )


def test_nothing_is_printed_where_it_is_not_wanted(
    grey: ImageData, distilled: DistilledSet, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(distilled, grey, labels="hard", seeds=(0,), config=CONFIG, progress=False)
    student_accuracy(CONFIG.replace(seed=1, labels="hard"), Inputs(distilled=distilled), grey)
    assert capsys.readouterr() == ("", "")
    evaluate(distilled, grey, labels="hard", seeds=(2,), config=CONFIG)
    assert any(capsys.readouterr())


def test_an_interrupt_stops_after_the_student_under_work(
    grey: ImageData,
    distilled: DistilledSet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    update = supervised.update

    def interrupted(config: Any, inputs: Any, state: Any) -> Any:
        if config.seed == 1 and state.step == 2:
            raise KeyboardInterrupt
        return update(config, inputs, state)

    with monkeypatch.context() as patch:
        patch.setattr(supervised, "update", interrupted)
        evaluation = evaluate(distilled, grey, labels="hard", seeds=(0, 1, 2), config=CONFIG)
    assert (
        not evaluation.complete
        and list(evaluation.per_seed) == [0]
        and str(evaluation).endswith("interrupted")
    )
    assert "interrupted" in capsys.readouterr().out
    again = evaluate(distilled, grey, labels="hard", seeds=(0, 1, 2), config=CONFIG)
    assert again.complete and list(again.per_seed) == [0, 1, 2]


def test_two_processes_and_several_sets_change_nothing(
    grey: ImageData, distilled: DistilledSet, teacher: Network, no_cache: None
) -> None:
    options: dict[str, Any] = {
        "data": grey,
        "teacher": teacher,
        "config": CONFIG.replace(epochs=20),
    }
    several = {
        "told": {"labels": "online", "seeds": (0, 4)},
        "vit": {"labels": "hard", "network": "vit", "seeds": (4,)},
    }
    evaluations = evaluate_all(several, distilled=distilled, jobs=2, **options)
    cache.clear()
    for name, changes in several.items():
        alone = evaluate(distilled, jobs=1, **options, **changes)
        assert (
            evaluations[name].cpu_seconds > 0
            and dataclasses.replace(evaluations[name], cpu_seconds=alone.cpu_seconds) == alone
        )
        assert evaluate(distilled, **options, **changes).cpu_seconds == 0, (
            "known ones are found again"
        )


def test_only_this_process_knows_your_own_network(grey: ImageData, distilled: DistilledSet) -> None:
    networks.register(
        "own_mlp",
        lambda channels, classes, image_size: torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(channels * image_size[0] * image_size[1], classes)
        ),
    )
    try:
        with refuses("jobs", "None or 1 for a network of your own"):
            evaluate(
                distilled,
                grey,
                labels="hard",
                network="own_mlp",
                seeds=(0, 1),
                config=CONFIG,
                jobs=2,
            )
        evaluate(distilled, grey, labels="hard", network="own_mlp", seeds=(0, 1), config=CONFIG)
    finally:
        REGISTERED.pop("own_mlp")


def test_an_interrupt_leaves_no_evaluation_without_students(
    grey: ImageData, distilled: DistilledSet, monkeypatch: pytest.MonkeyPatch, no_cache: None
) -> None:
    update = supervised.update
    several = {"a": {"seeds": (0, 1)}, "b": {"seeds": (2, 3)}}

    def stopped(config: Any, inputs: Any, state: Any) -> Any:
        if config.seed == stop:
            raise KeyboardInterrupt
        return update(config, inputs, state)

    monkeypatch.setattr(supervised, "update", stopped)
    for seed in (0, 1, 2):
        stop = seed
        with pytest.raises(KeyboardInterrupt):
            evaluate_all(several, distilled=distilled, data=grey, labels="hard", config=CONFIG)
    stop = 3
    evaluations = evaluate_all(
        several, distilled=distilled, data=grey, labels="hard", config=CONFIG
    )
    assert [evaluation.complete for evaluation in evaluations.values()] == [True, False]


@pytest.mark.parametrize("wrong", [{}, None, [], "hard", {"a": {"labels": "soft"}}])
def test_bad_several(wrong: Any, grey: ImageData, distilled: DistilledSet) -> None:
    with refuses("labels" if wrong == {"a": {"labels": "soft"}} else "several"):
        evaluate_all(wrong, distilled=distilled, data=grey)


def test_words() -> None:
    three_seeds = Evaluation(
        mean=0.5,
        std=0.1,
        interval=(0.4, 0.6),
        per_seed={0: 0.4, 1: 0.5, 2: 0.6},
        cpu_seconds=1.0,
        labels="hard",
        network="convnet",
    )
    assert (
        str(three_seeds)
        == "accuracy 0.500 over 3 seeds, 95% interval 0.400 to 0.600, hard labels, convnet"
    )
    two = dataclasses.replace(three_seeds, interval=(0.0, 1.0), per_seed={0: 0.4, 1: 0.6})
    assert str(two) == "accuracy 0.500 over 2 seeds, 0.400 and 0.600, hard labels, convnet"


def test_an_interval_ends_where_accuracies_do() -> None:
    assert interval_text([0.9, 1.0, 1.0]).endswith("to 1.000)") and interval_text(
        [0.0, 0.1, 0.0]
    ).startswith("0.033 (0.000 to")
    assert interval_text([0.1, 0.9, 0.2], signed=True) == "+0.400 (-0.683 to +1.000)"
    assert (
        interval_text([0.25, 0.5]) == "0.250 and 0.500" and interval_text([0.25], ".1%") == "25.0%"
    )


def test_labels_have_no_default(grey: ImageData, distilled: DistilledSet) -> None:
    with pytest.raises(TypeError, match="labels"):
        evaluate(distilled, grey)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": "soft"}, ["labels", "one of 'hard', 'stored', 'online'"]),
        ({"seeds": ()}, ["seeds"]),
        ({"seeds": (0, 0)}, ["seeds", "all different"]),
        ({"jobs": 0}, ["jobs", "an integer of at least 1"]),
        ({"data": made_data(classes=2)}, ["distilled", "2 classes"]),
        ({"data": made_data(channels=3)}, ["distilled", "3 channels"]),
        ({"data": made_data(size=9)}, ["distilled", "(9, 9)"]),
    ],
)
def test_bad_input(
    changes: dict[str, Any], words: list[str], grey: ImageData, distilled: DistilledSet
) -> None:
    arguments: dict[str, Any] = {
        "distilled": distilled,
        "data": grey,
        "labels": "hard",
        "config": CONFIG,
    } | changes
    with refuses(*words):
        evaluate(arguments.pop("distilled"), arguments.pop("data"), **arguments)


def test_bad_labels_for_the_set(
    grey: ImageData, distilled: DistilledSet, other_teacher: Network
) -> None:
    bare = dataclasses.replace(distilled, targets=(HardLabels(distilled.labels),))
    with refuses("labels", "['hard']"):
        evaluate(bare, grey, labels="stored", config=CONFIG)
    with refuses("teacher"):
        evaluate(distilled, grey, labels="online", config=CONFIG)
    with refuses("teacher", "made the set"):
        evaluate(distilled, grey, labels="online", teacher=other_teacher, config=CONFIG)


def test_an_interrupt_before_the_first_student_is_whole_goes_through(
    grey: ImageData, distilled: DistilledSet, monkeypatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(supervised, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(distilled, grey, labels="hard", seeds=(7, 8), config=CONFIG)


@pytest.mark.parametrize("labels", ["stored", "online"])
def test_a_recipe_of_hard_labels_does_not_move_soft_ones_and_says_so(
    labels: str, grey: ImageData, distilled: DistilledSet, teacher: Network
) -> None:
    for_hard = supervised.Config.for_data(grey, epochs=1)
    with pytest.warns(UserWarning, match=f"hardly moves students of {labels} labels: .* 900 times"):
        evaluate(distilled, grey, labels=labels, teacher=teacher, config=for_hard, seeds=(0,))
    for config in (for_hard.replace(temperature=1.0), for_hard.replace(optimiser="adamw")):
        evaluate(distilled, grey, labels=labels, teacher=teacher, config=config, seeds=(0,))
    evaluate(distilled, grey, labels="hard", config=for_hard, seeds=(0,))


def test_one_class_is_refused(grey: ImageData) -> None:
    one_class = grey.subset(classes=[0])
    with refuses("data", "at least two classes"):
        evaluate(
            from_images(one_class.normalised([0]), one_class.train_labels[:1], one_class),
            one_class,
            labels="hard",
        )


def test_another_normalisation_is_refused(grey: ImageData, distilled: DistilledSet) -> None:
    shifted = dataclasses.replace(grey, mean=grey.mean + 0.1)
    with refuses("distilled", "normalised like the data"):
        evaluate(distilled, shifted, labels="hard", seeds=(0,), config=CONFIG)


def test_seeds_come_back_as_plain_integers(grey: ImageData, distilled: DistilledSet) -> None:
    seeds: Any = list(np.arange(1))
    evaluation = evaluate(distilled, grey, labels="hard", seeds=seeds, config=CONFIG)
    assert [type(seed) for seed in evaluation.per_seed] == [int]
