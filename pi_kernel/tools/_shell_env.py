"""The environment that a shell command gets: the parent's, our programs, the session's facts."""

from __future__ import annotations

import os
import sysconfig
from functools import cache

__all__ = ("SESSION_VARIABLES", "shell_environment")

SESSION_VARIABLES = (
    "PI_SESSION_ID",
    "PI_SESSION_FILE",
    "PI_PROVIDER",
    "PI_MODEL",
    "PI_REASONING_LEVEL",
)


def shell_environment(ctx: object, *, expose_session: bool) -> dict[str, str]:
    """Return a copy of our environment for one command.

    The folder of the running Python's programs (where ``pi-kernel`` is) comes first on PATH, unless
    it is there already. Session variables that we inherited describe another session and go.

    Args:
        ctx: The call's context, or None.
        expose_session: Whether the command may know session and model.

    Source:
        Pi 1.6.0, ``getShellEnv``; the folder is ours.
    """
    env = {name: value for name, value in os.environ.items() if name not in SESSION_VARIABLES}
    programs = _programs_folder()
    path = env.get("PATH")
    if programs not in (path or "").split(os.pathsep):
        env["PATH"] = os.pathsep.join([programs, path] if path else [programs])
    if ctx is not None and expose_session:
        env |= _session_facts(ctx)
    return env


@cache
def _programs_folder() -> str:
    return sysconfig.get_path("scripts")


def _session_facts(ctx: object) -> dict[str, str]:
    model = getattr(ctx, "model", None)
    facts = (
        getattr(ctx, "session_id", None),
        getattr(ctx, "session_file", None),
        getattr(model, "provider", None),
        getattr(model, "id", None),
        getattr(ctx, "thinking_level", None),
    )
    return {
        name: str(fact)
        for name, fact in zip(SESSION_VARIABLES, facts, strict=True)
        if fact not in (None, "")
    }
