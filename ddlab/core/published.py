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
    config: type[Parameters], table: Mapping[str, Any], requests: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a table sets beside the defaults of a config.

    Args:
        table: `choices` (what is asked for -> what the paper has, the first one by default) and
            `rows`. A row is taken where each value `when` it names is one of those listed, and each
            number is at least that of `least`; a later row replaces what an earlier one says.
        requests: what a caller asks for, by name: fields, and choices that are none.

    Raises:
        DDLabError: a choice that the paper has not got.
    """
    described = describe(config)
    values = {name: description.default for name, description in described.items()} | {**requests}
    for name, allowed in table["choices"].items():
        values[name] = errors.check_choice(name, requests.get(name, allowed[0]), tuple(allowed))
    settings: dict[str, Any] = {}
    for row in table.get("rows", ()):
        is_listed = all(values[name] in listed for name, listed in row.get("when", {}).items())
        is_reached = all(values[name] >= least for name, least in row.get("least", {}).items())
        if is_listed and is_reached:
            settings |= {
                name: value for name, value in row.items() if name not in ("when", "least")
            }
    settings |= {name: values[name] for name in table["choices"] if name in described}
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
        requests = changes if dataset is None else {"dataset": dataset, **changes}
        fields = {
            name: value
            for name, value in changes.items()
            if name in describe(cls) or name not in table["choices"]
        }
        return cls(**fitting(cls, table, requests) | fields)
