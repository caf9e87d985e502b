"""The rows that `compare` is asked for, and what it refuses before anything is computed."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import methods as library
from ..core import DDLabError, errors
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods.distillation import distill, preset
from ..runs import Inputs
from ..runs.cache import whole
from ..runs.process import check_call, check_process, needs_teacher
from .students import check_like

RANDOM = "random real images"
Counts = tuple[int, ...]  # images of each class


@dataclass(frozen=True)
class Entry:
    """A row to be computed: a set that was made before, or a method with its Config."""

    distilled: DistilledSet | None = None
    method: Any = None
    settings: Any = None

    @property
    def needs_teacher(self) -> bool:
        """True if the method cannot run without a trained network."""
        return needs_teacher(self.method)

    @property
    def title(self) -> str:
        """The method's usual name."""
        if self.distilled is None:
            name = self.method.NAME
        else:
            name = str(self.distilled.provenance.get("method", "a set"))
        return (library.MODULES.get(name) or (name,))[0]

    @property
    def size(self) -> str:
        """The number of images in words, "" for a method without this setting."""
        if self.distilled is not None:
            return size_text(counts_of(self.distilled))
        count = getattr(self.settings, "images_per_class", None)
        return f"{count} per class" if count else ""

    def check(self, name: str, inputs: Inputs, labels: str) -> None:
        """Refuse what is known to fail, or could not be compared, before anything is computed."""
        data: Any = inputs.data
        if self.distilled is not None:
            check_like(self.distilled, data)
            self.distilled.target(labels)
            check_counts(name, counts_of(self.distilled), data)
            return
        check_call(self.method, self.settings, inputs, teacher_to_come=True)
        if getattr(self.method, "WITHOUT_LABELS", False):
            kinds: tuple[str, ...] = ()
        else:
            kinds = getattr(self.method, "LABELS", (labels,))
        if labels not in kinds:
            listed = ", ".join(map(repr, kinds)) or "none: no class labels"
            errors.fail("labels", f"those that the sets of {name} have ({listed})", labels)
        count = getattr(self.settings, "images_per_class", None)
        if isinstance(count, int):
            check_counts(name, (count,) * data.classes, data)

    def make(self, seed: int, data: ImageData, **options: Any) -> DistilledSet:
        """Return the given set, or distil a new one whose every draw depends on `seed`."""
        if self.distilled is not None:
            return self.distilled
        settings = self.settings
        # A method without draws has no seed, and the same set for every one.
        if any(field.name == "seed" for field in dataclasses.fields(settings)):
            settings = dataclasses.replace(settings, seed=seed)
        return whole(distill(self.method, data, config=settings, progress=False, **options))


def counts_of(distilled: DistilledSet) -> Counts:
    """Return the images of each class; of a set without class labels as evenly as they go."""
    if any(target.kind == "hard" for target in distilled.targets):
        return tuple(distilled.labels.bincount(minlength=distilled.classes).tolist())
    quotient, remainder = divmod(len(distilled), distilled.classes)
    return tuple(quotient + (label < remainder) for label in range(distilled.classes))


def size_text(counts: Counts) -> str:
    """Return "2 per class", or "13 in all" for uneven classes."""
    return f"{counts[0]} per class" if min(counts) == max(counts) else f"{sum(counts)} in all"


def check_counts(name: str, counts: Counts, data: ImageData) -> None:
    """Raise if a set holds more images of a class than there are real ones to compare with."""
    for label, (count, available) in enumerate(
        zip(counts, data.class_counts().tolist(), strict=True)
    ):
        if count > available:
            raise DDLabError(
                f"images per class of {name} must be at most the real ones, to compare with as "
                f"many ({available} of class {data.class_names[label]!r}); given {count}."
            )


def entries_by_name(
    methods: Any, data: ImageData, images_per_class: int, argument: str = "methods"
) -> dict[str, Entry]:
    """Return the rows in order, each under a name that no other row has.

    Args:
        methods: as in `compare`.
        data: chooses the preset of a method that is given by its name alone.
        images_per_class: of methods without a Config of their own.
        argument: what an error calls them.

    Raises:
        DDLabError: no methods, an unknown one, or two of one name.
    """
    if isinstance(methods, Mapping):
        named_methods: list[tuple[Any, Any]] = list(methods.items())
    elif isinstance(methods, Sequence) and not isinstance(methods, str):
        named_methods = [(item if isinstance(item, str) else None, item) for item in methods]
    else:
        named_methods = []
    if not named_methods:
        allowed = (
            "a list of names of methods, Configs or DistilledSets, or a mapping of name to one of "
            "these"
        )
        errors.fail(argument, allowed, methods)
    own_names: list[str | None] = []
    entries = []
    for name, item in named_methods:
        if name is not None:
            name = errors.check_text(f"a name in {argument}", name, empty=False)
        own_names.append(name)
        entries.append(_entry(item, data, images_per_class))
    names = _distinct_names(own_names, entries)
    for name in names:
        if names.count(name) > 1 or name.startswith(RANDOM):
            errors.fail(argument, f"named differently, and not as the baseline ({RANDOM})", name)
    return dict(zip(names, entries, strict=True))


def _distinct_names(own_names: Sequence[str | None], entries: Sequence[Entry]) -> list[str]:
    """Return a name for each row: its own, else the method's.

    Where two rows would share it, the size is added, and where that is not enough a number.
    """
    rows = list(zip(own_names, entries, strict=True))
    short_names = [name or entry.title for name, entry in rows]
    long_names = [
        name or ", ".join(filter(None, (entry.title, entry.size))) for name, entry in rows
    ]
    numbers: Counter[str] = Counter()
    names = []
    for own_name, short, long in zip(own_names, short_names, long_names, strict=True):
        numbers[long] += 1
        name = short if short_names.count(short) == 1 else long
        if own_name is None and long_names.count(name) > 1:
            name = f"{long} ({numbers[long]})"
        names.append(own_name or name)
    return names


def _entry(item: Any, data: ImageData, images_per_class: int) -> Entry:
    """Return the row of one item of `methods`."""
    if isinstance(item, DistilledSet):
        return Entry(distilled=item)
    if isinstance(item, tuple) and len(item) == 2:
        method = library.get(item[0])
        allowed = f"a {method.NAME} Config"
        settings = errors.check_instance("config", item[1], method.Config, allowed)
        return Entry(method=method, settings=settings)
    method = _method_of(type(item))
    if method is not None:
        return Entry(method=method, settings=item)
    method = library.get(item)
    # A bare name means the preset for data of this size, as `distill` takes it.
    settings: Any = preset(method, data)
    if hasattr(settings, "images_per_class"):
        settings = dataclasses.replace(settings, images_per_class=images_per_class)
    return Entry(method=method, settings=settings)


def _method_of(kind: type) -> Any:
    """Return the method whose Config class this is, or None.

    It is a method of ours, one made by `from_loss`, or a reader's module.
    """
    # `from_loss` keeps its method on the Config class; a module is found by the class's name.
    candidates: list[Any] = [getattr(kind, "of_method", None), sys.modules.get(kind.__module__)]
    for method in candidates:
        if getattr(method, "Config", None) is kind:
            # A Config of ours may belong to a process that makes no sets, such as training.
            is_other_process = kind.__module__.startswith("ddlab.") and (
                method.NAME not in library.MODULES
            )
            return None if is_other_process else check_process("method", method)
    return None
