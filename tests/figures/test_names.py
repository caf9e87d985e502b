"""Names of a reader's own, such as those of classes, are shown letter by letter: plotly reads `<b>`
as markup, and so might a page.
"""

import json
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from ddlab import figures

NAMES = ["<b>x</b>", "<!--<script>", "R&amp;B", "a|b", "$c$", "d\ne"]
ESCAPED = [
    "&lt;b&gt;x&lt;/b&gt;",
    "&lt;!--&lt;script&gt;",
    "R&amp;amp;B",
    "a|b",
    "&#36;c&#36;",
    "d e",
]
PIXELS = np.zeros((6, 8, 8), np.uint8)
PLANE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [1.0, 2.0]]
CURVES = {name: [0.1, 0.2] for name in NAMES}
FIGURES: dict[str, Callable[[], go.Figure]] = {
    "label_matrix": lambda: figures.label_matrix(np.eye(6), NAMES, NAMES),
    "cell_table": lambda: figures.cell_table(
        np.eye(6)[:1], NAMES, [" ".join(NAMES)], title="t", x_label="x", y_label="y"
    ),
    "heat_map": lambda: figures.heat_map(NAMES, NAMES, np.eye(6), row_label="x", column_label="y"),
    "bars": lambda: figures.bars(NAMES, [1, 2, 3, 4, 5, 6], title="t", y_label="y"),
    "comparison": lambda: figures.comparison({name: [1] for name in NAMES}),
    "image_grid": lambda: figures.image_grid(PIXELS, 1, title="t", row_labels=NAMES),
    "image_grid, columns": lambda: figures.image_grid(PIXELS, title="t", column_labels=NAMES),
    "image_panels": lambda: figures.image_panels({"a": PIXELS}, 1, title="t", row_labels=NAMES),
    "scatter": lambda: figures.scatter(
        {name: figures.Point(x=at, y=at, family=name) for at, name in enumerate(NAMES)},
        title="t",
        x_label="x",
        y_label="y",
    ),
    "one_class": lambda: figures.one_class(
        {"a": (PIXELS, [0, 1, 2, 3, 4, 5])}, 1, class_name=" ".join(NAMES)
    ),
    "sets_on_map": lambda: figures.sets_on_map(
        PLANE, {"a": PLANE}, set_classes={"a": NAMES}, title=f"a of {len(NAMES)}"
    ),
    "sets_on_map, names": lambda: figures.sets_on_map(
        PLANE, dict.fromkeys(NAMES, PLANE), title="t"
    ),
    "loss_curves": lambda: figures.loss_curves(CURVES),
    "sweep_bands": lambda: figures.sweep_bands(
        [1, 2], {name: [[0.1, 0.2]] for name in NAMES}, x_label="x"
    ),
    "grouped_comparison": lambda: figures.grouped_comparison(
        {name: {"a": [0.5], "b": [0.4]} for name in NAMES}
    ),
    "image_panels, names": lambda: figures.image_panels(dict.fromkeys(NAMES, PIXELS), 1, title="t"),
    "a title": lambda: figures.bars(["a"], [1], title=" ".join(NAMES), y_label=" ".join(NAMES)),
    "a reference": lambda: figures.add_reference(
        figures.loss_curves({"a": [1, 2]}), " ".join(NAMES), 1.0
    ),
}


@pytest.mark.parametrize("case", FIGURES)
def test_names_are_no_markup(case: str) -> None:
    figure = FIGURES[case]()
    content = json.loads(str(figure.to_json()))
    alt = content["layout"].pop("meta")["alt"]
    text = json.dumps(content)
    for name, escaped in zip(NAMES, ESCAPED, strict=True):
        assert escaped in text and (
            escaped == name or json.dumps(name)[1:-1] not in text.replace(escaped, "")
        ), name
        assert " ".join(name.split()) in alt or case not in (
            "bars",
            "comparison",
            "cell_table",
            "image_grid",
        )
    assert "&lt;" not in alt and "&amp;amp;" not in alt
