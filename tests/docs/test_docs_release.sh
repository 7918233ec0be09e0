#!/usr/bin/env bash
# A-150: type fidelity gates a release: CI runs the tests and then every gate, and the gate on
# docs/conformance.md is one of them.
. "$(dirname "$0")/lib.sh"
expect "CI runs the tests" grep -q '^timeout .* make test ' .ci/run
expect "CI runs the gates after them" awk '/make test /{t=NR} /make check /{c=NR} END{exit !(t && c > t)}' .ci/run
expect "CI stops at the first failure" grep -q '^set -eu' .ci/run
expect "make check runs check.sh" grep -A1 '^check:' Makefile -q
expect "make check is scripts/check.sh" bash -c "make -n check | grep -q scripts/check.sh"
expect "conformance is a gate" grep -q '^conformance *| scripts/check-conformance.py' scripts/check.sh
expect "the gate refuses a row whose test did not run" bash -c '
    t=$(mktemp -d) && trap "rm -rf $t" EXIT && mkdir -p "$t/docs" "$t/tests" "$t/build" &&
    printf "Claimed: A-001.\n\n| A-001 | x | test_x |\n" >"$t/docs/conformance.md" &&
    printf "/* A-001 */\nstatic void test_x(void **u)\n{\n}\n" >"$t/tests/test_x.c" &&
    : >"$t/build/tests-run.txt" &&
    ! python3 scripts/check-conformance.py --root "$t" >/dev/null &&
    echo "ok test_x test_x" >"$t/build/tests-run.txt" &&
    python3 scripts/check-conformance.py --root "$t" >/dev/null'
finish
