#!/usr/bin/env bash
# Every combination of TINKC_TEXT, TINKC_SERVER and TINKC_CLI configures and builds; so
# does a library without telemetry, in which none of its code is left.
set -eu
cd "$(dirname "$0")/.."
count=0
build() { # directory, switches...
    local dir=build/switches/$1
    shift
    mkdir -p "$dir"
    { cmake -G Ninja -S . -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DTINKC_TESTS=OFF "$@" &&
        cmake --build "$dir" -j2; } >"$dir/log" 2>&1 ||
        { grep -v '^\[[0-9]*/[0-9]*\]' "$dir/log"; echo "$dir does not build"; exit 1; }
    ! grep -n 'warning:\|CMake Warning' "$dir/log" || exit 1
    count=$((count + 1))
}
for text in ON OFF; do
    for server in ON OFF; do
        for cli in ON OFF; do
            build text-$text.server-$server.cli-$cli \
                -DTINKC_TEXT=$text -DTINKC_SERVER=$server -DTINKC_CLI=$cli
        done
    done
done
build telemetry-OFF -DTINKC_TELEMETRY=OFF -DTINKC_SERVER=OFF -DTINKC_CLI=OFF
! grep -q sessionless- build/switches/telemetry-OFF/libtinkc.so ||
    { echo "the library without telemetry has some"; exit 1; }
echo "$count combinations"
