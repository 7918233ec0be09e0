#!/usr/bin/env python3
"""Keeps a fuzz corpus small: at most 400 files and 1 MB, by dropping the largest inputs
that the fuzzer found. Inputs written by hand (any name but 40 hexadecimal digits) stay.

Usage: scripts/fuzz-trim.py DIRECTORY
"""
import pathlib
import re
import sys

MAX_FILES, MAX_BYTES = 400, 1_000_000


def main():
    files = [p for p in pathlib.Path(sys.argv[1]).rglob("*") if p.is_file()]
    found = [p for p in files if re.fullmatch(r"[0-9a-f]{40}", p.name)]
    found.sort(key=lambda p: (p.stat().st_size, p.name))
    count, size = len(files), sum(p.stat().st_size for p in files)
    while found and (count > MAX_FILES or size > MAX_BYTES):
        victim = found.pop()
        count, size = count - 1, size - victim.stat().st_size
        victim.unlink()
    if count > MAX_FILES or size > MAX_BYTES:
        print(f"{sys.argv[1]}: {count} files, {size} bytes by hand: too much")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
