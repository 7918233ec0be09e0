#!/usr/bin/env bash
# The long measurements: memory, heartbeats under load and during a custom loss, closing, a server under load and under
# attack, its health, 2,000 agents at `tinkc gateway`, kill -9 of the server and of tinkc rl, a download of 2 GB, a
# stream of 1 GB, a minute through a bad network, 100,000 hostile answers and those of a newer server under ASan and
# UBSan, and a minute of mixed work under TSan. One line per result, and a table of the hostile answers; exits with 1
# when a bar is missed.
set -u
cd "$(dirname "$0")/.."
[ $# -eq 0 ] || { echo "soak: takes no arguments; one alone: build/tests/soak_NAME"; exit 2; }
failed=0
for program in build/tests/soak_memory build/tests/soak_heartbeat build/tests/soak_custom \
    build/tests/soak_close build/tests/soak_server build/tests/soak_prompt build/tests/soak_download build/tests/soak_stream build/tests/soak_proxy; do
    "$program" || failed=1
done
build/tests/soak_attack || failed=1
build/tests/soak_gateway || failed=1
build/tests/test_srv_kill 50 || failed=1
build/tests/test_rl_kill 10 || failed=1
cmake --preset asan >/dev/null &&
    cmake --build --preset asan --target soak_hostile >/dev/null || {
    echo "soak: soak_hostile does not build for ASan"
    exit 1
}
build/asan/tests/soak_hostile --answers 100000 || failed=1
build/asan/tests/soak_hostile --newer || failed=1
cmake --preset tsan >/dev/null &&
    cmake --build --preset tsan --target soak_mix >/dev/null || {
    echo "soak: soak_mix does not build for TSan"
    exit 1
}
# as in check-preset.sh: gcc 12's TSan knows 28 random address bits
fixed=""
bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
if [ "$bits" -gt 28 ] && setarch -R true 2>/dev/null; then
    fixed="setarch -R"
fi
TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}" $fixed build/tsan/tests/soak_mix 60 ||
    failed=1
exit $failed
