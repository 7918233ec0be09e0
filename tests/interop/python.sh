#!/usr/bin/env bash
# The Python package as a user has it: the wheel installed with pip into a fresh environment, numpy
# arrays, annotations (mypy --strict), layout (black), and the CPU time of a sample beside that of
# the official SDK, with the same server: with result() at least 8 times less, with await, where both
# also pay for asyncio's loop, at least 6 times.
. "$(dirname "$0")/lib.sh"
version=0.36.0 model=tinkc/pebble-llama-2m failed=0 rounds=3
wrong() { echo "  $1: $2"; failed=1; }

make_venv build/python-venv numpy==2.4.6 mypy==2.4.1 black==26.10.1 || exit 1
tools=$PWD/build/python-venv/bin
"$tools/mypy" --strict --no-error-summary --cache-dir "$work/mypy" bindings/python/tinkc || wrong mypy "see above"
"$tools/black" -q --check bindings/python || wrong black "run black bindings/python"
"$tools/black" -q --check -l 110 tests/python || wrong black "run black -l 110 tests/python"

export TINKC=$build/tinkc TINKC_NUMPY=1
for test in unit server loss; do
    TINKC_LIBRARY=$build/libtinkc.so "$tools/python" -W error "tests/python/test_python_$test.py" \
        >"$work/said" 2>&1 || { wrong "test_python_$test with numpy" "failed"; tail -n 40 "$work/said"; }
done

scripts/wheel.py "$build" "$work/dist" || exit 1
python3 -m venv "$work/venv" &&
    "$work/venv/bin/python" -m pip --disable-pip-version-check -q install --no-index "$work"/dist/tinkc-*.whl &&
    "$work/venv/bin/python" -m pip --disable-pip-version-check check >/dev/null || exit 1
sdk=$(scripts/sdkenv.py $version) || exit 1

cost() { # sdk|tinkc PYTHON result|await SAMPLES
    timeout 300 "$2" -W ignore tests/interop/python_cost.py "$1" "$3" "$url" "$model" "$4" \
        >>"$work/cost.$1.$3" 2>"$work/said" || ended || { cat "$work/said"; return 1; }
}
serve || exit 1
for ((i = 0; i < rounds; i++)); do
    for how in result await; do
        cost sdk "$sdk" $how 200 && cost tinkc "$work/venv/bin/python" $how 1000 || exit 1
    done
done
serve_end || failed=1

median() { sort -n "$1" | sed -n "$((rounds / 2 + 1))p"; }
declare -A bar=([result]=8 [await]=6)
for how in result await; do
    ours=$(median "$work/cost.tinkc.$how") theirs=$(median "$work/cost.sdk.$how")
    ratio=$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.1f", a / b }')
    echo "  CPU of a sample with $how: $ours us, official SDK $version $theirs us, ratio $ratio"
    awk -v r="$ratio" -v bar="${bar[$how]}" 'BEGIN { exit !(r >= bar) }' ||
        wrong "CPU of a sample with $how" "not ${bar[$how]} times less"
done
exit $failed
