"""The public names of a room, for TAB and `dir`, and what to install for one that needs more."""

import importlib.util
from collections.abc import Callable, Iterable


def listing(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module: `__dir__ = listing(__all__)`."""
    return lambda: sorted(names)


def needs_lab(room: str, *packages: str) -> None:
    """Say how to install what a room is drawn with.

    Raises:
        ModuleNotFoundError: one of the packages is not there.
    """
    # `find_spec` looks without importing: plotly alone takes most of a second.
    for package in packages:
        if importlib.util.find_spec(package) is None:
            words = (
                f"{room} must have {package}, which comes with pip install '.[lab]' in a clone of "
                "ddlab; given none."
            )
            raise ModuleNotFoundError(words, name=package)
