#!/usr/bin/env python3
"""Runs our program and the official one with the same arguments and compares what they say.

usage: cli_compare.py --ours PATH --official PATH --run RUN_ID --work DIR

Times in JSON are compared as points in time: the official program writes str(datetime).
Whatever else differs must be listed in docs/cli-differences.md and is asked for here by name.
"""
import argparse
import csv
import datetime
import filecmp
import json
import re
import subprocess
import sys
from pathlib import Path

from official import exit_code

RELATIVE = re.compile(r"just now|in less than a minute|(in )?\d+ (minute|hour|day|week)s?( ago)?")
failures = 0
checks = 0


def fail(what, *lines):
    global failures
    failures += 1
    print(f"differs: {what}")
    for line in lines:
        print("   ", str(line)[:2000])


def check(what, ours, official):
    global checks
    checks += 1
    if ours != official:
        fail(what, f"ours:     {ours!r}", f"official: {official!r}")


def run(program, words, answer=""):
    done = subprocess.run([program, *words], input=answer, capture_output=True, text=True,
                          timeout=180, check=False)
    done.returncode = exit_code(done)
    return done


def normal(value):
    """JSON with times as points in time."""
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", value):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value


def keys_of(value):
    """The order of keys, all the way down."""
    if isinstance(value, dict):
        return [(key, keys_of(item)) for key, item in value.items()]
    return [keys_of(item) for item in value] if isinstance(value, list) else None


def table(text, boxed):
    """(title, columns, rows); a row may take several lines of a narrow table, which is
    why both are given a wide one."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not boxed:
        at = next((i for i, line in enumerate(lines) if set(line) <= set("─ ")), None)
        if at is None:
            return " ".join(lines), [], []
        spans = [m.span() for m in re.finditer("─+", lines[at])]
        cut = [[line[a:(b if i + 1 < len(spans) else None)].strip()
                for i, (a, b) in enumerate(spans)] for line in lines[at - 1:at] + lines[at + 1:]]
        return " ".join(lines[:at - 1]), cut[0], cut[1:]
    first = next(i for i, line in enumerate(lines) if line.strip()[0] in "┏┳")
    cells = [[cell.strip() for cell in re.split("[┃│]", line)[1:-1]]
             for line in lines[first:] if "│" in line or "┃" in line]
    return " ".join(line.strip() for line in lines[:first]), cells[0], cells[1:]


def plain(cell):
    return "RELATIVE" if RELATIVE.fullmatch(cell) else cell


class Pair:
    def __init__(self, options):
        self.ours, self.official = options.ours, options.official

    def both(self, words, answer=""):
        return run(self.ours, words, answer), run(self.official, words, answer)

    def json(self, *words):
        ours, official = self.both(["--format", "json", *words])
        what = "json " + " ".join(words)
        check(what + ": exit code", ours.returncode, official.returncode)
        try:
            mine, theirs = json.loads(ours.stdout), json.loads(official.stdout)
        except ValueError:
            fail(what, ours.stdout, ours.stderr, official.stdout, official.stderr)
            return
        check(what, normal(mine), normal(theirs))
        check(what + ": order of keys", keys_of(mine), keys_of(theirs))

    def table(self, *words):
        ours, official = self.both(words)
        what = "table " + " ".join(words)
        check(what + ": exit code", ours.returncode, official.returncode)
        mine, theirs = table(ours.stdout, False), table(official.stdout, True)
        check(what + ": title", mine[0], theirs[0])
        if theirs[2]:  # an empty table is its title (docs/cli-differences.md)
            check(what + ": columns", mine[1], theirs[1])
        check(what + ": rows", [[plain(c) for c in row] for row in mine[2]],
              [[plain(c) for c in row] for row in theirs[2]])

    def silent(self, *words):
        for program in (self.ours, self.official):
            done = run(program, words)
            check(f"{Path(program).name} {' '.join(words)}",
                  (done.returncode, done.stdout, done.stderr), (0, "", ""))

    def refused(self, code, *words):
        """Both fail; ours with `code` (docs/cli-differences.md has the reasons)."""
        ours, official = self.both(words)
        check("refused " + " ".join(words), (ours.returncode, official.returncode != 0),
              (code, True))


def reads(pair, run_id):
    for limit in ([], ["--limit", "0"], ["--limit", "1"]):
        for show in (pair.json, pair.table):
            show("run", "list", *limit)
            show("checkpoint", "list", *limit)
    pair.table("run", "list", "-c",
               "id,model,owner,lora,updated,status,checkpoint,checkpoint_time")
    pair.table("run", "list", "--columns", "status,id")
    for show in (pair.json, pair.table):
        show("run", "info", run_id)
        show("checkpoint", "list", "--run-id", run_id)
        for name in ("weights/one", "sampler_weights/sampler"):
            show("checkpoint", "info", f"tinker://{run_id}/{name}")


def changes(pair, run_id):
    path = f"tinker://{run_id}/weights/one"
    # a second time would be a conflict: each undoes what the other did
    for program, verb in ((pair.ours, "publish"), (pair.official, "unpublish"),
                          (pair.official, "publish"), (pair.ours, "unpublish")):
        done = run(program, ["checkpoint", verb, path])
        check(f"{Path(program).name} checkpoint {verb}",
              (done.returncode, done.stdout, done.stderr), (0, "", ""))
        pair.json("checkpoint", "info", path)
    pair.silent("checkpoint", "set-ttl", path, "--ttl", "3600")
    pair.table("checkpoint", "info", path)
    pair.silent("checkpoint", "set-ttl", path, "--remove")
    pair.json("checkpoint", "info", path)


def failing(pair, run_id):
    pair.refused(1, "run", "info", "nobody")
    pair.refused(1, "checkpoint", "list", "--run-id", "nobody")
    pair.refused(1, "checkpoint", "info", f"tinker://{run_id}/weights/nothing")
    pair.refused(1, "checkpoint", "publish", f"tinker://{run_id}/weights/nothing")
    pair.refused(2, "checkpoint", "info", "no-path")
    pair.refused(2, "checkpoint", "set-ttl", f"tinker://{run_id}/weights/one")
    pair.refused(2, "checkpoint", "delete")
    pair.refused(2, "run", "list", "--columns", "nosuch")
    pair.refused(2, "run", "list", "--limit", "x")
    pair.refused(2, "run", "info")
    pair.refused(2, "nosuch")
    pair.refused(2, "billing", "usage", "yesterday", "today")


def billing(pair, work):
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
    window = [t.strftime("%Y-%m-%dT%H:%M:%SZ")
              for t in (now - datetime.timedelta(hours=3), now + datetime.timedelta(hours=1))]
    pair.json("billing", "usage", *window)
    pair.table("billing", "usage", *window)
    ours, official = pair.both(["billing", "usage", *window, "--csv", "-"])
    check("billing --csv -", ours.stdout, official.stdout)
    if len(list(csv.reader(ours.stdout.splitlines()))) < 2:
        fail("billing: the window has no rows to compare")
    for option in ("--csv", "--sessions-csv"):
        files = [work / "ours.csv", work / "official.csv"]
        for program, file in zip((pair.ours, pair.official), files):
            done = run(program, ["billing", "usage", *window, option, str(file)])
            check(f"billing {option}: note", (done.stdout, done.stderr.split(" to ")[0]),
                  ("", f"Wrote {len(file.read_text().splitlines()) - 1} row(s)"))
        check("billing " + option, files[0].read_bytes(), files[1].read_bytes())


def download(pair, run_id, work):
    path = f"tinker://{run_id}/sampler_weights/sampler"
    name = path.removeprefix("tinker://").replace("/", "_")
    said = []
    for program in (pair.ours, pair.official):
        target = work / Path(program).name
        done = run(program, ["--format", "json", "checkpoint", "download", path, "-o",
                             str(target)])
        check("download: exit code", done.returncode, 0)
        said.append(json.loads(done.stdout))
        check("download: destination", said[-1].pop("destination"), str(target / name))
        again = run(program, ["checkpoint", "download", path, "-o", str(target)])
        check("download: a second time", again.returncode, 1)
    # our server says no length for an archive that it streams: the official program has none
    ours = dict(said[0])
    if "file_size_bytes" not in said[1]:
        ours.pop("file_size_bytes")
    check("download: JSON", ours, said[1])
    both = [work / Path(p).name / name for p in (pair.ours, pair.official)]
    names = [sorted(str(f.relative_to(d)) for f in d.rglob("*") if f.is_file()) for d in both]
    check("download: files", *names)
    differ = filecmp.cmpfiles(*both, names[0], shallow=False)
    check("download: contents", (differ[1], differ[2]), ([], []))


def delete(pair, run_id):
    """Each deletes one of two that are alike."""
    for words, answer in ((["-y"], ""), ([], "y\n")):
        names = ("one", "two") if words else ("three", "four")
        said = []
        for program, name in zip((pair.ours, pair.official), names):
            done = run(program, ["--format", "json", "checkpoint", "delete",
                                 f"tinker://{run_id}/weights/{name}", *words], answer)
            check("delete: exit code", done.returncode, 0)
            said.append(json.loads(done.stdout[done.stdout.index('{'):]))
        check("delete", *said)
    ours, official = pair.both(["checkpoint", "delete", f"tinker://{run_id}/weights/five"], "n\n")
    check("delete: no", (ours.returncode, ours.stdout, official.returncode),
          (0, "Deletion cancelled.\n", 0))
    if not official.stdout.endswith("Deletion cancelled.\n"):
        fail("delete: no", official.stdout)
    filters = ["checkpoint", "delete", "--run-id", run_id, "--before", "2020-01-01", "-y"]
    ours, official = pair.both(filters)
    check("delete: nothing matches", (ours.returncode, ours.stdout),
          (official.returncode, official.stdout))
    gone = [f"tinker://{run_id}/weights/{name}" for name in ("one", "two")]
    ours, official = pair.both(["--format", "json", "checkpoint", "delete", *gone, "-y"])
    mine, theirs = json.loads(ours.stdout), json.loads(official.stdout)
    check("delete: all fail", (ours.returncode, official.returncode), (1, 0))
    check("delete: keys of a failure", keys_of(mine), keys_of(theirs))
    check("delete: count", mine["deleted_count"], theirs["deleted_count"])


def main():
    parser = argparse.ArgumentParser()
    for option in ("--ours", "--official", "--run", "--work"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    pair, work = Pair(options), Path(options.work)
    reads(pair, options.run)
    changes(pair, options.run)
    failing(pair, options.run)
    billing(pair, work)
    download(pair, options.run, work)
    delete(pair, options.run)
    if failures == 0:
        print(f"tinkc and the official CLI agree: {checks} comparisons")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
