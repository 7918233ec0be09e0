"""A tool call and its result, by clients and by agents that `tinkc launch` starts.

    agents_tools.py PROGRAM WORK NODE_MODULES [AGENT...]

`tinkc gateway` stands in front of a server with scripted samples (agents_script.py). The result of the tool
is in the last answer, and the exported episode has exactly the ids that went over the wire. An agent that
does not start is a failure, unless TINKC_AGENTS_OPTIONAL is 1.
"""
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import anthropic
import litellm
import openai

import agents_model
from agents_model import Table
from agents_script import PROOF, TASK, Scripted

litellm.suppress_debug_info = True
NAME = "tiny"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
TOOL = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
ASK = f"{TASK}: what is 40 + 2?"


def run_tool(name, arguments):
    assert (name, arguments) == ("add", {"a": 40, "b": 2}), (name, arguments)
    return PROOF


# ---- clients: each returns the text of its last answer ----

def of_chat(ask):
    """A conversation with chat completions; `ask` sends messages and returns one."""
    messages = [{"role": "user", "content": ASK}]
    m = ask(messages)
    calls = m.tool_calls
    messages.append({"role": "assistant", "content": m.content, "tool_calls": [
        {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
        for c in calls]})
    for c in calls:
        result = run_tool(c.function.name, json.loads(c.function.arguments))
        messages.append({"role": "tool", "tool_call_id": c.id, "content": result})
    return ask(messages).content


def chat_openai(url):
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", "function": TOOL}]
    return of_chat(lambda messages: client.chat.completions.create(
        model=NAME, messages=messages, tools=tools).choices[0].message)


def chat_stream_openai(url):
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", "function": {**TOOL, "strict": False}}]

    def ask(messages):
        with client.chat.completions.stream(model=NAME, messages=messages, tools=tools) as s:
            return s.get_final_completion().choices[0].message
    return of_chat(ask)


def responses_openai(url):
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    items, tools = [{"role": "user", "content": ASK}], [{"type": "function", **TOOL, "strict": False}]
    r = client.responses.create(model=NAME, input=items, tools=tools)
    items += [o.model_dump(exclude_none=True) for o in r.output]
    for o in r.output:
        if o.type == "function_call":
            items.append({"type": "function_call_output", "call_id": o.call_id,
                          "output": run_tool(o.name, json.loads(o.arguments))})
    with client.responses.stream(model=NAME, input=items, tools=tools) as s:
        return s.get_final_response().output_text


def messages_anthropic(url, is_stream=False):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    messages = [{"role": "user", "content": ASK}]
    tools = [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]

    def ask():
        options = dict(model=NAME, max_tokens=500, messages=messages, tools=tools)
        if not is_stream:
            return client.messages.create(**options)
        with client.messages.stream(**options) as s:
            return s.get_final_message()
    r = ask()
    assert r.stop_reason == "tool_use", r
    messages.append({"role": "assistant", "content": r.content})
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": b.id, "content": run_tool(b.name, b.input)}
        for b in r.content if b.type == "tool_use"]})
    return ask().content[-1].text


def messages_stream_anthropic(url):
    return messages_anthropic(url, True)


def chat_litellm(url):
    tools = [{"type": "function", "function": TOOL}]
    return of_chat(lambda messages: litellm.completion(
        model=f"openai/{NAME}", api_base=url + "/v1", api_key="none", messages=messages,
        tools=tools).choices[0].message)


def chat_stream_litellm(url):
    tools = [{"type": "function", "function": TOOL}]

    def ask(messages):
        chunks = list(litellm.completion(model=f"openai/{NAME}", api_base=url + "/v1", api_key="none",
                                         messages=messages, tools=tools, stream=True))
        return litellm.stream_chunk_builder(chunks).choices[0].message
    return of_chat(ask)


def messages_litellm(url):
    tools = [{"type": "function", "function": TOOL}]
    return of_chat(lambda messages: litellm.completion(
        model=f"anthropic/{NAME}", api_base=url, api_key="none", messages=messages, tools=tools,
        max_tokens=500).choices[0].message)


CLIENTS = {
    "openai": {"chat": chat_openai, "chat, stream": chat_stream_openai, "responses": responses_openai},
    "anthropic": {"messages": messages_anthropic, "messages, stream": messages_stream_anthropic},
    "litellm": {"chat": chat_litellm, "chat, stream": chat_stream_litellm, "messages": messages_litellm},
}

# ---- agents: what follows `tinkc launch AGENT --` ----

WORK = f"{TASK}: write the proof with your shell, then tell me what it says."
AGENTS = {
    "claude": ["-p", WORK, "--allowedTools", "Bash"],
    "codex": ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", WORK],
    "opencode": ["run", WORK],
}


def export(url, name):
    with urllib.request.urlopen(f"{url}/tinkc/v1/episodes/{name}") as answer:
        return json.load(answer)


def check_export(proxy, url, name):
    """One sequence with the whole task; every sequence is a prompt and a sample of the wire."""
    wire = [prompt + sampled for prompt, [[sampled, _]] in proxy.samples.values()]
    episode = export(url, name)
    sequences = episode["sequences"]
    for s in sequences:
        assert s["tokens"] in wire, f"{name}: a sequence that was not on the wire"
    tasks = [s for s in sequences if sum(s["mask"]) and len(s["turns"]) > 1]
    assert tasks, f"{name}: no turn continues one: {[(t['origin'], t['why']) for t in episode['turns']]}"
    return f"{len(episode['turns'])} turns"


def round_trip(function, proxy, url, name):
    said = function(f"{url}/e/{name}")
    assert PROOF in said and said.startswith("The tool says"), said
    return check_export(proxy, url, name)


def launch(program, agent, words, proxy, url, work):
    """Starts it in an empty directory, with a home of its own."""
    place, name = work / agent, f"run-{agent}"
    (place / "home").mkdir(parents=True)
    (place / "work").mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "ANTHROPIC", "OPENAI", "CLAUDE"))}
    env |= {"HOME": str(place / "home"), "PWD": str(place / "work")}
    done = subprocess.run(
        [program, "launch", "--url", url, "-m", NAME, "--episode", name, agent, "--", *words],
        cwd=place / "work", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, timeout=300)
    (place / "stdout").write_text(done.stdout)
    (place / "stderr").write_text(done.stderr)
    tail = f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert done.returncode == 0, tail
    assert (place / "work/proof.txt").exists(), "the tool was not run: " + tail
    assert "The tool says" in done.stdout and PROOF in done.stdout, tail
    assert f"episodes/{name}" in done.stderr, tail
    return check_export(proxy, url, name)


def version(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0 if done.stdout[0].isdigit() else -1]


def run_agents(table, program, modules, proxy, url, work):
    programs = pathlib.Path(modules) / ".bin"
    os.environ["PATH"] = f"{programs.resolve()}:{os.environ['PATH']}"
    for agent, words in AGENTS.items():
        try:
            row = f"{agent} {version(str(programs / agent))}"
        except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
            print(f"{agent} does not start here: {str(error)[:300]}", flush=True)
            table.set(agent, "launch", "not run")
            table.failed += os.environ.get("TINKC_AGENTS_OPTIONAL") != "1"
            continue
        table.check(row, "launch", launch, program, agent, words, proxy, url, work)


def main():
    program, work = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2])
    only = sys.argv[4:]
    tok, end = agents_model.make(work / NAME)
    server, base = agents_model.start(program, "serve", "--port", "0", "--data", str(work / "data"),
                                      str(work / NAME))
    proxy = Scripted(base, tok, end)
    gateway, url = agents_model.start_gateway(program, work / "episodes", proxy.url, "-m", NAME)
    table = Table("tool call")
    try:
        for client, checks in CLIENTS.items():
            for column, function in checks.items():
                table.check(f"{client} {importlib.metadata.version(client)}", column, round_trip, function,
                            proxy, url, f"{client}-{column.replace(', ', '-')}")
        for agent in list(AGENTS):
            if only and agent not in only:
                del AGENTS[agent]
        run_agents(table, program, sys.argv[3], proxy, url, work)
    finally:
        (work / "prompts.json").write_text(json.dumps(proxy.prompts))
        for process in (gateway, server):
            process.terminate()
            table.failed += process.wait(60) != 0
    table.show()
    sys.stdout.flush()
    os._exit(bool(table.failed))  # litellm's threads would go on


if __name__ == "__main__":
    main()
