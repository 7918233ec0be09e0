#!/usr/bin/python3
"""`tinkc rl` with and without --overlap: wall time of a step. The environments wait a second for something
else than the model (a tool, a simulator), and the conversations are long, so that neither sampling nor
training is free. The first step is left out: it has nothing to overlap with. Then the
CPU time of the program for each episode, with a process and with --match.
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TINKC_BUILD_DIR", ROOT / "build")).resolve()
TASKS = ROOT / "examples/data/sums.jsonl"
STEPS, BATCH, GROUP = 6, 4, 4


def say(name, ratio, detail):
    print(json.dumps({"name": name, "ratio": ratio, "bar": None, "ok": True, "detail": detail}), flush=True)


def run(folder, name, url, *options):
    """Runs it; returns the rows of its metrics and the CPU seconds of it and its agents."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([BUILD / "tinkc", "rl", "--base-url", url, "--tasks", TASKS, "--out", name, "--steps", str(STEPS),
                           "--batch", str(BATCH), "--group", str(GROUP), "--scale", "--lr", "1e-4", "--concurrency",
                           str(BATCH * GROUP), "--save-every", "0", "--max-tokens", "16", *options],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = [json.loads(line) for line in (pathlib.Path(folder) / name / "metrics.jsonl").read_text().splitlines()]
    return rows, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    agent = BUILD / "examples/rl/agent"
    # the reward is random, by the seed of the episode: groups differ, so that every step is trained
    text = " ".join(["The dog likes the red ball."] * 60)
    slow = (f"read task; echo '{{\"observation\":\"{text}\"}}'; read action; sleep 1; "
            "echo '{\"done\":true,\"reward\":0.'$TINKC_SEED'}'")
    with tempfile.TemporaryDirectory(prefix="bench-rl-") as folder:
        server = subprocess.Popen([BUILD / "tinkc", "serve", "--port", "0", "--data", f"{folder}/data"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = server.stdout.readline().split()[-1]
            seconds = {}
            for name, more in (("apart", []), ("overlapped", ["--overlap"])):
                rows, _ = run(folder, name, url, "--env", slow, *more)
                seconds[name] = statistics.median(row["seconds"] for row in rows[1:])
                roll = statistics.median(row["rollout/seconds"] for row in rows[1:])
                lags = sorted({row["lag"] for row in rows[1:]})
                say(f"rl step, {name}", 1.0, f"{seconds[name]:.2f} s, of which episodes {roll:.2f} s; "
                    f"lag {lags[0]:.0f} to {lags[-1]:.0f}")
            say("rl step, overlapped against apart", seconds["apart"] / seconds["overlapped"], "wall time of a step")
            episodes = STEPS * BATCH * GROUP
            _, process = run(folder, "process", url, "--agent", f"exec '{agent}'")
            _, match = run(folder, "match", url, "--match", "exact")
            say("rl episode, --match against a process", process / match,
                f"{match / episodes * 1e3:.2f} and {process / episodes * 1e3:.2f} ms of CPU time, training too")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
