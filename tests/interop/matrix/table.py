#!/usr/bin/env python3
"""Makes the table "version x call" of docs/sdk-versions.md of the outcomes of run.py.

    table.py RESULT.json...             compare with the page; 1 and the lines that differ
    table.py --write RESULT.json...     put it into the page
"""

import difflib
import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "sdk-versions.md"
BEGIN, END = "<!-- matrix: made by tests/interop/matrix.sh --write -->", "<!-- end of the matrix -->"
GROUPS = ("ServiceClient", "TrainingClient", "SamplingClient", "RestClient", "AdminClient")
DETAIL = re.compile(r"'detail': '([^']*)'|\"detail\": \"([^\"]*)\"")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}[:\w]*|tinker://\S+")


def group(row):
    """The order of the table: clients as users meet them, then what they take, then commands."""
    head = row.split(".")[0].split("(")[0]
    if row.startswith("tinker"):
        return len(GROUPS) + 1, row
    return (GROUPS.index(head) if head in GROUPS else len(GROUPS)), row


def sentence(text):
    found = DETAIL.search(text)
    text = next(g for g in found.groups() if g) if found else text
    text = text.split("Error: ", 1)[-1].removeprefix("Request failed: ")
    text = text.split(" for self.request_id=")[0]  # what the SDK adds
    return ID.sub("...", text.split("\n")[0]).replace("|", "\\|").strip()


def lines(results):
    versions = [r["version"] for r in results]
    outcomes, said = {}, {}
    for result in results:
        for row in result["rows"]:
            outcomes.setdefault(row["row"], {})[result["version"]] = row["outcome"]
            if row["outcome"] == "refused":
                said[row["row"]] = sentence(row["text"])
    yield "| call | " + " | ".join(versions) + " |"
    yield "|---|" + "---|" * len(versions)
    for row in sorted(outcomes, key=group):
        cells = [outcomes[row].get(v, "-") for v in versions]
        yield f"| `{row}` | " + " | ".join(cells) + " |"
    yield ""
    yield "What the server says when it refuses:"
    yield ""
    yield "| call | answer |"
    yield "|---|---|"
    for row in sorted(said, key=group):
        yield f"| `{row}` | {said[row]} |"


def main(arguments):
    write = "--write" in arguments
    results = [json.loads(Path(a).read_text()) for a in arguments if a != "--write"]
    results.sort(key=lambda r: [int(p) for p in r["version"].split(".")])
    page = PAGE.read_text()
    before, rest = page.split(BEGIN + "\n")
    old, after = rest.split(END + "\n")
    new = "".join(line + "\n" for line in ["", *lines(results), ""])
    if write:
        PAGE.write_text(before + BEGIN + "\n" + new + END + "\n" + after)
        return 0
    changed = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "docs/sdk-versions.md",
                                        "this run", lineterm="", n=0))
    print("\n".join(changed) if changed else "the table of docs/sdk-versions.md agrees")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
