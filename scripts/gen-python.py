#!/usr/bin/env python3
"""Writes the declarations of the Python package from the public headers:
_enums.py, _structs.py and _c.py (functions) of bindings/python/tinkc for ctypes, and _records.py
(what the server's lists hold, as data classes).

    scripts/gen-python.py             rewrite them
    scripts/gen-python.py --check     fail when they differ from the headers
    scripts/gen-python.py --layout    print a C program that prints size and offsets of each struct
"""
import difflib
import re
import sys
import textwrap
from collections import namedtuple

import gatelib

HOME = "bindings/python/tinkc"
NOTE = '"""{}\n\nWritten by scripts/gen-python.py from include/tinkc/*.h. Do not edit."""\n\n# fmt: off\n'
SCALARS = {"bool": "c_bool", "int": "c_int", "unsigned": "c_uint", "float": "c_float",
           "double": "c_double", "size_t": "c_size_t", "int32_t": "c_int32",
           "int64_t": "c_int64", "uint64_t": "c_uint64"}
IMPORTS = ("from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,\n"
           "                    c_int, c_int32, c_int64, c_size_t, c_uint, c_uint64, c_void_p)")
PAGES = ("_enums.py", "_structs.py", "_c.py", "_records.py")
# Headers whose structs without a size are results that a program keeps.
RECORDS = ("rest.h", "search.h", "weights.h", "stream.h", "download.h")
# Constants that no enumeration has.
CONSTANT = re.compile(r'^#define (TINKC_(?:VERSION|VERSION_NUMBER|SDK_LEVEL)) (.+)$', re.M)

Member = namedtuple("Member", "type name array")
Function = namedtuple("Function", "name returned arguments")


class Api:
    """What the headers declare."""

    def __init__(self, root):
        self.enums, self.structs, self.opaque, self.callbacks = {}, {}, set(), {}
        self.functions, self.constants, self.records = [], {}, []
        paths = sorted((root / "include/tinkc").glob("*.h"))
        texts = [gatelib.without_comments(path.read_text()) for path in paths]
        for path, text in zip(paths, texts):
            self.read(text, path.name in RECORDS)
        self.opaque -= set(self.structs)
        self.structs = self.in_order()

    def read(self, text, are_records):
        self.constants.update(CONSTANT.findall(text))
        text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        text = re.sub(r"\b(TINKC_BEGIN_DECLS|TINKC_END_DECLS|TINKC_NODISCARD)\b", "", text)
        for body in re.findall(r"(?:^|\n)enum \{(.*?)\};", text, re.S):
            self.constants.update(members_of(body))
        for name, body in re.findall(r"typedef enum (\w+) \{(.*?)\} \w+;", text, re.S):
            self.enums[name] = members_of(body)
        for name, body in re.findall(r"typedef struct (\w+)\s+\{(.*?)\n\} \w+;", text, re.S):
            self.structs[name] = fields_of(body)
            if are_records and self.structs[name][0].name != "size":
                self.records.append(name)
        self.opaque.update(re.findall(r"typedef struct (\w+)\s+\w+;", text))
        for returned, name, arguments in re.findall(
                r"typedef ([\w ]+?\*?)\s*\(\*(\w+)\)\(([^;]*)\);", text):
            self.callbacks[name] = (returned.strip(), arguments_of(arguments))
        for returned, name, arguments in re.findall(
                r"TINKC_API\s+([\w\s]+?\**)\s*\b(tinkc_\w+)\s*\(([^;]*)\)\s*;", text):
            self.functions.append(Function(name, " ".join(returned.split()),
                                           arguments_of(arguments)))

    def in_order(self):
        """The structs, each after those that it names."""
        done = {}

        def add(name):
            if name in done or name not in self.structs:
                return
            for member in self.structs[name]:
                base = base_of(member.type)
                if base in self.callbacks:
                    for argument in self.callbacks[base][1]:
                        add(base_of(argument.type))
                elif base != name:
                    add(base)
            done[name] = self.structs[name]

        for name in self.structs:
            add(name)
        return done

    def ctype(self, text):
        """The name of the ctypes type of a C type."""
        base, stars = base_of(text), text.count("*")
        if base == "void":
            return ("None", "c_void_p", "POINTER(c_void_p)")[min(stars, 2)]
        if base == "char":
            if "const" not in text:  # a buffer, or a text that the caller frees
                return ("c_char", "c_void_p", "POINTER(c_void_p)")[stars]
            return ("c_char", "c_char_p", "POINTER(c_char_p)")[stars]
        if base in self.structs:
            return "POINTER(" * stars + base + ")" * stars
        if base in self.callbacks:
            return base
        if base in self.opaque or "struct" in text:
            return ("", "c_void_p", "POINTER(c_void_p)")[stars]
        plain = "c_int" if base in self.enums else SCALARS.get(base)
        if plain is None:
            sys.exit(f"gen-python: what is the type {text}?")
        if stars == 0:
            return plain
        if "const" in text:  # an array of the caller: any address
            return ("c_void_p", "POINTER(c_void_p)")[stars - 1]
        return "POINTER(" * stars + plain + ")" * stars


def base_of(text):
    return re.sub(r"\b(const|struct)\b|\*", " ", text).split()[0]


def members_of(body):
    """{name: value} of an enumeration."""
    found, value = {}, -1
    for item in filter(None, (part.strip() for part in body.split(","))):
        name, _, given = (word.strip() for word in item.partition("="))
        value = int(given) if given else value + 1
        found[name] = value
    return found


def fields_of(body):
    found = []
    for line in filter(None, (part.strip() for part in body.split(";"))):
        line = " ".join(line.split())
        head = re.match(r"((?:const |struct )*\w+(?: \*const)?) ?(.*)", line)
        for item in head[2].split(","):
            match = re.fullmatch(r"\s*((?:\*|const )*)(\w+)(?:\[(\d+)\])?", item)
            if not match:
                sys.exit(f"gen-python: what is the member {line}?")
            found.append(Member((head[1] + " " + match[1]).strip(), match[2], match[3]))
    return found


def arguments_of(text):
    text = re.sub(r"void \(\*(\w+)\)\([^)]*\)", r"void *\1", text)  # a release function
    found = []
    for item in (" ".join(part.split()) for part in text.split(",")):
        if item and item != "void":
            match = re.fullmatch(r"(.*?[\s*])(\w+)", item)
            found.append(Member(match[1].strip(), match[2], None))
    return found


def camel(name):
    return "".join(word.capitalize() for word in name.replace("tinkc_", "").split("_"))


NAMED = '''

class _Named(enum.IntEnum):
    """A number that prints as its name."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else self.name'''


def enum_lines(name, members):
    words = [member.split("_") for member in members]
    common = 0
    while all(len(w) > common + 1 and w[common] == words[0][common] for w in words):
        common += 1
    yield f"\n\nclass {camel(name)}(_Named):\n    \"\"\"{name}\"\"\"\n"
    for word, value in zip(words, members.values()):
        yield f"    {'_'.join(word[common:])} = {value}"


def struct_lines(api, name, members):
    fields = [f'("{m.name}", {api.ctype(m.type)}{" * " + m.array if m.array else ""})' for m in members]
    yield f"\n\nclass {name}(Structure):\n    __slots__ = ()"
    yield textwrap.fill("_fields_ = [" + ", ".join(fields) + "]", 110, initial_indent="    ",
                        subsequent_indent=" " * 16, break_long_words=False)


def keeps_gil(function):
    """Whether a call is so short that giving up the interpreter lock would cost more: it only
    reads, frees or hands over what is in memory."""
    code = function.returned == "tinkc_code"
    if function.name.startswith("tinkc_future_take_") or function.name.endswith(("_init", "_free")):
        return True
    return not code and "future *" not in function.returned and function.returned != "void"


def returned_type(api, function):
    """A text with a length may hold NULs: its address, not bytes."""
    first = function.arguments[0] if function.arguments else Member("", "", None)
    if function.returned == "const char *" and first.type == "size_t *":
        return "c_void_p"
    return api.ctype(function.returned)


def enums_page(api):
    out = [NOTE.format("Enumerations and constants of the C library."), "import enum\n"]
    out += [f"{name} = {value}" for name, value in api.constants.items()]
    out.append(NAMED)
    for name, members in api.enums.items():
        out += enum_lines(name, members)
    return "\n".join(out) + "\n"


def structs_page(api):
    out = [NOTE.format("Structs and callbacks of the C library, as ctypes sees them."), IMPORTS + "\n"]
    placed = set()
    for name, members in api.structs.items():
        for member in members:
            base = base_of(member.type)
            if base in api.callbacks and base not in placed:
                placed.add(base)
                out.append("\n" + callback_line(api, base))
        out += struct_lines(api, name, members)
    out.append("\n")
    out += [callback_line(api, name) for name in api.callbacks if name not in placed]
    return "\n".join(out) + "\n"


def c_page(api):
    out = [NOTE.format("The C library as ctypes sees it: its functions, and everything of _enums and _structs."),
           IMPORTS + "\n\nfrom ._enums import *\nfrom ._load import function as _f, getter as _g\n"
           "from ._structs import *\n"]
    for function in api.functions:
        kinds = [returned_type(api, function)] + [api.ctype(a.type) for a in function.arguments]
        how = "_g" if keeps_gil(function) else "_f"
        out.append(f'{function.name} = {how}("{function.name}", {", ".join(kinds)})')
    return "\n".join(out) + "\n"


def callback_line(api, name):
    returned, arguments = api.callbacks[name]
    kinds = [api.ctype(returned)] + [api.ctype(a.type) for a in arguments]
    return f'{name} = CFUNCTYPE({", ".join(kinds)})'


def record_fields(api, name):
    """(name, type, expression) of each member of a record."""
    members = {member.name: member for member in api.structs[name]}
    for member in members.values():
        field, base, stars = member.name, base_of(member.type), member.type.count("*")
        count = f"{field}_n" if f"{field}_n" in members else "n" if field in ("items", "ids") else None
        if field == "n" or field.endswith("_n") or field == "has_metadata":
            continue
        if base == "tinkc_pair":
            flag = "c.has_metadata" if "has_metadata" in members and field == "metadata" else "True"
            kind = "Dict[str, Optional[str]]"
            yield field, f"Optional[{kind}]" if flag != "True" else kind, \
                f"pairs(c.{field}, c.{count})" + (f" if {flag} else None" if flag != "True" else "")
        elif base == "char" and stars == 2:
            yield field, "List[str]", f"texts(c.{field}, c.{count})"
        elif base == "char":
            yield field, "Optional[str]", f"text(c.{field})"
        elif base in api.structs and count:
            yield field, f"List[{camel(base)}]", \
                f"[{camel(base)}.of(c.{field}[i]) for i in range(c.{count})]"
        elif base in api.structs:
            yield field, f"Optional[{camel(base)}]", \
                f"{camel(base)}.of(c.{field}.contents) if c.{field} else None"
        elif base == "tinkc_choice":
            yield field, "Optional[bool]", f"choice(c.{field})"
        elif base in api.enums:
            yield field, f"_c.{camel(base)}", f"_c.{camel(base)}(c.{field})"
        elif field.endswith("_us"):
            yield field[:-3], "Optional[datetime]", f"time(c.{field})"
        else:
            yield field, {"bool": "bool", "double": "float"}.get(base, "int"), f"c.{field}"


def records_page(api):
    out = [NOTE.format("Results that hold no C memory: what the server stores, and events."),
           "from dataclasses import dataclass\nfrom datetime import datetime\n"
           "from typing import Any, Dict, List, Optional\n\n"
           "from . import _c\nfrom ._convert import choice, pairs, text, texts, time"]
    names = [name for name in api.structs if name in api.records]
    for name in names:
        fields = list(record_fields(api, name))
        out.append(f"\n\n@dataclass(frozen=True)\nclass {camel(name)}:\n    \"\"\"{name}\"\"\"\n")
        out += [f"    {field}: {kind}" for field, kind, _ in fields]
        out.append(f"\n    @classmethod\n    def of(cls, c: Any) -> \"{camel(name)}\":\n"
                   "        return cls(" + ",\n                   ".join(e for _, _, e in fields) + ")")
    return "\n".join(out) + "\n"


def layout_program(api):
    out = ["#include <stdio.h>\n#include <tinkc/tinkc.h>\n\nint main(void)\n{"]
    for name, members in api.structs.items():
        out.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        out += [f'    printf("{name}.{m.name} %zu\\n", offsetof({name}, {m.name}));' for m in members]
    for name, members in api.enums.items():
        out += [f'    printf("{member} %d\\n", (int){member});' for member in members]
    return "\n".join(out) + "\n    return 0;\n}\n"


def main():
    argv = [word for word in sys.argv[1:] if word in ("--check", "--layout")]
    root = gatelib.root_of(sys.argv)
    api = Api(root)
    gatelib.need(len(api.functions), "functions")
    if "--layout" in argv:
        print(layout_program(api), end="")
        return 0
    problems = []
    for name, page in zip(PAGES, (enums_page, structs_page, c_page, records_page)):
        new = page(api)
        file = root / HOME / name
        if "--check" not in argv:
            file.write_text(new)
            continue
        old = file.read_text() if file.exists() else ""
        if old != new:
            sys.stdout.writelines(list(difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), name, "from the headers"))[:40])
            problems.append(f"{HOME}/{name} differs from the headers: run scripts/gen-python.py")
    return gatelib.finish(problems, f"{len(api.functions)} functions, {len(api.structs)} structs, "
                                    f"{len(api.enums)} enumerations")


if __name__ == "__main__":
    sys.exit(main())
