#!/usr/bin/env python3
"""An agent for `tinkc rl`: asks the model a question, and is rewarded when the answer is right.

The task is a JSON line on standard input (and in TINKC_TASK), the model is at OPENAI_BASE_URL, and
the last line of the output is the reward. Nothing but the standard library. docs/guide/rl.md
explains it.

    tinkc rl --local --tasks examples/data/sums.jsonl --eval examples/data/sums-held-out.jsonl \\
        --agent 'python3 examples/rl/agent.py'
"""
import json
import os
import sys
import urllib.request


def ask(messages):
    """Sends the conversation; returns the model's message."""
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "max_tokens": 16}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def main():
    task = json.load(sys.stdin)
    said = ask([{"role": "user", "content": task["question"]}])["content"] or ""
    print(json.dumps({"reward": float(said.strip() == task["answer"]), "length": len(said)}))


if __name__ == "__main__":
    main()
