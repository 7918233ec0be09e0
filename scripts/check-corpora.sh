#!/usr/bin/env bash
# Every fuzz target builds for libFuzzer, has a corpus of at most 40 files, and its corpus
# replays clean under ASan and UBSan.
set -eu
cd "$(dirname "$0")/.."
targets=$(find fuzz -maxdepth 1 -name 'fuzz_*.c' -exec basename {} .c \; | sed 's/^fuzz_//' | sort)
[ -n "$targets" ] || { echo "nothing to check: no fuzz targets"; exit 1; }
for name in $targets; do
    files=$(find "fuzz/corpora/$name" -type f | wc -l)
    [ "$files" -le 40 ] ||
        { echo "fuzz/corpora/$name has $files files, at most 40: scripts/fuzz-trim.py $name"; exit 1; }
done

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers -j2 >build/fuzz/build.log 2>&1 ||
    { grep -v '^\[[0-9]*/[0-9]*\]' build/fuzz/build.log; exit 1; }
out=$(scripts/check-preset.sh asan -L fuzz --verbose 2>&1) || { echo "$out"; exit 1; }
for name in $targets; do
    [ -x "build/fuzz/fuzz/fuzz_$name" ] || { echo "fuzz_$name was not built"; exit 1; }
    grep -qx "ok replay_$name replay_$name" build/asan/tests-run.txt ||
        { echo "the corpus of $name was not replayed"; exit 1; }
done
read -r inputs records < <(sed -n 's/^[0-9]*: \([0-9]*\) inputs, \([0-9]*\) records$/\1 \2/p' <<<"$out" |
    awk '{ n += $1; r += $2 } END { print n + 0, r + 0 }')
[ "$inputs" -gt 0 ] || { echo "no inputs were replayed"; exit 1; }
echo "$(wc -w <<<"$targets") targets, $inputs inputs, $records records"
