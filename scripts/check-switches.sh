#!/usr/bin/env bash
# Every combination of TINKC_TEXT, TINKC_SERVER and TINKC_CLI configures and builds, and without
# TINKC_TELEMETRY the two extremes of them.
set -eu
cd "$(dirname "$0")/.."
count=0

# Most files compile to the same code in several combinations: each is compiled once. The cache is
# the gate's own; debug information would name the build directory.
if command -v ccache >/dev/null; then
    mkdir -p build/switches
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_DIR=$PWD/build/switches/ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$PWD
fi

build() { # text server cli telemetry
    local dir=build/switches/text-$1.server-$2.cli-$3.telemetry-$4
    mkdir -p "$dir"
    { cmake -G Ninja -S . -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DTINKC_TESTS=OFF \
        -DTINKC_TEXT="$1" -DTINKC_SERVER="$2" -DTINKC_CLI="$3" -DTINKC_TELEMETRY="$4" &&
        cmake --build "$dir" -j2; } >"$dir/log" 2>&1 ||
        { grep -v '^\[[0-9]*/[0-9]*\]' "$dir/log"; echo "$dir does not build"; exit 1; }
    ! grep -n 'warning:\|CMake Warning' "$dir/log" || exit 1
    count=$((count + 1))
}

for text in ON OFF; do
    for server in ON OFF; do
        for cli in ON OFF; do
            build $text $server $cli ON
        done
    done
done
build ON ON ON OFF
build OFF OFF OFF OFF
echo "$count combinations"
