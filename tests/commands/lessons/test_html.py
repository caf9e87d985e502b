"""Pages for reading without a kernel: complete in themselves, every figure, explorer and formula in them."""

from __future__ import annotations

import base64
import html as escaping
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import numpy as np
import pytest
from ipywidgets.embed import dependency_state
from PIL import Image

from ddlab import explorers, figures
from ddlab.commands import main
from ddlab.commands.lessons import NOTEBOOKS, html, html_explorers, html_stills
from ddlab.commands.lessons.html_formulas import mathml
from ddlab.core.parameters import Parameters, parameter
from ddlab.explorers import Chart, Html, Lab, Tabs
from ddlab.explorers.recording import recordings
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
    drawn = html_explorers.figure(content, 'said "so"')
    (script,) = re.findall(r'<script type="application/json">(.*?)</script>', drawn, re.DOTALL)
    assert json.loads(script) == json.loads(content) and "<" not in script
    assert 'aria-label="said &quot;so&quot;"' in drawn and "<p>said &quot;so&quot;</p>" in drawn
    assert f"min-height:{figure.layout.height}px" in drawn


def test_what_lesson_show_emits_becomes_a_figure() -> None:
    data = {html_stills.FIGURE: json.loads(str(bars().to_json())), "text/plain": "in words"}
    (output,) = html_stills.with_stills(with_output(data)).cells[0].outputs
    assert html_stills.FIGURE not in output.data and 'aria-label="in words"' in output.data["text/html"]


def still(widget, recordings=()) -> str:
    state = dependency_state([widget], drop_defaults=False)
    shown = with_output({html_stills.WIDGET: {"model_id": widget.model_id}, "text/plain": "VBox(...)"})
    shown.metadata["widgets"] = {html_stills.STATE: {"state": state}}
    done = html_stills.with_stills(shown, recordings)
    assert "widgets" not in done.metadata
    return done.cells[0].outputs[0].data["text/html"]


def alive(explorer) -> tuple[str, dict]:
    """Its HTML, and what the page's script is given."""
    text = still(explorer, [one for one in recordings() if one["explorer"] == explorer.model_id])
    (script,) = re.findall(r'<script type="application/json" class="ddlab-recording">(.*?)</script>', text, re.DOTALL)
    return text, json.loads(script)


def folding() -> explorers.Laboratory:
    """A laboratory whose figure, and whose remark, are there for some values; its tabs are both worth a look."""

    @dataclass(frozen=True, kw_only=True)
    class Settings(Parameters):
        size: int = parameter(1, range=(0, 2), explorable=(0, 2), help="Of the bar.")
        colour: str = parameter("red", choices=("red", "blue"), explorable=True, help="Unused.")

    def on_show(world, settings, known) -> tuple:
        return (settings.size,)

    views = [
        Chart(on_show, lambda size: figures.bars(["a"], [size], title=f"Size {size}", y_label="size")),
        Chart(on_show, lambda size: bars("Seen at 2") if size == 2 else None, folds=True),
        Tabs(
            ("Words", Html(on_show, lambda size: f"<i>{size}</i>")), ("Same", Html(lambda *given: (), lambda: "same"))
        ),
    ]
    world = type("World", (), {"__init__": lambda self: setattr(self, "start", Settings())})
    said = Lab(
        "Folding",
        world,
        controls=("size", "colour"),
        views=views,
        sentence=lambda world, settings, known: f"{settings.size}.",
    )
    return said()


def test_a_question_stands_there_with_its_answers() -> None:
    text = still(Prediction("Which <one>?", ["a & b", "c"]))
    assert html_explorers.INTERACTIVE in text and "a &amp; b" in text and "Which" in text
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


def test_a_recorded_scrubber_keeps_its_slider_and_each_frame_once() -> None:
    frames = [Frame(step, dot(step)) for step in range(1, 31)]
    curves = {name: figures.loss_curves({name: [3.0, 2.0]}, title=name) for name in ("loss", "norm")}
    scrubber = explorers.Scrubber(frames, curves, describe=lambda step: f"loss <{step}>")
    text, recorded = alive(scrubber)
    assert "<b>step</b>, at all its values (1 to 30)" in text and html_explorers.INTERACTIVE not in text
    assert re.search(
        r'<input type="range" min="0" max="29" value="29" aria-valuetext="30" data-labels="[^"]+" data-control="0"',
        text,
    )
    assert '<select data-control="1"' in text and "<option selected>loss</option><option>norm</option>" in text
    picture, figure, sentence = recorded["slots"]
    assert recorded["counts"] == [30, 2] and all(len(slot["at"]) == 60 for slot in recorded["slots"])
    assert [len(slot["contents"]) for slot in recorded["slots"]] == [30, 60, 30]
    assert (
        picture["contents"][4]["src"].startswith("data:image/png;base64,")
        and "step 5," in picture["contents"][4]["alt"]
    )
    assert sentence["contents"][sentence["at"][8]] == {"text": "Step 5 of 30: loss <5>"}
    assert '<p data-slot="2">Step 30 of 30: loss &lt;30&gt;</p>' in text
    shown = [figure["contents"][place] for place in figure["at"]]
    assert [content["cursor"] for content in shown[:4]] == [1, 1, 2, 2]
    for content, title in zip(shown, ["loss", "norm"] * 30, strict=True):
        layout, *traces = (json.loads(recorded["texts"][part]) for part in content["figure"])
        assert layout["title"]["text"] == title and [trace["name"] for trace in traces] == [title]
    assert len(recorded["texts"]) <= 4, "both curves, once each"
    scrubber.close()


def test_a_recorded_laboratory_hides_what_folds_and_opens_its_tabs() -> None:
    lab = folding()
    text, recorded = alive(lab)
    slots = [slot["at"] for slot in recorded["slots"]]
    assert [None, None, 0] in slots, "the figure that is there at 2 alone"
    assert len(re.findall(r'data-slot="\d+" hidden', text)) == 2, "it, and the box around it"
    assert "<details open><summary>Words</summary>" in text and "<details><summary>Same</summary>" in text
    assert re.search(r"<div data-slot=.\d+.><i>1</i></div>", text) and "<div>same</div>" in text
    assert "<b>size</b>, at all its values (0, 1, 2)" in text and "colour: <b>red</b>" in text
    lab.close()


def test_a_large_picture_is_stored_smaller_with_the_same_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (1, 40, 40, 3), dtype=np.uint8)
    encoded = figures.encode_grid(pixels, columns=1, scale=3)
    picture = explorers.Picture(encoded, alt="Noise.")
    ((kind, stored),) = re.findall(r'src="data:image/(\w+);base64,([^"]+)" alt="Noise."', still(picture))
    assert kind == "webp" and len(base64.b64decode(stored)) < len(encoded) * 2 / 3
    one, other = (np.asarray(Image.open(io.BytesIO(raw)).convert("RGB")) for raw in (encoded, base64.b64decode(stored)))
    assert np.array_equal(one, other)
    picture.close()


def test_what_is_too_much_for_a_page_loses_every_second_value(monkeypatch) -> None:
    frames = [Frame(step, dot(step)) for step in range(1, 31)]
    curves = {name: figures.loss_curves({name: [3.0, 2.0]}, title=name) for name in ("loss", "norm")}
    scrubber = explorers.Scrubber(frames, curves)
    whole, _ = alive(scrubber)
    monkeypatch.setattr(html_stills, "_MOST", 2 * len(whole) // 3)
    text, recorded = alive(scrubber)
    assert len(text) <= 2 * len(whole) // 3 and "<b>step</b>, at 15 of its 30 values (2 to 30)" in text
    assert recorded["counts"] == [15, 2] and 'aria-valuetext="30"' in text and 'value="14"' in text
    sentences = recorded["slots"][-1]
    assert [sentences["contents"][place]["text"][:7] for place in sentences["at"][:4]] == [
        "Step 2 ",
        "Step 2 ",
        "Step 4 ",
        "Step 4 ",
    ]
    monkeypatch.setattr(html_stills, "_MOST", 0)
    assert alive(scrubber)[1]["counts"] == [2, 2], "two are left at least"
    scrubber.close()


def test_a_slider_that_stands_nowhere_is_put_first() -> None:
    lab = folding()
    lab.controls_box.layout.display = "none"
    text, _ = alive(lab)
    assert text.index("data-control") < text.index("Folding")
    lab.close()


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
    assert html_explorers.INTERACTIVE in text


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
    "print('and on')",
    "class Broken(explorers.Explorer):\n    def to_record(self): raise RuntimeError('no way')\nBroken('Not to be moved')",
    "explorers.Scrubber([explorers.scrubber.Frame(step, figures.encode_grid(torch.ones(1, 2, 2).byte().numpy())) for step in (1, 2)])",
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
    assert "00_small.ipynb: 'Not to be moved' stands still: RuntimeError: no way" in said.err
    assert sorted(path.name for path in pages.iterdir()) == ["00_small.html", "index.html", "plotly.min.js"]
    page = (pages / "00_small.html").read_text(encoding="utf-8")
    assert (
        "<title>Small &amp; tidy</title>" in page
        and "done" in page
        and "and on" in page
        and 'class="ddlab-figure"' in page
    )
    assert page.count("Interactive: run") == 2 and page.count('type="range"') == 1 and "recordings" not in page
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
