#!/usr/bin/env bash
# A-147: every ported or dropped workaround of the official SDK carries a reason, and what is kept or
# changed the test that shows it; the two that only its language needs are dropped.
. "$(dirname "$0")/lib.sh"
page=docs/workarounds.md
rows=$(grep -c '^| .* | \(kept\|changed\|dropped\) |' $page)
expect "there are rows" test "$rows" -ge 20
expect "every row says kept, changed or dropped" test "$rows" -eq \
    "$(($(grep -c '^|' $page) - 2))"
expect "every row has a reason of at least four words" awk -F' *\\| *' '
    /^\|/ && NR > 1 && $3 ~ /^(kept|changed|dropped)$/ && split($4, w, " ") < 4 {
        print "no reason: " $2; bad = 1 }
    END { exit bad }' $page
expect "what is kept or changed names tests" awk -F' *\\| *' '
    $3 ~ /^(kept|changed)$/ && $5 !~ /^test_[a-z0-9_]+(, test_[a-z0-9_]+)*$/ { print "no test: " $2; bad = 1 }
    END { exit bad }' $page
expect "the tests exist" bash -c '
    for name in $(grep -o "test_[a-z0-9_]*" '$page'); do
        grep -rq "^static void $name(void \*\*" tests || { echo "there is no $name"; exit 1; }
    done'
expect "sync-in-async guards are dropped" grep -q '^| Warns when a blocking.*| dropped |' $page
expect "the subprocess is dropped" grep -q '^| Runs sampling in a child.*| dropped |' $page
finish
