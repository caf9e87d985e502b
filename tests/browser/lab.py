"""A real JupyterLab and a real browser for tests: what a reader would see, asked in a few words.

    with LabServer(folder, logs) as server, Browser(server, shots) as browser:
        page = browser.open("20_inverting_a_network.ipynb")     # relative to the folder
        seconds = page.run_all()
        assert page.problems() == []
        assert all(plot["traces"] for plot in page.plots())
        milliseconds = page.move_slider("learning rate", presses=3)
        page.set_theme("dark"); page.screenshot("dark")
        page.reload(); page.run_all()

The server listens on a loopback port; settings, workspaces and runtime files live in a temporary
folder; the browser reaches nothing but the server. Slider names match the beginning of the label.
"""

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
from typing import Any, Literal, Self

from playwright.sync_api import Page, sync_playwright

from tests.browser.notebook_page import NotebookPage

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
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}


class LabServer:
    """JupyterLab on a free loopback port, serving one folder."""

    def __init__(self, folder: Path, log: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self._log = log
        self._python = python
        self.token = secrets.token_hex(16)
        self.address = ""

    def __enter__(self) -> Self:
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
            "JupyterNotebookApp.expose_app_in_browser": True,
            "LabApp.news_url": "",
            "LabApp.extension_manager": "readonly",
        }
        command = [self._python, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        for name, value in options.items():
            command.append(f"--{name}={value}")
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
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

    def forget_theme(self) -> None:
        """The next page is light, whatever the last one was when it was left."""
        chosen = "settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
        Path(self._home.name, chosen).unlink(missing_ok=True)

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
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


class Browser:
    """Headless Chromium that knows one JupyterLab."""

    def __init__(self, server: LabServer, shots: Path) -> None:
        self._server = server
        self._shots = shots

    def __enter__(self) -> Self:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=find_chromium(), headless=True, args=_ARGUMENTS
        )
        return self

    def __exit__(self, *_reason: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def open_file(
        self, path: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light"
    ) -> tuple[Page, list[str]]:
        """Open a page from the disk in a fresh profile, without a network; also the addresses it
        asks for.
        """
        size: Any = {"width": width, "height": 1000}
        page = self._browser.new_context(
            viewport=size, color_scheme=scheme, offline=True
        ).new_page()
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(path.resolve().as_uri())
        return page, requested

    def open(
        self, notebook: str, *, width: int = 1280, height: int = 1000, view: str = "doc/tree"
    ) -> NotebookPage:
        """Open a notebook of the server's folder in a fresh browser profile, and wait for its
        kernel.

        Args:
            view: "doc/tree" for JupyterLab, "notebooks" for Jupyter Notebook 7.
        """
        self._server.forget_theme()
        page = self._browser.new_context(viewport={"width": width, "height": height}).new_page()
        opened = NotebookPage(page, self._shots)
        page.goto(f"{self._server.address}/{view}/{notebook}?reset&token={self._server.token}")
        opened.wait_for_kernel()
        return opened
