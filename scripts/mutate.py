#!/usr/bin/env python3
"""Takes behaviours out of the code, one at a time, and sees that the tests named for each
notice: tests/mutations/*.txt (the format is in the README there). Not part of `make check`.

Without words all entries, else those of the rows, tests, programs, definitions or files named.
--list runs nothing: it says which entries there are, and which of them do not apply any more.
Works on a copy of the tree under build/mutate. Fails when an entry survives, does not apply,
does not compile or does not start, and when a row of the scope has no entry.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import ctext
import gatelib

# a test hangs when it takes longer than both LEAST_S and TIMES its usual time
LEAST_S, MOST_S, TIMES = 10, 60, 20
NOT_RUN, TOO_LONG = "not run", "too long"  # besides the exit statuses
PASSED, ABSENT, UNSTARTED = "passed", "absent", "unstarted"
KILLS = ("assertion", "crash", "limit")
SEARCHED = ("src/", "tests/support/")  # where `in NAME` looks
ROW_ID = re.compile(r"\b([A-Z]+\d?)-(\d+)\b(?:\s*\.\.\s*[A-Z]+\d?-(\d+)\b)?")


class Entry:
    def __init__(self, rows, place):
        self.rows, self.place = rows, place
        self.why, self.program, self.tests, self.also = "", "", [], []
        self.edits = []  # [where, old lines, new lines]
        self.includes = []  # (where, header)

    def check(self):
        if not (self.why and self.program and self.tests and self.edits):
            sys.exit(f"{self.place}: an entry needs why, test, in and a text")
        return self


def expand(text):
    """The rows that a text names, ranges included, with the width of the first number."""
    rows = []
    for table, first, last in ROW_ID.findall(text):
        for number in range(int(first), int(last or first) + 1):
            rows.append(f"{table}-{number:0{len(first)}}")
    return rows


def parse_edit(entry, where, line):
    sign, text = line[0], line[2:]
    if sign == "-":
        if not entry.edits or entry.edits[-1][0] != where or entry.edits[-1][2]:
            entry.edits.append([where, [], []])
        entry.edits[-1][1].append(text)
    else:
        entry.edits[-1][2].append(text)


def parse(path, scope, entries):
    entry, where = None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word, _, rest = line.partition(" ")
        place = f"{path.name}:{number}"
        if line[:2] in ("- ", "+ ") or line in ("-", "+"):
            parse_edit(entry, where, line)
        elif not line.strip() or line[0] == "#":
            continue
        elif line[0] == "[":
            entry = Entry(expand(line), place)
            entries.append(entry)
        elif word == "scope":
            scope += expand(rest.partition(":")[0])
        elif word == "why":
            entry.why = rest.strip()
        elif word == "also":
            entry.also = rest.split()
        elif word == "test":
            program, _, tests = rest.partition(":")
            entry.program, entry.tests = program.strip(), tests.replace(",", " ").split()
        elif word in ("in", "file"):
            where = rest.strip()
            entry.edits.append([where, [], []])
        elif word == "include":
            entry.includes.append((where, rest.strip()))
        else:
            sys.exit(f"{place}: what is this? {line}")


def load(root):
    scope, entries = [], []
    for path in sorted((root / "tests/mutations").glob("*.txt")):
        parse(path, scope, entries)
    for entry in entries:
        entry.edits = [e for e in entry.edits if e[1]]
        entry.check()
    gatelib.need(len(entries), "mutations")
    return scope, entries


def uncovered(root, scope, entries):
    """What the scope asks for and no entry has."""
    rows = dict(re.findall(r"^\|\s*([A-Z]-\d{3})\s*\|[^|]*\|([^|]*)\|", (
        root / "docs/conformance.md").read_text(), re.M))
    problems, owner = [], {}
    for row in scope:
        tests = [t for e in entries if row in e.rows for t in e.tests]
        if not tests:
            problems.append(f"{row}: no mutation")
        elif row[:2] == "A-" and not set(tests) & set(re.findall(r"\w+", rows.get(row, ""))):
            problems.append(f"{row}: no mutation names a test of its row in conformance.md")
        elif row[:2] != "A-":
            key = row.partition("-")[0], tests[0]
            if owner.setdefault(key, row) != row:
                problems.append(f"{row}: has no test of its own ({tests[0]}: {owner[key]})")
    return problems


class Tree:
    """The private copy."""

    def __init__(self, root):
        self.root = root
        self.dir = root / "build/mutate/tree"
        self.build_dir = self.dir / "build/dev"
        self.only = root / "build/mutate/only.so"
        self.limits = {}  # seconds, by program and test

    def copy(self):
        names = gatelib.files(self.root)
        for name in names:
            source, target = self.root / name, self.dir / name
            data = source.read_bytes()
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                target.chmod(source.stat().st_mode)
        for name in set(gatelib.files(self.dir)) - set(names):
            (self.dir / name).unlink()

    def configure(self):
        # unused variables and the like are part of many mutations: no warnings
        run(["cmake", "--preset", "dev", "-DCMAKE_C_FLAGS=-w",
             "-DCMAKE_C_FLAGS_DEBUG=-O1 -g"], self.dir)
        run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", str(self.only),
             str(self.root / "tests/mutations/only.c")], self.dir)

    def build(self, targets):
        if not targets:
            return True
        command = ["cmake", "--build", str(self.build_dir), "--target", *targets]
        done = subprocess.run(command, capture_output=True, text=True)
        self.said = done.stdout + done.stderr
        return done.returncode == 0

    def outcome(self, program, test):
        """One of PASSED, ABSENT, UNSTARTED and KILLS."""
        env = dict(os.environ, MUTATE_ONLY=test, TINKC_BUILD_DIR=str(self.build_dir))
        limit = self.limits.get((program, test), MOST_S)
        if program == "docs":
            script = self.dir / f"tests/docs/{test}.sh"
            if not script.exists():
                return ABSENT
            code, _ = bounded([str(script)], self.dir, env, limit)
            return outcome_of_script(code)
        path = self.build_dir / "tests" / program
        env["LD_PRELOAD"] = os.path.relpath(self.only, path.parent)  # takes no blanks
        return outcome_of_program(test, *bounded([str(path)], path.parent, env, limit))


def outcome_of_script(code):
    if code in (NOT_RUN, 126, 127):  # the shell's messages for the same
        return UNSTARTED
    return PASSED if code == 0 else "limit" if code == TOO_LONG else "assertion"


def outcome_of_program(test, code, out):
    if code == NOT_RUN or "[==========]" not in out:
        return UNSTARTED  # the loader's failure, not the test's
    if f"[ RUN      ] {test}\n" not in out:
        return ABSENT
    if code == 0 and f"[       OK ] {test}\n" in out:
        return PASSED
    if code == TOO_LONG:
        return "limit"
    return "crash" if code < 0 or "Test failed with exception" in out else "assertion"


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def bounded(command, cwd, env, limit):
    """(exit status, output); the whole group of processes ends with it."""
    try:
        child = subprocess.Popen(command, cwd=cwd, env=env, text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        return NOT_RUN, str(error)
    with child:
        try:
            out = child.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return TOO_LONG, child.communicate()[0]
    return child.returncode, out


def targets_of(entry):
    return entry.also + ([] if entry.program == "docs" else [entry.program])


class Stale(Exception):
    """An entry does not apply."""


class Places:
    """Finds what an entry changes: a definition by its name, or a file by its path."""

    def __init__(self, root):
        self.root, self.paths = root, {}
        for path in gatelib.files(root, ".c", ".h"):
            if path.startswith(SEARCHED):
                for names, _, _ in ctext.definitions((root / path).read_text()):
                    for name in names:
                        self.paths.setdefault(name, []).append(path)

    def path(self, where):
        """The one file that has it."""
        if "/" in where:
            found = [where] if (self.root / where).exists() else []
        else:
            stem, _, name = where.rpartition(":")
            found = [p for p in self.paths.get(name, []) if stem in ("", Path(p).stem)]
        if len(found) != 1:
            raise Stale(f"{where} is " + (f"in {', '.join(found)}" if found else "nowhere"))
        return found[0]

    def has(self, where, path):
        try:
            return self.path(where) == path
        except Stale:
            return False

    @staticmethod
    def extent(where, text):
        """(first offset, offset after the end) in the text of its file."""
        if "/" in where:
            return 0, len(text)
        name = where.rpartition(":")[2]
        return next(((a, b) for names, a, b in ctext.definitions(text) if name in names), (0, 0))

    def texts(self, tree, entry):
        """({path: its text}, {path: its text with the change})"""
        before, after = {}, {}
        for where, old, new in entry.edits:
            path = tree / self.path(where)
            before.setdefault(path, path.read_text())
            text = after.get(path, before[path])
            first, end = self.extent(where, text)
            count = text[first:end].count("\n".join(old))
            if count != 1:
                raise Stale(f"{where} has the text {count} times")
            after[path] = (text[:first] + text[first:end].replace("\n".join(old), "\n".join(new)) +
                           text[end:])
        for where, header in entry.includes:
            path = tree / self.path(where)
            after[path] = f"#include {header}\n{after[path]}"
        return before, after


def verdict_of(tree, places, entry):
    try:
        before, after = places.texts(tree.dir, entry)
    except Stale as stale:
        return f"STALE ({stale})"
    try:
        for path, text in after.items():
            path.write_text(text)
        if not tree.build(targets_of(entry)):
            return "BROKEN"
        reasons = []
        for test in entry.tests:
            reasons.append(tree.outcome(entry.program, test))
            if reasons[-1] not in KILLS:
                return {PASSED: "SURVIVED"}.get(reasons[-1], reasons[-1].upper()) + f" {test}"
        return "killed: " + ", ".join(sorted(set(reasons)))
    finally:
        for path, text in before.items():
            path.write_text(text)


def check_untouched(tree, entries):
    """Every test passes as long as nothing is changed; says how long each may take."""
    if not tree.build(sorted({t for e in entries for t in targets_of(e)})):
        sys.exit(f"{tree.said}\nthe tree does not build")
    for program, test in sorted({(e.program, t) for e in entries for t in e.tests}):
        start = time.monotonic()
        outcome = tree.outcome(program, test)
        if outcome != PASSED:
            sys.exit(f"{program}: {test}: {outcome} without a mutation")
        usual = time.monotonic() - start
        tree.limits[program, test] = min(max(LEAST_S, TIMES * usual), MOST_S)


def wanted(entry, places, words):
    names = entry.rows + [entry.program, entry.place.partition(":")[0]] + entry.tests
    for where, _, _ in entry.edits:
        names += [where, where.rpartition(":")[2]]
    return not words or any(w in names or any(places.has(where, w) for where, _, _ in entry.edits)
                            for w in words)


def neighbour(entry, places):
    """Sorts entries that change the same file together: one less to compile again."""
    path = next((p for p in places.paths.get(entry.edits[0][0].rpartition(":")[2], [])), "")
    return path, entry.program


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--root", metavar="DIR", help="another tree")
    parser.add_argument("words", nargs="*", metavar="ROW|TEST|PROGRAM|NAME|FILE")
    options = parser.parse_args()
    words = options.words
    root = Path(options.root).resolve() if options.root else gatelib.root_of([])
    scope, entries = load(root)
    places = Places(root)
    for word in words:
        gatelib.need(sum(wanted(e, places, [word]) for e in entries), f"mutation of {word}")
    chosen = [e for e in entries if wanted(e, places, words)]
    problems = uncovered(root, scope, entries) if not words else []
    if options.list:
        for entry in chosen:
            print(f"{entry.place:20} {' '.join(entry.rows):24} {entry.why}")
            try:
                places.texts(root, entry)
            except Stale as stale:
                problems.append(f"STALE {' '.join(entry.rows)}: {entry.why} ({entry.place}): {stale}")
        return gatelib.finish(problems, f"{len(chosen)} mutations, {len(scope)} rows")
    tree = Tree(root)
    tree.copy()
    tree.configure()
    check_untouched(tree, chosen)
    chosen.sort(key=lambda e: neighbour(e, places))
    reasons = Counter()
    for entry in chosen:
        start = time.monotonic()
        verdict = verdict_of(tree, places, entry)
        line = f"{verdict:17} {' '.join(entry.rows)}: {entry.why} ({entry.place}, " \
               f"{entry.program}, {time.monotonic() - start:.1f} s)"
        print(line, flush=True)
        killed, _, reason = verdict.partition("killed: ")
        if killed:
            problems.append(line)
        else:
            reasons[reason] += 1
    print(f"{sum(reasons.values())} of {len(chosen)} killed: " +
          ", ".join(f"{count} by {reason}" for reason, count in reasons.most_common()))
    return gatelib.finish(problems, f"{len(scope)} rows in scope, each with a mutation")


if __name__ == "__main__":
    sys.exit(main())
