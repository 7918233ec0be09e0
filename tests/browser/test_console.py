#!/usr/bin/env python3
"""The page of `tinkc console` in a browser: the files of a training run, beside the lists of a service, which is a
`tinkc serve` that ran it.

  tests/browser/test_console.py [WORD...]   only cases with one of the words in their name

The program is $TINKC_BUILD_DIR/tinkc, or build/tinkc.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

import hostile
from frame import OUT, Suite, need, same
from test_access import AXE, scan
from test_page import SIZES
from test_serve import MODEL, PROGRAM, Serve, write_chats

HOSTILE_ROLLOUT = {"step": 1, "episode": hostile.NAME, "end": "ok", "reward": 0.5, "task": {hostile.SCRIPT: hostile.RTL},
                   "stderr": hostile.TERMINAL, "texts": [hostile.SCRIPT + hostile.TERMINAL + hostile.RTL, hostile.LINE],
                   "turns": [{"turn": 0, "parent": -1, "prompt_tokens": 1, "sampled_tokens": 1,
                              "message": {"role": "assistant", "content": hostile.SCRIPT + hostile.LINE, "reasoning_content": hostile.RTL}}]}


class Console:
    """`tinkc console` over a folder, with a service or without one."""

    def __init__(self, folder, *words, service=None):
        env = {"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        if service:
            env.update(TINKER_BASE_URL=service, TINKER_API_KEY="tml-local")
        self.folder = folder
        self.process = subprocess.Popen([PROGRAM, "console", folder + "/files", "--port", "0", *words], stdout=subprocess.PIPE,
                                        text=True, env=env, cwd=folder)
        line = self.process.stdout.readline()
        need(line.startswith("listening on "), "the console does not start")
        self.url = line.split()[-1]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        same(self.process.wait(60), 0, "how the console ended")


def fill(s):
    """A run with a file, of which the service has checkpoints, and a file with hostile texts."""
    os.makedirs(s.folder + "/files/bad.rl")
    write_chats(s)
    s.tinkc("train", "chats.jsonl", "-m", MODEL, "--steps", "12", "-b", "8", "--save", "lamps", "--save-every", "6", "--eval", "chats.jsonl",
            "--metrics", "files/lamps.jsonl")
    with open(s.folder + "/files/bad.rl/metrics.jsonl", "wb") as file:
        file.write(json.dumps({"step": 1, "loss": 2, "<script>alert(1)</script>": 3, hostile.RTL[:20]: 4}).encode() + b"\n")
        file.write(b'{"step": 2, "loss": 1, "caf\xe9 \xff\xfe": 3}\n' + json.dumps({"step": 3, "loss": 0.5}).encode() + b"\n")
    with open(s.folder + "/files/bad.rl/rollouts.jsonl", "wb") as file:
        file.write(json.dumps(HOSTILE_ROLLOUT).encode() + b"\n" + b'{"step": 2, "texts": ["caf\xe9 \xff"]}\n' + b"y" * 1_000_000 + b"\n")


def files_and_the_service_are_listed(b, c):
    b.go(c.url)
    b.see("[data-service=good]", "\\d+ runs? of http://127.0.0.1")
    b.see("tr th a", "^lamps$")
    b.until("the file and the run of the service", "return [...document.querySelectorAll('tr th a')].filter(e => e.textContent === 'lamps').length === 2")
    b.see("tr th small", "rank \\d+ · service")
    b.see("#live[data-state=live]")
    b.keys("/")
    b.keys(*"pebble")
    b.until("the run of the service", "return document.querySelectorAll('table.runs tbody tr').length === 1")


def a_file_is_shown_and_followed(b, c):
    b.go(c.url)
    b.click("tr[data-run$='lamps.jsonl'] a")
    b.see("[data-fact=Step] dd", "^12$")
    b.see(".plot path[stroke-width]")
    same(b.count("[data-fact=Service]"), 0, "services of a file")
    training = subprocess.Popen([PROGRAM, "train", "chats.jsonl", "-m", MODEL, "--steps", "400", "-b", "8", "--metrics", "files/live.jsonl",
                                 "--state", "live.json", "--base-url", c.service.url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=c.service.env, cwd=c.folder)
    try:
        b.go(c.url)
        b.click("tr[data-run$='live.jsonl'] a")
        b.see("#by")
        first = b.until("a step", "return Number(document.querySelector('.view').dataset.step) || 0")
        b.until("more steps", "return Number(document.querySelector('.view').dataset.step) > a[0] + 3", first)
    finally:
        training.send_signal(signal.SIGINT)
        training.communicate(timeout=120)


def a_run_of_the_service_is_shown(b, c):
    b.go(c.url)
    b.click("tr:has(small):not([data-run$='jsonl']) th a", "^lamps$")
    b.see("h2", "The service keeps no curves")
    b.see("[data-fact=Service] dd", c.service.url)
    b.see("[data-fact=Model] dd", MODEL)
    b.until("its checkpoints", "return document.querySelectorAll('tr[data-checkpoint]').length === 2")
    b.see("section[aria-label='Going on'] pre", "tinkc train --base-url " + c.service.url)
    same(b.texts("tr[data-checkpoint]:first-child .acts > *"), ["Copy path"], "what can be done from here")
    b.shot(OUT / "console-service-run.png")


def the_service_has_sessions(b, c):
    b.go(c.url + "/#/server")
    b.see("section[aria-label=Service]", "\\d+ runs? of http://127.0.0.1")
    b.see("section[aria-label=Sessions] td")
    same(b.count("nav [data-view=playground]:not([hidden])"), 0, "links to a playground")


def a_service_that_is_gone_is_named(b, c):
    """Files are shown; the page says why there is no list."""
    b.go(c.url)
    b.see("[data-service=failed]", "gave no list: there is no server at.*Files are shown meanwhile")
    b.see("tr th a", "^lamps$")
    b.go(c.url + "/#/server")
    b.see("section[aria-label=Service]", "gave no list")


def no_service_is_said(b, c):
    b.go(c.url)
    b.see("[data-service=off]", "Only files are shown.*no API key")
    b.see("tr th a", "^lamps$")


def hostile_files_are_text(b, c):
    b.go(c.url)
    b.click("tr[data-run$='bad.rl:metrics.jsonl'] a")
    b.see("[data-fact=Step] dd", "^3$")  # the line that is no UTF-8 is left out
    b.see(".tile", "<script>alert")
    b.see(".tile", "abc ⟨U")
    b.go(c.url + "/#/rollouts")
    b.click(".items a", "bad")
    b.see(".turn .said", "^<script>window.__hacked=1</script>")
    b.click(".detail .tokens + button", "^Show all 1.000.000 characters$")
    b.until("the whole line", "return [...document.querySelectorAll('.detail .tokens')].some(e => e.textContent === 'x'.repeat(1e6))")
    said = b.text(".detail")
    for words in (hostile.SCRIPT, hostile.SEEN_TERMINAL, hostile.SEEN_RTL):
        need(words in said, f"not seen: {words[:60]!r}")
    same(b.js("return [window.__hacked ?? null, document.querySelectorAll('main script, main img').length]"), [None, 0], "what hostile files did")
    need(b.js("return document.documentElement.scrollWidth <= innerWidth"), "a line of 1 MB makes the page wider")


def every_width_fits(b, c):
    for name, place, ready in (("runs", "/#/runs", "[data-service=good]"), ("server", "/#/server", "section[aria-label=Sessions] td")):
        for width, size in SIZES:
            b.size(width, 900)
            for scheme in ("light", "dark"):
                b.scheme(scheme)
                b.go("about:blank")
                b.go(c.url + place)
                b.see(ready)
                wide = b.js("return [document.documentElement.scrollWidth, innerWidth]")
                need(wide[0] <= wide[1], f"{name} at {width} px is {wide[0]} px wide")
                if AXE.is_file():
                    scan(b, f"{name}, {size}, {scheme}")
                b.shot(OUT / f"console-{name}-{size}-{scheme}.png")


CASES = (files_and_the_service_are_listed, a_file_is_shown_and_followed, a_run_of_the_service_is_shown, the_service_has_sessions,
         hostile_files_are_text, every_width_fits)


def main():
    if not PROGRAM.is_file():
        print(f"console: {PROGRAM} is missing: type make")
        return 1
    with tempfile.TemporaryDirectory(prefix="tinkc-browser-") as folder:
        service = Serve(folder)
        consoles = []
        try:
            fill(service)
            for words in ({"service": service.url}, {"service": "http://127.0.0.1:9"}, {}):
                consoles.append(Console(folder, **words))
            consoles[0].service = service
            suite = Suite("console")
            for case in CASES:
                suite.run(case, consoles[0])
            suite.run(a_service_that_is_gone_is_named, consoles[1])
            suite.run(no_service_is_said, consoles[2])
            result = suite.finish()
        finally:
            for console in consoles:
                console.close()
            service.close()
    return result


if __name__ == "__main__":
    sys.exit(main())
