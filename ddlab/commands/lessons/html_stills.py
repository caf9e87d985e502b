"""Outputs that need JupyterLab or a kernel, as HTML that needs neither: plotly figures, and widgets as still pictures.

Figures become a place with their JSON and their alt text; the script of the page draws them (`html_page.j2`). Widgets are drawn from
the state that was saved with the notebook: texts, pictures, figures and the values of their controls, under one sentence that says so.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from .html_formulas import mathml

FIGURE = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
INTERACTIVE = "Interactive: run the lesson to use it."

_BOXES = {"VBoxModel": "column", "BoxModel": "row", "HBoxModel": "row", "GridBoxModel": "row"}
# Nothing to read in these once nothing can be pressed or typed.
_SILENT = {"ButtonModel", "TextModel", "TextareaModel", "ColorPickerModel"}
# Up to so many choices are listed; of a slider's many stops only the chosen one is said.
_MOST_CHOICES = 8


def with_stills(notebook: Any) -> Any:
    """The notebook with every figure and widget among its outputs as `text/html`; its widget state is taken away.

    The notebook is changed in place and returned.
    """
    widgets = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if WIDGET in data:
                data["text/html"] = _framed(widget(data.pop(WIDGET)["model_id"], widgets))
            elif FIGURE in data:
                data["text/html"] = figure(json.dumps(data.pop(FIGURE)), "".join(data.get("text/plain", "")))
    return notebook


def figure(content: str, alt: str) -> str:
    """The place of a plotly figure.

    Args:
        content: the figure as JSON text. alt: what it shows in words; stands there until the figure is drawn.
    """
    height = json.loads(content).get("layout", {}).get("height") or 360
    # "</script>" inside the JSON would end it, "<!--<script>" never end; "\u003c" is the same text to JSON.
    script = content.replace("<", "\\u003c")
    said = html.escape(alt)
    return (
        f'<div class="ddlab-figure" role="img" aria-label="{said}" style="min-height:{int(height)}px">'
        f'<script type="application/json">{script}</script><p>{said}</p></div>'
    )


def widget(model_id: str, widgets: Mapping[str, Any]) -> str:
    """A widget and all inside it as still HTML, "" for what cannot be shown.

    Args:
        widgets: model id -> saved model, as in a notebook's widget state.
    """
    model = widgets.get(model_id)
    if model is None or _hidden(model, widgets):
        return ""
    name, state = model["model_name"], model["state"]
    if name in _BOXES:
        inside = "".join(widget(_id(child), widgets) for child in state.get("children", ()))
        return f'<div class="ddlab-{_BOXES[name]}">{inside}</div>' if inside else ""
    if name in ("HTMLModel", "HTMLMathModel"):
        text = state.get("value", "")
        return f"<div>{_with_formulas(text) if name == 'HTMLMathModel' else text}</div>" if text else ""
    if name == "ImageModel":
        return _picture(model)
    if "_figure" in state:  # ddlab.explorers.Plot
        return figure(state["_figure"], state.get("alt", ""))
    if "text" in state:  # ddlab.explorers.live.Sentence
        return f"<p>{html.escape(state['text'])}</p>"
    return "" if name in _SILENT else _control(state)


def _with_formulas(text: str) -> str:
    """The formulas between dollar signs of escaped text as MathML."""
    return re.sub(r"\$([^$]+)\$", lambda found: mathml(html.unescape(found[1])), text)


def _framed(inside: str) -> str:
    return f'<div class="ddlab-still"><p class="ddlab-note">{INTERACTIVE}</p>{inside}</div>'


def _control(state: Mapping[str, Any]) -> str:
    """Name and value of a control; a choice among few lists them all."""
    labels, index, value = state.get("_options_labels"), state.get("index"), state.get("value")
    if labels is not None and len(labels) <= _MOST_CHOICES:
        words = [
            f"<b>{html.escape(label)}</b>" if at == index else html.escape(label) for at, label in enumerate(labels)
        ]
        said = " &nbsp;|&nbsp; ".join(words)
    elif labels is not None:
        said = html.escape(labels[index]) if isinstance(index, int) else ""
    elif isinstance(value, bool):
        said = "yes" if value else "no"
    else:
        said = html.escape(str(value)) if isinstance(value, (int, float, str)) else ""
    name = html.escape(state.get("description") or "")
    return f'<p class="ddlab-control">{name}{": " if name and said else ""}{said}</p>' if said else ""


def _picture(model: Mapping[str, Any]) -> str:
    state = model["state"]
    encoded = next((held["data"] for held in model.get("buffers", ()) if held["path"] == ["value"]), "")
    alt = html.escape(state.get("tooltip") or "")
    kind = html.escape(state.get("format") or "png")
    return f'<img src="data:image/{kind};base64,{encoded.strip()}" alt="{alt}" title="{alt}">' if encoded else ""


def _hidden(model: Mapping[str, Any], widgets: Mapping[str, Any]) -> bool:
    layout = widgets.get(_id(model["state"].get("layout") or ""), {})
    return layout.get("state", {}).get("display") == "none"


def _id(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")
