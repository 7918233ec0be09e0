"""Sampling clients and what they give."""

from __future__ import annotations

import asyncio
from ctypes import POINTER, byref, c_char_p, c_size_t, c_void_p, cast
from typing import Any, AsyncIterator, Iterator, Sequence as Many, Union

from . import _c
from ._convert import (
    address,
    check_names,
    encoded,
    kind,
    known,
    set_field,
    set_seed,
    text,
    text_array,
    tokens,
    view,
)
from ._handle import Closable, Owned
from ._records import StreamEvent
from .data import Prompt, prompt_of
from .errors import call, taken
from .future import _SLICE_MS, Future, owned_text, take_text, taker
from ._thread import Stopped, in_thread
from .tokenizer import Tokenizer, tokenizer_of

Stop = Union[str, Many[str], Many[int], Any, None]

_PARAMS = _c.tinkc_sampling_params()
_c.tinkc_sampling_params_init(byref(_PARAMS))
_OPTIONS = _c.tinkc_sample_options()
_c.tinkc_sample_options_init(byref(_OPTIONS))


class Sequence:
    """One continuation. Its arrays are views of the result, which they keep alive;
    numpy.asarray(sequence.logprobs) copies nothing."""

    __slots__ = ("_samples", "_index")

    def __init__(self, samples: Samples, index: int) -> None:
        self._samples = samples
        self._index = index

    def __repr__(self) -> str:
        return f"<tinkc.Sequence: {len(self.tokens)} tokens, {self.stop_reason}>"

    @property
    def tokens(self) -> memoryview:
        """The token ids: int32."""
        n = c_size_t()
        place = _c.tinkc_samples_tokens(byref(n), self._samples.p, self._index)
        return view(self._samples, place, n.value, "i")

    @property
    def logprobs(self) -> memoryview:
        """The log-probability of each token: float32; empty when the server sent none."""
        n = c_size_t()
        place = _c.tinkc_samples_logprobs(byref(n), self._samples.p, self._index)
        return view(self._samples, place, n.value, "f")

    @property
    def stop_reason(self) -> str:
        """ "stop", "length", or what the server sent."""
        return known(_c.tinkc_samples_stop_text(self._samples.p, self._index))

    @property
    def sequence_id(self) -> str | None:
        """The server's id of the continuation, if it gives one."""
        return text(_c.tinkc_samples_sequence_id(self._samples.p, self._index))

    def topk(self) -> list[list[tuple[int, float]]]:
        """For each token the likeliest ones: topk_sample_logprobs of sample()."""
        rows, row = [], _c.tinkc_topk()
        for i in range(
            _c.tinkc_samples_sampled_topk_rows(self._samples.p, self._index)
        ):
            call(
                _c.tinkc_samples_sampled_topk,
                byref(row),
                self._samples.p,
                self._index,
                i,
            )
            rows.append(_pairs(self._samples, row.token_ids, row.logprobs, row.k))
        return rows


def _pairs(owner: Any, ids: Any, values: Any, k: int) -> list[tuple[int, float]]:
    return list(zip(view(owner, ids, k, "i"), view(owner, values, k, "f")))


class Samples(Owned):
    """The continuations of one prompt."""

    __slots__ = ()
    _free = _c.tinkc_samples_free

    def __len__(self) -> int:
        n: int = _c.tinkc_samples_count(self.p)
        return n

    def __repr__(self) -> str:
        return f"<tinkc.Samples: {list(self)}>"

    def __getitem__(self, index: int) -> Sequence:
        n = len(self)
        if not -n <= index < n:
            raise IndexError(index)
        return Sequence(self, index % n)

    def __iter__(self) -> Iterator[Sequence]:
        return (Sequence(self, i) for i in range(len(self)))

    @property
    def prompt_logprobs(self) -> memoryview:
        """One float32 per prompt token, NaN where there is none; empty unless asked for."""
        n = c_size_t()
        return view(
            self, _c.tinkc_samples_prompt_logprobs(byref(n), self.p), n.value, "f"
        )

    def prompt_topk(self) -> list[list[tuple[int, float]]]:
        """For each prompt token the likeliest ones: topk_prompt_logprobs of sample()."""
        rows, ids, values, k = [], c_void_p(), c_void_p(), c_size_t()
        for i in range(_c.tinkc_samples_topk_rows(self.p)):
            call(_c.tinkc_samples_topk, byref(ids), byref(values), byref(k), self.p, i)
            rows.append(_pairs(self, ids.value, values.value, k.value))
        return rows

    @property
    def cache_hits(self) -> int:
        """How many prompt tokens the server found in its prefix cache."""
        n: int = _c.tinkc_samples_cache_hits(self.p)
        return n


class _Logprobs(Owned):
    __slots__ = ()
    _free = _c.tinkc_logprobs_free


def _logprobs(p: Any, _: Any) -> memoryview:
    n = c_size_t()
    result = _Logprobs(p)
    return view(result, _c.tinkc_logprobs_values(byref(n), p), n.value, "f")


_take_samples = taker(_c.tinkc_future_take_samples, lambda p, _: Samples(p))
_take_logprobs = taker(_c.tinkc_future_take_logprobs, _logprobs)


def _stops(params: Any, stop: Any) -> Any:
    """Sets the stop of the parameters; gives what has to live during the call."""
    if isinstance(stop, str):
        params.stop = encoded(stop)
        return None
    if not hasattr(stop, "__len__"):
        hint = f": pass [{stop}]" if isinstance(stop, int) else ""
        raise TypeError(
            f"stop is {kind(stop)}, not a text or a list of texts or tokens{hint}"
        )
    if len(stop) and isinstance(stop[0], str):
        kept = text_array(stop)
        params.stop_texts = cast(kept, POINTER(c_char_p))
        params.stop_texts_n = len(kept)
        return kept
    ids = tokens(stop)
    params.stop_tokens, params.stop_tokens_n = address(ids), len(ids)
    return ids


_PARAMETERS = ["max_tokens", "seed", "temperature", "top_k", "top_p", "stop"]
_SAMPLE_OPTIONS = [
    "num_samples",
    "prompt_logprobs",
    "topk_prompt_logprobs",
    "topk_sample_logprobs",
    "prompt_logprobs_last_n",
    "record_stability_info",
    "deadline",
]


class _Params:
    """tinkc_sampling_params with what it refers to."""

    __slots__ = ("c", "kept")

    def __init__(
        self,
        max_tokens: int | None = None,
        seed: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Stop = None,
    ) -> None:
        self.c = params = _c.tinkc_sampling_params.from_buffer_copy(_PARAMS)
        if max_tokens is not None:
            set_field(params, "max_tokens", max_tokens)
        if seed is not None:
            set_seed(params, seed)
        if temperature is not None:
            set_field(params, "temperature", temperature)
        if top_k is not None:
            set_field(params, "top_k", top_k)
        if top_p is not None:
            set_field(params, "top_p", top_p)
        self.kept = None if stop is None else _stops(params, stop)


def _options(num_samples: int, given: dict[str, Any]) -> Any:
    if num_samples == 1 and not given:
        return None
    check_names(given, _PARAMETERS + _SAMPLE_OPTIONS, "sample")
    options = _c.tinkc_sample_options.from_buffer_copy(_OPTIONS)
    set_field(options, "num_samples", num_samples)
    if given.pop("prompt_logprobs", False):
        options.prompt_logprobs = _c.Choice.YES
    deadline = given.pop("deadline", None)
    if deadline is not None:
        if not isinstance(deadline, (int, float)):
            raise TypeError(f"deadline is {kind(deadline)}, not a number of seconds")
        options.deadline_ms = int(deadline * 1000)
    for name, value in given.items():
        set_field(options, name, value)
    return byref(options)


class _SamplingHandle(Owned):
    __slots__ = ()
    _free = _c.tinkc_sampling_close


class Sampling(Closable):
    """A sampling client. Any number of threads and tasks may sample with it at once."""

    def __init__(self, p: Any, service: Any) -> None:
        self._owned = _SamplingHandle(p)
        self._service = service

    def __repr__(self) -> str:
        return f"<tinkc.Sampling {'closed' if self.closed else self.session_id}>"

    @property
    def session_id(self) -> str | None:
        """The id of the sampling session, if it has one."""
        return text(_c.tinkc_sampling_session_id(self._open().p))

    def sample(
        self,
        prompt: Prompt,
        num_samples: int = 1,
        *,
        max_tokens: int | None = None,
        seed: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Stop = None,
        **options: Any,
    ) -> Future[Samples]:
        """Samples continuations of a prompt: tokens in a list or a buffer, or a ModelInput.
        `stop` is a text, a list of texts or a list of tokens. Further options:
        prompt_logprobs=True, topk_prompt_logprobs=k, topk_sample_logprobs=k,
        prompt_logprobs_last_n=n, record_stability_info=True, deadline=seconds. What is not
        given has the library's default."""
        handle, source = self._open(), prompt_of(prompt)
        params = _Params(max_tokens, seed, temperature, top_k, top_p, stop)
        made = _c.tinkc_sampling_sample(
            handle.p, source.p, byref(params.c), _options(num_samples, options)
        )
        return Future(made, _take_samples, self)

    def compute_logprobs(self, prompt: Prompt) -> Future[memoryview]:
        """Computes the log-probability of each token of a prompt: float32, NaN where there is
        none (always for the first)."""
        handle, source = self._open(), prompt_of(prompt)
        made = _c.tinkc_sampling_compute_logprobs(handle.p, source.p)
        return Future(made, _take_logprobs, self)

    def stream(self, prompt: Prompt, **params: Any) -> Stream:
        """Samples one continuation token by token: an iterator of events, also for `async
        for`. Parameters as in sample()."""
        check_names(params, _PARAMETERS, "stream")
        return Stream(self, prompt, _Params(**params))

    def base_model(self) -> Future[str]:
        """Asks for the name of the base model."""
        handle = self._open()
        return Future(_c.tinkc_sampling_get_base_model(handle.p), take_text, self)

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
            _c.tinkc_sampling_get_tokenizer,
            handle.p,
            directory=directory,
            is_stopped=is_stopped,
        )

    def export(self) -> str:
        """A text with which another process joins the sampling session:
        Service.import_sampling."""
        found = c_void_p()
        call(_c.tinkc_sampling_export, byref(found), self._open().p)
        return owned_text(found)


take_sampling = taker(
    _c.tinkc_future_take_sampling, lambda p, owner: Sampling(p, owner)
)


class _StreamHandle(Owned):
    __slots__ = ()
    _free = _c.tinkc_stream_close


class Stream(Closable):
    """Events of a sample in progress. One thread at a time uses it; close() or the end of a
    `with` cancels what is left."""

    def __init__(self, sampling: Sampling, prompt: Prompt, params: _Params) -> None:
        p, source, handle = c_void_p(), prompt_of(prompt), sampling._open()
        call(_c.tinkc_stream_open, byref(p), handle.p, source.p, byref(params.c))
        self._owned = _StreamHandle(p)
        self._sampling = sampling  # keeps the service open

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def _next(self) -> StreamEvent | None:
        handle = self._open()
        found = POINTER(_c.tinkc_stream_event)()
        while True:  # in slices, so that Ctrl-C is noticed
            err = c_void_p()
            code = _c.tinkc_stream_next(byref(found), handle.p, _SLICE_MS, byref(err))
            if code == _c.Code.OK:
                return StreamEvent.of(found.contents)
            error = taken(code, err)
            if code == _c.Code.E_MISSING:
                return None
            if code != _c.Code.E_TIMEOUT:
                raise error

    def __next__(self) -> StreamEvent:
        event = self._next()
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event = await asyncio.get_running_loop().run_in_executor(None, self._next)
        if event is None:
            raise StopAsyncIteration
        return event
