"""The top-level definitions of a C file in the project's layout: where each begins and ends,
and by which names it is known. clang-format writes every definition from column 0 and closes a
body with a brace in column 0; the scanner relies on that."""
import re

import gatelib

_HEAD = re.compile(r"(?![A-Z_]+(?:\(.*\))?$)[A-Za-z_]")  # not a macro alone on its line
_DECLARED = re.compile(r"(?:typedef|extern)\b|(?:struct|enum|union)\s+\w+\s*;")
_DEFINE = re.compile(r"#\s*define\s+(\w+)")
_TAG = re.compile(r"\b(?:struct|enum|union)\s+(\w+)\s*$")
_LAST = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


def end_of_macro(lines, i):
    while lines[i].rstrip().endswith("\\") and i + 1 < len(lines):
        i += 1
    return i


def end_of_item(lines, i):
    """The line with the brace in column 0, or with the semicolon outside all brackets."""
    depth = 0
    for k in range(i, len(lines)):
        line = lines[k]
        if k > i and line.startswith("}"):
            return k
        depth += sum(map(line.count, "({[")) - sum(map(line.count, ")}]"))
        if depth <= 0 and line.rstrip().endswith(";"):
            return k
    return len(lines) - 1


def _names_of(code):
    """The names of one definition; none for what is only declared."""
    head, brace, rest = code.partition("{")
    if not brace and _DECLARED.match(code):
        return []
    declared, equals, _ = head.partition("=")
    call = re.search(r"(\w+)\s*\(", declared)
    if call and not equals:
        return [call.group(1)] if brace else []
    names = _TAG.findall(declared.strip()) if brace and not equals else []
    if brace and not equals:  # a type: what it declares comes after its body
        declared = rest.rpartition("}")[2]
        if "=" in rest:
            declared = re.split(r"=\s*\{", rest)[0].rpartition("}")[2]
    last = _LAST.search(declared.rstrip("; \n"))
    return list(dict.fromkeys(names + ([last.group(1)] if last else [])))


def definitions(text):
    """Yields (names, first offset, offset after the end) of functions, variables, types and
    macros."""
    code = gatelib.code_only(text)
    lines, starts = code.splitlines(), [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    i = 0
    while i < len(lines):
        macro = _DEFINE.match(lines[i])
        if macro:
            last, names = end_of_macro(lines, i), [macro.group(1)]
        elif _HEAD.match(lines[i]):
            last = end_of_item(lines, i)
            names = _names_of(code[starts[i]:starts[last + 1]])
        else:
            i += 1
            continue
        if names:
            yield names, starts[i], starts[last + 1]
        i = last + 1
