#!/usr/bin/env python3
"""Sizes: a function over 100 lines or a file over 1,000 fails; over 60 / 600 it is listed.

Function lengths come from Universal Ctags (first line of the definition to its closing
brace). There is no list of exemptions.
"""
import json
import subprocess
import sys

import gatelib

FUNCTION_LIMIT, FUNCTION_REVIEW = 100, 60
FILE_LIMIT, FILE_REVIEW = 1000, 600


def function_lengths(root, paths):
    """Yields (path, name, line, length)."""
    out = subprocess.run(
        ["ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=f", "--fields=+ne",
         "--output-format=json", "-L", "-", "-f", "-"],
        input="\n".join(paths), cwd=root, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "end" in tag:
            yield tag["path"], tag["name"], tag["line"], tag["end"] - tag["line"] + 1


def main():
    root = gatelib.root_of(sys.argv)
    paths = [p for p in gatelib.files(root, ".c", ".h", ".cpp", ".hpp", ".py", ".sh")]
    c_paths = [p for p in paths if p.endswith((".c", ".h"))]
    gatelib.need(len(c_paths), "sources")
    problems, review = [], []
    for path in paths:
        lines = (root / path).read_text().count("\n")
        text = f"{path}: {lines} lines"
        if lines > FILE_LIMIT:
            problems.append(f"{text}, the limit is {FILE_LIMIT}")
        elif lines > FILE_REVIEW:
            review.append(text)
    functions = 0
    for path, name, line, length in function_lengths(root, c_paths):
        functions += 1
        text = f"{path}:{line}: {name} has {length} lines"
        if length > FUNCTION_LIMIT:
            problems.append(f"{text}, the limit is {FUNCTION_LIMIT}")
        elif length > FUNCTION_REVIEW:
            review.append(text)
    gatelib.need(functions, "functions (is ctags Universal Ctags?)")
    for text in review:
        print(f"long: {text}")
    return gatelib.finish(problems, f"{functions} functions in {len(c_paths)} C files")


if __name__ == "__main__":
    sys.exit(main())
