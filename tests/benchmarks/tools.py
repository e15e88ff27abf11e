"""The built-in tools against the same work by hand: time, and memory where it must stay flat."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

from pi_kernel.tools._search.ripgrep import find_ripgrep
from tests.benchmarks import _by_hand, _samples
from tests.benchmarks._child import Run, run_in_child
from tests.benchmarks._measure import Figure, minima
from tests.benchmarks._samples import as_it_is
from tests.benchmarks._work import LIMIT, OFFSET, call

MIB = 1024 * 1024
MEMORY_LIMIT_MIB = 16
BASH_SPEED = 0.8
READ_LIMIT, RIPGREP_LIMIT, FALLBACK_LIMIT, LIST_LIMIT = 1.2, 1.2, 2, 4
EDIT_LIMIT, EDIT_LIMIT_OTHERWISE = 1.6, 8
GREP_LIMIT = 100
"""What grep shows when nothing is said."""
ALL = 100_000_000

Form = Callable[[str], str]
EDITS: tuple[tuple[str, Form, Form, float], ...] = (
    ("ASCII", as_it_is, as_it_is, EDIT_LIMIT),
    ("accents", lambda text: text.replace("words", "wörds"), as_it_is, EDIT_LIMIT_OTHERWISE),
    ("curly quotes", lambda text: text.replace("'", "\u2019"), as_it_is, EDIT_LIMIT_OTHERWISE),
    ("blanks at line ends", lambda text: text.replace("\n", " \n"), as_it_is, EDIT_LIMIT_OTHERWISE),
    ("CRLF", lambda text: text.replace("\n", "\r\n"), as_it_is, EDIT_LIMIT_OTHERWISE),
    (
        "curly quotes, asked straight",
        lambda text: text.replace("'", "\u2019"),
        lambda text: text.replace("\u2019", "'"),
        EDIT_LIMIT_OTHERWISE,
    ),
)
"""What is in the text, how it gets there, how a model spells the old text, and the limit."""


def figures(repetitions: int) -> list[Figure]:
    """Measure everything of the tools; takes a minute with three repetitions."""
    found: list[Figure] = []
    for part in (_bash, _read, _grep, _ls, _edit):
        with tempfile.TemporaryDirectory(prefix="pi-kernel-benchmark-") as name:
            found += part(Path(name), repetitions)
    return found


def _bash(folder: Path, repetitions: int) -> list[Figure]:
    # What is printed is saved in memory where possible: how busy a disk is does not matter here.
    run = functools.partial(
        run_in_child,
        small=_samples.make_small_output(folder),
        temporary_folder=_samples.memory_folder(),
    )
    found: list[Figure] = []
    for kind, path in _samples.make_outputs(folder).items():
        ours = functools.partial(run, "bash", path)
        by_hand = functools.partial(run, "bash_by_hand", path)
        found += _in_children(
            f"bash, 256 MiB of {kind}", ours, by_hand, limit=1 / BASH_SPEED, times=repetitions
        )
    return found


def _read(folder: Path, repetitions: int) -> list[Figure]:
    path, small = _samples.make_long_file(folder), _samples.make_many_lines(folder)
    ours = functools.partial(run_in_child, "read", path, small=small)
    by_hand = functools.partial(run_in_child, "read_by_hand", path, small=small)
    name = f"read, {LIMIT} lines at {OFFSET:,} of 500 MB"
    return _in_children(name, ours, by_hand, limit=READ_LIMIT, times=repetitions)


def _in_children(
    name: str,
    ours: Callable[[], Run],
    by_hand: Callable[[], Run],
    *,
    limit: float,
    times: int,
) -> list[Figure]:
    """Return the ratio of seconds, and how much more memory ours takes."""
    peaks: dict[str, int] = {}

    def seconds_of(who: str, work: Callable[[], Run]) -> float:
        run = work()
        peaks[who] = min(run.peak_bytes, peaks.get(who, run.peak_bytes))
        return run.seconds

    seconds = minima(
        {
            "ours": lambda: seconds_of("ours", ours),
            "by hand": lambda: seconds_of("by hand", by_hand),
        },
        times,
    )
    more = (peaks["ours"] - peaks["by hand"]) / MIB
    note = ", ".join(f"{who} {peak / MIB:.1f} MiB" for who, peak in peaks.items())
    return [
        _ratio(name, seconds, limit=limit),
        Figure(f"{name}: more memory", more, "MiB", limit=MEMORY_LIMIT_MIB, note=note),
    ]


def _grep(folder: Path, repetitions: int) -> list[Figure]:
    tree = _samples.make_tree(folder)
    program = find_ripgrep()
    found: list[Figure] = []

    def ours(text: str, engine: str, limit: int) -> Callable[[], float]:
        arguments = {"pattern": text, "path": str(tree), "limit": limit}
        return lambda: call("grep", arguments, {"engine": engine})[0]

    for kind, text, limit, is_goal in (
        ("rare", _samples.RARE, GREP_LIMIT, True),
        ("common", _samples.COMMON, GREP_LIMIT, True),
        ("common, all matches", _samples.COMMON, ALL, False),
    ):
        if program is not None:
            seconds = minima(
                {
                    "ours": ours(text, "ripgrep", limit),
                    "rg": functools.partial(_by_hand.search_with_program, program, tree, text),
                },
                repetitions,
            )
            found.append(
                _ratio(
                    f"grep, 20,000 files, {kind}: ripgrep",
                    seconds,
                    limit=RIPGREP_LIMIT if is_goal else None,
                )
            )
        seconds = minima(
            {
                "ours": ours(text, "python", limit),
                "re loop": functools.partial(_by_hand.search_with_loop, tree, text),
            },
            repetitions,
        )
        found.append(
            _ratio(
                f"grep, 20,000 files, {kind}: Python",
                seconds,
                limit=FALLBACK_LIMIT if is_goal else None,
            )
        )
    return found


def _ls(folder: Path, repetitions: int) -> list[Figure]:
    entries = _samples.make_entries(folder)
    seconds = minima(
        {
            "ours": lambda: call("ls", {"path": str(entries)})[0],
            "all": lambda: call("ls", {"path": str(entries), "limit": _samples.ENTRIES})[0],
            "sorted": functools.partial(_by_hand.list_names, entries),
        },
        repetitions,
    )
    every = {"all": seconds.pop("all"), "sorted": seconds["sorted"]}
    return [
        _ratio("ls, 100,000 entries", seconds, limit=LIST_LIMIT),
        _ratio("ls, 100,000 entries, all shown", every, limit=LIST_LIMIT),
    ]


def _edit(folder: Path, repetitions: int) -> list[Figure]:
    found: list[Figure] = []
    for kind, form, spelling, limit in EDITS:
        for size, count in ((20_000_000, 1), (1_000_000, 200)):
            sample = _samples.edit_sample(size, count, form=form, spelling=spelling)
            seconds = _edit_seconds(folder / "edited.txt", sample, repetitions)
            name = f"edit, {count} in {size // 1_000_000} MB, {kind}"
            found.append(_ratio(name, seconds, limit=limit))
    return found


def _edit_seconds(path: Path, sample: _samples.EditSample, repetitions: int) -> dict[str, float]:
    content = sample.text.encode()
    arguments = {
        "path": str(path),
        "edits": [{"oldText": old, "newText": new} for old, new in sample.asked],
    }

    def ours() -> float:
        path.write_bytes(content)
        return call("edit", arguments)[0]

    def by_hand() -> float:
        path.write_bytes(content)
        return _by_hand.replace(path, sample.edits)

    return minima({"ours": ours, "by hand": by_hand}, repetitions)


def _ratio(name: str, seconds: dict[str, float], *, limit: float | None) -> Figure:
    ours, peer = seconds.values()
    return Figure(name, ours / peer, "x", limit=limit, seconds=seconds)
