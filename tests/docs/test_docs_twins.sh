#!/usr/bin/env bash
# A-031: every operation of the public headers has a form that returns a future and a blocking
# twin called ..._wait. A-036: results of chunks are combined in one place, which every kind of
# batch uses.
. "$(dirname "$0")/lib.sh"
headers=$(cat include/tinkc/*.h | tr '\n' ' ')
futures=$(grep -o 'tinkc_future \* *tinkc_[a-z0-9_]*(' <<<"$headers" | grep -o 'tinkc_[a-z0-9_]*(' |
    tr -d '(' | grep -v '^tinkc_future_' | sort -u)
twins=$(grep -o 'tinkc_code *tinkc_[a-z0-9_]*_wait(' <<<"$headers" | grep -o 'tinkc_[a-z0-9_]*_wait' |
    grep -v '^tinkc_future_' | sed 's/_wait$//' | sort -u)
expect "there are operations" test "$(wc -l <<<"$futures")" -gt 15
expect "each has its twin, each twin its operation" diff <(echo "$futures") <(echo "$twins")
expect "one definition of the combiner" test \
    "$(grep -rlE --include='*.c' '^tinkc_code tk_metrics_combine\(' src | wc -l)" -eq 1
expect "one place in the client that combines" test \
    "$(grep -rl --include='*.c' 'tk_metrics_combine(' src/client | wc -l)" -eq 1
finish
