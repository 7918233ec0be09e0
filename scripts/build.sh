#!/usr/bin/env bash
# make: builds release. Installs nothing; what is missing is named in one line.
#   scripts/build.sh [build directory [target...]]      default: build, everything
set -eu
cd "$(dirname "$0")/.."
dir=${1:-build}
[ $# -eq 0 ] || shift

missing() {
    echo "build: $1 is missing; run make deps" >&2
    exit 1
}
for tool in cmake ninja cc pkg-config; do
    command -v $tool >/dev/null || missing $tool
done

# CMake spends twenty lines on a library or a program that it does not find
out=$(cmake --preset release -B "$dir" 2>&1) || {
    name=$(awk -F "'" '/Checking for module/ { looked = $2 }
        /required package was not found|required packages were not found/ { print looked }
        sub(/.*using the following names: */, "") { print }' <<<"$out" | head -n 1)
    [ -z "$name" ] || missing "$name"
    echo "$out" >&2
    exit 1
}
cmake --build "$dir" ${@:+--target "$@"}
