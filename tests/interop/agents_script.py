"""A Tinker server whose samples are written here: a proxy in front of `tinkc serve`.

Tokenizer, template, sessions and everything else are the server's; it also samples, one token
each time, which the proxy replaces by the ids of what `script` returns for the text of the prompt. A task
is a prompt with TASK in it: the first answer calls a tool, the next one tells what came of it.
"""
import json
import re

from gateway_proxy import Proxy

TASK = "tinkc-task"
PROOF = "token-42"
COMMAND = "echo token-$((6 * 7)) > proof.txt && cat proof.txt"
MESSAGE = re.compile(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>", re.S)
# tools that run a command, by name: their arguments
SHELLS = {
    "Bash": {"command": COMMAND, "description": "Writes the proof"},
    "bash": {"command": COMMAND, "description": "Writes the proof"},
    "exec_command": {"cmd": COMMAND},
    "shell_command": {"command": COMMAND},
    "shell": {"command": ["bash", "-lc", COMMAND]},
    "add": {"a": 40, "b": 2},
}


def tools_of(text):
    """Names of the tools that the template showed."""
    names = []
    for line in text.splitlines():
        if line.startswith('{"type": "function"'):
            names.append(json.loads(line)["function"]["name"])
    return names


def script(prompt):
    """The answer to a prompt, as text."""
    messages = MESSAGE.findall(prompt)
    if TASK not in prompt:
        return "Something else"  # agents also ask for titles and the like
    results = [text.split("\n", 1)[1].rsplit("\n", 1)[0] for role, text in messages if role == "tool"]
    if results:
        return f"<think>\nIt is done.\n</think>\n\nThe tool says: {results[-1]}"
    tools = tools_of(prompt)
    name = next((n for n in SHELLS if n in tools), None)
    if name is None:
        return f"No tool that I know: {', '.join(tools)}"
    call = json.dumps({"name": name, "arguments": SHELLS[name]})
    return f"<think>\nA tool helps.\n</think>\n\nI call it.\n<tool_call>\n{call}\n</tool_call>"


class Scripted(Proxy):
    def __init__(self, target, tok, end):
        self.tok, self.end, self.waiting, self.prompts = tok, tok.token_to_id(end), {}, []
        super().__init__(target)

    def asks(self, path, body):
        if path.endswith(("/asample", "/stream_sample")):
            request = json.loads(body)
            request["sampling_params"]["max_tokens"] = 1
            body = json.dumps(request).encode()
        return body

    def sample(self, body):
        ids = [i for chunk in json.loads(body)["prompt"]["chunks"] for i in chunk["tokens"]]
        prompt = self.tok.decode(ids, skip_special_tokens=False)
        out = self.tok.encode(script(prompt), add_special_tokens=False).ids + [self.end]
        with self.lock:
            self.prompts.append(prompt)
            self.samples[len(self.samples)] = [ids, [[out, [-0.5] * len(out)]]]
        return out

    def note(self, path, status, body, data):
        pass

    def answers(self, path, body, data):
        if path.endswith("/stream_sample"):
            return self.stream(self.sample(body))
        if path.endswith("/asample"):
            self.waiting[json.loads(data)["request_id"]] = self.sample(body)
        elif path.endswith("/retrieve_future"):
            return json.dumps(self.filled(json.loads(body)["request_id"], json.loads(data))).encode()
        elif path.endswith("/retrieve_futures"):
            answer = json.loads(data)
            for row in answer.get("futures", []):
                self.filled(row.get("request_id"), row.get("result") or row)
            return json.dumps(answer).encode()
        return data

    def stream(self, ids):
        events = [{"token_id": i, "logprob": -0.5, "index": n} for n, i in enumerate(ids)]
        events.append({"finish_reason": "stop", "total_tokens": len(ids)})
        return "".join(f"data: {json.dumps(e)}\n\n" for e in events).encode()

    def filled(self, name, answer):
        if isinstance(answer, dict) and "sequences" in answer and name in self.waiting:
            ids = self.waiting[name]
            answer["sequences"] = [dict(s, tokens=ids, logprobs=[-0.5] * len(ids), stop_reason="stop")
                                   for s in answer["sequences"]]
        return answer
