"""What owns objects of the library.

Owned frees its object when Python no longer refers to it. A handle that can be closed (a service,
a client) refers to an Owned; each call holds its own reference meanwhile, so that closing in
another thread takes effect when the last call has returned.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any, TypeVar

from . import _c
from .errors import Error

Self = TypeVar("Self", bound="Closable")


class Owned:
    """An object of the library, freed with the last reference. `p` is its c_void_p."""

    __slots__ = ("p",)
    _free: Any = None  # the C function

    def __init__(self, p: Any) -> None:
        self.p = p

    def __del__(self, byref: Any = byref) -> None:
        self._free(byref(self.p))


class Closable:
    """A handle with close(), usable in `with`."""

    _owned: Any

    def close(self) -> None:
        """Closes the handle; a second call does nothing."""
        self._owned = None

    @property
    def closed(self) -> bool:
        return self._owned is None

    def _open(self) -> Any:
        """What owns the C handle; the caller keeps it until its call has returned."""
        owned = self._owned
        if owned is None:
            raise Error(f"this {type(self).__name__} is closed", _c.Code.E_STATE)
        return owned

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
