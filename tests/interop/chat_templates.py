"""Collects chat templates into one JSON file: {name: source}.

    chat_templates.py OUT FOLDER...

Reads what the folders hold: tokenizer_config.json (a string, or a list of named templates),
*.jinja files, and `@huggingface/ollama-utils`, whose templates are JavaScript strings in a
source file. Equal templates are kept once.
"""
import json
import re
import sys
from pathlib import Path

STRING = re.compile(
    r"""gguf:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)""", re.S)


def javascript(text):
    """The value of a JavaScript string or template literal without substitutions."""
    body = text[1:-1]
    out, at = [], 0
    escapes = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
    while at < len(body):
        c = body[at]
        if c != "\\":
            out.append(c)
            at += 1
        elif body[at + 1] == "u":
            out.append(chr(int(body[at + 2:at + 6], 16)))
            at += 6
        elif body[at + 1] == "x":
            out.append(chr(int(body[at + 2:at + 4], 16)))
            at += 4
        else:
            out.append(escapes.get(body[at + 1], body[at + 1]))
            at += 2
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16")


def of_config(path):
    config = json.loads(path.read_text(encoding="utf-8"))
    template = config.get("chat_template")
    name = path.parent.parent.name
    if isinstance(template, str):
        yield name, template
    for entry in template if isinstance(template, list) else []:
        yield f"{name}:{entry['name']}", entry["template"]


def collect(folders):
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("tokenizer_config.json")):
            yield from of_config(path)
        for path in sorted(folder.rglob("*.jinja")):
            yield path.stem, path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("chat-template-automap.ts")):
            for n, match in enumerate(STRING.finditer(path.read_text(encoding="utf-8"))):
                yield f"gguf-{n:03}", javascript(match.group(1))


def main():
    out, folders = sys.argv[1], sys.argv[2:]
    templates, seen = {}, set()
    for name, source in collect(folders):
        if source not in seen:
            seen.add(source)
            templates[name] = source
    Path(out).write_text(json.dumps(templates, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{len(templates)} templates")


if __name__ == "__main__":
    main()
