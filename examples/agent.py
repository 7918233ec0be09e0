#!/usr/bin/env python3
"""An agent with a tool, over the OpenAI endpoint, with nothing but the standard library.

It asks for the time, runs the tool when the model calls it, rewards the episode, and shows the
tokens that were sampled. docs/guide/agents.md explains it.

    tinkc launch --local openai -- python3 examples/agent.py
    OPENAI_BASE_URL=http://127.0.0.1:8000/e/my-episode/v1 python3 examples/agent.py
"""
import json
import os
import urllib.request

BASE = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/e/example-py/v1").rstrip("/")
KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "tinkc/pebble-llama-2m")
SERVER, _, REST = BASE.partition("/e/")
EPISODE = REST.split("/")[0]
TOOLS = [{"type": "function", "function": {
    "name": "clock", "description": "Says what time it is.",
    "parameters": {"type": "object", "properties": {}}}}]


def ask(url, body=None):
    """Sends JSON, or asks without a body; returns the JSON of the answer."""
    headers = {"Content-Type": "application/json"}
    if KEY:
        headers["Authorization"] = "Bearer " + KEY
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def run():
    """The loop of every agent: ask, run what is called, ask again."""
    messages = [{"role": "user", "content": "What time is it?"}]
    for _ in range(4):
        answer = ask(BASE + "/chat/completions", {
            "model": MODEL, "messages": messages, "tools": TOOLS, "max_tokens": 64, "temperature": 0})
        message = answer["choices"][0]["message"]
        messages.append(message)
        calls = message.get("tool_calls") or []
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "12:00"})
        if not calls:
            break
    return messages[-1]["content"]


def main():
    said = run()
    print("said:", said)
    episodes = SERVER + "/tinkc/v1/episodes/" + EPISODE
    ask(episodes + "/reward", {"reward": 1.0 if "12:00" in (said or "") else 0.0})
    episode = ask(episodes)
    for sequence in episode["sequences"]:
        print("sequence of", len(sequence["tokens"]), "tokens,", sum(sequence["mask"]),
              "sampled, reward", sequence["reward"])


if __name__ == "__main__":
    main()
