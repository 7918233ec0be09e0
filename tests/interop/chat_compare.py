"""Chat templates: our output or refusal against that of jinja2 set up as transformers does.

    chat_compare.py PROGRAM TEMPLATES.json [CONVERSATIONS]

TEMPLATES.json is {name: source}. Ends with 1 on a difference. Refusals
that are not differences are counted apart: templates that jinja2 itself does not compile, and renders
that print the address of an object (nothing could match that).
"""
import json
import re
import subprocess
import sys

import chat_env

ADDRESS = re.compile(r" at 0x[0-9a-f]+>")


def ours(program, source, conversations):
    line = json.dumps({"template": source, "conversations": conversations,
                       "now_us": chat_env.NOW_US}, ensure_ascii=False)
    done = subprocess.run([program], input=line + "\n", capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        return [{"error": f"program ended with {done.returncode}: {done.stderr}", "code": "crash"}
                ] * len(conversations)
    return [json.loads(answer) for answer in done.stdout.split("\n")[:-1]]


def verdict(text, error, answer):
    if text is not None and ADDRESS.search(text):
        return "address"
    if error is None:
        return "equal" if answer.get("text") == text else "different"
    return "both refuse" if "error" in answer and answer["code"] != "crash" else "only jinja2 refuses"


def main():
    program, path = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    templates = json.load(open(path, encoding="utf-8"))
    conversations = [chat_env.conversation(seed) for seed in range(count)]
    env = chat_env.environment()
    totals, bad = {}, 0
    for name, source in sorted(templates.items()):
        template = chat_env.compiled(env, source)
        answers = ours(program, source, conversations)
        shown = 0
        for seed, (variables, answer) in enumerate(zip(conversations, answers)):
            text, error = chat_env.render(template, variables)
            result = verdict(text, error, answer)
            totals[result] = totals.get(result, 0) + 1
            if result in ("different", "only jinja2 refuses"):
                bad += 1
                if shown < 1 and bad < 400:
                    shown += 1
                    print(f"{name} #{seed}: {result}\n  jinja2: {error or text!r:.600}\n"
                          f"  ours:   {answer.get('error') or answer.get('text')!r:.600}")
    print(f"{len(templates)} templates, {count} conversations each: "
          + ", ".join(f"{n} {what}" for what, n in sorted(totals.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
