"""One notebook in a browser: run it, look at it, act on it.

Made by `lab.Browser.open`; see there for how to use it.
"""

import ast
import json
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize

# Texts that JupyterLab and ipywidgets put in place of a widget that failed.
_BROKEN = (
    "Error displaying widget",
    "Error creating widget",
    "Loading widget...",
    "Model not found",
    "Click to show javascript error",
    "This plot could not be drawn",
    "This did not work",
)

_WATCH = """() => {
  if (window.__watch) return;
  const watch = window.__watch = {down: 0, painted: []};
  addEventListener('keydown', () => { watch.down = performance.now(); }, true);
  const note = (kind) => requestAnimationFrame(() => setTimeout(() => watch.painted.push({kind, at: performance.now()})));
  new MutationObserver((records) => {
    for (const {target, attributeName} of records) {
      if (attributeName === 'data-drawn') note('plot');
      else if (attributeName === 'data-cursor') note('cursor');
      else if (target.tagName === 'IMG') target.decode().catch(() => 0).then(() => note('picture'));
    }
  }).observe(document.body, {subtree: true, attributes: true, attributeFilter: ['data-drawn', 'data-cursor', 'src']});
}"""

_PLOTS = """() => [...document.querySelectorAll('.js-plotly-plot')].filter((graph) => graph.offsetParent !== null).map((graph) => ({
  title: graph.layout?.title?.text ?? '',
  traces: graph.querySelector('.main-svg') ? (graph.data ?? []).length : 0,
  points: (graph._fullData ?? []).reduce((sum, trace) => sum + (trace.y?.length ?? (trace.source ? 1 : 0)), 0),
  drawn: Number(graph.closest('.ddlab-plot')?.dataset.drawn ?? 1),
  cursor: graph.closest('.ddlab-plot')?.dataset.cursor ?? '',
  alt: graph.getAttribute('aria-label') ?? '',
  line_colours: (graph.data ?? []).map((trace) => trace.line?.color ?? trace.marker?.color ?? ''),
  text_colour: graph._fullLayout?.font?.color ?? '',
  width: graph.clientWidth,
  overhang: graph.closest('.ddlab-plot') ? (graph.querySelector('.main-svg')?.getBoundingClientRect().width ?? 0) - graph.clientWidth : 0,
}))"""

# Whether the words of each plot are dark in a light theme, light in a dark one.
_IN_THEME = """(isLight) => [...document.querySelectorAll('.js-plotly-plot[aria-label]')]
  .filter((graph) => graph.offsetParent && graph._fullLayout)
  .every((graph) => (parseInt(graph._fullLayout.font.color.slice(1, 3), 16) < 128) === isLight)"""

_CELLS = (
    """() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell) => cell.toJSON())"""
)


class NotebookPage:
    """One notebook in the browser."""

    def __init__(self, page: Page, shots: Path) -> None:
        self.page = page
        self._shots = shots
        self.script_errors: list[str] = []
        # One session: a second one could not undo the pace that the first one set.
        self._devtools = page.context.new_cdp_session(page)
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self._note(f"uncaught: {error}"))
        page.on(
            "console", lambda message: self._note(message.text) if message.type == "error" else None
        )

    def _note(self, text: str) -> None:
        # anywidget says so when a widget starts slowly; nothing is lost, because the widgets ask
        # for what they missed.
        if "Failed to initialize model" not in text:
            self.script_errors.append(text[:400])

    # -- running

    def wait_for_kernel(self, seconds: float = 90) -> None:
        """Wait until the notebook is loaded and its kernel idle."""
        ready = """() => {
          const panel = window.jupyterapp?.shell.currentWidget;
          return panel?.content?.model && panel.sessionContext?.session?.kernel?.status === 'idle';
        }"""
        self.page.wait_for_function(ready, timeout=seconds * 1000)
        self.page.evaluate(_WATCH)

    def command(self, name: str) -> None:
        """Execute a command of JupyterLab and wait for it."""
        self.page.evaluate("(name) => jupyterapp.commands.execute(name).then(() => null)", name)

    def run_all(self, timeout: float = 300, *, wait_for_plots: int = 0) -> float:
        """Run All; returns the seconds until the kernel is idle and so many plots are painted."""
        start = time.monotonic()
        self._run("notebook:run-all-cells", timeout)
        if wait_for_plots:
            self.wait_for_plots(wait_for_plots, timeout)
        return time.monotonic() - start

    def open_file_browser(self) -> None:
        """Show JupyterLab's file browser beside the notebook, as most readers have it."""
        self.page.evaluate("""() => {
          for (const command of ['application:toggle-left-area', 'application:toggle-side-tabbar'])
            if (!jupyterapp.commands.isToggled(command)) jupyterapp.commands.execute(command);
        }""")
        self.page.wait_for_timeout(500)

    def unfold(self) -> None:
        """Open every folded heading, so that what stands under it can be seen and moved."""
        self.command("notebook:expand-all-headings")
        self.page.wait_for_timeout(300)  # what was folded is drawn with a delay

    def run_first(self, cells: int, timeout: float = 300) -> None:
        """Run the first so many cells, as for imports that are not to be timed."""
        self.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
        for _ in range(cells):
            self._run("notebook:run-cell-and-select-next", timeout)

    def _run(self, command: str, timeout: float) -> None:
        self.page.evaluate(
            """(command) => { window.__ran = false;
              jupyterapp.commands.execute(command).finally(() => { window.__ran = true; }); }""",
            command,
        )
        finished = (
            "() => window.__ran && "
            "jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
        )
        self.page.wait_for_function(finished, timeout=timeout * 1000, polling=20)

    def wait_for(self, condition: str, seconds: float = 20) -> None:
        """Wait until a JavaScript function returns something true."""
        self.page.wait_for_function(condition, timeout=seconds * 1000)

    def slow_down(self, factor: float) -> None:
        """Let the page compute so many times slower (1: as fast as it can)."""
        self._devtools.send("Emulation.setCPUThrottlingRate", {"rate": factor})

    def reload(self) -> None:
        """Save the notebook and load the page again; the kernel goes on."""
        self.command("docmanager:save")
        self.page.reload()
        self.wait_for_kernel()

    def in_kernel(self, expression: str) -> Any:
        """Evaluate a Python expression in the kernel; the value must be JSON."""
        evaluate = """(expression) => jupyterapp.shell.currentWidget.sessionContext.session.kernel
          .requestExecute({code: '', silent: true, user_expressions: {value: expression}})
          .done.then((reply) => reply.content.user_expressions.value)"""
        reply = self.page.evaluate(evaluate, f"__import__('json').dumps({expression})")
        if reply["status"] != "ok":
            raise RuntimeError(f"{reply['ename']}: {reply['evalue']}")
        # The kernel shows the repr of the JSON text.
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    # -- looking

    def plots(self) -> list[dict[str, Any]]:
        """Every plot of no folded view: title, traces (0: not drawn), points, times drawn, cursor,
        alt text, colour of the text, width.
        """
        return self.page.evaluate(_PLOTS)

    def wait_for_plots(self, count: int, timeout: float = 20) -> float:
        """Wait until `count` plots are painted, and every one of no folded view; returns the
        seconds that took.
        """
        start = time.monotonic()
        painted = """(count) => { const all = [...document.querySelectorAll('.js-plotly-plot')];
          const painted = (graph) => graph.querySelector('.main-svg') && graph.data?.length;
          return all.filter(painted).length >= count && all.filter((graph) => graph.offsetParent !== null).every(painted); }"""
        self.page.wait_for_function(painted, arg=count, timeout=timeout * 1000)
        return time.monotonic() - start

    def problems(self) -> list[str]:
        """What a reader should never see: failed cells, text on stderr, broken widgets, script
        errors, plots over each other.
        """
        seen_problems = [f"script: {text}" for text in self.script_errors]
        for number, cell in enumerate(self.page.evaluate(_CELLS)):
            if "raises-exception" in cell.get("metadata", {}).get("tags", []):
                continue
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    seen_problems.append(
                        f"cell {number}: {output['ename']}: {output['evalue']}"[:400]
                    )
                elif output.get("name") == "stderr":
                    seen_problems.append(
                        f"cell {number} wrote to stderr: {''.join(output['text'])}"[:400]
                    )
        text = self.page.locator(".jp-Notebook").inner_text()
        for broken in _BROKEN:
            if broken in text:
                seen_problems.append(f"on the page: {broken}")
        self.page.wait_for_timeout(300)  # a plot follows its place with a delay
        for plot in self.plots():
            if not plot["traces"]:
                seen_problems.append(f"plot {plot['title']!r} is empty")
        for plot in self.plots():
            if plot["overhang"] > 2:
                seen_problems.append(f"plot {plot['title']!r} is wider than its place")
        return seen_problems

    def screenshot(self, name: str, *, cell: int | None = None) -> Path:
        """Save the notebook, or one cell, as it looks now, in full height."""
        self._shots.mkdir(parents=True, exist_ok=True)
        target = self._shots / f"{name}.png"
        size: ViewportSize = self.page.viewport_size or {"width": 1280, "height": 1000}
        tall = self.page.evaluate(
            "() => document.querySelector('.jp-WindowedPanel-viewport').scrollHeight"
        )
        whole: ViewportSize = {
            "width": size["width"],
            "height": min(max(int(tall) + 160, size["height"]), 12_000),
        }
        self.page.set_viewport_size(whole)
        self.page.evaluate(
            "() => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0; }"
        )
        self.page.wait_for_timeout(500)
        if cell is None:
            self.page.screenshot(path=target)
        else:
            self.page.locator(".jp-Notebook .jp-Cell").nth(cell).screenshot(path=target)
        self.page.set_viewport_size(size)
        return target

    # -- acting

    def slider(self, label: str, *, cell: int | None = None) -> Any:
        """The handle of the slider whose label begins with `label`, on the page or in one cell."""
        place = self.page if cell is None else self.page.locator(".jp-Notebook .jp-Cell").nth(cell)
        row = place.locator(".widget-slider, .jupyter-widgets.widget-inline-hbox").filter(
            has=self.page.locator(f'.widget-label:visible:text-matches("^{label}")')
        )
        return row.first.locator(".noUi-handle").first

    def move_slider(
        self,
        label: str,
        *,
        presses: int = 1,
        key: str = "ArrowRight",
        kind: str = "plot",
        timeout: float = 20,
        cell: int | None = None,
        plots: int = 1,
    ) -> list[float]:
        """Press a key on a slider and wait each time until something is painted anew.

        Args:
            kind: what is waited for: "plot", "cursor" (of a curve) or "picture".
            plots: how many of the kind.
            cell: number of the cell that has the slider, where several have one of that name.

        Returns the milliseconds from key press to painted, one per press.
        """
        handle = self.slider(label, cell=cell)
        handle.scroll_into_view_if_needed()
        handle.focus()
        milliseconds = []
        opposite = {
            "ArrowRight": "ArrowLeft",
            "ArrowLeft": "ArrowRight",
            "ArrowUp": "ArrowDown",
            "ArrowDown": "ArrowUp",
        }
        for _ in range(presses):
            end = "aria-valuemax" if key in ("ArrowRight", "ArrowUp", "PageUp") else "aria-valuemin"
            if float(handle.get_attribute("aria-valuenow")) == float(handle.get_attribute(end)):
                key = opposite.get(key, key)  # at the end of the slider: turn round
            self.page.evaluate("() => { __watch.painted.length = 0; __watch.down = 0; }")
            self.page.keyboard.press(key)
            newer = "__watch.painted.filter((one) => one.kind === kind && one.at > __watch.down)"
            self.page.wait_for_function(
                f"([kind, plots]) => __watch.down && {newer}.length >= plots",
                arg=[kind, plots],
                timeout=timeout * 1000,
            )
            took = f"([kind, plots]) => {newer}[plots - 1].at - __watch.down"
            milliseconds.append(float(self.page.evaluate(took, [kind, plots])))
            self.page.wait_for_timeout(60)
        return milliseconds

    def click(self, label: str) -> None:
        """Click the first enabled button with this text."""
        self.page.locator("button.jupyter-button:not([disabled])").filter(
            has_text=label
        ).first.click()

    def set_theme(self, theme: str) -> None:
        """Switch JupyterLab to "light" or "dark" and wait until the page has followed."""
        name = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[theme]
        self.page.evaluate(
            "(theme) => jupyterapp.commands.execute('apputils:change-theme', "
            "{theme}).then(() => null)",
            name,
        )
        is_light = "true" if theme == "light" else "false"
        self.page.wait_for_function(
            "(isLight) => document.body.dataset.jpThemeLight === isLight", arg=is_light
        )
        self.page.wait_for_function(_IN_THEME, arg=theme == "light")

    def close(self) -> None:
        """Close the page and its profile."""
        self.page.context.close()
