"""A generic reader of any page: what it looks for, and how it moves every control of every explorer
once.
"""

from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

from tests.browser.notebook_page import NotebookPage

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# Each control that can be seen: the number of its explorer, the explorer's title, its label, and
# what it is.
_CONTROLS = """() => [...document.querySelectorAll('.jp-Notebook .ddlab-explorer')].flatMap((explorer, number) => {
  const title = explorer.querySelector('.ddlab-title')?.textContent ?? '';
  const visible = (element) => element.offsetParent !== null;
  const moves = ({element}) => !element.disabled && !element.querySelector(':disabled');
  const label = (element) => element.closest('.jupyter-widgets')?.querySelector('.widget-label')?.textContent ?? '';
  return [['buttons', '.widget-toggle-buttons'], ['list', '.widget-dropdown select'], ['slider', '.noUi-handle']].flatMap(
    ([kind, selector]) => [...explorer.querySelectorAll(selector)].filter(visible).map((element, place) => ({element, place}))
      .filter(moves).map(({element, place}) => (
        {explorer: number, title, kind, place, label: label(element.parentElement.closest('.jupyter-widgets') ?? element)})));
})"""
# What is drawn or said: of plots on show how often, pictures by their bytes, tables and words (what
# waits, what is refused) by their text.
_ON_SHOW = """(number) => { const explorer = document.querySelectorAll('.jp-Notebook .ddlab-explorer')[number];
  return [...explorer.querySelectorAll('.ddlab-plot')]
    .map((plot) => [plot.offsetParent !== null, plot.dataset.drawn, plot.dataset.cursor].join())
    .concat([...explorer.querySelectorAll('img')].map((image) => image.src.length + image.src.slice(-200)))
    .concat([...explorer.querySelectorAll('table, .ddlab-sentence, .ddlab-error')].map((text) => text.innerText)).join('|'); }"""

# What a reader cannot make out: plots without room, text that is cut, turned or on other text, and
# explorers that do not fit the screen.
_TIGHT = """([least, conclusion, square, most]) => {
  const seen = (element) => element.getClientRects().length > 0;
  const name = (graph) => graph.layout?.title?.text ?? 'a plot without title';
  const size = (area) => [Math.round(area.xaxis._length), Math.round(area.yaxis._length)];
  const fits = ([width, height], [leastWidth, leastHeight]) => width >= leastWidth && height >= leastHeight;
  const hasTicks = (axis) => axis.visible !== false && axis.showticklabels !== false;
  const isPicture = (graph) => graph.layout?.images?.length || graph.data?.some(({type}) => type === 'image');
  const areasOf = (graph) => isPicture(graph) ? [] : Object.values(graph._fullLayout?._plots ?? {})
    .filter(({xaxis, yaxis}) => hasTicks(xaxis) || hasTicks(yaxis)).map(size);
  const cuts = (inner, outer) => inner.left < outer.left - 2 || inner.right > outer.right + 2
    || inner.top < outer.top - 2 || inner.bottom > outer.bottom + 2;
  const lies = (a, b) => {
    const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return width > 2 && height > 2
      && width * height > 0.15 * Math.min(a.width * a.height, b.width * b.height);
  };
  const tight = [];
  for (const graph of [...document.querySelectorAll('.jp-Notebook .js-plotly-plot')].filter(seen)) {
    const box = graph.getBoundingClientRect();
    const note = (what) => tight.push(`${name(graph)}: ${what}`);
    for (const area of areasOf(graph)) if (!fits(area, least)) note(`${area.join(' x ')} px to plot in`);
    const texts = [...graph.querySelectorAll('svg text')]
      .filter((text) => text.textContent.trim() && !text.closest('.modebar, .hoverlayer'))
      .map((text) => [text.textContent.trim(), text.getBoundingClientRect()])
      .filter(([, place]) => place.width > 1);
    texts.filter(([, place]) => cuts(place, box)).forEach(([words]) => note(`cut off: ${words}`));
    texts.forEach(([words, place], number) => texts.slice(number + 1).forEach(([others, other]) => {
      if (lies(place, other)) note(`'${words}' lies on '${others}'`);
    }));
    const [title, beside] = ['.gtitle', '.ytitle']
      .map((kind) => graph.querySelector(kind)?.getBoundingClientRect());
    if (title && beside?.top < title.bottom - 2 && beside.right > title.left)
      note('the y label reaches the title');
    const plotted = [...graph.querySelectorAll('.nsewdrag')].map((area) => area.getBoundingClientRect());
    graph.querySelectorAll('[clip-path] text').forEach((text) => {
      const place = text.getBoundingClientRect();
      const isCut = place.width > 1 && plotted.every((area) => cuts(place, area));
      if (isCut && !text.closest('.legend')) note(`cut by the edge: ${text.textContent}`);
    });
    graph.querySelectorAll('.xtick text').forEach((tick) => {
      if (/rotate\\((?!0,)/.test(tick.getAttribute('transform') ?? '')) note(`turned: ${tick.textContent}`);
    });
  }
  for (const explorer of document.querySelectorAll('.jp-Notebook .ddlab-explorer')) {
    const note = (what) => tight.push(`${explorer.querySelector('.ddlab-title')?.textContent}: ${what}`);
    const height = explorer.offsetHeight; // "More settings" unfolded as well: that column scrolls
    if (height > most) note(`${height} px high`);
    const areas = [...explorer.querySelectorAll('.js-plotly-plot')].filter(seen).flatMap(areasOf);
    // A map whose axes have one scale may be a square.
    const carries = (area) => fits(area, conclusion) || Math.min(...area) >= square;
    if (areas.length && !areas.some(carries))
      note(`the largest plot has ${areas.map((area) => area.join(' x ')).join(', ')} px`);
    explorer.querySelectorAll('td, th, button, .widget-label, .ddlab-sentence').forEach((box) => {
      if (seen(box) && box.scrollWidth > box.clientWidth + 1) note(`cut: ${box.innerText}`);
    });
  }
  return tight;
}"""
# Pixels of every plotting area, of the one that carries an explorer's conclusion, and of the height of
# an explorer, in JupyterLab at 1,280 x 720 with its file browser open.
LEAST = (200, 120)
CONCLUSION = (300, 180)
SQUARE = 230  # about as large as that
TALLEST = 660


class Control(NamedTuple):
    """One control on the page: the `place`-th that is visible of its kind in explorer number
    `explorer`.
    """

    explorer: int
    title: str
    kind: str
    label: str
    place: int

    def __str__(self) -> str:
        return f"{self.title}: {self.label or self.kind}"


def answer_questions(page: Page) -> None:
    """Lock the first answer to every question: what waits for one is drawn."""
    for number in range(page.locator("button", has_text="Lock my answer").count()):
        button = page.locator("button", has_text="Lock my answer").nth(number)
        if not button.is_visible():  # locked already, where the question stands a second time
            continue
        button.locator("xpath=ancestor::*[.//input[@type='radio']][1]").locator(
            "input"
        ).first.check()
        button.click()


def controls(opened: NotebookPage) -> list[Control]:
    """Those that can be seen, from top to bottom; what is folded away under "More settings" is
    unfolded first.
    """
    for button in opened.page.locator(".ddlab-explorer button", has_text="More settings").all():
        if button.is_visible():
            button.click()
    opened.page.wait_for_timeout(500)
    return [Control(**described) for described in opened.page.evaluate(_CONTROLS)]


def tight(page: Page, *, is_phone: bool = False) -> list[str]:
    """Return what has no room, is cut, turned or laid over other text, as the page stands.

    On a phone an explorer is read by scrolling, and every plot may be as small as the least.
    """
    page.wait_for_timeout(300)  # a plot follows its place with a delay
    limits = [LEAST, LEAST, LEAST[1], 10_000] if is_phone else [LEAST, CONCLUSION, SQUARE, TALLEST]
    return sorted(set(page.evaluate(_TIGHT, limits)))


def move(opened: NotebookPage, control: Control) -> None:
    """To the place beside the one where it stands, by keyboard or by a click."""
    explorer = opened.page.locator(".jp-Notebook .ddlab-explorer").nth(control.explorer)
    if control.kind == "slider":
        handle = explorer.locator(".noUi-handle:visible").nth(control.place)
        handle.focus()
        # Of a run the steps to come are on the slider, too; back is where it can go.
        at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute(
            "aria-valuemax"
        ) or control.label in ("step", "update")
        opened.page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    elif control.kind == "buttons":
        group = explorer.locator(".widget-toggle-buttons:visible").nth(control.place)
        # The one after it; after the last, the first.
        following = "button.mod-active + button, button:first-child:not(.mod-active)"
        group.locator(following).last.click()
    else:
        chooser = explorer.locator(".widget-dropdown select:visible").nth(control.place)
        chooser.select_option(
            index=(1 + chooser.evaluate("(element) => element.selectedIndex"))
            % chooser.locator("option").count()
        )


def redraws(opened: NotebookPage, control: Control, seconds: float = 20) -> bool:
    """Move it: whether its explorer then draws a plot, a picture or a table anew, or says something
    else.

    A run that rests before its first step takes one first: with other settings it would rest at the
    same picture. A slider that plays no part with the settings on show is grey, and is left alone.
    """
    if control.kind == "slider":
        explorer = opened.page.locator(".jp-Notebook .ddlab-explorer").nth(control.explorer)
        handle = explorer.locator(".noUi-handle:visible").nth(control.place)
        if handle.evaluate("(element) => element.closest('[disabled]') !== null"):
            return True
    step = (
        opened.page.locator(".jp-Notebook .ddlab-explorer")
        .nth(control.explorer)
        .locator("button[title='One step, then rest']")
    )
    if step.count() and step.first.is_enabled():
        before = _at_rest(opened, control)
        step.first.click()
        _drawn_anew(opened, control, before, seconds)
    before = _at_rest(opened, control)
    move(opened, control)
    return _drawn_anew(opened, control, before, seconds)


def _at_rest(opened: NotebookPage, control: Control, seconds: float = 10) -> str:
    """Return what its explorer shows, once a run that goes on has come to its end."""
    content = opened.page.evaluate(_ON_SHOW, control.explorer)
    for _ in range(int(5 * seconds)):
        opened.page.wait_for_timeout(200)
        before, content = content, opened.page.evaluate(_ON_SHOW, control.explorer)
        if content == before and "Being computed" not in content:
            break
    return content


def _drawn_anew(opened: NotebookPage, control: Control, before: str, seconds: float) -> bool:
    for _ in range(int(10 * seconds)):
        opened.page.wait_for_timeout(100)
        if opened.page.evaluate(_ON_SHOW, control.explorer) != before:
            opened.page.wait_for_timeout(300)  # what goes on being drawn
            return True
    return False


def colours(opened: NotebookPage) -> list[str]:
    """The colour of the text of each plot with words of its own."""
    return [plot["text_colour"] for plot in opened.plots() if plot["alt"]]


def in_both_themes(opened: NotebookPage, picture: str) -> None:
    """Look at the page in light and dark: every plot follows; screenshots go to test-results."""
    light = colours(opened)
    opened.screenshot(f"{picture}_light")
    opened.set_theme("dark")
    opened.screenshot(f"{picture}_dark")
    dark = colours(opened)
    opened.set_theme("light")
    assert light and len(light) == len(dark) and not set(light) & set(dark), (light, dark)


def after_a_reload(opened: NotebookPage, plots: int) -> None:
    """The page is saved and loaded again: what was there is there."""
    opened.reload()
    opened.wait_for_plots(plots, timeout=60)
    assert opened.problems() == []
