#!/usr/bin/env python3
"""Turns the lines of the benchmarks into a table and a JSON list.

Usage: scripts/bench-report.py LINES OUT.json    (exit 1: a bar is missed, or no result)
"""
import json
import pathlib
import sys

NUMBER = (int, float, type(None))  # null: a figure without a bar
FIELDS = {"name": str, "ratio": NUMBER, "bar": NUMBER, "ok": bool}


def read(path):
    rows = []
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        for field, kind in FIELDS.items():
            if field not in row or not isinstance(row[field], kind):
                raise SystemExit(f"bench: bad {field} in: {line}")
        rows.append(row)
    return rows


def main():
    rows = read(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(json.dumps(rows, indent=1) + "\n")
    width = max([len(row["name"]) for row in rows], default=0)
    for row in rows:
        verdict = "-" if row.get("unjudged") else "ok" if row["ok"] else "MISSED"
        ratio = "-" if row["ratio"] is None else f'{row["ratio"]:.2f} x'
        bar = "-" if row["bar"] is None else f'{row["bar"]:g}'
        print(f'{row["name"]:{width}}  {ratio:>9}  bar {bar:4}  '
              f'{verdict:6}  {row.get("detail", "")}')
    missed = sum(not row["ok"] for row in rows)
    unjudged = sum(bool(row.get("unjudged")) for row in rows)
    print(f"{len(rows)} results, {missed} below their bar, {unjudged} that cannot be judged here")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
