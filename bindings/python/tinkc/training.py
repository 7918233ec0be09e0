"""Training clients: one LoRA model on the server."""

from __future__ import annotations

import itertools
import weakref
from array import array
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_size_t,
    c_void_p,
    cast,
    memmove,
    pointer,
    string_at,
)
from typing import Any, Callable, Mapping, NamedTuple, Sequence, Union

from . import _c
from ._convert import (
    encoded,
    kind,
    known,
    named,
    pair_array,
    set_field,
    text,
    text_array,
    view,
)
from ._handle import Closable, Owned
from .data import Adam, Datum, datums
from .errors import Error, call
from .future import Future, take_nothing, take_text, taker
from .sampling import Sampling, take_sampling
from ._thread import Stopped, in_thread
from .tokenizer import Tokenizer, tokenizer_of

Config = Mapping[str, Union[float, str]]
LossResult = Union[float, "tuple[float, Mapping[str, float]]"]
LossFunction = Callable[["list[CustomItem]"], LossResult]


# ---- results ----


class _FwdBwdOwned(Owned):
    __slots__ = ()
    _free = _c.tinkc_fwdbwd_free


class _StepOwned(Owned):
    __slots__ = ()
    _free = _c.tinkc_step_free


class _MetricsOwned(Owned):
    __slots__ = ()
    _free = _c.tinkc_metrics_free


def _metrics(p: Any) -> dict[str, float]:
    found, name, value = {}, c_char_p(), c_double()
    for i in range(_c.tinkc_metrics_count(p)):
        _c.tinkc_metrics_at(byref(name), byref(value), p, i)
        found[known(name.value)] = value.value
    return found


class FwdBwd:
    """The result of forward and forward_backward; a sequence with one dictionary of outputs for
    each datum is not built unless asked for."""

    __slots__ = ("_p", "_owner")

    def __init__(self, p: Any, owner: Any) -> None:
        self._p = p
        self._owner = owner

    def __len__(self) -> int:
        """The number of datums."""
        n: int = _c.tinkc_fwdbwd_count(self._p)
        return n

    def __repr__(self) -> str:
        return f"<tinkc.FwdBwd: {len(self)} datums, metrics {self.metrics}>"

    @property
    def loss(self) -> float:
        """The loss: the server's metric, else the sum over all tokens."""
        value = c_double()
        call(_c.tinkc_fwdbwd_loss, byref(value), self._p)
        return value.value

    @property
    def metrics(self) -> dict[str, float]:
        return _metrics(_c.tinkc_fwdbwd_metrics(self._p))

    def names(self, datum: int) -> list[str]:
        """The names of the outputs of a datum."""
        found = iter(
            lambda: text(_c.tinkc_fwdbwd_name(self._p, datum, len(names))), None
        )
        names: list[str] = []
        for name in found:
            names.append(name or "")
        return names

    def output(self, datum: int, name: str = "logprobs") -> memoryview:
        """An output of a datum: a view of float32 or int64, flat."""
        place, n = c_void_p(), c_size_t()
        for function, kind in ((_c.tinkc_fwdbwd_f32, "f"), (_c.tinkc_fwdbwd_i64, "q")):
            try:
                call(function, byref(place), byref(n), self._p, datum, encoded(name))
                return view(self._owner, place.value, n.value, kind)
            except Error as error:
                if error.code != _c.Code.E_INVALID or kind == "q":
                    raise
        raise AssertionError

    def shape(self, datum: int, name: str = "logprobs") -> tuple[int, ...]:
        """The shape of an output."""
        place, n = c_void_p(), c_size_t()
        call(
            _c.tinkc_fwdbwd_shape, byref(place), byref(n), self._p, datum, encoded(name)
        )
        return tuple(view(self._owner, place.value, n.value, "q"))


class Step(NamedTuple):
    """The results of forward_backward and optim_step."""

    result: FwdBwd
    metrics: "dict[str, float]"

    @property
    def loss(self) -> float:
        return self.result.loss


class ModelInfo(NamedTuple):
    """What the server knows about a model."""

    model_id: "str | None"
    model_name: "str | None"
    arch: "str | None"
    tokenizer_id: "str | None"
    is_lora: bool
    lora_rank: int
    optimizer: str


def _make_fwdbwd(p: Any, _: Any) -> FwdBwd:
    return FwdBwd(p, _FwdBwdOwned(p))


def _make_step(p: Any, _: Any) -> Step:
    owner = _StepOwned(p)
    return Step(
        FwdBwd(_c.tinkc_step_fwdbwd(p), owner), _metrics(_c.tinkc_step_metrics(p))
    )


def _make_metrics(p: Any, _: Any) -> dict[str, float]:
    owner = _MetricsOwned(p)
    return _metrics(owner.p)


def _make_info(p: Any, _: Any) -> ModelInfo:
    made = ModelInfo(
        text(_c.tinkc_model_info_model_id(p)),
        text(_c.tinkc_model_info_model_name(p)),
        text(_c.tinkc_model_info_arch(p)),
        text(_c.tinkc_model_info_tokenizer_id(p)),
        _c.tinkc_model_info_is_lora(p),
        _c.tinkc_model_info_lora_rank(p),
        known(_c.tinkc_model_info_optimizer_name(p)),
    )
    _c.tinkc_model_info_free(byref(p))
    return made


_take_fwdbwd = taker(_c.tinkc_future_take_fwdbwd, _make_fwdbwd)
_take_step = taker(_c.tinkc_future_take_step, _make_step)
_take_metrics = taker(_c.tinkc_future_take_metrics, _make_metrics)
_take_info = taker(_c.tinkc_future_take_model_info, _make_info)


# ---- custom losses ----


class CustomItem:
    """One datum of a custom loss: `logprobs` in, `gradient` out, both arrays of float32.
    They belong to Python and stay valid after the callback."""

    def __init__(self, item: Any) -> None:
        self._item = item
        self.logprobs = array("f", string_at(item.logprobs, 4 * item.n))
        self.gradient = array("f", bytes(4 * item.n))

    def input(self, name: str) -> array[Any]:
        """An input of the datum's loss function, in the callback only."""
        if self._item is None:
            raise Error("the callback has returned", _c.Code.E_STATE)
        tensor = _c.tinkc_custom_item_tensor(byref(self._item), encoded(name))
        if not tensor:
            raise KeyError(name)
        n = _c.tinkc_tensor_count(tensor)
        if _c.tinkc_tensor_dtype(tensor) == _c.Dtype.INT64:
            return array("q", string_at(_c.tinkc_tensor_i64(tensor), 8 * n))
        return array("f", string_at(_c.tinkc_tensor_f32(tensor), 4 * n))

    def _finish(self) -> None:
        values, item = self.gradient, self._item
        if len(values) != item.n or values.typecode != "f":
            raise ValueError(f"a gradient needs {item.n} numbers of float32")
        memmove(item.gradient, values.buffer_info()[0], 4 * item.n)


class _Loss:
    """A function that waits to be called. The service keeps it; C knows only its number, so
    that a call which comes too late finds nothing instead of freed memory."""

    numbers = itertools.count(1)
    waiting: weakref.WeakValueDictionary[int, _Loss] = weakref.WeakValueDictionary()

    def __init__(self, function: LossFunction, service: Any) -> None:
        self.function = function
        self.error: BaseException | None = None
        self.number = next(self.numbers)
        self.kept = weakref.ref(service)
        service._losses[self.number] = self
        self.waiting[self.number] = self

    def forget(self) -> None:
        service = self.kept()
        if service is not None:
            service._losses.pop(self.number, None)

    def run(self, loss: Any, metrics: Any, items: Any, n: int) -> None:
        made = [CustomItem(items[i]) for i in range(n)]
        try:
            result = self.function(made)
            value, extra = result if isinstance(result, tuple) else (result, {})
            loss[0] = value
            for name, number in extra.items():
                call(_c.tinkc_metrics_put, metrics, encoded(name), number)
            for item in made:
                item._finish()
        finally:
            for item in made:
                item._item = None

    def take(self, p: Any, owner: Any) -> FwdBwd:
        """The result of the operation, or the exception of the function."""
        self.forget()
        try:
            return _take_fwdbwd(p, owner)
        except Error as error:
            raised, self.error = self.error, None
            if raised is None:
                raise
            if isinstance(raised, Exception):
                raise raised from error
            raise Error(f"the loss function raised {raised!r}", error.code) from raised


@_c.tinkc_custom_loss_fn  # type: ignore[untyped-decorator, unused-ignore]
def _run_loss(loss: Any, metrics: Any, items: Any, n: int, number: Any) -> int:
    """Called by the library on its thread, with the interpreter lock. No exception leaves."""
    entry = _Loss.waiting.get(number)
    if entry is None:
        return -1
    try:
        entry.run(loss, metrics, items, n)
        return 0
    except BaseException as error:
        entry.error = error
        return 1
    finally:
        entry.forget()


# ---- the client ----


def _fwdbwd_options(config: Config | None) -> tuple[Any, Any]:
    if not config:
        return None, None
    options = _c.tinkc_fwdbwd_options()
    _c.tinkc_fwdbwd_options_init(byref(options))
    numbers = [
        _c.tinkc_number(encoded(k), v)
        for k, v in config.items()
        if not isinstance(v, str)
    ]
    rows = (_c.tinkc_number * len(numbers))(*numbers)
    texts = pair_array({k: v for k, v in config.items() if isinstance(v, str)})
    options.config, options.config_n = cast(rows, POINTER(_c.tinkc_number)), len(
        numbers
    )
    if texts is not None:
        options.texts, options.texts_n = cast(texts, POINTER(_c.tinkc_pair)), len(texts)
    return pointer(options), (options, rows, texts)


class _TrainingHandle(Owned):
    __slots__ = ()
    _free = _c.tinkc_training_close


class Training(Closable):
    """A training client. Operations reach the server in the order of the calls."""

    def __init__(self, p: Any, service: Any) -> None:
        self._owned = _TrainingHandle(p)
        self._service = service

    def __repr__(self) -> str:
        return f"<tinkc.Training {'closed' if self.closed else self.model_id}>"

    @property
    def model_id(self) -> str:
        return known(_c.tinkc_training_model_id(self._open().p))

    def forward(
        self,
        data: Sequence[Datum],
        loss: str = "cross_entropy",
        config: Config | None = None,
    ) -> Future[FwdBwd]:
        """Computes the loss and the log-probabilities without gradients."""
        return self._pass(_c.tinkc_training_forward, data, loss, config)

    def forward_backward(
        self,
        data: Sequence[Datum],
        loss: str = "cross_entropy",
        config: Config | None = None,
    ) -> Future[FwdBwd]:
        """Computes the same and adds the gradients to the model's accumulator."""
        return self._pass(_c.tinkc_training_forward_backward, data, loss, config)

    def _pass(self, function: Any, data: Any, loss: str, config: Any) -> Future[FwdBwd]:
        handle, (options, _kept) = self._open(), _fwdbwd_options(config)
        rows = datums(data)
        made = function(handle.p, rows, len(rows), encoded(loss), options)
        return Future(made, _take_fwdbwd, self)

    def forward_backward_custom(
        self, data: Sequence[Datum], function: LossFunction
    ) -> Future[FwdBwd]:
        """Runs forward, then `function`, then backward with the gradient that it wrote. The
        function gets a list of CustomItem, writes item.gradient (d loss / d logprobs) and
        returns the loss, or the loss and a dictionary of metrics. It runs on a thread of the
        library; an exception ends the operation and is raised by result()."""
        if not callable(function):
            raise TypeError(f"the loss is {kind(function)}, not a function")
        handle, rows = self._open(), datums(data)
        entry = _Loss(function, self._service)
        made = _c.tinkc_training_forward_backward_custom(
            handle.p, rows, len(rows), _run_loss, entry.number
        )
        return Future(made, entry.take, self)

    def optim_step(self, adam: Adam | None = None) -> Future[dict[str, float]]:
        """Performs one step of AdamW with the accumulated gradients."""
        Adam._check(adam)
        handle, params = self._open(), None if adam is None else byref(adam._c)
        return Future(
            _c.tinkc_training_optim_step(handle.p, params), _take_metrics, self
        )

    @named
    def step(
        self,
        data: Sequence[Datum],
        loss: str = "cross_entropy",
        adam: Adam | None = None,
        config: Config | None = None,
    ) -> Future[Step]:
        """Submits forward_backward and the optim_step that uses its gradients; without `adam`
        with a learning rate of 1e-4."""
        Adam._check(adam)
        handle, (fwdbwd, _kept) = self._open(), _fwdbwd_options(config)
        options = _c.tinkc_step_options()
        _c.tinkc_step_options_init(byref(options))
        if adam is not None:
            options.adam = pointer(adam._c)
        if fwdbwd is not None:
            options.fwdbwd = fwdbwd
        rows = datums(data)
        made = _c.tinkc_training_step(
            handle.p, rows, len(rows), encoded(loss), byref(options)
        )
        return Future(made, _take_step, self)

    def _save(self, function: Any, name: str, given: dict[str, Any]) -> Future[str]:
        handle, options = self._open(), _c.tinkc_save_options()
        _c.tinkc_save_options_init(byref(options))
        if given.get("ttl_seconds") is not None:
            set_field(options, "ttl_seconds", given["ttl_seconds"])
        options.overwrite = given.get("overwrite", False)
        metadata = pair_array(given.get("metadata"))
        if metadata is not None:
            options.metadata = cast(metadata, POINTER(_c.tinkc_pair))
            options.metadata_n = len(metadata)
        recipients = text_array(given.get("recipients") or ())
        options.recipients = cast(recipients, type(options.recipients))
        options.recipients_n = len(recipients)
        return Future(
            function(handle.p, encoded(name), byref(options)), take_text, self
        )

    def save_state(
        self,
        name: str,
        *,
        ttl_seconds: int | None = None,
        overwrite: bool = False,
        metadata: dict[str, str | None] | None = None,
    ) -> Future[str]:
        """Saves weights and optimizer state; the result is the path."""
        given = dict(ttl_seconds=ttl_seconds, overwrite=overwrite, metadata=metadata)
        return self._save(_c.tinkc_training_save_state, name, given)

    def save_weights_for_sampler(
        self,
        name: str,
        *,
        ttl_seconds: int | None = None,
        metadata: dict[str, str | None] | None = None,
    ) -> Future[str]:
        """Saves weights for sampling; the result is the path."""
        given = dict(ttl_seconds=ttl_seconds, metadata=metadata)
        return self._save(_c.tinkc_training_save_weights_for_sampler, name, given)

    def save_weights_external(
        self,
        name: str,
        *,
        ttl_seconds: int | None = None,
        recipients: Sequence[str] = (),
    ) -> Future[str]:
        """Exports the weights as files for other programs; the result is the path."""
        given = dict(ttl_seconds=ttl_seconds, recipients=list(recipients))
        return self._save(_c.tinkc_training_save_weights_external, name, given)

    def save_and_sample(self) -> Future[Sampling]:
        """A sampling client for the weights as they are now."""
        made = _c.tinkc_training_save_and_sample(self._open().p)
        return Future(made, take_sampling, self._service)

    def load_state(
        self, path: str, *, with_optimizer: bool = False, token: str | None = None
    ) -> Future[None]:
        """Loads a checkpoint that save_state wrote."""
        handle = self._open()
        made = _c.tinkc_training_load_state(
            handle.p, encoded(path), with_optimizer, encoded(token)
        )
        return Future(made, take_nothing, self)

    def info(self) -> Future[ModelInfo]:
        """Asks what the server knows about the model."""
        return Future(_c.tinkc_training_get_info(self._open().p), _take_info, self)

    def unload(self) -> Future[None]:
        """Unloads the model on the server, after all operations called before."""
        return Future(_c.tinkc_training_unload(self._open().p), take_nothing, self)

    def tokenizer(self, directory: str | None = None) -> Tokenizer:
        """Finds the tokenizer of the model. Blocks; tokenizer_async does not."""
        return self._tokenizer(directory, None)

    async def tokenizer_async(self, directory: str | None = None) -> Tokenizer:
        """The same with await."""
        return await in_thread(lambda stopped: self._tokenizer(directory, stopped))

    def _tokenizer(
        self, directory: str | None, is_stopped: Stopped | None
    ) -> Tokenizer:
        handle = self._open()
        return tokenizer_of(
            _c.tinkc_training_get_tokenizer,
            handle.p,
            directory=directory,
            is_stopped=is_stopped,
        )


take_training = taker(
    _c.tinkc_future_take_training, lambda p, owner: Training(p, owner)
)
