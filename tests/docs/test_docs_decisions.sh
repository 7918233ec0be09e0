#!/usr/bin/env bash
# A-153: the architecture decisions are written down, those for shared state among them, each
# with a reason.
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
finish
