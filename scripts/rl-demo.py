#!/usr/bin/env python3
"""`tinkc rl` with agents in three languages, three seeds each, on the embedded model: the reward on
held-out tasks before and after, and the curves. Exits with 1 unless it rises every time.

    scripts/rl-demo.py [AGENT]...      AGENT: sh, c, python (default: all)

TINKC_BUILD_DIR names the build (default: build). About a minute for each run of sh and c, and three for Python.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TINKC_BUILD_DIR", ROOT / "build")).resolve()
SEEDS = 1, 2, 3
AGENTS = {
    "sh": str(ROOT / "examples/rl/agent.sh"),
    "c": str(BUILD / "examples/rl/agent"),
    "python": f"python3 {ROOT / 'examples/rl/agent.py'}",
}
OPTIONS = "--steps 25 --batch 16 --group 8 --eval-group 8 --eval-every 5 --scale --lr 3e-3".split()


def run(folder, agent, seed):
    """One run in a folder of its own; returns its summary, the seconds, and the curve."""
    data = ROOT / "examples/data"
    words = [BUILD / "tinkc", "rl", "--local", "--tasks", data / "sums.jsonl", "--eval", data / "sums-held-out.jsonl",
             "--agent", AGENTS[agent], "--seed", str(seed), "--out", f"{agent}-{seed}", *OPTIONS]
    start = time.monotonic()
    done = subprocess.run(words, cwd=folder, env={**os.environ, "XDG_DATA_HOME": folder}, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{agent}, seed {seed}: {done.stderr}")
    lines = (pathlib.Path(folder) / f"{agent}-{seed}/metrics.jsonl").read_text().splitlines()
    held_out = [row["eval/reward"] for row in map(json.loads, lines) if "eval/reward" in row]
    curve = [line for line in done.stdout.splitlines() if "|" in line or "+--" in line or "step " in line]
    return held_out, time.monotonic() - start, curve


def main():
    names = sys.argv[1:] or list(AGENTS)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tinkc-rl-") as folder:
        for agent in names:
            for seed in SEEDS:
                held_out, seconds, curve = run(folder, agent, seed)
                rises = held_out[-1] > held_out[0]
                failed += not rises
                print(f"{agent:7} seed {seed}  held-out reward {held_out[0]:.3f} -> {held_out[-1]:.3f}"
                      f"  {'rises' if rises else 'DOES NOT RISE'}  {seconds:.0f} s", flush=True)
                print("\n".join(curve), flush=True)
    print(f"{len(names) * len(SEEDS) - failed} of {len(names) * len(SEEDS)} rise")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
