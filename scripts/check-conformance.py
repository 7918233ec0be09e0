#!/usr/bin/env python3
"""Checks that docs/conformance.md is true: every claimed requirement has exactly one row, every
row names tests that exist, that name the requirement, and that passed in the last test run; and
of the lists that it answers in full no requirement is left out.

usage: check-conformance.py [--root DIR]      reads DIR/build/tests-run.txt

The claim is the sentence `Claimed: A-001 to A-003, A-010.` of the document. A row is
`| A-001 | what | test_name, test_other |`. A test is a cmocka function of tests/**/*.c or a
script tests/docs/<name>.sh. "Names the requirement": its id, or a range that holds it
(C-021..C-027), is in the comment directly above the function or in a comment of its body; in
a script, anywhere. A test may also be a gate of scripts/check.sh: `gate_tsan`.

A requirement that is not met has the row `| M-039 | what | not done: reason |` and is not claimed.
The sentence `Answered in full: M-001 to M-177.` names those that must have a row of either kind.
"""
import re
import sys

import gatelib

ROW = re.compile(r"^\|\s*([A-Z]-\d{3})\s*\|([^|]*)\|([^|]*)\|\s*$", re.M)
ID_RANGE = re.compile(r"\b([A-Z])-(\d{3})\b(?:\s*(?:\.\.|to|-)\s*[A-Z]-(\d{3})\b)?")
# The comment directly above a test, its name and its body.
TEST = re.compile(r"((?:^/\*(?:(?!\*/).)*\*/\n)?)^static void (test_\w+)\(void \*\*.*?\)\n"
                  r"\{\n(.*?)^\}", re.M | re.S)


def expand(text):
    """All ids of a text, ranges included."""
    ids = set()
    for letter, first, last in ID_RANGE.findall(text):
        for number in range(int(first), int(last or first) + 1):
            ids.add(f"{letter}-{number:03}")
    return ids


def find_tests(root):
    """{test: ids that it names}"""
    tests = {}
    for path in gatelib.files(root, ".c", ".sh"):
        if not path.startswith("tests/"):
            continue
        text = (root / path).read_text()
        if path.endswith(".c"):
            for above, name, body in TEST.findall(text):
                ids = expand(above) | expand(gatelib.comments_only(body))
                tests[name] = tests.get(name, set()) | ids
        elif path.startswith("tests/docs/"):
            tests[path.rpartition("/")[2][:-3]] = expand(text)
    return tests


def find_gates(root):
    script = root / "scripts/check.sh"
    names = re.findall(r"^(\w+) +\| ", script.read_text(), re.M) if script.exists() else []
    return {f"gate_{name}" for name in names}


def last_run(root):
    """(passed, failed) names of the last run, or None when there was none."""
    file = root / "build/tests-run.txt"
    if not file.exists():
        return None
    passed, failed = set(), set()
    for line in file.read_text().splitlines():
        verdict, _, function = line.split()
        (passed if verdict == "ok" else failed).add(function)
    return passed - failed, failed


def is_done(row):
    return not row[2].strip().startswith("not done:")


def check_row(row, tests, gates, run):
    identifier, what, cell = row
    names = [n for n in re.findall(r"\w+", cell) if n not in gates]
    if not is_done(row):
        if len(cell.split()) < 6:
            yield f"{identifier}: not done, without a reason"
        return
    if not what.strip():
        yield f"{identifier}: says nothing"
    if not cell.strip():
        yield f"{identifier}: names no test"
    for name in names:
        if name not in tests:
            yield f"{identifier}: there is no test {name}"
        elif identifier not in tests[name]:
            yield f"{identifier}: {name} does not name {identifier} in the comment above it or in its body"
        elif name in run[1]:
            yield f"{identifier}: {name} failed in the last run"
        elif name not in run[0]:
            yield f"{identifier}: {name} did not run"


def main():
    root = gatelib.root_of(sys.argv)
    text = (root / "docs/conformance.md").read_text()
    claim = re.search(r"^Claimed: (.*?)\.$", text, re.M | re.S)
    run = last_run(root)
    if claim is None or run is None:
        print("no sentence `Claimed: ...`" if run else "no build/tests-run.txt: run make test")
        return 1
    rows = [(i, w, t) for i, w, t in ROW.findall(text)]
    problems, seen, claimed = [], set(), expand(claim.group(1))
    answered = re.search(r"^Answered in full: (.*?)\.$", text, re.M | re.S)
    tests, gates = find_tests(root), find_gates(root)
    for row in rows:
        if row[0] in seen:
            problems.append(f"{row[0]}: has two rows")
        seen.add(row[0])
        problems += check_row(row, tests, gates, run)
    done = {row[0] for row in rows if is_done(row)}
    problems += [f"{i}: claimed, but has no row" for i in sorted(claimed - seen)]
    problems += [f"{i}: claimed, but not done" for i in sorted(claimed & seen - done)]
    problems += [f"{i}: has a row, but is not claimed" for i in sorted(done - claimed)]
    if answered is not None:
        problems += [f"{i}: has no row" for i in sorted(expand(answered.group(1)) - seen)]
    gatelib.need(len(rows), "rows")
    return gatelib.finish(problems, f"{len(done)} requirements, each with a test that passed; "
                          f"{len(rows) - len(done)} not done, each with a reason")


if __name__ == "__main__":
    sys.exit(main())
