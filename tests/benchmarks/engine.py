"""The engine: one nested call, a batch, and what importing costs.

F is the measure: build a pydantic model of two integers and await a bare function.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from pydantic import BaseModel

from pi_kernel import ToolCall, ToolContext, ToolSession, tool
from tests.benchmarks._measure import Figure, minima

CALLS = 1_000
MANY_CALLS = 10_000
BATCH = 256
BATCH_SLEEP_SECONDS = 0.010


class Add(BaseModel):
    """The peer's arguments."""

    a: int
    b: int


async def bare(a: int, b: int) -> int:
    """Add, with nothing around it."""
    return a + b


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def nest(times: int, ctx: ToolContext) -> float:
    """Make that many nested calls; return the seconds they took."""
    start = time.perf_counter()
    for number in range(times):
        await ctx.execute_tool("add", {"a": number, "b": 1})
    return time.perf_counter() - start


@tool
async def wait() -> None:
    """Wait for ten milliseconds."""
    await anyio.sleep(BATCH_SLEEP_SECONDS)


def run(work: Callable[[], Coroutine[Any, Any, float]]) -> Callable[[], float]:
    """Make a plain function of a coroutine function."""
    return lambda: asyncio.run(work())


async def validated_calls() -> float:
    """Return the seconds of one F."""
    start = time.perf_counter()
    for number in range(CALLS):
        model = Add.model_validate({"a": number, "b": 1})
        await bare(model.a, model.b)
    return (time.perf_counter() - start) / CALLS


async def nested_calls(times: int = CALLS, *, watched: bool = False) -> float:
    """Return the seconds of one nested call, with two hooks and a listener or with none."""
    session = ToolSession(tools=[add, nest])
    if watched:
        session.on("tool_call", lambda _event: None)
        session.on("tool_result", lambda _event: None)
        session.subscribe(lambda _event: None)
    outcome = await session.execute_tool("nest", {"times": times})
    return float(outcome.value) / times


async def batch() -> float:
    """Return the seconds a call of one batch that are not the sleep."""
    session = ToolSession(tools=[wait])
    calls = [ToolCall(id=f"call_{n}", name="wait", arguments={}) for n in range(BATCH)]
    start = time.perf_counter()
    outcomes = await session.execute_batch(calls)
    seconds = time.perf_counter() - start
    if any(outcome.is_error for outcome in outcomes):
        raise RuntimeError("the batch failed")
    return (seconds - BATCH_SLEEP_SECONDS) / BATCH


async def bare_batch() -> float:
    """Return the same for bare tasks."""
    start = time.perf_counter()
    await asyncio.gather(*(anyio.sleep(BATCH_SLEEP_SECONDS) for _ in range(BATCH)))
    return (time.perf_counter() - start - BATCH_SLEEP_SECONDS) / BATCH


def fresh_python(code: str) -> Callable[[], float]:
    """Return a function that measures code in a new interpreter, without its start."""
    program = (
        f"import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    )

    def measure() -> float:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    return measure


def figures() -> list[Figure]:
    """Measure everything of the engine."""
    calls = minima(
        {
            "F": run(validated_calls),
            "plain": run(nested_calls),
            "watched": run(lambda: nested_calls(watched=True)),
            "many": run(lambda: nested_calls(MANY_CALLS)),
        }
    )
    batches = minima({"ours": run(batch), "bare": run(bare_batch)})
    imports = minima(
        {
            "ours": fresh_python("import pi_kernel"),
            "peer": fresh_python("from pydantic import BaseModel\nimport anyio"),
        }
    )
    f = calls["F"]
    return [
        Figure(
            "nested add(a, b), no hooks, no listeners",
            calls["plain"] / f,
            "F",
            limit=4,
            seconds={"ours": calls["plain"], "F": f},
        ),
        Figure(
            "nested add(a, b), two hooks, two events to one listener",
            calls["watched"] / f,
            "F",
            limit=12,
            goal=8,
            seconds={"ours": calls["watched"], "F": f},
        ),
        Figure(
            "per call at 10,000 calls against 1,000",
            calls["many"] / calls["plain"],
            "x",
            limit=1.2,
            seconds={"10,000": calls["many"], "1,000": calls["plain"]},
        ),
        Figure(
            "a call of a batch of 256, over its 10 ms",
            batches["ours"] * 1e6,
            "us",
            limit=40,
            goal=25,
            seconds={"ours": batches["ours"], "bare tasks": batches["bare"]},
        ),
        Figure(
            "import pi_kernel against pydantic and anyio",
            imports["ours"] / imports["peer"],
            "x",
            limit=1.5,
            seconds=imports,
        ),
    ]
