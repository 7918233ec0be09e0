#!/usr/bin/python3
"""`tinkc serve` with and without recording for the console: CPU time of the server for a training step and for a
sampled token, the same work at two servers in turn. Recording costs less than 1 % of a training step: a bar of 0.99.
Samples have none: their text is written down, and what computing a token costs depends on the model.
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
DATA = ROOT / "examples/data/bookings.jsonl"
MODEL = "tinkc/pebble-llama-2m"
ROUNDS, STEPS, SAMPLES, TOKENS = 11, 40, 64, 100
BAR = 0.99


def say(name, bar, off, on):
    """`off` and `on`: CPU seconds of each round. The least counts: neighbours take caches, and never give time."""
    ratio = min(off) / min(on)
    print(json.dumps({"name": name, "ratio": ratio, "bar": bar, "ok": bar is None or ratio >= bar,
                      "detail": f"{min(off):.3f} s of CPU without, {min(on):.3f} s with, least of {len(on)}"}), flush=True)


class Server:
    """A server of its own; `cpu` is what it has used."""

    def __init__(self, folder, name, *options):
        self.folder = folder
        self.runs = 0
        self.process = subprocess.Popen([BUILD / "tinkc", "serve", "--port", "0", "--threads", "1", "--data",
                                         f"{folder}/{name}", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = None

    def connect(self):
        said = self.process.stdout.readline().split()
        if not said:
            sys.exit("bench_recording: tinkc serve does not start")
        self.url = said[-1]

    def cpu(self):
        return time.clock_gettime((~self.process.pid << 3) | 2)  # CLOCK_PROCESS_CPUTIME_ID of that process

    def run(self, *command):
        """Returns the server's CPU seconds for a command of the program."""
        before = self.cpu()
        done = subprocess.run([BUILD / "tinkc", *command, "--base-url", self.url], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return self.cpu() - before

    def train(self):
        self.runs += 1
        return self.run("train", str(DATA), "-m", MODEL, "--steps", str(STEPS), "--batch", "8", "--seed", "1",
                        "--save-every", "0", "--save", f"{self.folder.rsplit('/', 1)[1]}-{self.process.pid}-{self.runs}")

    def sample(self):
        return self.run("sample", "-m", MODEL, "-n", str(SAMPLES), "--max-tokens", str(TOKENS), "--seed", "1", "One day")

    def end(self):
        self.process.terminate()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="bench-recording-") as folder:
        servers = []
        try:
            servers.append(Server(folder, "off", "--no-recording"))
            servers.append(Server(folder, "on"))
            for server in servers:
                server.connect()
            for name, bar, work in (("training, recorded against not", BAR, Server.train),
                                    ("samples, recorded against not", None, Server.sample)):
                spent = [], []
                for i in range(ROUNDS + 1):
                    order = (0, 1) if i % 2 == 0 else (1, 0)
                    for k in order:
                        seconds = work(servers[k])
                        if i > 0:  # the first one reads the weights
                            spent[k].append(seconds)
                say(name, bar, *spent)
        finally:
            for server in servers:
                server.end()


if __name__ == "__main__":
    main()
