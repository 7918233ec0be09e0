#!/usr/bin/env bash
# Runs every benchmark of the release build, prints a table and writes build/bench.json.
#   scripts/bench.sh [word...]      only programs whose name contains one of the words
# First of all it says what this machine's CPU can do (bench_machine).
# A benchmark is an executable build/bench/bench_* or a script bench/bench_*.py; each prints
# one JSON object per line: name, ratio (above 1: we are faster), bar, ok, detail. Exits
# with 1 when a bar is missed or a benchmark fails.
set -u
cd "$(dirname "$0")/.."
scripts/deps.sh bench || echo "bench: some comparisons are left out" >&2

wanted() {
    [ $# -gt 1 ] || return 0
    local program=$1 word
    shift
    for word in "$@"; do
        [[ ${program##*/} == *"$word"* ]] && return 0
    done
    return 1
}

lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
failed=0 count=0
build/bench/bench_machine >>"$lines" || failed=1
sed 's/.*"detail":"\(.*\)"}/machine: \1/' "$lines"
for program in build/bench/bench_* bench/bench_*.py; do
    [ -f "$program" ] && [ -x "$program" ] && wanted "$program" "$@" || continue
    [[ ${program##*/} != bench_machine ]] || continue
    count=$((count + 1))
    case $program in
    *.py) command=(/usr/bin/python3 "$program") ;;
    *) command=("$program") ;;
    esac
    "${command[@]}" </dev/null >>"$lines" || {
        echo "bench: $program failed" >&2
        failed=1
    }
done
if [ "$count" -eq 0 ]; then
    echo "bench: no benchmark found (make build first)" >&2
    exit 1
fi
python3 scripts/bench-report.py "$lines" build/bench.json || failed=1
exit $failed
