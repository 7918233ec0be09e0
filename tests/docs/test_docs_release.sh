#!/usr/bin/env bash
# A-150: type fidelity gates a release: CI runs the tests and then every other gate, stops when one of
# them fails, and the gate on docs/conformance.md is one of them and can fail.
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# CI, with a make that writes down what it is asked for, and fails on demand.
mkdir -p "$work/bin" "$work/tree/.ci"
cp .ci/run "$work/tree/.ci/"
printf '#!/bin/sh\necho "$*" >>%s\n[ "$*" != "$BREAK" ]\n' "$work/asked" >"$work/bin/make"
chmod +x "$work/bin/make"
ci() { # ci FAILS: the exit status of CI when make FAILS fails; $work/asked has what was run
    : >"$work/asked"
    PATH=$work/bin:$PATH BREAK=$1 "$work/tree/.ci/run" >/dev/null 2>&1
}
expect "CI passes when everything does" ci nothing
expect "it ran the tests, then the other gates" test "$(paste -sd, "$work/asked")" = test,"check BUT=tests"
expect "CI fails with the gates" bash -c "! PATH=$work/bin:\$PATH BREAK='check BUT=tests' '$work/tree/.ci/run' >/dev/null 2>&1"
: >"$work/asked"
expect "CI fails with the tests" bash -c "! PATH=$work/bin:\$PATH BREAK=test '$work/tree/.ci/run' >/dev/null 2>&1"
expect "and stops there" test "$(paste -sd, "$work/asked")" = test
expect "make check is scripts/check.sh" bash -c "env -u MAKEFLAGS -u BUT make -n check | grep -q 'scripts/check.sh *$'"
expect "and leaves out what BUT names" bash -c "env -u MAKEFLAGS -u BUT make -n check BUT=tests | grep -q 'scripts/check.sh --but tests$'"

# check.sh and the gate on a small tree: a row whose test did not run, then one that passed.
mkdir -p "$work/t"/{docs,tests,build,scripts}
cp scripts/check.sh scripts/check-conformance.py scripts/gatelib.py "$work/t/scripts/"
printf 'Claimed: A-001.\n\n| A-001 | x | test_x |\n' >"$work/t/docs/conformance.md"
printf '/* A-001 */\nstatic void test_x(void **u)\n{\n}\n' >"$work/t/tests/test_x.c"
: >"$work/t/build/tests-run.txt"
expect "the gates fail with a row whose test did not run" bash -c "! '$work/t/scripts/check.sh' conformance >'$work/log'"
expect "and say which" grep -q "A-001: test_x did not run" "$work/log"
echo "ok test_x test_x" >"$work/t/build/tests-run.txt"
expect "and pass when it did" bash -c "'$work/t/scripts/check.sh' conformance >/dev/null"
expect "all gates are run when none is named" bash -c "! '$work/t/scripts/check.sh' >'$work/log'"
expect "conformance among them" grep -q '^conformance  *ok' "$work/log"
expect "and all but one" bash -c "! '$work/t/scripts/check.sh' --but format >'$work/log2'"
gates() { grep -oE '^[a-z]+ +(ok|FAILED)' "$1" | cut -d' ' -f1; }
expect "which is that one" test "$(gates "$work/log" | grep -vx format)" = "$(gates "$work/log2")"
finish
