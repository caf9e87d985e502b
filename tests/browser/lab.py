"""A real JupyterLab and a real browser for tests: what a reader would see, asked in a few words.

    with LabServer(folder, logs) as server, Browser(server, shots) as browser:
        page = browser.open("20_inverting_a_network.ipynb")     # relative to the folder
        seconds = page.run_all()
        assert page.problems() == []
        assert all(plot["traces"] for plot in page.plots())
        milliseconds = page.move_slider("learning rate", presses=3)
        page.set_theme("dark"); page.screenshot("dark")
        page.reload(); page.run_all(); page.kernel_threads()

The server listens on a loopback port; settings, workspaces and runtime files live in a temporary folder; the browser reaches nothing
but the server. Slider names match the beginning of the label.
"""

from __future__ import annotations

import ast
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize, sync_playwright

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
_SETTINGS = {
    "docmanager-extension/plugin": {"autosave": False},
    # Cells outside the window would otherwise leave the page, and their plots with them.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
}
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

_PLOTS = """() => [...document.querySelectorAll('.js-plotly-plot')].map((graph) => ({
  title: graph.layout?.title?.text ?? '',
  traces: graph.querySelector('.main-svg') ? (graph.data ?? []).length : 0,
  points: (graph._fullData ?? []).reduce((sum, trace) => sum + (trace.y?.length ?? (trace.source ? 1 : 0)), 0),
  drawn: Number(graph.closest('.ddlab-plot')?.dataset.drawn ?? 1),
  cursor: graph.closest('.ddlab-plot')?.dataset.cursor ?? '',
  alt: graph.getAttribute('aria-label') ?? '',
  line_colours: (graph.data ?? []).map((trace) => trace.line?.color ?? trace.marker?.color ?? ''),
  text_colour: graph._fullLayout?.font?.color ?? '',
  width: graph.clientWidth,
}))"""

_CELLS = """() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell) => cell.toJSON())"""


class LabServer:
    """JupyterLab on a free loopback port, serving one folder."""

    def __init__(self, folder: Path, log: Path, python: str = sys.executable) -> None:
        self.folder, self._log, self._python = folder, log, python
        self.token = secrets.token_hex(16)
        self.address = ""

    def __enter__(self) -> LabServer:
        self._home = tempfile.TemporaryDirectory(prefix="ddlab-lab-", ignore_cleanup_errors=True)
        home = Path(self._home.name)
        for name, value in _SETTINGS.items():
            target = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(value))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        folders = {
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "IPYTHONDIR": "ipython",
        }
        environment = {
            **os.environ,
            **{name: str(home / value) for name, value in folders.items()},
            "JUPYTER_PREFER_ENV_PATH": "1",
            "JUPYTER_TOKEN": self.token,
        }
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": port,
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.folder,
            "LabApp.expose_app_in_browser": True,
            "LabApp.news_url": "",
            "LabApp.extension_manager": "readonly",
        }
        command = [self._python, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        command += [f"--{name}={value}" for name, value in options.items()]
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_reason: object) -> None:
        try:
            self._ask("/api/shutdown", "POST")  # ends the kernels as well
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            for ending in (signal.SIGTERM, signal.SIGKILL):
                if self._process.poll() is None:
                    os.killpg(self._process.pid, ending)  # a group of its own: start_new_session
                    try:
                        self._process.wait(10)
                    except subprocess.TimeoutExpired:
                        continue
        self._home.cleanup()

    def _wait_until_up(self, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._process.poll() is None:
            try:
                self._ask("/api/status")
                return
            except (OSError, urllib.error.URLError):
                time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not start; see {self._log}")

    def _ask(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(
            self.address + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=20) as reply:
            return reply.read()


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome on this machine."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Headless Chromium that knows one JupyterLab."""

    def __init__(self, server: LabServer, shots: Path) -> None:
        self._server, self._shots = server, shots

    def __enter__(self) -> Browser:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=find_chromium(), headless=True, args=_ARGUMENTS
        )
        return self

    def __exit__(self, *_reason: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def open(self, notebook: str, *, width: int = 1280, height: int = 1000) -> NotebookPage:
        """Open a notebook of the server's folder in a fresh browser profile, and wait for its kernel."""
        page = self._browser.new_context(viewport={"width": width, "height": height}).new_page()
        opened = NotebookPage(page, self._shots)
        page.goto(f"{self._server.address}/doc/tree/{notebook}?reset&token={self._server.token}")
        opened.wait_for_kernel()
        return opened


class NotebookPage:
    """One notebook in the browser."""

    def __init__(self, page: Page, shots: Path) -> None:
        self.page, self._shots = page, shots
        self.script_errors: list[str] = []
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self._note(f"uncaught: {error}"))
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)

    def _note(self, text: str) -> None:
        # anywidget says so when a widget starts slowly; nothing is lost, because the widgets ask for what they missed.
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
        done = "() => window.__ran && jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
        self.page.wait_for_function(done, timeout=timeout * 1000, polling=20)

    def wait_for(self, condition: str, seconds: float = 20) -> None:
        """Wait until a JavaScript function returns something true."""
        self.page.wait_for_function(condition, timeout=seconds * 1000)

    def slow_down(self, factor: float) -> None:
        """Let the page compute so many times slower (1: as fast as it can)."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": factor})

    def reload(self) -> None:
        """Save the notebook and load the page again; the kernel goes on."""
        self.command("docmanager:save")
        self.page.reload()
        self.wait_for_kernel()

    def in_kernel(self, expression: str) -> Any:
        """Evaluate a Python expression in the kernel; the value must be JSON."""
        asked = """(expression) => jupyterapp.shell.currentWidget.sessionContext.session.kernel
          .requestExecute({code: '', silent: true, user_expressions: {value: expression}})
          .done.then((reply) => reply.content.user_expressions.value)"""
        reply = self.page.evaluate(asked, f"__import__('json').dumps({expression})")
        if reply["status"] != "ok":
            raise RuntimeError(f"{reply['ename']}: {reply['evalue']}")
        # The kernel shows the repr of the JSON text.
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    def kernel_threads(self) -> list[str]:
        """Names of the threads that ddlab started in the kernel."""
        names = self.in_kernel("[thread.name for thread in __import__('threading').enumerate()]")
        return [name for name in names if name.startswith("ddlab")]

    # -- looking

    def plots(self) -> list[dict[str, Any]]:
        """Every plot: title, traces (0: not drawn), points, times drawn, cursor, alt text, colour of the text, width."""
        return self.page.evaluate(_PLOTS)

    def wait_for_plots(self, count: int, timeout: float = 20) -> float:
        """Wait until `count` plots are painted; returns the seconds that took."""
        start = time.monotonic()
        painted = """(count) => [...document.querySelectorAll('.js-plotly-plot')]
          .filter((graph) => graph.querySelector('.main-svg') && graph.data?.length).length >= count"""
        self.page.wait_for_function(painted, arg=count, timeout=timeout * 1000)
        return time.monotonic() - start

    def problems(self) -> list[str]:
        """What a reader should never see: failed cells, text on stderr, broken widgets, script errors."""
        found = [f"script: {text}" for text in self.script_errors]
        for number, cell in enumerate(self.page.evaluate(_CELLS)):
            if "raises-exception" in cell.get("metadata", {}).get("tags", []):
                continue
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    found.append(f"cell {number}: {output['ename']}: {output['evalue']}"[:400])
                elif output.get("name") == "stderr":
                    found.append(f"cell {number} wrote to stderr: {''.join(output['text'])}"[:400])
        text = self.page.locator(".jp-Notebook").inner_text()
        found += [f"on the page: {broken}" for broken in _BROKEN if broken in text]
        found += [f"plot {plot['title']!r} is empty" for plot in self.plots() if not plot["traces"]]
        return found

    def screenshot(self, name: str, *, cell: int | None = None) -> Path:
        """Save the notebook, or one cell, as it looks now, in full height."""
        self._shots.mkdir(parents=True, exist_ok=True)
        target = self._shots / f"{name}.png"
        size: ViewportSize = self.page.viewport_size or {"width": 1280, "height": 1000}
        tall = self.page.evaluate("() => document.querySelector('.jp-WindowedPanel-viewport').scrollHeight")
        whole: ViewportSize = {"width": size["width"], "height": min(max(int(tall) + 160, size["height"]), 12_000)}
        self.page.set_viewport_size(whole)
        self.page.evaluate("() => { document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0; }")
        self.page.wait_for_timeout(500)
        if cell is None:
            self.page.screenshot(path=target)
        else:
            self.page.locator(".jp-Notebook .jp-Cell").nth(cell).screenshot(path=target)
        self.page.set_viewport_size(size)
        return target

    # -- acting

    def slider(self, label: str) -> Any:
        """The handle of the slider whose label begins with `label`."""
        row = self.page.locator(".widget-slider, .jupyter-widgets.widget-inline-hbox").filter(
            has=self.page.locator(f'.widget-label:visible:text-matches("^{label}")')
        )
        return row.first.locator(".noUi-handle").first

    def move_slider(
        self, label: str, *, presses: int = 1, key: str = "ArrowRight", kind: str = "plot", timeout: float = 20
    ) -> list[float]:
        """Press a key on a slider and wait each time until something is painted anew.

        Args:
            kind: what is waited for: "plot", "cursor" (of a scrubber's curve) or "picture".

        Returns the milliseconds from key press to painted, one per press.
        """
        handle = self.slider(label)
        handle.scroll_into_view_if_needed()
        handle.focus()
        taken = []
        opposite = {
            "ArrowRight": "ArrowLeft",
            "ArrowLeft": "ArrowRight",
            "ArrowUp": "ArrowDown",
            "ArrowDown": "ArrowUp",
        }
        for _ in range(presses):
            end = "aria-valuemax" if key in ("ArrowRight", "ArrowUp") else "aria-valuemin"
            if float(handle.get_attribute("aria-valuenow")) == float(handle.get_attribute(end)):
                key = opposite.get(key, key)  # at the end of the slider: turn round
            self.page.evaluate("() => { __watch.painted.length = 0; __watch.down = 0; }")
            self.page.keyboard.press(key)
            seen = "(kind) => __watch.down && __watch.painted.some((one) => one.kind === kind && one.at > __watch.down)"
            self.page.wait_for_function(seen, arg=kind, timeout=timeout * 1000)
            took = (
                "(kind) => __watch.painted.find((one) => one.kind === kind && one.at > __watch.down).at - __watch.down"
            )
            taken.append(float(self.page.evaluate(took, kind)))
            self.page.wait_for_timeout(60)
        return taken

    def click(self, label: str) -> None:
        """Click the first enabled button with this text."""
        self.page.locator("button.jupyter-button:not([disabled])").filter(has_text=label).first.click()

    def set_theme(self, theme: str) -> None:
        """Switch JupyterLab to "light" or "dark" and wait until the page has followed."""
        name = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[theme]
        self.page.evaluate(
            "(theme) => jupyterapp.commands.execute('apputils:change-theme', {theme}).then(() => null)", name
        )
        wanted = "true" if theme == "light" else "false"
        self.page.wait_for_function("(wanted) => document.body.dataset.jpThemeLight === wanted", arg=wanted)
        self.page.wait_for_timeout(600)

    def close(self) -> None:
        """Close the page and its profile."""
        self.page.context.close()
