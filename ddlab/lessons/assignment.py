"""What an assignment gives each student: a seed of their own, data drawn with it, and the images of
a paper that does not exist.

No answers stand here: they are in `notebooks/assignments/instructor`.
"""

import hashlib
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F

from ..core import errors, randomness
from ..data import ImageData, load
from ..data.images import normalise
from ..distilled import DistilledSet
from ..methods import selection
from ..methods.distillation import from_images
from ..networks import Network
from ..runs import Inputs, cache
from ..training import supervised

# Draws that a student compares: enough for an interval, few enough for a laptop.
PAIRS = 5
# A million: two of a hundred students share one with a chance of half a percent.
SEEDS = 10**6
KEPT_SHARE = 0.9  # of the training images
Answer = TypeVar("Answer")


def seed_of(student: str) -> int:
    r"""Return the seed that belongs to a student, in 0 to 999,999.

    It is the same on every machine, however the name was typed.

    Args:
        student: what the course knows the student by ("s1234567").

    Raises:
        DDLabError: not a string, or nothing visible in it.

    >>> seed_of("s1234567") == seed_of(" S1234567 ") == seed_of("\uff531234567\u200b")
    True
    """
    name = _visible(student) if isinstance(student, str) else ""
    if not name:
        errors.fail("student", "a string that names the student", student)
    digest = hashlib.sha256(f"ddlab assignment {name.lower()}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % SEEDS


def _visible(name: str) -> str:
    """Return a name as it looks.

    Compatible characters become alike (NFKC), invisible ones go, blanks are single.
    """
    normalised = unicodedata.normalize("NFKC", name)
    # Cf: format characters, such as the zero-width blanks that a copy from a web page brings along.
    visible = "".join(
        character for character in normalised if unicodedata.category(character) != "Cf"
    )
    return " ".join(visible.split())


@dataclass(frozen=True, kw_only=True)
class Case:
    """A dataset in words, for the bill: `channels` x `height` x `width` pixels an image, `classes`
    classes.
    """

    channels: int
    height: int
    width: int
    classes: int


@dataclass(frozen=True)
class Assignment:
    """One student's copy; made by `start`.

    Attributes:
        student: as given.
        seed: `seed_of(student)`; everything below follows from it.
    """

    student: str
    seed: int

    @property
    def pairs(self) -> tuple[int, ...]:
        """Five seeds, one for each pair: of its draw of images and of its students."""
        seeds = [
            randomness.derived_seed(self.seed, number, "assignment pair") for number in range(PAIRS)
        ]
        return tuple(seeds)

    @property
    def case(self) -> Case:
        """The dataset of the bill."""
        draw = randomness.numpy_generator(self.seed, 0, "assignment case")
        size = int(draw.choice([32, 64, 96, 128, 224]))
        classes = int(draw.choice([10, 20, 50, 100, 200, 365, 1000]))
        return Case(channels=3, height=size, width=size, classes=classes)

    @cached_property
    def data(self) -> ImageData:
        """Nine in ten of the digits' training images, drawn for this student.

        Test images and normalisation are those of `ddlab.data.load("digits")` for everybody, so
        that the sets of a class can be ranked on one board.
        """
        digits = load("digits")
        orders = digits.orders_by_class(self.seed, "assignment images")
        rows = (
            torch.cat([order[: round(KEPT_SHARE * len(order))] for order in orders]).sort().values
        )
        return replace(
            digits, train_images=digits.train_images[rows], train_labels=digits.train_labels[rows]
        )

    @property
    def student_config(self) -> supervised.Config:
        """The training of every student, whatever its labels: only one thing is to differ."""
        return supervised.Config.quick(self.data)

    @property
    def teacher(self) -> Network:
        """A small network trained on all of `data`: trained once, then remembered."""
        config = supervised.Config.quick(self.data, "teacher", seed=self.seed)
        return cache.run(supervised, config, Inputs(data=self.data, device="cpu"))

    def set_of(
        self, rule: Callable[[torch.Tensor, int], Sequence[int]], images_per_class: int = 1
    ) -> DistilledSet:
        """Return the images that a selection rule takes from each class, with labels of all three kinds.

        A rule that raises or gives something else than indices is replaced by k-means, so that the
        next task can be done without it; a line says so.

        Args:
            rule: (pixels float32 [n, d] of one class, how many) -> that many indices in 0 to n - 1.
        """
        data = self.data
        chosen = []
        for label in range(data.classes):
            members = data.of_class(label)
            try:
                rows = torch.as_tensor(rule(data.normalised(members).flatten(1), images_per_class))
                chosen.append(members[rows.reshape(images_per_class).long()])
            except Exception as problem:  # whatever a student's function raises
                print(
                    f"Your rule gave no images ({type(problem).__name__}); the k-means "
                    "images take their place."
                )
                config = selection.Config(
                    kind="k_means", images_per_class=images_per_class, seed=self.seed
                )
                return cache.run(
                    selection, config, Inputs(data=data, teachers=(self.teacher,), device="cpu")
                )
        indices = torch.cat(chosen)
        return from_images(data.normalised(indices), data.train_labels[indices], data, self.teacher)

    def random_set(self, seed: int) -> DistilledSet:
        """Draw one random real image of each class with `seed`, with labels of all three kinds."""
        config = selection.Config.teaching(seed=seed)
        return cache.run(
            selection, config, Inputs(data=self.data, teachers=(self.teacher,), device="cpu")
        )

    def crisp_set(self, seed: int) -> DistilledSet:
        """Return the set of the made-up CrispSet paper: the images of `random_set(seed)`,
        sharpened. It has labels of all three kinds.
        """
        real = self.random_set(seed)
        sharpened = normalise(sharpen(real.to_uint8()), self.data.mean, self.data.std)
        return from_images(sharpened, real.labels, self.data, self.teacher)

    def show(self, figure: Any) -> None:
        """Display a figure and, folded below it, what it shows in words."""
        # Here: everything else runs where the packages of notebooks are missing.
        from .lesson import show

        show(figure)


def start(student: str) -> Assignment:
    """Begin: prints whose copy it is and its seed, so that a grader sees both.

    From then on warnings are printed to standard output: nbgrader gives no points to a cell that
    writes to standard error, whatever is right in it.
    """
    mine = Assignment(student, seed_of(student))
    warnings.showwarning = _print_warning
    if type(sys.stdout).__module__.startswith("ipykernel"):
        sys.stderr = sys.stdout  # progress bars and logs, too
    print(
        f"student {_visible(student)}, seed {mine.seed}, torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads"
    )
    return mine


def _print_warning(message: Any, category: type[Warning], *_where: Any) -> None:
    print(f"{category.__name__}: {message}")


def plain(value: Any) -> Any:
    """Return an answer as Python's own numbers, texts, lists and dicts, whatever form it has.

    A tensor of one number is that number, a tuple a list; numbers and texts of a class that a
    student wrote are the plain ones inside.

    Raises:
        DDLabError: something else.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    errors.fail("an answer", "a number, a text, a tensor, or a list or dict of these", value)


def near(value: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    """Return whether an answer is a number, or numbers in the same order, within a tolerance.

    It compares in float64, whatever the answer's form and dtype: an error may be as large as the
    tolerance, or that share of what is expected, if this is above 1.
    """
    given, right = (torch.tensor(plain(side), dtype=torch.float64) for side in (value, expected))
    if given.shape != right.shape:
        return False
    return bool(((given - right).abs() <= tolerance * right.abs().clamp(min=1)).all())


def reached(function: Callable[..., Any], *modules: str) -> list[str]:
    """Return which of these modules a student's function uses, by any name, in it or in its cell.

    Args:
        modules: full names, such as "ddlab.methods", with all that they contain.
    """
    found = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [value for value in code.co_consts if isinstance(value, CodeType)]
        homes = set()
        for name in code.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                is_module = isinstance(value, ModuleType)
                homes.add(value.__name__ if is_module else getattr(value, "__module__", None))
            else:  # an attribute, or what the code itself imports
                homes.add(name)
        for module in modules:
            package, _, part = module.rpartition(".")
            is_inside = any(str(home).startswith(f"{module}.") for home in homes)
            if is_inside or module in homes or {package, part} <= homes:
                found.add(module)
    return sorted(found)


def answer(function: Callable[..., Answer], *arguments: Any) -> Answer | None:
    """Return `function(*arguments)`, or None for the stub that was handed out, and say so."""
    try:
        return function(*arguments)
    except NotImplementedError:
        print(f"{function.__name__}: no answer yet")
        return None


def sharpen(images: torch.Tensor) -> torch.Tensor:
    """Sharpen by an unsharp mask: add to each pixel its difference from the 3 x 3 binomial mean.

    uint8 [n, c, h, w] -> the same.
    """
    errors.check_tensor("images", images, shape=[None] * 4, dtype=torch.uint8)
    pixels = images.float()
    line = torch.tensor([0.25, 0.5, 0.25])
    kernel = (line[:, None] * line).expand(images.shape[1], 1, 3, 3)
    blurred = F.conv2d(
        F.pad(pixels, (1, 1, 1, 1), mode="replicate"), kernel, groups=images.shape[1]
    )
    return (2 * pixels - blurred).round().clamp(0, 255).to(torch.uint8)
