"""Kernels with the extension loaded, one for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kernels import LOAD, Kernel

SETUP = """
import asyncio, contextlib, contextvars, os, signal, sys, threading, time

def show_update(event):
    print("update:", *(block.text for block in event.partial_result.content), flush=True)

ctx.session.on("tool_execution_update", show_update)

def ids(cell=None):
    cell = cell or ctx.cell().id
    return [(c.id, c.parent_id, c.depth) for c in ctx.trace.calls() if c.cell_call_id == cell]

def ends(cell):
    return [(c.id.split("/", 1)[1], c.status) for c in ctx.trace.calls() if c.cell_call_id == cell]

@ctx.tool
async def note(text: str = "x") -> str:
    "Give the text back."
    return text

gates = {}

@ctx.tool
async def wait_for(gate: str) -> str:
    "Wait until a gate is opened."
    event = gates.setdefault(gate, asyncio.Event())
    print("waits for", gate)
    await event.wait()
    return gate
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Give a kernel with the extension and some tools and helpers for tests."""
    with Kernel(cwd=str(tmp_path_factory.mktemp("kernel"))) as kernel:
        for code in (LOAD, SETUP):
            reply = kernel.run(code)
            assert reply.status == "ok", reply.traceback
        yield kernel
        assert kernel.run("1 + 1").result == "2"


@pytest.fixture
def bare_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Give a kernel of the test's own, without the extension."""
    with Kernel(cwd=str(tmp_path_factory.mktemp("kernel"))) as kernel:
        yield kernel
