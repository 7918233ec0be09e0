#!/usr/bin/env bash
# Sections and rows of docs/protocol.md that comments and pages cite exist, and the code cites no other document:
# requirement ids belong to the tests and to docs/conformance.md.
. "$(dirname "$0")/lib.sh"

citations() {
    python3 - <<'PYTHON'
import pathlib, re, sys

headings, rows = set(), {}
for page in sorted(pathlib.Path("docs").glob("protocol*.md")):
    section = None
    for line in page.read_text().splitlines():
        if match := re.match(r"#+ (?:Appendix )?([0-9.]+[0-9]|[0-9]+|[A-D])\.? ", line):
            section = match.group(1)
            headings.add(section)
        elif section and (match := re.match(r"\| (\d+) \|", line)):
            rows.setdefault(section, set()).add(int(match.group(1)))

part = r"§[\d.]*\d|\d+|-|,|;|\(|\)|and|to|rows?|of|Appendix|appendix|[A-D]\b"
cited = re.compile(rf"protocol\.md`?,?((?:\s|\*|#|{part})*)")
bad = found = 0
for path in sorted(p for top in ("src", "include", "tests", "docs", "HACKING.md")
                   for p in [pathlib.Path(top), *pathlib.Path(top).rglob("*")]
                   if p.suffix in (".c", ".h", ".md", ".txt", ".sh") and "data" not in p.parts):
    text = path.read_text()
    for match in cited.finditer(text):
        names = re.findall(r"§([\d.]*\d)|[Aa]ppendix ([A-D])\b", match.group(1))
        for name in (a or b for a, b in names):
            found += 1
            if name not in headings:
                print(f"{path}: there is no section {name} in docs/protocol.md")
                bad = 1
        for section, first, last in re.findall(r"§(\d+) rows? (\d+)(?:(?: to |-| and )(\d+))?", match.group(1)):
            for row in (int(first), int(last or first)):
                if row not in rows.get(section, ()):
                    print(f"{path}: there is no row {row} in §{section} of docs/protocol.md")
                    bad = 1
if found < 50:
    print(f"only {found} citations found")
    bad = 1
sys.exit(bad)
PYTHON
}

code="src include"
expect "cited sections and rows of docs/protocol.md exist" citations
expect "the code cites documents of this tree" bash -c "! grep -rn '\bwire\.md' $code"
expect "the code names no requirement ids" bash -c "! grep -rnE '\b[ABCDEMS]-[0-9]{3}\b' $code"
expect "pages and tests cite documents of this tree" bash -c \
    "! grep -rn '\bwire\.md §' tests docs *.md --include=*.[ch] --include=*.md --include=*.txt"
finish
