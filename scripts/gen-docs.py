#!/usr/bin/env python3
"""Writes the reference pages that come from the code: docs/errors.md, docs/limits.md.

    scripts/gen-docs.py            rewrite them
    scripts/gen-docs.py --check    fail when they differ from the code (A-146)
"""
import difflib
import re
import sys

import gatelib

NOTE = "<!-- Written by scripts/gen-docs.py from {}. Do not edit. -->\n"


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def enum_members(text, name):
    """[(member, value, comment)] of `typedef enum name`."""
    body = re.search(rf"typedef enum {name} \{{(.*?)\}} {name};", text, re.S).group(1)
    found = re.findall(r"(TINKC_\w+) = (\d+),?(?:[ \t]*\n?[ \t]*/\*(.*?)\*/)?", body, re.S)
    return [(member, int(value), cell(comment)) for member, value, comment in found]


def errors_page(root):
    source = "include/tinkc/error.h"
    text = (root / source).read_text()
    out = [NOTE.format(source), "# Error codes\n",
           "`tinkc_error_code()` of a failed result. The numbers are part of the ABI: they are\n"
           "never changed, new ones are added at the end.\n",
           "| value | code | meaning |\n|---|---|---|"]
    for member, value, comment in enum_members(text, "tinkc_code"):
        out.append(f"| {value} | `{member}` | {comment or 'success'} |")
    out += ["\n## Categories\n", "`tinkc_error_category()`: whose fault it was, as the server says.\n",
            "| value | category |\n|---|---|"]
    for member, value, _ in enum_members(text, "tinkc_category"):
        out.append(f"| {value} | `{member}` |")
    return "\n".join(out) + "\n"


UNITS = {"TK_KIB": 1 << 10, "TK_MIB": 1 << 20, "TK_GIB": 1 << 30}
DEFINE = re.compile(r"^#define[ \t]+(TK_\w+)[ \t]+((?:[^/\n]|/(?!\*))+?)[ \t]*(?:/\*(.*?)\*/)?[ \t]*$",
                    re.M | re.S)


def human(name, value):
    if not name.endswith("_BYTES"):
        return f"{value:,}"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size:,} {unit}"
    return f"{value:,} bytes"


def limits_page(root):
    source = "src/base/limits.h"
    text = (root / source).read_text()
    out = [NOTE.format(source), "# Limits\n",
           "Every buffer, parser and table is bounded by one of these or by an argument. Input over\n"
           "a limit is refused with `TINKC_E_LIMIT`; only text for people (messages, log lines) is\n"
           "cut instead.\n",
           "| limit | value | what |\n|---|---|---|"]
    known = dict(UNITS)
    for name, expression, comment in DEFINE.findall(text):
        if name in UNITS:
            continue
        words = re.sub(r"\(size_t\)|(?<=\d)(?:u|l)+\b", "", expression, flags=re.I)
        if not re.fullmatch(r"[\w\s()*+-]+", words):
            sys.exit(f"{source}: {name} is not a sum or product of numbers: {expression}")
        known[name] = eval(words, {"__builtins__": {}}, known)  # digits and names of ours only
        out.append(f"| `{name}` | {human(name, known[name])} | {cell(comment)} |")
    return "\n".join(out) + "\n"


PAGES = {"docs/errors.md": errors_page, "docs/limits.md": limits_page}


def main():
    root = gatelib.root_of(sys.argv)
    differ = 0
    for path, page in PAGES.items():
        new = page(root)
        file = root / path
        old = file.read_text() if file.exists() else ""
        if "--check" not in sys.argv:
            file.write_text(new)
        elif old != new:
            differ += 1
            sys.stdout.writelines(difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), path, "from the code"))
            print(f"{path} differs from the code: run scripts/gen-docs.py")
    if not differ:
        print(f"{len(PAGES)} generated pages")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
