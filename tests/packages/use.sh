#!/usr/bin/env bash
# Uses an installed tinkc as a new user does: version, manual page, a server, a few steps of
# training, a sample of the result.
#   tests/packages/use.sh VERSION DOC      DOC: where the documents are, .../share/doc/tinkc
set -euo pipefail
version=$1 doc=$2
work=$(mktemp -d)
server=""
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap stop EXIT
fail() {
    echo "use: $1"
    cat "$work"/*.log 2>/dev/null || true
    exit 1
}
export HOME=$work XDG_DATA_HOME=$work/share
unset TINKER_API_KEY

[ "$(tinkc version)" = "tinkc $version" ] || fail "tinkc version says $(tinkc version)"
man tinkc_future_wait >"$work/page" && grep -q 'TINKC_E_TIMEOUT' "$work/page" || fail "man tinkc_future_wait"
man tinkc-train >"$work/page" && grep -q -- '--steps' "$work/page" || fail "man tinkc-train"

: >"$work/out"
tinkc serve --port 0 --data "$work/data" >"$work/out" 2>"$work/serve.log" &
server=$!
until url=$(sed -n 's/^listening on //p' "$work/out") && [ -n "$url" ]; do
    kill -0 "$server" 2>/dev/null || fail "the server did not start"
    sleep 0.1
done
export TINKER_BASE_URL=$url
cd "$work"
tinkc train -m tinkc/pebble-llama-2m --steps 10 --lr 3e-3 --save orders --format json \
    "$doc/examples/data/orders.jsonl" >result.json 2>train.log || fail "training failed"
number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" result.json; }
awk -v a="$(number loss_first)" -v b="$(number loss_last)" 'BEGIN { exit !(a > 0 && b < a) }' ||
    fail "the loss went from $(number loss_first) to $(number loss_last)"
weights=$(sed -n 's/^ *"weights": "\(.*\)".*/\1/p' result.json)
text=$(tinkc sample -m "$weights" --temperature 0 --max-tokens 8 --ignore-end --chat "Hello" 2>sample.log) ||
    fail "sampling failed"
[ -n "$text" ] || fail "the sample is empty"
echo "use: loss $(number loss_first) -> $(number loss_last) in 10 steps, sampled \"${text//$'\n'/ }\""
