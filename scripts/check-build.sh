#!/usr/bin/env bash
# The release build, which the other gates look at, without a warning.
set -eu
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --build --preset release -j2 >"$log" 2>&1 ||
    { grep -v '^\[[0-9]*/[0-9]*\]' "$log"; exit 1; }
! grep -n 'warning:' "$log" || exit 1
echo "release, warnings are errors"
