"""await for calls of the library that block: they run in a thread of the event loop's pool, without
the interpreter lock."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, TypeVar

T = TypeVar("T")
Stopped = Callable[[], bool]


def _forget(task: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more: its error is not reported."""
    if not task.cancelled():
        task.exception()


async def in_thread(work: Callable[[Stopped], T]) -> T:
    """The result of work(is_stopped). A task that is cancelled makes is_stopped() true and waits
    until the call has ended, so that nothing goes on behind it."""
    stop = threading.Event()
    task = asyncio.get_running_loop().run_in_executor(None, work, stop.is_set)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        task.add_done_callback(_forget)
        await asyncio.wait([task])
        raise
