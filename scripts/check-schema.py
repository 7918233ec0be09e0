#!/usr/bin/env python3
"""docs/schema.json, the machine-readable schema, against both of its sides (A-154):

* the headers: every member of a message struct in src/wire/*.h is a field of its message;
* the official SDK: every key that its recordings (tests/data/wire/0.25.0) send or read is a
  field of the message for that call or type, at every depth, with the right kind.

usage: check-schema.py [--root DIR]
"""
import json
import re
import sys

import gatelib

RECORDED = "tests/data/wire/0.25.0"
OTHER_NAMES = {"SaveWeightsForSamplerResponseInternal": "SaveWeightsForSamplerResponse"}
SAME_BODY = {"/api/v1/client/dynamic_config": "/api/v1/client/config"}  # listed once
# members that say how another member travels instead of being a key themselves
HELPERS = re.compile(
    r"^(has_\w+|\w+_n|\w+_word|n|kind|raw|form|nothing|\w+_spans)$")  # spans: protobuf only

PYTHON_TYPES = {
    "string": str, "word": str, "literal": str, "time": (str, int, float), "base64": str,
    "boolean": bool, "integer": int, "number": (int, float), "message[]": list,
    "string[]": list, "integer[]": list, "number[]": list,
    "map of string": dict, "map of number": dict, "map of message": dict,
}


def struct_members(text):
    """{struct: [member]} of a header."""
    structs = {}
    clean = gatelib.code_only(text)
    for name, body in re.findall(r"typedef struct (tk_\w+) \{(.*?)^\} \1;", clean, re.S | re.M):
        names = []
        for declaration in body.split(";"):
            declaration = re.sub(r"\[[^\]]*\]", "", declaration)
            for part in declaration.split(","):
                word = re.search(r"(\w+)\s*$", part)
                if word:
                    names.append(word.group(1))
        structs[name] = names
    return structs


def check_headers(root, messages):
    structs, problems, checked = {}, [], 0
    for path in gatelib.files(root, ".h"):
        if path.startswith("src/wire/"):
            structs.update(struct_members((root / path).read_text()))
    for path in gatelib.files(root, ".c"):
        if not path.startswith("src/wire/"):
            continue
        for struct, label in re.findall(r'TK_SCHEMA\(\s*(tk_\w+),\s*"(\w+)"',
                                        (root / path).read_text()):
            if label not in messages or struct not in structs:
                continue
            checked += 1
            fields = {f["name"] for f in messages[label].get("fields", [])}
            for member in structs[struct]:
                if member not in fields and not HELPERS.match(member) and fields != {""}:
                    problems.append(f"{label}: {struct}.{member} is no field of the schema")
    return problems, checked


class Walker:
    """Compares recorded values with the schema, noting what does not fit."""

    def __init__(self, messages):
        self.messages, self.problems, self.keys = messages, set(), 0

    def fields_of(self, message, value):
        if "variants" in message:
            tag = value.get(message["tag"])
            for variant in message["variants"]:
                if variant["tag"] == tag:
                    return variant["fields"]
            return None if message.get("other_tags") else []
        return message.get("fields")

    def message(self, message, value, where):
        if not isinstance(value, dict):
            fields = message.get("fields") or []
            if len(fields) == 1 and fields[0]["name"] == "":
                self.field(fields[0], value, where)
            elif "shape" not in message:
                self.problems.add(f"{where}: not an object")
            return
        fields = self.fields_of(message, value)
        if fields is None or "shape" in message:
            return
        by_name = {f["name"]: f for f in fields}
        if set(by_name) == {""}:
            self.field(by_name[""], value, where)
            return
        for key, item in value.items():
            self.keys += 1
            if key not in by_name:
                self.problems.add(f"{where}.{key}: the schema has no such field")
            elif item is not None:
                self.field(by_name[key], item, f"{where}.{key}")

    def field(self, field, value, where):
        expected = PYTHON_TYPES.get(field["kind"])
        if field["kind"] == "literal" and value != field["literal"]:
            self.problems.add(f"{where}: {value!r} instead of {field['literal']!r}")
        elif expected and (not isinstance(value, expected) or
                           (expected is int and isinstance(value, bool))):
            self.problems.add(f"{where}: {type(value).__name__} where the schema says {field['kind']}")
        elif "message" in field:
            sub = self.messages.get(field["message"], field)
            many = {"message[]": list, "map of message": dict}.get(field["kind"])
            items = [value] if many is None else value if many is list else value.values()
            for item in items:
                self.message(sub, item, f"{where}:{field['message']}")


def request_for(schema, method, path):
    path = SAME_BODY.get(path, path)
    for message in schema:
        call_method, _, pattern = message["call"].partition(" ")
        pattern = re.sub(r"\{ckpt\}", "[^/]+/[^/]+", pattern)
        pattern = re.sub(r"\{\w+\}", "[^/]+", pattern)
        if message["direction"] == "request" and call_method == method and \
                re.fullmatch(pattern, path):
            return message
    return None


def check_recordings(root, schema, messages):
    walker, calls, types = Walker(messages), 0, 0
    for file in sorted((root / RECORDED / "requests").rglob("*.json")):
        for request in json.loads(file.read_text())["requests"]:
            body = request.get("body")
            if not isinstance(body, dict) or not body:
                continue
            message = request_for(schema, request["method"], request["path"])
            calls += 1
            if message is None:
                walker.problems.add(f"{request['method']} {request['path']}: no message in the schema")
            else:
                walker.message(message, body, message["name"])
    for file in sorted((root / RECORDED / "responses/json").glob("*.json")):
        types += 1
        name = OTHER_NAMES.get(file.stem, file.stem)
        if name not in messages:
            walker.problems.add(f"{name}: no such message in the schema")
            continue
        for answer in json.loads(file.read_text())["answers"]:
            if isinstance(answer.get("decoded"), (dict, list)):
                walker.message(messages[name], answer["decoded"], name)
    return sorted(walker.problems), calls, types, walker.keys


def main():
    root = gatelib.root_of(sys.argv)
    schema = json.loads((root / "docs/schema.json").read_text())
    messages = {m["name"]: m for m in schema}
    problems, structs = check_headers(root, messages)
    more, calls, types, keys = check_recordings(root, schema, messages)
    gatelib.need(structs, "message structs")
    gatelib.need(calls, "recorded requests")
    gatelib.need(types, "recorded types")
    return gatelib.finish(problems + more, f"{len(schema)} messages: {structs} structs, {calls} "
                          f"recorded requests, {types} recorded types, {keys} keys")


if __name__ == "__main__":
    sys.exit(main())
