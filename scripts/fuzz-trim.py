#!/usr/bin/env python3
"""Keeps the fuzz corpora small: at most 40 files per target, with the coverage of everything
that is known.

    scripts/fuzz-trim.py [target...]               trims fuzz/corpora/<target>, with what
                                                   scripts/fuzz.sh found in build/fuzz/work
    scripts/fuzz-trim.py --split DIRECTORY OUT     writes every record to a separate file

A file holds records (fuzz/records.c). Files named found-X are written here: of the records that
the fuzzer found, those that libFuzzer says reach something new, chosen greedily by edges, then by
features (an edge and how often it is taken), then by size. All other files are written by hand
and stay as they are. Prints the edges before and after for each target (build/fuzz must be
built: scripts/fuzz.sh); fails when more than 2 % of the edges are lost or more than 40 files are
left.
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SEPARATOR = b"\n\x1e\x1e\n"  # FUZZ_SEPARATOR of fuzz/fuzz.h
MAX_FILES, MAX_LOSS = 40, 0.02
FOUND = re.compile(r"found-[0-9a-f]|[0-9a-f]{40}")  # the latter is libFuzzer's own name
CORPORA, BUILD = Path("fuzz/corpora"), Path("build/fuzz")


def name_of(record):
    return hashlib.sha1(record).hexdigest()


def records_of(paths):
    """{name: record}"""
    return {name_of(record): record for path in paths if path.is_file()
            for record in path.read_bytes().split(SEPARATOR)}


def write_all(records, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for name, record in records.items():
        (directory / name).write_bytes(record)


def coverage(target, directory):
    """({file name: features}, the number of edges of the program), from libFuzzer's merge."""
    with tempfile.TemporaryDirectory() as work:
        control, out = Path(work) / "control", Path(work) / "out"
        out.mkdir()
        done = subprocess.run(
            [BUILD / f"fuzz/fuzz_{target}", "-set_cover_merge=1", "-timeout=60",
             f"-merge_control_file={control}", out, directory],
            capture_output=True, text=True, errors="replace")
        counters = re.search(r"\((\d+) inline 8-bit counters\)", done.stderr)
        if done.returncode != 0 or not counters:
            sys.exit(f"{done.stderr}\nfuzz_{target} failed")
        lines = control.read_text().splitlines()
    files = [Path(line).name for line in lines[2:2 + int(lines[0])]]
    features = {name: set() for name in files}
    for line in lines[2 + len(files):]:
        kind, number, *rest = line.split()
        if kind == "FT":
            features[files[int(number)]] = set(map(int, rest))
    return features, int(counters.group(1))


def edges_of(features, n_edges):
    """libFuzzer has eight features for each edge: how often it was taken, in steps."""
    return {feature // 8 for feature in features if feature < 8 * n_edges}


def choose(records, features, n_edges, kept):
    """The names of the records that add something to those in kept."""
    have = set().union(*(features.get(name, set()) for name in kept))
    have_edges = edges_of(have, n_edges)
    edges = {name: edges_of(features.get(name, set()), n_edges) for name in records}
    left, chosen = set(records) - set(kept), []
    while left:
        best = max(left, key=lambda name: (len(edges[name] - have_edges),
                                           len(features.get(name, set()) - have),
                                           -len(records[name]), name))
        if not features.get(best, set()) - have:
            break
        chosen.append(best)
        left.remove(best)
        have |= features[best]
        have_edges |= edges[best]
    return chosen


def measured(target, directory):
    features, n_edges = coverage(target, directory)
    return len(edges_of(set().union(*features.values()), n_edges)), n_edges


def pack(corpus, records):
    """A record's file goes by its hash, so that a new one changes one file only."""
    for path in corpus.iterdir():
        if FOUND.fullmatch(path.name):
            path.unlink()
    for digit in "0123456789abcdef":
        part = [records[name] for name in sorted(records) if name[0] == digit]
        if part:
            (corpus / f"found-{digit}").write_bytes(SEPARATOR.join(part))


def trim(target):
    """Trims one corpus; what is wrong with it afterwards, or nothing."""
    corpus, work = CORPORA / target, BUILD / "work" / target
    old = sorted(corpus.iterdir())
    by_hand = records_of(p for p in old if not FOUND.fullmatch(p.name))
    records = records_of(old + sorted(work.glob("*")))
    with tempfile.TemporaryDirectory() as place:
        write_all(records, Path(place))
        features, n_edges = coverage(target, place)
    before = len(edges_of(set().union(*features.values()), n_edges))
    chosen = choose(records, features, n_edges, by_hand)
    pack(corpus, {name: records[name] for name in chosen})
    files = len(list(corpus.iterdir()))
    after, _ = measured(target, corpus)
    print(f"| {target} | {len(old)} | {len(records)} | {before} | {files} | "
          f"{len(by_hand) + len(chosen)} | {after} | {n_edges} |", flush=True)
    if files > MAX_FILES:
        return f"{corpus}: {files} files, at most {MAX_FILES}: put more records into a file"
    if after < before * (1 - MAX_LOSS):
        return f"{corpus}: {before - after} of {before} edges are lost"
    return None


def main(words):
    os.chdir(Path(__file__).resolve().parent.parent)
    if words[:1] == ["--split"]:
        write_all(records_of(sorted(Path(words[1]).glob("*"))), Path(words[2]))
        return 0
    targets = words or sorted(path.name for path in CORPORA.iterdir())
    print("| target | files | records | edges | files kept | records kept | edges kept | of |\n"
          "|---|---|---|---|---|---|---|---|")
    problems = [problem for problem in map(trim, targets) if problem]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
