"""Random agents against `tinkc serve` and `tinkc gateway`, judged by what went over the wire.

    gateway_wire.py PROGRAM TEMPLATES.json TURNS [SEED]

Uses nothing of tinkc but the program. A tiny random model for each of the templates answers
agents that talk in three dialects, whole and in events, with tools, and continue, ask twice, edit,
compact, branch and leave reasoning out. Templates are rendered here by jinja2, texts encoded and
decoded by `tokenizers`. Ids and log-probabilities come from the answers (return_token_ids) and,
behind `tinkc gateway`, from a proxy in front of the server. Then every exported turn is compared:

* its ids, mask and log-probabilities are those that were sent and sampled, nothing else is there,
  and a request that was repeated is there once;
* a turn that continues one has that turn's ids, and the text of all of it is the conversation as
  the template renders it; any other prompt is the encoding of the rendered conversation;
* a turn that begins afresh although its messages continue another one does so because the
  template, rendering this conversation, does not begin with the other's text.
"""
import datetime
import itertools
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import chat_env
import gateway_talk as talk
from gateway_model import make_model
from gateway_proxy import Proxy

MODELS, STEPS, WORKERS, MESSAGES_MAX = 24, 40, 4, 26
WORDS = ["the", " red", " stone", "\n", " two", "42", " is ", "é", ".", "  ", "a", "\n\n", "€", " {",
         "}", "\"", "🙂", "<", "\\", "�", " why", "?", "Say it. ", "x" * 40]
found, totals, lock = [], {}, threading.Lock()
seeds = itertools.count(1)


def find(text):
    with lock:
        found.append(text)
        if len(found) <= 20:
            print("FOUND", text, flush=True)


def count(name, n=1):
    with lock:
        totals[name] = totals.get(name, 0) + n


def whole(value):
    """Numbers without a fraction as integers, as clients in JavaScript write them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(v) for v in value]
    return {k: whole(v) for k, v in value.items()} if isinstance(value, dict) else value


def key(m):
    calls = [[n, json.dumps(whole(json.loads(a)), sort_keys=True)] for _, n, a in m.get("calls", [])]
    return json.dumps([m["role"], m["content"], calls])


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


# ---- a model as the script knows it ----

class Model:
    def __init__(self, name, source, tok, end):
        self.name, self.tok, self.end = name, tok, end
        env = chat_env.environment()
        env.globals["strftime_now"] = datetime.datetime.now(datetime.timezone.utc).strftime
        self.template = chat_env.compiled(env, source)

    def decode(self, ids):
        return self.tok.decode(ids, skip_special_tokens=False)

    def render(self, messages, tools):
        """(text, None) or (None, why it is refused); messages are the template's."""
        variables = {"messages": messages, "add_generation_prompt": True, "bos_token": "<s>",
                     "eos_token": self.end}
        if tools:
            variables["tools"] = talk.as_chat([], True)["tools"]
        return chat_env.render(self.template, variables)


def for_template(m, reasoning):
    row = {"role": m["role"], "content": m["content"]}
    if reasoning:
        row["reasoning_content"] = reasoning
    if m.get("calls"):
        row["tool_calls"] = [{"id": i, "type": "function",
                              "function": {"name": n, "arguments": json.loads(a)}}
                             for i, n, a in m["calls"]]
    if m["role"] == "tool":
        row["tool_call_id"] = m["call"]
    return row


# ---- agents ----

class Episode:
    def __init__(self, url, model, name, rng, proxy):
        self.url, self.model, self.name, self.rng, self.proxy = url, model, name, rng, proxy
        self.wire = talk.Wire(url)
        self.asks = {}     # by seed: what was asked and answered
        self.turns = []    # (conversation, message that went back)
        self.with_tools, self.dialect = rng.random() < 0.5, rng.choice(list(talk.PATH))

    def words(self, n):
        return "".join(self.rng.choice(WORDS) for _ in range(1 + self.rng.randrange(n)))

    def begin(self):
        system = [{"role": "system", "content": self.words(4)}] if self.rng.random() < 0.4 else []
        return system + [{"role": "user", "content": self.words(5)}]

    def follow(self, turn):
        conversation, answer = turn
        more = [{"role": "tool", "content": self.words(3), "call": c[0]} for c in answer["calls"]]
        if not more or self.rng.random() < 0.1:
            more.append({"role": "user", "content": self.words(4)})
        return conversation + [answer] + more

    def edited(self, conversation):
        at = self.rng.randrange(len(conversation))
        m = dict(conversation[at], content=self.words(4))
        return conversation[:at] + [m] + conversation[at + 1:]

    def with_reasoning(self, conversation):
        """What is sent: all reasoning, none of it, or one of them changed."""
        dice = self.rng.random()
        sent = [dict(m) for m in conversation]
        had = [m for m in sent if m.get("reasoning")]
        if had and dice < 0.3:
            for m in had:
                m["reasoning"] = ""
        elif had and dice < 0.35:
            self.rng.choice(had)["reasoning"] = "something else"
        return sent

    def choose(self):
        dice = self.rng.random()
        usable = [t for t in self.turns if len(t[0]) < MESSAGES_MAX]
        if not usable or dice < 0.06:
            return self.begin()
        turn = usable[-1] if dice < 0.62 else self.rng.choice(usable)
        if dice < 0.12:
            return turn[0]  # the same again, as another sample
        conversation = self.follow(turn)
        if self.rng.random() < 0.04:
            self.with_tools = not self.with_tools
        if self.rng.random() < 0.15:
            self.dialect = self.rng.choice(list(talk.PATH))
        return self.edited(conversation) if dice > 0.9 else conversation

    def ask(self, conversation, wire):
        rng, dialect = self.rng, self.dialect
        sent = self.with_reasoning(conversation)
        body = talk.WRITE[dialect](sent, self.with_tools)
        seed, n = next(seeds), 2 if dialect == "chat" and rng.random() < 0.12 else 1
        body.update(model=self.model.name, seed=seed, temperature=1.0, stream=rng.random() < 0.3)
        body[talk.LIMIT[dialect]] = rng.choice([1, 4, 12, 24])
        if dialect == "chat":
            body.update(n=n, return_token_ids=True, logprobs=rng.random() < 0.8)
        if rng.random() < 0.1:
            body["stop_sequences" if dialect == "messages" else "stop"] = [" red"]
        text = json.dumps(body)
        ask = {"seed": seed, "n": n, "dialect": dialect, "conversation": conversation,
               "sent": sent, "tools": self.with_tools, "body": text,
               "path": f"/e/{self.name}{talk.PATH[dialect]}"}
        return ask, (lambda: self.finish(ask, wire))

    def finish(self, ask, wire):
        status, text, kind = wire.ask("POST", ask["path"], ask["body"])
        ask["status"], ask["text"] = status, text
        if status == 200:
            ask["answers"] = talk.read(ask["dialect"], text, kind, ask["n"])
        with lock:
            self.asks[ask["seed"]] = ask

    def keep(self, ask):
        for answer in ask.get("answers", []):
            self.turns.append((ask["conversation"], answer["message"]))

    def step(self):
        asks = [self.ask(self.choose(), self.wire)]
        dice = self.rng.random()
        if dice < 0.06:  # two at once
            asks.append(self.ask(self.choose(), talk.Wire(self.url)))
        threads = [threading.Thread(target=run) for _, run in asks[1:]]
        twins, twin = [], asks[0][0]
        if 0.06 <= dice < 0.1:  # the same bytes at once
            def again():
                wire = talk.Wire(self.url)
                twins.append(wire.ask("POST", twin["path"], twin["body"])[:2])
                wire.close()
            threads.append(threading.Thread(target=again))
        for t in threads:
            t.start()
        asks[0][1]()
        for t in threads:
            t.join()
        if 0.1 <= dice < 0.15:  # the same bytes afterwards
            twins.append(self.wire.ask("POST", twin["path"], twin["body"])[:2])
        for status, text in twins:
            if status == 200 and (status, text) != (twin["status"], twin["text"]):
                find(f"{self.name}: a repeated request has another answer\n{twin['body']}\n"
                     f"{twin['text']}\n{text}")
            count("repeats")
        for ask, _ in asks:
            self.keep(ask)


# ---- the judge ----

class Judge:
    def __init__(self, episode):
        self.e, self.model = episode, episode.model
        with urllib.request.urlopen(f"{episode.url}/tinkc/v1/episodes/{episode.name}") as answer:
            self.export = json.load(answer)
        self.turns = {t["turn"]: t for t in self.export["turns"]}

    def bad(self, turn, text):
        find(f"{self.e.name} ({self.model.name}) turn {turn}: {text}")

    def read_sequences(self):
        """Ids, log-probabilities of each turn; masks; every turn once as the end or a part."""
        parents = {t["parent"] for t in self.turns.values()}
        ends = [s["turns"][-1] for s in self.export["sequences"]]
        if sorted(ends) != sorted(set(self.turns) - parents):
            self.bad("-", f"the sequences end with {sorted(ends)}")
        for s in self.export["sequences"]:
            tokens, mask, logprobs, at = s["tokens"], s["mask"], s["logprobs"], 0
            before = -1
            for number in s["turns"]:
                t = self.turns[number]
                begin, end = t["prompt_tokens"], t["prompt_tokens"] + t["sampled_tokens"]
                row = {"prompt": tokens[:begin], "ids": tokens[begin:end],
                       "logprobs": logprobs[begin:end]}
                if t.setdefault("row", row) != row:
                    self.bad(number, "differs between two sequences")
                if t["parent"] != before or at > begin:
                    self.bad(number, f"is behind {before} in a sequence, its parent is {t['parent']}")
                if any(mask[at:begin]) or not all(mask[begin:end]) or any(logprobs[at:begin]):
                    self.bad(number, "has a wrong mask or a log-probability on its prompt")
                at, before = end, number
            if not at == len(tokens) == len(mask) == len(logprobs):
                self.bad(before, "its sequence has ids after its end")
        for number, t in self.turns.items():
            if "row" not in t:
                self.bad(number, "is in no sequence")
                return False
        return True

    def match(self):
        """Which turns belong to which request."""
        by_seed = {}
        for number, t in sorted(self.turns.items()):
            by_seed.setdefault(t["params"]["seed"], []).append(number)
        for seed, ask in self.e.asks.items():
            ask["numbers"] = by_seed.pop(seed, [])
            expected = ask["n"] if ask["status"] == 200 else 0
            if len(ask["numbers"]) != expected:
                self.bad(ask["numbers"], f"{expected} turns were answered with {ask['status']}\n"
                         f"{ask['body']}\n{ask['text']}")
                continue
            for number, answer in zip(ask["numbers"], ask.get("answers", [])):
                t = self.turns[number]
                t["ask"], t["answer"] = ask, answer["message"]
                self.compare(number, t["row"], answer)
            if ask["status"] == 200 and self.e.proxy is not None:
                self.compare_sent(ask)
        for seed, numbers in by_seed.items():
            self.bad(numbers, f"nobody asked with seed {seed}")

    def compare(self, number, row, answer):
        if "prompt" in answer:
            count("ids seen", len(answer["prompt"]) + len(answer["ids"]))
            if (answer["prompt"], answer["ids"]) != (row["prompt"], row["ids"]):
                self.bad(number, "has other ids than its answer")
            seen = answer["logprobs"]
            if seen and list(map(f32, seen)) != list(map(f32, row["logprobs"])):
                self.bad(number, f"has other log-probabilities: {seen} {row['logprobs']}")
        else:
            if answer["usage"] != [len(row["prompt"]), len(row["ids"])]:
                self.bad(number, f"has other numbers of ids than {answer['usage']}")

    def compare_sent(self, ask):
        sent = self.e.proxy.samples.pop(ask["seed"], None)
        rows = [self.turns[number]["row"] for number in ask["numbers"]]
        if sent is None:
            self.bad(ask["numbers"], "was never sampled")
            return
        for number, row, (ids, logprobs) in zip(ask["numbers"], rows, sent[1]):
            count("ids sent", len(sent[0]) + len(ids))
            if (row["prompt"], row["ids"]) != (sent[0], ids):
                self.bad(number, "has other ids than the server got and gave")
            if list(map(f32, logprobs)) != list(map(f32, row["logprobs"])):
                self.bad(number, "has other log-probabilities than the server gave")

    # ---- prompts ----

    def raw(self, number):
        ids = self.turns[number]["row"]["ids"]
        end = self.model.tok.token_to_id(self.model.end)
        return self.model.decode(ids[:-1] if ids and ids[-1] == end else ids)

    def owners(self, ask, chain=()):
        """For each message the turn whose answer it is: of the chain, else the oldest."""
        keys = [key(m) for m in ask["sent"]]
        owners = {}
        for number in list(chain) + sorted(self.turns):
            t = self.turns[number]
            at = len(t["ask"]["sent"]) if "ask" in t else len(keys)
            if at < len(keys) and at not in owners and number < self.first_of(ask) and \
                    keys[:at + 1] == [key(m) for m in t["ask"]["sent"]] + [key(t["answer"])]:
                owners[at] = number
        return owners

    @staticmethod
    def first_of(ask):
        return ask["numbers"][0] if ask["numbers"] else sys.maxsize

    def render(self, ask, owners, raw=()):
        messages = []
        for at, m in enumerate(ask["sent"]):
            reasoning = m.get("reasoning", "")
            if at in raw:
                messages.append({"role": "assistant", "content": self.raw(owners[at])})
                continue
            if at in owners and not reasoning:
                reasoning = self.turns[owners[at]]["answer"]["reasoning"]
            messages.append(for_template(m, reasoning))
        return self.model.render(messages, ask["tools"])

    def chain_of(self, number):
        chain = []
        while number >= 0:
            chain.append(number)
            number = self.turns[number]["parent"]
        return chain

    def is_changed(self, ask, owners, at):
        ours = self.turns[owners[at]]["answer"]["reasoning"]
        return ask["sent"][at].get("reasoning", "") not in ("", ours)

    def continue_text(self, number):
        """The text of a turn and of what it sampled: of the ids, part by part."""
        t = self.turns[number]
        return t["text"] + self.model.decode(t["row"]["ids"])

    def check_continued(self, number):
        t = self.turns[number]
        ask, parent = t["ask"], self.turns[t["parent"]]
        shared = parent["row"]["prompt"] + parent["row"]["ids"]
        if t["row"]["prompt"][:len(shared)] != shared:
            self.bad(number, f"does not begin with the ids of {t['parent']}")
        rest = t["row"]["prompt"][len(shared):]
        text = self.continue_text(t["parent"]) + self.model.decode(rest)
        t["text"] = text
        owners = self.owners(ask, self.chain_of(t["parent"]))
        at = len(parent["ask"]["sent"])
        if owners.get(at) != t["parent"]:
            self.bad(number, f"continues {t['parent']}, whose messages it does not have")
            return
        for raw in (parent["raw"], parent["raw"] | {at}):
            if self.render(ask, owners, raw)[0] == text:
                t["raw"] = raw
                if list(self.model.tok.encode(text[len(self.continue_text(t["parent"])):],
                                              add_special_tokens=False).ids) != rest:
                    self.bad(number, "its new ids are not the encoding of the new text")
                return
        t["raw"] = parent["raw"]
        self.bad(number, f"its text is not the conversation as it is rendered:\n{text!r}\n"
                 f"{self.render(ask, owners, parent['raw'])}\n{ask['body']}")

    def check_fresh(self, number):
        t = self.turns[number]
        ask = t["ask"]
        text, why = self.render(ask, self.owners(ask))
        t["text"], t["raw"] = self.model.decode(t["row"]["prompt"]), frozenset()
        if text is None:
            self.bad(number, f"jinja2 refuses the conversation: {why}")
        elif list(self.model.tok.encode(text, add_special_tokens=False).ids) != t["row"]["prompt"]:
            self.bad(number, f"its ids are not the encoding of the rendered text:\n{text!r}\n"
                     f"{t['text']!r}\n{ask['body']}")
        for at, other in self.owners(ask).items():
            for candidate in [n for n in self.turns if n < number and
                              "text" in self.turns[n] and self.owners(ask, [n]).get(at) == n]:
                self.check_excuse(number, ask, candidate)

    def check_excuse(self, number, ask, candidate):
        chain = self.chain_of(candidate)
        owners = self.owners(ask, chain)
        begin = self.continue_text(candidate)
        last = len(self.turns[candidate]["ask"]["sent"])
        answers = [at for at in owners if at <= last and not self.is_changed(ask, owners, at)][-4:]
        for size in range(len(answers) + 1):
            for raw in itertools.combinations(answers, size):
                text = self.render(ask, owners, set(raw))[0]
                if text is not None and text.startswith(begin):
                    self.bad(number, f"is a branch ({self.turns[number].get('why')}), although it "
                             f"continues {candidate} (as sampled: {raw})\n{text!r}\n{begin!r}")
                    return
        count("branches that had to be")

    def check(self):
        if not self.read_sequences():
            return
        self.match()
        for number in sorted(self.turns):
            t = self.turns[number]
            if "ask" not in t:
                return
            count(t["origin"])
            count(t["ask"]["dialect"])
            if t["origin"] == "continued":
                self.check_continued(number)
            else:
                self.check_fresh(number)
        for ask in self.e.asks.values():
            if ask["status"] != 200:
                count("refused")
                text, _ = self.render(ask, self.owners(ask))
                if ask["status"] != 400 or text is not None:
                    find(f"{self.e.name}: status {ask['status']} {ask['text']}, and jinja2 renders "
                         f"it\n{ask['body']}")


# ---- programs ----

def start(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith("listening on "):
            return process, line.split()[-1]
    raise SystemExit(f"{command[1]} does not start")


def make_models(work, templates):
    text = pathlib.Path("docs/guide/agents.md").read_text(encoding="utf-8")
    names = sorted(templates, key=lambda n: (not n.startswith("tokenizer-"), n))
    made = []
    for n, name in enumerate(names):
        model = Model(f"model-{n:02}", templates[name], *make_model(
            work / f"model-{n:02}", templates[name], text, n))
        probe = model.render([{"role": "user", "content": "a"}], False)
        if probe[0] is not None:
            made.append(model)
        if len(made) == MODELS:
            return made
    raise SystemExit(f"only {len(made)} templates can be used")


def drive(fronts, models, turns, seed):
    done, numbers = [0], itertools.count()

    def work():
        while True:
            with lock:
                n = next(numbers)
                if done[0] >= turns:
                    return
            url, proxy = fronts[n // len(models) % len(fronts)]
            model, rng = models[n % len(models)], random.Random(seed * 1000003 + n)
            episode = Episode(url, model, f"wire-{n}", rng, proxy)
            for _ in range(STEPS):
                episode.step()
            if episode.turns:
                Judge(episode).check()
            episode.wire.close()
            with lock:
                done[0] += len(episode.turns)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return done[0]


def main():
    program, templates, turns = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    threading.excepthook = lambda a: (find(f"{a.exc_type.__name__}: {a.exc_value}"),
                                      sys.__excepthook__(a.exc_type, a.exc_value, a.exc_traceback))
    with tempfile.TemporaryDirectory() as name:
        work, began = pathlib.Path(name), time.monotonic()
        models = make_models(work, templates)
        server, url = start(program, "serve", "--port", "0", "--data", f"{name}/data",
                            *[str(work / m.name) for m in models])
        proxy = Proxy(url)
        gateway, front = start(program, "gateway", "--port", "0", "--data", f"{name}/episodes",
                               "--base-url", proxy.url, "--api-key", "tml-wire",
                               "-m", models[0].name)
        try:
            made = drive([(url, None), (front, proxy)], models, turns, seed)
        finally:
            for process in (gateway, server):
                process.terminate()
                if process.wait(60) != 0:
                    find(f"a program ended with {process.returncode}")
    print(f"wire: {made} turns, {len(models)} templates, {time.monotonic() - began:.0f} s, "
          f"{len(found)} found; " + ", ".join(f"{v} {k}" for k, v in sorted(totals.items())))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
