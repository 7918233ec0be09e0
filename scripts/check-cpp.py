#!/usr/bin/env python3
"""The C++ API keeps up with the C API: every public function is called somewhere in
include/tinkc/cpp/*.hpp, or tests/exports/cpp.exceptions names it (or a pattern that matches it)
with the reason. An exception that matches nothing, or only what C++ does call, fails too; so does
a declaration in those headers that no comment explains.

usage: check-cpp.py [--root DIR]
"""
import fnmatch
import re
import sys

import gatelib

LIST = "tests/exports/cpp.exceptions"
DECLARATION = re.compile(r"TINKC_API\s+[^;]*?\b(tinkc_\w+)\s*\(", re.S)


def public_functions(root):
    names = set()
    for path in (root / "include/tinkc").glob("*.h"):
        names.update(DECLARATION.findall(gatelib.code_only(path.read_text())))
    return names


def called(root):
    text = "".join(gatelib.code_only(path.read_text())
                   for path in (root / "include/tinkc/cpp").glob("*.hpp"))
    return set(re.findall(r"\btinkc_\w+", text))


def exceptions(root):
    """(pattern, reason, line) of each line that is not empty or a comment."""
    for number, line in enumerate((root / LIST).read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" ")
            yield pattern, reason.strip(), number


CLASS = re.compile(r"^(.*)\n((?:template.*\n(?: +.*\n)*)?)(?:class|struct) [^;\n]*$", re.M)


def comments(root):
    """Every file opens with a comment, and every class has one above it."""
    for path in sorted((root / "include/tinkc/cpp").glob("*.hpp")):
        name, text = path.relative_to(root), path.read_text()
        if not text.startswith("/*"):
            yield f"{name}:1: does not open with a comment"
        for match in CLASS.finditer(text):
            above, template = match.groups()
            if not above.endswith("*/") and template != "template <>\n":
                line = gatelib.line_of(text, match.end())
                yield f"{name}:{line}: no comment above the class"


def main():
    root = gatelib.root_of(sys.argv)
    functions, used = public_functions(root), called(root)
    gatelib.need(len(functions), "public functions")
    problems, excused = list(comments(root)), set()
    for pattern, reason, number in exceptions(root):
        matched = {f for f in fnmatch.filter(functions, pattern) if f not in used}
        if not reason:
            problems.append(f"{LIST}:{number}: {pattern} has no reason")
        if not matched:
            problems.append(f"{LIST}:{number}: {pattern} excuses nothing")
        excused |= matched
    problems += [f"{name} has no counterpart in include/tinkc/cpp and no line in {LIST}"
                 for name in sorted(functions - used - excused)]
    problems += [f"include/tinkc/cpp: {name} is not a public function"
                 for name in sorted(n for n in used
                                    if re.match(r"tinkc_\w+_(free|close|new|open|await_\w+)$", n)
                                    and n not in functions)]
    return gatelib.finish(problems, f"{len(functions & used)} of {len(functions)} functions in C++, "
                          f"{len(excused)} deliberately not")


if __name__ == "__main__":
    sys.exit(main())
