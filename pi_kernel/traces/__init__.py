"""Traces: which calls were made, by whom, and what they gave."""

from __future__ import annotations

from pi_kernel.traces.record import CallRecord
from pi_kernel.traces.trace import Trace, TraceNode

__all__ = ("CallRecord", "Trace", "TraceNode")
