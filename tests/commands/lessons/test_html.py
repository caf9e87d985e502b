"""Pages for reading without a kernel: complete in themselves, every figure, explorer and formula in them."""

from __future__ import annotations

import html as escaping
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from ipywidgets.embed import dependency_state

from ddlab import explorers, figures
from ddlab.commands import main
from ddlab.commands.lessons import NOTEBOOKS, html, html_stills
from ddlab.commands.lessons.html_formulas import mathml
from ddlab.lessons import Prediction
from ddlab.lessons.claims_on_trial import experiments
from ddlab.lessons.claims_on_trial.trial_card import TrialCard
from ddlab.runs import Frame

LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
# What a browser would fetch by itself from another machine.
FETCHED = re.compile(
    r"""(?:src|data)\s*=\s*["']?(?:https?:)?//|<link[^>]+href\s*=\s*["']?(?:https?:)?//|url\(["']?http|@import|import\("""
)


def notebook(*cells: dict) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=list(cells))


def with_output(data: dict) -> nbformat.NotebookNode:
    cell = nbformat.v4.new_code_cell("show", outputs=[nbformat.v4.new_output("display_data", data=data)])
    return notebook(cell)


def bars(title: str = "Bars"):
    return figures.bars(["a", "b"], [0.1, 0.2], title=title, y_label="height")


def dot(grey: int) -> bytes:
    """A PNG of one grey image."""
    return figures.encode_grid(np.full((1, 2, 2), grey, dtype=np.uint8), columns=1)


# ------------------------------------------------------------------------------------------------------------ formulas


def test_a_formula_becomes_mathml_with_its_source() -> None:
    drawn = mathml(r"\lambda_\mathrm{var} < 1")
    assert drawn.startswith("<math ") and drawn.endswith("</math>") and "&#x003BB;" in drawn
    assert r'alttext="\lambda_\mathrm{var} &lt; 1"' in drawn and 'display="inline"' in drawn
    assert 'display="block"' in mathml("x", block=True)


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"a = b \tag{4}", "(4)"),
        (r"\arg\min_x x", "<mo>arg</mo>"),
        (r"\operatorname*{arg\,min}_x x", "<mo>argmin</mo>"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "<mtable"),
    ],
)
def test_what_the_converter_calls_otherwise_is_drawn(latex: str, words: str) -> None:
    assert words in mathml(latex) and "ddlab-latex" not in mathml(latex)


@pytest.mark.parametrize("latex", [r"\nosuchcommand{x} < 1", r"a & b", r"x^2^3 \left("])
def test_what_it_does_not_know_stays_readable(latex: str) -> None:
    assert mathml(latex) == f'<code class="ddlab-latex">{escaping.escape(latex)}</code>'


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_formula_of_the_lessons_is_drawn_and_nothing_is_fetched(path: Path) -> None:
    source = nbformat.read(path, as_version=4)
    text = html.page(source, title=html.title_of(path))
    left = re.findall(r'<code class="ddlab-latex">(.*?)</code>', text)
    assert left == [], "write these formulas otherwise, or teach html_formulas.py to"
    assert not FETCHED.search(text)
    words = "".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
    assert text.count("<math ") > 0 or "$" not in words


# -------------------------------------------------------------------------------------------------- figures and widgets


@pytest.mark.parametrize("name", ["a </script> & b", "<!--<script>", "<b>"])
def test_a_figure_is_kept_whole_with_its_words(name: str) -> None:
    figure = bars(name)
    content = json.dumps(json.loads(str(figure.to_json())))
    drawn = html_stills.figure(content, 'said "so"')
    (script,) = re.findall(r'<script type="application/json">(.*?)</script>', drawn, re.DOTALL)
    assert json.loads(script) == json.loads(content) and "<" not in script
    assert 'aria-label="said &quot;so&quot;"' in drawn and "<p>said &quot;so&quot;</p>" in drawn
    assert f"min-height:{figure.layout.height}px" in drawn


def test_what_lesson_show_emits_becomes_a_figure() -> None:
    data = {html_stills.FIGURE: json.loads(str(bars().to_json())), "text/plain": "in words"}
    (output,) = html_stills.with_stills(with_output(data)).cells[0].outputs
    assert html_stills.FIGURE not in output.data and 'aria-label="in words"' in output.data["text/html"]


def still(widget) -> str:
    state = dependency_state([widget], drop_defaults=False)
    shown = with_output({html_stills.WIDGET: {"model_id": widget.model_id}, "text/plain": "VBox(...)"})
    shown.metadata["widgets"] = {html_stills.STATE: {"state": state}}
    done = html_stills.with_stills(shown)
    assert "widgets" not in done.metadata
    return done.cells[0].outputs[0].data["text/html"]


def test_a_question_stands_there_with_its_answers() -> None:
    text = still(Prediction("Which <one>?", ["a & b", "c"]))
    assert html_stills.INTERACTIVE in text and "a &amp; b" in text and "Which" in text
    assert "Lock my answer" not in text, "nothing can be pressed"


def test_a_trial_waits_with_its_formula_drawn() -> None:
    card = TrialCard(experiments.trials()["R4"])
    text = still(card)
    assert "<math " in text and "$" not in text and 'alttext="I_O = 2\\log 2' in text
    assert "holds when ..." in text and "Verdict" not in text and "ddlab-figure" not in text
    card.commit("fails")
    text = still(card)
    assert "Verdict: Fails." in text and text.count('class="ddlab-figure"') == 1 and "$" not in text
    assert "ddlab-latex" not in text
    card.close()


@pytest.mark.parametrize("key", experiments.trials())
def test_every_formula_of_the_trials_is_drawn(key: str) -> None:
    trial = experiments.trials()[key]
    for text in (trial.statement, trial.when, trial.right, trial.reason):
        for formula in re.findall(r"\$([^$]+)\$", text):
            assert "ddlab-latex" not in mathml(formula), formula


def test_an_explorer_stands_still_with_picture_plot_sentence_and_values() -> None:
    frames = [Frame(step, dot(step)) for step in range(1, 31)]
    curve = figures.loss_curves({"loss": [3.0, 2.0]}, title="Loss", x_label="step", y_label="loss")
    scrubber = explorers.Scrubber(frames, curve, describe=lambda step: f"loss {step}", title="Back & forth")
    text = still(scrubber)
    assert "Back &amp; forth" in text and "<p>Step 30 of 30: loss 30</p>" in text
    assert '<p class="ddlab-control">step: 30</p>' in text
    assert re.search(r'<img src="data:image/png;base64,iVBOR[^"]+" alt="The images after step 30', text)
    assert figures.alt_text(curve)[:20] in text and text.count('class="ddlab-figure"') == 1
    scrubber.close()


def test_controls_say_name_and_value_and_hidden_widgets_nothing() -> None:
    import ipywidgets as widgets

    box = widgets.VBox(
        [
            widgets.Dropdown(options=["one", "<two>"], value="<two>", description="count"),
            widgets.FloatSlider(value=0.25, description="rate"),
            widgets.Checkbox(value=True, description="flip"),
            widgets.HTML("unseen", layout={"display": "none"}),
            widgets.Text("typed"),
        ]
    )
    text = still(box)
    assert "count: one &nbsp;|&nbsp; <b>&lt;two&gt;</b>" in text and "rate: 0.25" in text and "flip: yes" in text
    assert "unseen" not in text and "typed" not in text


def test_a_widget_whose_state_was_not_saved_is_said_to_be_interactive() -> None:
    shown = with_output({html_stills.WIDGET: {"model_id": "gone"}, "text/plain": "VBox(...)"})
    text = html.page(shown, title="x")
    assert html_stills.INTERACTIVE in text


# --------------------------------------------------------------------------------------------------------------- pages


def test_a_page_shows_the_last_of_a_progress_line() -> None:
    pieces = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in ("\rstep 1", "\rstep 2", "\n")]
    text = html.page(notebook(nbformat.v4.new_code_cell("run()", outputs=pieces)), title="x")
    assert "step 2" in text and "step 1" not in text


def test_links_between_lessons_lead_to_pages_and_pictures_travel_along(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(dot(255))
    words = "[next](21_x.ipynb) [there](https://example.org/21_x.ipynb) ![dot](dot.png)"
    text = html.page(notebook(nbformat.v4.new_markdown_cell(words)), title="x", folder=tmp_path)
    assert 'href="21_x.html"' in text and 'href="https://example.org/21_x.ipynb"' in text
    assert 'src="data:image/png;base64,' in text


TINY = (
    "import torch\nfrom ddlab import explorers, figures",
    "figure = figures.bars(['a', 'b'], [.1, .2], title='Bars', y_label='height')\nexplorers.Plot(figure)",
    "print('done')",
    "from ddlab.lessons.lesson import OverBudget\nraise OverBudget('slow machine')",
    "print('and on')",
)


def lessons(folder: Path) -> Path:
    """A folder of two small lessons, of which the second fails."""
    folder.mkdir()
    title = nbformat.v4.new_markdown_cell("# Small & tidy\n\nWith $x_1$.")
    cells = [nbformat.v4.new_code_cell(source) for source in TINY]
    nbformat.write(notebook(title, *cells), folder / "00_small.ipynb")
    nbformat.write(notebook(nbformat.v4.new_code_cell("1 / 0")), folder / "10_broken.ipynb")
    return folder


@pytest.mark.slow
def test_the_command_writes_what_runs_and_fails_for_what_does_not(tmp_path: Path, capsys) -> None:
    source, pages = lessons(tmp_path / "notebooks"), tmp_path / "html"
    pages.mkdir()
    (pages / "10_broken.html").write_text("of an earlier run")
    before = (source / "00_small.ipynb").read_bytes()
    assert main(["lessons", "html", "--notebooks", str(source), "--out", str(pages)]) == 1
    said = capsys.readouterr()
    assert "10_broken.ipynb: ZeroDivisionError: division by zero" in said.err and "1 of 2 written" in said.out
    assert sorted(path.name for path in pages.iterdir()) == ["00_small.html", "index.html", "plotly.min.js"]
    page = (pages / "00_small.html").read_text(encoding="utf-8")
    assert (
        "<title>Small &amp; tidy</title>" in page
        and "done" in page
        and "and on" in page
        and 'class="ddlab-figure"' in page
    )
    assert not FETCHED.search(page) and "slow machine</" not in page and "Traceback" not in page
    index = (pages / "index.html").read_text(encoding="utf-8")
    assert '<a href="00_small.html">Small &amp; tidy</a>' in index and "10_broken" not in index
    assert (source / "00_small.ipynb").read_bytes() == before


def test_the_index_leads_to_the_reference_where_it_is_made(tmp_path: Path) -> None:
    assert "reference" not in html.index(tmp_path, tmp_path)
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "index.html").touch()
    assert '<a href="reference/index.html">' in html.index(tmp_path, tmp_path)


def test_an_unknown_lesson_is_refused(tmp_path: Path, capsys) -> None:
    given = ["--notebooks", str(lessons(tmp_path / "notebooks")), "--out", str(tmp_path)]
    assert main(["lessons", "html", "00_smal", *given]) == 2
    assert "lesson must be one of" in capsys.readouterr().err
