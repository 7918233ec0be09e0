"""How the browser tests run: cases, what each must leave behind, and the closing line.

A case is a function `case(b, s)` of a browser and a server's address (or stand-in). After each, the
page must have logged no error, asked no other origin, and broken no rule of its policy.
"""
import os
import pathlib
import re
import sys
import time
import traceback

from webdriver import Driver, Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "src/console/page"
OUT = ROOT / "build/browser"


def need(truth, text):
    if not truth:
        raise Failure(text)


def same(got, wanted, what):
    need(got == wanted, f"{what}: {got!r} instead of {wanted!r}")


def quiet(b, origin, allowed=()):
    """What no page may do."""
    for level, message in b.log():
        if level in ("SEVERE", "WARNING") and not any(re.search(p, message) for p in allowed):
            raise Failure(f"the console says: {message}")
    same(b.violations(), [], "broken rules of the policy")
    for url in b.requests():
        # ours, a picture of the page itself, and the empty page that a browser begins with
        if not url.startswith((origin + "/", "data:", "blob:" + origin)) and url != "about:blank":
            raise Failure(f"the page asked for {url}")


def allows(*patterns):
    """Marks a case whose page may log these lines: answers of 4xx that it asks for."""
    def mark(case):
        case.allowed = patterns
        return case
    return mark


class Suite:
    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0
        OUT.mkdir(parents=True, exist_ok=True)
        self.driver = Driver(OUT / "chromedriver.log")
        self.browser = self.driver.session()
        self.only = sys.argv[1:]

    def run(self, case, server):
        name = case.__name__.replace("_", " ")
        if self.only and not any(o in name for o in self.only):
            return
        began = time.monotonic()
        b = self.browser
        try:
            b.go("about:blank")
            b.scheme("light")
            b.size(1280)
            b.log(), b.requests()
            case(b, server)
            quiet(b, server.url, getattr(case, "allowed", ()))
            self.passed += 1
            print(f"ok    {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception as error:  # each case is told, the next one runs
            self.failed += 1
            b.scheme("light")
            b.shot(OUT / f"failed-{self.name}-{case.__name__}.png")
            print(f"FAIL  {name}: {str(error)[:300]}", flush=True)
            if not isinstance(error, Failure) or os.environ.get("TINKC_BROWSER_TRACE"):
                traceback.print_exc()

    def finish(self):
        self.browser.close()
        self.driver.close()
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
