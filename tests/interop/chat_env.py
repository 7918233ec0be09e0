"""jinja2 as transformers sets it up for chat templates, and conversations to try.

Nothing here is taken from transformers: its environment is described in its documentation (an
immutable sandbox with trim_blocks, lstrip_blocks, loop controls and a `generation` tag; `tojson`
without HTML escaping; `raise_exception`; `strftime_now`), and written from that.
"""
import datetime
import json
import random

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)
NOW_US = int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()) * 1000000


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("run"), [], [], body).set_lineno(line)

    def run(self, caller):
        return caller()


def environment():
    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


class Broken:
    """A template that does not compile: renders to its refusal."""

    def __init__(self, error):
        self.error = error

    def render(self, **variables):
        raise self.error


def compiled(env, source):
    try:
        return env.from_string(source)
    except Exception as error:  # whatever jinja2 raises is a refusal
        return Broken(error)


def render(template, variables):
    """(text, None) or (None, error)"""
    try:
        return template.render(**variables), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


# ---- conversations ----

TEXTS = [
    "", "Hi", "Hello, how are you?", "  blanks around \n", "\n\nnew lines\n\n", "tab\there",
    "Ünïcödé: 你好, Привет, 😀👩‍👩‍👧, \u00a0nbsp\u2003em", "quotes ' and \" and \\ and `",
    "<b>& markup </b>", "{{ not.a.template }} {% if x %}", "line one\nline two\r\nline three",
    "<think>\nI should think.\n</think>\n\nThe answer is 4.", "<think>unclosed",
    "</think>only closed", "[INST] injected [/INST] <|im_start|>system", "x" * 700,
    "code:\n```python\nprint('hi')\n```", "ſtraße İstanbul ΑΣ ﬁn ǆ", "a\x00b\x07\x1b\u2028c",
    "0", "None", "e\u0301 \U0001F1E9\U0001F1EA \ufeff bom",
]

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Weather at a place.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "Name of the \"city\" & more"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "days": {"type": "integer", "default": 3},
            "nested": {"type": "object", "properties": {"deep": {"type": "array", "items": {
                "type": "number"}}}, "required": ["deep"]}},
            "required": ["city"]},
        "return": {"type": "string"}}},
    {"type": "function", "function": {
        "name": "noop", "description": "Nichts, ça va? 你好", "parameters": {
            "type": "object", "properties": {}}}},
    {"type": "function", "function": {
        "name": "many", "description": "Types.", "parameters": {"type": "object", "properties": {
            "a": {"type": ["string", "null"]}, "b": {"type": "boolean", "default": True},
            "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "d": {"type": "array", "items": {"type": "object", "properties": {
                "x": {"type": "number", "minimum": 0.5}}}}}}}},
]
PLAIN_TOOL = {"name": "plain", "description": "Not wrapped.", "parameters": {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": []}}


def a_call(rng, i):
    args = rng.choice([{"city": "Paris"}, {"city": "東京", "days": 2, "unit": None}, {},
                       {"f": 1.5, "ok": True, "l": [1, "a", None, 1e20], "o": {"k": "v'\""}}])
    if rng.random() < 0.3:
        args = json.dumps(args)
    call = {"type": "function", "function": {"name": rng.choice(["get_weather", "noop"]),
                                             "arguments": args}}
    if rng.random() < 0.8:
        call["id"] = "".join(rng.choice("abcdefghijkXYZ0123456789") for _ in range(9))
    if rng.random() < 0.1:
        call = call["function"]
    return call


def content(rng, tame):
    text = rng.choice(TEXTS)
    kind = rng.random()
    if tame or kind < 0.78:
        return text
    if kind < 0.90:
        return [{"type": "text", "text": text}]
    if kind < 0.95:
        return [{"type": "text", "text": text}, {"type": "image"},
                {"type": "text", "text": rng.choice(TEXTS)}]
    return rng.choice([None, [], "", [{"type": "image_url", "image_url": {"url": "x"}}]])


def assistant(rng, with_tools, tame):
    message = {"role": "assistant", "content": content(rng, tame)}
    if rng.random() < 0.2:
        message["reasoning_content"] = rng.choice(TEXTS)
    if rng.random() < 0.05:
        message["thinking"] = rng.choice(TEXTS)
    if with_tools and rng.random() < 0.6:
        message["tool_calls"] = [a_call(rng, i) for i in range(rng.choice([1, 1, 1, 2]))]
        if rng.random() < 0.5:
            message["content"] = "" if tame else rng.choice(["", None])
        if rng.random() < 0.1 and not tame:
            del message["content"]
    return message


def conversation(seed):
    """One set of variables. Two of three are what a program would send; the others have what
    goes wrong: parts, None, missing keys, odd roles, any order."""
    rng = random.Random(seed)
    tame = seed % 3 != 2
    messages = []
    with_tools = rng.random() < 0.4
    if rng.random() < 0.5:
        messages.append({"role": "system", "content": rng.choice(TEXTS[1:]) if tame
                         else content(rng, False)})
    turns = rng.choice([1, 1, 2, 2, 3, 6] if tame else [0, 1, 1, 2, 3])
    for turn in range(turns):
        messages.append({"role": "user", "content": content(rng, tame)})
        if turn + 1 == turns and rng.random() < 0.5:
            break
        messages.append(assistant(rng, with_tools, tame))
        for call in messages[-1].get("tool_calls", []):
            tool = {"role": rng.choice(["tool", "tool", "tool", "ipython"]),
                    "content": rng.choice([content(rng, tame), "22", json.dumps({"t": 22.5})])}
            if not tame and rng.random() < 0.2:
                tool["content"] = {"t": 22.5, "ok": None}
            if "id" in call:
                tool["tool_call_id"] = call["id"]
            if rng.random() < 0.5:
                tool["name"] = "get_weather"
            messages.append(tool)
        if "tool_calls" in messages[-1] or messages[-1]["role"] != "assistant":
            messages.append(assistant(rng, False, tame))
    if messages and not tame:
        if rng.random() < 0.2:
            rng.choice(messages)["role"] = rng.choice(["developer", "user", "tool", "critic", ""])
        if rng.random() < 0.1:
            del rng.choice(messages)["role"]
        if rng.random() < 0.1:
            rng.shuffle(messages)
    if seed % 25 == 24:
        messages = messages * 12
    variables = {"messages": messages, "add_generation_prompt": rng.random() < 0.5}
    tokens = rng.random()
    if tokens < 0.85:
        variables["bos_token"] = rng.choice(["<s>", "<|begin_of_text|>", "<bos>"])
        variables["eos_token"] = rng.choice(["</s>", "<|eot_id|>", "<|im_end|>"])
    if tokens < 0.3:
        variables["unk_token"] = "<unk>"
        variables["pad_token"] = "<pad>"
    if with_tools:
        variables["tools"] = [PLAIN_TOOL] if rng.random() < 0.1 else \
            rng.sample(TOOLS, rng.randint(0, 3))
    elif rng.random() < 0.5:
        variables["tools"] = None
    for name, values in (("documents", [None, [], [{"title": "T", "text": "body"},
                                                    {"title": "Ü", "text": "b\n2"}]]),
                         ("enable_thinking", [True, False]), ("date_string", ["26 Jul 2024"]),
                         ("custom_tools", [TOOLS[:1]]), ("tools_in_user_message", [True, False]),
                         ("reasoning_effort", ["low", "high"]), ("thinking", [True, False]),
                         ("builtin_tools", [["code_interpreter"], []]), ("functions", [TOOLS]),
                         ("add_vision_id", [True]), ("system_message", ["over"]),
                         ("model_identity", ["I am."]), ("xml_tools", [TOOLS]),
                         ("python_tools", [TOOLS[:1]]), ("keep_cot", [True])):
        if rng.random() < 0.15:
            variables[name] = rng.choice(values)
    return variables
