#!/usr/bin/env bash
# Builds one CMake preset without a warning and runs all its tests.
#   scripts/check-preset.sh clang|asan|tsan|dev [ctest arguments...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
export ASAN_OPTIONS="${ASAN_OPTIONS:-strict_string_checks=1:detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-second_deadlock_stack=1}"

cmake --preset "$preset" >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --build --preset "$preset" -j2 >"$log" 2>&1 ||
    { grep -v '^\[[0-9]*/[0-9]*\]' "$log"; exit 1; }
if grep -n 'warning:' "$log"; then
    echo "preset $preset does not build without warnings"
    exit 1
fi

# gcc 12's TSan supports 28 random address bits: where the kernel uses more, switch it off.
fixed=""
bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
if [ "$preset" = tsan ] && [ "$bits" -gt 28 ] && setarch -R true 2>/dev/null; then
    fixed="setarch -R"
fi
$fixed scripts/test.sh "build/$preset" "$@"
