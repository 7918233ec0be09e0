"""The service: one server, one credential, one session."""

from __future__ import annotations

import atexit
import warnings
import weakref
from ctypes import POINTER, byref, c_void_p, cast
from typing import Any, Callable, Iterable, Mapping, NamedTuple

from . import _c
from ._convert import (
    choice,
    encoded,
    known,
    named,
    pair_array,
    set_field,
    set_seed,
    text,
)
from ._handle import Closable, Owned
from .errors import call
from .future import Future, take_nothing, taker
from .rest import Rest
from .sampling import Sampling, take_sampling
from ._thread import Stopped, in_thread
from .tokenizer import Tokenizer, tokenizer_of
from .training import Training, take_training

Log = Callable[[_c.LogLevel, str, str], None]


class Model(NamedTuple):
    """A model that the server offers. None: the server did not say."""

    name: "str | None"
    context: "int | None"
    trainable: "bool | None"
    sampleable: "bool | None"


def _make_models(p: Any, _: Any) -> list[Model]:
    made = []
    for i in range(_c.tinkc_capabilities_count(p)):
        context = _c.tinkc_capabilities_context(p, i)
        trainable = choice(_c.tinkc_capabilities_trainable(p, i))
        sampleable = choice(_c.tinkc_capabilities_sampleable(p, i))
        name = text(_c.tinkc_capabilities_name(p, i))
        made.append(
            Model(name, None if context < 0 else context, trainable, sampleable)
        )
    _c.tinkc_capabilities_free(byref(p))
    return made


_take_models = taker(_c.tinkc_future_take_capabilities, _make_models)


class _ServiceHandle(Owned):
    """The C handle with the function that it logs to."""

    __slots__ = ("log",)
    log: Any
    _free = _c.tinkc_service_close

    def __del__(self, byref: Any = byref) -> None:
        self._free(byref(self.p))
        if self.p:  # in a callback of this service it cannot be closed: later, then
            _orphans.append((self.p, self.log))


_orphans: list[Any] = []
_services: weakref.WeakSet[Service] = weakref.WeakSet()


def _close_orphans() -> None:
    while _orphans:
        p, _log = _orphans.pop()
        _c.tinkc_service_close(byref(p))


@atexit.register
def _close_all() -> None:
    """Before the interpreter ends: no thread of the library may call into it afterwards."""
    for service in list(_services):
        service.close()
    _close_orphans()


def _log_function(log: Log | None) -> Any:
    """The C function that passes lines on; an exception of `log` is reported, as that of any
    callback, through sys.unraisablehook."""
    if log is None:
        return None

    def receive(level: int, component: bytes, line: bytes, _user: Any) -> None:
        log(_c.LogLevel(level), known(component), known(line))

    return _c.tinkc_log_fn(receive)


def _value(value: Any) -> bytes | None:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return None if value is None else encoded(str(value))


class Service(Closable):
    """A server with its session. What is not given comes from the environment
    (TINKER_API_KEY, TINKER_BASE_URL, ...); `options` are those of docs/config.md. Opening
    sends nothing.

    Methods that ask the server return a Future: result() blocks, await does not. Close the
    service, or use it in `with`; clients that it made fail afterwards."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        metadata: Mapping[str, str | None] | None = None,
        tags: Iterable[str] = (),
        log: Log | None = None,
        **options: Any,
    ) -> None:
        self._owned = None
        self._losses: dict[int, Any] = (
            {}
        )  # functions of custom losses that were not called yet
        _close_orphans()
        config = c_void_p()
        call(_c.tinkc_config_new, byref(config))
        try:
            given = {"base_url": base_url, "api_key": api_key, **options}
            for name, value in given.items():
                if value is not None:
                    call(_c.tinkc_config_set, config, encoded(name), _value(value))
            for name, header in (headers or {}).items():
                call(_c.tinkc_config_set_header, config, encoded(name), encoded(header))
            for name, entry in (metadata or {}).items():
                call(
                    _c.tinkc_config_set_metadata, config, encoded(name), encoded(entry)
                )
            for tag in tags:
                call(_c.tinkc_config_add_tag, config, encoded(tag))
            self._connect(config, _log_function(log))
        finally:
            _c.tinkc_config_free(byref(config))

    def _connect(self, config: Any, log: Any) -> None:
        if log is not None:
            _c.tinkc_config_set_log(config, log, None)
        p = c_void_p()
        call(_c.tinkc_service_open, byref(p), config)
        handle = _ServiceHandle(p)
        handle.log = log
        self._owned = handle
        _services.add(self)

    def __del__(self) -> None:
        if self._owned is not None:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)

    def close(self) -> None:
        """Ends the session, cancels unfinished operations and closes the service."""
        super().close()
        self._losses.clear()

    def __exit__(
        self, kind: Any = None, error: Any = None, _traceback: Any = None
    ) -> None:
        """Closes; the server learns whether an exception ended the work."""
        owned = self._owned
        if kind is not None and owned is not None:
            interrupted = issubclass(kind, KeyboardInterrupt)
            finish = _c.Finish.INTERRUPTED if interrupted else _c.Finish.ERRORED
            detail = repr(error).encode("utf-8", "replace").replace(b"\0", b"")[:1000]
            detail = detail.decode("utf-8", "ignore").encode()
            _c.tinkc_service_set_finish(owned.p, finish, detail, None)
        del owned
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<tinkc.Service closed>"
        return f"<tinkc.Service {self.session_id or 'without a session yet'}>"

    @property
    def session_id(self) -> str | None:
        """The id of the session, once there is one."""
        return text(_c.tinkc_service_session_id(self._open().p))

    @property
    def rest(self) -> Rest:
        """Runs, checkpoints, sessions: what the server stores."""
        return Rest(self)

    def health(self) -> Future[None]:
        """Checks whether the server responds."""
        return Future(_c.tinkc_service_health(self._open().p), take_nothing, self)

    def models(self) -> Future[list[Model]]:
        """Asks which models the server offers."""
        return Future(_c.tinkc_service_capabilities(self._open().p), _take_models, self)

    @named
    def create_sampling(
        self, base_model: str | None = None, *, path: str | None = None
    ) -> Future[Sampling]:
        """A sampling client for a base model, or for a checkpoint: its path
        ("tinker://..."), as the first argument or as `path`."""
        if path is None and (base_model or "").startswith("tinker://"):
            base_model, path = None, base_model
        made = _c.tinkc_service_create_sampling(
            self._open().p, encoded(base_model), encoded(path)
        )
        return Future(made, take_sampling, self)

    def import_sampling(self, handle: str) -> Future[Sampling]:
        """Joins the sampling session that Sampling.export of another process named."""
        made = _c.tinkc_service_import_sampling(self._open().p, encoded(handle))
        return Future(made, take_sampling, self)

    @named
    def create_training(
        self,
        base_model: str,
        *,
        rank: int | None = None,
        seed: int | None = None,
        train_unembed: bool = True,
        train_mlp: bool = True,
        train_attn: bool = True,
        metadata: dict[str, str | None] | None = None,
    ) -> Future[Training]:
        """Creates a LoRA model and a training client for it."""
        lora = _c.tinkc_lora_config()
        _c.tinkc_lora_config_init(byref(lora))
        if rank is not None:
            set_field(lora, "rank", rank)
        if seed is not None:
            set_seed(lora, seed)
        lora.train_unembed, lora.train_mlp, lora.train_attn = (
            train_unembed,
            train_mlp,
            train_attn,
        )
        rows = pair_array(metadata)
        if rows is not None:
            lora.metadata, lora.metadata_n = cast(rows, POINTER(_c.tinkc_pair)), len(
                rows
            )
        made = _c.tinkc_service_create_training(
            self._open().p, encoded(base_model), byref(lora)
        )
        return Future(made, take_training, self)

    def create_training_from_state(
        self, path: str, *, with_optimizer: bool = False
    ) -> Future[Training]:
        """Creates a model that continues from a checkpoint, and a training client for it."""
        options = _c.tinkc_from_state_options()
        _c.tinkc_from_state_options_init(byref(options))
        options.with_optimizer = with_optimizer
        made = _c.tinkc_service_create_training_from_state(
            self._open().p, encoded(path), byref(options)
        )
        return Future(made, take_training, self)

    def tokenizer(self, model: str, directory: str | None = None) -> Tokenizer:
        """Finds the tokenizer of a model by its name or directory. Blocks; tokenizer_async does not."""
        return self._tokenizer(model, directory, None)

    async def tokenizer_async(
        self, model: str, directory: str | None = None
    ) -> Tokenizer:
        """The same with await."""
        return await in_thread(
            lambda stopped: self._tokenizer(model, directory, stopped)
        )

    def _tokenizer(
        self, model: str, directory: str | None, is_stopped: Stopped | None
    ) -> Tokenizer:
        handle = self._open()
        return tokenizer_of(
            _c.tinkc_service_get_tokenizer,
            handle.p,
            encoded(model),
            directory=directory,
            is_stopped=is_stopped,
        )
