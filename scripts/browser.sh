#!/usr/bin/env bash
# Tests of the console in a real browser (Debian's chromium, over the WebDriver protocol): the page
# against a stand-in server, then against `tinkc serve` with a real training run.
# Pictures of every view go to build/browser.
#   scripts/browser.sh [WORD...]   only cases with one of the words in their name
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh browser
# axe-core, where there is npm: test_access.py
axe=build/browser/npm
if command -v npm >/dev/null && [ ! -f $axe/node_modules/axe-core/axe.min.js ]; then
    mkdir -p $axe
    npm install --silent --no-audit --no-fund --prefix $axe axe-core@4.10.2 >/dev/null ||
        echo "browser: axe-core cannot be had, accessibility is not checked"
fi
failed=0
for suite in tests/browser/test_*.py; do
    python3 "$suite" "$@" || failed=1
done
[ $failed -eq 0 ] && echo "browser: no failure; pictures are in build/browser"
exit $failed
