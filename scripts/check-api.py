#!/usr/bin/env python3
"""The papers of the library are complete: every exported function has a manual page and a place
in the HTML reference, every page that a page names exists, every link in the reference leads
somewhere inside it, nothing is loaded from elsewhere, and groff reads all pages without a warning.
Made afresh from the headers: no build is needed.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import gatelib

SCRIPTS = Path(__file__).resolve().parent


def pages_of(root, out):
    """The manual pages and those of the reference, by name."""
    for maker, folder in (("gen-man3.py", "man3"), ("gen-html.py", "html")):
        subprocess.run([sys.executable, "-B", SCRIPTS / maker, out / folder, "--root", root], check=True)
    return ({p.name: p.read_text() for p in (out / "man3").glob("*.3")},
            {p.name: p.read_text() for p in (out / "html").glob("*.html")})


def manual(pages, exported):
    for name in exported:
        if f"{name}.3" not in pages:
            yield f"{name} has no manual page"
        elif f"\\fB{name}\\fR(" not in pages[f"{name}.3"]:
            yield f"{name}.3 does not show its declaration"
    for page, text in sorted(pages.items()):
        for other in re.findall(r"^\.BR (\S+) \(3\)", text, re.M) + \
                re.findall(r"^\.so man3/(\S+)\.3$", text, re.M):
            if other.replace("\\-", "-") + ".3" not in pages:
                yield f"{page} names {other}(3), which does not exist"


def reference(pages, exported):
    anchors = {page: set(re.findall(r' id="([^"]+)"', text)) for page, text in pages.items()}
    everywhere = set().union(*anchors.values())
    yield from (f"{name} is not in the reference" for name in exported if name not in everywhere)
    for page, text in sorted(pages.items()):
        for link in re.findall(r' (?:href|src)="([^"]*)"', text):
            file, _, anchor = link.partition("#")
            if link == "style.css":
                continue
            if (file or page) not in pages:
                yield f"{page} links {link}, which does not exist"
            elif anchor and anchor not in anchors[file or page]:
                yield f"{page} links {link}, which has no such place"


def groff(folder):
    """What groff warns of; .so looks for man3/ in the folder where it runs."""
    out = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", *sorted(folder.glob("*.3"))],
                         cwd=folder.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return out.stderr.splitlines()


def main():
    root = gatelib.root_of(sys.argv)
    exported = (root / "tests/exports/tinkc.sym").read_text().split()
    gatelib.need(len(exported), "exported functions")
    with tempfile.TemporaryDirectory() as work:
        man, html = pages_of(root, Path(work))
        problems = [*manual(man, exported), *reference(html, exported), *groff(Path(work) / "man3")]
    return gatelib.finish(problems, f"{len(exported)} functions, {len(man)} manual pages, "
                                    f"{len(html)} pages of HTML")


if __name__ == "__main__":
    sys.exit(main())
