#!/usr/bin/env bash
# A-012: the built libraries, shared and static, show tinkc_ functions and no data, and refer to
# nothing that prints, ends the process, handles signals or changes process-wide state.
. "$(dirname "$0")/lib.sh"
build=${TINKC_BUILD_DIR:-build}
expect "the libraries show the listed functions only" scripts/check-exports.sh --build "$build"
expect "no exported data" test -z "$(nm -D --defined-only --format=posix "$build/libtinkc.so" |
    awk '$2 !~ /^[TWA]$/')"
expect "the archive shows no data, common or weak" test -z "$(
    nm --defined-only --extern-only --format=posix "$build/libtinkc.a" |
        awk 'NF > 2 && $2 !~ /^T$/ && $2 !~ /[a-z]/')"
expect "they refer to nothing that disturbs their host" \
    scripts/check-quiet.sh "$build/libtinkc.so" "$build/libtinkc.a"
expect "public headers declare no variable" bash -c \
    "! grep -nE '^(TINKC_API|extern) [^(]*;' include/tinkc/*.h"
expect "every handle is opaque" bash -c \
    "! grep -nE '^struct tinkc_(service|training|sampling|future|queue|config|error) *\{' include/tinkc/*.h"
finish
