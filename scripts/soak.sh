#!/usr/bin/env bash
# The long measurements: memory, heartbeats under load, closing, and a minute of mixed work
# under TSan. One line per result; exits with 1 when a bar is missed.
set -u
cd "$(dirname "$0")/.."
failed=0
for program in build/tests/soak_memory build/tests/soak_heartbeat build/tests/soak_close; do
    "$program" || failed=1
done
cmake --preset tsan >/dev/null &&
    cmake --build --preset tsan --target soak_mix >/dev/null || exit 1
TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}" build/tsan/tests/soak_mix 60 || failed=1
exit $failed
