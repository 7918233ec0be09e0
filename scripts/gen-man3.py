#!/usr/bin/env python3
"""Writes the manual pages of the library, section 3, from the public headers.

    scripts/gen-man3.py OUT [--root DIR]

One page for each function, struct, enum and callback; one for each header, with its opening
comment and everything that it declares (tinkc-future.3; that of tinkc.h is tinkc.3). Other types,
macros and constants are links (.so) to the page of their header.
"""
import re
import sys
from pathlib import Path

import gatelib
import headertext

OWN_PAGE = ("function", "struct", "enum", "callback")


def roff(text):
    """Text that groff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\`").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def prose(text):
    """Like roff, with `words` and names of the library in bold; one sentence per line."""
    parts = re.split(r"(`[^`]+`|\b(?:tinkc_|TINKC_)\w+)", text)
    for i, part in enumerate(parts):
        parts[i] = f"\\fB{roff(part.strip('`'))}\\fR" if i % 2 else roff(part)
    lines = re.sub(r"(?<=[a-z)][.;]) (?=[A-Z\\])", "\n", "".join(parts)).split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def body(comment):
    out = []
    for kind, value in headertext.blocks(comment):
        out.append(".PP")
        if kind == "text":
            out.append(prose(value))
        elif kind == "pre":
            out += [".nf", roff(value), ".fi"]
        else:
            out.pop()
            for entry in value:
                mark, _, words = entry.partition(" ")
                out.append(f".IP {roff(mark)} 4\n{prose(words.strip())}")
    return "\n".join(out[1:] if out[:1] == [".PP"] else out)


def code(item):
    """The declaration, with its own name in bold."""
    text = roff(item.code)
    return re.sub(rf"\b{item.name}\b", lambda m: f"\\fB{m.group(0)}\\fR", text) if item.name else text


def page_of(header):
    return "tinkc" if header.name == "tinkc" else f"tinkc-{header.name}"


class Manual:
    def __init__(self, root):
        self.version = headertext.version(root)
        self.headers = headertext.headers(root)
        self.known = {i.name for h in self.headers for i in h.items if i.kind in OWN_PAGE}

    def head(self, name, summary):
        return (f'.TH "{roff(name)}" 3 "" "tinkc {self.version}" "libtinkc"\n'
                f".SH NAME\n{roff(name)} \\- {roff(summary.replace('`', ''))}\n"
                ".SH LIBRARY\nlibtinkc (\\-ltinkc; pkg\\-config and CMake: tinkc)\n")

    def see_also(self, own, pages, text):
        """Pages, then those of the names that the text has."""
        names = [n for n in headertext.NAME.findall(text) if n in self.known and n != own]
        pages = list(dict.fromkeys(pages + sorted(names)))
        lines = [f".BR {roff(p)} (3){',' if p != pages[-1] else ''}" for p in pages]
        return ".SH SEE ALSO\n" + "\n".join(lines) + "\n"

    def declaration(self, header, item):
        kind = {"function": "function", "callback": "callback", "struct": "type", "enum": "constants"}
        summary = headertext.summary(item, f"{kind[item.kind]} of <{header.path}>")
        text = self.head(item.name, summary)
        text += f".SH SYNOPSIS\n.nf\n.B #include <{header.path}>\n.PP\n{code(item)}\n.fi\n"
        about = body(item.comment) if item.comment else ""
        text += f".SH DESCRIPTION\n{about}\n" if about else ""
        rules = f"What holds for all of <{header.path}>, such as who may call it on which thread, is in"
        text += (".SH NOTES\n" + prose(rules) + f"\n.BR {roff(page_of(header))} (3).\n")
        return text + self.see_also(item.name, [page_of(header), "tinkc"], item.code + item.comment)

    def entry(self, item, above):
        """What the page of a header says about one of its declarations."""
        if item.kind == "function":
            return f".TP\n.BR {roff(item.name)} (3)\n{prose(headertext.sentence(item.comment))}.\n"
        if item.kind == "note":
            return f"{above}{body(item.comment)}\n"
        text = f"{above}.nf\n{code(item)}\n.fi\n"
        return text + (f".RS 4\n{body(item.comment)}\n.RE\n" if item.comment else "")

    def overview(self, header):
        first = headertext.sentence(header.opening, ".")
        text = self.head(page_of(header), first[:1].lower() + first[1:])
        text += f".SH SYNOPSIS\n.nf\n.B #include <{header.path}>\n.fi\n"
        text += f".SH DESCRIPTION\n{body(header.opening)}\n"
        section, above = "DECLARATIONS", ""
        for item in header.items:
            if item.kind == "section":
                section = item.name.upper()
                continue
            if section:
                text += f'.SH "{roff(section)}"\n'
            section, above = "", "" if section else ".PP\n"
            text += self.entry(item, above)
        if header.name == "tinkc":
            return text + self.see_also("", [page_of(h) for h in self.headers[1:]], "")
        return text + self.see_also("", ["tinkc"], header.opening)

    def pages(self):
        """(name, text) of every page and link."""
        for header in self.headers:
            yield page_of(header), self.overview(header)
            for item in header.items:
                if item.kind in OWN_PAGE:
                    yield item.name, self.declaration(header, item)
                names = [item.name] if item.kind in ("opaque", "macro") else []
                for name in names + [m for m in item.members if m != item.name]:
                    to = item.name if item.members else page_of(header)
                    yield name, f".so man3/{to}.3\n"


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, text in Manual(gatelib.root_of(sys.argv)).pages():
        (out / f"{name}.3").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
