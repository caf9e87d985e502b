"""Every solution in a fresh kernel with one thread (make test-all): its seconds and its memory, and
the page that is made of the run.
"""

import json
import re
import time
from pathlib import Path

import pytest
from nbconvert import HTMLExporter

from tests.running import run

SOLUTIONS = sorted((Path(__file__).parents[1] / "notebooks" / "solutions").glob("*.ipynb"))
# with one thread; twice as long beside other work
SECONDS = 120
MEGABYTES = 1200
_PEAK = (
    "print('peak', next(line for line in open('/proc/self/status') if "
    "line.startswith('VmHWM')).split()[1])"
)
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda path: path.stem)
def test_a_lesson_keeps_its_time_and_memory_and_becomes_a_page_with_its_plots(
    solution: Path,
) -> None:
    start_time = time.monotonic()
    ran = run(
        solution,
        environment={"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1", "DDLAB_SOLUTIONS": "1"},
        last=_PEAK,
    )
    seconds = time.monotonic() - start_time
    peak = int(re.search(r"peak (\d+)", ran.cells.pop().outputs[0].text)[1]) / 1024  # type: ignore[index]
    print(f"{solution.stem}: {seconds:.0f} s, {peak:.0f} MB")
    assert seconds < 2 * SECONDS and peak < MEGABYTES

    page, _ = HTMLExporter(template_name="lab").from_notebook_node(ran)
    views = [
        data[WIDGET]["model_id"]
        for cell in ran.cells
        for output in cell.get("outputs", [])
        if WIDGET in (data := output.get("data", {}))
    ]
    widget_state = json.loads(
        re.search(
            r'<script type="application/vnd.jupyter.widget-state\+json">(.*?)</script>', page, re.S
        )[1]
    )  # type: ignore[index]
    plots = [
        json.loads(state["state"]["_figure"])
        for state in widget_state["state"].values()
        if "_figure" in state["state"]
    ]
    assert (
        views and set(views) <= widget_state["state"].keys() and all(view in page for view in views)
    )
    # A landscape is computed once its tab is opened, and says so until then.
    empty = [plot["layout"] for plot in plots if not plot["data"]]
    assert plots and all("is being computed" in layout["meta"]["alt"] for layout in empty)
    assert any(
        "gzipped" in state["state"] or state.get("buffers")
        for state in widget_state["state"].values()
    )
