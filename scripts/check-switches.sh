#!/usr/bin/env bash
# Every combination of TINKC_TEXT, TINKC_SERVER and TINKC_CLI configures and builds.
set -eu
cd "$(dirname "$0")/.."
count=0
for text in ON OFF; do
    for server in ON OFF; do
        for cli in ON OFF; do
            dir=build/switches/text-$text.server-$server.cli-$cli
            mkdir -p "$dir"
            { cmake -G Ninja -S . -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DTINKC_TESTS=OFF \
                -DTINKC_TEXT=$text -DTINKC_SERVER=$server -DTINKC_CLI=$cli &&
                cmake --build "$dir" -j2; } >"$dir/log" 2>&1 ||
                { grep -v '^\[[0-9]*/[0-9]*\]' "$dir/log"; echo "$dir does not build"; exit 1; }
            ! grep -n 'warning:\|CMake Warning' "$dir/log" || exit 1
            count=$((count + 1))
        done
    done
done
echo "$count combinations"
