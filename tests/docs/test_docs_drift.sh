#!/usr/bin/env bash
# The robot that notices new SDK releases (scripts/sdk-drift.py): what it must see in two
# recordings and two public interfaces, and when it fails. No network.
. "$(dirname "$0")/lib.sh"
expect "the robot sees every kind of change" python3 -B tests/docs/drift_cases.py
# The page has what the generated tables and the proof need.
page=docs/sdk-versions.md
for marker in "matrix: made by" "end of the matrix" "interface: made by" "end of the interface"; do
    expect "$page has one '$marker'" test "$(grep -c "<!-- $marker" $page)" = 1
done
expect "$page has recorded rows" test "$(grep -c '| recorded |$' $page)" -gt 40
finish
