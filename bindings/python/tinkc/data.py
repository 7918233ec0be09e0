"""What goes into requests: prompts, training examples, optimizer settings."""

from __future__ import annotations

from ctypes import addressof, byref, c_double, c_int32, c_int64, c_size_t, c_void_p
from typing import Any, Iterable, NamedTuple, Sequence, Union

from . import _c
from ._convert import (
    address,
    c_array,
    check_names,
    encoded,
    floats,
    kind,
    named,
    set_field,
    tokens,
    view,
)
from ._handle import Owned
from .errors import call

Numbers = Any  # a list, an array, a numpy array, a memoryview: whatever has numbers
Prompt = Union["ModelInput", Sequence[int], Any]


class ModelInput(Owned):
    """What a model reads. Tokens in a buffer of int32 (numpy, array, memoryview) are not copied:
    the buffer must not change while the object is in use."""

    __slots__ = ("_kept",)
    _free = _c.tinkc_model_input_free

    def __init__(self, tokens: Numbers = ()) -> None:
        super().__init__(c_void_p())
        self._kept: list[Any] = []
        call(_c.tinkc_model_input_new, byref(self.p))
        if not hasattr(tokens, "__len__") or len(tokens):
            self.add_tokens(tokens)

    @classmethod
    def _of(cls, p: Any) -> ModelInput:
        made = cls.__new__(cls)
        made.p, made._kept = p, []
        return made

    def add_tokens(self, values: Numbers) -> None:
        """Appends tokens."""
        buffer = tokens(values)
        call(_c.tinkc_model_input_borrow_tokens, self.p, address(buffer), len(buffer))
        self._kept.append(buffer)

    def add_image(
        self, file: bytes, format: str = "png", expected_tokens: int | None = None
    ) -> None:
        """Appends an image file, "png" or "jpeg", which is copied."""
        kind = _c.ImageFormat[format.upper()]
        n = _c.TINKC_UNKNOWN_TOKENS if expected_tokens is None else expected_tokens
        call(_c.tinkc_model_input_add_image, self.p, file, len(file), kind, n)

    def copy(self) -> ModelInput:
        p = c_void_p()
        call(_c.tinkc_model_input_copy, byref(p), self.p)
        return ModelInput._of(p)

    def tokens(self) -> list[int]:
        """The tokens, when all of the input is text."""
        n = c_size_t()
        buffer = (c_int32 * len(self))()
        call(_c.tinkc_model_input_tokens, buffer, len(buffer), byref(n), self.p)
        return list(buffer)

    def __len__(self) -> int:
        n = c_int64()
        call(_c.tinkc_model_input_length, byref(n), self.p)
        return n.value

    def __repr__(self) -> str:
        return f"<tinkc.ModelInput: {len(self)} tokens>"


def prompt_of(prompt: Prompt) -> ModelInput:
    if isinstance(prompt, ModelInput):
        return prompt
    if isinstance(prompt, str):
        raise TypeError("the prompt is a str: encode it with tokenizer.encode(...)")
    return ModelInput(prompt)


class Datum(Owned):
    """One training example: a model input and the inputs of the loss function, by name.

        Datum(tokens[:-1], target_tokens=tokens[1:], weights=weights)

    An input for a loss function of your own is set with set(name, values, dtype). Buffers are
    not copied where they have the type that is sent (int32 tokens; float32, int64):
    they must not change before the datum was sent."""

    __slots__ = ("_kept",)
    _free = _c.tinkc_datum_free

    def __init__(self, model_input: Prompt, **inputs: Numbers) -> None:
        super().__init__(c_void_p())
        _check_inputs(inputs)
        if isinstance(model_input, ModelInput):
            source = model_input.copy()
        else:
            source = ModelInput(model_input)
        call(_c.tinkc_datum_new, byref(self.p), byref(source.p))  # takes it over
        self._kept: dict[str, Any] = {"": source._kept}
        for name, values in inputs.items():
            self.set(name, values)

    @classmethod
    def _of(cls, p: Any) -> Datum:
        made = cls.__new__(cls)
        made.p, made._kept = p, {}
        return made

    @classmethod
    def from_rollout(
        cls, prompt: Prompt, tokens_: Numbers, logprobs: Numbers, advantage: float
    ) -> Datum:
        """The datum of a sampled answer, for "importance_sampling", "ppo" and similar losses."""
        source, ids = prompt_of(prompt), tokens(tokens_)
        values = floats(logprobs, "logprobs")
        if len(ids) != len(values):
            raise ValueError(f"{len(ids)} tokens with {len(values)} log-probabilities")
        rollout = _c.tinkc_rollout()
        _c.tinkc_rollout_init(byref(rollout))
        rollout.prompt, rollout.n, rollout.advantage = source.p, len(ids), advantage
        rollout.tokens, rollout.logprobs = address(ids), address(values)
        p = c_void_p()
        call(_c.tinkc_datum_from_rollout, byref(p), byref(rollout))
        return cls._of(p)

    def set(self, name: str, values: Numbers, dtype: str | None = None) -> None:
        """Sets an input of the loss function. Lists of lists and arrays may have two
        dimensions. An input that no loss of the server has needs a type, "float32" or
        "int64"."""
        if dtype is None:
            _check_inputs([name])
        elif dtype not in _DTYPES:
            raise ValueError(f"dtype is {dtype!r}, not 'float32' or 'int64'")
        array, kept = c_array(values, name)
        if dtype is not None:
            array.dtype = _DTYPES[dtype]
        call(_c.tinkc_datum_set, self.p, encoded(name), byref(array))
        self._kept[name] = kept

    def __repr__(self) -> str:
        n = c_int64()
        call(_c.tinkc_model_input_length, byref(n), _c.tinkc_datum_input(self.p))
        names = [
            name for name in _NAMES if _c.tinkc_datum_tensor(self.p, name.encode())
        ]
        more = [name for name in self._kept if name and name not in names]
        return f"<tinkc.Datum: {n.value} tokens, {', '.join(names + more)}>"

    def __getitem__(self, name: str) -> memoryview:
        """An input of the loss function as it is sent; flat."""
        return tensor_view(self, _c.tinkc_datum_tensor(self.p, encoded(name)), name)


# Inputs whose type follows from the name.
_NAMES = (
    "target_tokens weights advantages logprobs clip_low_threshold clip_high_threshold "
    "sequence_ratio_mask".split()
)
_DTYPES = {"float32": _c.Dtype.FLOAT32, "int64": _c.Dtype.INT64}


def _check_inputs(names: Iterable[str]) -> None:
    more = " (one of your own: datum.set(name, values, dtype='float32'))"
    check_names(names, _NAMES, "Datum", "input", more)


def tensor_view(owner: Any, tensor: int | None, name: str) -> memoryview:
    """The elements of a borrowed tinkc_tensor."""
    if not tensor:
        raise KeyError(name)
    n = _c.tinkc_tensor_count(tensor)
    if _c.tinkc_tensor_dtype(tensor) == _c.Dtype.INT64:
        return view(owner, _c.tinkc_tensor_i64(tensor), n, "q")
    return view(owner, _c.tinkc_tensor_f32(tensor), n, "f")


def datums(data: Sequence[Datum]) -> Any:
    if isinstance(data, Datum):
        raise TypeError("data is a Datum: pass a list, [datum]")
    try:
        rows = list(data)
    except TypeError:
        raise TypeError(f"data is {kind(data)}, not a list of tinkc.Datum") from None
    for i, datum in enumerate(rows):
        if not isinstance(datum, Datum):
            raise TypeError(f"data[{i}] is {kind(datum)}, not a tinkc.Datum")
    return (c_void_p * len(rows))(*[datum.p for datum in rows])


class TokenSequence(NamedTuple):
    """A chain of turns of an episode as one row of tokens; mask 1: sampled by the model."""

    tokens: memoryview
    mask: memoryview
    logprobs: memoryview
    fresh: int
    turns: memoryview
    weights: list[str]
    reward: float | None


class Trajectory(Owned):
    """An episode of the gateway, from the JSON that it exports: sequences to train on."""

    __slots__ = ()
    _free = _c.tinkc_trajectory_free

    def __init__(self, json: str | bytes) -> None:
        super().__init__(c_void_p())
        text = json.encode() if isinstance(json, str) else bytes(json)
        call(_c.tinkc_trajectory_parse, byref(self.p), text, len(text))

    @property
    def id(self) -> str:
        return str(_c.tinkc_trajectory_id(self.p).decode())

    @property
    def reward(self) -> float | None:
        value = c_double()
        return value.value if _c.tinkc_trajectory_reward(byref(value), self.p) else None

    @property
    def metadata(self) -> str | None:
        """JSON."""
        text = _c.tinkc_trajectory_metadata(self.p)
        return text.decode() if text is not None else None

    def __len__(self) -> int:
        return int(_c.tinkc_trajectory_count(self.p))

    def __getitem__(self, index: int) -> TokenSequence:
        s = _c.tinkc_sequence()
        if index < 0 or not _c.tinkc_trajectory_sequence(byref(s), self.p, index):
            raise IndexError(index)
        return TokenSequence(
            view(self, s.tokens, s.n, "i"),
            view(self, s.mask, s.n, "i"),
            view(self, s.logprobs, s.n, "f"),
            s.fresh,
            view(self, s.turns, s.n_turns, "q"),
            [s.weights[i].decode() for i in range(s.n_turns)],
            s.reward if s.has_reward else None,
        )

    def datums(
        self, advantages: Sequence[float] | None = None, *, repeat_shared: bool = False
    ) -> list[Datum]:
        """The datums of all sequences, for "importance_sampling", "ppo" and similar losses. The
        advantages default to the rewards. A turn that several sequences share counts once, unless
        repeat_shared."""
        options = _c.tinkc_trajectory_options()
        _c.tinkc_trajectory_options_init(byref(options))
        options.repeat_shared = repeat_shared
        if advantages is not None:
            if len(advantages) != len(self):
                raise ValueError(
                    f"{len(advantages)} advantages for {len(self)} sequences"
                )
            given = (c_double * len(self))(*advantages)
            options.advantages = addressof(given)
        made, n = (c_void_p * len(self))(), c_size_t()
        call(
            _c.tinkc_trajectory_datums,
            made,
            len(self),
            byref(n),
            self.p,
            byref(options),
        )
        return [Datum._of(c_void_p(p)) for p in made[: n.value]]


class Adam:
    """Settings of a step of AdamW; what is None has the library's default (a learning rate of
    1e-4)."""

    @named
    def __init__(
        self,
        learning_rate: float | None = None,
        *,
        beta1: float | None = None,
        beta2: float | None = None,
        eps: float | None = None,
        weight_decay: float | None = None,
        grad_clip_norm: float | None = None,
    ) -> None:
        self._c = _c.tinkc_adam_params()
        _c.tinkc_adam_params_init(byref(self._c))
        given = dict(learning_rate=learning_rate, beta1=beta1, beta2=beta2, eps=eps)
        given.update(weight_decay=weight_decay, grad_clip_norm=grad_clip_norm)
        for name, value in given.items():
            if value is not None:
                set_field(self._c, name, value)

    @staticmethod
    def _check(adam: Any) -> None:
        if adam is not None and not isinstance(adam, Adam):
            given = repr(adam) if isinstance(adam, (int, float)) else "..."
            raise TypeError(f"adam is {kind(adam)}: pass tinkc.Adam({given})")

    def __repr__(self) -> str:
        names = [field[0] for field in self._c._fields_[1:]]
        return f"Adam({', '.join(f'{n}={getattr(self._c, n)!r}' for n in names)})"
