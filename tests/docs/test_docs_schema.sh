#!/usr/bin/env bash
# A-154: the machine-readable schema agrees with the headers and with what the official SDK
# sends and reads; A-146: it is generated, and equals the code (test_docs_generated).
. "$(dirname "$0")/lib.sh"
expect "docs/schema.json fits headers and recordings" python3 scripts/check-schema.py
# It can fail: a field taken out of the schema is missed on both sides, a wrong kind on one.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/docs" "$work/src" "$work/tests/data/wire"
cp -r src/wire "$work/src/"
cp -r tests/data/wire/0.25.0 "$work/tests/data/wire/"
refuses() { # refuses SED WORDS
    sed "$1" docs/schema.json >"$work/docs/schema.json"
    cmp -s docs/schema.json "$work/docs/schema.json" && { echo "nothing was changed"; return 1; }
    ! python3 scripts/check-schema.py --root "$work" >"$work/out" && grep -qF "$2" "$work/out"
}
expect "a missing field is found in the header" refuses '/"name": "top_k"/d' \
    "SamplingParams: tk_sampling_params.top_k is no field of the schema"
expect "a missing field is found in the recordings" refuses '/"name": "top_k"/d' \
    "SampleRequest.sampling_params:SamplingParams.top_k: the schema has no such field"
expect "a wrong kind is found" refuses '/"name": "temperature"/s/number/boolean/' \
    "float where the schema says boolean"
finish
