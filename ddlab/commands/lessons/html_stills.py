"""A notebook's outputs that need JupyterLab or a kernel, as HTML that needs neither; how much of what was recorded a page can hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from .html_explorers import explorer, figure

FIGURE = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"

_MOST = 5_000_000  # bytes of all explorers of a page


def with_stills(notebook: Any, recordings: Sequence[Mapping[str, Any]] = ()) -> Any:
    """The notebook with every figure and widget among its outputs as `text/html`; its widget state is taken away.

    The notebook is changed in place and returned.

    Args:
        recordings: of its explorers, as `explorers.recording.recordings` returns them.
    """
    widgets = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    on_page = {data[WIDGET]["model_id"] for data in shown if WIDGET in data}
    recorded = {one["explorer"]: one for one in recordings if "changes" in one and one["explorer"] in on_page}
    drawn = _drawn(recorded, widgets)
    for data in shown:
        if WIDGET in data:
            model_id = data.pop(WIDGET)["model_id"]
            data["text/html"] = drawn.get(model_id) or explorer(model_id, widgets)
        elif FIGURE in data:
            data["text/html"] = figure(json.dumps(data.pop(FIGURE)), "".join(data.get("text/plain", "")))
    return notebook


def _drawn(recorded: Mapping[str, Any], widgets: Mapping[str, Any]) -> dict[str, str]:
    """The recorded explorers. Where all are too much for a page, the largest lose every second value of their first control."""
    drawn = {model_id: explorer(model_id, widgets, recording) for model_id, recording in recorded.items()}
    thinner = dict(recorded)
    while sum(map(len, drawn.values())) > _MOST:
        model_id = max(drawn, key=lambda each: len(drawn[each]))
        if len(thinner[model_id]["controls"][0]["labels"]) < 4:
            break
        thinner[model_id] = _thinned(thinner[model_id])
        drawn[model_id] = explorer(model_id, widgets, thinner[model_id])
    return drawn


def _thinned(recording: Mapping[str, Any]) -> dict[str, Any]:
    """A recording with every second value of its first control; that at which it stands stays."""
    first, *others = recording["controls"]
    kept = range(first["at"] % 2, len(first["labels"]), 2)
    each = math.prod(len(control["labels"]) for control in others)
    places = [place * each + rest for place in kept for rest in range(each)]
    labels = [first["labels"][place] for place in kept]
    changes = {
        model_id: {
            trait: {**column, "at": [column["at"][place] for place in places]} for trait, column in traits.items()
        }
        for model_id, traits in recording["changes"].items()
    }
    return {
        **recording,
        "controls": [{**first, "labels": labels, "at": kept.index(first["at"])}, *others],
        "changes": changes,
    }
