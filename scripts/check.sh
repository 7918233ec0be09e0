#!/usr/bin/env bash
# Every gate, one line each; all of them run even when one fails.
#   scripts/check.sh [gate...]      only the named gates
#   scripts/check.sh --but GATE     all but one, e.g. the tests when they have just run
# The full output of a gate is in build/check/<gate>.log; a failure prints its end here.
# Each gate is a script that can be run alone.
set -u
cd "$(dirname "$0")/.."

# name | command, the cheap ones first
gates='
build       | scripts/check-build.sh
format      | scripts/check-format.sh
layers      | scripts/check-layers.py
lengths     | scripts/check-lengths.py
banned      | scripts/check-banned.py
comments    | scripts/check-comments.py
hygiene     | scripts/check-hygiene.py
headers     | scripts/check-headers.sh
cpp         | scripts/check-cpp.py
exports     | scripts/check-exports.sh
abi         | scripts/check-abi.sh
quiet       | scripts/check-quiet.sh
docs        | scripts/gen-docs.py --check
python      | scripts/gen-python.py --check
api         | scripts/check-api.py
gates       | tests/docs/test_gates.sh
tests       | scripts/test.sh
secrets     | scripts/check-secrets.sh
conformance | scripts/check-conformance.py
switches    | scripts/check-switches.sh
consumers   | scripts/check-consumers.sh
clang       | scripts/check-preset.sh clang -LE docs|python -E test_(bomb|gw_walk|gw_log|ca_parser|hostile|cli_hostile|cli_sessions|training_once|examples_rl|rl_kill|cmd_rl|cmd_dpo|cmd_distill|srv_rec_series)
asan        | scripts/check-preset.sh asan -LE sweep|fuzz
sweep       | scripts/check-sweep.sh
corpora     | scripts/check-corpora.sh
tsan        | scripts/check-preset.sh tsan
'

but=""
if [ "${1-}" = --but ]; then
    but=$2
    shift 2
fi
only=" $* "
mkdir -p build/check
failed=0 count=0 began=$SECONDS

run_gate() {
    local name=$1 command=$2 log=build/check/$1.log start=$EPOCHREALTIME verdict=ok
    # shellcheck disable=SC2086 # the command is words
    $command >"$log" 2>&1 </dev/null || verdict=FAILED
    local spent
    spent=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    printf '%-12s %-6s %7s s  %s\n' "$name" "$verdict" "$spent" "$(tail -n 1 "$log")"
    if [ $verdict = FAILED ]; then
        tail -n 120 "$log" | sed 's/^/    /'
        echo "    (all of it: $log)"
        failed=$((failed + 1))
    fi
}

while IFS='|' read -r name command; do
    name=${name// /}
    [ -n "$name" ] && [ "$name" != "$but" ] || continue
    if [ $# -gt 0 ] && [ "${only/ $name /}" = "$only" ]; then
        continue
    fi
    count=$((count + 1))
    run_gate "$name" "$command"
done <<<"$gates"

if [ $# -gt 0 ] && [ "$count" -ne $# ]; then
    echo "check: unknown gate among: $*"
    exit 2
fi
echo "$((count - failed)) of $count gates passed in $((SECONDS - began)) s"
[ "$failed" -eq 0 ]
