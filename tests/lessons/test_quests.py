"""Quests of the lessons' own laboratories are earned: not met at the start, by no single press of a
control in front, by at most one of ten random walks, and met by their declared solution.

The laboratories are those of the solutions, at the sizes that a reader meets.
"""

import ast
import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pytest

from ddlab.core import DDLabError
from ddlab.explorers import BUTTON, DRAG, Laboratory
from ddlab.explorers.stops import other_stops
from ddlab.explorers.views import flatten
from ddlab.lessons import LESSONS

pytestmark = pytest.mark.slow

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"
# Stops of a slider that are pressed alone, its ends among them.
STOPS = 5
WALKS = 10
PRESSES = 5  # of a walk
# Seconds that a press may take on a busy machine.
PATIENCE = 300.0


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


def press(lab: Laboratory, name: str, value: Any) -> None:
    """Move a control or click a button, and wait for what it computes."""
    if name == BUTTON:
        (button,) = (b for b in lab.buttons.values() if b.description == value)
        button.click()
    elif name == DRAG:
        point, x, y = value
        (view,) = (view for view in flatten(lab.lab.views) if view.drag is not None)
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


# Ten walks that train generators on twenty steps take minutes.
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("number", [name[:2] for name in LESSONS])
def test_quests_take_thought_and_their_solution_meets_them(number: str) -> None:
    with_quests = 0
    for lab in laboratories(number):
        if lab.quest is not None:
            with_quests += 1
            check_quest(lab)
        lab.close()
    assert with_quests, "no laboratory of this lesson asks for anything"


def check_quest(lab: Laboratory) -> None:
    """Fail where the quest of a laboratory is met too easily, or not by its solution."""
    assert lab.quest is not None and lab.declared_quest is not None
    if lab.prediction is not None:
        lab.commit(lab.prediction.choices[0])  # before, no control moves
    lab.run()
    lab.runner.join(PATIENCE)
    assert not lab.quest.met, f"{lab.title} opens solved"
    for name, values in possible_presses(lab).items():
        for value in values:
            start_again(lab)
            with contextlib.suppress(DDLabError):
                press(lab, name, value)
            assert not lab.quest.met, f"{lab.title}: one press is enough: {name} {value}"
    draws = random.Random(0)
    walks = []
    for _ in range(WALKS):
        start_again(lab)
        walks.append(walk_meets(lab, draws))
    assert sum(walks) <= 1, f"{lab.title} is met by {sum(walks)} of {WALKS} random walks"
    start_again(lab)
    for name, value in lab.declared_quest.solution:
        press(lab, name, value)
    assert lab.quest.met, f"{lab.title}: the declared solution does not meet it"


def start_again(lab: Laboratory) -> None:
    """Show the opening settings as if nothing had been tried."""
    lab.panel.value = lab.world.start
    lab.runner.join(PATIENCE)
    lab.forget()
