#!/usr/bin/env python3
"""The official clients against src/chatapi: see chatapi.sh. The stand-in server below knows nothing
of the APIs but their paths; what an answer holds is chosen by headers of the test. With --record
FILE it writes what was asked and answered, for tests/chatapi/test_ca_reply.c."""
import http.server
import json
import subprocess
import sys
import threading

import anthropic
import openai
from anthropic.types import (
    Message, MessageTokensCount, ModelInfo, RawMessageStreamEvent)
from anthropic.types.shared import ErrorResponse
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

DIALECTS = {"/v1/chat/completions": "chat", "/v1/completions": "completions",
            "/v1/responses": "responses", "/v1/messages": "messages",
            "/v1/messages/count_tokens": "messages"}
PROGRAM = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
LOCK = threading.Lock()
TEXT = "Hi ü!"
REASONING = "Let me see.\nYes."
RECORD = []  # lines for tests/data/chatapi/golden.jsonl, with --record
SEEN = {}  # of the last request: its path, and the bytes that went back


def ask(**line):
    with LOCK:
        PROGRAM.stdin.write(json.dumps(line).encode() + b"\n")
        PROGRAM.stdin.flush()
        answer = json.loads(PROGRAM.stdout.readline())
        RECORD.append(dict(line, **answer))
        return answer


class StandIn(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, dialect, kind, request):
        line = ask(dialect=dialect, kind=self.headers.get("x-kind", kind), request=request,
                   finish=self.headers.get("x-finish", "stop"),
                   reasoning="x-reasoning" in self.headers, calls="x-calls" in self.headers,
                   ignore=self.headers.get("x-tinkc-ignore", ""))
        body = line["body"].encode()
        is_stream = body.startswith((b"data:", b"event:"))
        SEEN.update(path=self.path, body=line["body"])
        self.send_response(line["status"])
        self.send_header("content-type",
                         "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        path = self.path.split("?")[0]
        request = self.rfile.read(int(self.headers["content-length"])).decode()
        kind = "stream" if json.loads(request).get("stream") else "body"
        self.answer(DIALECTS[path], "count" if path.endswith("count_tokens") else kind, request)

    def do_GET(self):
        dialect = "messages" if "anthropic-version" in self.headers else "chat"
        kind = "models" if self.path.split("?")[0].endswith("/models") else "model"
        self.answer(dialect, kind, "")

    def log_message(self, *unused):
        pass


def valid(kind, value):
    """The value as the client's model, with every required member."""
    if isinstance(value, str):
        value = json.loads(value)
    return TypeAdapter(kind).validate_python(value)


def events(kind, raw):
    """All events of a stream, validated; the names of the events."""
    names = []
    for block in raw.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        if lines["data"] == "[DONE]":
            names.append("[DONE]")
            continue
        data = json.loads(lines["data"])
        names.append(data.get("type", data.get("object")))
        assert lines.get("event", data.get("type")) == data.get("type"), block
        if data.get("type") != "ping":
            valid(kind, data)
    return names


TOOL = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters":
                                         {"type": "object", "properties": {}}}}
USER = [{"role": "user", "content": "hi"}]
ALL = {"x-reasoning": "1", "x-calls": "1", "x-finish": "calls"}


def check_chat(client):
    got = client.chat.completions.create(model="tiny", messages=USER, tools=[TOOL],
                                         logprobs=True, top_logprobs=2, extra_headers=ALL,
                                         extra_body={"return_token_ids": True,
                                                     "prompt_logprobs": 2})
    valid(ChatCompletion, SEEN["body"])
    choice = got.choices[0]
    assert (choice.message.content, choice.finish_reason) == (TEXT, "tool_calls")
    assert choice.message.reasoning_content == REASONING
    assert json.loads(choice.message.tool_calls[0].function.arguments)["city"] == "Köln"
    assert [t.logprob for t in choice.logprobs.content][:2] == [-0.5, -0.25]
    assert choice.logprobs.content[3].bytes == [0xC3] and choice.token_ids == [0, 1, 2, 3, 4, 5]
    assert got.prompt_token_ids == [0, 1, 2] and got.prompt_logprobs[0] is None
    assert got.prompt_logprobs[1]["1"] == {"logprob": -0.25, "rank": None, "decoded_token": "i"}
    assert got.usage.prompt_tokens_details.cached_tokens == 8
    assert got.usage.completion_tokens_details.reasoning_tokens == 2
    again = USER + [choice.message, {"role": "tool", "tool_call_id": "call_a1", "content": "7"}]
    got = client.chat.completions.create(model="tiny", messages=again, n=2, stop=["END"],
                                         extra_headers={"x-finish": "stop_string"})
    assert [c.index for c in got.choices] == [0, 1] and got.choices[1].stop_reason == "END"

    with client.chat.completions.stream(model="tiny", messages=USER, tools=[TOOL], logprobs=True,
                                        extra_headers=ALL,
                                        stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
        final = stream.get_final_completion()
    assert events(ChatCompletionChunk, SEEN["body"])[-1] == "[DONE]" and chunks
    assert final.choices[0].message.content == TEXT and final.usage.total_tokens == 18
    assert [c.function.name for c in final.choices[0].message.tool_calls] == ["get_weather", "now"]
    assert len(final.choices[0].logprobs.content) == 6
    text = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(
        model="tiny", messages=USER, stream=True) if c.choices)
    assert text == TEXT


def check_text(client):
    got = client.completions.create(model="tiny", prompt="Hi ", echo=True, logprobs=2,
                                    max_tokens=0, extra_body={"return_token_ids": True})
    valid(dict, SEEN["body"])
    choice = got.choices[0]
    assert choice.text == "Hi " + TEXT and choice.finish_reason == "stop"
    assert choice.logprobs.token_logprobs[:3] == [None, -0.25, -1.0]
    assert choice.logprobs.text_offset == list(range(9))
    assert choice.logprobs.top_logprobs[0] is None
    assert choice.logprobs.top_logprobs[1] == {"H": -0.125, " ": -4.0, "i": -0.25}
    assert choice.prompt_token_ids == [0, 1, 2] and choice.token_ids == [0, 1, 2, 3, 4, 5]
    got = client.completions.create(model="tiny", prompt=[[1, 2], [3]], logprobs=0,
                                    extra_headers={"x-finish": "length"})
    valid(Completion, SEEN["body"])
    assert got.choices[0].logprobs.top_logprobs is None
    assert got.choices[0].finish_reason == "length" and got.usage.completion_tokens == 6
    chunks = list(client.completions.create(model="tiny", prompt="Hi ", echo=True, logprobs=1,
                                            stream=True, stream_options={"include_usage": True}))
    parts = [c.choices[0] for c in chunks if c.choices]
    assert "".join(p.text for p in parts) == "Hi " + TEXT
    assert [o for p in parts if p.logprobs for o in p.logprobs.text_offset] == list(range(9))
    assert parts[-1].finish_reason == "stop" and chunks[-1].usage.prompt_tokens == 12


def check_responses(client):
    tool = {"type": "function", "name": "get_weather", "description": "d", "strict": False,
            "parameters": {"type": "object", "properties": {}}}
    include = ["reasoning.encrypted_content", "message.output_text.logprobs"]
    got = client.responses.create(model="tiny", input="hi", instructions="I", tools=[tool],
                                  include=include, top_logprobs=2, extra_headers=ALL)
    valid(Response, SEEN["body"])
    assert got.output_text == TEXT and got.status == "completed"
    assert [item.type for item in got.output] == [
        "reasoning", "message", "function_call", "function_call"]
    assert got.output[0].content[0].text == REASONING and got.output[2].call_id == "call_a1"
    assert len(got.output[1].content[0].logprobs) == 6 and got.usage.total_tokens == 18
    history = [{"role": "user", "content": "hi"}] + [
        item.model_dump(exclude_none=True) for item in got.output] + [
        {"type": "function_call_output", "call_id": "call_a1", "output": "7"}]
    history[1].pop("content")  # what Codex leaves out: the sealed text is used
    got = client.responses.create(model="tiny", input=history, extra_headers={
        "x-finish": "length"})
    valid(Response, SEEN["body"])
    assert got.status == "incomplete" and got.incomplete_details.reason == "max_output_tokens"

    with client.responses.stream(model="tiny", input="hi", tools=[tool], include=include,
                                 extra_headers=ALL) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    names = events(ResponseStreamEvent, SEEN["body"])
    assert names[:2] == ["response.created", "response.in_progress"]
    assert names[-1] == "response.completed" and "response.output_text.delta" in kinds
    assert final.output_text == TEXT and len(final.output) == 4
    assert len(final.output[1].content[0].logprobs) == 6
    assert json.loads(final.output[2].arguments)["days"] == [1, 2.5]
    numbers = [json.loads(b.split("data: ")[1])["sequence_number"]
               for b in SEEN["body"].strip().split("\n\n")]
    assert numbers == list(range(len(numbers)))
    kinds = [event.type for event in client.responses.create(
        model="tiny", input="hi", stream=True, extra_headers={"x-finish": "length"})]
    assert kinds[-1] == "response.incomplete"
    events(ResponseStreamEvent, SEEN["body"])
    kinds = [event.type for event in client.responses.create(
        model="tiny", input="hi", stream=True, extra_headers={"x-kind": "failed"})]
    assert kinds[-1] == "response.failed"
    events(ResponseStreamEvent, SEEN["body"])


def check_messages(client):
    tool = {"name": "get_weather", "description": "d",
            "input_schema": {"type": "object", "properties": {}}}
    got = client.messages.create(model="tiny", max_tokens=9, messages=USER, tools=[tool],
                                 extra_headers=ALL, system="S",
                                 thinking={"type": "enabled", "budget_tokens": 1024})
    valid(Message, SEEN["body"])
    assert [block.type for block in got.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert got.content[0].thinking == REASONING and got.content[1].text == TEXT
    assert got.content[2].input == {"city": "Köln", "days": [1, 2.5]}
    assert got.stop_reason == "tool_use" and got.stop_sequence is None
    assert (got.usage.input_tokens, got.usage.cache_read_input_tokens) == (4, 8)
    again = USER + [{"role": "assistant", "content": got.content}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_a1", "content": "7"}]}]
    got = client.messages.create(model="tiny", max_tokens=9, messages=again,
                                 stop_sequences=["END"],
                                 extra_headers={"x-finish": "stop_string"})
    assert (got.stop_reason, got.stop_sequence) == ("stop_sequence", "END")
    for finish, reason in (("length", "max_tokens"), ("stop", "end_turn")):
        got = client.messages.create(model="tiny", max_tokens=9, messages=USER,
                                     extra_headers={"x-finish": finish})
        assert got.stop_reason == reason

    with client.messages.stream(model="tiny", max_tokens=9, messages=USER, tools=[tool],
                                extra_headers=ALL) as stream:
        final = stream.get_final_message()
    names = events(RawMessageStreamEvent, SEEN["body"])
    assert names[:2] == ["message_start", "ping"] and names[-2:] == [
        "message_delta", "message_stop"]
    assert [block.type for block in final.content] == [
        "thinking", "text", "tool_use", "tool_use"]
    assert final.content[0].thinking == REASONING and final.content[0].signature == "tinkc1"
    assert final.content[2].input == {"city": "Köln", "days": [1, 2.5]}
    assert final.stop_reason == "tool_use" and final.usage.output_tokens == 6
    count = client.messages.count_tokens(model="tiny", messages=USER)
    valid(MessageTokensCount, SEEN["body"])
    assert count.input_tokens == 17


def refused(kind, call, *words):
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError("not refused: " + " ".join(words))


def check_errors(oai, ant):
    error = refused(openai.BadRequestError, lambda: oai.chat.completions.create(
        model="tiny", messages=USER, tool_choice="required", tools=[TOOL]), "tool_choice")
    assert (error.param, error.type) == ("tool_choice", "invalid_request_error")
    for call in (lambda: oai.chat.completions.create(model="tiny", messages=USER,
                                                     extra_headers={"x-kind": "error"}),
                 lambda: oai.completions.create(model="tiny", prompt="a",
                                                extra_headers={"x-kind": "error"}),
                 lambda: oai.responses.create(model="tiny", input="a",
                                              extra_headers={"x-kind": "error"})):
        error = refused(openai.BadRequestError, call, "1024", "2000")
        assert error.code == "context_length_exceeded"
    refused(anthropic.BadRequestError, lambda: ant.messages.create(
        model="tiny", max_tokens=1, messages=USER, extra_headers={"x-kind": "error"}),
        "prompt is too long: 2000 tokens > 1024 maximum")
    valid(ErrorResponse, SEEN["body"])
    refused(openai.APIError, lambda: list(oai.chat.completions.create(
        model="tiny", messages=USER, stream=True, extra_headers={"x-kind": "failed"})),
        "the model went away")
    refused(anthropic.APIStatusError, lambda: list(ant.messages.create(
        model="tiny", max_tokens=1, messages=USER, stream=True,
        extra_headers={"x-kind": "failed"})), "the model went away")


def check_models(oai, ant):
    assert [m.id for m in oai.models.list()] == ["tiny", "other"]
    assert oai.models.retrieve("tiny").max_model_len == 1024
    valid(Model, SEEN["body"])
    assert [m.id for m in ant.models.list()] == ["tiny", "other"]
    assert ant.models.retrieve("tiny").max_input_tokens == 1024
    valid(ModelInfo, SEEN["body"])


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % server.server_port
    oai = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    ant = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    checks = [(check_chat, (oai,)), (check_text, (oai,)), (check_responses, (oai,)),
              (check_messages, (ant,)), (check_errors, (oai, ant)), (check_models, (oai, ant))]
    for check, clients in checks:
        check(*clients)
    server.shutdown()
    if sys.argv[2:3] == ["--record"]:
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in RECORD)
    print("openai %s and anthropic %s: %d checks of bodies, streams, errors and models passed" %
          (openai.__version__, anthropic.__version__, len(checks)))


main()
