#!/usr/bin/env python3
"""Writes the reference pages that come from the code: docs/errors.md, docs/limits.md,
docs/config.md, docs/schema.json, docs/messages.md, docs/cli.md and docs/servers.md.

    scripts/gen-docs.py            rewrite them
    scripts/gen-docs.py --check    fail when they differ from the code (A-146)

All but the limits come, at least in part, from the programs of tools/ in $TINKC_BUILD_DIR, or in
the newest build that has them.
"""
import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gatelib

NOTE = "<!-- Written by scripts/gen-docs.py from {}. Do not edit. -->\n"


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def enum_members(text, name):
    """[(member, value, comment)] of `typedef enum name`."""
    body = re.search(rf"typedef enum {name} \{{(.*?)\}} {name};", text, re.S).group(1)
    found = re.findall(r"(TINKC_\w+) = (\d+),?(?:[ \t]*\n?[ \t]*/\*(.*?)\*/)?", body, re.S)
    return [(member, int(value), cell(comment)) for member, value, comment in found]


def errors_page(root):
    source = "include/tinkc/error.h"
    text = (root / source).read_text()
    out = [NOTE.format(source), "# Error codes\n",
           "`tinkc_error_code()` returns one of these. The numbers are part of the ABI: they never\n"
           "change, and new ones are added at the end.\n",
           "| value | code | meaning |\n|---|---|---|"]
    for member, value, comment in enum_members(text, "tinkc_code"):
        out.append(f"| {value} | `{member}` | {comment or 'success'} |")
    out += ["\n## Categories\n", "`tinkc_error_category()` says whose fault it was, according to the server.\n",
            "| value | category |\n|---|---|"]
    for member, value, _ in enum_members(text, "tinkc_category"):
        out.append(f"| {value} | `{member}` |")
    out += ["\n## Classes\n", "`tinkc_error_class()` says what the caller can do about it.\n",
            "| value | class | meaning |\n|---|---|---|"]
    for member, value, comment in enum_members(text, "tinkc_class"):
        out.append(f"| {value} | `{member}` | {comment} |")
    return "\n".join(out) + "\n" + failures_section(root, text)


def failures_section(root, header):
    codes = {value: member for member, value, _ in enum_members(header, "tinkc_code")}
    out = ["\n## What a failure means\n",
           "One table (`src/wire/wire_error.c`) decides for the whole library; the first row that\n"
           "matches is used. \"As new work\" means with a new sequence id, and only where repeating\n"
           "the work does no harm.\n",
           "| failure | code | class | retried |\n|---|---|---|---|"]
    for line in run_tool(root, "dump_errors").splitlines():
        when, code, kind, retry = line.split("\t")
        name = f"`{codes[int(code)]}`" if int(code) > 0 else ""
        out.append(f"| {cell(when)} | {name} | {kind} | {retry} |")
    return "\n".join(out) + "\n"


UNITS = {"TK_KIB": 1 << 10, "TK_MIB": 1 << 20, "TK_GIB": 1 << 30}
DEFINE = re.compile(r"^#define[ \t]+(TK_\w+)[ \t]+((?:[^/\n]|/(?!\*))+?)[ \t]*(?:/\*(.*?)\*/)?[ \t]*$",
                    re.M | re.S)


def human(name, value):
    if not name.endswith("_BYTES"):
        return f"{value:,}"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size:,} {unit}"
    return f"{value:,} bytes"


def limits_page(root):
    source = "src/base/limits.h"
    text = (root / source).read_text()
    out = [NOTE.format(source), "# Limits\n",
           "Every buffer, parser and table is bounded by one of these or by an argument. Input over\n"
           "a limit is refused with `TINKC_E_LIMIT`; only text for people (messages, log lines) is\n"
           "cut instead.\n",
           "| limit | value | what |\n|---|---|---|"]
    known = dict(UNITS)
    for name, expression, comment in DEFINE.findall(text):
        if name in UNITS:
            continue
        words = re.sub(r"\(size_t\)|(?<=\d)(?:u|l)+\b", "", expression, flags=re.I)
        if not re.fullmatch(r"[\w\s()*+-]+", words):
            sys.exit(f"{source}: {name} is not a sum or product of numbers: {expression}")
        known[name] = eval(words, {"__builtins__": {}}, known)  # digits and names of ours only
        out.append(f"| `{name}` | {human(name, known[name])} | {cell(comment)} |")
    return "\n".join(out) + "\n"


def run_tool(root, name):
    """What a program of tools/ prints."""
    places = [os.environ["TINKC_BUILD_DIR"]] if "TINKC_BUILD_DIR" in os.environ else \
        [root / "build", root / "build/dev", root / "build/clang"]
    programs = [Path(p) / "tools" / name for p in places]
    programs = [p for p in programs if p.exists()]
    if not programs:
        sys.exit(f"no tools/{name}: build first")
    newest = max(programs, key=lambda p: p.stat().st_mtime)
    return subprocess.run([newest], check=True, capture_output=True, text=True).stdout


def range_text(kind, values):
    if kind == "choice":
        return " / ".join(f"`{w}`" for w in values.split())
    if not values:
        return ""
    low, high = (int(v) for v in values.split())
    text = f"{low:,} or more" if high == 2**63 - 1 else f"{low:,} to {high:,}"
    return text + (", or `none`" if kind == "duration_ms" else "")


def config_page(root):
    out = [NOTE.format("src/client/core/config_table.c"), "# Options\n",
           "`tinkc_config_set(config, name, value, &err)` sets an option. It wins over the environment,\n"
           "which wins over the default. The environment is read once, when the configuration is\n"
           "created. An empty variable counts as not set, except that an empty `TINKER_TELEMETRY`\n"
           "means off, as in the official SDK. `TINKER_TAGS` adds tags to the session.\n\n"
           "Some variables have no option. The search for tokenizers uses those of Hugging Face's\n"
           "programs (`HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`;\n"
           "`HF_ENDPOINT`; `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, `HF_TOKEN_PATH`; no request with\n"
           "`HF_HUB_OFFLINE` or `TRANSFORMERS_OFFLINE`). The program `tinkc` reads `XDG_DATA_HOME`\n"
           "(where a local server keeps its data) and, for its output, `NO_COLOR`, `COLUMNS` and\n"
           "`TERM`.\n",
           "| option | type | values | default | environment | meaning |\n|---|---|---|---|---|---|"]
    for line in run_tool(root, "dump_config").splitlines():
        name, kind, default, env, values, text = line.split("\t")
        cells = [f"`{name}`", kind, range_text(kind, values), f"`{default}`" if default else "",
                 f"`{env}`" if env else "", cell(text)]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def schemas(root):
    """All message tables."""
    return json.loads(run_tool(root, "dump_schemas"))


def schema_page(root):
    """Machine-readable: one message per block, one field per line."""
    blocks = []
    for message in schemas(root):
        head = {k: v for k, v in message.items() if k not in ("fields", "variants")}
        lines = [json.dumps(head)[:-1]]
        for key in ("fields", "variants"):
            if key in message:
                items = ",\n   ".join(json.dumps(item) for item in message[key])
                lines.append(f',\n  "{key}": [\n   {items}]' if items else f', "{key}": []')
        blocks.append(" " + "".join(lines) + "}")
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def field_rows(fields, prefix=""):
    for field in fields:
        name = prefix + field["name"]
        kind = field["kind"].replace("message", field.get("message", ""))
        if "words" in field:
            kind = " / ".join(f"`{w}`" for w in field["words"])
            kind += " / ..." if field.get("other_words") else ""
        if "literal" in field:
            kind = f'`"{field["literal"]}"`'
        presence = "required" if field.get("required") else "optional"
        presence = "always" if "literal" in field else presence
        presence += ", null allowed" if field.get("nullable") else ""
        default = f'`{json.dumps(field["default"])}`' if "default" in field else ""
        if "range" in field:
            low, high = field["range"]
            kind += f", {low:,} or more" if high == 2**63 - 1 else f", {low:,} to {high:,}"
        yield f"| `{name or '(the value itself)'}` | {kind} | {presence} | {default} |"
        if "fields" in field:
            mark = "[]." if field["kind"].endswith("[]") else "."
            yield from field_rows(field["fields"], name + mark)


def messages_page(root):
    out = [NOTE.format("the tables of src/wire/schemas.c"), "# Messages\n",
           "Every JSON message of the API, as the library encodes and decodes it. The default is\n"
           "sent when the field is unset and assumed when it is absent; an optional field without a\n"
           "default is left out. Unknown keys are ignored; in responses, so are words of an\n"
           "enumeration and kinds of a union that are not listed, which the server refuses in requests.\n"
           "[schema.json](schema.json) has the same tables for programs."]
    head = "| field | kind | presence | default |\n|---|---|---|---|"
    for message in schemas(root):
        call = f" of {message['call']}" if message["call"] else ""
        out.append(f"\n## {message['name']}\n\n{message['direction'].capitalize()}{call}.\n")
        if "shape" in message:
            out.append(f"Form: {cell(message['shape'])}.")
        if message.get("fields"):
            out += [head, *field_rows(message["fields"])]
        elif "fields" in message:
            out.append("An empty object.")
        for variant in message.get("variants", []):
            out += [f"\n`{message['tag']}` = `{variant['tag']}`:\n", head,
                    *field_rows(variant["fields"])]
    return "\n".join(out) + "\n"


def cli_page(root):
    return NOTE.format("the table of src/cli/cmd_list.c") + "\n" + run_tool(root, "dump_cli")


def named_test(root, text):
    """The test of a fact, which must be there, as Markdown."""
    program, _, name = text.partition(": ")
    files = list((root / "tests").rglob(f"{program}.c"))
    if len(files) != 1 or f"static void {name}(" not in files[0].read_text():
        sys.exit(f"src/client/core/manners.c: there is no test {text}")
    return f"`{name}`"


def servers_page(root):
    lines = [line.split("\t") for line in run_tool(root, "dump_servers").splitlines()]
    facts = [line[1:] for line in lines if line[0] == "fact"]
    servers = [line[1:] for line in lines if line[0] == "server"]
    marks = {"yes": "yes", "no": "", "unknown": "?"}
    out = [NOTE.format("src/client/core/manners.c and tests/support/fakeapi_tinker_servers.c"),
           "# Servers of the API, and what is different\n",
           "Several servers speak Tinker's API, and each leaves something out or does it otherwise. The\n"
           "client never asks which one it talks to: each difference shows in an answer, and the answer\n"
           "chooses the behaviour. What is *learned* is remembered for the life of the service and logged\n"
           "once; the rest is a rule about one answer. [From a laptop to a cluster](guide/scale.md) tells\n"
           "how to move a run; `tinkc doctor --deep` asks a server what it does.\n",
           "## The facts\n",
           "| fact | such a server | the answer that shows it | the client | | test |\n|---|---|---|---|---|---|"]
    for name, does, shows, then, test, how, *_ in facts:
        cells = [name, does, shows, then, "learned" if how == "learned" else "", named_test(root, test)]
        out.append("| " + " | ".join(cell(c) for c in cells) + " |")
    out += ["\n## Which server does what\n",
            "From the public sources below: \"yes\", nothing for no, \"?\" where the source does not say.\n"
            "`tests/client/test_peers.c` plays each column and passes the same training scenario against\n"
            "it.\n",
            "| fact | " + " | ".join(s[0] for s in servers) + " |\n" + "|---" * (len(servers) + 1) + "|"]
    for fact in facts:
        out.append("| " + " | ".join([cell(fact[0])] + [marks[c] for c in fact[6:]]) + " |")
    out += ["\n## What was read\n", "| server | source | also |\n|---|---|---|"]
    for name, source, note in servers:
        out.append(f"| {cell(name)} | {cell(source)} | {cell(note)} |")
    return "\n".join(out) + "\n"


PAGES = {"docs/errors.md": errors_page, "docs/limits.md": limits_page,
         "docs/config.md": config_page, "docs/schema.json": schema_page,
         "docs/messages.md": messages_page, "docs/cli.md": cli_page,
         "docs/servers.md": servers_page}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    root = gatelib.root_of([])
    differ = 0
    for path, page in PAGES.items():
        new = page(root)
        file = root / path
        old = file.read_text() if file.exists() else ""
        if "--check" not in sys.argv:
            file.write_text(new)
        elif old != new:
            differ += 1
            diff = list(difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), path, "from the code"))
            sys.stdout.writelines(diff[:40])
            print(f"{path} differs from the code: run scripts/gen-docs.py")
    if not differ:
        print(f"{len(PAGES)} generated pages")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
