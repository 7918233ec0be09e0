"""Lists what one SDK version offers to its users, without making a request.

Runs inside the environment of that version. Prints one JSON object: the exported names, the
calls of the client classes and of public modules with their parameters, the fields of every
type, the values of every alias, the messages of its protobuf schema, the commands and options of
its program, the environment variables that its source names, and the packages it requires.
tests/interop/matrix.py asks it which calls there are; sdk-drift.py compares two of them.
"""

import enum
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import re
import sys
import types as python_types
import typing
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import click  # noqa: E402
import tinker  # noqa: E402

CLIENTS = ("ServiceClient", "TrainingClient", "SamplingClient", "RestClient", "AdminClient",
           "APIFuture", "LossHandle")
VARIABLE = re.compile(r"[\"']((?:TINKER|CLOUDFLARE|_TINKER)_[A-Z0-9_]+)[\"']")
# Text that changes with the Python or the package underneath, not with the SDK.
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def text(value):
    """A type or default in a form that does not depend on where it was imported."""
    if isinstance(value, str):
        shown = value
    elif isinstance(value, type) and not isinstance(value, python_types.GenericAlias):
        shown = value.__qualname__
    else:
        shown = repr(value)
    shown = ADDRESS.sub("", shown)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", shown)


def default(value):
    """A default as written: text keeps its quotes and its dots."""
    return ADDRESS.sub("", repr(value))


def parameters(function):
    out = {}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return out
    for name, p in signature.parameters.items():
        if name == "self" or name.startswith("_"):
            continue
        one = {}
        if p.annotation is not p.empty:
            one["type"] = text(p.annotation)
        if p.default is not p.empty:
            one["default"] = default(p.default)
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            one["rest"] = True
        out[name] = one
    return out


def call(function):
    out = {"parameters": parameters(function)}
    returned = getattr(function, "__annotations__", {}).get("return")
    if returned is not None:
        out["returns"] = text(returned)
    note = getattr(function, "__deprecated__", None)
    if note is not None:
        out["deprecated"] = note
    return out


def client_class(name):
    """Some versions export fewer classes than their calls return."""
    from tinker.lib import public_interfaces
    for module in pkgutil.iter_modules(public_interfaces.__path__):
        loaded = importlib.import_module(f"{public_interfaces.__name__}.{module.name}")
        if hasattr(loaded, name):
            return getattr(loaded, name)
    return None


def calls():
    out = {}
    for name in CLIENTS:
        cls = client_class(name)
        if cls is None:
            continue
        out[name] = call(cls)
        for member in sorted(dir(cls)):
            value = inspect.getattr_static(cls, member)
            if member.startswith("_"):
                continue
            if isinstance(value, property):
                out[f"{name}.{member}"] = {"property": True}
            elif callable(getattr(cls, member)):
                out[f"{name}.{member}"] = call(getattr(cls, member))
    auth = getattr(tinker, "auth", None)
    for member in getattr(auth, "__all__", ()):
        out[f"auth.{member}"] = call(getattr(auth, member))
    return out


# ---- types ----

def model(cls):
    out = {}
    for name, field in cls.model_fields.items():
        one = {"type": text(field.annotation)}
        if not field.is_required():
            made = field.default_factory
            one["default"] = f"{made.__name__}()" if made is not None else default(field.default)
        limits = [text(m) for m in field.metadata]
        if limits:
            one["limits"] = sorted(limits)
        out[name] = one
    return out


def plain_class(cls):
    try:
        hints = cls.__annotations__
    except AttributeError:
        hints = {}
    return {n: {"type": text(t)} for n, t in hints.items() if not n.startswith("_")}


def described(value):
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return {"values": [str(v.value) for v in value]}
    if isinstance(value, type) and hasattr(value, "model_fields"):
        return {"fields": model(value)}
    if isinstance(value, type):
        return {"fields": plain_class(value)}
    if typing.get_origin(value) is typing.Literal:
        return {"values": [str(v) for v in typing.get_args(value)]}
    if typing.get_origin(value) is not None:
        return {"alias": text(value)}
    return None


def all_types():
    out = {}
    for name in sorted(dir(tinker.types)):
        value = getattr(tinker.types, name)
        if name.startswith("_") or inspect.ismodule(value) or inspect.isfunction(value):
            continue
        about = described(value)
        if about is not None:
            out[name] = about
    for module in pkgutil.iter_modules(tinker.types.__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"tinker.types.{module.name}")
        for name in getattr(loaded, "__all__", ()):
            about = described(getattr(loaded, name))
            if about is not None:
                out.setdefault(name, about)
    return dict(sorted(out.items()))


def errors():
    import tinker._exceptions as module
    return {n: [b.__name__ for b in v.__mro__[1:-1]] for n, v in sorted(vars(module).items())
            if isinstance(v, type) and issubclass(v, Exception) and v.__module__.startswith("tinker")}


# ---- protobuf, program, source ----

def messages():
    try:
        from tinker.proto import tinker_public_pb2 as pb
    except ImportError:
        return {}
    out = {}

    def add(prefix, descriptor):
        name = prefix + descriptor.name
        out[name] = {str(f.number): proto_field(f) for f in descriptor.fields}
        for nested in descriptor.nested_types:
            if not nested.GetOptions().map_entry:
                add(name + ".", nested)

    for descriptor in pb.DESCRIPTOR.message_types_by_name.values():
        add("", descriptor)
    for kind in pb.DESCRIPTOR.enum_types_by_name.values():
        out[kind.name] = {str(v.number): v.name for v in kind.values}
    return out


SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string",
           12: "bytes", 13: "uint32"}


def proto_field(field):
    kind = field.message_type or field.enum_type
    return f"{field.name} {kind.name if kind else SCALARS.get(field.type, field.type)}"


def commands():
    from tinker.cli.__main__ import main_cli
    out = {}

    def walk(path, command):
        options = {}
        for p in command.params:
            about = {"type": p.type.name}
            if isinstance(p.type, click.Choice):
                about["values"] = [str(c) for c in p.type.choices]
            if getattr(p, "is_flag", False):
                about["flag"] = True
            if p.required:
                about["required"] = True
            options[" ".join(p.opts) if isinstance(p, click.Option) else p.name.upper()] = about
        out[path] = options
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                walk(f"{path} {name}".strip(), command.get_command(context, name))

    walk("", main_cli)
    return {k or "tinker": v for k, v in sorted(out.items())}


def variables():
    found = set()
    for path in Path(tinker.__file__).parent.rglob("*.py"):
        if not path.name.endswith("_test.py"):
            found.update(VARIABLE.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


def surface():
    requires = importlib.metadata.requires("tinker") or []
    return {"version": tinker.__version__, "exports": sorted(tinker.__all__), "calls": calls(),
            "types": all_types(), "errors": errors(), "messages": messages(),
            "commands": commands(), "variables": variables(), "requires": sorted(requires)}


if __name__ == "__main__":
    json.dump(surface(), sys.stdout, indent=1)
    print()
