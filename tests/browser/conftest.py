"""One JupyterLab and one Chromium for all tests that look at a page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from pi_kernel.cli import main

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
TOKEN = "of-a-test"  # noqa: S105 - of a server that lives for a minute
WAIT_MS = 30_000
WIDTH = 1_000
HEIGHT = 900
MIN_HEIGHT = 300
CELL_GAP = 8
"""Sizes in pixels, of the page."""
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SETTINGS = {
    # No question about news, which would lie over the notebook.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Pictures and checks are of the whole notebook, not of what is in sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
}


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def ask(self, method: str, path: str) -> Any:
        """Send a request to the server's API."""
        request = urllib.request.Request(  # noqa: S310 - the server of these tests
            f"{self.url}/api/{path}", method=method, headers={"Authorization": f"token {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
            text = answer.read()
        return json.loads(text) if text else None

    def end_sessions(self) -> None:
        """End all kernels; a notebook that is opened again would get its old one."""
        for session in self.ask("GET", "sessions"):
            self.ask("DELETE", f"sessions/{session['id']}")

    def notebook(self, name: str, *cells: str, kernel: str = "python3") -> str:
        """Write a notebook of code cells; return its name."""
        v4: Any = nbformat.v4
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        made = v4.new_notebook(
            cells=[v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": spec}
        )
        text = nbformat.writes(made)
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of the notebooks, with the "Pi" kernel installed."""
    top = tmp_path_factory.mktemp("lab")
    shutil.copytree(
        ROOT / "notebooks", top / "work", ignore=shutil.ignore_patterns(".ipynb_checkpoints")
    )
    for name, values in SETTINGS.items():
        path = top / f"config/lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    assert main(["install", "--prefix", str(top / "prefix")]) == 0
    environment = os.environ | {
        "HOME": str(top),
        "JUPYTER_CONFIG_DIR": str(top / "config"),
        "JUPYTER_DATA_DIR": str(top / "data"),
        "JUPYTER_PATH": str(top / "prefix/share/jupyter"),
        "JUPYTER_RUNTIME_DIR": str(top / "runtime"),
        "JUPYTER_TOKEN": TOKEN,
        "PYTHONPATH": str(ROOT),
    }
    options = ("--no-browser", "--expose-app-in-browser", "--allow-root", "--port=0")
    process = subprocess.Popen(  # noqa: S603 - JupyterLab
        [sys.executable, "-P", "-m", "jupyterlab", *options],
        cwd=top / "work",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield Lab(_address(process), top / "work")
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.communicate(timeout=20)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


def _address(process: subprocess.Popen[str]) -> str:
    """Read what the server says until it says where it is."""
    assert process.stderr is not None
    printed = ""
    for line in process.stderr:
        printed += line
        if match := re.search(r"(http://127\.0\.0\.1:\d+)/lab", line):
            return match[1]
    raise AssertionError(printed)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - tests without it are skipped

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(CHROMIUM_OPTIONS)
        )
        yield running
        running.close()


@dataclass
class Notebook:
    """A notebook that is open in a page."""

    page: Any
    errors: list[str]
    """What went wrong in scripts of the page."""

    def command(self, name: str, **arguments: Any) -> None:
        """Run a command of the application, to its end."""
        code = "([name, given]) => window.jupyterapp.commands.execute(name, given).then(() => null)"
        self.page.evaluate(code, [name, arguments])

    def start(self, name: str) -> None:
        """Run a command of the application without waiting for it."""
        code = "name => void window.jupyterapp.commands.execute(name)"
        self.page.evaluate(code, name)

    def cell(self, text: str) -> Any:
        """Return the code cell with a text in its code."""
        cells = self.page.locator(".jp-CodeCell")
        return cells.filter(has=self.page.locator(".jp-Cell-inputArea", has_text=text)).first

    def output(self, text: str) -> Any:
        """Return the outputs of the code cell with a text in its code."""
        return self.cell(text).locator(".jp-Cell-outputArea")

    def wait(self, condition: str, argument: Any = None) -> None:
        """Wait until a JavaScript function gives something true."""
        self.page.wait_for_function(condition, arg=argument, timeout=WAIT_MS)

    def show_all(self, width: int = WIDTH) -> None:
        """Make the page as high as the notebook."""
        self.page.mouse.move(0, 0)
        panel = self.page.locator(".jp-WindowedPanel-outer")
        self.page.set_viewport_size({"width": width, "height": MIN_HEIGHT})
        hidden = panel.evaluate("panel => panel.scrollHeight - panel.clientHeight")
        self.page.set_viewport_size({"width": width, "height": MIN_HEIGHT + hidden})
        panel.evaluate("panel => panel.scrollTo(0, 0)")

    def picture(self, name: str, width: int = WIDTH) -> None:
        """Take a picture of the whole notebook."""
        self.show_all(width)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled", scale="css")

    def picture_of(self, name: str, *texts: str) -> None:
        """Take a sharp picture of the code cells with these texts, for the documentation."""
        self.page.evaluate(ONLY, list(texts))
        self.show_all()
        box = self.page.locator(".jp-WindowedPanel-viewport").bounding_box()
        last = self.page.locator(".jp-Cell:visible").last.bounding_box()
        box["height"] = last["y"] + last["height"] - box["y"] + CELL_GAP
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", clip=box, animations="disabled")


@pytest.fixture
def open_notebook(lab: Lab, browser: Any) -> Iterator[Callable[..., Notebook]]:
    """Open a notebook of the folder in a page of its own; its kernel ends with the test."""
    pages = []

    def open_it(name: str, *, is_sharp: bool = False) -> Notebook:
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            reduced_motion="reduce",
            device_scale_factor=2 if is_sharp else 1,
        )
        page.set_default_timeout(WAIT_MS)
        pages.append(page)
        notebook = Notebook(page, [])
        page.on("pageerror", lambda error: notebook.errors.append(str(error)))
        page.goto(f"{lab.url}/doc/tree/{name}?token={TOKEN}&reset")
        notebook.wait(READY)
        return notebook

    yield open_it
    for page in pages:
        page.close()
    lab.end_sessions()


ONLY = """texts => {
    for (const cell of document.querySelectorAll(".jp-Cell")) {
        const has = text => cell.textContent.includes(text);
        const isWanted = cell.matches(".jp-CodeCell") && texts.some(has);
        cell.style.display = isWanted ? "" : "none";
    }
}"""

READY = """() => {
    const widget = window.jupyterapp?.shell.currentWidget;
    const kernel = widget?.sessionContext?.session?.kernel;
    return kernel?.status === "idle" && widget.content?.model && !document.getElementById(
        "jupyterlab-splash");
}"""
