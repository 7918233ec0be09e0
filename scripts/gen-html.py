#!/usr/bin/env python3
"""Writes the reference of the library in HTML from the public headers: index.html, a page for each
header (those of C++ as they are), and one stylesheet. Every name of the library in code and text is a link to where it is
declared; nothing is loaded from elsewhere.

    scripts/gen-html.py OUT [--root DIR]
"""
import html
import re
import sys
from pathlib import Path

import gatelib
import headertext

STYLE = """\
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 16px/1.5 sans-serif; }
pre, code { font-family: monospace; font-size: 0.94em; }
pre { overflow-x: auto; padding: 0.6rem 0.8rem; border: 1px solid #8886; border-radius: 4px; }
section { margin: 1.6rem 0; }
section:target > pre { border-color: #d70; }
h2 { margin-top: 2.4rem; border-bottom: 1px solid #8886; }
ul.names { columns: 18rem; list-style: none; padding: 0; font-family: monospace; }
td { vertical-align: top; padding-right: 1rem; }
a { text-decoration: none; }
a:hover { text-decoration: underline; }
"""


class Reference:
    def __init__(self, root):
        self.version = headertext.version(root)
        self.headers = headertext.headers(root)
        self.where = {}
        for header in self.headers:
            for item in header.items:
                for name in [item.name] if item.kind not in ("section", "note") else []:
                    self.where[name] = f"{header.name}.html#{name}"
                for name in item.members:
                    self.where[name] = f"{header.name}.html#{item.name}"
        self.files = {h.path: f"{h.name}.html" for h in self.headers}
        self.cxx = {}  # "tinkc/cpp/base.hpp": its text
        for path in sorted((root / "include/tinkc").rglob("*.hpp")):
            name = path.relative_to(root / "include").as_posix()
            self.cxx[name] = path.read_text()
            self.files[name] = name.replace("/", ".") + ".html"

    def linked(self, text, own=""):
        """The text in HTML, with links from the names of the library and its headers."""
        def link(match):
            word = html.unescape(match.group(0))
            if word in self.where and word != own:
                return f'<a href="{self.where[word]}">{word}</a>'
            if word in self.files:
                return f'<a href="{self.files[word]}">{word}</a>'
            return match.group(0)
        return re.sub(r"\b(?:tinkc/[\w/]+\.h(?:pp)?|(?:tinkc_|TINKC_)\w+)", link, html.escape(text, quote=False))

    def prose(self, text):
        parts = re.split(r"`([^`]+)`", text)
        return "".join(f"<code>{self.linked(p)}</code>" if i % 2 else self.linked(p)
                       for i, p in enumerate(parts))

    def body(self, comment):
        out = []
        for kind, value in headertext.blocks(comment):
            if kind == "text":
                out.append(f"<p>{self.prose(value)}</p>")
            elif kind == "pre":
                out.append(f"<pre>{self.linked(value)}</pre>")
            else:
                out += ["<ul>", *(f"<li>{self.prose(v)}</li>" for v in value), "</ul>"]
        return "\n".join(out)

    def page(self, title, content):
        return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
                f'<link rel="stylesheet" href="style.css">\n</head>\n<body>\n'
                f'<p><a href="index.html">libtinkc {self.version}</a></p>\n{content}\n'
                "</body>\n</html>\n")

    def item(self, item):
        if item.kind == "section":
            return f"<h2>{self.linked(item.name)}</h2>"
        if item.kind == "note":
            return self.body(item.comment)
        return (f'<section id="{item.name}">\n<pre>{self.linked(item.code, item.name)}</pre>\n'
                f"{self.body(item.comment)}\n</section>")

    def header(self, header):
        names = [i.name for i in header.items if i.kind not in ("section", "note")]
        contents = "".join(f'<li><a href="#{n}">{n}</a></li>\n' for n in names)
        parts = [f"<h1>&lt;{header.path}&gt;</h1>", self.body(header.opening)]
        parts += [f'<ul class="names">\n{contents}</ul>'] if names else []
        return self.page(f"&lt;{header.path}&gt;", "\n".join(parts + [self.item(i) for i in header.items]))

    def cxx_header(self, name):
        """The opening comment of a C++ header as text, then its code with links."""
        opening, code = headertext.split_opening(self.cxx[name])
        return self.page(f"&lt;{name}&gt;", f"<h1>&lt;{name}&gt;</h1>\n"
                         f"{self.body(opening)}\n<pre>{self.linked(code)}</pre>")

    def index(self):
        rows = "".join(f'<tr><td><a href="{h.name}.html">&lt;{h.path}&gt;</a></td>'
                       f"<td>{self.prose(headertext.sentence(h.opening, '.'))}</td></tr>\n"
                       for h in self.headers)
        rows += "".join(f'<tr><td>&lt;{self.linked(name)}&gt;</td><td>C++</td></tr>\n'
                        for name in self.cxx)
        names = "".join(f'<li><a href="{self.where[n]}">{n}</a></li>\n' for n in sorted(self.where))
        return self.page(f"libtinkc {self.version}",
                         "<h1>libtinkc</h1>\n<p>The reference of the C library, made from its headers."
                         ' The rules of the whole API: <a href="tinkc.html">&lt;tinkc/tinkc.h&gt;</a>.'
                         f"</p>\n<h2>Headers</h2>\n<table>\n{rows}</table>\n"
                         f'<h2>All names</h2>\n<ul class="names">\n{names}</ul>')


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    reference = Reference(gatelib.root_of(sys.argv))
    (out / "style.css").write_text(STYLE)
    (out / "index.html").write_text(reference.index())
    for header in reference.headers:
        (out / f"{header.name}.html").write_text(reference.header(header))
    for name in reference.cxx:
        (out / reference.files[name]).write_text(reference.cxx_header(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
