"""The public headers as data: what each declares, in order, with its comment. Relies on the
project's layout (clang-format: every declaration starts in column 0), like ctext.py."""
import re
import textwrap
from dataclasses import dataclass, field

import ctext
import gatelib

NAME = re.compile(r"\b(?:tinkc_\w+|TINKC_\w+)")
_SECTION = re.compile(r"-{4} (.*?) -{4}\s*")
_ATTRIBUTE = re.compile(r"\bTINKC_(?:API|NODISCARD)\s+|\s*\bTINKC_PRINTF\([^)]*\)")
_OUTSIDE = re.compile(r"TINKC_(?:BEGIN|END)_DECLS")
_LIST = re.compile(r" {1,3}(?:\d+\.|[*-]) +")


@dataclass
class Item:
    """A declaration, or text that belongs to none. kind: function, callback, struct, enum,
    opaque, macro, section, note."""
    kind: str
    name: str = ""
    code: str = ""  # as the header has it, without attributes
    comment: str = ""  # without its marks
    members: list = field(default_factory=list)  # names of the constants of an enum


@dataclass
class Header:
    name: str  # "future"
    opening: str
    items: list

    @property
    def path(self):
        return f"tinkc/{self.name}.h"


def _uncomment(text):
    """The text of a comment; indented lines keep what exceeds the common indentation."""
    lines = text.strip()[2:-2].split("\n")
    first, rest = lines[0].strip(), [re.sub(r"^ ?\*? ?", "", line.rstrip(), count=1) for line in lines[1:]]
    return "\n".join([first, *rest]).strip()


def _after_code(code):
    """The comment behind a declaration that ends on the same line."""
    match = re.search(r";[ \t]*(/\*.*?\*/)[ \t\n]*$", code, re.S)
    return (code[:match.start() + 1], _uncomment(match.group(1))) if match else (code, "")


def _describe(code):
    """(kind, name, members) of a declaration; None for what the reference leaves out."""
    bare = _ATTRIBUTE.sub("", gatelib.code_only(code))
    macro = re.match(r"#define (TINKC_\w+)", bare)
    if macro:
        return "macro", macro.group(1), []
    callback = re.match(r"typedef [^{;]*?\(\*(\w+)\)\(", bare, re.S)
    if callback:
        return "callback", callback.group(1), []
    opaque = re.match(r"typedef struct \w+ (\w+);", bare)
    if opaque:
        return "opaque", opaque.group(1), []
    body = re.match(r"(?:typedef )?(struct|enum)\b[^{;]*\{(.*)\}\s*(\w*)\s*;", bare, re.S)
    if body:
        kind, inside, name = body.groups()
        members = re.findall(r"\b(TINKC_\w+)\s*(?==|,|$)", inside.strip(), re.M) if kind == "enum" else []
        return kind, name or (members[0] if members else ""), members
    function = re.match(r"[\w\s*]*?\b(tinkc_\w+)\s*\(", bare)
    return ("function", function.group(1), []) if function else None


def _item(code, comment):
    code, behind = _after_code(code.rstrip())
    described = _describe(code)
    if described is None:
        return None
    code = _ATTRIBUTE.sub("", code) if described[0] == "function" else code
    return Item(*described[:2], code, comment or behind, described[2])


def _conditional(lines, i):
    """The line after the #endif of the #if at line i."""
    depth = 0
    while True:
        depth += lines[i].startswith("#if")
        depth -= lines[i].startswith("#endif")
        i += 1
        if depth == 0:
            return i


def split_opening(text):
    """The text of the opening comment, and what follows it."""
    opening = re.match(r"/\*.*?\*/", text, re.S).group(0)
    return _uncomment(opening), text[len(opening):].strip("\n")


def parse(path):
    """The Header at `path`. Declarations inside #if are left out: attributes, C++."""
    text = path.read_text()
    opening, _ = split_opening(text)
    lines, items, comment = text.split("\n"), [], ""
    code_lines = gatelib.code_only(text).split("\n")
    i = next(k for k, line in enumerate(lines) if line.startswith("#ifndef")) + 2
    while i < len(lines):
        line = lines[i]
        if line.startswith("/*"):
            last = next(k for k in range(i, len(lines)) if "*/" in lines[k])
            block, i = "\n".join(lines[i:last + 1]), last + 1
            comment = _uncomment(block)
            section = _SECTION.match(comment)
            if section:
                items.append(Item("section", section.group(1)))
                comment = comment[section.end():]
            if comment and not lines[i].strip():
                items.append(Item("note", comment=comment))
                comment = ""
            continue
        if line.startswith("#if"):
            i = _conditional(lines, i)
            continue
        if line.startswith("#define") or (line[:1].isalpha() and not _OUTSIDE.match(line)):
            end = ctext.end_of_macro if line.startswith("#") else ctext.end_of_item
            last = end(code_lines, i)
            while "/*" in lines[last] and "*/" not in lines[last].rpartition("/*")[2]:
                last += 1  # a comment behind it that goes on
            item = _item("\n".join(lines[i:last + 1]), comment)
            items += [item] if item else []
            i = last
        comment = ""
        i += 1
    return Header(path.stem, opening, items)


def headers(root):
    """All public headers in alphabetical order, tinkc.h first."""
    found = [parse(p) for p in sorted((root / "include/tinkc").glob("*.h"))]
    return sorted(found, key=lambda h: (h.name != "tinkc", h.name))


def version(root):
    text = (root / "include/tinkc/version.h").read_text()
    return re.search(r'#define TINKC_VERSION +"(.*)"', text).group(1)


def sentence(text, ends=".;:"):
    """The first sentence, or what comes before its first colon or semicolon, on one line and
    without that mark and what is in brackets."""
    text, depth, quoted = " ".join(text.split("\n\n")[0].split()) + " ", 0, False
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        quoted ^= c == '"'
        if depth == 0 and not quoted and c in ends and text[i + 1] == " " \
                and not text[:i].endswith("e.g"):
            text = text[:i]
            break
    return re.sub(r" \([^()]*\)", "", text).strip()


def summary(item, otherwise):
    """The first sentence as a phrase: "waits until the future is done"."""
    text = sentence(item.comment) or otherwise
    return text[:1].lower() + text[1:] if re.match(r"[A-Z][a-z]* |[A-Z][a-z]+$", text) else text


def blocks(text):
    """The parts of a comment: ("text", words), ("list", [words]) or ("pre", lines)."""
    out = []
    for line in text.split("\n"):
        kind = out[-1][0] if out else "end"
        if not line.strip():
            out.append(("end", []))
        elif _LIST.match(line):
            out += [] if kind == "list" else [("list", [])]
            out[-1][1].append(line.strip())
        elif kind == "list" and line.startswith("  "):
            out[-1][1][-1] += " " + line.strip()
        elif line.startswith("  "):
            out += [] if kind == "pre" else [("pre", [])]
            out[-1][1].append(line)
        else:
            out += [] if kind == "text" else [("text", [])]
            out[-1][1].append(line)
    for kind, lines in out:
        if kind == "text":
            yield kind, " ".join(" ".join(lines).split())
        elif kind == "pre":
            yield kind, textwrap.dedent("\n".join(lines))
        elif kind == "list":
            yield kind, lines
