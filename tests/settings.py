"""What every setting is unless it is set, and what it may be: fields of configs, presets, arguments of public functions; and which
classes may be changed or compared.

python -m tests.settings     write tests/settings.txt (part of make api)

Tests of a method hold its published numbers to its paper; this list shows a change of any other one in review.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ddlab import networks
from ddlab.core import parameters
from ddlab.core.boundary import Among, Within
from ddlab.core.errors import DDLabError
from tests import public_api

FILE = Path(__file__).with_name("settings.txt")
ROOMS = ("data", "methods", "runs", "training", "evaluation", "theory")
CHOICES: dict[str, tuple[Any, ...]] = {  # of arguments of presets that are no fields
    "dataset": ("cifar10", "cifar100", "tiny-imagenet", "imagenet", "imagenette", "imagewoof"),
    "role": ("student", "teacher"),
    "recipe": ("sre2l", "fadrm", "rded"),
    "images_per_class": (None, 1, 10, 50),
    "budget": (None, 25, 50, 100, 200, 250, 1000, 5000),
    "network": tuple(
        networks.spec(family)
        for family in ("resnet18", "resnet50", "convnet", "vgg11", "mobilenet_v2", "efficientnet_b0")
    ),
}


def text() -> str:
    """The list: a name to a line, what belongs to it below."""
    lines = []
    for name, value in sorted(public_api.callables().items()):
        if name.split(".")[0] in ROOMS:
            config = inspect.isclass(value) and issubclass(value, parameters.Parameters)
            found = [*_fields(value), *_presets(value)] if config else [*_arguments(value)]
            lines += [name, *(f"  {line}" for line in found)] if found else []
    return "\n".join(lines) + "\n"


def _fields(config: Any) -> Iterator[str]:
    """Each field but those that are as in the base."""
    above = parameters.describe(config.__base__)
    empty, silent = parameters.Parameter(default=dataclasses.MISSING), ("name", "type", "help", "symbol", "source")
    for name, described in parameters.describe(config).items():
        if described != above.get(name):
            told = {each.name: getattr(described, each.name) for each in dataclasses.fields(described)}
            kept = [key for key, one in told.items() if key not in silent and one != getattr(empty, key)]
            yield f"{name}: {', '.join(f'{key}={_short(told[key])}' for key in kept)}"


def _presets(config: Any) -> Iterator[str]:
    """What each preset changes, by its own arguments; those that are refused are left out."""
    if any(described.default is dataclasses.MISSING for described in parameters.describe(config).values()):
        return  # a base of configs
    for preset in ("teaching", "paper"):
        method = getattr(config, preset, None)
        if method is None:
            continue
        names = [each.name for each in public_api.parameters(method) if each.name in CHOICES]
        names += ["network"] if "recipe" in names else []
        for values in itertools.product(*(CHOICES[name] for name in names)):
            given = {name: value for name, value in zip(names, values, strict=True) if value is not None}
            try:
                made = method(**given)
            except DDLabError:
                continue
            usual = {name: described.default for name, described in parameters.describe(config).items()}
            changed = [name for name, one in usual.items() if getattr(made, name) != one]
            told = ", ".join(f"{name}={_short(getattr(made, name))}" for name in changed)
            yield f"{preset}({', '.join(map(_short, given.values()))}): {told}"


def _arguments(value: Any) -> Iterator[str]:
    """Of a function or a class: default and bounds of each argument that has any; of a dataclass whether it is more than its fields."""
    if kind := getattr(value, "__dataclass_params__", None):
        yield f"{'frozen' if kind.frozen else 'may change'}, the same {'by its fields' if kind.eq else 'as itself alone'}"
    owner = value.__init__ if inspect.isclass(value) and not dataclasses.is_dataclass(value) else value
    hints = typing.get_type_hints(owner, include_extras=True)
    for argument in public_api.parameters(value):
        extras = getattr(hints.get(argument.name), "__metadata__", ())
        bounds = [_bounds(each) for each in extras if isinstance(each, (Within, Among))]
        plain = isinstance(argument.default, (bool, int, float, tuple))
        if bounds or plain:
            yield " ".join([argument.name, *bounds, *([f"= {_short(argument.default)}"] if plain else [])])


def _bounds(extra: Within | Among) -> str:
    if isinstance(extra, Among):
        return f"of {_short(extra.choices)}"
    # typing keeps one of two equal annotations, so 1000 may come as another module's 1000.0.
    low, high = (end if end is None else f"{end:.12g}" for end in (extra.low, extra.high))
    return f"in {'(' if extra.open_low else '['}{low}, {high}]"


def _short(value: Any) -> str:
    return f"{value.family}({value.options.to_string()})" if isinstance(value, networks.NetworkSpec) else repr(value)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
