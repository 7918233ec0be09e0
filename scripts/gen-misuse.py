#!/usr/bin/env python3
"""Writes C that calls every function of the public headers with the handles of a struct and
nothing else: NULL for every other pointer, 0 for every number. tests/client/test_misuse.c
includes it, so that a new public function is tried without a line there.

usage: gen-misuse.py OUT.inc HEADER...
"""
import re
import sys

HANDLES = {"tinkc_service": "service", "tinkc_training": "training",
           "tinkc_sampling": "sampling", "tinkc_future": "future", "tinkc_queue": "queue",
           "tinkc_config": "config", "tinkc_model_input": "input", "tinkc_datum": "datum",
           "tinkc_tensor": "tensor"}
DECLARATION = re.compile(r"TINKC_API\s+(.*?)\b(tinkc_\w+)\s*\(([^;]*)\)\s*;", re.S)
SCALARS = ("int64_t", "size_t", "double", "bool", "int32_t", "tinkc_loss", "tinkc_log_level")


def declarations(paths):
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
        for returned, name, arguments in DECLARATION.findall(text):
            yield (" ".join(returned.replace("TINKC_NODISCARD", "").split()), name,
                   [" ".join(a.split()) for a in arguments.split(",")])


def argument(text, index, destroyers):
    """(expression, declaration or None, clean-up or None) for one parameter."""
    type_of = re.sub(r"\b\w+$", "", text).replace(" ", "")
    base = type_of.replace("const", "").rstrip("*")
    if type_of == "tinkc_error**":
        return "err", None, None
    if base in HANDLES and type_of.count("*") == 1:
        return f"g->{HANDLES[base]}", None, None
    if type_of.endswith("**") and "*const*" not in type_of and base != "void":
        const = "const " if type_of.startswith("const") else ""
        clean = None if const else destroyers.get(base)
        return (f"outs ? &o{index} : NULL", f"{const}{base} *o{index} = NULL;",
                clean.format(index) if clean else None)
    if type_of.endswith("*") and not type_of.startswith("const") and base in SCALARS:
        return f"outs ? &o{index} : NULL", f"{base} o{index} = 0;", None
    if type_of.endswith("*") or base.endswith("_fn"):
        return "NULL", None, None
    return "0", None, None


def function(returned, name, arguments, destroyers):
    parts = [] if arguments == ["void"] else [
        argument(a, i, destroyers) for i, a in enumerate(arguments)]
    call = f"{name}({', '.join(p[0] for p in parts)})"
    out = [f"static verdict call_{name}(const handles *g, bool outs, tinkc_error **err)", "{",
           "    (void)g, (void)outs, (void)err;", "    verdict v = {0};"]
    # what comes first is the output: it must stay as it was, not become NULL
    is_output = (returned == "tinkc_code" and parts and not name.endswith(("_close", "_free", "_await"))
                 and (parts[0][1] or "").endswith("*o0 = NULL;"))
    out += ["    " + p[1] for p in parts if p[1]]
    if is_output:
        out.append("    o0 = (void *)(uintptr_t)&untouched;")
    if returned == "tinkc_code":
        out.append(f"    v.code = {call};")
    elif returned == "tinkc_future *":
        out += [f"    tinkc_future *f = {call};", "    v.is_null = f == NULL;",
                "    v.code = tinkc_future_wait(f, WAIT_MS);", "    tinkc_future_free(&f);"]
    elif returned == "tinkc_error *":
        out += [f"    tinkc_error *e = {call};", "    tinkc_error_free(&e);"]
    else:
        out.append(f"    (void){call};")
    if is_output:
        out += ["    v.wrote |= o0 == NULL;",
                "    o0 = (const void *)o0 == &untouched ? NULL : o0;"]
    for index, part in enumerate(parts):
        if part[1] and "*o" in part[1]:
            out.append(f"    v.wrote |= o{index} != NULL;")
        if part[2]:
            out.append(f"    {part[2]};")
    return "\n".join(out + ["    return v;", "}", ""])


def main():
    found = list(declarations(sys.argv[2:]))
    if len(found) < 100:
        sys.exit("gen-misuse: found too few functions")
    destroyers = {re.match(r"(\w+)", a[0])[1]: n + "(&o{0})"
                  for r, n, a in found if re.search(r"_(free|close)$", n) and len(a) == 1 and a[0].count("*") == 2}
    rows = []
    with open(sys.argv[1], "w") as out:
        for returned, name, arguments in found:
            out.write(function(returned, name, arguments, destroyers) + "\n")
            kind = {"tinkc_code": "CODE", "tinkc_future *": "FUTURE"}.get(returned, "OTHER")
            if name.endswith("_error_code"):
                kind = "OTHER"
            text = ", ".join(arguments)
            flags = [str("tinkc_error **" in text).lower(),
                     str(bool(re.search(r"tinkc_(training|sampling) \*\w", text))).lower()]
            rows.append(f'    {{"{name}", KIND_{kind}, call_{name}, {", ".join(flags)}}},')
        out.write("static const row rows[] = {\n" + "\n".join(rows) + "\n};\n")


if __name__ == "__main__":
    main()
