#!/usr/bin/env python3
"""Notices what a new release of the official SDK changes.

Asks the package index for versions newer than the newest recorded one (record-fixtures.py). Each
is installed, driven through the recorder, and compared with the version before it: its requests,
what it reads, its public interface, its program. Prints the changes as rows for
docs/sdk-versions.md. Needs a package index; `make drift` runs it.

    sdk-drift.py                        0: nothing new, or rows explain all of it; 1: they do not
    sdk-drift.py --versions V,V,...     compare these in order, each with the one before it
    sdk-drift.py --recordings DIR       take recordings of this directory where it has them
    sdk-drift.py --api [--write]        the table of public interfaces: compare it, or write it
    sdk-drift.py --prove                without the recordings of 0.36.0, discover 0.30.4, 0.33.1
                                        and 0.36.0: every row that the page calls recorded is found
"""

import argparse
import difflib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sdkdiff
import sdkenv

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sdk-versions.md"
RECORDINGS = ROOT / "tests" / "data" / "wire"
MATRIX = ("0.16.1", "0.18.2", "0.22.7", "0.25.0", "0.28.1", "0.30.4", "0.33.1", "0.36.0")
PROOF = ("0.25.0", "0.30.4", "0.33.1", "0.36.0")
BEGIN, END = "<!-- interface: made by scripts/sdk-drift.py --api --write -->", "<!-- end of the interface -->"
IDENTIFIER = re.compile(r"`([a-z][a-z_0-9]*_[a-z_0-9]+)`")


def recorder():
    """record-fixtures.py as a module: its name is not one of a module."""
    spec = importlib.util.spec_from_file_location("record_fixtures", ROOT / "scripts" / "record-fixtures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(version):
    return [int(p) for p in re.findall(r"\d+", version)]


def newer_than(version):
    """Versions of the index, oldest first."""
    home = sdkenv.base()
    asked = subprocess.run([str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check",
                            "index", "versions", "tinker"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    found = re.search(r"^Available versions: (.*)$", asked.stdout, re.M)
    if found is None:
        sys.exit(f"the index does not answer: {asked.stderr.strip()}")
    listed = [v for v in found.group(1).split(", ") if sdkenv.NAME.fullmatch(v)]
    return sorted((v for v in listed if number(v) > number(version)), key=number)


class Versions:
    """What is known of each version, made when it is asked for."""

    def __init__(self, recordings, scratch, with_torch):
        self.kept, self.scratch, self.with_torch = Path(recordings), Path(scratch), with_torch

    def surface(self, version):
        python = sdkenv.environment(version, self.with_torch)
        with tempfile.TemporaryDirectory() as home:
            asked = subprocess.run([str(python), "-B", str(ROOT / "scripts" / "recorder" / "surface.py")],
                                   stdout=subprocess.PIPE, text=True, check=True,
                                   env={"HOME": home, "PATH": os.environ["PATH"]})
        return json.loads(asked.stdout)

    def recording(self, version):
        """The kept files, or new ones; and the parts of the recorder that failed."""
        if (self.kept / version).is_dir():
            return sdkdiff.load(self.kept / version), {}
        out = self.scratch / version
        if not out.is_dir():
            print(f"recording tinker {version}", flush=True)
            recorder().record(sdkenv.environment(version, self.with_torch), out, "--tolerant")
        return sdkdiff.load(out), json.loads((out / "failures.json").read_text())


def changes_of(versions, old, new):
    before, _ = versions.recording(old)
    after, failures = versions.recording(new)
    yield from sdkdiff.recordings(before, after)
    for name, text in failures.items():
        yield sdkdiff.Change("recorder", name, text, (name,))
    yield from sdkdiff.surfaces(versions.surface(old), versions.surface(new))


def discover(versions, chain):
    """Prints the rows of each version of a chain; returns its changes and those unexplained."""
    table = sdkdiff.table_rows(PAGE.read_text())
    everything, unexplained = [], []
    for old, new in zip(chain, chain[1:]):
        changes = list(changes_of(versions, old, new))
        print(f"\n{old} -> {new}: {len(changes)} changes")
        for row, items in sdkdiff.rows(changes, new):
            open_ones = [c for c in items if not sdkdiff.explained(c, table)]
            print(row if open_ones else f"{row} (explained)")
            unexplained += open_ones
        everything += changes
    return everything, unexplained


# ---- the table of public interfaces ----

def interface(versions):
    """Lines of the table: what each version of the matrix changes."""
    yield "| version | kind | of | change |"
    yield "|---|---|---|---|"
    known = {v: versions.surface(v) for v in MATRIX}
    for old, new in zip(MATRIX, MATRIX[1:]):
        for row, _ in sdkdiff.rows(sdkdiff.surfaces(known[old], known[new]), new):
            yield row


def api(versions, write):
    page = PAGE.read_text()
    before, rest = page.split(BEGIN + "\n")
    old, after = rest.split(END + "\n")
    new = "".join(f"{line}\n" for line in ["", *interface(versions), ""])
    if write:
        PAGE.write_text(before + BEGIN + "\n" + new + END + "\n" + after)
        return 0
    changed = list(difflib.unified_diff(old.splitlines(), new.splitlines(), str(PAGE.name), "now",
                                        lineterm="", n=0))
    print("\n".join(changed) if changed else "the table of public interfaces agrees")
    return 1 if changed else 0


# ---- the proof ----

def recorded_rows(text):
    """Rows of the page, outside its generated tables, that end with "recorded"."""
    own = text.split(BEGIN)[0]
    return [r for r in sdkdiff.table_rows(own) if r.rstrip(" |").endswith("recorded")]


def prove(versions):
    changes, unexplained = discover(versions, PROOF)
    seen = " ".join(" ".join(c.terms) + " " + c.text for c in changes)
    rows = recorded_rows(PAGE.read_text())
    lost = [r for r in rows if not any(r in sdkdiff.explained(c, [r]) for c in changes)]
    words = {w for r in rows for w in IDENTIFIER.findall(r) if not sdkdiff.contains(seen, w)}
    print(f"\n{len(rows)} recorded rows, {len(rows) - len(lost)} found again; "
          f"{len(changes)} changes, {len(unexplained)} that no row explains")
    for row in lost:
        print(f"not found: {row}")
    for word in sorted(words):
        print(f"not found: `{word}`")
    for change in unexplained:
        print(f"not explained: {change.owner}: {change.text} {change.terms}")
    return 1 if lost or words or unexplained else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--versions", type=lambda text: text.split(","))
    arguments.add_argument("--recordings", type=Path, default=RECORDINGS)
    arguments.add_argument("--scratch", type=Path, help="keep new recordings here")
    arguments.add_argument("--no-torch", action="store_true", help="leave out what needs PyTorch")
    arguments.add_argument("--api", action="store_true")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--prove", action="store_true")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as without:
        kept = options.recordings
        if options.prove:  # as if 0.36.0 had never been recorded
            (Path(without) / "0.25.0").symlink_to(kept.resolve() / "0.25.0")
            kept = Path(without)
        versions = Versions(kept, options.scratch or scratch, not options.no_torch)
        if options.api:
            return api(versions, options.write)
        if options.prove:
            return prove(versions)
        newest = recorder().VERSIONS[-1]
        chain = options.versions or [newest, *newer_than(newest)]
        if len(chain) < 2:
            print(f"the index has nothing newer than {newest}")
            return 0
        _, unexplained = discover(versions, chain)
        print(f"\n{len(unexplained)} changes that no row of docs/sdk-versions.md explains")
        return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
