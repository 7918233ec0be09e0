#!/usr/bin/env python3
"""CPU of a sample's round trip through the official Python SDK and through ours.

Both talk to the scripted peer (build/bench/peer), a separate process; each runs in a
separate process too, whose CPU time (user and system, all threads) counts from after
its first samples to its end. 8 samples are in flight on both sides. The SDK is installed
from PyPI into a directory of build/sdk-venv; where that fails one line on stderr says so.
"""
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = "0.36.0"  # the newest that `make interop` runs
VENV = ROOT / "build" / "sdk-venv" / VERSION
SDK = f"tinker=={VERSION}"
BAR = 10
ROUNDS = 3
SAMPLES = {"sdk": 400, "ours": 4000}

SDK_LOOP = """
import sys, time
from collections import deque
import tinker
from tinker import types
url, total, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
service = tinker.ServiceClient(base_url=url, api_key="tml-bench")
sampler = service.create_sampling_client(base_model="m")
prompt = types.ModelInput.from_ints([1000 + 17 * i for i in range(512)])
params = types.SamplingParams(max_tokens=64)
def run(n):
    window = deque()
    for _ in range(n):
        if len(window) == width:
            assert len(window.popleft().result().sequences[0].tokens) == 64
        window.append(sampler.sample(prompt, 1, params))
    while window:
        window.popleft().result()
run(40)
start = time.process_time()
run(total)
print((time.process_time() - start) / total * 1e6)
"""


def install():
    python = VENV / "bin" / "python"
    shown = [str(python), "-c", "import tinker; print(tinker.__version__)"]
    if python.exists():
        said = subprocess.run(shown, capture_output=True, text=True)
        if said.stdout.strip() == VERSION:
            return python
    for command in ([sys.executable, "-m", "venv", str(VENV)],
                    [str(python), "-m", "pip", "install", "-q", SDK]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"bench_sdk: left out, {SDK} does not install: "
                  f"{(done.stderr or done.stdout).strip()[-200:]}", file=sys.stderr)
            return None
    return python


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"bench_sdk: {command[0]} failed: {done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def main():
    python = install()
    if python is None:
        return 0
    peer = subprocess.Popen([ROOT / "build/bench/peer", "0", "1"], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    url = peer.stdout.readline().strip()
    commands = {
        "sdk": [str(python), "-c", SDK_LOOP, url, str(SAMPLES["sdk"]), "8"],
        "ours": [str(ROOT / "build/bench/bench_client"), url, str(SAMPLES["ours"])],
    }
    cost = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            cost[name].append(measure(command))
    peer.stdin.close()
    peer.wait()
    sdk, ours = (statistics.median(cost[name]) for name in ("sdk", "ours"))
    print(json.dumps({
        "name": "client.sample_vs_python_sdk", "ratio": sdk / ours, "bar": BAR,
        "ok": sdk / ours >= BAR,
        "detail": f"{ours:.1f} us of CPU per sample with 8 in flight, {SDK} {sdk:.0f} us "
                  f"(python {sys.version.split()[0]})"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
