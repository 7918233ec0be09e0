#!/usr/bin/env bash
# No secret leaves the process: tests of the whole client (creating, training, sampling,
# REST, the exchange of credentials, the hub, a real server) and the program
# itself run with the wire dumped into the log, with traces and telemetry; then no API key,
# no JWT and no hub token is to be found in any of it.
#   scripts/check-secrets.sh [build-dir]     default: build (release)
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
out=$(pwd)/build/check/talk
rm -rf "$out"
mkdir -p "$out"
# Everything that talks to a server, but what swaps the allocator under a trace (raw) or
# judges its own log (waits, wirelog).
tests='service training training_create training_fwdbwd training_fwdbwd_fail training_once training_custom
    sampling sampling_stream rest rest_poll download push auth timeout tokenizer tokenizer_hub
    telemetry_event telemetry_close hooks srv_client srv_fault srv_ledger srv_tokenizer'
secrets='tml-[A-Za-z0-9]|eyJ[A-Za-z0-9]|hf_[A-Za-z]|cf-secret'

for name in $tests; do
    TINKC_TALK=$out TINKC_SWEEP_STRIDE=100000 "$build/tests/test_$name" >"$out/../secrets.$name.txt" 2>&1 ||
        { cat "$out/../secrets.$name.txt"; echo "test_$name fails when it talks"; exit 1; }
done
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
for words in 'run list' 'session list' 'checkpoint info no-such-thing'; do
    # shellcheck disable=SC2086 # words
    TINKER_API_KEY=tml-of-the-program TINKC_WIRE_DUMP=1 XDG_DATA_HOME=$data HF_TOKEN=hf_of_the_program \
        "$build/tinkc" -vv --local $words </dev/null >>"$out/cli.stdout" 2>>"$out/cli.log" || true
done

for kind in log events trace; do
    [ "$(cat "$out"/*.$kind | wc -l)" -gt 100 ] || { echo "the tests wrote no $kind"; exit 1; }
done
for shown in 'X-API-Key: \*\*\*' '"jwt":"\*\*\*"' 'Authorization: \*\*\*' 'http: < '; do
    cat "$out"/*.log | grep -q -- "$shown" || { echo "no line with $shown: is anything dumped?"; exit 1; }
done
grep -q 'X-API-Key: \*\*\*' "$out/cli.log" || { echo "the program dumped nothing"; exit 1; }
if grep -n -E "$secrets" "$out"/*; then
    echo "these secrets got out"
    exit 1
fi
echo "$(cat "$out"/*.log | wc -l) lines of log, $(cat "$out"/*.events | wc -l) batches of events," \
    "$(cat "$out"/*.trace | wc -l) lines of traces: no secret"
