#!/usr/bin/env python3
"""Contracts are written down: every C file opens with a comment of 1 to 15 lines (a header,
which may explain a whole subsystem, 25), and every TINKC_API declaration has its own comment, above it or
after it on the same line. A public header says in its opening which threads may call. The
owner of every object that a function hands out is named there or at the function.
"""
import re
import sys

import gatelib

MAX_OPENING = {".c": 15, ".h": 25}
DECLARATION = re.compile(r"^TINKC_API\b", re.M)


def opening(path, text):
    match = re.match(r"/\*.*?\*/", text, re.S)
    if not match:
        yield f"{path}:1: does not open with a comment"
    elif match.group(0).count("\n") + 1 > MAX_OPENING[path[-2:]]:
        yield f"{path}:1: opening comment is longer than {MAX_OPENING[path[-2:]]} lines"


def declarations(path, text):
    lines = text.split("\n")
    for match in DECLARATION.finditer(text):
        first = gatelib.line_of(text, match.start()) - 1
        last = first
        while ";" not in lines[last]:
            last += 1
        above = first > 0 and lines[first - 1].rstrip().endswith("*/")
        behind = "/*" in lines[last].partition(";")[2]
        if above and re.search(r";.*/\*", lines[first - 1]):
            above = False  # that comment belongs to the declaration before
        if not above and not behind:
            name = re.search(r"(tinkc_\w+)\s*\(", " ".join(lines[first:last + 1]))
            yield f"{path}:{first + 1}: {name.group(1) if name else '?'} has no comment"


def contracts(path, text):
    start = re.match(r"/\*.*?\*/", text, re.S)
    start = start.group(0) if start else ""
    if DECLARATION.search(text) and not re.search(r"thread", start, re.I):
        yield f"{path}:1: the opening comment says nothing about threads"
    for comment, declaration in re.findall(
            r"(/\*(?:(?!\*/).)*\*/)\s*TINKC_API\s+([^;]*?);", text, re.S):
        hands_out = re.search(r"\(\s*(?!const\b)\w+ \*\*out\b", declaration)
        if hands_out and not re.search(r"\b(own|free|close|twin)", comment + start, re.I):
            name = re.search(r"(tinkc_\w+)\s*\(", declaration)
            yield f"{path}: {name.group(1) if name else '?'}: nobody owns what it hands out"


def main():
    root = gatelib.root_of(sys.argv)
    problems, declared = [], 0
    for path in gatelib.files(root, ".c", ".h"):
        text = (root / path).read_text()
        problems += opening(path, text)
        if path.startswith("include/"):
            declared += len(DECLARATION.findall(text))
            problems += declarations(path, text)
            problems += contracts(path, text)
    gatelib.need(declared, "TINKC_API declarations")
    return gatelib.finish(problems, f"{declared} public functions have their comment")


if __name__ == "__main__":
    sys.exit(main())
