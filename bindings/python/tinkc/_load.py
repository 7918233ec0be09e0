"""Finds libtinkc and binds its functions.

The library is $TINKC_LIBRARY, else the one inside this package (a wheel has it), else the one
that the system's loader knows. Each function exists twice in ctypes: one kind gives up the
interpreter lock during the call, the other keeps it, which is cheaper for a call that only reads
memory; scripts/gen-python.py chooses.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NoReturn

_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtinkc.so")


def _path() -> str:
    given = os.environ.get("TINKC_LIBRARY")
    if given:
        return given
    return _BUNDLED if os.path.exists(_BUNDLED) else "libtinkc.so.0"


PATH = _path()
try:
    _releasing = ctypes.CDLL(PATH)
    _keeping = ctypes.PyDLL(PATH)
except OSError as error:
    if os.environ.get("TINKC_LIBRARY") and not os.path.exists(PATH):
        reason = "there is no such file; TINKC_LIBRARY names it"
    elif PATH == "libtinkc.so.0":
        reason = f"{error}. Install libtinkc, or set TINKC_LIBRARY to libtinkc.so"
    else:
        reason = (
            f"{error}. libtinkc needs libcurl4, libssl3, libzstd1, libpcre2-8-0, "
            "libutf8proc2 and libarchive13"
        )
    raise ImportError(f"cannot load {PATH}: {reason}") from None


def _bind(library: Any, name: str, result: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        found = library[name]
    except AttributeError:

        def missing(*_: Any) -> NoReturn:
            raise NotImplementedError(f"{PATH} was built without {name}")

        return missing
    found.restype = result
    found.argtypes = arguments
    return found


def function(name: str, result: Any, *arguments: Any) -> Any:
    """A function during which other Python threads run."""
    return _bind(_releasing, name, result, arguments)


def getter(name: str, result: Any, *arguments: Any) -> Any:
    """A short function that keeps the interpreter lock."""
    return _bind(_keeping, name, result, arguments)
