"""Futures: result() blocks, await does not.

One completion queue of the library serves each event loop: its descriptor is watched by the loop,
and whatever has completed is taken in one go.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from _thread import allocate_lock
from ctypes import byref, c_void_p, create_string_buffer, string_at
from typing import TYPE_CHECKING, Any, Callable, Generator, Generic, TypeVar

from . import _c
from .errors import Error, Timeout, call, from_c, taken

T = TypeVar("T")
_SLICE_MS = 100  # the main thread looks for Ctrl-C this often while it waits


class Future(Generic[T]):
    """The result of an operation that may still be under way.

    Any thread may wait for it. Dropping it does not stop the operation; cancel() does.
    """

    __slots__ = (
        "_p",
        "_take",
        "_owner",
        "_lock",
        "_value",
        "_error",
        "_waiters",
        "_loop",
        "__weakref__",
    )

    def __init__(self, pointer: int, take: Callable[[Any, Any], T], owner: Any) -> None:
        self._p = c_void_p(pointer)
        self._take: Callable[[Any, Any], T] | None = take  # None: it was taken
        self._owner = owner  # keeps the service open while the operation runs
        self._lock = allocate_lock()  # held while the result is taken
        self._value: Any = None
        self._error: BaseException | None = None
        self._waiters: list[asyncio.Future[None]] | None = None
        self._loop: Any = None

    def __del__(self, byref: Any = byref, free: Any = _c.tinkc_future_free) -> None:
        free(byref(self._p))

    def __repr__(self) -> str:
        return f"<tinkc.Future: {self.explain()}>"

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            hint = "" if name.startswith("_") else ": call .result() or await it first"
            raise AttributeError(f"'Future' object has no attribute {name!r}{hint}")

    def done(self) -> bool:
        """Whether the operation has completed, with a result or an error."""
        is_done: bool = _c.tinkc_future_is_done(self._p)
        return is_done

    def cancel(self) -> None:
        """Cancels the operation unless it is done. What the server accepted may still be
        applied there."""
        _c.tinkc_future_cancel(self._p)

    def explain(self) -> str:
        """One sentence: what the operation is waiting for, and for how long."""
        buffer = create_string_buffer(512)
        _c.tinkc_future_explain(buffer, len(buffer), self._p)
        return buffer.value.decode("utf-8", "replace")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the operation is done, at most `timeout` seconds; whether it is."""
        left = _c.TINKC_FOREVER if timeout is None else max(0, int(timeout * 1000))
        is_main = threading.current_thread() is threading.main_thread()
        while True:
            part = left
            if is_main and (left < 0 or left > _SLICE_MS):
                part = _SLICE_MS
            code = _c.tinkc_future_wait(self._p, part)
            if code == _c.Code.OK or _c.tinkc_future_is_done(self._p):
                return True
            if code != _c.Code.E_TIMEOUT:
                raise Error(
                    "cannot wait here: in a forked child or a callback", _c.Code(code)
                )
            if left >= 0:
                left -= part
                if left <= 0:
                    return False

    def result(self, timeout: float | None = None) -> T:
        """Waits and returns the result, or raises the error of the operation; Timeout when it
        is not done within `timeout` seconds, and continues then."""
        try:
            if self._take is not None and not self.wait(timeout):
                raise Timeout(self.explain(), _c.Code.E_TIMEOUT)
            return self._outcome()
        finally:
            del self

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits and returns the error of the operation, or None."""
        try:
            self.result(timeout)
        except Timeout:
            if not self.done():
                raise
        except BaseException as error:
            if error is not self._error:
                raise
        return self._error

    def _outcome(self) -> T:
        """The result of a completed operation; taken once."""
        with self._lock:
            if self._take is not None:
                try:
                    self._value = self._take(self._p, self._owner)
                except Exception as error:
                    self._error = error
                self._take = self._owner = None
        if self._error is None:
            value: T = self._value
            return value
        try:
            raise self._error
        finally:
            del self  # the traceback refers to this frame: no cycle

    def __await__(self) -> Generator[Any, None, T]:
        if self._take is not None and not self.done():
            yield from self._wait_in_loop()
        return self._outcome()

    def _wait_in_loop(self) -> Generator[Any, None, None]:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        if self._waiters is None:
            self._waiters, self._loop = [waiter], weakref.ref(loop)
            _queue_of(loop).add(self)
        elif self._loop() is not loop:
            raise RuntimeError("a future is awaited in one event loop only")
        else:
            self._waiters.append(waiter)
        try:
            yield from waiter
        except asyncio.CancelledError:
            self._waiters.remove(waiter)
            if not self._waiters:  # nobody waits any more
                self.cancel()
            raise

    def _wake(self) -> None:
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)


class _Queue:
    """The completion queue of one event loop. It does not refer to the loop, which refers to
    it: with the loop it goes, too."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.p = c_void_p()
        call(_c.tinkc_queue_open, byref(self.p))
        self.waiting: dict[int, Future[Any]] = {}
        self.numbers = itertools.count(1)
        loop.add_reader(_c.tinkc_queue_fd(self.p), self.drain)

    def __del__(self, byref: Any = byref, close: Any = _c.tinkc_queue_close) -> None:
        close(byref(self.p))

    def add(self, future: Future[Any]) -> None:
        number = next(self.numbers)
        self.waiting[number] = future
        try:
            call(_c.tinkc_queue_add, self.p, future._p, number)
        except Error:
            del self.waiting[number]
            raise

    def drain(self) -> None:
        taken, tag = c_void_p(), c_void_p()
        while (
            _c.tinkc_queue_take(byref(taken), byref(tag), self.p, 0, None) == _c.Code.OK
        ):
            _c.tinkc_future_free(byref(taken))
            future = self.waiting.pop(tag.value or 0, None)
            if future is not None:
                future._wake()


_queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = (
    weakref.WeakKeyDictionary()
)


def _queue_of(loop: asyncio.AbstractEventLoop) -> _Queue:
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue(loop)
    return queue


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures, in their order; raises the first error."""
    return [future.result() for future in futures]


def take_nothing(p: Any, _: Any) -> None:
    """For an operation without a result."""
    error = _c.tinkc_future_error(p)
    if error:
        raise from_c(error)


def take_text(p: Any, _: Any) -> str:
    """For an operation whose result is one text."""
    found = c_void_p()
    call(_c.tinkc_future_take_text, byref(found), p)
    return owned_text(found)


def owned_text(found: Any, n: int | None = None) -> str:
    """A text that the library handed out, which is freed."""
    data = string_at(found, -1 if n is None else n)
    _c.tinkc_text_free(byref(found))
    return data.decode("utf-8", "replace")


def taker(function: Any, make: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
    """What takes a result with `function` and wraps it: make(c_void_p, owner)."""

    def take(p: Any, owner: Any) -> T:
        found = c_void_p()
        err = c_void_p()
        code = function(byref(found), p, byref(err))
        if code:
            raise taken(code, err)
        return make(found, owner)

    return take
