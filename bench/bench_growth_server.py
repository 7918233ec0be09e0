#!/usr/bin/python3
"""How the server's cost of a request grows: CPU time of `tinkc serve` per heartbeat and per sample
at 1, 10 and 100 times as many, over one connection; the samples are all in flight together."""
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.67  # at 100 times at most 1.5 times the cost of one


class Server:
    def __init__(self, data):
        build = os.environ.get("TINKC_BUILD_DIR", str(ROOT / "build"))
        self.process = subprocess.Popen([f"{build}/tinkc", "serve", "--port", "0", "--data", data, "--threads", "1"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def connect(self):
        found = None
        for line in self.process.stdout:
            found = re.search(r"listening on http://[^:]+:(\d+)", line)
            if found:
                break
        if not found:
            raise SystemExit("bench_growth_server: tinkc serve does not start")
        self.connection = http.client.HTTPConnection("127.0.0.1", int(found[1]))

    def post(self, path, body):
        self.connection.request("POST", "/api/v1/" + path, json.dumps(body),
                                {"Content-Type": "application/json", "X-API-Key": "tml-x"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"bench_growth_server: {path}: {answer.status} {text[:200]}")
        return text

    def cpu(self):
        """Seconds so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9 if fields else 0

    def end(self):
        self.process.terminate()
        self.process.wait()


def heartbeats(server, session, n):
    for _ in range(n):
        server.post("session_heartbeat", {"session_id": session})


def samples(server, sampler, n, first):
    ids = []
    for i in range(n):
        body = {"sampling_session_id": sampler, "seq_id": first + i,
                "prompt": {"chunks": [{"tokens": [5, 17, 9 + (first + i) % 1000], "type": "encoded_text"}]},
                "sampling_params": {"max_tokens": 1, "stop": []}}
        ids.append(json.loads(server.post("asample", body))["request_id"])
    for one in ids:
        while b"try_again" in server.post("retrieve_future", {"request_id": one}):
            pass


def say(name, unit, costs):
    ratio = costs[0] / costs[2]
    print(json.dumps({"name": f"growth: {name}", "ratio": ratio, "bar": BAR, "ok": ratio >= BAR,
                      "detail": "1x {:9.2f}, 10x {:9.2f}, 100x {:9.2f} us of CPU per ".format(*costs) + unit}), flush=True)


def measure(server, counts, work):
    costs = []
    for n in counts:
        before = server.cpu()
        work(n)
        costs.append((server.cpu() - before) / n * 1e6)
    return costs


def main():
    with tempfile.TemporaryDirectory() as data:
        server = Server(data)
        try:
            server.connect()
            session = json.loads(server.post("create_session", {"tags": [], "sdk_version": "bench"}))["session_id"]
            heartbeats(server, session, 200)
            say("server, more heartbeats", "request",
                measure(server, (100, 1000, 10000), lambda n: heartbeats(server, session, n)))
            sampler = json.loads(server.post("create_sampling_session", {
                "session_id": session, "sampling_session_seq_id": 0,
                "base_model": "tinkc/pebble-llama-2m"}))["sampling_session_id"]
            next_id = [0]

            def some(n):
                samples(server, sampler, n, next_id[0])
                next_id[0] += n
            some(100)
            say("server, more samples in flight", "sample", measure(server, (20, 200, 2000), some))
        finally:
            server.end()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
