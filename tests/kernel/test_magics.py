"""``%tools`` and ``%trace``."""

from __future__ import annotations

import pytest

from tests.support.kernels import Kernel

pytestmark = pytest.mark.kernel


def text_of(kernel: Kernel, code: str) -> str:
    """Return the text form of the one thing that a cell displays."""
    reply = kernel.run(code)
    assert reply.status == "ok", reply.traceback
    (data,) = reply.displays
    assert set(data) == {"text/html", "text/plain"}
    return str(data["text/plain"])


def test_tools_lists_those_that_a_person_reaches(kernel: Kernel) -> None:
    text = text_of(kernel, "%tools")
    for name in ("bash", "read", "note", "wait_for"):
        assert f"\n{name} " in text


def test_tools_takes_a_part_of_a_name_or_description(kernel: Kernel) -> None:
    text = text_of(kernel, "%tools gate")
    assert "wait_for" in text
    assert "bash" not in text


def test_hidden_tools_are_listed_on_request(kernel: Kernel) -> None:
    kernel.run(
        "@ctx.tool(exposure='hidden')\nasync def secret() -> str:\n    'Hide.'\n    return 'x'"
    )
    assert "secret" not in text_of(kernel, "%tools")
    assert "secret" in text_of(kernel, "%tools --all")


def test_trace_shows_the_last_cell_that_made_calls(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run("await ctx.tools.note(text='seen')")
    kernel.run("'no call'")
    for code in ("%trace", f"%trace {n}", f"%trace cell-{n}"):
        text = text_of(kernel, code)
        assert f"cell-{n}" in text.splitlines()[0]
        assert "note" in text
    assert f"cell-{n}" not in text_of(kernel, "%trace all").splitlines()[0]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("%trace cell-9999", "%trace: no calls of a cell 'cell-9999'; the last cells "),
        ("%trace 'unclosed", "%trace: No closing quotation"),
        ("%trace 1 2", "%trace: unrecognized arguments: 2"),
        ("%tools --nonsense", "%tools: unrecognized arguments: --nonsense"),
    ],
)
def test_a_magic_used_wrongly_says_so_in_one_line(kernel: Kernel, code: str, said: str) -> None:
    reply = kernel.run(code)
    assert reply.status == "error"
    assert reply.stderr.strip().startswith(f"UsageError: {said}")
    assert reply.stderr.count("\n") <= 1


def test_the_trace_of_an_unknown_number_says_so(kernel: Kernel) -> None:
    assert kernel.run("%trace 9999").error == (
        "PiKernelError: no cell [9999] has run since %load_ext pi_kernel"
    )
