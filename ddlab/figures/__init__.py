"""Figures: pure functions of arrays and names that return a plotly figure, or PNG bytes for a grid
of images.

No widgets and no training. Every figure has a title, labelled axes and an alt text in
`figure.layout.meta["alt"]` (read it with `alt_text`). Figures are light; the plot widget changes
their colours in the browser when the page is dark.
"""

from ..core import listing, needs_lab

needs_lab("ddlab.figures", "plotly")

from .comparison import add_reference, bars, comparison, grouped_comparison
from .curves import loss_curves
from .decisions import decision_map, move_decisions
from .images import encode_grid, encode_png, grid_alt, image_grid
from .labels import cell_table, label_matrix
from .landscape import landscape
from .panels import image_panels
from .scatter import Point, scatter
from .sets import one_class, sets_on_map
from .sweeps import heat_map, sweep_bands
from .theme import alt_text, finish_figure, line_style, series_style, start_figure
from .tried import tried_settings

__all__ = [
    "Point",
    "add_reference",
    "alt_text",
    "bars",
    "cell_table",
    "comparison",
    "decision_map",
    "encode_grid",
    "encode_png",
    "finish_figure",
    "grid_alt",
    "grouped_comparison",
    "heat_map",
    "image_grid",
    "image_panels",
    "label_matrix",
    "landscape",
    "line_style",
    "loss_curves",
    "move_decisions",
    "one_class",
    "scatter",
    "series_style",
    "sets_on_map",
    "start_figure",
    "sweep_bands",
    "tried_settings",
]
__dir__ = listing(__all__)
