"""The sweeps by name. A lesson's stand in its folder, in `SWEEPS` of `sweep.py`."""

from __future__ import annotations

from collections.abc import Mapping

from ..core import errors
from ..core.registry import Registry, in_folders
from .sweep import Place, Point, Sweep

_LESSONS = f"{__name__.partition('.')[0]}.lessons"
SWEEPS: Mapping[str, Sweep] = Registry(
    lambda: {sweep.name: sweep for module in in_folders(_LESSONS, "sweep") for sweep in module.SWEEPS}
)


def run_point(name: str, point: Point, place: Place | None = None) -> dict[str, float]:
    """One point of a record, computed here and now, for comparison with its row.

    Args:
        name: of the record. point: the columns of its setting (`SWEEPS[name].settings`).
        place: device and images; default the CPU and the record's own images.

    Raises:
        DDLabError: an unknown record, or a point with other columns.
    """
    return SWEEPS[errors.check_choice("name", name, tuple(SWEEPS))].measure(point, place)
