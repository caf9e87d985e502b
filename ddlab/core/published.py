"""Read the papers' settings from `ddlab/published.toml`, where their sources stand beside them."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from . import errors
from .parameters import Parameters, describe

_FILE = Path(__file__).parents[1] / "published.toml"


@functools.cache
def tables() -> dict[str, Any]:
    """Return the whole file: module -> its table."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def fitting(
    config: type[Parameters], table: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a table sets beside the defaults of a config.

    Args:
        table: `choices` (what is asked for -> what the paper has, the first one by default) and
            `rows`. A row is taken where each value `when` it names is one of those listed, and each
            number is at least that of `least`; a later row replaces what an earlier one says.
        given: what a caller asks for, by name: fields, and choices that are none.

    Raises:
        DDLabError: a choice that the paper has not got.
    """
    described = describe(config)
    asked = {name: description.default for name, description in described.items()} | dict(given)
    for name, allowed in table["choices"].items():
        asked[name] = errors.check_choice(name, given.get(name, allowed[0]), tuple(allowed))
    settings: dict[str, Any] = {}
    for row in table.get("rows", ()):
        when, least = row.get("when", {}), row.get("least", {})
        if all(asked[name] in values for name, values in when.items()) and all(
            asked[name] >= value for name, value in least.items()
        ):
            settings |= {
                name: value for name, value in row.items() if name not in ("when", "least")
            }
    settings |= {name: asked[name] for name in table["choices"] if name in described}
    # A nested config, such as a network, stands there as a table.
    restored = {name: getattr(described[name].type, "from_dict", None) for name in settings}
    return {
        name: restore(settings[name]) if restore else settings[name]
        for name, restore in restored.items()
    }


class Published(Parameters):
    """A config with the settings that a paper printed, or that its authors' code has."""

    @classmethod
    def paper(cls, dataset: str | None = None, **changes: Any) -> Self:
        """Return the published settings, but for what a caller changes.

        Args:
            dataset: such as "cifar10"; default the first one of the table.
            changes: fields with other values, and choices of the table: Boost's `budget`.

        Raises:
            DDLabError: what the paper has not got, or values that are not allowed.
        """
        modules = (owner.__module__.rpartition(".")[2] for owner in cls.__mro__)
        table = tables()[next(module for module in modules if module in tables())]
        given = changes if dataset is None else {"dataset": dataset, **changes}
        fields = {
            name: value
            for name, value in changes.items()
            if name in describe(cls) or name not in table["choices"]
        }
        return cls(**fitting(cls, table, given) | fields)
