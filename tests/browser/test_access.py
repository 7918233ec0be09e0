#!/usr/bin/env python3
"""Accessibility of every view by axe-core of npm (build/browser/npm, put there by scripts/browser.sh), light and dark:
no violation that axe calls serious or critical. Without npm it says so and does nothing."""
import sys

from frame import OUT, PAGE, Suite, need
from stand_in import Data, StandIn
from test_page import ENTER, PLACES, place_of

AXE = OUT / "npm/node_modules/axe-core/axe.min.js"
SCAN = """
const done = arguments[0];
axe.run(document, {resultTypes: ['violations']}).then(r => done({passed: r.passes.length, found: r.violations.map(v =>
  [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(', ')])}), e => done({error: String(e)}));
"""


def scan(b, what):
    if not b.js("return typeof axe === 'object'"):
        b.js(AXE.read_text())
    result = b.ajs(SCAN)
    need("error" not in result, f"{what}: {result}")
    need(result["passed"] > 5, f"{what}: axe checked almost nothing")
    bad = [f for f in result["found"] if f[0] in ("serious", "critical")]
    for f in result["found"]:
        if f not in bad:
            print(f"      {what}: {f[0]}: {f[1]}: {f[2]}")
    need(not bad, f"{what}: {bad}")
    return result["passed"]


def every_view_is_accessible(b, s):
    for name, place, ready in PLACES:
        for scheme in ("light", "dark"):
            b.scheme(scheme)
            b.go("about:blank")
            b.go(s.url + place_of(s, place))
            b.see(ready)
            if name == "playground":
                b.type("#say", "Tell me about the lamp")
                b.keys(ENTER)
                b.see(".talk article.model[data-done]")
            scan(b, f"{name}, {scheme}")


def dialogs_are_accessible(b, s):
    b.go(s.url)
    b.see("table.runs")
    b.click("#keys")
    b.see("dialog")
    scan(b, "keys")


def empty_views_are_accessible(b, s):
    for place in ("/#/runs", "/#/rollouts", "/#/rollouts/episodes"):
        b.go("about:blank")
        b.go(s.url + place)
        b.see(".empty pre")
        scan(b, "empty " + place)


def the_login_is_accessible(b, s):
    s.data.key = "tml-secret"
    b.go(s.url)
    b.see("form.login")
    scan(b, "login")


def main():
    if not AXE.is_file():
        print("access: npm or axe-core is not there, nothing was checked")
        return 0
    suite = Suite("access")
    full, bare = StandIn(PAGE), StandIn(PAGE, Data().empty())
    for case in (every_view_is_accessible, dialogs_are_accessible):
        suite.run(case, full)
    for case in (empty_views_are_accessible, the_login_is_accessible):
        suite.run(case, bare)
    full.close()
    bare.close()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
