#!/usr/bin/env python3
"""Records what jinja2, set up as transformers does, makes of our own templates, into
tests/data/text/chat.json; the tests compare the interpreter with that.

    scripts/record-chat.py            record (needs jinja2 3.1.6)
    scripts/record-chat.py --check    compare with the tree
    scripts/record-chat.py --tables   compare the literals of tests/text/jinja with jinja2
"""
import json
import re
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


LITERAL = r'"(?:[^"\\\n]|\\.)*"'
ROW = re.compile(r"\b(GIVES|RAISES|REFUSES)\(\s*((?:%s\s*)+)(?:,\s*((?:%s\s*)+))?\)" % (LITERAL, LITERAL))
TABLE = re.compile(r"jinjafix_row (\w+)\[\] = \{(.*?)\n\};", re.S)


def literal(text):
    """The text of adjacent C string literals."""
    simple = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}

    def escape(match):
        body = match[1]
        if body[0] in "01234567":
            return bytes([int(body, 8)])
        return simple.get(body, body).encode()

    out = b""
    for part in re.findall(LITERAL, text):
        for piece in re.findall(r"\\[0-7]{1,3}|\\.|[^\\]+", part[1:-1]):
            match = re.match(r"\\(.+)", piece, re.S)
            out += escape(match) if match else piece.encode()
    return out.decode()


def loose_environment():
    """With what the immutable sandbox refuses."""
    env = chat_env.jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[chat_env.jinja2.ext.loopcontrols])
    env.filters.update(chat_env.environment().filters, from_json=json.loads)
    return env


def differs(env, kind, source, wanted):
    """What jinja2 makes of the row when that is something else, or None."""
    text, error = chat_env.render(chat_env.compiled(env, source), {"d": "D"})
    if kind == "GIVES":
        return None if text == wanted else text if error is None else error
    if error is None:
        return text
    return None if kind == "REFUSES" or error.split(": ", 1)[1] == wanted else error


def check_tables():
    rows, wrong = 0, 0
    strict, loose = chat_env.environment(), loose_environment()
    for path in sorted((ROOT / "tests" / "text" / "jinja").glob("test_*.c")):
        for name, body in TABLE.findall(path.read_text(encoding="utf-8")):
            env = loose if name == "loose_rows" else strict
            for kind, source, wanted in ROW.findall(body):
                rows += 1
                found = differs(env, kind, literal(source), literal(wanted))
                if found is not None:
                    wrong += 1
                    print(f"{path.name}: {literal(source)!r}: jinja2 has {found!r}")
    print(f"{rows} rows of tests/text/jinja compared with jinja2, {wrong} differ")
    return 0 if rows > 2000 and wrong == 0 else 1


def main():
    if sys.argv[1:] == ["--tables"]:
        return check_tables()
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
