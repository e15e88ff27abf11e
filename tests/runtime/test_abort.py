"""The abort signal: set once, heard by everyone, from any thread."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, PiKernelError, ToolAborted


def raising() -> None:
    raise RuntimeError("a bad callback")


def test_the_first_abort_counts() -> None:
    signal = AbortSignal()
    assert (signal.aborted, signal.reason) == (False, None)
    signal.abort("first")
    signal.abort("second")
    assert (signal.aborted, signal.reason) == (True, "first")
    assert repr(signal) == "AbortSignal(aborted=True, reason='first')"


def test_callbacks_are_called_once_in_order_and_at_once_when_late() -> None:
    signal = AbortSignal()
    heard: list[str] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: heard.append(name)

    signal.subscribe(note("first"))
    take_back = signal.subscribe(note("taken back"))
    signal.subscribe(note("second"))
    take_back()
    take_back()
    signal.abort()
    signal.abort()
    assert heard == ["first", "second"]
    signal.subscribe(note("late"))()
    assert heard == ["first", "second", "late"]


def test_a_callback_that_raises_keeps_the_abort_from_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parent, child = AbortSignal(), AbortSignal()
    child.follow(parent)
    heard: list[str] = []
    for signal, name in ((child, "child"), (parent, "parent")):
        signal.subscribe(raising)
        signal.subscribe(lambda name=name: heard.append(name))  # type: ignore[misc]  # a default
    with caplog.at_level(logging.ERROR, "pi_kernel"):
        parent.abort()
    assert heard == ["child", "parent"]
    assert len(caplog.records) == 2


def test_throwing_if_aborted() -> None:
    signal = AbortSignal()
    signal.throw_if_aborted()
    signal.abort("enough")
    with pytest.raises(ToolAborted, match="Operation aborted"):
        signal.throw_if_aborted()


def test_any_follows_all_and_is_set_at_once_when_one_is() -> None:
    first, second = AbortSignal(), AbortSignal()
    both = AbortSignal.any(first, None, second)
    second.abort("second")
    assert (both.aborted, both.reason) == (True, "second")
    assert (first.aborted, AbortSignal.any(first, second).reason) == (False, "second")
    assert AbortSignal.any().aborted is False


def test_a_follower_can_be_taken_back() -> None:
    parent, child = AbortSignal(), AbortSignal()
    child.unfollow(parent)
    child.follow(parent)
    child.unfollow(parent)
    parent.abort()
    assert child.aborted is False


async def test_waiting_ends_with_an_abort_from_any_thread() -> None:
    signal = AbortSignal()
    waits = [asyncio.ensure_future(signal.wait()) for _ in range(3)]
    await anyio.lowlevel.checkpoint()
    waits[0].cancel()
    threading.Thread(target=signal.abort).start()
    with anyio.fail_after(5):
        await asyncio.gather(*waits[1:])
        await signal.wait()
    assert waits[0].cancelled()


async def test_a_timeout_sets_itself() -> None:
    signal = AbortSignal.timeout(0.01)
    with anyio.fail_after(5):
        await signal.wait()
    assert signal.reason == "timeout"


def test_waiting_on_a_loop_that_is_gone_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    signal = AbortSignal()
    loop = asyncio.new_event_loop()
    waiting = signal.wait()
    task = loop.create_task(waiting)
    loop.run_until_complete(asyncio.sleep(0))
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be left
    loop.close()
    signal.abort()
    assert signal.aborted
    assert "callback of an abort signal failed" in caplog.text
    waiting.close()
    del task
    gc.collect()


def test_aborts_and_subscriptions_from_many_threads_lose_nobody() -> None:
    for _ in range(50):
        assert sorted(race()) == [0, 1, 2, 3]


def race() -> list[int]:
    """Abort a signal while four threads subscribe to it; returns who heard of it."""
    signal = AbortSignal()
    heard: list[int] = []
    start = threading.Barrier(5)

    def subscribe(number: int) -> None:
        start.wait()
        AbortSignal.any(signal).subscribe(lambda: heard.append(number))

    def abort() -> None:
        start.wait()
        signal.abort()

    threads = [threading.Thread(target=subscribe, args=(n,)) for n in range(4)]
    threads.append(threading.Thread(target=abort))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return heard


@pytest.mark.parametrize("seconds", ["x", -1, float("nan"), None])
def test_timeout_takes_a_number_of_seconds_only(seconds: Any) -> None:
    with pytest.raises(PiKernelError, match=r"takes a number of seconds from 0, got"):
        AbortSignal.timeout(seconds)


def test_any_takes_signals_only() -> None:
    wrong: Any = "x"
    with pytest.raises(PiKernelError, match=r"takes signals, got str"):
        AbortSignal.any(AbortSignal(), wrong)
