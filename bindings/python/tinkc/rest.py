"""What the server stores: runs, checkpoints, sessions, account. Lists are iterators that fetch
their pages as needed, in `for` or `async for`."""

from __future__ import annotations

import asyncio
from ctypes import POINTER, byref, c_bool, c_char_p, c_void_p
from datetime import datetime
from typing import Any, AsyncIterator, Callable, Generic, Iterator, TypeVar

from . import _c, _records as r
from ._convert import encoded, known, microseconds
from ._handle import Closable, Owned
from ._thread import Stopped, in_thread
from .errors import call
from .future import Future, take_nothing, take_text

T = TypeVar("T")
Progress = Callable[[r.Progress], Any]


def _record(
    name: str, struct: Any, make: Callable[[Any], T]
) -> Callable[[Any, Any], T]:
    """What takes a result of this kind, copies it and frees it."""
    take = getattr(_c, f"tinkc_future_take_{name}")
    free = getattr(_c, f"tinkc_{name}_free")

    def taken(p: Any, _: Any) -> T:
        found = POINTER(struct)()
        call(take, byref(found), p)
        try:
            return make(found.contents)
        finally:
            free(byref(found))

    return taken


_run = _record("run", _c.tinkc_run, r.Run.of)
_checkpoints = _record("checkpoints", _c.tinkc_checkpoints, r.Checkpoints.of)
_archive = _record("archive", _c.tinkc_archive, r.Archive.of)
_weights_info = _record("weights_info", _c.tinkc_weights_info, r.WeightsInfo.of)
_sampler_info = _record("sampler_info", _c.tinkc_sampler_info, r.SamplerInfo.of)
_session_info = _record("session_info", _c.tinkc_session_info, r.SessionInfo.of)
_whoami = _record("whoami", _c.tinkc_whoami, r.Whoami.of)
_billing = _record("billing", _c.tinkc_billing, r.Billing.of)


class _PagerHandle(Owned):
    __slots__ = ()
    _free = _c.tinkc_pager_close


class Pages(Closable, Generic[T]):
    """An iterator over all pages of a list. One thread at a time uses it."""

    def __init__(
        self, open_: Any, next_: Callable[[Any], T], service: Any, given: Any
    ) -> None:
        options = _c.tinkc_pager_options()
        _c.tinkc_pager_options_init(byref(options))
        for name, value in given.items():
            if value is not None:
                setattr(options, name, value)
        p, handle = c_void_p(), service._open()
        call(open_, byref(p), handle.p, byref(options))
        self._owned = _PagerHandle(p)
        self._service = service  # keeps it open
        self._next_item = next_

    def _next(self) -> tuple[T] | None:
        handle, more = self._open(), c_bool()
        _service = (
            self._service._open()
        )  # the pager uses its handle: it stays until the return
        call(_c.tinkc_pager_has_next, byref(more), handle.p)
        return (self._next_item(handle.p),) if more.value else None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item = self._next()
        if item is None:
            raise StopIteration
        return item[0]

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        item = await asyncio.get_running_loop().run_in_executor(None, self._next)
        if item is None:
            raise StopAsyncIteration
        return item[0]

    @property
    def total(self) -> int | None:
        """How many items there are, according to the last page."""
        n: int = _c.tinkc_pager_total(self._open().p)
        return None if n < 0 else n


def _next_run(pager: Any) -> r.Run:
    found = POINTER(_c.tinkc_run)()
    call(_c.tinkc_pager_next_run, byref(found), pager)
    return r.Run.of(found.contents)


def _next_checkpoint(pager: Any) -> r.Checkpoint:
    found = POINTER(_c.tinkc_checkpoint)()
    call(_c.tinkc_pager_next_checkpoint, byref(found), pager)
    return r.Checkpoint.of(found.contents)


def _next_session(pager: Any) -> str:
    found = c_char_p()
    call(_c.tinkc_pager_next_session, byref(found), pager)
    return known(found.value)


class Rest:
    """Requests about stored things; none of them creates a session."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def _ask(
        self, take: Callable[[Any, Any], T], function: Any, *arguments: Any
    ) -> Future[T]:
        return Future(
            function(self._service._open().p, *arguments), take, self._service
        )

    def runs(
        self,
        *,
        limit: int | None = None,
        scope: _c.Scope = _c.Scope.OWNED,
        project_id: str | None = None,
    ) -> Pages[r.Run]:
        """The runs, newest first."""
        given = dict(limit=limit, scope=scope, project_id=encoded(project_id))
        return Pages(_c.tinkc_pager_runs, _next_run, self._service, given)

    def checkpoints(self, *, limit: int | None = None) -> Pages[r.Checkpoint]:
        """All checkpoints of the user, newest first."""
        given = dict(limit=limit)
        return Pages(_c.tinkc_pager_checkpoints, _next_checkpoint, self._service, given)

    def sessions(
        self, *, limit: int | None = None, scope: _c.Scope = _c.Scope.OWNED
    ) -> Pages[str]:
        """The ids of the sessions."""
        given = dict(limit=limit, scope=scope)
        return Pages(_c.tinkc_pager_sessions, _next_session, self._service, given)

    def run(self, run_id: str, scope: _c.Scope = _c.Scope.OWNED) -> Future[r.Run]:
        """Asks for a run."""
        return self._ask(_run, _c.tinkc_rest_get_run, encoded(run_id), scope)

    def run_checkpoints(self, run_id: str) -> Future[r.Checkpoints]:
        """Lists all checkpoints of a run."""
        return self._ask(_checkpoints, _c.tinkc_rest_list_checkpoints, encoded(run_id))

    def delete_checkpoint(self, path: str) -> Future[None]:
        """Deletes a checkpoint permanently."""
        return self._ask(take_nothing, _c.tinkc_rest_delete_checkpoint, encoded(path))

    def publish_checkpoint(self, path: str) -> Future[None]:
        """Makes a checkpoint readable by every user of the server."""
        return self._ask(take_nothing, _c.tinkc_rest_publish_checkpoint, encoded(path))

    def unpublish_checkpoint(self, path: str) -> Future[None]:
        """Makes a checkpoint private."""
        return self._ask(
            take_nothing, _c.tinkc_rest_unpublish_checkpoint, encoded(path)
        )

    def set_checkpoint_ttl(self, path: str, ttl_seconds: int | None) -> Future[None]:
        """Sets when a checkpoint expires, counted from now; None: never."""
        ttl = _c.TINKC_NO_TTL if ttl_seconds is None else ttl_seconds
        return self._ask(
            take_nothing, _c.tinkc_rest_set_checkpoint_ttl, encoded(path), ttl
        )

    def archive_url(self, path: str) -> Future[r.Archive]:
        """Asks for a URL from which the checkpoint can be downloaded."""
        return self._ask(_archive, _c.tinkc_rest_archive_url, encoded(path))

    def weights_info(self, path: str) -> Future[r.WeightsInfo]:
        """Asks what kind of weights a checkpoint holds."""
        return self._ask(_weights_info, _c.tinkc_rest_weights_info, encoded(path))

    def sampler(self, sampler_id: str) -> Future[r.SamplerInfo]:
        """Asks what a sampler samples from."""
        return self._ask(_sampler_info, _c.tinkc_rest_get_sampler, encoded(sampler_id))

    def session(
        self, session_id: str, scope: _c.Scope = _c.Scope.OWNED
    ) -> Future[r.SessionInfo]:
        """Asks which runs and samplers a session has."""
        return self._ask(
            _session_info, _c.tinkc_rest_get_session, encoded(session_id), scope
        )

    def whoami(self) -> Future[r.Whoami]:
        """Which account the credential belongs to."""
        return self._ask(_whoami, _c.tinkc_rest_whoami)

    def billing(self, start: datetime, end: datetime) -> Future[r.Billing]:
        """The usage per hour between two times."""
        times = microseconds(start), microseconds(end)
        return self._ask(_billing, _c.tinkc_rest_billing, *times)

    def export_trace(self, session_id: str) -> Future[str]:
        """Asks the server to write a trace of a session; the result is its URL."""
        return self._ask(take_text, _c.tinkc_rest_export_trace, encoded(session_id))

    def download(
        self,
        path: str,
        target: str,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> r.Progress:
        """Downloads the files of a checkpoint into a new directory. Blocks; download_async does
        not. `progress` is called several times a second; an exception in it ends the download
        and is raised."""
        return self._download(path, target, overwrite, progress, None)

    async def download_async(
        self,
        path: str,
        target: str,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> r.Progress:
        """The same with await. `progress` is called in another thread. Cancelling the task ends
        the download and removes what has arrived."""
        return await in_thread(
            lambda stopped: self._download(path, target, overwrite, progress, stopped)
        )

    def _download(
        self,
        path: str,
        target: str,
        overwrite: bool,
        progress: Progress | None,
        is_stopped: Stopped | None,
    ) -> r.Progress:
        options, result = _c.tinkc_download_options(), _c.tinkc_progress()
        _c.tinkc_download_options_init(byref(options))
        options.overwrite = overwrite
        raised: list[BaseException] = []

        def report(state: Any, _: Any) -> bool:
            try:  # also without a function: here Ctrl-C is noticed
                if progress is not None:
                    progress(r.Progress.of(state.contents))
                return is_stopped is None or not is_stopped()
            except BaseException as error:
                raised.append(error)
                return False

        options.fn = _c.tinkc_progress_fn(report)
        handle = self._service._open()
        try:
            call(
                _c.tinkc_download_checkpoint,
                byref(result),
                handle.p,
                encoded(path),
                encoded(target),
                byref(options),
            )
        except Exception:
            if raised:
                raise raised[0]
            raise
        return r.Progress.of(result)
