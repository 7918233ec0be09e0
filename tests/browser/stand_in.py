"""A server in Python that plays the contract of docs/internals/console.md with made data.

It answers what the page asks for, and the page's own files with the headers of the program. Tests
hold the object and make things happen (`step`, `sample`, `episode`); what the page changed is in
`deeds`. With a key it wants the cookie and, with it, X-Tinkc-Console, as the program does.
Threads: one for each connection; `lock` guards everything that they share.
"""
import json
import math
import queue
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import hostile

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
MODEL = "tinkc/pebble-llama-2m"
LONG = 100_000  # steps of the longest run
CONSOLE = "/tinkc/v1/console/"


def loss_at(step, rate=40.0, floor=0.9):
    return floor + 3.2 * math.exp(-step / rate) + 0.06 * math.sin(step * 12.9898) * math.cos(step * 7.233)


class Run:
    """A training run: its facts, and metrics as functions of the step."""

    def __init__(self, number, name, steps, now, metrics, **more):
        self.id = f"{number:08x}-7d3c-4a57-9e21-5b1f0c2a9d10:train:0"
        self.name, self.steps, self.metrics = name, steps, metrics
        self.last = now - number * 3_600_000
        self.more = {"model": MODEL, "rank": 32, "state": "ended", "metadata": {}, **more}
        self.checkpoints, self.extra = [], {}

    def time_at(self, step):
        return self.last - (self.steps - step) * 420

    def value(self, name, step):
        return self.extra.get((name, step), self.metrics[name](step))

    def has(self, name, step):
        return name != "eval_loss" or step % 20 == 0

    def row(self):
        pick = [self.steps * (i + 1) // 64 for i in range(64)] if self.steps >= 64 else range(1, self.steps + 1)
        has_loss = "loss" in self.metrics and self.steps > 0
        return {"id": self.id, "name": self.name, "session": self.id.split(":")[0], "step": self.steps,
                "created_ms": self.time_at(0), "updated_ms": self.last, "tokens": self.steps * 512,
                "loss": self.value("loss", self.steps) if has_loss else None,
                "spark": [self.value("loss", s) for s in pick] if has_loss else [], **self.more}

    def detail(self):
        found = []
        for name in self.metrics if self.steps else []:
            steps = [s for s in range(1, self.steps + 1, max(1, self.steps // 400)) if self.has(name, s)]
            values = [self.value(name, s) for s in steps] or [0.0]
            found.append({"name": name, "n": self.steps, "last": values[-1], "min": min(values),
                          "max": max(values), "first_step": 1, "last_step": self.steps})
        return {**self.row(), "metrics": found, "checkpoints": self.checkpoints, "actions": True}

    def series(self, name, low, high, points, by):
        steps = [s for s in range(1, self.steps + 1) if self.has(name, s)]
        unit = {"step": lambda s: s, "tokens": lambda s: s * 512, "time": self.time_at}[by]
        steps = [s for s in steps if low <= unit(s) <= high]
        size = max(1, math.ceil(len(steps) / points))
        out = {"name": name, "total": self.steps, "decimated": size > 1}
        for key in ("step", "time_ms", "tokens", "min", "max", "mean", "n"):
            out[key] = []
        for i in range(0, len(steps), size):
            part = steps[i:i + size]
            values = [self.value(name, s) for s in part]
            for key, value in (("step", part[-1]), ("time_ms", self.time_at(part[-1])), ("tokens", part[-1] * 512),
                               ("min", min(values)), ("max", max(values)), ("mean", sum(values) / len(values)), ("n", len(values))):
                out[key].append(value)
        return out


def training_metrics(rate, floor):
    return {"loss": lambda s: loss_at(s, rate, floor), "eval_loss": lambda s: loss_at(s, rate, floor) + 0.08,
            "epoch": lambda s: s / 60, "grad_norm": lambda s: 0.4 + 2 * math.exp(-s / 30) + 0.1 * math.sin(s),
            "lr": lambda s: 1e-4 * min(1, s / 10), "seconds": lambda s: 0.42 + 0.02 * math.sin(s),
            "seconds/forward_backward": lambda s: 0.27, "seconds/optim_step": lambda s: 0.05, "tokens": lambda s: 512}


def reward_metrics():
    return {"reward/mean": lambda s: 0.9 - 0.8 * math.exp(-s / 25) + 0.04 * math.sin(3 * s), "loss": lambda s: 0.1 * math.sin(s / 3),
            "gap/kl": lambda s: 1e-4 * (1 + math.sin(s)), "lr": lambda s: 4e-5, "ppo_kl_div:mean": lambda s: 0.002 * math.sin(s)}


def checkpoints_of(run, now):
    path = f"tinker://{run.id}/"
    return [{"path": path + "sampler_weights/final", "id": "sampler_weights/final", "kind": "sampler", "created_ms": now - 30_000,
             "expires_ms": None, "size_bytes": 1_048_576, "public": False, "step": run.steps},
            {"path": path + "weights/final", "id": "weights/final", "kind": "training", "created_ms": now - 40_000,
             "expires_ms": None, "size_bytes": 3_145_728, "public": False, "step": run.steps},
            {"path": path + "weights/step-100", "id": "weights/step-100", "kind": "training", "created_ms": now - 90_000,
             "expires_ms": now + 86_400_000, "size_bytes": 3_145_728, "public": True, "step": 100}]


WORDS = ("The lamp in the window was still burning when Ella came home , and she left it so .").split(" ")


def sample_of(number, now, text=None, pieces=None, **more):
    pieces = pieces or [(" " if i else "") + w for i, w in enumerate(WORDS[:6 + number % 12])]
    prompt = ["<|user|>", "Write", " a", " line", " about", " a", " lamp", ".", "<|assistant|>"]
    logprobs = [None if i == 3 and number % 5 == 0 else -abs(math.sin(number * 3 + i * 1.7)) ** 3 * 4.5 for i in range(len(pieces))]
    known = [v for v in logprobs if v is not None]
    joined = "".join(pieces) if text is None else text
    return {"id": number, "group": number - number % 4, "time_ms": now - (900 - number) * 9_000, "model": MODEL, "run": None, "path": None,
            "sampler": "s1", "stop": "stop" if number % 3 else "length", "prompt_tokens": len(prompt), "tokens": len(pieces),
            "mean_logprob": sum(known) / max(1, len(known)), "text": joined[:200],
            "prompt": {"ids": list(range(2, 2 + len(prompt))), "text": prompt},
            "output": {"ids": [100 + i for i in range(len(pieces))], "text": pieces, "logprobs": logprobs}, **more}


def episode_of(number, now):
    """A small episode; every third one has a tool call, every fifth a branch."""
    turns, tokens, mask, logprobs = [], [], [], []
    for t in range(1 + number % 3):
        branch = t == 2 and number % 5 == 0
        message = {"role": "assistant", "content": f"I look at file {t} and add the numbers in it."}
        if number % 3 == 0 and t == 0:
            message["reasoning_content"] = "The task says which file to read; a tool does that."
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "numbers.txt"}'}}]
        turns.append({"turn": t, "parent": t - 1, "origin": "first" if t == 0 else "branch" if branch else "continued",
                      "why": "the agent changed its first message" if branch else None, "time_ms": now - number * 60_000 + t * 900, "model": MODEL,
                      "weights": MODEL, "prompt_tokens": 12 + 9 * t, "sampled_tokens": 8, "finish": "stop",
                      "reward": None, "params": {"max_tokens": 64}, "message": message, "metadata": None})
        tokens += [10 + i for i in range(12)] + [200 + i for i in range(8)]
        mask += [0] * 12 + [1] * 8
        logprobs += [0.0] * 12 + [-abs(math.sin(number + i)) * 2 for i in range(8)]
    reward = round(math.sin(number * 1.3) * 0.5 + 0.5, 2) if number % 7 else None
    return {"id": f"task-{number:02d}", "reward": reward, "metadata": {"split": "train"}, "turns": turns,
            "sequences": [{"tokens": tokens, "mask": mask, "logprobs": logprobs, "fresh": 0, "turns": [t["turn"] for t in turns],
                           "weights": [MODEL], "reward": reward}], "used_ms": now - number * 60_000}


class Data:
    """Everything that the page can show."""

    def __init__(self):
        self.lock = threading.Lock()
        now = self.started = int(time.time() * 1000)
        demo = Run(0, "demo", 120, now, training_metrics(30, 0.9), state="training", metadata={"data": "chats.jsonl", "seed": "1"})
        demo.checkpoints = checkpoints_of(demo, now)
        second = Run(1, "demo, twice the rate", 120, now, training_metrics(18, 1.02), state="idle", rank=16)
        reward = Run(2, "agent: add the numbers", 60, now, reward_metrics())
        long = Run(3, "a long one", LONG, now, training_metrics(9000, 1.1))
        bad = Run(4, hostile.NAME, 12, now, training_metrics(5, 1), model=hostile.SCRIPT, metadata={hostile.SCRIPT: hostile.RTL, "terminal": hostile.TERMINAL})
        self.runs = [demo, second, reward, long, bad, Run(5, "nothing yet", 0, now, {})]
        self.runs += [Run(6 + i, f"sweep {i}", 40, now, training_metrics(10 + i, 1)) for i in range(60)]
        self.samples = {n: sample_of(n, now) for n in range(780, 901)}
        for n, pieces in hostile.samples(902):
            self.samples[n] = sample_of(n, now, pieces=pieces)
        self.samples[899]["run"], self.samples[899]["path"] = demo.id, demo.checkpoints[0]["path"]
        self.episodes = {e["id"]: e for e in (episode_of(n, now) for n in range(1, 41))}
        self.deeds, self.readers, self.events, self.serial = [], [], [], 0
        self.key, self.cookie, self.codes, self.recording, self.hold = None, "", set(), True, None
        self.boot = f"{now:x}"

    def empty(self):
        """As after the first start."""
        self.runs, self.samples, self.episodes = [], {}, {}
        return self

    def tell(self, name, data):
        with self.lock:
            self.serial += 1
            self.events.append((self.serial, name, data))
            for reader in self.readers:
                reader.put((self.serial, name, data))

    def step(self, run, value, count=1):
        """The run makes steps, with that loss; as the program, tells each."""
        for _ in range(count):
            with self.lock:
                run.steps += 1
                run.last += 420
                run.extra[("loss", run.steps)] = value
                metrics = {n: run.value(n, run.steps) for n in run.metrics if run.has(n, run.steps)}
            self.tell("step", {"run": run.id, "step": run.steps, "time_ms": run.last, "tokens": run.steps * 512, "metrics": metrics})

    def sample(self, number, **more):
        now = int(time.time() * 1000)
        self.samples[number] = sample_of(number, now, **more)
        self.tell("sample", {"id": number, "n": 1, "run": None, "model": MODEL})

    def drop_readers(self):
        with self.lock:
            for reader in self.readers:
                reader.put(None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def data(self):
        return self.server.data

    # ---- answers ----

    def reply(self, status, body=b"", kind="application/json", headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fail(self, status, text):
        self.reply(status, {"detail": text})

    def page(self, name):
        path = self.server.folder / name
        if not re.fullmatch(r"[\w-]+\.(html|css|js|svg)", name) or not path.is_file():
            self.fail(404, "the console has no such file")
            return
        self.reply(200, path.read_bytes(), TYPES[path.suffix], (
            ("Content-Security-Policy", POLICY), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-cache")))

    # ---- who may ask ----

    def is_allowed(self, path):
        if not self.data.key or path in ("/", CONSOLE + "session", CONSOLE + "login") or path.startswith("/console/"):
            return True
        cookies = self.headers.get("Cookie", "")
        if not self.data.cookie or "tinkc=" + self.data.cookie not in cookies:
            self.fail(401, "log in")
            return False
        if self.command not in ("GET", "HEAD") and self.headers.get("X-Tinkc-Console") != "1":
            self.fail(403, "X-Tinkc-Console is missing")
            return False
        return True

    def session(self):
        login = "none"
        if self.data.key:
            good = self.data.cookie and "tinkc=" + self.data.cookie in self.headers.get("Cookie", "")
            login = "done" if good else "needed"
        self.reply(200, {"login": login, "version": "0.1.0", "kind": "serve"})

    def login(self, body):
        good = body.get("key") == self.data.key or body.get("code") in self.data.codes
        if not good:
            self.fail(401, "wrong")
            return
        self.data.codes.discard(body.get("code"))
        self.data.cookie = "c" + str(time.monotonic_ns())
        self.reply(204, headers=(("Set-Cookie", f"tinkc={self.data.cookie}; HttpOnly; SameSite=Strict; Path=/"),))

    def logout(self, _body):
        self.data.cookie = ""
        self.reply(204, headers=(("Set-Cookie", "tinkc=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"),))

    # ---- lists ----

    def runs(self, q):
        text = q.get("search", "").lower()
        found = [r for r in self.data.runs if text in r.name.lower()]
        at, n = int(q.get("offset", 0)), int(q.get("limit", 50))
        self.reply(200, {"runs": [r.row() for r in found[at:at + n]], "total": len(found)})

    def run(self, name):
        for run in self.data.runs:
            if run.id == name:
                return run
        return None

    def one_run(self, name, rest, q):
        run = self.run(name)
        if not run:
            self.fail(404, "there is no such run")
        elif rest == "series":
            low, high = float(q.get("from", "-inf")), float(q.get("to", "inf"))
            names = [n for n in q.get("metric", "loss").split(",") if n in run.metrics]
            by = q.get("by", "step")
            self.reply(200, {"run": run.id, "by": by, "last_step": run.steps,
                             "series": [run.series(n, low, high, int(q.get("points", 1000)), by) for n in names]})
        else:
            self.reply(200, run.detail())

    def list_samples(self, q):
        rows = sorted(self.data.samples.values(), key=lambda s: -s["id"])
        if "group" in q:
            rows = [s for s in rows if s["group"] == int(q["group"])]
        text, n = q.get("search", ""), int(q.get("limit", 50))
        rows = [s for s in rows if text in s["text"] and s["id"] < float(q.get("before", "inf"))]
        shown = [{k: v for k, v in s.items() if k not in ("prompt", "output")} for s in rows[:n]]
        self.reply(200, {"samples": shown, "more": len(rows) > n, "next": shown[-1]["id"] if shown else 0,
                         "recording": self.data.recording, "dropped": 0})

    def list_episodes(self, q):
        rows = sorted(self.data.episodes.values(), key=lambda e: -e["used_ms"])
        rewards = [e["reward"] for e in rows if e["reward"] is not None]
        bars = None
        if rewards:
            low, high, counts = min(rewards), max(rewards), [0] * 20
            for value in rewards:
                counts[min(19, int((value - low) / ((high - low) / 20 or 1)))] += 1
            bars = {"min": low, "max": high, "counts": counts}
        if "min" in q:
            rows = [e for e in rows if e["reward"] is not None and float(q["min"]) <= e["reward"] <= float(q["max"])]
        at, n = int(q.get("before", 0)), int(q.get("limit", 200))
        self.reply(200, {"episodes": [{"id": e["id"], "turns": len(e["turns"]), "used_ms": e["used_ms"], "reward": e["reward"]} for e in rows[at:at + n]],
                         "total": len(rows), "more": len(rows) > at + n, "histogram": bars})

    def server_state(self):
        now = int(time.time() * 1000)
        errors = [{"time_ms": now - 60_000, "text": "a client of session 1f2e sent no heartbeat for 90 s"},
                  {"time_ms": now - 700_000, "text": hostile.SCRIPT + hostile.TERMINAL}]
        if not self.data.runs:
            errors = []
        busy = bool(self.data.runs)
        self.reply(200, {
            "version": "0.1.0", "kind": "serve", "started_ms": self.data.started - 5_400_000, "now_ms": now,
            "memory": {"limit": 8_000_000_000, "used": 1_220_000_000, "peak": 2_000_000_000,
                       "parts": [{"name": "models", "used": 900_000_000}, {"name": "adapters", "used": 200_000_000}, {"name": "results", "used": 120_000_000}]},
            "engine": {"busy": 0.42 if busy else 0, "jobs": 120, "samples": 30, "trained_tokens": 51_200, "prompt_tokens": 900, "sampled_tokens": 4_000_123},
            "queue": {"jobs": 2 * busy, "samples": 1 * busy, "polls": 3 * busy, "items": [
                {"kind": "forward_backward", "model": self.data.runs[0].id, "seq": 12, "why": "active", "age_ms": 12},
                {"kind": "optim_step", "model": self.data.runs[0].id, "seq": 13, "why": "waits for requests with smaller seq_ids", "age_ms": 9},
                {"kind": "sample", "model": MODEL, "seq": None, "why": "the engine works for others", "age_ms": 1_234}] if busy else []},
            "sessions": [{"id": r.id.split(":")[0], "name": r.name, "age_ms": 3_600_000, "silent_ms": 910, "models": 1, "samplers": 0} for r in self.data.runs[:3]],
            "http": {"requests": 1_000_000, "active": 2, "connections": 3, "answers": {"2xx": 999_990, "4xx": 10, "5xx": 0}},
            "recording": {"samples": self.data.recording, "dropped": 0, "bytes": 40_960_000, "limit_bytes": 268_435_456, "keep_days": 30}, "errors": errors})

    # ---- what is sampled ----

    def stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            self.wfile.write(b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n")
            self.wfile.flush()

    def tokens_of(self, text):
        pieces = re.findall(r"\s*\S+", text) or [text]
        return [1000 + sum(p.encode()) % 900 for p in pieces], pieces

    def answer_pieces(self, most):
        pieces = (self.server.data.say or [(" " if i else "") + w for i, w in enumerate(WORDS)])[:most]
        return pieces, "stop" if len(pieces) < most else "length"

    def chat(self, body):
        pieces, end = self.answer_pieces(body.get("max_tokens") or 64)
        ids, _ = self.tokens_of(" ".join(m["content"] for m in body["messages"]))
        def events():
            yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}], "prompt_token_ids": ids}
            for i, piece in enumerate(pieces):
                if i == 2 and self.data.hold:
                    self.data.hold.wait(60)
                lp = -abs(math.sin(i * 1.7)) * 3
                yield {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None, "token_ids": [100 + i],
                                    "logprobs": {"content": [{"token": piece, "logprob": lp, "bytes": list(piece.encode()), "top_logprobs": []}]}}]}
            yield {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": end}]}
            yield b"[DONE]"
        self.data.deeds.append(("chat", body))
        self.stream(events())

    def completion(self, body):
        prompt = body["prompt"]
        ids = prompt if isinstance(prompt, list) else self.tokens_of(prompt)[0]
        if body.get("stream"):
            pieces, end = self.answer_pieces(body.get("max_tokens") or 16)
            self.data.deeds.append(("text", body))
            def events():
                for i, piece in enumerate(pieces):
                    yield {"choices": [{"index": 0, "text": piece, "finish_reason": None, "token_ids": [100 + i],
                                        "logprobs": {"tokens": [piece], "token_logprobs": [-0.1 * i], "text_offset": [i]}}]}
                yield {"choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": end}]}
                yield b"[DONE]"
            self.stream(events())
            return
        choice = {"index": 0, "text": "", "finish_reason": "length", "prompt_token_ids": ids}
        if body.get("prompt_logprobs") is not None:
            choice["prompt_logprobs"] = [None] + [
                {str(t): {"logprob": -0.7, "rank": 2, "decoded_token": f"t{t}"}, **{
                    str(5000 + k): {"logprob": -0.4 - k, "rank": k + 1, "decoded_token": w} for k, w in enumerate([" lamp", " door", hostile.SCRIPT][:body["prompt_logprobs"]])}}
                for t in ids[1:]]
        self.reply(200, {"object": "text_completion", "choices": [choice], "usage": {}})

    # ---- live ----

    def follow(self):
        data, mine = self.data, queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        boot, _, last = self.headers.get("Last-Event-ID", "").partition("-")
        with data.lock:
            missed = []
            if boot == data.boot:
                missed = [e for e in data.events if e[0] > int(last)]
            else:
                missed = [(data.serial, "reset" if boot else "hello", {} if boot else {"version": "0.1.0"})]
            data.readers.append(mine)
        try:
            for event in missed:
                self.put_event(event)
            while True:
                event = mine.get()
                if event is None:
                    return
                self.put_event(event)
        except OSError:
            pass  # the browser is gone
        finally:
            with data.lock:
                data.readers.remove(mine)

    def put_event(self, event):
        number, name, body = event
        text = f"retry: 200\nid: {self.data.boot}-{number}\nevent: {name}\ndata: {json.dumps(body)}\n\n"
        self.wfile.write(text.encode())
        self.wfile.flush()

    # ---- routes ----

    def checkpoint(self, path, body):
        found = re.fullmatch(r"/api/v1/training_runs/([^/]+)/checkpoints/(.+?)(/publish|/ttl|/archive)?", path)
        if not found:
            return False
        run, name, what = self.run(urllib.parse.unquote(found[1])), urllib.parse.unquote(found[2]), found[3] or ""
        mine = [c for c in run.checkpoints if c["id"] == name] if run else []
        if not mine:
            self.fail(404, "there is no such checkpoint")
            return True
        self.data.deeds.append((self.command + what, name))
        if what == "/publish":
            mine[0]["public"] = self.command == "POST"
        elif what == "/ttl":
            seconds = body["ttl_seconds"]
            mine[0]["expires_ms"] = None if seconds is None else int(time.time() * 1000) + seconds * 1000
        elif self.command == "DELETE":
            run.checkpoints.remove(mine[0])
        self.reply(200, {})
        return True

    def handle_one(self):
        url = urllib.parse.urlsplit(self.path)
        path, q = url.path, dict(urllib.parse.parse_qsl(url.query))
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else {}
        if not self.is_allowed(path):
            return
        with self.data.lock:
            self.data.asked.append((self.command, path))
        posts = {CONSOLE + "login": self.login, CONSOLE + "logout": self.logout, "/v1/chat/completions": self.chat, "/v1/completions": self.completion}
        gets = {CONSOLE + "session": self.session, CONSOLE + "server": self.server_state, CONSOLE + "events": self.follow}
        lists = {CONSOLE + "runs": self.runs, CONSOLE + "samples": self.list_samples, CONSOLE + "episodes": self.list_episodes}
        if self.command == "POST" and path in posts:
            posts[path](body)
        elif self.command == "GET" and path in gets:
            gets[path]()
        elif self.command == "GET" and path in lists:
            lists[path](q)
        elif path == "/":
            self.page("index.html")
        elif path.startswith("/console/"):
            self.page(path[len("/console/"):])
        elif not self.checkpoint(path, body) and not self.one(path, q, body):
            self.fail(404, "Not Found")

    def one(self, path, q, body):
        """Routes that name something."""
        parts = [urllib.parse.unquote(p) for p in path.split("/")[1:]]
        data = self.data
        if path.startswith(CONSOLE + "runs/"):
            self.one_run(parts[4], parts[5] if len(parts) > 5 else "", q)
        elif path == CONSOLE + "decode":
            self.reply(200, {"text": [f" t{i}" for i in body["ids"]]})
        elif path == "/v1/models":
            self.reply(200, {"data": [{"id": MODEL}, {"id": "tinkc/other-model"}]})
        elif path.startswith(CONSOLE + "samples") and self.command == "DELETE":
            gone = [int(parts[4])] if len(parts) > 4 else list(data.samples)
            for number in gone:
                data.samples.pop(number, None)
            data.deeds.append(("forget", len(gone)))
            self.reply(200, {"deleted": len(gone)})
        elif path.startswith(CONSOLE + "samples/") and int(parts[4]) in data.samples:
            self.reply(200, data.samples[int(parts[4])])
        elif path.startswith("/tinkc/v1/episodes/") and parts[3] in data.episodes:
            if self.command == "DELETE":
                del data.episodes[parts[3]]
                data.deeds.append(("forget episode", parts[3]))
            self.reply(200, data.episodes.get(parts[3], {}))
        else:
            return False
        return True

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_one


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """A browser that closes a connection is no error."""


class StandIn:
    """The server on a port of its own, in threads of this process."""

    def __init__(self, folder, data=None):
        self.data = data or Data()
        self.data.say, self.data.asked = None, []
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.data, self.http.folder = self.data, folder
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.data.drop_readers()
        self.http.shutdown()
        self.http.server_close()
