"""The notebook layer: what loading costs, and a cell's calls against a session's."""

from __future__ import annotations

from tests.benchmarks._measure import Figure
from tests.support.kernels import LOAD, Kernel

KERNELS = 5
"""How many kernels are started to measure loading, which each does once."""
QUIET_KINDS = frozenset({"execute_input"})
"""Messages that every cell sends."""

SETUP = """
import gc, time
from pi_kernel import ToolSession, tool

@tool
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

plain = ToolSession(tools=[add])
ctx.session.register(add)
best = {}

async def calls(execute, times=1000):
    gc.collect()
    start = time.perf_counter()
    for number in range(times):
        await execute("add", {"a": number, "b": 1})
    return time.perf_counter() - start
"""
COMPARE = """
for _ in range(9):
    for name, session in (("cell", ctx), ("session", plain)):
        best[name] = min(best.get(name, 9.9), await calls(session.execute_tool))
"""
MANY_CALLS = 'for n in range(1000): await ctx.execute_tool("add", {"a": n, "b": 1})'


def loading() -> tuple[float, float]:
    """Return the least seconds of loading and of an empty cell, each in kernels just started."""
    load = empty = float("inf")
    for _ in range(KERNELS):
        with Kernel() as kernel:
            empty = min(empty, kernel.run("None").seconds)
            load = min(load, kernel.run(LOAD).seconds)
    return load, empty


def calls() -> tuple[dict[str, float], int]:
    """Return the seconds of 1,000 calls by who makes them, and the messages that a cell sent."""
    with Kernel() as kernel:
        kernel.run(LOAD)
        kernel.run(SETUP)
        kernel.run(COMPARE, seconds=120)
        best: dict[str, float] = kernel.value("best")
        messages = kernel.run(MANY_CALLS).messages
    return best, sum(message["msg_type"] not in QUIET_KINDS for message in messages)


def figures() -> list[Figure]:
    """Measure everything of the notebook layer."""
    load, empty = loading()
    best, messages = calls()
    return [
        Figure(
            "%load_ext pi_kernel in a kernel just started",
            load - empty,
            "s",
            limit=0.3,
            seconds={"load": load, "empty cell": empty},
        ),
        Figure(
            "1,000 calls of a cell against a plain session",
            best["cell"] / best["session"],
            "x",
            limit=1.5,
            seconds={name: seconds / 1000 for name, seconds in best.items()},
        ),
        Figure("messages for 1,000 calls that nobody shows", messages, "", limit=0, seconds={}),
    ]
