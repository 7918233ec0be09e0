#!/usr/bin/env bash
# A-153, M-177: the architecture decisions are written down, those for shared state among them, each
# with a reason; each rule for shared state names a test of it.
. "$(dirname "$0")/lib.sh"
page=docs/decisions.md
for title in "JSON of our own" "Protobuf of our own" "One door to the heap" \
    "Presence is a type" "The static archive holds one object" \
    "Lock-free and locked: the pattern for shared state"; do
    expect "there is a section \"$title\"" grep -qx "## $title" $page
done
expect "every section has at least three lines of text" awk '
    function close_section() { if (title && lines < 3) { print "thin: " title; bad = 1 } }
    /^## / { close_section(); title = $0; lines = 0; next }
    NF { lines++ }
    END { close_section(); exit bad }' $page
expect "files that sections name exist" bash -c '
    grep -o "\`\(scripts\|src\|cmake\|tests\)/[A-Za-z0-9_./-]*\`" docs/decisions.md | tr -d "\`" |
        while read -r f; do [ -e "$f" ] || { echo "no $f"; exit 1; }; done'
section=$(awk '/^## Lock-free and locked/ { on = 1; next } /^## / { on = 0 } on' $page)
expect "every rule for shared state names a test" awk '
    function close_rule() { if (rule && rule !~ /test_[a-z0-9_]+/) { print "no test: " rule; bad = 1 }; rule = "" }
    /^\* / { close_rule(); rule = $0; rules++; next }
    /^  / { rule = rule $0; next }
    { close_rule() }
    END { close_rule(); exit bad || rules < 6 }' <<<"$section"
expect "the tests exist" bash -c '
    for name in $(grep -o "test_[a-z0-9_]*" <<<"$1"); do
        grep -rq "^static void $name(void \*\*" tests || { echo "there is no $name"; exit 1; }
    done' - "$section"
finish
