#!/usr/bin/env python3
"""Records what jinja2, set up as transformers does, makes of our own templates, into
tests/data/text/chat.json; the tests compare the interpreter with that.

    scripts/record-chat.py            record (needs jinja2 3.1.6)
    scripts/record-chat.py --check    compare with the tree
"""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "interop"))
sys.dont_write_bytecode = True
import chat_env  # noqa: E402

OUT = ROOT / "tests" / "data" / "text" / "chat.json"
FAMILIES = ROOT / "tests" / "data" / "text" / "templates"
SNIPPETS = ROOT / "tests" / "data" / "text" / "snippets.txt"
CONVERSATIONS = 24

VARIABLES = {
    "s": "Hello World", "e": "", "u": "Ünï 你好 😀 ΑΣ ß", "ws": "  \t x y \n", "n": None, "t": True,
    "f": False, "i": 7, "neg": -3, "fl": 2.5, "big": 1e20, "l": [3, 1, 2], "el": [],
    "mixed": [1, "a", None, 2.0, True, [1], {"k": "v'"}], "d": {"b": 1, "a": 2, "C": 3},
    "items": {"items": 5, "get": 6}, "nested": {"a": {"b": [{"c": "deep"}]}},
    "people": [{"name": "bo", "age": 3}, {"name": "Al", "age": 30}, {"name": "cy", "age": 3}],
    "html": "<b>&\"'</b>", "lines": "one\n\n  two\r\nthree", "csv": "a,b,,c",
    "dicts": [{"x": 1}, {"y": 2}, {"x": None}],
}


def outcome(env, source, variables):
    text, error = chat_env.render(chat_env.compiled(env, source), variables)
    return {"error": error} if error is not None else {"text": text}


def record():
    env = chat_env.environment()
    snippets = [line.rstrip("\n").replace("\\n", "\n") for line in
                SNIPPETS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    conversations = [chat_env.conversation(seed) for seed in range(CONVERSATIONS)]
    return {
        "now_us": chat_env.NOW_US,
        "variables": VARIABLES,
        "snippets": [{"template": s, **outcome(env, s, VARIABLES)} for s in snippets],
        "conversations": conversations,
        "families": [{"name": path.stem, "outcomes": [
            outcome(env, path.read_text(encoding="utf-8"), c) for c in conversations]}
            for path in sorted(FAMILIES.glob("*.jinja"))],
    }


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    text = json.dumps(record(), ensure_ascii=False, indent=1) + "\n"
    if "--check" in sys.argv:
        same = OUT.read_text(encoding="utf-8") == text
        print("tests/data/text/chat.json " + ("is what jinja2 says" if same else "DIFFERS"))
        return 0 if same else 1
    OUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
