"""Names that users give are shown letter by letter: in tables, in what a notebook draws, in figures
and in explorers.
"""

import dataclasses
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ipywidgets")

import ipywidgets as widgets
import plotly.graph_objects as go

import ddlab
from ddlab import explorers
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.evaluation import Architectures, Compared, Comparison, Evaluation, Incremental
from ddlab.methods import sre2l
from ddlab.networks import Network
from ddlab.runs import Run
from tests.contract.material import Material
from tests.contract.test_labs import LABS, declared_classes, settled

SIGNS = "<img src=x onerror=alert(1)>|$x$\n**b** `c`"
NAMES = tuple(f"{SIGNS}{letter}" for letter in "abc")


def strange(data: ImageData) -> ImageData:
    return dataclasses.replace(data, name=SIGNS, class_names=NAMES)


@pytest.fixture
def material(
    grey: ImageData, teacher: Network, distilled: DistilledSet, tmp_path: Path
) -> Material:
    return Material(
        strange(grey),
        dataclasses.replace(teacher, class_names=None),
        dataclasses.replace(distilled, class_names=NAMES),
        tmp_path,
    )


def assert_plain(markup: str) -> None:
    """No tag of the name's own; what is an attribute or text is escaped."""
    assert "<img src=x" not in markup and "onerror=alert(1)>" not in markup, markup


def test_what_a_notebook_draws(material: Material) -> None:
    process = SimpleNamespace(
        **{name: getattr(sre2l, name) for name in vars(sre2l) if name[0] != "_"}
    )
    process.NAME = SIGNS
    run = Run(process, sre2l.SMALL, material.inputs).advance(until=2)
    for drawable in (material.data, material.distilled, run):
        assert_plain(drawable._repr_html_())
        assert "$x$" not in drawable._repr_html_().replace('alt="', "").split("<img")[0], (
            "a formula where MathJax is"
        )


def test_tables(tmp_path: Path) -> None:
    rows = (Compared(name=SIGNS, accuracies=(0.5,), gains=(0.1,)), Compared(name="a", failed=SIGNS))
    evaluation = Evaluation(
        mean=0.5,
        std=None,
        interval=None,
        per_seed={0: 0.5},
        cpu_seconds=0.0,
        labels="hard",
        network=SIGNS,
    )
    phases = Incremental({0: ((0.5,), (0.4, 0.6))}, ((SIGNS,), ("b",)))
    assert (
        phases.records()[2] == {"seed": 0, "phase": 2, "class": "b", "accuracy": 0.6}
        and len(phases.to_pandas()) == 3
    )
    for table in (
        Comparison(rows=rows, labels="hard", seeds=(0,)),
        Architectures({SIGNS: evaluation}),
    ):
        assert (
            table.records()[0]["accuracy"] == 0.5
            and SIGNS in table.to_csv(tmp_path / f"{type(table).__name__}.csv").read_text()
        )
        markup = table._repr_markdown_()
        assert_plain(markup)
        lines = markup.splitlines()
        columns = {line.replace("\\|", "").count("|") for line in lines}
        assert len(columns) == 1 and len(lines) in (3, 4), (
            "a line for each row, a cell for each column"
        )
        assert "\\\\$x\\\\$" in markup and "\\*\\*b\\*\\*" in markup and "\\`c\\`" in markup


def texts(part: Any) -> Iterator[str]:
    """Every text of a figure but its alt text, which a screen reader reads letter by letter."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for name, value in part.items():
            if name != "meta":
                yield from texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from texts(value)


def assert_plain_figure(figure: go.Figure) -> None:
    figure_texts = list(texts(json.loads(str(figure.to_json()))))
    for text in figure_texts:
        assert_plain(text)
        assert "$x$" not in text, "a formula where MathJax is"


def shown_by(widget: Any) -> Iterator[str]:
    """What a browser makes a page of: HTML, figures; texts of other widgets are no markup."""
    if isinstance(widget, (widgets.HTML, widgets.HTMLMath)):
        yield widget.value
    if isinstance(widget, explorers.Plot):
        assert_plain_figure(widget.figure)
    for child in getattr(widget, "children", ()):
        yield from shown_by(child)


def on_data(name: str) -> bool:
    return (
        "data"
        in inspect.signature(
            getattr(declared_classes()[name], "world", declared_classes()[name])
        ).parameters
    )


@pytest.mark.parametrize("name", [*filter(on_data, LABS)])
def test_laboratories(name: str, material: Material) -> None:
    lab = declared_classes()[name](**LABS[name](material), key=SIGNS)
    try:
        settled(lab)
        for markup in shown_by(lab):
            assert_plain(markup)
    finally:
        lab.close()


def test_live_and_predictions(material: Material) -> None:
    process = SimpleNamespace(
        **{name: getattr(sre2l, name) for name in vars(sre2l) if name[0] != "_"}
    )
    process.NAME = SIGNS
    live = explorers.Live(process, material.data, material.teacher, sre2l.SMALL)
    prediction = explorers.Prediction(SIGNS, [*NAMES])
    prediction.choose(NAMES[0])
    prediction.lock()
    live.show_error(ddlab.DDLabError(f"{SIGNS} must be a name; given another."))
    for widget in (live, prediction):
        for markup in shown_by(widget):
            assert_plain(markup)
    live.close()
