#!/usr/bin/env bash
# The allocation-failure sweep, whole: every test that sweeps (ctest label `sweep`) runs
# under ASan with stride 1, failing each allocation of its scenarios once (the server's
# sweeps, whose points are many and slow, a thousand of them each). An ordinary run uses the
# stride that the test asks for.
set -eu
cd "$(dirname "$0")/.."
out=$(TINKC_SWEEP_STRIDE=1 scripts/check-preset.sh asan -L sweep --verbose 2>&1) ||
    { echo "$out"; exit 1; }
points=$(sed -n 's/.*sweep: \([0-9]*\) allocation points, stride \([0-9]*\).*/\1 \2/p' <<<"$out" |
    awk '{ n += int(($1 + $2 - 1) / $2); s++ }
        END { print s + 0, "scenarios,", n + 0, "allocation points" }')
case $points in "0 "*) echo "no sweep ran"; exit 1 ;; esac
echo "$points, each failed once; $(tail -n 1 <<<"$out")"
