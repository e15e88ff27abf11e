from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.results import ToolResult
from pi_kernel.tools import powershell

pytestmark = pytest.mark.skipif(os.name == "nt", reason="tells of systems without PowerShell")


class Remote:
    async def exec(
        self, command: str, cwd: str, *, on_data: Callable[[bytes], Any], **_rest: Any
    ) -> int:
        on_data(f"{cwd}> {command}".encode())
        return 0


async def run(**options: Any) -> ToolResult:
    result = powershell.create("/work", **options).execute(
        "call-1", {"command": "Get-Date"}, None, None, None
    )
    assert isinstance(result, Awaitable)
    answer = await result
    assert isinstance(answer, ToolResult)
    return answer


async def test_it_says_that_it_needs_windows() -> None:
    with pytest.raises(
        PiKernelError, match=r"^The powershell tool is only available on Windows\.$"
    ):
        await run()


async def test_with_operations_it_runs_commands_elsewhere() -> None:
    result = await run(operations=Remote(), command_prefix="$x = 1")
    assert result.structured_content["output"] == "/work> $x = 1\nGet-Date"


def test_it_is_defined_as_bash_is() -> None:
    tool = powershell.create()
    assert (tool.name, tool.label) == ("powershell", "powershell")
    assert tool.parameters["required"] == ["command"]
    assert tool.output_schema is not None
    assert tool.annotations is not None
    assert tool.annotations.destructive_hint
    assert "PI_SESSION_ID" in tool.prompt_guidelines[0]
    assert powershell.create(expose_session_environment=False).prompt_guidelines == ()
