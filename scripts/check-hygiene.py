#!/usr/bin/env python3
"""Nothing of one machine, one network or one person's keys in tracked files; no binary blobs
that are not declared; no trailing blanks.

A URL may only name a host of HOSTS: a closed list, so that a mirror or a private registry
cannot slip in.
"""
import re
import sys

import gatelib

HOSTS = re.compile(
    r"^(localhost|127\.0\.0\.1|\[::1\]|\d+\.\d+\.\d+\.\d+"
    r"|([\w-]+\.)*(example|invalid|test)|([\w-]+\.)*example\.(com|org|net)"
    r"|(www\.)?apache\.org|www\.rfc-editor\.org|json-schema\.org|www\.w3\.org|protobuf\.dev"
    r"|tinker\.thinkingmachines\.dev|tinker-docs\.thinkingmachines\.ai|huggingface\.co"
    r"|([\w-]+\.)*thinkingmachines\.(dev|ai)|github\.com|www\.debian\.org|ui\.perfetto\.dev|keepachangelog\.com|semver\.org)$")
PATTERNS = [
    (re.compile(r"(?<![\w./-])/(work|root|home/\w+|Users/\w+|mnt|workspace)/"), "machine path"),
    (re.compile(r"(?<![\w./-])/tmp/(?![\w.-]*XXXXXX)[\w.]+"), "fixed name under /tmp"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "private key"),
    (re.compile(r"\b(AKIA[0-9A-Z]{16}|gh[pousr]_\w{30,}|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9]{20,})"),
     "secret"),
    (re.compile(r"\btml-(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{24,}"), "API key"),
    (re.compile(r"\beyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}"), "JWT"),
    (re.compile(r"[ \t]+$", re.M), "trailing blanks"),
    (re.compile(r"^(<{7}|>{7}|={7})( |$)", re.M), "merge marker"),
]
URL = re.compile(r"\b(?:https?|git|ssh)://(?:[^/@\s\"'<>]*@)?(\[[0-9a-f:]+\]|[\w.-]+)", re.I)
BINARY_FOLDERS = ("tests/data/", "fuzz/corpora/", "fuzz/corpus/", "models/", "docs/pictures/")
SELF = ("scripts/check-hygiene.py", "LICENSE")


def check(path, data):
    if b"\0" in data:
        if not path.startswith(BINARY_FOLDERS):
            yield f"{path}: binary file outside {', '.join(BINARY_FOLDERS)}"
        return
    text = data.decode("utf-8", "replace")
    plain_data = path.startswith(("tests/data/", "fuzz/corp"))
    for pattern, what in PATTERNS:
        if plain_data and what in ("trailing blanks", "merge marker"):
            continue
        for match in pattern.finditer(text):
            yield f"{path}:{gatelib.line_of(text, match.start())}: {what}"
    for match in URL.finditer(text):
        host = match.group(1).lower()
        if "." in host and not HOSTS.match(host.rstrip(".")):
            yield f"{path}:{gatelib.line_of(text, match.start())}: host {host} is not in the list"


def main():
    root = gatelib.root_of(sys.argv)
    problems, checked = [], 0
    for path in gatelib.files(root):
        if path in SELF:
            continue
        checked += 1
        problems += check(path, (root / path).read_bytes())
    gatelib.need(checked, "files")
    return gatelib.finish(problems, f"{checked} files")


if __name__ == "__main__":
    sys.exit(main())
