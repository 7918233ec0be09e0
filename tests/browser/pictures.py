#!/usr/bin/env python3
"""Makes docs/pictures/console-*.png again: a run of the first training, and the playground before and after it.

  tests/browser/pictures.py      after a change of what they show; look at them
"""
import sys
import tempfile

from frame import ROOT
from test_serve import ENTER, MODEL, Serve, open_run
from webdriver import Driver

PICTURES = ROOT / "docs/pictures"
UNSURE = ".pane:first-child .tok:is(.lp2, .lp3, .lp4)"
WORDS = "Please keep a table for Nigel on Friday at five. We are two."


def picture_of_a_run(b, s):
    b.size(1200, 780)
    open_run(b, s, "demo")
    b.click("#log")
    b.until("the log scale", "return [...document.querySelectorAll('.plot svg text')].some(e => e.textContent === '0.1')")
    b.pointer("h1", ("move", 5, 5))
    b.shot(PICTURES / "console-run.png", whole=False)


def picture_of_the_playground(b, s):
    b.size(1200, 800)
    b.go(s.url + "/#/playground")
    b.see(".pane select")
    b.click("#two")
    b.until("two columns", "return document.querySelectorAll('.pane').length === 2")
    b.js("""const e = document.querySelectorAll('.pane select')[1];
        e.value = [...e.options].find(o => o.textContent.startsWith('demo')).value; e.dispatchEvent(new Event('change'))""")
    b.click("summary", "Parameters")
    for seed in range(1, 40):  # until the first model is unsure of a token
        b.click("#clear")
        b.js("""const e = [...document.querySelectorAll('.params label')].find(l => l.textContent.startsWith('Seed')).querySelector('input');
            e.value = arguments[0]; e.dispatchEvent(new Event('input'))""", seed)
        b.type("#say", WORDS)
        b.keys(ENTER)
        b.until("two answers", "return document.querySelectorAll('.talk article.model[data-done]').length === 2")
        if b.count(UNSURE):
            break
    b.click("summary", "Parameters")
    b.pointer(UNSURE, ("move", 4, 8))
    b.see(".others .own")
    b.js("document.getElementById('say').focus()")
    b.shot(PICTURES / "console-playground.png", whole=False)


def main():
    driver = Driver(ROOT / "build/browser/chromedriver.log")
    with tempfile.TemporaryDirectory(prefix="tinkc-browser-") as folder:
        server, browser = Serve(folder), driver.session()
        try:
            server.tinkc("train", ROOT / "examples/data/bookings.jsonl", "-m", MODEL, "--save", "demo")
            browser.scheme("light")
            picture_of_a_run(browser, server)
            picture_of_the_playground(browser, server)
        finally:
            browser.close()
            driver.close()
            server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
