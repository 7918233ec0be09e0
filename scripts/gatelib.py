"""Shared by the gates: which files there are, and C text without comments or strings."""
import os
import re
import subprocess
import sys
from pathlib import Path


def root_of(argv):
    """The tree to check: `--root DIR`, or the one this script belongs to."""
    if "--root" in argv:
        return Path(argv[argv.index("--root") + 1]).resolve()
    return Path(__file__).resolve().parent.parent


def files(root, *suffixes):
    """Tracked files (all files where there is no git), as sorted relative paths."""
    if (root / ".git").exists():
        # a checkout that belongs to another user is still ours to read
        out = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files",
                              "-z"], check=True, capture_output=True, text=True).stdout
        names = [n for n in out.split("\0") if n and (root / n).is_file()]
    else:
        names = [os.path.relpath(os.path.join(d, f), root)
                 for d, _, fs in os.walk(root) for f in fs]
        names = [n for n in names if not n.startswith("build/")]
    if suffixes:
        names = [n for n in names if n.endswith(suffixes)]
    return sorted(names)


_TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text):
    """Comments and the contents of literals blanked; line numbers and columns kept."""
    def replace(match):
        token = match.group(0)
        if token[0] == "/":
            return _blank(token)
        return token[0] + _blank(token[1:-1]) + token[-1]
    return _TOKEN.sub(replace, text)


def without_comments(text):
    """Comments blanked, literals kept."""
    return _TOKEN.sub(
        lambda m: _blank(m.group(0)) if m.group(0)[0] == "/" else m.group(0), text)


def comments_only(text):
    """Everything but comments blanked."""
    out, last = [], 0
    for match in _TOKEN.finditer(text):
        out.append(_blank(text[last:match.start()]))
        token = match.group(0)
        out.append(token if token[0] == "/" else _blank(token))
        last = match.end()
    out.append(_blank(text[last:]))
    return "".join(out)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(problems, what):
    """Prints the problems, or one line of what was checked; the exit status."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s)")
        return 1
    print(what)
    return 0


def need(count, what):
    """A gate that looked at nothing has not passed."""
    if count == 0:
        print(f"nothing to check: no {what}")
        sys.exit(1)
