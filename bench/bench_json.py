#!/usr/bin/python3
"""Our JSON against Python's json: token ids and logprobs, reading and writing.

Drives build/bench/bench_json --steps, so that repetitions of both sides alternate. CPU
time on both sides. Prints one JSON object per line, as every benchmark does.
"""
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import time

REPETITIONS = 15
ROOT = pathlib.Path(__file__).resolve().parent.parent


def data_sets():
    """Name -> list: ids as a tokenizer with 151,643 entries has them, logprobs as f32."""
    rng = random.Random(42)
    ids = [rng.randrange(151643) for _ in range(32768)]
    raw = struct.pack("<32768f", *(-rng.expovariate(1.0) for _ in range(32768)))
    return {"ids": ids, "logprobs": list(struct.unpack("<32768f", raw))}


def cpu_ns(work):
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


class Ours:
    """The C program, asked for one repetition at a time."""

    def __init__(self):
        build = os.environ.get("TINKC_BUILD_DIR", str(ROOT / "build"))
        self.process = subprocess.Popen(
            [f"{build}/bench/bench_json", "--steps"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, what, path):
        """(CPU nanoseconds, bytes written)"""
        self.process.stdin.write(f"{what} {path}\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def race(ours, name, what, path, work, bar):
    ours.step(what, path)
    work()
    mine, theirs = [], []
    for _ in range(REPETITIONS):
        mine.append(ours.step(what, path)[0])
        theirs.append(cpu_ns(work))
    a, b = statistics.median(mine), statistics.median(theirs)
    size = path.stat().st_size
    detail = f"{size / 1e3:.0f} KB: ours {size / a * 1e3:.0f} MB/s, Python {size / b * 1e3:.0f} MB/s"
    if what == "write_floats":
        detail += f" (of its {size / 1e3:.0f} KB; ours wrote {ours.step(what, path)[1] / 1e3:.0f} KB)"
    print(json.dumps({"name": name, "ratio": b / a, "bar": bar, "ok": b / a >= bar,
                      "detail": detail}), flush=True)


def main():
    ours = Ours()
    with tempfile.TemporaryDirectory() as directory:
        rows = {
            "ids": [("parse token ids", "parse", 5), ("write token ids", "write_ids", 5)],
            "logprobs": [("parse logprobs", "parse", 1),
                         ("write logprobs as doubles", "write_doubles", 1),
                         ("write logprobs as floats", "write_floats", 1)],
        }
        for key, values in data_sets().items():
            text = json.dumps(values, separators=(",", ":"))
            path = pathlib.Path(directory) / key
            path.write_text(text)
            for name, what, bar in rows[key]:
                work = ((lambda text=text: json.loads(text)) if what == "parse" else
                        (lambda values=values: json.dumps(values, separators=(",", ":"))))
                race(ours, f"json: {name}, against Python", what, path, work, bar)
    return ours.close()


if __name__ == "__main__":
    raise SystemExit(main())
