"""Turns recorded requests into files that are the same on every run and every machine.

What differs from run to run (ids, times, the Python underneath) is replaced by a fixed
value of the same form, so that every recorded body stays a valid body. Standard library
only; protobuf messages come in through `message_class`.
"""

import base64
import json
import math
import re
import struct
from pathlib import Path

UUID = "11111111-2222-4333-8444-555555555555"
UUID_PATTERN = re.compile(r"(?!00000000-)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = "2026-01-02T03:04:05.678901Z"
TIME_PATTERN = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z")
HEADERS = {
    "host": "127.0.0.1:8000",
    "content-length": "<n>",
    "x-stainless-os": "Linux",
    "x-stainless-arch": "x64",
    "x-stainless-runtime-version": "3.11.0",
    "x-tinker-create-promise-roundtrip-time": "0.001",
}
# Telemetry fields whose value says when or where, not what.
FIELDS = {
    "timestamp": TIME,
    "duration": "0:01:23.456789",
    "platform": "Linux",
    "traceback": "Traceback (most recent call last):\n  ...\n",
    "exception_stack": "Traceback (most recent call last):\n  ...\n",
    "start_time": 1767323045.5,
    "current_time": 1767323046.75,
    "elapsed_time": 1.25,
    "date": "Fri, 02 Jan 2026 03:04:05 GMT",
    "server": "recorder",
}


class Normaliser:
    def __init__(self, url, jwt):
        self.origin = url.removeprefix("http://")
        self.jwt = jwt

    def text(self, value):
        value = value.replace(self.origin, HEADERS["host"]).replace(self.jwt, "<jwt>")
        return UUID_PATTERN.sub(UUID, value)

    def headers(self, items):
        out = {}
        for name, value in items:
            fixed = HEADERS.get(name.lower())
            if name.lower() == "content-length" and value == "0":
                fixed = None
            value = fixed if fixed is not None else self.text(value)
            out.setdefault(name, []).append(value)
        # A list only where the SDK repeats a header; sorted because order has no meaning.
        return {n: v[0] if len(v) == 1 else v for n, v in sorted(out.items())}

    def value(self, value, key=None, telemetry=False):
        if telemetry and key is not None and key.lower() in FIELDS and value is not None:
            return FIELDS[key.lower()]
        if telemetry and key is not None and key.lower() in HEADERS and isinstance(value, str):
            return HEADERS[key.lower()]
        if isinstance(value, dict):
            return {k: self.value(v, k, telemetry) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(v, None, telemetry) for v in value]
        if isinstance(value, str):
            return self.text(value)
        return value


# ---- protobuf, field by field ----

ARRAYS = {  # bytes fields that are arrays: (message, field) -> struct code
    ("EncodedTextChunk", "tokens"): "i",
    ("SampledSequence", "tokens"): "i",
    ("SampledSequence", "logprobs"): "f",
    ("SampleResponse", "prompt_logprobs"): "f",
    ("TopkPromptLogprobs", "token_ids"): "i",
    ("TopkPromptLogprobs", "logprobs"): "f",
    ("TopkLogprobs", "token_ids"): "i",
    ("TopkLogprobs", "logprobs"): "f",
    ("SparseCsr", "crow_indices"): "q",
    ("SparseCsr", "col_indices"): "q",
    ("BatchedTensor", "offsets"): "q",
}
DTYPES = {1: "f", 2: "q", 3: "i", 4: "H"}


def number(value):
    """JSON has no NaN or infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def unpack(code, data):
    return [number(v) for (v,) in struct.iter_unpack("<" + code, data)]


def bytes_field(message, name, data, dtype):
    code = ARRAYS.get((message, name))
    if code is None and name in ("dense", "values") or message == "BatchedTensor" and name == "data":
        code = DTYPES.get(dtype)
    if code is None or len(data) % struct.calcsize(code):
        return {"base64": base64.b64encode(data).decode()}
    return unpack(code, data)


def fields(message, dtype=None):
    """Present fields only, named as in the schema, byte arrays as numbers."""
    name = message.DESCRIPTOR.name
    dtype = getattr(message, "dtype", dtype)
    out = {}
    for field, value in message.ListFields():
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            item = field.message_type.fields_by_name["value"]
            out[field.name] = {
                k: fields(value[k], dtype) if item.message_type else number(value[k])
                for k in sorted(value)
            }
        elif field.message_type is not None:
            repeated = isinstance(getattr(value, "__len__", None), object) and hasattr(value, "add")
            out[field.name] = (
                [fields(v, dtype) for v in value] if repeated else fields(value, dtype)
            )
        elif field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            out[field.name] = known.name if known else value
        elif isinstance(value, bytes):
            out[field.name] = bytes_field(name, field.name, value, dtype)
        elif isinstance(value, (str, bool, int, float)):
            out[field.name] = number(value)
        else:
            out[field.name] = [number(v) for v in value]
    return out


def canonical(message_class, data):
    """The same message with map entries in a fixed order: the SDK writes them in hash order."""
    message = message_class.FromString(data)
    out = message.SerializeToString(deterministic=True)
    assert message_class.FromString(out) == message and len(out) == len(data)
    return message, out


# ---- files ----

def flat(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def pretty(value, indent=0, width=110):
    """What fits on a line stays on it; arrays of scalars are never broken one per line."""
    line = flat(value)
    if len(line) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return line
    pad = " " * (indent + 1)
    if isinstance(value, list):
        if not any(isinstance(v, (dict, list)) for v in value):
            return line
        items = [pretty(v, indent + 1, width) for v in value]
        return "[\n" + ",\n".join(pad + i for i in items) + "\n" + " " * indent + "]"
    items = [f"{flat(k)}: {pretty(v, indent + 1, width)}" for k, v in value.items()]
    return "{\n" + ",\n".join(pad + i for i in items) + "\n" + " " * indent + "}"


def write(path, value):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(pretty(value) + "\n", encoding="utf-8")
