"""What a terminal shows of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pi_kernel.cli.terminal import Terminal
from pi_kernel.demo import DemoRun, report_lines, run_demo


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> DemoRun:
    """One run that every test here looks at."""
    folder = tmp_path_factory.mktemp("given")
    Path(folder, "a\nb.md").write_text("# Größe \x1b[31m\n", encoding="utf-8")
    Path(folder, "long.csv").write_text("x\n" + "1\n" * 5_000, encoding="utf-8")
    return run_demo(folder)


def section(lines: list[str], heading: str) -> list[str]:
    start = lines.index(heading) + 1
    return lines[start : lines.index("", start)]


def test_every_call_has_one_line_with_its_id_parent_tool_status_and_time(run: DemoRun) -> None:
    lines = list(report_lines(run, Terminal()))
    for call in run.calls:
        time = r"-" if call.duration_ms is None else r"\d+\.\d ms"
        cells = (call.id, call.parent_id or "-", call.tool, call.status)
        pattern = " +".join([*map(re.escape, cells), time]) + r"  \S"
        assert len([line for line in lines if re.match(pattern, line)]) == 1


def test_result_is_shown_in_one_line_without_control_characters(run: DemoRun) -> None:
    lines = list(report_lines(run, Terminal()))
    read = next(line for line in lines if line.startswith("call-2 "))
    assert read.endswith(" ms  # Größe \\x1b[31m")
    assert all(line.isprintable() for line in lines)


def test_copies_are_named_with_their_originals_and_what_is_missing(run: DemoRun) -> None:
    lines = list(report_lines(run, Terminal()))
    assert lines[:3] == [
        f"Folder  {run.folder}",
        "Copies  a_b.md of a\\nb.md (16 bytes)",
        "        long.csv (10002 bytes, the beginning only)",
    ]


def test_tree_is_drawn_with_lines_or_in_ascii(run: DemoRun) -> None:
    drawn = section(list(report_lines(run, Terminal())), "Tree")
    start = drawn.index("call-5 survey ok")
    assert drawn[start : start + 6] == [
        "call-5 survey ok",
        "├─ call-5/1 ls ok",
        "├─ call-5/2 describe ok",
        "│  └─ call-5/2/1 read ok",
        "└─ call-5/3 describe ok",
        "   └─ call-5/3/1 read ok",
    ]
    plain = section(list(report_lines(run, Terminal(is_unicode=False))), "Tree")
    assert plain[start : start + 6] == [
        "call-5 survey ok",
        "|- call-5/1 ls ok",
        "|- call-5/2 describe ok",
        "|  `- call-5/2/1 read ok",
        "`- call-5/3 describe ok",
        "   `- call-5/3/1 read ok",
    ]


def test_both_orders_of_each_batch_are_shown(run: DemoRun) -> None:
    lines = list(report_lines(run, Terminal()))
    for batch in run.batches:
        assert section(lines, f"Both orders of the {batch.issued_by}'s batch") == [
            f"source order      {', '.join(batch.source_order)}",
            f"completion order  {', '.join(batch.completion_order)}",
        ]


def test_last_line_counts_the_calls(run: DemoRun) -> None:
    *_, last = report_lines(run, Terminal())
    counts = r"25 calls \(21 ok, 2 error, 1 invalid, 1 blocked\)"
    assert re.fullmatch(counts + r" in \d\.\d s; only copies were changed\.", last)


def test_lines_fit_a_terminal_of_80_characters(run: DemoRun) -> None:
    lines = list(report_lines(run, Terminal(width=80)))
    assert max(len(line) for line in lines if line.startswith(("call-", "batch-"))) == 80


def test_statuses_and_headings_are_coloured_only_where_there_are_colours(run: DemoRun) -> None:
    plain = "\n".join(report_lines(run, Terminal()))
    coloured = "\n".join(report_lines(run, Terminal(has_colors=True)))
    assert "\x1b[32mok     \x1b[0m" in coloured
    assert "\x1b[1mTree\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
