"""Live views in a page: the calls of a running cell, the trace, and what is left of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import READY, ROOT, WAIT_MS, Lab, Notebook

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.needs("chromium"),
    pytest.mark.timeout(150),
]

AXE = ROOT / "widgets/node_modules/axe-core/axe.min.js"
GONE = "The kernel is gone. This is the last state it sent."
UNLOADED = "Unloaded: pi_kernel is no longer active in this kernel."
FAST_TRACE_MS = 2_000
"""A bound for a loaded machine; the benchmark prints the time."""
SMOOTH_FRAME_MS = 100
LOAD = "%load_ext pi_kernel"
HOSTILE = "<script>window.piRan = 1</script></pre><img src=x onerror='window.piRan = 2'>"
COMMAND = "; ".join(
    (
        f"cat <<'X'\n{HOSTILE}\nX\nhead -c 10000000 /dev/zero | tr '\\0' a",
        "printf '\\n\\033[32mgreen\\033[0m\\n'",
        "sleep 90",
    )
)
HOSTILE_CELL = f"""
import asyncio
hostile = {HOSTILE!r} + "\\u202ebidi\\u202c \\u200b\\u200b \\x1b[31mred"
@ctx.tool
async def nasty(text: str) -> str:
    "Give a hostile text back."
    await asyncio.Event().wait()
await asyncio.gather(
    ctx.execute_tool("nasty", {{"text": hostile}}),
    ctx.execute_tool(hostile, {{"a": 1}}),
    ctx.execute_tool("bash", {{"command": {COMMAND!r}}}),
    ctx.execute_tool("bash", {{"command": "echo no; exit 3"}}),
)
"""
BIG_CELL = """
from pi_kernel import ToolContext
@ctx.tool
async def child(n: int) -> int:
    "One of many."
    if n % 37 == 0:
        raise ValueError(f"bad {n}")
    return n
@ctx.tool
async def many(n: int, ctx: ToolContext) -> int:
    "Make many calls."
    for i in range(n):
        await ctx.execute_tool("child", {"n": i})
    return n
for _ in range(50):
    await ctx.execute_tool("many", {"n": 199})
"""

OpenNotebook = Callable[..., Notebook]


def run_next(notebook: Notebook) -> None:
    """Run the active cell without waiting, and go on to the next."""
    notebook.start("notebook:run-cell-and-select-next")


def wait_for_end(notebook: Notebook, index: int) -> None:
    """Wait until the cell with this index has run."""
    notebook.wait(
        """index => {
            const prompt = document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")[index];
            return /\\d/.test(prompt.textContent);
        }""",
        index,
    )


def card(notebook: Notebook, text: str) -> Any:
    """Return the live card of a call."""
    return notebook.page.locator(".pi-card", has_text=text)


def check_accessibility(notebook: Notebook) -> None:
    """Check that axe-core finds no serious fault in the live views."""
    page = notebook.page
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(SERIOUS_FAULTS) == []


SERIOUS_FAULTS = """async () => {
    const report = await axe.run(".pi-host", { resultTypes: ["violations"] });
    return report.violations
        .filter(fault => ["serious", "critical"].includes(fault.impact))
        .map(fault => [fault.id, ...fault.nodes.map(node => node.html.slice(0, 200))]);
}"""


def choose_theme(notebook: Notebook, name: str) -> None:
    """Change the page's theme and wait until the views have followed."""
    notebook.command("apputils:change-theme", theme=f"JupyterLab {name}")
    notebook.wait(
        """theme => [...document.querySelectorAll(".pi-host")].every(
            host => host.shadowRoot.querySelector(".pi").dataset.piTheme === theme)""",
        name.lower(),
    )


def picture(notebook: Notebook, name: str) -> None:
    """Take a picture of the page with a view in its middle."""
    notebook.page.evaluate("document.querySelector('.pi-host').scrollIntoView({block: 'center'})")
    folder = Path(ROOT, "build/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=folder / f"{name}.png", animations="disabled", scale="css")


@pytest.mark.skipif(not AXE.exists(), reason="needs: npm --prefix widgets ci")
def test_running_calls_are_live_can_be_stopped_and_leave_static_html(
    lab: Lab, open_notebook: OpenNotebook
) -> None:
    name = lab.notebook("calls.ipynb", LOAD, HOSTILE_CELL)
    notebook = open_notebook(name)
    page = notebook.page
    run_next(notebook)
    wait_for_end(notebook, 0)
    run_next(notebook)
    shell = card(notebook, "cat <<'X'")
    shell.get_by_text("green", exact=True).wait_for(timeout=WAIT_MS)
    assert shell.get_by_text("2 earlier lines").is_visible()
    nasty = card(notebook, "nasty").first
    assert nasty.get_by_text("running").is_visible()
    assert nasty.get_by_text("U+202E").is_visible()
    failed = card(notebook, "echo no")
    assert failed.get_by_text("exit 3", exact=True).is_visible()
    page.get_by_text("4 calls, 2 ended, 2 running").wait_for()
    check_accessibility(notebook)
    picture(notebook, "calls-light")
    choose_theme(notebook, "Dark")
    check_accessibility(notebook)
    picture(notebook, "calls-dark")
    choose_theme(notebook, "Light")
    page.set_viewport_size({"width": 520, "height": 900})
    picture(notebook, "calls-narrow")
    page.set_viewport_size({"width": 1_000, "height": 900})

    notebook.command("docmanager:save")
    saved = (lab.folder / name).read_text(encoding="utf-8")
    assert "application/vnd.jupyter.widget" not in saved
    shell.get_by_role("button", name="Stop").click()
    shell.get_by_text("aborted", exact=True).wait_for()
    assert nasty.get_by_text("running").is_visible()
    nasty.get_by_role("button", name="Stop").click()
    wait_for_end(notebook, 1)
    page.locator(".pi-host").wait_for(state="detached")
    assert notebook.output("hostile").inner_text().startswith("cell-2: 4 tool calls")
    assert page.evaluate("window.piRan") is None
    assert notebook.errors == []
    notebook.command("docmanager:save")
    assert "application/vnd.jupyter.widget" not in (lab.folder / name).read_text(encoding="utf-8")


@pytest.mark.skipif(not AXE.exists(), reason="needs: npm --prefix widgets ci")
def test_a_trace_of_10000_calls_opens_fast_scrolls_and_outlives_a_reload(
    lab: Lab, open_notebook: OpenNotebook
) -> None:
    name = lab.notebook("trace.ipynb", LOAD, BIG_CELL, "%trace", "%unload_ext pi_kernel")
    notebook = open_notebook(name)
    page = notebook.page
    run_next(notebook)
    wait_for_end(notebook, 0)
    run_next(notebook)
    wait_for_end(notebook, 1)
    page.evaluate("() => { window.piStart = performance.now() }")
    run_next(notebook)
    page.get_by_text("10,000 calls").first.wait_for()
    notebook.wait(
        """() => document.querySelector(".pi-host")?.shadowRoot.textContent.includes(
            "10,000 calls") && (window.piEnd ??= performance.now())"""
    )
    assert page.evaluate("window.piEnd - window.piStart") < FAST_TRACE_MS
    grid = page.get_by_role("treegrid", name="Calls")
    assert grid.get_attribute("aria-rowcount") == "10002"
    wait_for_end(notebook, 2)
    gaps = page.evaluate(SCROLL)
    assert gaps["rows"] < 50
    assert gaps["slow"] < SMOOTH_FRAME_MS

    page.get_by_role("button", name="300 problems").click()
    assert grid.get_attribute("aria-rowcount") == "352"
    row = page.locator(".pi-tr .row", has_text="n=37").first
    row.click()
    page.get_by_role("tab", name="Result").click()
    page.get_by_text("child raised ValueError").wait_for()
    check_accessibility(notebook)
    page.set_viewport_size({"width": 1_000, "height": 1_300})
    picture(notebook, "trace-light")
    choose_theme(notebook, "Dark")
    check_accessibility(notebook)
    picture(notebook, "trace-dark")
    choose_theme(notebook, "Light")
    page.set_viewport_size({"width": 520, "height": 1_300})
    notebook.wait(NARROW_AXIS)
    picture(notebook, "trace-narrow")
    page.set_viewport_size({"width": 1_000, "height": 900})

    check_keys(notebook, grid)
    notebook.command("docmanager:save")
    saved = (lab.folder / name).read_text(encoding="utf-8")
    assert "application/vnd.jupyter.widget" not in saved
    assert "9,7" in saved  # how many calls the table leaves out
    page.reload()
    page.get_by_text("10,000 calls").first.wait_for()
    page.get_by_role("button", name="300 problems").wait_for()

    notebook.command("notebook:move-cursor-down")
    page.locator(".jp-CodeCell", has_text="%unload_ext").click()
    notebook.start("notebook:run-cell")
    page.get_by_text(UNLOADED).wait_for()
    assert notebook.errors == []


NARROW_AXIS = """() => {
    const axis = document.querySelector(".pi-host").shadowRoot.querySelector(".ax");
    const labels = [...axis.children].filter(label => label.textContent);
    return axis.clientWidth < 100 && labels.length === 1;
}"""


def check_keys(notebook: Notebook, grid: Any) -> None:
    """Go through the trace by keyboard; the notebook's own keys stay out of it."""
    page = notebook.page
    cells = page.locator(".jp-Cell").count()

    def chosen() -> str:
        return str(page.locator(".pi-tr .row[aria-selected=true]").inner_text())

    page.keyboard.press("Escape")
    grid.press("Home")
    assert chosen().startswith("Cell 2")
    grid.press("ArrowDown")
    assert chosen().startswith("many")
    grid.press("End")
    assert "n=185" in chosen()
    grid.press("/")
    page.keyboard.type("abe")
    assert page.get_by_text("No call fits this filter.").is_visible()
    page.keyboard.press("Escape")
    assert grid.get_attribute("aria-rowcount") == "10002"
    grid.press("Home")
    grid.press("e")
    assert "n=0" in chosen()
    grid.press("ArrowLeft")
    assert chosen().startswith("many")
    grid.press("ArrowLeft")
    assert page.locator(".pi-tr .row[aria-selected=true]").get_attribute("aria-expanded") == "false"
    grid.press("ArrowRight")
    grid.press("ArrowRight")
    assert "n=0" in chosen()
    assert page.locator(".jp-Cell").count() == cells


SCROLL = """async () => {
    const root = document.querySelector(".pi-host").shadowRoot;
    const scroller = root.querySelector(".pi-grid");
    const gaps = [];
    let last = performance.now();
    for (let frame = 0; frame < 90; frame++) {
        scroller.scrollTop += 411;
        const now = await new Promise(resolve => requestAnimationFrame(resolve));
        gaps.push(now - last);
        last = now;
    }
    const rows = root.querySelectorAll(".row").length;
    scroller.scrollTop = 0;
    // A single gap is something else on the page.
    return { slow: gaps.sort((a, b) => a - b)[80], rows };
}"""


def test_a_view_says_that_its_kernel_is_gone(lab: Lab, open_notebook: OpenNotebook) -> None:
    cell = 'task = ctx.tools.bash(command="echo begun; sleep 60")\ntask'
    notebook = open_notebook(lab.notebook("gone.ipynb", LOAD, cell, "await task"))
    page = notebook.page
    for index in range(2):
        run_next(notebook)
        wait_for_end(notebook, index)
    shown = card(notebook, "echo begun")
    shown.get_by_text("begun", exact=True).wait_for()
    assert shown.count() == 1
    page.evaluate(SECOND_VIEW)
    notebook.wait("() => document.querySelectorAll('.pi-host').length === 2")
    page.evaluate("() => void window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.get_by_text(GONE).first.wait_for()
    assert page.get_by_text(GONE).count() == 2
    assert shown.first.get_by_role("button", name="Stop").is_hidden()
    assert shown.first.get_by_text("unfinished").is_visible()
    picture(notebook, "kernel-gone")
    notebook.wait(READY)
    assert notebook.errors == []


SECOND_VIEW = """() => {
    const place = document.querySelector("[class^=pi-at-]");
    const second = document.createElement("div");
    second.className = place.className;
    place.closest(".jp-OutputArea").append(second);
}"""
