#!/usr/bin/env bash
# Runs every test of one build tree and ends with `N passed, N failed`.
#   scripts/test.sh [build-dir] [ctest arguments...]     default: build (release)
# Leaves <build-dir>/tests-run.txt: one line `ok|FAILED program function` per test that
# ran, which scripts/check-conformance.py reads.
set -u
cd "$(dirname "$0")/.."
dir=build
if [ $# -gt 0 ]; then
    dir=$1
    shift
fi

rm -f "$dir/tests-run.txt" "$dir"/Testing/Temporary/LastTest*.log
ctest --test-dir "$dir" -j2 --output-on-failure --no-tests=error "$@" </dev/null |
    grep -v -E '^(Label Time Summary|[a-z]+ *= .* sec\*proc|Internal ctest|Test project)'
status=${PIPESTATUS[0]}
python3 scripts/test-report.py "$dir" "$status"
