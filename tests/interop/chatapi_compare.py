"""Tool calls through real chat templates: jinja2 writes an answer with calls as each template
writes it, our parser takes it apart, and both must be the same message.

    chatapi_compare.py PROGRAM TEMPLATES.json [-v]

What a template makes of the answer is the evidence here: it was written by the people who trained
the model. Templates that refuse the conversation, or write no calls, are counted and listed.
"""
import json
import re
import subprocess
import sys

import chat_env

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "a city"},
            "days": {"type": "integer", "description": "how many"},
            "hourly": {"type": "boolean", "description": "by the hour"},
            "where": {"type": "object", "description": "a place", "properties": {}},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "words"}},
            "required": ["city"]}}},
    {"type": "function", "function": {
        "name": "now", "description": "The time.",
        "parameters": {"type": "object", "properties": {}}}},
]
ARGUMENTS = [
    {"city": "Paris"},
    {"city": "São José \"quoted\" \\ {x} <b>\nline", "days": 3},
    {"city": "</tool", "hourly": True, "tags": ["a", "b c"], "where": {"lat": 1.5, "of": {"n": None}}},
    {},
]
USER = {"role": "user", "content": "What is the weather?"}
# How a turn ends, as a special token that the sampler gives; what follows is the template's.
ENDS = ["<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>", "<｜end▁of▁sentence｜>", "<|observation|>",
        "<|user|>", "<|end_of_text|>", "<|return|>", "<eos>", "[EOS]", "<|endoftext|>", "<sep>",
        "<|eot|>", "</assistant>", "<|role_end|>"]
SPECIAL = ["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "<|python_tag|>", "<|python_start|>",
           "<|python_end|>", "<|channel|>",
           "<|start|>", "<|message|>", "<|end|>", "<|call|>", "<|constrain|>",
           "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
           "<|tool_call_end|>", "<|tool_call_argument_begin|>", "<｜tool▁calls▁begin｜>",
           "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"]
# Templates by name, and their family: one that is not found would not be compared.
FAMILIES = {
    "Qwen-Qwen3-0.6B": "hermes", "Qwen-Qwen2.5-7B-Instruct": "hermes", "Qwen-QwQ-32B": "hermes",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes", "ibm-granite-granite-4.0": "hermes",
    "Qwen3-Coder": "qwen-coder", "Qwen3.5-4B": "qwen-coder",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen-coder",
    "meta-llama-Llama-3.1-8B-Instruct": "llama3", "meta-llama-Llama-3.2-3B-Instruct": "llama3",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral", "Mistral-Small-3.2-24B-Instruct-2506": "mistral",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral",
    "deepseek-ai-DeepSeek-V3.1": "deepseek", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek",
    "moonshotai-Kimi-K2": "kimi", "Kimi-K2-Thinking": "kimi", "Kimi-K2-Instruct": "kimi",
    "GLM-4.6": "glm", "GLM-4.7-Flash": "glm", "openai-gpt-oss-120b": "harmony",
    "deepseek-ai-DeepSeek-V3.2": "dsml", "deepseek-ai-DeepSeek-V4": "dsml",
    "google-gemma-2-2b-it": "none", "MiniMax-M2": "none",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "none", "Kimi-K3": "none",
    "meetkai-functionary-medium-v3.1": "none", "MiniMax-M3": "none", "unsloth-Apriel-1.5": "none",
}
SPLIT = re.compile("(" + "|".join(map(re.escape, SPECIAL + ENDS)) + ")")


def answers():
    """Assistant messages: (name, message, how many calls)."""
    for n, arguments in enumerate(ARGUMENTS):
        name = "get_weather" if arguments else "now"
        yield f"call {n}", "", "", [(name, arguments)]
    yield "text and call", "I look it up.", "", [("get_weather", ARGUMENTS[1])]
    yield "two calls", "", "", [("get_weather", ARGUMENTS[2]), ("now", {})]
    yield "text and two calls", "Both.", "", [("now", {}), ("get_weather", ARGUMENTS[0])]
    yield "reasoning and call", "", "First\n\nthis.", [("get_weather", ARGUMENTS[0])]
    yield "reasoning", "Sunny.", "I know it.", []
    yield "text", "It is sunny, 21 °C.", "", []


def message(text, reasoning, calls, as_text):
    out = {"role": "assistant", "content": text}
    if reasoning:
        out["reasoning_content"] = out["thinking"] = reasoning
    if calls:
        out["tool_calls"] = [
            {"type": "function", "id": f"call{n:05}", "function": {
                "name": name,
                "arguments": json.dumps(arguments, ensure_ascii=False) if as_text else arguments}}
            for n, (name, arguments) in enumerate(calls)]
    return out


# What a template may write at the start of an assistant's turn and a sampler would not: the role,
# and the end of reasoning that was switched off.
START = re.compile(r"\s*(?:<｜Assistant｜>)?\s*</think>|.*\[/INST\]"
                   r"|<\|header_start\|>assistant<\|header_end\|>\s*", re.S)


def cut(prompt, whole):
    """Where the answer begins: after what the prompt and the whole text have in common, and not
    inside a marker."""
    at = 0
    while at < min(len(prompt), len(whole)) and prompt[at] == whole[at]:
        at += 1
    opened = whole.rfind("<", 0, at)
    if at < len(prompt) and opened >= 0 and at - opened < 16 and ">" not in whole[opened:at]:
        at = opened
    start = START.match(whole, at) if at < len(prompt) else None
    return start.end() if start else at


def cases(env, source):
    """Yields (name, text, reasoning, calls, prompt, answer) that the template renders."""
    template = chat_env.compiled(env, source)
    base = {"bos_token": "<s>", "eos_token": "</s>", "tools": TOOLS, "enable_thinking": True}
    for name, text, reasoning, calls in answers():
        found = None
        for as_text in (False, True) if calls else (False,):
            last = message(text, reasoning, calls, as_text)
            prompt, _ = chat_env.render(template, {**base, "messages": [USER],
                                                   "add_generation_prompt": True})
            whole, _ = chat_env.render(template, {**base, "messages": [USER, last],
                                                  "add_generation_prompt": False})
            if prompt is None or whole is None:
                continue
            # The first form whose arguments the template writes as an object, not as a text.
            if found is None or '"{' in found[1]:
                found = prompt, whole
        if found is not None:
            prompt, whole = found
            at = cut(prompt, whole)
            yield name, text, reasoning, calls, whole[:at], whole[at:]


def pieces(answer):
    """The answer up to the end of the turn, special tokens by themselves (one template of R1 writes
    text after calls as a turn of its own)."""
    out = []
    for part in SPLIT.split(answer):
        if part in ENDS:
            out.append([part, True])
            break
        if part:
            out.append([part, part in SPECIAL])
    return out


def normal(calls):
    return [[name, json.loads(arguments) if isinstance(arguments, str) else arguments]
            for name, arguments, *_ in calls]


def judge(got, text, reasoning, calls, answer):
    """None when it is the same message; else what differs."""
    if got["malformed"]:
        return "malformed"
    if got["tools"] == "harmony" and text and calls:
        text, reasoning = "", text  # its template writes it so
    if normal(got["calls"]) != normal(calls):
        return "calls"
    shown = "".join(part for part, _ in pieces(answer))
    written = reasoning and reasoning in answer  # several templates forget reasoning
    if got["reasoning"].strip() != (reasoning if written else ""):
        return "reasoning"
    if text in shown and got["text"].strip() != text:
        return "text"
    return None


def main():
    program, templates, verbose = sys.argv[1], sys.argv[2], "-v" in sys.argv
    env = chat_env.environment()
    sources = json.load(open(templates, encoding="utf-8"))
    lines, rows = [], []
    for name, source in sources.items():
        for case, text, reasoning, calls, prompt, answer in cases(env, source):
            lines.append(json.dumps({"template": source, "prompt": prompt, "tools": TOOLS,
                                     "pieces": pieces(answer)}, ensure_ascii=False))
            rows.append((name, case, text, reasoning, calls, answer))
        lines.append(json.dumps({"template": source, "prompt": "", "tools": [], "pieces": []}))
        rows.append((name, None, "", "", [], ""))
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          check=True)
    wrong, families, skipped = 0, {}, 0
    for row, line in zip(rows, done.stdout.splitlines(), strict=True):
        name, case, text, reasoning, calls, answer = row
        got = json.loads(line)
        family = families.setdefault(got["tools"], [set(), 0])
        if case is None:
            family[0].add(name)
            if FAMILIES.get(name, got["tools"]) != got["tools"]:
                wrong += 1
                print(f"{name} is {got['tools']}, not {FAMILIES[name]}")
            if verbose:
                print(name, got["tools"], got["think"], got["prompted"])
            continue
        # Text between the markers of another family; one call of two (gpt-oss); Python instead of
        # JSON; JSON right after text, which only a Llama template of vLLM's writes.
        if got["tools"] == "none" or any(call not in answer for call, _ in calls) or "{'" in answer \
                or (got["tools"] == "llama3" and calls and text and text + "{" in answer):
            skipped += 1
            continue
        problem = judge(got, text, reasoning, calls, answer)
        family[1] += problem is None
        if problem is not None:
            wrong += 1
            print(f"{name} ({got['tools']}), {case}: {problem}\n  answer {answer!r}\n  got {got}")
    for tools, (names, right) in sorted(families.items()):
        print(f"{tools}: {len(names)} templates, {right} answers taken apart as they were made")
    print(f"{len(sources)} templates, {wrong} differences, {skipped} answers that the template or no family writes")
    return 1 if wrong or len(families) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
