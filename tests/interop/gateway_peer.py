"""PyPI's openai, anthropic and litellm through `tinkc gateway` in front of any Tinker server.

    gateway_peer.py PROGRAM URL MODEL WORK [REFERENCE]

A proxy between gateway and server keeps what was sent and sampled. Each client talks for three
turns in an episode of its own, whole and in events; every id and log-probability of the export is
one that the server was sent or gave, and each turn continues the one before it. REFERENCE is a
`tinkc serve` with the same model: greedy answers have the same ids there.
"""
import json
import os
import pathlib
import struct
import sys
import urllib.request

import anthropic
import litellm
import openai

import agents_model
from agents_model import Table
from gateway_proxy import Proxy

litellm.suppress_debug_info = True
ASKS = ["What is 2 + 3?", "My name is Anna Fischer.", "Can I have a table for four on Monday? ü🙂"]
LIMIT = 24


def same(have, want, what):
    assert have == want, f"{what}: {have!r}, not {want!r}"


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class Talk:
    """One client in one episode."""

    def __init__(self, front, model, name, first_seed):
        self.front, self.model, self.name, self.seed = front, model, name, first_seed
        self.url = f"{front}/e/{name}"
        self.messages, self.seeds, self.ids = [], [], {}

    def run(self, ask):
        for text in ASKS:
            self.messages.append({"role": "user", "content": text})
            self.seed += 1
            self.seeds.append(self.seed)
            self.messages.append({"role": "assistant", "content": ask(self)})

    def chat(self, streamed):
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        text, ids, prompt = "", [], []
        options = dict(model=self.model, messages=self.messages, seed=self.seed, max_tokens=LIMIT,
                       extra_body={"return_token_ids": True})
        if not streamed:
            r = client.chat.completions.create(**options)
            self.ids[self.seed] = (r.prompt_token_ids, r.choices[0].token_ids)
            return r.choices[0].message.content or ""
        for chunk in client.chat.completions.create(stream=True, **options):
            prompt = getattr(chunk, "prompt_token_ids", None) or prompt
            for c in chunk.choices:
                text, ids = text + (c.delta.content or ""), ids + (getattr(c, "token_ids", None) or [])
        self.ids[self.seed] = (prompt, ids)
        return text

    def responses(self, streamed):
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
        options = dict(model=self.model, input=self.messages, max_output_tokens=LIMIT,
                       extra_body={"seed": self.seed})
        if streamed:
            return list(client.responses.create(stream=True, **options))[-1].response.output_text
        return client.responses.create(**options).output_text

    def anthropic(self, streamed):
        client = anthropic.Anthropic(base_url=self.url, api_key="none", max_retries=0)
        options = dict(model=self.model, max_tokens=LIMIT, messages=self.messages,
                       extra_body={"seed": self.seed})
        if streamed:
            with client.messages.stream(**options) as s:
                r = s.get_final_message()
        else:
            r = client.messages.create(**options)
        return "".join(b.text for b in r.content if b.type == "text")

    def litellm(self, streamed):
        options = dict(model=f"openai/{self.model}", api_base=self.url + "/v1", api_key="none",
                       messages=self.messages, seed=self.seed, max_tokens=LIMIT, num_retries=0)
        if streamed:
            return "".join(c.choices[0].delta.content or "" for c in litellm.completion(stream=True, **options))
        return litellm.completion(**options).choices[0].message.content or ""


def judge(talk, proxy):
    """Compares the export with what went over the wire; returns how many ids that were."""
    with urllib.request.urlopen(f"{talk.front}/tinkc/v1/episodes/{talk.name}") as answer:
        export = json.load(answer)
    same([t["params"]["seed"] for t in export["turns"]], talk.seeds, "seeds")
    same([t["origin"] for t in export["turns"]], ["first", "continued", "continued"], "origins")
    same(len(export["sequences"]), 1, "sequences")
    s, total = export["sequences"][0], 0
    for t in export["turns"]:
        begin, end = t["prompt_tokens"], t["prompt_tokens"] + t["sampled_tokens"]
        prompt, sampled = proxy.samples[t["params"]["seed"]]
        same(len(sampled), 1, "samples")
        same(s["tokens"][:begin], prompt, "the prompt")
        same(s["tokens"][begin:end], sampled[0][0], "what was sampled")
        same(s["mask"][begin:end], [1] * (end - begin), "mask")
        same([f32(x) for x in s["logprobs"][begin:end]], [f32(x) for x in sampled[0][1]], "log-probabilities")
        if t["params"]["seed"] in talk.ids:
            same(talk.ids[t["params"]["seed"]], (prompt, sampled[0][0]), "ids of the answer")
        total += end - begin
    return f"{len(s['tokens'])} ids, {total} sampled"


def greedy(front, reference, model):
    """The ids of greedy answers here and there."""
    found = []
    for url in (front, reference):
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        rows = []
        for text in ASKS + ["Hello!", "What is 7 - 4?"]:
            r = client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": text}], temperature=0, seed=1,
                max_tokens=LIMIT, extra_body={"return_token_ids": True})
            rows.append((r.prompt_token_ids, r.choices[0].token_ids))
        found.append(rows)
    same(found[0], found[1], "greedy ids")
    return f"{sum(len(ids) for _, ids in found[0])} ids equal"


def main():
    program, url, model, work = sys.argv[1:5]
    reference = sys.argv[5] if len(sys.argv) > 5 else None
    proxy = Proxy(url)
    gateway, front = agents_model.start_gateway(program, pathlib.Path(work) / "episodes", proxy.url, "-m", model)
    table, seed = Table("client"), 0
    try:
        for kind in ("chat", "responses", "anthropic", "litellm"):
            for streamed in (False, True):
                seed += 100
                talk = Talk(front, model, f"peer-{kind}-{int(streamed)}", seed)

                def check():
                    talk.run(lambda t: getattr(t, kind)(streamed))
                    return judge(talk, proxy)
                table.check({"chat": "openai, chat", "responses": "openai, responses"}.get(kind, kind),
                            "events" if streamed else "whole", check)
        if reference is not None:
            table.check("openai, chat", "greedy, as tinkc serve", greedy, front, reference, model)
    finally:
        gateway.terminate()
        table.failed += gateway.wait(60) != 0
    table.show()
    sys.stdout.flush()
    os._exit(bool(table.failed))  # litellm's threads would go on


if __name__ == "__main__":
    main()
