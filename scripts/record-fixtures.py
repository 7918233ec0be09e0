#!/usr/bin/env python3
"""Records what the official Tinker SDK puts on the wire and reads from it.

For each pinned SDK version: an environment (sdkenv.py), a recording server on loopback, the
unmodified SDK driven through every operation (recorder/cases_*.py), the answers that it
can read (recorder/answers_*.py) and values computed by its functions
(recorder/goldens.py). The files land in tests/data/wire/<version>/ and are identical
from run to run. Needs Python 3.11 or newer and a package index; the tests need neither.

    scripts/record-fixtures.py              record all versions
    scripts/record-fixtures.py --check      record elsewhere and compare with the tree
"""

import argparse
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import sdkenv

ROOT = Path(__file__).resolve().parent.parent
RECORDER = ROOT / "scripts" / "recorder"
VERSIONS = ("0.25.0", "0.36.0")  # the two levels of our client; the last is the newest recorded


def record(python, out, *words):
    with tempfile.TemporaryDirectory() as home:
        # A clean environment: nothing of the caller's configuration may reach the files.
        clean = {"HOME": home, "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        log = subprocess.run([str(python), str(RECORDER / "drive.py"), str(out), *words], env=clean,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if log.returncode:
            sys.exit(f"{log.stdout}\nrecording failed")


def write_index(out):
    files = sorted(str(p.relative_to(out)) for p in out.rglob("*.json") if p.parent != out)
    groups = {"sdk_version": out.name}
    for kind in ("requests", "responses", "goldens"):
        groups[kind] = [f for f in files if f.startswith(kind + "/")]
    (out / "index.json").write_text(json.dumps(groups, indent=1) + "\n")


def differences(ours, theirs):
    names = {str(p.relative_to(d)) for d in (ours, theirs) for p in d.rglob("*.json")}
    return sorted(n for n in names if not (ours / n).exists() or not (theirs / n).exists()
                  or not filecmp.cmp(ours / n, theirs / n, shallow=False))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, default=ROOT / "tests" / "data" / "wire")
    arguments.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments.add_argument("--no-torch", action="store_true",
                           help="leave out what needs torch (a trial run: not for committing)")
    options = arguments.parse_args()
    failed = False
    for version in VERSIONS:
        python = sdkenv.environment(version, not options.no_torch)
        with tempfile.TemporaryDirectory() as scratch:
            fresh = Path(scratch) / version
            print(f"recording tinker {version}", flush=True)
            record(python, fresh)
            write_index(fresh)
            kept = options.out / version
            if options.check:
                different = differences(fresh, kept)
                failed = failed or bool(different)
                print("\n".join(f"differs: {version}/{name}" for name in different) or "identical")
            else:
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(fresh, kept)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
