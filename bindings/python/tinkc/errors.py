"""Failures of the library as exceptions."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import Any

from . import _c
from ._convert import known, text


class Error(Exception):
    """A failure, with what is known about it.

    code         a Code, such as Code.E_TIMEOUT
    status       the HTTP status; 0 when no response was involved
    request_id   the server's name of the request, or None
    retryable    whether the same call may succeed when it is repeated later
    kind         a Class: what the failure means for the work
    category     a Category: which side caused it, according to the server
    retry_after  the server's hint in seconds, or None
    The error that led to this one is __cause__.
    """

    def __init__(self, message: str, code: _c.Code = _c.Code.E_STATE) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = 0
        self.request_id: str | None = None
        self.retryable = False
        self.kind = _c.Class.USER
        self.category = _c.Category.UNKNOWN
        self.retry_after: float | None = None

    def __str__(self) -> str:
        facts = [self.code.name]
        if self.status:
            facts.append(f"HTTP {self.status}")
        if self.request_id:
            facts.append(f"request {self.request_id}")
        return f"{self.message} ({', '.join(facts)})"


class Timeout(Error, TimeoutError):
    """A deadline passed, or result(timeout) waited long enough."""


class Cancelled(Error):
    """The operation was cancelled, or its service was closed."""


_KINDS: dict[int, type[Error]] = {
    _c.Code.E_TIMEOUT: Timeout,
    _c.Code.E_CANCELLED: Cancelled,
}


def from_c(pointer: Any) -> Error:
    """The exception for a tinkc_error, which stays the caller's."""
    code = _c.Code(_c.tinkc_error_code(pointer))
    made = _KINDS.get(code, Error)(known(_c.tinkc_error_message(pointer)), code)
    made.status = _c.tinkc_error_http_status(pointer)
    made.request_id = text(_c.tinkc_error_request_id(pointer))
    made.retryable = _c.tinkc_error_is_retryable(pointer)
    made.kind = _c.Class(_c.tinkc_error_class(pointer))
    made.category = _c.Category(_c.tinkc_error_category(pointer))
    after = _c.tinkc_error_retry_after_ms(pointer)
    made.retry_after = after / 1000 if after >= 0 else None
    cause = _c.tinkc_error_cause(pointer)
    if cause:
        made.__cause__ = from_c(cause)
    return made


def call(function: Any, *arguments: Any) -> None:
    """Calls a function whose last argument is `tinkc_error **err`."""
    err = c_void_p()
    code = function(*arguments, byref(err))
    if code:
        raise taken(code, err)


def taken(code: int, err: Any) -> Error:
    """The exception for a code and its error, which is freed."""
    if not err:
        return _KINDS.get(code, Error)(known(_c.tinkc_code_name(code)), _c.Code(code))
    made = from_c(err)
    _c.tinkc_error_free(byref(err))
    return made
