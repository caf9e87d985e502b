"""What every exercise must hold: the right answer passes in every form a person would return, and
each wrong one gets a sentence that names its mistake.

An `Exercise` with an expected answer is tried from its own table. What is judged by a property has
rows here: right answers, and wrong ones with words of their hints.
"""

import copy
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ddlab
from ddlab.lessons import LESSONS
from ddlab.lessons.answers import Exercise, NotYet
from ddlab.lessons.ideal_data.toys import Config as Toy
from ddlab.methods import dd, dm, kip, sre2l

ALL: dict[tuple[str, str], Callable[[Any], str]] = {}
for lesson, described in LESSONS.items():
    checks = importlib.import_module(f"ddlab.lessons.{described.folder}.checks").CHECKS
    ALL |= {(lesson[:2], key): check for key, check in checks.items()}
TABLES: dict[tuple[str, str], Exercise] = {
    row: check
    for row, check in ALL.items()
    if isinstance(check, Exercise) and check.expected is not None
}
# What is handed in has a gradient that is measured, so numpy and lists are wrong there.
WITH_GRADIENT = {("05", "shifted"), ("75", "halves")}
FORMS: dict[str, Callable[[Tensor], Any]] = {
    "float64": lambda tensor: tensor.double(),
    "float32": lambda tensor: tensor.float(),
    "float16": lambda tensor: tensor.half(),
    "a parameter": lambda tensor: torch.nn.Parameter(tensor.detach().clone()),
    "numpy": lambda tensor: tensor.detach().numpy(),
    "a list or a number": lambda tensor: tensor.tolist(),
    "in a list": lambda tensor: tensor.reshape(1) if tensor.ndim == 0 else tensor,
}
NOTHING = "a function that returns nothing"
KINDS: dict[str, Any] = {
    "nothing": None,
    "a text": "x",
    "a class": int,
    "an empty list": [],
    "a dict": {1: 2},
    "a set": object(),
    NOTHING: lambda *arguments, **named: None,
    "one that raises": lambda *arguments, **named: [][1],
    "one of other arguments": lambda: 1,
    "one that returns a text": lambda *arguments, **named: "x",
    "one that returns True": lambda *arguments, **named: True,
    "one that returns complex numbers": lambda *arguments, **named: torch.zeros(2) * 1j,
    "one that returns a generator": lambda *arguments, **named: (i for i in range(3)),
    "one that returns rows of several lengths": lambda *arguments, **named: [[1], [1, 2]],
    "one that returns nothing of it": lambda *arguments, **named: torch.zeros(0),
}


def assert_words(text: str) -> None:
    """Sentences for a reader, whole and of bearable length."""
    assert text[0] in "`" or text[0].upper() == text[0]
    assert (
        text[-1] in ".?"
        and ".." not in text.replace("...", "")
        and "\n" not in text
        and len(text) < 500
    ), text


def hint_of(row: tuple[str, str], answer: Any) -> str:
    """The hint that a wrong answer gets."""
    with pytest.raises(NotYet) as told:
        ALL[row](answer)
    assert_words(str(told.value))
    return str(told.value)


def answer_like(exercise: Exercise, change: Callable[[Tensor], Any]) -> Any:
    """The right answer of a table, changed."""
    if not exercise.arguments:
        return change(torch.as_tensor(exercise.expected, dtype=torch.float64))

    def changed(*arguments: Any, **named: Any) -> Any:
        returned = exercise.expected(*arguments, **named)
        if isinstance(returned, tuple) and isinstance(returned[0], Tensor):
            return tuple(map(change, returned))
        return change(torch.as_tensor(returned))

    return changed


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_a_right_answer_passes_in_every_form(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert_words(exercise(exercise.expected))
    for form, change in FORMS.items():
        if row not in WITH_GRADIENT or form.startswith("float"):
            assert exercise(answer_like(exercise, change)), form


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_what_is_not_finite_is_refused_with_where_it_comes_from(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert "0 / 0" in hint_of(row, answer_like(exercise, lambda tensor: tensor * math.nan))
    infinite = hint_of(row, answer_like(exercise, lambda tensor: tensor * 0 + math.inf))
    assert "division by zero" in infinite


@pytest.mark.parametrize("row", ALL, ids=" ".join)
def test_what_is_no_answer_gets_a_sentence(row: tuple[str, str]) -> None:
    """Of every kind, and never an error; of a function that raises it names the line."""
    hints = {kind: hint_of(row, answer) for kind, answer in KINDS.items()}
    if isinstance(ALL[row], Exercise) and ALL[row].arguments:  # type: ignore[attr-defined]
        assert "return" in hints[NOTHING] and "IndexError" in hints["one that raises"]
        assert (
            "at line" in hints["one that raises"] and "must take" in hints["one of other arguments"]
        )


@pytest.mark.parametrize("row", TABLES, ids=" ".join)
def test_each_usual_mistake_is_named(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    assert 3 <= len(exercise.mistakes) <= 9, "three usual mistakes at least"
    for hint, mistake in exercise.mistakes.items():
        assert hint_of(row, completed(exercise, mistake)) == hint


def completed(exercise: Exercise, mistake: Any) -> Any:
    """A mistake, with the right answer wherever it gives none."""
    if not exercise.arguments:
        return mistake

    def answer(*arguments: Any, **named: Any) -> Any:
        given = mistake(*arguments, **named)
        right = exercise.expected(*arguments, **named)
        if given is None:
            return right
        if isinstance(given, tuple) and not isinstance(given[0], Tensor):
            return [two if math.isnan(one) else one for one, two in zip(given, right, strict=True)]
        return given

    return answer


@pytest.mark.parametrize("row", sorted(set(TABLES) - WITH_GRADIENT), ids=" ".join)
def test_any_other_mistake_is_shown_beside_the_right_value(row: tuple[str, str]) -> None:
    exercise = TABLES[row]
    wrong = answer_like(exercise, lambda tensor: tensor * 1.37 + 0.711)
    hint = hint_of(row, wrong)
    assert hint not in exercise.mistakes
    if exercise.arguments:
        assert "should be" in hint
        seven = answer_like(exercise, lambda tensor: torch.stack([tensor] * 7))
        assert "shape" in hint_of(row, seven) or row == ("62", "rate only")


# -- exercises that are judged by a property


def with_random_batches(turn: Any, sign: float = 1.0, by_class: bool = True) -> Any:
    """The page's `match` with another choice of the network, or another aim."""

    def match_in(bodies: Any, real: Any, real_labels: Any, images: Any, updates: int = 50) -> Any:
        images = images.clone().requires_grad_()
        sgd = torch.optim.SGD([images], lr=1.0, momentum=0.5)
        for update in range(updates):
            distance = torch.zeros(())
            for body in [bodies[number] for number in turn(update, len(bodies))]:
                for label in range(10):
                    members = real[real_labels == label] if by_class else real
                    rows = torch.randperm(len(members))[:32]
                    gap = body(members[rows]).mean(0) - body(images[label::10]).mean(0)
                    distance = distance + sign * gap.square().sum()
            (images.grad,) = torch.autograd.grad(distance, images)
            sgd.step()
        return images.detach()

    return match_in


def one_after_another(update: int, count: int) -> list[int]:
    return [update % count]


def pushed(
    network: Any,
    radius: float,
    draw: Any = torch.randn,
    only: str = "",
    together: bool = True,
) -> Any:
    copied = copy.deepcopy(network).requires_grad_(False)
    chosen = [
        (weight, draw(weight.shape)) for name, weight in copied.named_parameters() if only in name
    ]
    length = torch.stack([direction.norm() for _, direction in chosen]).norm()
    for weight, direction in chosen:
        weight += radius * direction / (length if together else direction.norm())
    return copied


def moved_itself(network: Any, *_others: Any) -> Any:
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    return copy.deepcopy(network)


def shuffled_within_classes(labels: Tensor, _steps: int) -> Tensor:
    rows = torch.arange(len(labels))
    for label in labels.unique():
        places = (labels == label).nonzero().flatten()
        rows[places] = places[torch.randperm(len(places))]
    return rows


def normal_draw(targets: Tensor) -> Tensor:
    factor = torch.linalg.cholesky(targets.double().T.cov())
    draw = torch.randn(targets.shape, dtype=torch.float64)
    return targets.double().mean(0) + draw @ factor.T


def difference_of_copies(targets: Tensor) -> Tensor:
    first, second = (targets[torch.randperm(len(targets))] for _ in range(2))
    return targets.mean(0) + (first - second) / 2**0.5


def turned(targets: Tensor) -> Tensor:
    """The moments are kept by a rotation in whitened coordinates, and so is what pixels predict."""
    mean = targets.double().mean(0)
    root = torch.linalg.cholesky(targets.double().T.cov())
    turn, _ = torch.linalg.qr(torch.randn(len(root), len(root), dtype=torch.float64))
    white = torch.linalg.solve_triangular(root, (targets.double() - mean).T, upper=False)
    return mean + (root @ turn @ white).T


def shuffled(targets: Tensor) -> Tensor:
    return targets[torch.randperm(len(targets))]


def cut_without_gradient(*arguments: Any) -> Tensor:
    return torch.zeros(())


RIGHT: list[tuple[str, str, Any]] = [
    ("05", "networks in turn", with_random_batches(one_after_another)),
    ("10", "quiet", Toy(deviation=1.0, relabelling=1.0)),
    ("21", "random push", lambda network, x, y, k, radius: pushed(network, radius)),
    ("45", "statistics", difference_of_copies),
    ("45", "statistics", normal_draw),
    ("45", "statistics", lambda targets: normal_draw(targets).numpy()),
    ("70", "fair shuffle", shuffled_within_classes),
    ("70", "fair shuffle", lambda *plan: shuffled_within_classes(*plan).tolist()),
    ("70", "fair shuffle", lambda *plan: shuffled_within_classes(*plan).float().numpy()),
    ("90", "counterexample", (lambda place: -min(place + 3, 2 - place), -3, 2, 0.6)),  # z = -1.0
    ("90", "counterexample", (torch.abs, -1, 1, np.float64(0.01))),
    ("90", "counterexample", [abs, -1, torch.tensor(1), 0.25]),
]
WRONG: list[tuple[str, str, Any, str]] = [
    ("05", "networks in turn", with_random_batches(lambda *_: [0]), "in turn means 0, 1, 2"),
    ("05", "networks in turn", with_random_batches(lambda u, n: range(n)), "every network"),
    ("05", "networks in turn", with_random_batches(one_after_another, -1.0), "move away"),
    (
        "05",
        "networks in turn",
        with_random_batches(one_after_another, by_class=False),
        "their own classes",
    ),
    (
        "05",
        "networks in turn",
        lambda bodies, real, labels, images, updates: images,
        "none of the networks",
    ),
    ("10", "quiet", Toy(deviation=1.0, momentum=0.9, learning_rate=0.01), "Shorter steps"),
    ("10", "quiet", Toy(deviation=1.0, relabelling=0.1), "smaller share"),
    ("10", "quiet", Toy(deviation=0.2), "you changed deviation"),
    ("21", "random push", lambda n, x, y, k, r: n, "moved by 0"),
    ("21", "random push", lambda n, x, y, k, r: pushed(n, r, torch.ones), "same direction"),
    ("21", "random push", lambda n, x, y, k, r: pushed(n, r, torch.rand), "no negative numbers"),
    ("21", "random push", lambda n, x, y, k, r: pushed(n, 2 * r), "moved by 0.6"),
    (
        "21",
        "random push",
        lambda n, x, y, k, r: pushed(n, r, together=False),
        "Each parameter tensor",
    ),
    ("21", "random push", lambda n, x, y, k, r: pushed(n, r, only="classifier"), "stayed where"),
    ("21", "random push", moved_itself, "move a copy"),
    ("45", "statistics", lambda targets: targets, "still belong"),
    ("45", "statistics", shuffled, "shuffling"),
    (
        "45",
        "statistics",
        lambda targets: shuffled(targets) + 0.01 * torch.randn(targets.shape),
        "shuffling",
    ),
    ("45", "statistics", torch.randn_like, "means differ"),
    ("45", "statistics", lambda t: t.mean(0) + torch.randn_like(t), "covariances differ"),
    ("45", "statistics", turned, "still belong"),
    ("45", "statistics", lambda targets: targets[:5], "must have shape"),
    ("70", "fair shuffle", lambda labels, steps: torch.arange(len(labels)), "Only 0%"),
    ("70", "fair shuffle", lambda labels, steps: labels, "each of the"),
    ("70", "fair shuffle", lambda labels, steps: torch.randperm(len(labels)), "Step"),
    ("70", "fair shuffle", lambda labels, steps: torch.arange(len(labels)).roll(10), "Move more"),
    (
        "70",
        "fair shuffle",
        lambda labels, steps: torch.arange(len(labels)).view(steps, -1).flip(0).flatten(),
        "whole batches",
    ),
    ("75", "halves", cut_without_gradient, "No gradient"),
    ("90", "counterexample", (abs, -1, 1, 0), "between 0 and 1"),
    ("90", "counterexample", (abs, -1, 1, 0.5), "not one half"),
    ("90", "counterexample", (abs, -1, "x", 0.4), "a text"),
    ("90", "counterexample", (abs, -1, math.nan, 0.4), "NaN"),
    ("90", "counterexample", (lambda place: 2 * abs(place), -1, 1, 0.4), "steeper than 1"),
    ("90", "counterexample", (lambda place: math.nan, -1, 1, 0.4), "NaN"),
    ("90", "counterexample", (lambda x: abs(x) if abs(x) == 1 else math.nan, -1, 1, 0.4), "NaN"),
    ("90", "counterexample", (lambda place: place, -1, 1, 0.4), "level"),
    ("90", "counterexample", (lambda place: 0.0, -1, 1, 0.4), "within the printed"),
    ("90", "counterexample", (lambda place: 1 / 0, -1, 1, 0.4), "ZeroDivisionError"),
    ("20", "ahead", 0.5, "Give a Config"),
    ("20", "ahead", (None, None, sre2l.Config.teaching(images_per_class=2)), "equal budget"),
    ("50", "frozen", dm.Config.teaching(), "Give a Config"),
    ("50", "frozen", kip.Config.teaching(), "you froze 0%"),
    ("50", "frozen", kip.Config.teaching(corruption=0.69), "you froze 69%"),
    ("50", "frozen", kip.Config.teaching(corruption=0.7, images_per_class=2), "images_per_class"),
    ("50", "frozen", kip.Config.teaching(corruption=0.7, seed=1), "seed"),
    ("50", "frozen", kip.Config.teaching(corruption=0.7, iterations=601), "too long"),
    ("50", "frozen", kip.Config.teaching(corruption=0.7, kernel="conv1"), "too long"),
    ("60", "carry", dd.Config.teaching(images_per_class=2), "images_per_class"),
    ("60", "carry", dd.Config.teaching(epochs=6), "at most N = 5"),
    ("60", "carry", dd.Config.teaching(starts="pretrained"), "fixed or random"),
    ("60", "carry", dd.Config.teaching(starts="random"), "You may spend"),
    ("60", "carry", dd.Config.teaching(initial_rate=1e30, iterations=1), "No images"),
    ("65", "pictures", torch.zeros(3, 1, 16, 16), "must have shape"),
    ("65", "pictures", torch.full((100, 1, 16, 16), torch.nan), "NaN"),
    ("65", "pictures", ddlab.data.load("digits").normalised(slice(100)), "cosine"),
    ("65", "pictures", torch.zeros(100, 1, 16, 16), "correlation"),
    ("65", "pictures", torch.randn(100, 1, 16, 16), "correlation"),
    ("85", "proxy", lambda images, labels: images, "Return two things"),
    ("85", "proxy", lambda images, labels: (images, labels), "floats"),
    ("85", "proxy", lambda images, labels: (images[:5], labels[:5]), "Each of the ten digits"),
    ("85", "proxy", lambda images, labels: (images[:5, 0], labels[:5]), "[n, 1, height, width]"),
    ("85", "proxy", lambda images, labels: (images[:10] / 0, torch.arange(10)), "not finite"),
    ("85", "proxy", lambda images, labels: (["x"], labels), "as tensors"),
]


@pytest.mark.parametrize(("lesson", "key", "answer"), RIGHT)
def test_an_answer_with_the_property_passes(lesson: str, key: str, answer: Any) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        assert_words(ALL[lesson, key](answer))


@pytest.mark.parametrize(("lesson", "key", "answer", "words"), WRONG)
def test_an_answer_without_it_is_told_why(lesson: str, key: str, answer: Any, words: str) -> None:
    assert words in hint_of((lesson, key), answer)


def test_draws_in_an_answer_are_the_same_at_every_try() -> None:
    """So a right answer is right again, and a reader's own draws go on as if nothing had been asked."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert ALL["70", "fair shuffle"](shuffled_within_classes)
    assert torch.equal(torch.get_rng_state(), before)


# -- exercises that train


def blurred_noise(width: int, seed: int) -> Tensor:
    noise = torch.randn(100, 1, 16, 16, generator=torch.Generator().manual_seed(seed))
    return F.avg_pool2d(noise, width, 1, width // 2)


def halves_along_the_first_component(images: Tensor) -> Tensor:
    flat = images.flatten(1)
    centred = flat - flat.mean(0)
    side = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[0] > 0
    return torch.stack([images[side].mean(0), images[~side].mean(0)])


def random_halves(images: Tensor) -> Tensor:
    order = torch.randperm(len(images))
    return torch.stack([half.mean(0) for half in images[order].chunk(2)])


def class_means(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    means = [images[labels == label].mean(0) for label in range(10)]
    return torch.stack(means), torch.arange(10)


def four_small(images: Tensor, labels: Tensor) -> tuple[Any, Any]:
    rows = [row for label in range(10) for row in (labels == label).nonzero()[5:9, 0].tolist()]
    return F.avg_pool2d(images[rows], 2).numpy(), labels[rows].tolist()


TRAINED: dict[str, tuple[str, str, Any, str]] = {
    "class means": ("85", "proxy", class_means, "varied images"),
    "four small images": ("85", "proxy", four_small, ""),
    "a fixed start": ("60", "carry", dd.Config.teaching(epochs=4), "met one start"),
    "few updates": (
        "60",
        "carry",
        dd.Config.teaching(starts="random", networks=8, epochs=5, iterations=25),
        "25 updates are few",
    ),
    "new starts": (
        "60",
        "carry",
        dd.Config.teaching(starts="random", networks=2, epochs=3, iterations=160),
        "",
    ),
    "noise frozen": ("50", "frozen", kip.Config.teaching(corruption=0.7), "the class means"),
    "zeros frozen": (
        "50",
        "frozen",
        kip.Config.teaching(corruption=0.7, corrupted_by="zeros", learn_labels=True),
        "",
    ),
    "one image twice": ("75", "pair", lambda images: images[:1].repeat(2, 1, 1, 1), "are equal"),
    "random halves": ("75", "pair", random_halves, "nearly alike"),
    "the first two": ("75", "pair", lambda images: images[:2], "untypical"),
    "two groups": ("75", "pair", halves_along_the_first_component, ""),
    "3 px, seed 0": ("65", "pictures", blurred_noise(3, 0), ""),
    "3 px, seed 9": ("65", "pictures", blurred_noise(3, 9).numpy(), ""),
    "5 px, seed 1": ("65", "pictures", blurred_noise(5, 1).tolist(), ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_an_answer_that_is_trained_with(name: str) -> None:
    lesson, key, answer, words = TRAINED[name]
    if words:
        assert words in hint_of((lesson, key), answer)
    else:
        assert_words(ALL[lesson, key](answer))
