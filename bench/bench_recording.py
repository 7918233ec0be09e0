#!/usr/bin/python3
"""`tinkc serve` with and without recording for the console: CPU time of the server for training steps and for sampled
tokens, the same work at two servers in turn. A bar of 0.99 for each: recording costs at most 1 %.

The model is the embedded one, of a million parameters: its tokens are cheap, so that what recording costs is the largest
share of them; 64 sequences of one request are the cheapest of all. Each round ends when what it
did is written: the recorder writes four times in a second, and its thread's time counts.
"""
import http.client
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
STEPS, TOKENS = 40, 100
WRITTEN_S = 0.3  # after which everything is written
BAR = 0.99


def blur(rounds):
    """How much two halves of the same rounds differ."""
    one, other = min(rounds[::2]), min(rounds[1::2])
    return abs(one - other) / min(one, other)


def say(name, off, on, unit, n, recorder):
    """`off` and `on`: CPU seconds of each round, for `n` units. The least counts: neighbours take caches, and never give time.
    A machine on which a server differs from itself by more than what is to be seen cannot judge the ratio; what the
    recorder's thread took (`recorder`: seconds in all, pieces) is judged all the same."""
    share, each = recorder[0] / sum(on), recorder[0] / len(on) / recorder[1] * 1e6
    ratio, unsure = min(off) / min(on), max(blur(off), blur(on))
    row = {"name": name, "ratio": ratio, "bar": BAR, "ok": ratio >= BAR and share <= 1 - BAR,
           "detail": f"{n / min(off):,.0f} {unit} per CPU second without, {n / min(on):,.0f} with, best of {len(on)}; the recorder's "
                     f"thread: {each:.1f} us per {'step' if unit == 'steps' else 'sample'}, {share * 100:.2f} % of all"}
    if unsure > 1 - BAR and share <= 1 - BAR:
        row["unjudged"] = f"two halves of the same rounds differ by {unsure * 100:.1f} %"
        row["ok"], row["detail"] = True, f"NOT JUDGED: {row['unjudged']}; {row['detail']}"
    print(json.dumps(row), flush=True)


class Server:
    """A server of its own; `cpu` is what it has used."""

    def __init__(self, folder, name, *options):
        self.folder = folder
        self.records = "--no-recording" not in options
        self.runs = self.asked = 0
        self.process = subprocess.Popen([BUILD / "tinkc", "serve", "--port", "0", "--threads", "1", "--data",
                                         f"{folder}/{name}", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url = self.connection = self.sampler = None

    def connect(self):
        said = self.process.stdout.readline().split()
        if not said:
            sys.exit("bench_recording: tinkc serve does not start")
        self.url = said[-1]
        self.dial()
        session = self.post("create_session", {"tags": [], "sdk_version": "bench"})["session_id"]
        self.sampler = self.post("create_sampling_session", {"session_id": session, "sampling_session_seq_id": 0,
                                                             "base_model": MODEL})["sampling_session_id"]

    def dial(self):
        """The server closes a connection on which nothing comes for a while."""
        self.connection = http.client.HTTPConnection(self.url.split("/")[-1], timeout=120)

    def post(self, path, body):
        self.connection.request("POST", "/api/v1/" + path, json.dumps(body),
                                {"Content-Type": "application/json", "X-API-Key": "tml-x"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f"bench_recording: {path}: {answer.status} {text[:200]}")
        return json.loads(text)

    def cpu(self):
        return time.clock_gettime((~self.process.pid << 3) | 2)  # CLOCK_PROCESS_CPUTIME_ID of that process

    def recorder(self):
        """CPU seconds of the thread that records; 0 where nothing is recorded."""
        if not self.records:
            return 0.0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "tinkc-record":
                return int((task / "schedstat").read_text().split()[0]) / 1e9
        sys.exit("bench_recording: the server has no thread tinkc-record")

    def train(self):
        """Returns how many steps."""
        self.runs += 1
        done = subprocess.run([BUILD / "tinkc", "train", str(DATA), "-m", MODEL, "--steps", str(STEPS), "--batch", "8", "--seed", "1",
                               "--save-every", "0", "--save", f"bench-{self.runs}", "--state", f"{self.process.pid}-{self.runs}.json",
                               "--base-url", self.url], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return STEPS

    def ask(self, i, sequences):
        self.asked += 1
        return self.post("asample", {
            "sampling_session_id": self.sampler, "seq_id": self.asked, "num_samples": sequences,
            "prompt": {"chunks": [{"tokens": [5, 17, 9 + i], "type": "encoded_text"}]},
            "sampling_params": {"max_tokens": TOKENS, "stop": [], "seed": i}})["request_id"]

    def wait(self, request):
        """Returns how many tokens."""
        while "sequences" not in (answer := self.post("retrieve_future", {"request_id": request})):
            if "error" in answer:
                sys.exit(f"bench_recording: {answer}")
        return sum(len(s["tokens"]) for s in answer["sequences"])

    def sample(self, requests, sequences):
        """Returns how many tokens. One request at a time: how many the engine takes together would depend on the moment when they come."""
        self.dial()
        return sum(self.wait(self.ask(i, sequences)) for i in range(requests))

    def end(self):
        self.process.terminate()
        self.process.wait()


# with the rounds and the pieces of each
WORK = (("training, recorded against not", "steps", 11, STEPS, lambda s: s.train()),
        ("decode of 64 sequences each, recorded against not", "tokens", 15, 4 * 64, lambda s: s.sample(4, 64)),
        ("decode of single sequences, recorded against not", "tokens", 15, 80, lambda s: s.sample(80, 1)))


def main():
    with tempfile.TemporaryDirectory(prefix="bench-recording-") as folder:
        servers = []
        try:
            servers.append(Server(folder, "off", "--no-recording"))
            servers.append(Server(folder, "on"))
            for server in servers:
                server.connect()
            for name, unit, rounds, pieces, work in WORK:
                spent, done, recorder = ([], []), set(), 0.0
                for i in range(rounds + 1):
                    for k in (0, 1) if i % 2 == 0 else (1, 0):
                        before, recorded = servers[k].cpu(), servers[k].recorder()
                        n = work(servers[k])
                        time.sleep(WRITTEN_S)
                        if i > 0:  # the first one reads the weights
                            spent[k].append(servers[k].cpu() - before)
                            done.add(n)
                            recorder += servers[k].recorder() - recorded
                if len(done) != 1:
                    sys.exit(f"bench_recording: {name}: the servers did not do the same: {done}")
                say(name, *spent, unit, done.pop(), (recorder, pieces))
        finally:
            for server in servers:
                server.end()


if __name__ == "__main__":
    main()
