"""Tokenizers and chat templates. Nothing here uses the network except finding a tokenizer."""

from __future__ import annotations

import json
from ctypes import byref, c_size_t, c_void_p, string_at
from typing import Any, Mapping, Sequence

from . import _c
from ._convert import address, encoded, kind, known, text, tokens, view
from ._handle import Owned
from ._thread import Stopped
from .data import Datum, ModelInput, Numbers
from .errors import call
from .future import owned_text

Messages = Sequence[Mapping[str, Any]]


class _Encoding(Owned):
    __slots__ = ()
    _free = _c.tinkc_encoding_free


class Tokenizer(Owned):
    """Text to token ids and back, with the ids of Hugging Face's tokenizers. Any number of
    threads may use one at once."""

    __slots__ = ()
    _free = _c.tinkc_tokenizer_free

    @classmethod
    def load(cls, path: str) -> Tokenizer:
        """Loads the tokenizer of a model's directory, or a tokenizer.json."""
        p = c_void_p()
        call(_c.tinkc_tokenizer_load_cached, byref(p), encoded(path))
        return cls(p)

    def encode(
        self, text: str, *, add_special_tokens: bool = False, plain_text: bool = False
    ) -> memoryview:
        """The ids of a text: a view of int32. With `plain_text` special tokens in the text are
        ordinary text."""
        options = _c.tinkc_encode_options()
        _c.tinkc_encode_options_init(byref(options))
        options.add_special_tokens, options.plain_text = add_special_tokens, plain_text
        if not isinstance(text, str):
            raise TypeError(f"the text is {kind(text)}, not a str")
        data, p, n = text.encode("utf-8", "surrogateescape"), c_void_p(), c_size_t()
        call(
            _c.tinkc_tokenizer_encode, byref(p), self.p, data, len(data), byref(options)
        )
        return view(_Encoding(p), _c.tinkc_encoding_ids(byref(n), p), n.value, "i")

    def decode(self, ids: Numbers, *, skip_special: bool = False) -> str:
        """The text of ids; with `skip_special` without special tokens."""
        buffer, found, n = tokens(ids), c_void_p(), c_size_t()
        what = _c.tinkc_decode()
        _c.tinkc_decode_init(byref(what))
        what.ids, what.ids_n, what.skip_special = (
            address(buffer),
            len(buffer),
            skip_special,
        )
        call(_c.tinkc_tokenizer_decode, byref(found), byref(n), self.p, byref(what))
        return owned_text(found, n.value)

    def __len__(self) -> int:
        """The largest id plus one."""
        n: int = _c.tinkc_tokenizer_size(self.p)
        return n

    def id(self, token: str) -> int | None:
        """The id of a token, spelled as in the tokenizer's file."""
        found: int = _c.tinkc_tokenizer_id(self.p, encoded(token))
        return None if found < 0 else found

    def token(self, id: int) -> str | None:
        """The token with this id, spelled as in the tokenizer's file."""
        n = c_size_t()
        place = _c.tinkc_tokenizer_token(byref(n), self.p, id)
        return None if place is None else text(string_at(place, n.value))

    @property
    def end(self) -> int | None:
        """The id of the token that ends an answer; put it into `stop` of sample()."""
        found: int = _c.tinkc_tokenizer_end(self.p)
        return None if found < 0 else found

    def decoder(self, *, skip_special: bool = False) -> Decoder:
        """A decoder for ids that arrive one by one."""
        p = c_void_p()
        call(_c.tinkc_decoder_new, byref(p), self.p, skip_special)
        return Decoder(p)

    def chat(self, name: str | None = None) -> Chat:
        """The chat template that came with the tokenizer."""
        p = c_void_p()
        call(_c.tinkc_chat_template_of, byref(p), self.p, encoded(name))
        return Chat(p, self)


def tokenizer_of(
    function: Any,
    *arguments: Any,
    directory: str | None = None,
    is_stopped: Stopped | None = None,
) -> Tokenizer:
    """Calls one of the tinkc_*_get_tokenizer functions."""
    options = _c.tinkc_tokenizer_options()
    _c.tinkc_tokenizer_options_init(byref(options))
    options.directory = encoded(directory)
    if is_stopped is not None:
        stopped = is_stopped
        options.fn = _c.tinkc_progress_fn(lambda *_: not stopped())
    p = c_void_p()
    call(function, byref(p), *arguments, byref(options))
    return Tokenizer(p)


class Decoder(Owned):
    """Joined, the pieces are the text of all ids; a character is held back until it is
    complete. One thread at a time uses a decoder."""

    __slots__ = ()
    _free = _c.tinkc_decoder_free

    def push(self, ids: Numbers) -> str:
        """The text that these ids complete."""
        buffer = tokens(ids)
        call(_c.tinkc_decoder_push, self.p, address(buffer), len(buffer))
        return self._text()

    def finish(self) -> str:
        """What was held back; the decoder can then be used for another stream."""
        call(_c.tinkc_decoder_finish, self.p)
        return self._text()

    def _text(self) -> str:
        n = c_size_t()
        place = _c.tinkc_decoder_text(byref(n), self.p)
        return string_at(place, n.value).decode("utf-8", "replace")


class _Conversation(Owned):
    """Messages and variables, as the library keeps them."""

    __slots__ = ()
    _free = _c.tinkc_chat_free

    def __init__(self, messages: Messages, variables: Mapping[str, Any]) -> None:
        super().__init__(c_void_p())
        call(_c.tinkc_chat_new, byref(self.p))
        for i, message in enumerate(messages):
            if not isinstance(message, Mapping):
                what = f"message {i} is {kind(message)}, not a dictionary"
                raise TypeError(f'{what} such as {{"role": "user", "content": "Hi"}}')
        data = json.dumps(list(messages)).encode()
        call(_c.tinkc_chat_add_json, self.p, data, len(data))
        for name, value in variables.items():
            call(_c.tinkc_chat_set, self.p, encoded(name), json.dumps(value).encode())


def _chat_options(generation_prompt: bool) -> Any:
    options = _c.tinkc_chat_options()
    _c.tinkc_chat_options_init(byref(options))
    options.add_generation_prompt = generation_prompt
    return byref(options)


class Rendered(Owned):
    """A whole conversation as tokens, each with its weight in the loss."""

    __slots__ = ()
    _free = _c.tinkc_rendered_free

    @property
    def text(self) -> str:
        n = c_size_t()
        place = _c.tinkc_rendered_text(byref(n), self.p)
        return string_at(place, n.value).decode("utf-8", "replace")

    @property
    def tokens(self) -> memoryview:
        """int32"""
        n = c_size_t()
        return view(self, _c.tinkc_rendered_tokens(byref(n), self.p), n.value, "i")

    @property
    def weights(self) -> memoryview:
        """float32; weight i belongs to token i."""
        n = c_size_t()
        return view(self, _c.tinkc_rendered_weights(byref(n), self.p), n.value, "f")

    @property
    def warnings(self) -> list[str]:
        """Common mistakes found in the conversation, one line each."""
        found: list[str] = []
        while True:
            line = _c.tinkc_rendered_warning(self.p, len(found))
            if line is None:
                return found
            found.append(known(line))

    def datum(self) -> Datum:
        """The datum for "cross_entropy"."""
        p = c_void_p()
        call(_c.tinkc_rendered_datum, byref(p), self.p)
        return Datum._of(p)


class Chat(Owned):
    """The chat template of a model. Messages are dictionaries with role and content (and
    tool_calls, ...); keyword arguments such as tools=[...] become variables of the template.
    """

    __slots__ = ("_tokenizer",)
    _free = _c.tinkc_chat_template_free

    def __init__(self, p: Any, tokenizer: Tokenizer) -> None:
        super().__init__(p)
        self._tokenizer = tokenizer

    def text(
        self, messages: Messages, *, generation_prompt: bool = False, **variables: Any
    ) -> str:
        """The conversation as text."""
        chat, found, n = _Conversation(messages, variables), c_void_p(), c_size_t()
        options = _chat_options(generation_prompt)
        call(_c.tinkc_chat_render, byref(found), byref(n), self.p, chat.p, options)
        return owned_text(found, n.value)

    def prompt(
        self, messages: Messages, *, generation_prompt: bool = True, **variables: Any
    ) -> ModelInput:
        """What the model reads before it answers."""
        chat, p = _Conversation(messages, variables), c_void_p()
        options = _chat_options(generation_prompt)
        call(_c.tinkc_chat_prompt, byref(p), self.p, chat.p, self._tokenizer.p, options)
        return ModelInput._of(p)

    def add_sample(self, messages: list[Any], prompt: ModelInput, sequence: Any) -> str:
        """Appends a sampled answer to the prompt that it was sampled after, token by token, and
        to the messages, as one of the assistant; returns its text. Then append the next
        message, and call extend()."""
        chat, n = _Conversation((), {}), c_size_t()
        call(
            _c.tinkc_chat_add_sample,
            chat.p,
            prompt.p,
            self._tokenizer.p,
            sequence._samples.p,
            sequence._index,
        )
        place = _c.tinkc_chat_content(byref(n), chat.p, 0)
        content = string_at(place, n.value).decode("utf-8", "replace")
        messages.append({"role": "assistant", "content": content})
        return content

    def extend(self, prompt: ModelInput, messages: Messages, **variables: Any) -> None:
        """Appends to a prompt what the conversation has and the prompt does not have yet; the
        tokens in the prompt, including sampled ones, stay as they are."""
        chat = _Conversation(messages, variables)
        call(_c.tinkc_chat_continue, prompt.p, self.p, chat.p, self._tokenizer.p, None)

    def tokens(
        self, messages: Messages, *, loss_on: str = "assistant", **variables: Any
    ) -> Rendered:
        """The tokens of the whole conversation with their weights. `loss_on` is "assistant",
        "last" (the last assistant turn) or "all"."""
        chat, p = _Conversation(messages, variables), c_void_p()
        options = _c.tinkc_train_options()
        _c.tinkc_train_options_init(byref(options))
        options.loss_on = _c.LossOn[loss_on.upper()]
        call(
            _c.tinkc_chat_tokens,
            byref(p),
            self.p,
            chat.p,
            self._tokenizer.p,
            byref(options),
        )
        return Rendered(p)

    def datum(
        self, messages: Messages, *, loss_on: str = "assistant", **variables: Any
    ) -> Datum:
        """The datum for "cross_entropy"."""
        return self.tokens(messages, loss_on=loss_on, **variables).datum()
