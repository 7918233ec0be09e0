#!/usr/bin/env bash
# docs/internals/first-hour.md names tests and sessions that exist, and every session.
. "$(dirname "$0")/lib.sh"
page=docs/internals/first-hour.md
missing=""
for name in $(grep -o '`test_[a-z0-9_.]*`' $page | tr -d '`' | sort -u); do
    case $name in
    *.*) [ -n "$(find tests -name "$name")" ] || missing="$missing $name" ;;
    test_session_*) ;;
    *) grep -rqE "\b$name\(" tests --include='*.c' --include='*.cpp' || missing="$missing $name" ;;
    esac
done
expect "it names tests" test "$(grep -c 'test_' $page)" -gt 30
expect "every test exists (missing:$missing)" test -z "$missing"
for file in tests/data/sessions/*.txt; do
    name=$(basename "$file" .txt)
    expect "it says what the session $name shows" grep -qE "sessions? .*\`$name\`" $page
done
for file in $(grep -o '`tests/[a-z/_.]*`' $page | tr -d '`' | sort -u); do
    expect "$file exists" test -e "$file"
done
finish
