"""What `compare` is asked for: its rows by name, and what is refused before anything is computed."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import methods as library
from ..core import errors
from ..core.errors import DDLabError
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods.distillation import distill
from ..runs.cache import whole
from ..runs.process import Inputs, check_call, check_process
from .students import check_like

RANDOM = "random real images"
Counts = tuple[int, ...]  # images of each class


@dataclass(frozen=True)
class Entry:
    """A row that is asked for: a set, or a method with its Config."""

    given: DistilledSet | None = None
    method: Any = None
    settings: Any = None

    @property
    def needs_teacher(self) -> bool:
        return bool(getattr(self.method, "NEEDS_TEACHER", False))

    @property
    def title(self) -> str:
        """The method's usual name."""
        name = (
            self.method.NAME
            if self.given is None
            else str(self.given.provenance.get("method", "a set"))
        )
        return (library.MODULES.get(name) or (name,))[0]

    @property
    def size(self) -> str:
        if self.given is not None:
            return size_words(counts_of(self.given))
        return (
            f"{count} per class"
            if (count := getattr(self.settings, "images_per_class", None))
            else ""
        )

    def check(self, name: str, inputs: Inputs, labels: str) -> None:
        """Refuse what is known to fail, or could not be compared, before anything is computed."""
        data: Any = inputs.data
        if self.given is not None:
            check_like(self.given, data)
            self.given.target(labels)
            check_counts(name, counts_of(self.given), data)
            return
        check_call(self.method, self.settings, inputs)
        kinds = (
            ()
            if getattr(self.method, "WITHOUT_LABELS", False)
            else getattr(self.method, "LABELS", (labels,))
        )
        if labels not in kinds:
            known = (
                f"those that the sets of {name} have "
                f"({', '.join(map(repr, kinds)) or 'none: no class numbers'})"
            )
            errors.fail("labels", known, labels)
        count = getattr(self.settings, "images_per_class", None)
        if isinstance(count, int):
            check_counts(name, (count,) * data.classes, data)

    def made(self, seed: int, data: ImageData, **options: Any) -> DistilledSet:
        """Return the set, or a new one whose every draw is of `seed`."""
        if self.given is not None:
            return self.given
        has = any(field.name == "seed" for field in dataclasses.fields(self.settings))
        settings = dataclasses.replace(self.settings, seed=seed) if has else self.settings
        return whole(distill(self.method, data, config=settings, progress=False, **options))


def counts_of(made: DistilledSet) -> Counts:
    """Images of each class; of a set without class numbers as evenly as they go."""
    if any(target.kind == "hard" for target in made.targets):
        return tuple(made.labels.bincount(minlength=made.classes).tolist())
    each, rest = divmod(len(made), made.classes)
    return tuple(each + (label < rest) for label in range(made.classes))


def size_words(counts: Counts) -> str:
    """ "2 per class"; of uneven classes "13 in all"."""
    return f"{counts[0]} per class" if min(counts) == max(counts) else f"{sum(counts)} in all"


def check_counts(name: str, counts: Counts, data: ImageData) -> None:
    """As many random real images as a set holds must be there, or nothing is fair."""
    for label, (count, there) in enumerate(zip(counts, data.class_counts().tolist(), strict=True)):
        if count > there:
            most = (
                f"images per class of {name} must be at most the real ones, to compare with as many"
            )
            raise DDLabError(
                f"{most} ({there} of class {data.class_names[label]!r}); given {count}."
            )


def asked_rows(given: Any, images_per_class: int) -> dict[str, Entry]:
    """Name -> a row."""
    named: list[tuple[Any, Any]] = list(given.items()) if isinstance(given, Mapping) else []
    if isinstance(given, Sequence) and not isinstance(given, str):
        named = [(each if isinstance(each, str) else None, each) for each in given]
    if not named:
        allowed = (
            "a list of names of methods, Configs or DistilledSets, or a mapping of name to one "
            "of these"
        )
        errors.fail("methods", allowed, given)
    names = [
        None if name is None else errors.check_text("a name in methods", name, empty=False)
        for name, _ in named
    ]
    entries = [_entry(each, images_per_class) for _, each in named]
    names = _distinct(names, entries)
    for name in names:
        if names.count(name) > 1 or name.startswith(RANDOM):
            errors.fail("methods", f"named differently, and not as the baseline ({RANDOM})", name)
    return dict(zip(names, entries, strict=True))


def _distinct(names: Sequence[str | None], entries: Sequence[Entry]) -> list[str]:
    """Return the names that were given; else the method's, with its size where that is not enough, and a
    number where that is not.
    """
    titles = [name or entry.title for name, entry in zip(names, entries, strict=True)]
    sized = [
        name or ", ".join(filter(None, (entry.title, entry.size)))
        for name, entry in zip(names, entries, strict=True)
    ]
    numbers = Counter[str]()
    found = []
    for name, title, long in zip(names, titles, sized, strict=True):
        numbers[long] += 1
        short = title if titles.count(title) == 1 else long
        found.append(name or (short if sized.count(short) <= 1 else f"{long} ({numbers[long]})"))
    return found


def _entry(each: Any, images_per_class: int) -> Entry:
    if isinstance(each, DistilledSet):
        return Entry(given=each)
    if isinstance(each, tuple) and len(each) == 2:
        method = library.get(each[0])
        return Entry(
            method=method,
            settings=errors.check_instance(
                "config", each[1], method.Config, f"a {method.NAME} Config"
            ),
        )
    if (method := _method_of(type(each))) is not None:
        return Entry(method=method, settings=each)
    method = library.get(each)
    settings = getattr(method.Config, "teaching", method.Config)()
    if hasattr(settings, "images_per_class"):
        settings = dataclasses.replace(settings, images_per_class=images_per_class)
    return Entry(method=method, settings=settings)


def _method_of(kind: type) -> Any:
    """Whose Config this is: a method of ours, one of `from_loss`, or a reader's module; None if
    nobody's.
    """
    found: list[Any] = [getattr(kind, "of_method", None), sys.modules.get(kind.__module__)]
    for method in found:
        if getattr(method, "Config", None) is kind:
            # Training, say.
            ours = kind.__module__.startswith("ddlab.") and method.NAME not in library.MODULES
            return None if ours else check_process("method", method)
    return None
