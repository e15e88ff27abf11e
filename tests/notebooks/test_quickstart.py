"""The quick start: what its cells give, and that the stored notebook holds none of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from html import unescape
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import pi_kernel

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
QUICK_START = NOTEBOOKS / "01_quickstart.ipynb"
SOURCE = Path(pi_kernel.__file__).parent

MEANS = """\
                    air_c  water_c
station date                      \n\
BV1     2024-06-14   17.4      9.8
        2024-06-15   17.5      9.8
BV2     2024-06-14   16.6      9.2
        2024-06-15   16.6      9.2
BV3     2024-06-14   15.0      8.1
        2024-06-15   15.2      8.2
BV4     2024-06-14   12.1      6.3
        2024-06-15   12.3      6.3"""

pytestmark = pytest.mark.needs("pandas")


def read(path: Path) -> Any:
    """Read a notebook."""
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the notebooks that may be changed."""
    copy = tmp_path_factory.mktemp("quickstart") / "notebooks"
    shutil.copytree(NOTEBOOKS, copy, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    return copy


@pytest.fixture(scope="module")
def executed(folder: Path) -> dict[str, Any]:
    """The cells after a run in the stock Python kernel, by the beginning of their code."""
    notebook = read(folder / QUICK_START.name)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(
        notebook, kernel_name="python3", resources=resources, timeout=60
    ).execute()
    return {cell.source: cell for cell in notebook.cells if cell.cell_type == "code"}


def cell_with(executed: dict[str, Any], text: str) -> Any:
    """Return the one cell that has a text in its code."""
    [cell] = [cell for source, cell in executed.items() if text in source]
    return cell


def shown(executed: dict[str, Any], text: str) -> dict[str, str]:
    """Return the data of the only output of the cell with a text in its code."""
    [output] = cell_with(executed, text).outputs
    return dict(output.data)


def printed(executed: dict[str, Any], text: str) -> str:
    """Return what that cell printed."""
    [output] = cell_with(executed, text).outputs
    return str(output.text)


def visible(html: str) -> str:
    """Return the text of HTML."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


# -- what is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_stored_notebook_has_no_outputs_and_names_the_stock_kernel(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


def test_quick_start_ships_the_data_of_the_demo() -> None:
    for name in ("readings.csv", "stations.csv"):
        assert (NOTEBOOKS / "data" / name).read_bytes() == (
            SOURCE / "demo" / "data" / name
        ).read_bytes()


# -- what the cells give -------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.timeout(120)
class TestExecuted:
    def test_last_cell_finds_everything_as_expected(self, executed: dict[str, Any]) -> None:
        assert printed(executed, "assert rows == 192") == "everything as expected\n"

    def test_first_result_is_a_card_and_a_line(self, executed: dict[str, Any]) -> None:
        data = shown(executed, "outcome = await")
        assert sorted(data) == ["text/html", "text/plain"]
        assert data["text/html"].startswith("<details open ")
        text = visible(data["text/html"])
        assert text.startswith("ok read data/readings.csv:1-4 ")
        assert "2024-06-14T00:00Z,BV1,13.19,9.50,40.0,12.90" in text
        assert "\n" not in data["text/plain"]

    def test_values_are_those_of_the_data_file(self, executed: dict[str, Any]) -> None:
        assert shown(executed, "counted = await") == {"text/plain": "192"}
        assert shown(executed, "first.value.index.size")["text/plain"] == "(2, 'read')"
        assert shown(executed, "versions = {")["text/plain"] == "2"
        assert shown(executed, "asyncio.gather")["text/plain"] == MEANS

    def test_own_tool_is_a_card_with_the_table_and_the_call_below(
        self, executed: dict[str, Any]
    ) -> None:
        data = shown(executed, "first = await")
        assert sorted(data) == ["text/html", "text/plain"]
        text = visible(data["text/html"])
        assert text.startswith('ok daily_means station="BV1"')
        assert "2024-06-14" in text
        assert "read data/readings.csv" in text

    def test_failures_say_what_happened_and_the_cell_goes_on(
        self, executed: dict[str, Any]
    ) -> None:
        data = shown(executed, "failed = await")
        assert sorted(data) == ["text/html", "text/plain"]
        assert data["text/html"].startswith("<details open ")
        text = visible(data["text/html"])
        assert text.startswith('error daily_means station="BV9"')
        assert "no readings of station 'BV9'" in text
        assert printed(executed, "except ToolCallError") == (
            "Offset 1000 is beyond end of file (194 lines total)\n"
        )

    def test_map_reads_the_package_s_own_source(self, executed: dict[str, Any]) -> None:
        lines = {
            path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8").count("\n")
            for path in SOURCE.rglob("*.py")
        }
        expected = (max(lines, key=lines.__getitem__), sum(lines.values()))
        outputs = cell_with(executed, "ctx.map").outputs
        assert outputs[-1].data["text/plain"] == str(expected)

    def test_cell_is_the_caller_of_its_calls(self, executed: dict[str, Any]) -> None:
        cell = cell_with(executed, "report = await")
        name = f"cell-{cell.execution_count}"
        expected = (name, "running", [f"{name}/1", f"{name}/1/1"])
        assert shown(executed, "report = await")["text/plain"] == str(expected)
        trace = shown(executed, "%trace")
        assert sorted(trace) == ["text/html", "text/plain"]
        first, *rows = trace["text/plain"].splitlines()
        assert re.fullmatch(rf"Trace {name}: 2 calls, .*", first)
        assert [re.sub(r"^ok +(< )?[\d.]+ m?s +", "", row) for row in rows] == [
            'daily_means station="BV4"',
            "└─ read data/readings.csv",
        ]
        assert visible(trace["text/html"]).startswith(f"Trace {name} ")

    def test_tools_lists_the_tool_with_its_parameter(self, executed: dict[str, Any]) -> None:
        data = shown(executed, "%tools daily")
        assert sorted(data) == ["text/html", "text/plain"]
        for text in (data["text/plain"], visible(data["text/html"])):
            assert "daily_means" in text
            assert "station" in text
            assert "Give a station" in text
            assert "bash" not in text

    def test_outputs_need_no_widget_and_name_no_place_of_this_machine(
        self, executed: dict[str, Any], folder: Path
    ) -> None:
        outputs = [output for cell in executed.values() for output in cell.outputs]
        kinds = {kind for output in outputs for kind in output.get("data", {})}
        assert kinds == {"text/html", "text/plain"}
        text = json.dumps(outputs)
        places = {folder, NOTEBOOKS.parent, SOURCE, Path.home(), Path(sys.prefix)}
        assert [place for place in places if str(place) in text] == []

    def test_html_is_what_an_untrusted_notebook_keeps(self, executed: dict[str, Any]) -> None:
        outputs = [output for cell in executed.values() for output in cell.outputs]
        ours = [
            output.data["text/html"]
            for output in outputs
            if "dataframe" not in output.get("data", {}).get("text/html", "dataframe")
        ]
        assert len(ours) >= 5
        tags = {tag for html in ours for tag in re.findall(r"<(\w+)", html)}
        assert tags <= {"details", "summary", "div", "span", "b", "i", "br", "pre"} | {
            "table",
            "tbody",
            "thead",
            "tr",
            "td",
            "th",
        }
        names = {name for html in ours for name in re.findall(r"<[^>]* ([\w-]+)=", html)}
        assert names <= {"style", "colspan"}
