"""Quests of the lessons' own laboratories are earned: not met at the start, by no single press of a
control in front, by at most one of ten random walks, and met by the recipe on the instructor's page.

The laboratories are those of the solutions, at the sizes that a reader meets.
"""

import ast
import contextlib
import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pytest

from ddlab.core import DDLabError
from ddlab.explorers import Laboratory
from ddlab.explorers.stops import other_stops
from ddlab.explorers.views import flattened

pytestmark = pytest.mark.slow

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"
# Stops of a slider that are pressed alone, its ends among them.
STOPS = 5
WALKS = 10
PRESSES = 5  # of a walk
# Seconds that a press may take on a busy machine.
PATIENCE = 300.0
Press = tuple[str, Any]
BUTTON = "button"
DRAG = "drag"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What the instructor's page tells a reader to do.

    Attributes:
        lesson: the number of the lesson.
        title: of the laboratory, or its beginning.
        presses: (control, value), (BUTTON, its words) or (DRAG, (point, x, y)), in turn.
    """

    lesson: str
    title: str
    presses: tuple[Press, ...]


# Each class at 0, 1/4 and 1/2 along the boundary on both sides, .2 nearer to it than its mean.
TEN_SAMPLES = tuple(
    (DRAG, (2 * pair + label, 1.2 + 0.6 * label + along, 1.2 + 0.6 * label - along))
    for pair, along in enumerate((0.0, 0.5, -0.5, 0.25, -0.25))
    for label in (0, 1)
)
RECIPES = [
    Recipe(
        "00",
        "Images or labels",
        (("labels", "online"), ("images", "k-means"), ("labels", "hard")),
    ),
    Recipe(
        "05",
        "What can a few",
        (("networks", 50), (BUTTON, "Learn"), (BUTTON, "Train students")),
    ),
    Recipe("10", "Narrow or wide", (("deviation", 0.2), ("steps", 500))),
    Recipe("10", "Whose labels", (("teacher", "trained"), ("relabelling", 1.0))),
    Recipe("10", "Ten samples", TEN_SAMPLES),
    Recipe("20", "What does", (("weight", 0.01), ("learning_rate", 1.0))),
    Recipe(
        "21",
        "What makes",
        (("initialisation", "real"), ("perturbation", "directed"), ("adjustment_radius", 0.5)),
    ),
    Recipe(
        "30",
        "Does a residual",
        (("merge_ratio", 0.2), (BUTTON, "Train students")),
    ),
    Recipe("40", "What do the floats", (("vector_bases", 10), (BUTTON, "Train networks"))),
    Recipe("45", "Whose answers", (("prior", "strong"), ("objective", "dino"))),
    Recipe("50", "What can ten", (("corruption", 0.5), ("corrupted_by", "zeros"))),
    Recipe(
        "50",
        "Drag a point",
        (
            (DRAG, (0, -2.0, 0.1)),
            (DRAG, (1, -0.2, -0.3)),
            (DRAG, (2, 0.6, 0.3)),
            (DRAG, (3, 1.2, 0.3)),
        ),
    ),
    Recipe("60", "One point", ((DRAG, (0, 1.3, 2.0)),)),
    Recipe("60", "Whom do ten", (("starts", "random"), ("inner_steps", 2))),
    Recipe("62", "One point", (("steps", 1), (DRAG, (0, 1.0, 1.8)))),
    Recipe("62", "How far", (("inner_steps", 3), ("inner_steps", 5))),
    Recipe("65", "Two points", (("left", 0.4), ("right", 0.4))),
    Recipe("65", "What can labels", (("source", "shapes"), ("pictures", 300))),
    Recipe(
        "75",
        "What is worth",
        (("memory", "nearest to centres"), ("images_per_class", 5), ("distillation_weight", 0.0)),
    ),
    Recipe(
        "75",
        "What becomes of",
        (
            ("memory", "nearest to centres"),
            ("images_per_class", 3),
            ("distillation_weight", 0.0),
        ),
    ),
    Recipe("90", "On trial: ReLA, appendix A", (("steps", 3), ("steps", 4))),
    Recipe("90", "On trial: ReLA, appendix C", (("spread", 0.25), ("spread", 0.24))),
    Recipe(
        "90",
        "On trial: ReLA, Theorem",
        (
            ("strength", 0.0),
            ("strength", 10.0),
            ("gap", 0.1),
            ("gap", 4.0),
            ("spread", 0.1),
            ("spread", 2.0),
            ("other_spread", 0.1),
            ("other_spread", 2.0),
        ),
    ),
    Recipe("90", "On trial: FADRM", (("merge_ratio", 0.7), ("merge_ratio", 0.71))),
    Recipe("95", "", (("width", 32), ("epochs", 101), ("width", 16), ("epochs", 125))),
    Recipe("80", "Which method, at", (("labels", "own"), ("method", "dd"))),
    Recipe("85", "Can ten", (("updates", "15"), ("proxy", "herding"), ("proxy", "DM"))),
    Recipe("70", "Two steps", ((DRAG, (1, 1.4, 1.4)),)),
    Recipe("70", "Does the order", (("curriculum", "all_shuffled"), ("steps", 18))),
]


def laboratories(number: str) -> Iterator[Laboratory]:
    """Run the cells of a solution in turn, and give each laboratory that a cell ends with."""
    (path,) = SOLUTIONS.glob(f"{number}_*.ipynb")
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            if isinstance(value, Laboratory):
                yield value


def laboratory(recipe: Recipe) -> Laboratory:
    """Return the laboratory of a recipe at rest, as it opens on its page."""
    for lab in laboratories(recipe.lesson):
        if lab.title.startswith(recipe.title):
            if lab.prediction is not None:
                lab.commit(lab.prediction.choices[0])  # before, no control moves
            lab.run()
            lab.runner.join(PATIENCE)
            return lab
        lab.close()
    raise AssertionError(f"lesson {recipe.lesson} has no laboratory {recipe.title!r} any more")


def press(lab: Laboratory, name: str, value: Any) -> None:
    """Move a control or click a button, and wait for what it computes."""
    if name == BUTTON:
        (button,) = (b for b in lab.buttons.values() if b.description == value)
        button.click()
    elif name == DRAG:
        point, x, y = value
        (view,) = (view for view in flattened(lab.lab.views) if view.drag is not None)
        plot = lab.widget(view.draw)
        count = plot.dragged.get("count", 0) + 1
        plot.dragged = {"count": count, "point": point, "x": x, "y": y, "done": True}
    else:
        lab.panel[name].value = value
    lab.runner.join(PATIENCE)


def possible_presses(lab: Laboratory) -> dict[str, list[Any]]:
    """List the values that each control in front can take, of a slider some that are spread evenly."""
    presses = {}
    for name in lab.panel:
        control: Any = lab.panel[name]
        if control in lab.panel.folded_box.children:
            continue
        values = sorted([control.value, *other_stops(control)], key=str)
        if isinstance(control, widgets.IntSlider | widgets.FloatSlider | widgets.SelectionSlider):
            values.sort()
            spread = range(0, len(values), max(1, (len(values) - 1) // (STOPS - 1)))
            values = [values[place] for place in {*spread, len(values) - 1}]
        presses[name] = [value for value in values if value != control.value]
    return {name: values for name, values in presses.items() if values}


def walk_meets(lab: Laboratory, draws: random.Random) -> bool:
    """Return whether five random presses meet the quest."""
    for _ in range(PRESSES):
        presses = possible_presses(lab)
        name = draws.choice(list(presses))
        with contextlib.suppress(DDLabError):  # what cannot be is refused, and stays as it was
            press(lab, name, draws.choice(presses[name]))
    return bool(lab.quest and lab.quest.met)


@pytest.mark.timeout(1200)  # ten walks that train generators on twenty steps take minutes
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.lesson} {recipe.title}")
def test_a_quest_takes_thought_and_the_recipe_meets_it(recipe: Recipe) -> None:
    lab = laboratory(recipe)
    try:
        assert lab.quest is not None and not lab.quest.met, "it opens solved"
        for name, values in possible_presses(lab).items():
            for value in values:
                start_again(lab)
                with contextlib.suppress(DDLabError):
                    press(lab, name, value)
                assert not lab.quest.met, f"one press is enough: {name} {value}"
        draws = random.Random(0)
        walks = []
        for _ in range(WALKS):
            start_again(lab)
            walks.append(walk_meets(lab, draws))
        assert sum(walks) <= 1, f"met by {sum(walks)} of {WALKS} random walks"
        start_again(lab)
        for name, value in recipe.presses:
            press(lab, name, value)
        assert lab.quest.met, "the instructor's recipe does not meet it"
    finally:
        lab.close()


def start_again(lab: Laboratory) -> None:
    """Show the opening settings as if nothing had been tried."""
    lab.panel.value = lab.world.start
    lab.runner.join(PATIENCE)
    lab.forget()
