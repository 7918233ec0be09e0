#!/usr/bin/env bash
# The examples of other languages, built with nothing but the headers and run against our server:
# each trains a few steps, and the answer that it was taught comes back. A language whose tools are
# not installed is named and left out.
. "$(dirname "$0")/lib.sh"
export PKG_CONFIG_PATH=$build # the build tree's tinkc.pc has an rpath
unset LD_LIBRARY_PATH
failed=0

# taught LANGUAGE PROGRAM ANSWER: the loss fell, and the model says the answer
taught() {
    local out
    out=$(TINKER_BASE_URL=$url timeout 300 "$2" 2>&1) || { echo "$1 failed: $out"; failed=1; return; }
    awk '/^loss/ { exit !($2 > 5 * $7) }' <<<"${out/,/}" && grep -qxF "$3" <<<"$out" ||
        { echo "$1 said: $out"; failed=1; return; }
    echo "$1: $(tr '\n' ' ' <<<"$out")"
}

serve || exit 1
if command -v go >/dev/null; then
    (cd bindings/go && GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=1 GOCACHE=$work/go \
        go build -o "$work/hello_go" . && GOCACHE=$work/go go vet .) || failed=1
    [ ! -x "$work/hello_go" ] || taught go "$work/hello_go" "A gopher is a friendly animal."
else
    echo "go: not installed, bindings/go was not run"
fi
if command -v cargo >/dev/null; then
    (cd bindings/rust && RUSTFLAGS=-Dwarnings CARGO_TARGET_DIR=$work/rust cargo build --offline --locked -q) ||
        failed=1
    [ ! -x "$work/rust/debug/tinkc-hello" ] ||
        taught rust "$work/rust/debug/tinkc-hello" "A crab is an animal that walks sideways."
else
    echo "rust: cargo is not installed, bindings/rust was not run"
fi
serve_end || failed=1
exit $failed
