#!/usr/bin/env bash
# M-172: `make demo`, shortened, ends well and with three lines to copy: a server, Python with the official
# SDK, C. The first and the last are run here as they are printed, but for the port; the second in
# tests/interop/snippet.sh, where the SDK is installed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/demo_lines.sh"
build=${TINKC_BUILD_DIR:-build}
expect "the demo ends well" demo_run "$build"
expect "it measures before and after" grep -q '^Exactly right: .* before, .* after$' "$work/demo.out"
drawn() { scripts/demo-svg.py <"$work/demo.out" | python3 -c '
import sys, xml.etree.ElementTree as tree
texts = [t.text for t in tree.parse(sys.stdin).iter("{http://www.w3.org/2000/svg}text")]
sys.exit("make demo" not in texts or not any(t.startswith("Exactly right") for t in texts))'; }
expect "it can be drawn" drawn
expect "the picture of README.md is such a drawing" grep -q '>Exactly right: .* after</text>' docs/demo.svg
expect "it ends with three lines" test "$(wc -l <"$work/lines")" -eq 3
expect "the second is Python" test "$(demo_line 'python3 -c .*base_url=' | wc -l)" -eq 1
expect "8000 is the server's own port" grep -q 'listening on http://127.0.0.1:8000' docs/guide/server.md
expect "the first starts a server" demo_serve
line=$(demo_line '\(eval \)\?cc ')
expect "the third compiles with pkg-config" grep -q 'pkg-config --cflags --libs tinkc' <<<"$line"
expect "the third says who the model is" \
    test "$(timeout 60 bash -c "$line" | head -n 1)" = "I am Pebble, a very small language model."
finish
