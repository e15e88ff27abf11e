"""What errors say in IPython, as far as that needs no kernel."""

from __future__ import annotations

import pytest

from pi_kernel import PiKernelError, ToolAborted, ToolCallError, ToolTimeout
from tests.support.engine import make_tool, session_with


def caught(error: Exception) -> Exception:
    """Raise an error here and return it with its traceback."""
    with pytest.raises(type(error)) as info:
        raise error
    return info.value


def test_an_error_shows_its_message_and_the_lines_that_led_to_it() -> None:
    error = caught(PiKernelError("no such thing"))
    assert isinstance(error, PiKernelError)
    first, place = error._render_traceback_()
    assert first == "PiKernelError: no such thing"
    assert place.startswith("  test_errors.py, line ")
    assert place.endswith(": raise error")


def test_an_error_that_was_never_raised_shows_its_message_only() -> None:
    assert PiKernelError("x")._render_traceback_() == ["PiKernelError: x"]
    assert ToolCallError("x")._render_traceback_() == ["ToolCallError: x"]
    assert ToolTimeout("late")._render_traceback_() == ["ToolTimeout: late"]
    assert ToolAborted()._render_traceback_() == ["ToolAborted: Operation aborted"]


def test_a_call_is_named_as_far_as_it_is_known() -> None:
    error = ToolCallError("x", tool_name="read", tool_call_id="call-1")
    assert error._render_traceback_() == ["ToolCallError: x", "  in the call call-1 of read"]


async def test_a_failed_call_shows_its_status_and_a_hint() -> None:
    session = session_with(make_tool("read"))
    session.on("tool_call", lambda _event: {"block": True, "reason": "not now"})
    with pytest.raises(ToolCallError) as info:
        await session.tools.read()
    lines = info.value._render_traceback_()
    assert lines[:2] == ["ToolCallError: not now", "  in the call call-1 of read (blocked)"]
    assert lines[2].endswith(": await session.tools.read()")
    assert len(lines) == 3


def test_places_have_a_plain_form_until_somebody_can_say_it_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pi_kernel.errors import _plain_place  # noqa: PLC0415 - what sessions replace

    monkeypatch.setattr(PiKernelError, "place_of", staticmethod(_plain_place))
    error = caught(PiKernelError("x"))
    assert isinstance(error, PiKernelError)
    assert error._render_traceback_()[1].startswith(f"  {__file__}, line ")
