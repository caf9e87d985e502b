"""A generic reader of any page: what it looks for, and how it moves every control of every explorer
once.
"""

from pathlib import Path
from typing import NamedTuple

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

# What does not fit: cells, buttons and words wider than their box, titles of plots that are cut,
# ticks turned or over each other.
_UNFITTING = """(most) => [...document.querySelectorAll('.jp-Notebook .ddlab-explorer')].flatMap((explorer) => {
  const title = explorer.querySelector('.ddlab-title')?.textContent ?? '', seen = (element) => element.getClientRects().length > 0;
  const wide = [...explorer.querySelectorAll('td, th, button, .widget-label, .ddlab-sentence')]
    .filter((element) => seen(element) && element.scrollWidth > element.clientWidth + 1).map((element) => `cut: ${element.innerText}`);
  const plots = [...explorer.querySelectorAll('.js-plotly-plot')].filter(seen).flatMap((plot) => {
    const box = plot.getBoundingClientRect();
    const cut = [...plot.querySelectorAll('.gtitle')].filter((text) => text.getBoundingClientRect().right > box.right + 1)
      .map((text) => `cut: ${text.textContent}`);
    const ticks = [...plot.querySelectorAll('.xaxislayer-above, .xaxislayer-below')].flatMap((axis) => {
      const labels = [...axis.querySelectorAll('.xtick text')].filter(seen);
      const turned = labels.filter((text) => /rotate\\((?!0,)/.test(text.getAttribute('transform') ?? ''));
      const places = labels.map((text) => text.getBoundingClientRect()).sort((a, b) => a.left - b.left);
      const over = places.some((place, number) => number && place.left < places[number - 1].right - 1
        && Math.abs(place.top - places[number - 1].top) < place.height);
      return [...turned.map((text) => `turned: ${text.textContent}`), ...(over ? ['ticks overlap'] : [])];
    });
    return [...cut, ...ticks];
  });
  const tall = explorer.offsetHeight > most ? [`${explorer.offsetHeight} px high`] : [];
  return [...tall, ...wide, ...plots].map((what) => `${title}: ${what}`);
})"""


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


def answer_questions(opened: NotebookPage) -> None:
    """Lock the first answer to every question: what waits for one is drawn."""
    for number in range(opened.page.locator("button", has_text="Lock my answer").count()):
        button = opened.page.locator("button", has_text="Lock my answer").nth(number)
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


def heights(opened: NotebookPage) -> dict[str, int]:
    """Explorer -> px."""
    tall = """() => [...document.querySelectorAll('.jp-Notebook .ddlab-explorer')]
      .map((explorer) => [explorer.querySelector('.ddlab-title')?.textContent ?? '', explorer.offsetHeight])"""
    return dict(opened.page.evaluate(tall))


def unfitting(opened: NotebookPage, width: int, height: int) -> list[str]:
    """What is cut, turned, laid over each other, or an explorer higher than that, on a page of that
    width, which is then as before.
    """
    before = opened.page.viewport_size
    assert before is not None
    opened.page.set_viewport_size({"width": width, "height": before["height"]})
    opened.page.wait_for_timeout(1500)
    misfits = opened.page.evaluate(_UNFITTING, height)
    opened.page.set_viewport_size(before)
    opened.page.wait_for_timeout(500)
    return sorted(set(misfits))


def move(opened: NotebookPage, control: Control) -> None:
    """To the place beside the one where it stands, by keyboard or by a click."""
    explorer = opened.page.locator(".jp-Notebook .ddlab-explorer").nth(control.explorer)
    if control.kind == "slider":
        handle = explorer.locator(".noUi-handle:visible").nth(control.place)
        handle.focus()
        # Of a run the steps to come are on the slider, too; back is where it can go.
        at_end = (
            handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
            or control.label == "step"
        )
        opened.page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    elif control.kind == "buttons":
        group = explorer.locator(".widget-toggle-buttons:visible").nth(control.place)
        group.locator("button:not(.mod-active)").first.click()
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
        before = opened.page.evaluate(_ON_SHOW, control.explorer)
        step.first.click()
        _drawn_anew(opened, control, before, seconds)
    before = opened.page.evaluate(_ON_SHOW, control.explorer)
    move(opened, control)
    return _drawn_anew(opened, control, before, seconds)


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
