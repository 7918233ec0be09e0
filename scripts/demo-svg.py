#!/usr/bin/env python3
"""Draws docs/demo.svg from what `make demo` prints:

    scripts/demo.sh 2>&1 | scripts/demo-svg.py >docs/demo.svg

The text is that of the run, without most lines of progress and without what comes after the
result. The picture has a background, so that it reads on light and dark pages.
"""
import re
import sys
from xml.sax.saxutils import escape

WIDTH, MARGIN, TOP = 92, 18, 44  # columns, pixels, pixels
CHAR, LINE = 8.0, 18  # pixels of a column and of a row
STYLE = """\
text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
fill:#d0d7de}
.b{fill:#fff;font-weight:bold}.d{fill:#8b949e}.g{fill:#56d364}.r{fill:#ff9a8d}.c{fill:#79c0ff}"""


def chosen(lines):
    """The lines to show: up to the result, a few lines of progress."""
    steps = [line for line in lines if re.match(r" *step +\d+/", line)]
    out = []
    for line in lines:
        if line in steps and line not in steps[::4] + steps[-1:]:
            continue
        out.append(line.rstrip())
        if line.startswith("Exactly right"):
            return out
    sys.exit("demo-svg: this is not the output of scripts/demo.sh")


def parts(line):
    """Yields (column, text, class)."""
    answer = re.match(r"    (before  |after   |        )(.*)$", line)
    if line.startswith("$ "):
        found = [("$ ", "d"), (line[2:], "b")]
    elif answer:
        found = [("    " + answer[1], "d"), (answer[2], "r" if answer[1][0] == "b" else "g")]
    elif line[:1].isupper():
        found = [(line, "b" if line.startswith("Exactly") else "c")]
    else:
        found = [(line, "")]
    column = 0
    for text, kind in found:
        for word in re.finditer(r"\S+(?: \S+)*", text):  # blanks in a row would be drawn as one
            yield column + word.start(), word.group(), kind
        column += len(text)


def main():
    lines = ["$ make demo"] + chosen(sys.stdin.read().splitlines())
    width = MARGIN * 2 + int(WIDTH * CHAR)
    height = TOP + LINE * len(lines) + MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
          f'viewBox="0 0 {width} {height}" role="img">\n<title>make demo: a model is fine-tuned '
          f'and tested on messages that it was not trained on</title>\n<style>{STYLE}</style>')
    print(f'<rect width="{width}" height="{height}" rx="9" fill="#161b22" stroke="#6e7681"/>')
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        print(f'<circle cx="{MARGIN + 6 + 20 * i}" cy="18" r="6" fill="{colour}"/>')
    for number, line in enumerate(lines):
        y = TOP + LINE * number + 6
        for column, text, kind in parts(line):
            name = f' class="{kind}"' if kind else ""
            print(f'<text x="{MARGIN + column * CHAR:g}" y="{y}"{name} '
                  f'textLength="{len(text) * CHAR:g}">{escape(text)}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
