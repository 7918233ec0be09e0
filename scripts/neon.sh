#!/usr/bin/env bash
# Compiles the engine for 64-bit ARM and runs its kernel tests under qemu. Not part of
# `make check`: it needs a cross compiler, qemu and ARM packages, which it does not install:
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu qemu-user libcmocka-dev:arm64 libssl-dev:arm64
set -eu
cd "$(dirname "$0")/.."
cc=aarch64-linux-gnu-gcc
for tool in $cc qemu-aarch64; do
    command -v "$tool" >/dev/null || { echo "neon: $tool is missing"; exit 1; }
done

out=build/neon
mkdir -p "$out"
flags="-std=c11 -D_GNU_SOURCE -Isrc -Iinclude -Itests -O1 -Wall -Wextra -Wno-unused-parameter -Wconversion -Werror"
objects=""
compile() {
    local object
    object=$out/$(basename "$1" .c).o
    # shellcheck disable=SC2086 # flags are meant to be split
    $cc $flags ${2:-} -c "$1" -o "$object"
    objects="$objects $object"
}
for source in src/engine/*.c; do
    compile "$source" "-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math"
done
for source in src/base/*.c tests/support/failmem.c tests/engine/support/tiny.c; do
    compile "$source"
done
for name in kern mat forward train bits draw sampler sample_bits; do
    # shellcheck disable=SC2086
    $cc $flags "tests/engine/test_eng_$name.c" $objects -lcmocka -lcrypto -lm -lpthread \
        -o "$out/test_eng_$name"
    qemu-aarch64 -L / "$out/test_eng_$name"
done
