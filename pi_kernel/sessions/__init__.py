"""Sessions: one working directory, one registry, one pipeline, one trace.

Whoever has a session sees its outcomes and errors as people read them, with the extension loaded
and without it.
"""

from __future__ import annotations

from typing import Any

from pi_kernel.errors import PiKernelError, ToolCallError
from pi_kernel.runtime.outcome import ToolOutcome


def _render(outcome: ToolOutcome) -> dict[str, Any]:
    from pi_kernel.render.call import call_bundle  # noqa: PLC0415 - loads when one is displayed

    return call_bundle(outcome)


def _place_of(file_name: str, line: int) -> str:
    from pi_kernel.render.places import place_of  # noqa: PLC0415 - loads when an error is shown

    return place_of(file_name, line)


def _hint_of(outcome: ToolOutcome) -> str:
    from pi_kernel.render._sentences import sentence_and_hint  # noqa: PLC0415 - as above

    return sentence_and_hint(outcome)[1]


ToolOutcome.render = staticmethod(_render)
PiKernelError.place_of = staticmethod(_place_of)
ToolCallError.hint_of = staticmethod(_hint_of)
