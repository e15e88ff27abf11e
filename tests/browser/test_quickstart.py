"""The quick start as a person sees it: live, light and dark, saved, reopened and untrusted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import WAIT_MS, Lab, Notebook

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.needs("chromium", "pandas"),
    pytest.mark.timeout(120),
]

QUICK_START = "01_quickstart.ipynb"
HOSTILE = "<script>window.piRan = 1</script><img src=x onerror='window.piRan = 2'>"
MATHS = r"costs $5 or $6, $$7$$, \(x\) and \[y\]"
"""What JupyterLab sets as formulas wherever it finds it, but in preformatted text."""
HOSTILE_CODE = f"""\
hostile = await ctx.execute_tool("bash", {{"command": r\"\"\"cat <<'X'
{MATHS}
{HOSTILE}
X\"\"\"}})
hostile"""
CONTROL_CODE = 'from IPython.display import HTML\nHTML("<p>A real formula: $z^2$</p>")'

NARROW = 620
"""Width of a page in pixels, such as half a small screen."""
MIN_CONTRAST = 4.5
"""Of text, as WCAG AA wants it."""

OpenNotebook = Callable[..., Notebook]


def cards(notebook: Notebook) -> list[str]:
    """Return the first words of what is folded: status and title."""
    summaries = notebook.page.locator(".jp-OutputArea details > summary")
    return [" ".join(text.split()[:2]) for text in summaries.all_inner_texts()]


def check_outputs(notebook: Notebook) -> None:
    """Check what must be so in every state of the notebook."""
    page = notebook.page
    notebook.show_all()
    found = cards(notebook)
    for card in ("ok read", "ok daily_means", "error daily_means", "ok bash"):
        assert card in found
    failed = notebook.output('failed = await ctx.execute_tool("daily_means"')
    assert failed.get_by_text("no readings of station 'BV9'").first.is_visible()
    hostile = notebook.output("hostile = await")
    assert hostile.get_by_text(HOSTILE).first.is_visible()
    assert page.evaluate("window.piRan") is None
    notebook.output("A real formula").locator("mjx-container").wait_for(timeout=WAIT_MS)
    assert page.locator("mjx-container").count() == 1
    assert hostile.locator("summary").first.inner_text().count(MATHS) == 1
    text = page.locator(".jp-Notebook").inner_text()
    assert "model not found" not in text
    assert "Error displaying widget" not in text
    assert notebook.errors == []
    assert too_faint(notebook) == []
    assert cut_off(notebook) == []


def too_faint(notebook: Notebook) -> list[Any]:
    """Return texts of our outputs that have too little contrast, with their ratio."""
    return [
        [ratio, text] for ratio, text in notebook.page.evaluate(CONTRASTS) if ratio < MIN_CONTRAST
    ]


def cut_off(notebook: Notebook) -> Any:
    """Return texts of our outputs that reach out of the notebook's column."""
    return notebook.page.evaluate(CUT_OFF)


CONTRASTS = """() => {
    const parse = text => {
        const parts = text.match(/[\\d.]+/g).map(Number);
        const scale = text.startsWith("color(") ? 255 : 1;
        return [parts[0] * scale, parts[1] * scale, parts[2] * scale, parts[3] ?? 1];
    };
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
    const luminance = rgb => {
        const [r, g, b] = rgb.map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = [];
    for (const card of document.querySelectorAll(".jp-OutputArea details")) {
        const texts = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const text = texts.currentNode.data.trim();
            const own = texts.currentNode.parentElement;
            if (!text || !own.checkVisibility()) continue;
            const chain = [];
            for (let e = own; e; e = e.parentElement) chain.unshift(e);
            let ground = [255, 255, 255], opacity = 1;
            for (const e of chain) {
                const style = getComputedStyle(e);
                ground = over(parse(style.backgroundColor), ground);
                opacity *= Number(style.opacity);
            }
            const colour = parse(getComputedStyle(own).color);
            const shown = over([...colour.slice(0, 3), colour[3] * opacity], ground);
            const [low, high] = [luminance(shown), luminance(ground)].sort((a, b) => a - b);
            found.push([Math.round((high + 0.05) / (low + 0.05) * 100) / 100, text.slice(0, 40)]);
        }
    }
    return found;
}"""

CUT_OFF = """() => {
    const found = [];
    for (const area of document.querySelectorAll(".jp-OutputArea-output")) {
        const right = area.getBoundingClientRect().right;
        for (const e of area.querySelectorAll("summary, summary *")) {
            if (e.getBoundingClientRect().right > right + 1) found.push(e.textContent.slice(0, 60));
        }
    }
    return found;
}"""

TRUSTED = """() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells)
    .filter(cell => cell.type === "code").map(cell => cell.trusted)"""


def test_quick_start_live_light_and_dark_saved_reopened_and_untrusted(
    lab: Lab, open_notebook: OpenNotebook
) -> None:
    path = lab.folder / QUICK_START
    stored = json.loads(path.read_bytes())
    for number, code in enumerate((HOSTILE_CODE, CONTROL_CODE)):
        stored["cells"].append({**stored["cells"][1], "id": f"more-{number}", "source": code})
    path.write_text(json.dumps(stored), encoding="utf-8")

    notebook = open_notebook(QUICK_START)
    notebook.command("notebook:run-all-cells")
    notebook.output("A real formula").locator("mjx-container").wait_for(timeout=WAIT_MS)
    assert notebook.output("assert rows == 192").inner_text().strip() == "everything as expected"
    check_outputs(notebook)
    notebook.picture("live-light")

    notebook.command("docmanager:save")
    saved = path.read_text(encoding="utf-8")
    assert "application/vnd.jupyter.widget" not in saved
    assert 'output_type": "error"' not in saved

    notebook.command("apputils:change-theme", theme="JupyterLab Dark")
    notebook.wait("() => document.body.dataset.jpThemeLight === 'false'")
    check_outputs(notebook)
    notebook.picture("live-dark")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    notebook.wait("() => document.body.dataset.jpThemeLight === 'true'")
    notebook.page.close()
    lab.end_sessions()

    reopened = open_notebook(QUICK_START, is_sharp=True)
    assert set(reopened.page.evaluate(TRUSTED)) == {True}
    check_outputs(reopened)
    reopened.picture("reopened")
    reopened.picture_of("readme", "outcome = await", "first = await", "%trace")
    reopened.page.close()

    # The signature is one of the content: another content is not trusted.
    copy = json.loads(saved)
    copy["metadata"]["copied"] = True
    (lab.folder / "untrusted.ipynb").write_text(json.dumps(copy), encoding="utf-8")
    untrusted = open_notebook("untrusted.ipynb")
    assert False in untrusted.page.evaluate(TRUSTED)
    check_outputs(untrusted)
    untrusted.picture("untrusted")


def test_interrupt_command_stops_a_running_call_at_once(
    lab: Lab, open_notebook: OpenNotebook
) -> None:
    name = lab.notebook(
        "long.ipynb",
        "%load_ext pi_kernel",
        'await ctx.tools.bash(command="echo started; sleep 1000")',
        "6 * 7",
    )
    notebook = open_notebook(name)
    notebook.start("notebook:run-all-cells")
    notebook.output("sleep 1000").get_by_text(
        re.compile("^Running echo started; sleep 1000 · ")
    ).wait_for(state="attached", timeout=WAIT_MS)
    notebook.picture("running")
    seconds = notebook.page.evaluate(INTERRUPT)
    assert seconds < 0.5
    stopped = notebook.output("sleep 1000")
    assert "the cell was interrupted" in stopped.inner_text()
    partial = stopped.locator("details[open]", has_text="aborted").locator("pre")
    partial.wait_for(timeout=WAIT_MS)
    assert partial.inner_text() == "started"
    notebook.picture("interrupted")
    notebook.command("notebook:run-all-below")
    notebook.output("6 * 7").get_by_text("42").wait_for(timeout=WAIT_MS)


INTERRUPT = """async () => {
    const begin = performance.now();
    const cell = [...document.querySelectorAll(".jp-CodeCell")].find(
        cell => cell.textContent.includes("sleep 1000"));
    const told = new Promise(resolve => {
        const look = () => cell.textContent.includes("KeyboardInterrupt") && resolve();
        new MutationObserver(look).observe(cell, {childList: true, subtree: true});
    });
    await window.jupyterapp.commands.execute("notebook:interrupt-kernel");
    await told;
    return (performance.now() - begin) / 1000;
}"""


def test_tables_of_tools_and_calls_fit_a_narrow_page(lab: Lab, open_notebook: OpenNotebook) -> None:
    name = lab.notebook(
        "narrow.ipynb",
        "%load_ext pi_kernel",
        "@ctx.tool\ndef total(numbers: list[float], digits: int = 2) -> float:\n"
        '    """Add up numbers."""\n    return round(sum(numbers), digits)',
        'await ctx.execute_tool("edit", {"path": "x.txt", "edits":'
        ' [{"oldText": "a", "newText": "b"}]}) if __import__("pathlib").Path("x.txt")'
        '.write_text("a\\nc\\n") else None',
        'await ctx.execute_tool("read", {"path": 3})',
        "%tools",
        "%trace all",
    )
    notebook = open_notebook(name)
    notebook.command("notebook:run-all-cells")
    notebook.output("%trace all").locator("table").first.wait_for(timeout=WAIT_MS)
    notebook.picture("narrow", NARROW)
    assert cut_off(notebook) == []
    assert notebook.page.evaluate(SCROLLED) == []
    assert too_faint(notebook) == []
    assert "from this notebook" in notebook.output("%tools").inner_text()


SCROLLED = """() => Array.from(document.querySelectorAll(".jp-OutputArea details > div"))
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""


def test_pi_kernel_has_the_tools_in_its_first_cell(lab: Lab, open_notebook: OpenNotebook) -> None:
    name = lab.notebook("pi.ipynb", 'await ctx.execute_tool("ls", {"path": "data"})', kernel="pi")
    notebook = open_notebook(name)
    notebook.command("notebook:run-all-cells")
    output = notebook.output("execute_tool")
    output.locator("summary", has_text="ls").first.wait_for(timeout=WAIT_MS)
    assert "readings.csv" in output.inner_text()
    assert (
        notebook.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.kernelDisplayName"
        )
        == "Pi"
    )
    notebook.picture("pi-kernel")
