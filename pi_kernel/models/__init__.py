"""Models: who answers a prompt."""

from __future__ import annotations

from pi_kernel.models.scripted import ScriptedModel, Turn, call, say, think, turn
from pi_kernel.models.stream import Model, ModelContext, ModelEvent

__all__ = (
    "Model",
    "ModelContext",
    "ModelEvent",
    "ScriptedModel",
    "Turn",
    "call",
    "say",
    "think",
    "turn",
)
