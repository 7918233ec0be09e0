#!/usr/bin/env bash
# Tests of the console in a real browser (Debian's chromium, over the WebDriver protocol): the page
# against a stand-in server, then against `tinkc serve` with a real training run.
# Pictures of every view go to build/browser.
#   scripts/browser.sh [WORD...]   only cases with one of the words in their name
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh browser
failed=0
for suite in tests/browser/test_*.py; do
    python3 "$suite" "$@" || failed=1
done
[ $failed -eq 0 ] && echo "browser: no failure; pictures are in build/browser"
exit $failed
