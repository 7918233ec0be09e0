"""Agents of the gateway's suite as HTTP sees them: the same conversation in three dialects.

A message here is {"role", "content", "reasoning", "calls"}: calls are [id, name, text of the
arguments]; a result of a tool has "call", the id that it answers. This file writes such messages
as requests of chat, responses and messages, and reads answers, whole or as events, back.
"""
import http.client
import json

PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
TOOLS = [(name, f"Does {name}.", PARAMETERS) for name in ("f0", "f1")]


class Wire:
    """One connection; opened again when the server has closed it."""

    def __init__(self, url):
        self.address = url.removeprefix("http://")
        self.connection = None

    def ask(self, method, path, body=None):
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.address, timeout=120)
            try:
                self.connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = self.connection.getresponse()
                data = answer.read()
                return answer.status, data.decode(), answer.headers.get("Content-Type", "")
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.connection.close()
                self.connection = None
                if attempt == 1:
                    raise
        return None

    def close(self):
        if self.connection is not None:
            self.connection.close()


# ---- requests ----

def as_chat(messages, tools):
    out = []
    for m in messages:
        row = {"role": m["role"], "content": m["content"]}
        if m.get("reasoning"):
            row["reasoning_content"] = m["reasoning"]
        if m.get("calls"):
            row["tool_calls"] = [{"id": i, "type": "function",
                                  "function": {"name": n, "arguments": a}} for i, n, a in m["calls"]]
        if m["role"] == "tool":
            row["tool_call_id"] = m["call"]
        out.append(row)
    body = {"messages": out}
    if tools:
        body["tools"] = [{"type": "function", "function": {
            "name": n, "description": d, "parameters": p}} for n, d, p in TOOLS]
    return body


def as_responses(messages, tools):
    items = []
    for m in messages:
        if m["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": m["call"],
                          "output": m["content"]})
            continue
        if m.get("reasoning"):
            items.append({"type": "reasoning", "id": "rs", "summary": [],
                          "content": [{"type": "reasoning_text", "text": m["reasoning"]}]})
        kind = "output_text" if m["role"] == "assistant" else "input_text"
        if m["content"] or not m.get("calls"):
            items.append({"type": "message", "role": m["role"],
                          "content": [{"type": kind, "text": m["content"]}]})
        for i, name, arguments in m.get("calls", []):
            items.append({"type": "function_call", "call_id": i, "name": name,
                          "arguments": arguments})
    body = {"input": items}
    if tools:
        body["tools"] = [{"type": "function", "name": n, "description": d, "parameters": p}
                         for n, d, p in TOOLS]
    return body


def as_messages(messages, tools):
    out, body = [], {}
    for m in messages:
        if m["role"] == "system":
            body["system"] = m["content"]
        elif m["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": m["call"], "content": m["content"]}
            if out and out[-1]["role"] == "user" and out[-1].get("results"):
                out[-1]["content"].append(block)
            else:
                out.append({"role": "user", "content": [block], "results": True})
        elif m["role"] == "assistant":
            blocks = []
            if m.get("reasoning"):
                blocks.append({"type": "thinking", "thinking": m["reasoning"], "signature": "s"})
            if m["content"] or not m.get("calls"):
                blocks.append({"type": "text", "text": m["content"]})
            blocks += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)}
                       for i, n, a in m.get("calls", [])]
            out.append({"role": "assistant", "content": blocks})
        else:
            out.append({"role": m["role"], "content": m["content"]})
    for m in out:
        m.pop("results", None)
    body["messages"] = out
    if tools:
        body["tools"] = [{"name": n, "description": d, "input_schema": p} for n, d, p in TOOLS]
    return body


WRITE = {"chat": as_chat, "responses": as_responses, "messages": as_messages}
PATH = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
LIMIT = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}


# ---- answers: [{"message", "prompt", "ids", "logprobs"}], the last three where they are shown ----

def message(content="", reasoning="", calls=()):
    return {"role": "assistant", "content": content, "reasoning": reasoning, "calls": list(calls)}


def events_of(text):
    for line in text.splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


def read_chat(body):
    answers = []
    for choice in sorted(body["choices"], key=lambda c: c["index"]):
        m = choice["message"]
        calls = [[c["id"], c["function"]["name"], c["function"]["arguments"]]
                 for c in m.get("tool_calls") or []]
        scores = (choice.get("logprobs") or {}).get("content")
        answers.append({
            "message": message(m.get("content") or "", m.get("reasoning_content") or "", calls),
            "prompt": body["prompt_token_ids"], "ids": choice["token_ids"],
            "logprobs": [s["logprob"] for s in scores] if scores is not None else None})
    return answers


def read_chat_events(text, n):
    rows = [{"message": message(), "ids": [], "logprobs": []} for _ in range(n)]
    prompt, calls = None, [{} for _ in range(n)]
    for event in events_of(text):
        prompt = event.get("prompt_token_ids", prompt)
        for choice in event["choices"]:
            at, delta = choice["index"], choice["delta"]
            rows[at]["message"]["content"] += delta.get("content") or ""
            rows[at]["message"]["reasoning"] += delta.get("reasoning_content") or ""
            rows[at]["ids"] += choice.get("token_ids") or []
            rows[at]["logprobs"] += [s["logprob"] for s in
                                     (choice.get("logprobs") or {}).get("content") or []]
            for c in delta.get("tool_calls") or []:
                call = calls[at].setdefault(c["index"], ["", "", ""])
                call[0] += c.get("id") or ""
                call[1] += c["function"].get("name") or ""
                call[2] += c["function"].get("arguments") or ""
    for row, found in zip(rows, calls):
        row["message"]["calls"] = [found[i] for i in sorted(found)]
        row["prompt"] = prompt
    return rows


def read_responses(body):
    out = message()
    for item in body["output"]:
        if item["type"] == "reasoning":
            out["reasoning"] += "".join(c["text"] for c in item.get("content", []))
        elif item["type"] == "message":
            out["content"] += "".join(c["text"] for c in item["content"])
        else:
            out["calls"].append([item["call_id"], item["name"], item["arguments"]])
    return [{"message": out, "usage": [body["usage"]["input_tokens"], body["usage"]["output_tokens"]]}]


def read_responses_events(text):
    last = [e for e in events_of(text) if e["type"] in ("response.completed", "response.incomplete")]
    return read_responses(last[-1]["response"])


def read_messages(body):
    out, usage = message(), body["usage"]
    for block in body["content"]:
        if block["type"] == "thinking":
            out["reasoning"] += block["thinking"]
        elif block["type"] == "text":
            out["content"] += block["text"]
        else:
            out["calls"].append([block["id"], block["name"], json.dumps(block["input"])])
    cached = usage["cache_read_input_tokens"]
    return [{"message": out, "usage": [usage["input_tokens"] + cached, usage["output_tokens"]]}]


def read_messages_events(text):
    blocks, usage = {}, {}
    for event in events_of(text):
        if event["type"] == "message_start":
            usage.update(event["message"]["usage"])
        elif event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"], json="")
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            for key in ("text", "thinking"):
                if key in delta:
                    block[key] += delta[key]
            block["json"] += delta.get("partial_json", "")
        elif event["type"] == "message_delta":
            usage.update(event["usage"])
    for block in blocks.values():
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["json"] or "{}")
    return read_messages({"content": [blocks[i] for i in sorted(blocks)], "usage": usage})


def read(dialect, text, kind, n):
    if kind.startswith("text/event-stream"):
        return read_chat_events(text, n) if dialect == "chat" else \
            read_responses_events(text) if dialect == "responses" else read_messages_events(text)
    body = json.loads(text)
    return read_chat(body) if dialect == "chat" else \
        read_responses(body) if dialect == "responses" else read_messages(body)
