#!/usr/bin/env bash
# Runs the fuzz targets, one after the other, with ASan and UBSan.
#   scripts/fuzz.sh [seconds per target, default 600] [target...]     e.g. 60 json
# A finding (crash, sanitizer report, hang, leak, broken promise) ends with 1; its input is
# kept in build/fuzz/findings/<target>/. scripts/fuzz-trim.py adds what reaches new code to
# fuzz/corpora/<target>/, and keeps that small; commit it.
# FUZZ_MAX_LEN sets the largest input (bytes, default 4096).
set -eu
cd "$(dirname "$0")/.."

seconds=600
if [ $# -gt 0 ] && [[ $1 =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
fi
max_len=${FUZZ_MAX_LEN:-4096}

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers -j2 >build/fuzz/build.log || {
    tail -n 40 build/fuzz/build.log
    exit 1
}

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for program in build/fuzz/fuzz/fuzz_*; do
        [ -x "$program" ] && [ -f "$program" ] && targets+=("${program##*/fuzz_}")
    done
fi

# run_target NAME: true when nothing was found
run_target() {
    local name=$1 program=build/fuzz/fuzz/fuzz_$1 seeds=build/fuzz/seeds/$1
    local work=build/fuzz/work/$1 findings=build/fuzz/findings/$1 log=build/fuzz/$1.log
    if [ ! -x "$program" ]; then
        echo "fuzz: no target named $name" >&2
        return 1
    fi
    rm -rf "$seeds"
    mkdir -p "$work" "$findings"
    scripts/fuzz-trim.py --split "fuzz/corpora/$name" "$seeds" # short inputs are better to mutate
    local options=("-max_len=$max_len" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1)
    [ -f "fuzz/dictionaries/$name.dict" ] && options+=("-dict=fuzz/dictionaries/$name.dict")
    if ! "$program" "${options[@]}" "-max_total_time=$seconds" \
        "-artifact_prefix=$findings/" "$work" "$seeds" >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "fuzz_$name: FINDING, see $log; input:"
        ls -t "$findings"/* 2>/dev/null | head -n 1
        return 1
    fi
    scripts/fuzz-trim.py "$name" || return 1
    local runs
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | head -n 1)
    echo "fuzz_$name: no finding in $runs runs"
}

failed=0
for name in "${targets[@]}"; do
    run_target "$name" || failed=1
done
exit $failed
