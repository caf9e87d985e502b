"""Figures and explorers as HTML that needs neither JupyterLab nor a kernel.

Figures become a place with their JSON and their alt text; the script of the page draws them (`html_page.js`). Explorers are drawn from
the widget state that was saved with the notebook: texts, pictures, figures and the values of their controls. Where something was recorded
along a control (`explorers.recording`) that control is alive: what changes with it is a slot, and the script of the page fills the slots.
"""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from .html_formulas import mathml

INTERACTIVE = "Interactive: run the lesson to use it."

_BOXES = {"VBoxModel": "column", "BoxModel": "row", "HBoxModel": "line", "GridBoxModel": "row"}
# Nothing to read in these once nothing can be pressed or typed.
_SILENT = {"ButtonModel", "ToggleButtonModel", "TextModel", "TextareaModel", "ColorPickerModel", "FloatProgressModel"}
_SLIDERS = {"SelectionSliderModel", "IntSliderModel", "FloatSliderModel"}
# Up to so many choices are listed; of a slider's many stops only the chosen one is said.
_MOST_CHOICES = 8
_SMALL = 4000  # bytes of a picture


def figure(content: str, alt: str, *, cursor: float | None = None) -> str:
    """The place of a plotly figure.

    Args:
        content: the figure as JSON text. alt: what it shows in words; stands there until the figure is drawn.
        cursor: where a vertical line stands.
    """
    line = "" if cursor is None else f' data-cursor="{cursor:g}"'
    return _place(json.loads(content), alt, line, f'<script type="application/json">{_in_script(content)}</script>')


def explorer(model_id: str, widgets: Mapping[str, Any], recording: Mapping[str, Any] | None = None) -> str:
    """An explorer and all inside it, under a sentence that says what of it can be moved.

    Args:
        widgets: model id -> saved model, as in a notebook's widget state. recording: of this explorer.
    """
    drawing = _Drawing(widgets, recording)
    inside = drawing.draw(model_id)
    return (
        f'<div class="ddlab-still"><p class="ddlab-note">{drawing.note()}</p>{drawing.unplaced()}{inside}'
        f"{drawing.script()}</div>"
    )


class _Drawing:
    """The HTML of one explorer, from its widgets at each combination of its recorded controls; of a still there is one."""

    def __init__(self, widgets: Mapping[str, Any], recording: Mapping[str, Any] | None) -> None:
        self.controls: Sequence[Mapping[str, Any]] = () if recording is None else recording["controls"]
        changes = {} if recording is None else recording["changes"]
        combinations = list(product(*(range(len(control["labels"])) for control in self.controls)))
        self.views = [_view(widgets, changes, number) for number in range(len(combinations))]
        self.at = combinations.index(tuple(control["at"] for control in self.controls))
        self._numbers = {control["model"]: number for number, control in enumerate(self.controls)}
        self._placed: set[str] = set()
        self._slots: list[dict[str, Any]] = []
        self._texts: dict[str, int] = {}

    def draw(self, model_id: str, *, folded: bool = False) -> str:
        """A widget and all inside it, "" for what cannot be shown. folded: it is drawn although it is hidden."""
        models = [view.get(model_id) for view in self.views]
        if not folded:
            models = [
                None if model is None or _hidden(model, view) else model
                for model, view in zip(models, self.views, strict=True)
            ]
        first = models[self.at] or next(filter(None, models), None)
        if first is None:
            return ""
        if model_id in self._numbers:
            return self._control(model_id)
        if first["model_name"] in _BOXES:
            return self._box(first, models)
        contents = [None if model is None else _content(model) for model in models]
        shown = contents[self.at] or next(filter(None, contents), None)
        if shown is None:
            return ""
        return _element(shown, self._mark(contents))

    def note(self) -> str:
        """What can be moved here."""
        if not self.controls:
            return INTERACTIVE
        return f"Alive on this page: {'; '.join(map(_reach, self.controls))}. Run the lesson for everything else."

    def unplaced(self) -> str:
        """The controls that stand where nothing is shown."""
        return "".join(self._control(model_id) for model_id in self._numbers if model_id not in self._placed)

    def script(self) -> str:
        """What the slots hold at each combination of the controls, as JSON."""
        if not self.controls:
            return ""
        counts = [len(control["labels"]) for control in self.controls]
        content = json.dumps({"counts": counts, "slots": self._slots, "texts": list(self._texts)})
        return f'<script type="application/json" class="ddlab-recording">{_in_script(content)}</script>'

    def _box(self, first: Mapping[str, Any], models: Sequence[Any]) -> str:
        children = dict.fromkeys(
            _id(child) for model in models if model for child in model["state"].get("children", ())
        )
        own = [name for name in first["state"].get("_dom_classes", ()) if name.startswith("ddlab-")]
        if "ddlab-tabs" in own:
            inside = self._tabs(*children)
        else:
            inside = "".join(map(self.draw, children))
        if not inside:
            return ""
        mark = self._mark([None if model is None else {} for model in models])
        names = " ".join([f"ddlab-{_BOXES[first['model_name']]}", *own])
        return f'<div class="{names}"{mark}>{inside}</div>'

    def _tabs(self, buttons: str, *tabs: str) -> str:
        """Each below a line that opens it: the first is open."""
        titles = self.views[self.at][buttons]["state"]["_options_labels"]
        return "".join(
            f"<details{' open' if not number else ''}><summary>{html.escape(title)}</summary>"
            f"{self.draw(tab, folded=True)}</details>"
            for number, (title, tab) in enumerate(zip(titles, tabs, strict=True))
        )

    def _control(self, model_id: str) -> str:
        """A control that is alive: the browser's own slider or list, so that keyboard and screen reader know it."""
        self._placed.add(model_id)
        number = self._numbers[model_id]
        control, at = self.controls[number], self.controls[number]["at"]
        labels = [html.escape(label) for label in control["labels"]]
        common = f'data-control="{number}" autocomplete="off" disabled'
        if self.views[self.at][model_id]["model_name"] in _SLIDERS:
            words = html.escape(json.dumps(control["labels"]))
            moved = (
                f'<input type="range" min="0" max="{len(labels) - 1}" value="{at}" aria-valuetext="{labels[at]}" '
                f'data-labels="{words}" {common}><output>{labels[at]}</output>'
            )
        else:
            options = (
                f"<option{' selected' if place == at else ''}>{label}</option>" for place, label in enumerate(labels)
            )
            moved = f"<select {common}>{''.join(options)}</select>"
        return f'<label class="ddlab-control ddlab-moves"><span>{html.escape(_name(control))}</span> {moved}</label>'

    def _mark(self, contents: Sequence[Any]) -> str:
        """The attributes of an element with these contents, one for each combination; None where it is hidden."""
        distinct: dict[str, int] = {}
        at = [
            None
            if content is None
            else distinct.setdefault(json.dumps(self._pooled(content), sort_keys=True), len(distinct))
            for content in contents
        ]
        if len(set(at)) == 1:
            return ""
        self._slots.append({"at": at, "contents": [json.loads(text) for text in distinct]})
        return f' data-slot="{len(self._slots) - 1}"{" hidden" if at[self.at] is None else ""}'

    def _pooled(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """With a figure as the numbers of its parts: traces that stay the same are written once."""
        if "figure" not in content or len(self.views) == 1:
            return content
        drawn = json.loads(content["figure"])
        parts = [json.dumps(part, separators=(",", ":")) for part in (drawn["layout"], *drawn["data"])]
        return {**content, "figure": [self._texts.setdefault(part, len(self._texts)) for part in parts]}


def _view(widgets: Mapping[str, Any], changes: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The widgets at one combination: as saved, and what is recorded for it."""
    view = dict(widgets)
    for model_id, traits in changes.items():
        found = {
            name: column["values"][column["at"][number]]
            for name, column in traits.items()
            if column["at"][number] is not None
        }
        if len(found) < len(traits):
            view.pop(model_id, None)
            continue
        saved = widgets.get(model_id, {})
        state = {**saved.get("state", {}), **found}
        view[model_id] = {"model_name": state.get("_model_name"), **saved, "state": state}
    return view


def _content(model: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a widget shows: HTML, a text, a picture or a figure; None where it is nothing to read."""
    name, state = model["model_name"], model["state"]
    if name in ("HTMLModel", "HTMLMathModel"):
        text = state.get("value", "")
        return {"html": _with_formulas(text) if name == "HTMLMathModel" else text} if text else None
    if name == "ImageModel":
        return _picture(model)
    if "_figure" in state:  # ddlab.explorers.Plot
        return {"figure": state["_figure"], "alt": state.get("alt", ""), "cursor": state.get("cursor")}
    if "text" in state:  # ddlab.explorers.live.Sentence
        return {"text": state["text"]}
    said = "" if name in _SILENT else _value(state)
    return {"control": said} if said else None


def _element(content: Mapping[str, Any], mark: str = "") -> str:
    """A content on the page; `mark` are attributes of a slot."""
    if "figure" in content:
        if mark:
            return _place(json.loads(content["figure"]), content["alt"], mark)
        return figure(content["figure"], content["alt"], cursor=content["cursor"])
    if "src" in content:
        alt = html.escape(content["alt"])
        return f'<img src="{content["src"]}" alt="{alt}" title="{alt}"{mark}>'
    if "text" in content:
        return f"<p{mark}>{html.escape(content['text'])}</p>"
    if "control" in content:
        return f'<p class="ddlab-control"{mark}>{content["control"]}</p>'
    return f"<div{mark}>{content['html']}</div>"


def _place(drawn: Mapping[str, Any], alt: str, mark: str = "", inside: str = "") -> str:
    said, height = html.escape(alt), int(drawn.get("layout", {}).get("height") or 360)
    return (
        f'<div class="ddlab-figure" role="img" aria-label="{said}" style="min-height:{height}px"{mark}>'
        f"{inside}<p>{said}</p></div>"
    )


def _in_script(content: str) -> str:
    # "</script>" inside the JSON would end it, "<!--<script>" never end; "\u003c" is the same text to JSON.
    return content.replace("<", "\\u003c")


def _with_formulas(text: str) -> str:
    """The formulas between dollar signs of escaped text as MathML."""
    return re.sub(r"\$([^$]+)\$", lambda found: mathml(html.unescape(found[1])), text)


def _name(control: Mapping[str, Any]) -> str:
    return control["name"] or "show"


def _reach(control: Mapping[str, Any]) -> str:
    """ "scale, at 5 of its 12 values (1, 2, 4, 8, 16)"."""
    labels, name = control["labels"], html.escape(_name(control))
    listed = ", ".join(labels) if len(labels) <= _MOST_CHOICES else f"{labels[0]} to {labels[-1]}"
    part = f"at {len(labels)} of its {control['of']} values" if len(labels) < control["of"] else "at all its values"
    return f"<b>{name}</b>, {part} ({html.escape(listed)})"


def _value(state: Mapping[str, Any]) -> str:
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
    return f"{name}{': ' if name and said else ''}{said}" if said else ""


def _picture(model: Mapping[str, Any]) -> dict[str, Any] | None:
    state = model["state"]
    saved = next((held["data"] for held in model.get("buffers", ()) if held["path"] == ["value"]), "")
    encoded = (state.get("value") or saved).strip()
    if not encoded:
        return None
    kind = state.get("format") or "png"
    kind, encoded = _smaller(encoded) if kind == "png" else (html.escape(kind), encoded)
    return {"src": f"data:image/{kind};base64,{encoded}", "alt": state.get("tooltip") or ""}


@lru_cache(maxsize=1024)
def _smaller(encoded: str) -> tuple[str, str]:
    """A PNG in base64 as WebP, every pixel that is seen the same: a third of what was encoded in a hurry. Small ones stay."""
    from PIL import Image

    if len(encoded) < _SMALL:
        return "png", encoded
    written = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(encoded))).save(written, "WEBP", lossless=True, quality=50)
    return "webp", base64.b64encode(written.getvalue()).decode()


def _hidden(model: Mapping[str, Any], widgets: Mapping[str, Any]) -> bool:
    layout = widgets.get(_id(model["state"].get("layout") or ""), {})
    return layout.get("state", {}).get("display") == "none"


def _id(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")
