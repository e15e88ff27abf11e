"""Sessions: one working directory, one registry, one pipeline, one trace.

Whoever has a session sees its outcomes as cards, with the extension loaded and without it.
"""

from __future__ import annotations

from typing import Any

from pi_kernel.runtime.outcome import ToolOutcome


def _render(outcome: ToolOutcome) -> dict[str, Any]:
    from pi_kernel.render.call import call_bundle  # noqa: PLC0415 - loads when one is displayed

    return call_bundle(outcome)


ToolOutcome.render = staticmethod(_render)
