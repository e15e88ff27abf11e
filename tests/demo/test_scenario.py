"""The demo's job: which calls it makes, what they give, and that nothing of it is fixed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import ToolSession
from pi_kernel.demo import DEMO_DATA, DemoRun, run_demo
from pi_kernel.demo.folder import CopiedFile
from pi_kernel.demo.scenario import _choose_edit
from pi_kernel.traces import CallRecord, TraceNode

FILES = {
    "heights.csv": "site,height_m\nA,2\nB,4\n",
    "notes.md": "# Notes\n\nThe mast leans a little.\n",
}
IDS = [
    *("call-1", "call-2", "call-3", "call-4"),
    *("call-5", "call-5/1", "call-5/2", "call-5/2/1", "call-5/3", "call-5/3/1"),
    *("call-6", "call-7", "call-8"),
    *("batch-slow", "batch-read", "batch-own", "batch-own/1"),
    *("model-ls", "model-slow"),
    *("model-1", "model-1/1", "model-2", "model-2/1"),
    *("model-look", "model-write"),
]


def folder_of(path: Path, files: dict[str, str] | None = None) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in (FILES if files is None else files).items():
        (path / name).write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    """One run that several tests look at."""
    return run_demo(folder_of(tmp_path_factory.mktemp("given")))


def by_id(run: DemoRun) -> dict[str, CallRecord]:
    return {call.id: call for call in run.calls}


def shape(node: TraceNode) -> dict[str, Any]:
    return {f"{node.call.id} {node.call.tool}": [shape(child) for child in node.children]}


def test_every_call_has_its_id_in_the_order_it_was_asked_for(run: DemoRun) -> None:
    assert sorted(call.id for call in run.calls) == sorted(IDS)
    assert run.source_order == [call.id for call in run.calls]
    roots = [call_id for call_id in run.source_order if "/" not in call_id]
    assert roots == [call_id for call_id in IDS if "/" not in call_id]


def test_nothing_is_unexpected_and_each_way_to_end_is_counted(run: DemoRun) -> None:
    assert run.unexpected == []
    assert run.counts == {"ok": 21, "error": 2, "invalid": 1, "blocked": 1}


def test_nested_calls_name_the_call_that_made_them(run: DemoRun) -> None:
    parents = {call.id: call.parent_id for call in run.calls}
    assert parents == {call_id: call_id.rpartition("/")[0] or None for call_id in parents}


def test_tree_holds_the_nested_calls_below_the_tool_that_made_them(run: DemoRun) -> None:
    survey = next(node for node in run.tree if node.call.tool == "survey")
    assert shape(survey) == {
        "call-5 survey": [
            {"call-5/1 ls": []},
            {"call-5/2 describe": [{"call-5/2/1 read": []}]},
            {"call-5/3 describe": [{"call-5/3/1 read": []}]},
        ]
    }
    assert sum(1 for root in run.tree for _ in root.walk()) == len(run.calls)


def test_values_are_those_of_the_files(run: DemoRun) -> None:
    calls = by_id(run)
    assert calls["call-1"].text == "heights.csv\nnotes.md"
    assert calls["call-2"].text == FILES["heights.csv"]
    counted = [line.split() for line in calls["call-3"].text.splitlines()]
    assert counted == [
        ["3", "3", "22", "heights.csv"],
        ["3", "7", "34", "notes.md"],
        ["6", "10", "56", "total"],
    ]
    assert calls["call-5"].structured == {
        "files": 2,
        "lines": 6,
        "words": 11,
        "mostWords": "notes.md",
    }
    assert calls["call-5/2"].structured == {
        "path": "heights.csv",
        "lines": 3,
        "words": 3,
        "means": {"height_m": 3.0},
    }
    assert calls["batch-slow"].text.split() == ["22", "heights.csv"]


def test_edit_changes_the_copy_and_says_what_it_changed(run: DemoRun) -> None:
    edit = by_id(run)["call-4"]
    assert edit.args == {
        "path": "notes.md",
        "edits": [{"oldText": "# Notes", "newText": "# Notes (checked)"}],
    }
    assert edit.details["diff"].startswith("-1 # Notes\n+1 # Notes (checked)\n")
    assert by_id(run)["call-5/3/1"].text.startswith("# Notes (checked)\n")


def test_failing_calls_end_as_results_with_their_reason(run: DemoRun) -> None:
    calls = by_id(run)
    assert calls["call-6"].text.startswith("ENOENT: no such file or directory")
    assert calls["call-7"].text.startswith('Validation failed for tool "read":\n  - path: ')
    assert calls["call-8"].text == "Only the copies may be changed, not ../outside.txt"
    assert [calls[f"call-{number}"].status for number in (6, 7, 8)] == [
        "error",
        "invalid",
        "blocked",
    ]


def test_slow_call_of_a_batch_is_first_in_source_order_and_last_to_complete(
    run: DemoRun,
) -> None:
    person, model = run.batches
    assert (person.issued_by, model.issued_by) == ("person", "model")
    assert person.source_order == ["batch-slow", "batch-read", "batch-own"]
    assert model.source_order == ["model-slow", "model-1", "model-2"]
    for batch in run.batches:
        assert sorted(batch.completion_order) == sorted(batch.source_order)
        assert batch.completion_order[-1] == batch.source_order[0]


def test_completion_order_has_every_call_and_children_before_their_parent(run: DemoRun) -> None:
    order = run.completion_order
    assert sorted(order) == sorted(run.source_order)
    for call in run.calls:
        if call.parent_id is not None:
            assert order.index(call.id) < order.index(call.parent_id)


def test_model_works_in_turns_and_answers_with_what_it_read(run: DemoRun) -> None:
    assert (run.turns, run.stop_reason) == (5, "stop")
    assert run.answer == (
        "Of the 2 files that I looked at, notes.md has the most words: 8 in 3 lines."
        " The report is in report.md."
    )
    calls = by_id(run)
    assert calls["model-look"].status == "error"
    assert calls["model-write"].args == {
        "path": "report.md",
        "content": "# The files\n\n- heights.csv: 3 words, 3 lines\n- notes.md: 8 words, 3 lines\n",
    }
    assert {calls[call_id].origin for call_id in calls if call_id.startswith("model-")} == {
        "model",
        "tool",
    }


def test_wire_form_is_json_and_tells_the_same(run: DemoRun) -> None:
    wire = json.loads(json.dumps(run.to_wire(), allow_nan=False))
    assert list(wire) == [
        "version",
        "folder",
        "copies",
        "steps",
        "calls",
        "tree",
        "sourceOrder",
        "completionOrder",
        "batches",
        "agent",
        "counts",
        "durationMs",
        "unexpected",
    ]
    assert [call["id"] for call in wire["calls"]] == run.source_order
    assert [call_id for step in wire["steps"] for call_id in step["callIds"]] == run.source_order
    assert wire["calls"][0].keys() >= {"id", "tool", "status", "args", "content", "durationMs"}
    assert [node["id"] for node in wire["tree"]] == [
        call_id for call_id in run.source_order if "/" not in call_id
    ]
    assert wire["agent"]["answer"] == run.answer


def test_changed_file_gives_changed_values(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "given")
    (folder / "heights.csv").write_text("site,height_m\nA,2\nB,4\nC,9\n", encoding="utf-8")
    run = run_demo(folder)
    calls = by_id(run)
    assert calls["call-5/2"].structured["means"] == {"height_m": 5.0}
    assert calls["call-5"].structured["words"] == 12
    assert calls["batch-slow"].text.split() == ["26", "heights.csv"]
    assert "- heights.csv: 4 words, 4 lines\n" in calls["model-write"].args["content"]


def test_folder_that_was_given_is_not_changed_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    folder = folder_of(tmp_path / "given")

    def state() -> list[tuple[str, bytes, int]]:
        files = sorted(folder.rglob("*"))
        return [(path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in files]

    before = state()
    run_demo(folder)
    assert state() == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_one_file_is_enough_and_then_the_model_still_has_a_batch(tmp_path: Path) -> None:
    run = run_demo(folder_of(tmp_path / "given", {"only": "one word\n" * 2}))
    assert run.unexpected == []
    assert [batch.source_order for batch in run.batches] == [
        ["batch-slow", "batch-read", "batch-own"],
        ["model-slow", "model-1"],
    ]


def test_files_that_have_the_names_of_the_demo_are_no_obstacle(tmp_path: Path) -> None:
    names = ("report.md", "Report-2.md", "no-such-file.txt", "outside.txt", "(odd).txt")
    run = run_demo(folder_of(tmp_path / "given", dict.fromkeys(names, "text\n")))
    calls = by_id(run)
    assert run.unexpected == []
    assert calls["call-6"].args == {"path": "really-no-such-file.txt"}
    assert calls["model-write"].args["path"] == "report-3.md"


@pytest.mark.parametrize("name", ["no\u00a0break", "two\nlines", "@at", "~", "%41#?", "-dash"])
def test_folder_with_an_odd_name_is_listed(tmp_path: Path, name: str) -> None:
    run = run_demo(folder_of(tmp_path / name))
    assert run.unexpected == []
    assert by_id(run)["call-1"].text == "heights.csv\nnotes.md"


def test_folder_with_undecodable_names_is_listed_and_its_data_is_utf_8(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / os.fsdecode(b"caf\xe9"), {os.fsdecode(b"th\xe9.txt"): "tea\n"})
    run = run_demo(folder)
    assert run.unexpected == []
    assert by_id(run)["call-2"].args == {"path": "th_.txt"}
    assert json.dumps(run.to_wire()["copies"], ensure_ascii=False).encode("utf-8")


def test_data_set_of_the_package_is_small_and_all_of_it_is_used() -> None:
    run = run_demo()
    files = sorted(path for path in DEMO_DATA.iterdir() if path.is_file())
    assert run.unexpected == []
    assert [copy.source for copy in run.copies] == [path.name for path in files]
    assert all(copy.is_whole for copy in run.copies)
    assert sum(path.stat().st_size for path in files) < 40 * 1_024


def test_script_of_the_data_set_corrects_its_readings() -> None:
    corrected = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, DEMO_DATA / "correct_level.py", DEMO_DATA / "readings.csv"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout.splitlines()
    assert corrected[:5] == [
        "time,station,air_c,water_c,level_cm,battery_v",
        "2024-06-14T00:00Z,BV1,13.19,9.50,39.2,12.90",
        "2024-06-14T00:00Z,BV2,13.47,8.96,35.8,12.90",
        "2024-06-14T00:00Z,BV3,11.09,8.00,29.3,12.89",
        "2024-06-14T00:00Z,BV4,8.51,5.99,,12.90",
    ]


@given(text=st.text(min_size=1, max_size=60).filter(str.strip), copies=st.integers(1, 2))
def test_edit_that_is_chosen_can_be_made_in_any_text(
    tmp_path_factory: pytest.TempPathFactory, text: str, copies: int
) -> None:
    path = tmp_path_factory.mktemp("edit")
    content = (text * copies).encode("utf-8")
    (path / "a.md").write_bytes(content)
    file = CopiedFile("a.md", "a.md", len(content), is_whole=True, text=text * copies)
    name, old, new = _choose_edit([file])
    session = ToolSession(cwd=path)
    arguments = {"path": name, "edits": [{"oldText": old, "newText": new}]}
    outcome = session.run(session.execute_tool("edit", arguments))
    assert (outcome.status, outcome.text) == (
        "ok",
        "Successfully replaced 1 block(s) in a.md.",
    )
