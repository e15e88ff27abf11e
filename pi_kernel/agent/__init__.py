"""The agent loop: a model, its tools and the turns between them."""

from __future__ import annotations

from pi_kernel.agent.run import AgentRun

__all__ = ("AgentRun",)
