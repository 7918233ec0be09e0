#!/usr/bin/env bash
# Builds and runs programs against an installed libtinkc-dev: pkg-config and CMake, shared and
# static, C and C++, an installed example, and Python through ctypes. Takes nothing from a tree but
# tests/consumer.
#   tests/packages/build.sh VERSION DOC CONSUMER
set -euo pipefail
version=$1 doc=$2 consumer=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
# prints PROGRAM...: it runs and prints the version
prints() {
    local out
    out=$("$@") && [ "$out" = "$version" ] || { echo "build: $* printed: $out"; exit 1; }
    count=$((count + 1))
}

[ "$(pkg-config --modversion tinkc)" = "$version" ] || { echo "build: tinkc.pc has another version"; exit 1; }
flags=$(pkg-config --cflags --libs tinkc)
static=$(pkg-config --static --cflags --libs tinkc)
static=${static/-ltinkc/-l:libtinkc.a}
# shellcheck disable=SC2086 # flags are words
{
    gcc -std=c11 -Wall -Wextra -Werror "$consumer/main.c" $flags -o "$work/c"
    g++ -std=c++17 -Wall -Wextra -Werror -x c++ "$consumer/main.c" -x none $flags -o "$work/cxx"
    gcc -std=c11 "$consumer/main.c" $static -o "$work/c-static"
    gcc -Wall -Wextra -Werror "$doc/examples/02_sft.c" $flags -lm -o "$work/example"
}
prints "$work/c"
prints "$work/cxx"
prints "$work/c-static"
ldd "$work/c" | grep -q 'libtinkc\.so\.0' || { echo "build: the shared library is not used"; exit 1; }
! readelf -d "$work/c-static" | grep -q 'libtinkc' || { echo "build: the archive is not used"; exit 1; }
for kind in tinkc static; do
    cmake -S "$consumer" -B "$work/$kind" -DTINKC_KIND=$kind >"$work/log" 2>&1 &&
        cmake --build "$work/$kind" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    prints "$work/$kind/consumer"
    prints "$work/$kind/consumer_cxx"
done
prints python3 -B "$here/use.py"
echo "build: $count programs print $version, and an example compiles"
