"""Right arguments for what is seen: figures, and the widgets of explorers."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets
import numpy as np
import torch

from ddlab import figures
from ddlab.distilled.storage_budget import Factorised
from ddlab.explorers import Explorer
from ddlab.figures import pipelines
from ddlab.lessons.claims_on_trial.trial_card import Shown, Trial
from ddlab.methods import selection, sre2l
from ddlab.runs import Frame, Number, Run
from tests.storm.good import Good

PIXELS = np.zeros((4, 1, 8, 8), np.uint8)
NAMES = ["one", "two"]


def _figure() -> Any:
    return figures.start_figure(title="Title", x_label="x", y_label="y")


def _trial() -> dict[str, Any]:
    return {
        "key": "R0", "source": "Paper, eq 1", "statement": "$1 < 2$", "parameters": selection.Config, "verdict": "holds when ...",
        "show": lambda view: Shown(figure=_figure(), sentence="One.", holds=True), "right": "$2 > 1$", "reason": "So.",
        "when": "$n > 1$", "record": ("R0: holds",),
    }  # fmt: skip


def _three() -> dict[str, Any]:
    return {"names": NAMES, "means": [0.2, 0.3], "lows": [0.1, 0.2], "highs": [0.3, 0.4]}


BOXES = [figures.Box("a", "images", (0, 0), "images"), figures.Box("b", "loss", (1, 0), "loss")]

VIEWS: dict[str, Good] = {
    "figures.Box": Good(lambda g: {"name": "a", "words": "images", "place": (0, 0), "kind": "images"}),
    "figures.Arrow": Good(lambda g: {"start": "a", "end": "b", "words": "", "gradient": False}),
    "figures.Pipeline": Good(
        lambda g: {"title": "T", "boxes": BOXES, "arrows": [figures.Arrow("a", "b")], "alt": "Two boxes."}
    ),
    "figures.pipeline": Good(lambda g: {"drawing": pipelines.SRE2L, "running": "recover"}),
    "explorers.Quest": Good(lambda g: {"words": "Reach it.", "met": lambda world, settings, known: False}),
    "explorers.QuestLine": Good(lambda g: {"words": "Reach it."}),
    "figures.add_reference": Good(lambda g: {"figure": _figure(), "name": "chance", "value": 0.1}),
    "figures.alt_text": Good(lambda g: {"figure": _figure()}),
    "figures.image_panels": Good(
        lambda g: {
            "panels": {"a": PIXELS, "b": PIXELS},
            "columns": 2,
            "title": "Title",
            "row_labels": NAMES,
            "scale": 2,
        }
    ),
    "figures.bars": Good(
        lambda g: {"names": NAMES, "values": [1.0, 2.0], "title": "Title", "y_label": "y", "reference": ("chance", 0.5)}
    ),
    "figures.cell_table": Good(
        lambda g: {
            "values": [[0.1, 0.2], [0.3, float("nan")]],
            "column_names": NAMES,
            "row_names": NAMES,
            "title": "Title",
            "x_label": "x",
            "y_label": "y",
        },
    ),
    "figures.comparison": Good(lambda g: {**_three(), "seeds": [[0.1, 0.3], [0.3]], "reference": ("chance", 0.5)}),
    "figures.grouped_comparison": Good(
        lambda g: {"names": NAMES, "groups": {"a": ([0.2, 0.3], [0.1, 0.2], [0.3, 0.4])}, "reference": ("chance", 0.5)}
    ),
    "figures.encode_grid": Good(
        lambda g: {"images": PIXELS, "columns": 2, "scale": 3, "row_labels": NAMES, "column_labels": NAMES, "gap": 2}
    ),
    "figures.encode_png": Good(lambda g: {"pixels": np.zeros((4, 5, 3), np.uint8), "level": 1}),
    "figures.finish_figure": Good(lambda g: {"figure": _figure(), "alt": "What it shows."}),
    "figures.gap_curves": Good(
        lambda g: {"mean_gap": np.ones((3, 2)), "variance_gap": np.ones((3, 2)), "steps": [1, 2, 3], "layers": NAMES}
    ),
    "figures.gap_curves:totals": Good(lambda g: {"mean_gap": [1.0, 2.0], "variance_gap": [1.0, 2.0]}),
    "figures.grid_alt": Good(
        lambda g: {"count": 4, "rows": 2, "columns": 2, "title": "Title", "row_labels": NAMES, "column_labels": NAMES}
    ),
    "figures.image_grid": Good(
        lambda g: {
            "images": PIXELS,
            "columns": 2,
            "title": "Title",
            "row_labels": NAMES,
            "column_labels": NAMES,
            "scale": 2,
        }
    ),
    "figures.label_matrix": Good(
        lambda g: {"probabilities": [[1.0, 0.0], [0.3, 0.7]], "class_names": NAMES, "image_names": NAMES}
    ),
    "figures.line_style": Good(lambda g: {"style": figures.series_style(0)}),
    "figures.loss_curves": Good(
        lambda g: {"series": {"loss": [2.0, 1.0]}, "steps": [1, 2], "bands": {"loss": ([1.0, 0.5], [3.0, 2.0])}}
    ),
    "figures.recolour": Good(lambda g: {"text": "#0072B2", "source": "light", "target": "dark"}),
    "figures.start_figure": Good(lambda g: {"title": "Title", "x_label": "x", "y_label": "y"}),
    "explorers.Controls": Good(
        lambda g: {"config": g.recovery, "names": ["iterations", "lambda_var"], "labels": {"iterations": "n"}}
    ),
    "explorers.controls": Good(
        lambda g: {"config": g.recovery, "names": ["iterations", "lambda_var"], "labels": {"iterations": "n"}}
    ),
    "explorers.Explorer": Good(lambda g: {"title": "Title", "controls": [widgets.HTML()], "views": [widgets.HTML()]}),
    "figures.basis_grid": Good(lambda g: {"bases": g.tensor(4, 1, 6, 6), "columns": 2, "most": 3, "scale": 2}),
    "figures.basis_pixels": Good(lambda g: {"bases": g.tensor(4, 1, 6, 6)}),
    "figures.spectrum_curve": Good(lambda g: {"spectra": {"a": [3.0, 1.0], "b": [2.0, 0.5]}, "share": 0.9}),
    "figures.reconstruction_error_curve": Good(
        lambda g: {"curves": {"a": [0.5, 0.25]}, "chosen": 2, "references": {"scaling": 0.1}}
    ),
    "figures.storage_bill": Good(
        lambda g: {"bills": {"bases": Factorised().bill(3), "plain": {"images": 300}}, "budget": ("100 images", 307200)}
    ),
    "figures.classes_on_map": Good(lambda g: {"classes": {"a": [[0.0, 1.0], [1.0, 2.0]], "b": [[3.0, 1.0]]}}),
    "explorers.Live": Good(
        lambda g: {
            "method": "sre2l",
            "data": g.data,
            "teacher": g.teacher,
            "config": g.recovery,
            "first": ["lambda_var"],
        }
    ),
    "explorers.Picture": Good(lambda g: {"encoded": figures.encode_grid(PIXELS), "alt": "Four images."}),
    "explorers.Plot": Good(lambda g: {"figure": _figure(), "announce": False, "cursor": 1.0}),
    "explorers.Prediction": Good(lambda g: {"question": "Which?", "choices": ["one", "other"]}),
    "lessons.claims_on_trial.trial_card.Trial": Good(lambda g: _trial()),
    "lessons.claims_on_trial.trial_card.TrialCard": Good(
        lambda g: {"trial": Trial(**_trial()), "settings": "images_per_class=2", "key": "storm"}
    ),
    "explorers.Scrubber": Good(
        lambda g: {
            "frames": [Frame(1, figures.encode_grid(PIXELS))],
            "curve": _figure(),
            "describe": lambda index: "fine",
        }
    ),
    "explorers.Runner": Good(lambda g: {"work": lambda task, leave: None, "on_busy": lambda busy: None}),
    "runs.Keep": Good(lambda g: {"steps": 3, "make": lambda *_: 1, "note": lambda *_: 1}),
    "runs.Look": Good(
        lambda g: {"images": g.images(2), "labels": torch.tensor([0, 1]), "numbers": {"loss": Number(1.0)}}
    ),
    "runs.Run": Good(
        lambda g: {"process": sre2l, "config": g.recovery, "inputs": g.inputs}, left_out={"before": "made by Runs"}
    ),
    "runs.Runs": Good(lambda g: {"megabytes": 10}),
    "explorers.film": Good(lambda g: {"run": Run(sre2l, g.recovery, g.inputs).begin()}),
    "explorers.replace": Good(lambda g: {"key": "storm", "explorer": g.opened(Explorer("Title"))}),
    "explorers.side_by_side": Good(lambda g: {"views": [widgets.HTML(), widgets.HTML()]}),
}
