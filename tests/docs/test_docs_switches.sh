#!/usr/bin/env bash
# A-135: heavy parts are switches, and continuous integration builds every combination of them.
. "$(dirname "$0")/lib.sh"
gate=scripts/check-switches.sh
expect "ci runs the gates" grep -q 'make check' .ci/run
expect "the gate is one of them" grep -qE "^switches +\| $gate\$" scripts/check.sh
for part in $(sed -n 's/^option(TINKC_\([A-Z]*\) .* ON)$/\1/p' CMakeLists.txt | grep -vx TESTS); do
    expect "$gate gives TINKC_$part to the build" grep -q -- "-DTINKC_$part=\"\$[0-9]\"" $gate
done
for part in text server cli; do
    expect "there is the switch ${part^^}" grep -q "^option(TINKC_${part^^} .* ON)\$" CMakeLists.txt
    expect "$gate turns it both ways" grep -q "^ *for $part in ON OFF; do" $gate
done
expect "telemetry off is built" grep -qE "^build (ON|OFF) (ON|OFF) (ON|OFF) OFF\$" $gate
header=$(sed -n 's/.*TINKC_API.* \(tinkc_[a-z0-9_]*\)(.*/\1/p' include/tinkc/tokenizer.h include/tinkc/chat.h)
for name in $header; do
    file=$(grep -rlE "^(tinkc|[a-z0-9_ ]+\**) *\*?$name\(" src/client | head -n 1)
    expect "$name ($file) is built with TINKC_TEXT only" grep -q '^ \* Needs: text' "${file:-/dev/null}"
done
expect "names were found" test "$(echo "$header" | wc -l)" -gt 10
finish
