"""Texts, times and arrays between C and Python. Arrays are not copied: what comes out is a view
that keeps the C result alive, what goes in is the caller's buffer."""

from __future__ import annotations

import ctypes
import functools
import inspect
from array import array
from datetime import datetime, timedelta, timezone
from difflib import get_close_matches
from typing import Any, Callable, Iterable, TypeVar, cast

from . import _c

F = TypeVar("F", bound=Callable[..., Any])

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NO_TIME: int = _c.tinkc_time_none()


def text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def known(value: bytes | None) -> str:
    """A text that the library always gives."""
    return (value or b"").decode("utf-8", "replace")


def texts(values: Any, n: int) -> list[str]:
    return [known(values[i]) for i in range(n)]


def pairs(values: Any, n: int) -> dict[str, str | None]:
    return {known(values[i].name): text(values[i].value) for i in range(n)}


def time(value: int) -> datetime | None:
    return None if value == _NO_TIME else _EPOCH + timedelta(microseconds=value)


def microseconds(value: datetime) -> int:
    if value.tzinfo is None:
        raise ValueError("a time needs a zone: datetime(..., tzinfo=timezone.utc)")
    return (value - _EPOCH) // timedelta(microseconds=1)


def choice(value: int) -> bool | None:
    return None if value == _c.Choice.UNSET else value == _c.Choice.YES


def kind(value: Any) -> str:
    """What a value is, for an error: "a float", "an int", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


# What other libraries call a parameter.
_ALIASES = {
    "best_of": "num_samples",
    "epsilon": "eps",
    "lora_rank": "rank",
    "loss_fn": "loss",
    "lr": "learning_rate",
    "max_new_tokens": "max_tokens",
    "model_path": "path",
    "n": "num_samples",
    "r": "rank",
    "targets": "target_tokens",
    "labels": "target_tokens",
}


def check_names(
    given: Iterable[str],
    names: Iterable[str],
    function: str,
    what: str = "parameter",
    more: str = "",
) -> None:
    """Refuses a keyword argument that does not exist, as Python does, with what was meant."""
    known_names = list(names)
    for name in given:
        if name not in known_names:
            alias = _ALIASES.get(name)
            close = (
                [alias]
                if alias in known_names
                else get_close_matches(name, known_names, 1)
            )
            hint = f"did you mean {close[0]!r}?" if close else ""
            hint = hint or f"it has {', '.join(known_names)}"
            raise TypeError(f"{function}() has no {what} {name!r}; {hint}{more}")


def named(function: F) -> F:
    """Checks the names of keyword arguments with check_names."""
    names = [
        parameter.name
        for parameter in list(inspect.signature(function).parameters.values())[1:]
    ]
    title = function.__qualname__.replace(".__init__", "").split(".")[-1]

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        check_names(options, names, title)
        return function(*arguments, **options)

    return cast(F, checked)


def set_field(struct: Any, name: str, value: Any) -> None:
    """Sets a member of a struct of C; says which one does not take the value."""
    try:
        setattr(struct, name, value)
    except (TypeError, ValueError):
        wanted = dict(struct._fields_)[name].__name__
        what = "a number" if wanted in ("c_float", "c_double") else "an integer"
        raise TypeError(f"{name} is {kind(value)}, not {what}") from None


def set_seed(struct: Any, seed: Any) -> None:
    """Sets `seed` of a struct of C that has one."""
    if not hasattr(seed, "__index__"):
        raise TypeError(f"seed is {kind(seed)}, not an integer")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed {seed} is not an unsigned 64-bit number")
    struct.has_seed, struct.seed = True, seed


def encoded(value: str | None) -> bytes | None:
    """A text argument. C ends a text at its first NUL."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"expected a str, got {kind(value)}: {value!r:.60}")
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a text with a NUL character")
    return data


def pair_array(values: dict[str, str | None] | None) -> Any:
    """An array of tinkc_pair; None for none. ctypes keeps the texts alive."""
    if not values:
        return None
    rows = [_c.tinkc_pair(encoded(k), encoded(v)) for k, v in values.items()]
    return (_c.tinkc_pair * len(rows))(*rows)


def text_array(values: list[str] | tuple[str, ...]) -> Any:
    return (ctypes.c_char_p * len(values))(*[encoded(v) for v in values])


# ---- arrays out ----


class _Memory(ctypes.Array):  # type: ignore[type-arg]
    """Memory of C at some address; a view is cut out of it. It holds what owns the memory."""

    _type_ = ctypes.c_ubyte
    _length_ = 1 << 46
    owner: Any


_SIZES = {"i": 4, "f": 4, "q": 8, "N": 8}
_EMPTY = memoryview(b"")


def view(owner: Any, address: int | None, n: int, kind: str) -> memoryview:
    """The n numbers at an address, as a read-only view that keeps `owner` alive."""
    if not address or n == 0:
        return _EMPTY.cast(kind)  # type: ignore[call-overload, no-any-return]
    memory = _Memory.from_address(address)
    memory.owner = owner
    part = memoryview(memory)[: n * _SIZES[kind]].toreadonly()
    return part.cast("B").cast(kind)  # type: ignore[call-overload, no-any-return]


# ---- arrays in ----


class _PyBuffer(ctypes.Structure):
    """Py_buffer of CPython, which is the same in all versions of Python 3."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_STRIDED = 0x18  # PyBUF_STRIDES
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(_PyBuffer),)
_release.restype = None


def address(buffer: memoryview) -> int | None:
    """Where a buffer begins; valid while the view exists. ctypes itself only gives the address
    of a buffer that can be written."""
    found = _PyBuffer()
    _get_buffer(buffer, ctypes.byref(found), _STRIDED)
    place: int | None = found.buf
    _release(ctypes.byref(found))
    return place


def is_sequence(values: Any) -> bool:
    return isinstance(values, (list, tuple, range))


def _buffer(values: Any, what: str) -> memoryview:
    try:
        return memoryview(values)
    except TypeError:
        is_text = values.__class__ is str and what.endswith("tokens")
        hint = ": encode it with tokenizer.encode(...)" if is_text else ""
        raise TypeError(
            f"{what} are a list or a buffer of numbers, not {kind(values)}{hint}"
        ) from None


def _not_numbers(values: Any, what: str) -> TypeError:
    """The error for a list with an element that is not a number."""
    for i, value in enumerate(values):
        if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
            return TypeError(f"{what}[{i}] is {value!r:.60}, not a number")
    return TypeError(f"{what} are not numbers of one type")


def tokens(values: Any) -> memoryview:
    """Token ids as int32 in a row: the caller's buffer itself when it is that."""
    if is_sequence(values):
        try:
            return memoryview(array("i", values))
        except TypeError:
            for i, value in enumerate(values):
                if not hasattr(value, "__index__"):
                    raise TypeError(f"token {i} is {value!r:.60}, not an id") from None
            raise
    buffer = _buffer(values, "tokens")
    if buffer.ndim != 1:
        raise ValueError(f"tokens have one dimension, not {buffer.ndim}")
    if buffer.format in ("i", "<i") and buffer.c_contiguous:
        return buffer
    if buffer.format[-1:] not in "bBhHiIlLqQ":
        raise TypeError(f"tokens are integers, not of format {buffer.format!r}")
    return memoryview(array("i", buffer.tolist()))


def floats(values: Any, what: str = "numbers") -> memoryview:
    """float32 in a row: the caller's buffer itself when it is that."""
    if is_sequence(values):
        try:
            return memoryview(array("f", values))
        except TypeError:
            raise _not_numbers(values, what) from None
    buffer = _buffer(values, what)
    if buffer.ndim == 1 and buffer.format in ("f", "<f") and buffer.c_contiguous:
        return buffer
    return memoryview(array("f", buffer.tolist()))


_ELEMENTS = {
    "b": _c.Elem.I8,
    "h": _c.Elem.I16,
    "i": _c.Elem.I32,
    "l": _c.Elem.I64,
    "q": _c.Elem.I64,
    "B": _c.Elem.U8,
    "H": _c.Elem.U16,
    "I": _c.Elem.U32,
    "L": _c.Elem.U64,
    "Q": _c.Elem.U64,
    "f": _c.Elem.F32,
    "d": _c.Elem.F64,
    "?": _c.Elem.BOOL,
}


def _numbers(values: Any, what: str) -> memoryview:
    """A list of numbers, or of rows of numbers, as a buffer."""
    rows = (
        [list(row) for row in values]
        if len(values) and is_sequence(values[0])
        else None
    )
    flat = [x for row in rows for x in row] if rows is not None else values
    try:
        buffer = memoryview(array("q", flat))
    except TypeError:
        try:
            buffer = memoryview(array("d", flat))
        except TypeError:
            raise _not_numbers(flat, what) from None
    if rows is None:
        return buffer
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of different lengths")
    return buffer.cast("B").cast(buffer.format, (len(rows), len(rows[0])))  # type: ignore


def c_array(values: Any, what: str = "numbers") -> tuple[Any, Any]:
    """(tinkc_array of any numbers, what has to live as long as the library uses it). Strided
    buffers are passed on as they are."""
    buffer = _numbers(values, what) if is_sequence(values) else _buffer(values, what)
    element = _ELEMENTS.get(buffer.format.lstrip("<=@"))
    if element is None or (buffer.format[0] == ">"):
        raise TypeError(
            f"{what} are numbers of format {buffer.format!r}, which are not supported: "
            "convert them to float32 or int64 in the machine's byte order"
        )
    made = _c.tinkc_array()
    _c.tinkc_array_init(ctypes.byref(made))
    shape = (ctypes.c_int64 * buffer.ndim)(*(buffer.shape or ()))
    made.elem, made.ndim = element, buffer.ndim
    made.shape = ctypes.cast(shape, ctypes.c_void_p)
    strides = None
    if not buffer.c_contiguous:
        if any(stride % buffer.itemsize for stride in buffer.strides or ()):
            raise ValueError("strides that are not whole elements")
        steps = [stride // buffer.itemsize for stride in buffer.strides or ()]
        strides = (ctypes.c_int64 * buffer.ndim)(*steps)
        made.strides = ctypes.cast(strides, ctypes.c_void_p)
    made.data = address(buffer)
    made.flags = _c.TINKC_ARRAY_BORROW
    return made, (buffer, shape, strides)
