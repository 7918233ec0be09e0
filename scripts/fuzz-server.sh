#!/usr/bin/env bash
# Stateful fuzzing of the server (fuzz/server), with ASan and UBSan.
#   scripts/fuzz-server.sh [asan|tsan|dev] [options of fuzz_server...]     e.g. --seconds 3600
# One line per round (a seed); a finding is printed, its round's directory is kept, and the
# exit code is 1 then. docs/internals/testing.md says how to read one.
set -eu
cd "$(dirname "$0")/.."
preset=asan
case "${1:-}" in asan | tsan | dev) preset=$1 && shift ;; esac
export ASAN_OPTIONS="${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" --target fuzz_server -j2 >"build/$preset/fuzz-server.log" || {
    tail -n 40 "build/$preset/fuzz-server.log"
    exit 1
}
# as in check-preset.sh: gcc 12's TSan knows 28 random address bits
fixed=""
bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
if [ "$preset" = tsan ] && [ "$bits" -gt 28 ] && setarch -R true 2>/dev/null; then
    fixed="setarch -R"
fi
[ $# -gt 0 ] || set -- --seconds 600
exec $fixed "build/$preset/fuzz/fuzz_server" "$@"
