"""PyPI's openai, anthropic and litellm, unmodified, against `tinkc serve` and `tinkc gateway`.

    agents_clients.py PROGRAM WORK

A tiny random model answers. The gateway stands in front of the same server: a request with the
same seed gets the same ids there. Ids are also scored again through `echo`, and the texts of
answers are what `tokenizers` makes of their ids.
"""
import importlib.metadata
import os
import pathlib
import sys

import anthropic
import litellm
import openai

import agents_model
from agents_model import CONTEXT, Table

litellm.suppress_debug_info = True
NAME = "tiny"
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 3? ü€🙂"}]
TALK = [m for m in ASK if m["role"] == "user"]
LONG = [{"role": "user", "content": "the red stone " * CONTEXT}]


class Front:
    """One of the two servers, its clients, and what it answered."""

    def __init__(self, url, tok):
        self.tok, self.url, self.answers = tok, url, {}
        self.openai = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)

    def litellm(self, **options):
        return litellm.completion(api_base=self.url + "/v1", api_key="none", num_retries=0,
                                  **{"model": f"openai/{NAME}", "messages": ASK, **options})

    def keep(self, name, value):
        assert value is not None, name
        self.answers[name] = value

    def text(self, ids):
        return self.tok.decode(ids, skip_special_tokens=True)


def same(have, want, what):
    assert have == want, f"{what}: {have!r}, not {want!r}"


def refused(error, call, status, *parts):
    """The client's own exception, with our text."""
    try:
        call()
    except error as e:
        for part in parts:
            assert part in str(e), f"{part!r} is not in {e}"
        same(e.status_code, status, "status")
        return e
    raise AssertionError(f"no {error.__name__}")


# ---- openai ----

IDS = {"return_token_ids": True}


def chat_openai(f):
    for seed in range(4):
        r = f.openai.chat.completions.create(model=NAME, messages=ASK, seed=seed, max_tokens=24)
        assert r.choices[0].finish_reason in ("stop", "length", "tool_calls"), r
        same(r.usage.total_tokens, r.usage.prompt_tokens + r.usage.completion_tokens, "usage")
        m = r.choices[0].message
        f.keep(f"openai chat {seed}", (m.content, [c.function.arguments for c in m.tool_calls or []]))
    r = f.openai.responses.create(model=NAME, input="Say it.", max_output_tokens=24, extra_body={"seed": 5})
    assert r.status in ("completed", "incomplete"), r
    f.keep("openai responses", r.output_text)
    assert NAME in [m.id for m in f.openai.models.list()], "models"


def stream_openai(f):
    for seed in range(4):
        text, ids, done = "", [], None
        whole = f.openai.completions.create(model=NAME, prompt="Say", seed=seed, max_tokens=24, extra_body=IDS)
        for chunk in f.openai.completions.create(model=NAME, prompt="Say", seed=seed, max_tokens=24,
                                                 stream=True, extra_body=IDS):
            for c in chunk.choices:
                text, ids, done = text + c.text, ids + getattr(c, "token_ids", []), c.finish_reason or done
        same((text, ids, done), (whole.choices[0].text, whole.choices[0].token_ids,
                                 whole.choices[0].finish_reason), "stream and body")
        f.keep(f"openai stream {seed}", ids)
    with f.openai.chat.completions.stream(model=NAME, messages=ASK, seed=1, max_tokens=24) as s:
        final = s.get_final_completion()
    same(final.choices[0].message.content or None, f.answers["openai chat 1"][0], "chat")
    events = list(f.openai.responses.create(model=NAME, input="Say it.", max_output_tokens=24,
                                            stream=True, extra_body={"seed": 5}))
    same(events[-1].response.output_text, f.answers["openai responses"], "responses")


def ids_openai(f):
    for seed in range(8):
        r = f.openai.chat.completions.create(model=NAME, messages=ASK, seed=seed, n=2, max_tokens=24,
                                             extra_body=IDS)
        prompt = f.tok.decode(r.prompt_token_ids, skip_special_tokens=False)
        assert all(m["content"] in prompt for m in ASK), prompt
        same(len(r.prompt_token_ids), r.usage.prompt_tokens, "prompt_tokens")
        same(sum(len(c.token_ids) for c in r.choices), r.usage.completion_tokens, "completion_tokens")
        f.keep(f"openai ids {seed}", (r.prompt_token_ids, [c.token_ids for c in r.choices]))


def scores_openai(f):
    for seed in range(4):
        r = f.openai.completions.create(model=NAME, prompt="Say", seed=seed, max_tokens=12, logprobs=3,
                                        extra_body=IDS).choices[0]
        ids = r.prompt_token_ids + r.token_ids
        again = f.openai.completions.create(model=NAME, prompt=ids, max_tokens=0, echo=True, logprobs=3)
        tail = again.choices[0].logprobs.token_logprobs[-len(r.token_ids):]
        gap = max(abs(a - b) for a, b in zip(tail, r.logprobs.token_logprobs))
        assert gap < 1e-4, f"scores of the same ids differ by {gap}"
        assert all(len(row) >= 3 for row in r.logprobs.top_logprobs), r.logprobs
        f.keep(f"openai scores {seed}", r.token_ids)
    r = f.openai.chat.completions.create(model=NAME, messages=ASK, seed=3, max_tokens=12, logprobs=True,
                                         top_logprobs=2)
    rows = r.choices[0].logprobs.content
    same(len(rows), r.usage.completion_tokens, "rows")
    assert all(len(row.top_logprobs) == 2 and row.logprob <= 0 for row in rows), rows


def errors_openai(f):
    create = f.openai.chat.completions.create
    refused(openai.NotFoundError, lambda: create(model="other", messages=ASK), 404, "other", NAME)
    e = refused(openai.BadRequestError, lambda: create(model=NAME, messages=LONG), 400, str(CONTEXT))
    same(e.code, "context_length_exceeded", "code")
    e = refused(openai.BadRequestError, lambda: create(model=NAME, messages=ASK, logit_bias={"5": 9}),
                400, "logit_bias")
    same(e.param, "logit_bias", "param")
    refused(openai.BadRequestError, lambda: create(model=NAME, messages=ASK, extra_body={"mirostat": 2}),
            400, "mirostat")
    refused(openai.BadRequestError, lambda: create(model=NAME, messages=ASK, stream=True, response_format={
        "type": "json_object"}), 400, "response_format")
    refused(openai.BadRequestError, lambda: f.openai.responses.create(
        model=NAME, input="a", previous_response_id="resp_1"), 400, "previous_response_id")


# ---- anthropic ----

def ask_anthropic(f, seed, **options):
    return dict(model=NAME, max_tokens=24, system="Be brief.", messages=TALK, extra_body={"seed": seed},
                **options)


def chat_anthropic(f):
    for seed in range(4):
        r = f.anthropic.messages.create(**ask_anthropic(f, seed))
        assert r.stop_reason in ("end_turn", "max_tokens", "tool_use"), r
        f.keep(f"anthropic {seed}", ([b.text for b in r.content if b.type == "text"], r.usage.output_tokens))
    n = f.anthropic.messages.count_tokens(model=NAME, system="Be brief.", messages=TALK).input_tokens
    r = f.openai.chat.completions.create(model=NAME, messages=ASK, max_tokens=1)
    same(n, r.usage.prompt_tokens, "count_tokens")
    assert NAME in [m.id for m in f.anthropic.models.list()], "models"


def stream_anthropic(f):
    for seed in range(4):
        with f.anthropic.messages.stream(**ask_anthropic(f, seed)) as s:
            r = s.get_final_message()
        same(([b.text for b in r.content if b.type == "text"], r.usage.output_tokens),
             f.answers[f"anthropic {seed}"], "stream and body")


def ids_anthropic(f):
    """The API has no place for ids: the export of the episode has them, and chat's are equal."""
    for seed in range(4):
        name = f"ids-{seed}"
        anthropic.Anthropic(base_url=f"{f.url}/e/{name}", api_key="none").messages.create(
            **ask_anthropic(f, seed))
        export = f.openai._client.get(f"{f.url}/tinkc/v1/episodes/{name}").json()["sequences"][0]
        r = f.openai.chat.completions.create(model=NAME, messages=ASK, seed=seed, max_tokens=24,
                                             extra_body=IDS)
        same(export["tokens"], r.prompt_token_ids + r.choices[0].token_ids, "export")
        f.keep(f"anthropic ids {seed}", export["tokens"])


def errors_anthropic(f):
    create = f.anthropic.messages.create
    usual = ask_anthropic(f, 1)
    refused(anthropic.NotFoundError, lambda: create(**{**usual, "model": "other"}), 404, "other", NAME)
    refused(anthropic.BadRequestError, lambda: create(**{**usual, "messages": LONG}), 400,
            "prompt is too long", str(CONTEXT))
    refused(anthropic.BadRequestError, lambda: create(**usual, tool_choice={"type": "any"}), 400,
            "tool_choice")
    refused(anthropic.BadRequestError, lambda: create(**{**usual, "extra_body": {"mirostat": 2}}), 400,
            "mirostat")


# ---- litellm ----

def chat_litellm(f):
    for seed in range(4):
        m = f.litellm(seed=seed, max_tokens=24).choices[0].message
        same(m.content, f.answers[f"openai chat {seed}"][0], "as openai")
    r = litellm.completion(model=f"anthropic/{NAME}", api_base=f.url, api_key="none", messages=ASK,
                           max_tokens=24)
    assert r.usage.completion_tokens > 0, r


def stream_litellm(f):
    for seed in range(4):
        parts = [c.choices[0].delta.content or "" for c in f.litellm(seed=seed, max_tokens=24, stream=True)]
        same("".join(parts), f.answers[f"openai chat {seed}"][0] or "", "as openai")


def ids_litellm(f):
    r = f.litellm(seed=2, n=2, max_tokens=24, extra_body=IDS)
    ids = [c.provider_specific_fields["token_ids"] for c in r.choices]
    same(ids, f.answers["openai ids 2"][1], "as openai")


def scores_litellm(f):
    r = f.litellm(seed=3, max_tokens=12, logprobs=True, top_logprobs=2)
    rows = r.choices[0].logprobs.content
    same(len(rows), r.usage.completion_tokens, "rows")


def errors_litellm(f):
    refused(litellm.NotFoundError, lambda: f.litellm(model="openai/other"), 404, "other", NAME)
    refused(litellm.ContextWindowExceededError, lambda: f.litellm(messages=LONG), 400, str(CONTEXT))
    refused(litellm.BadRequestError, lambda: f.litellm(logit_bias={"5": 9}), 400, "logit_bias")


CHECKS = {
    "openai": {"chat": chat_openai, "streaming": stream_openai, "token ids": ids_openai,
               "logprobs": scores_openai, "errors": errors_openai},
    "anthropic": {"chat": chat_anthropic, "streaming": stream_anthropic, "token ids": ids_anthropic,
                  "errors": errors_anthropic},
    "litellm": {"chat": chat_litellm, "streaming": stream_litellm, "token ids": ids_litellm,
                "logprobs": scores_litellm, "errors": errors_litellm},
}


def compare(client, fronts):
    mine = [{k: v for k, v in f.answers.items() if k.startswith(client)} for f in fronts]
    same(sorted(mine[0]), sorted(mine[1]), "answers")
    for name in mine[0]:
        same(mine[1][name], mine[0][name], name)
    return f"{len(mine[0])} equal"


def main():
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    tok, _ = agents_model.make(work / NAME)
    server, url = agents_model.start(program, "serve", "--port", "0", "--data", str(work / "data"),
                                     str(work / NAME))
    gateway, front = agents_model.start_gateway(program, work / "episodes", url, "-m", NAME)
    table = Table("client")
    fronts = {"serve": Front(url, tok), "gateway": Front(front, tok)}
    try:
        for client, checks in CHECKS.items():
            row = f"{client} {importlib.metadata.version(client)}"
            for where, f in fronts.items():
                for column, function in checks.items():
                    table.check(f"{row}, {where}", column, function, f)
            if client != "litellm":
                table.check(f"{row}, gateway", "as serve", compare, client, list(fronts.values()))
    finally:
        for process in (gateway, server):
            process.terminate()
            table.failed += process.wait(60) != 0
    table.show()
    sys.stdout.flush()
    os._exit(bool(table.failed))  # litellm's threads would go on


if __name__ == "__main__":
    main()
