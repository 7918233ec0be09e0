#!/usr/bin/env bash
# Each public header compiles alone, as C11 and as C++17, with gcc and clang, strictly;
# tinkc.h includes all of them, every TINKC_X_INIT has its function tinkc_x_init, and the
# examples compile as C23-like C without a cast.
#   scripts/check-headers.sh [--root DIR]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ "${1:-}" != --root ] || root=$2
strict=(-Wall -Wextra -Werror -pedantic -fsyntax-only "-I$root/include")
count=0 failed=0
for header in "$root"/include/tinkc/*.h; do
    name=tinkc/$(basename "$header")
    count=$((count + 1))
    # twice, so that a missing include guard shows
    source=$(printf '#include <%s>\n#include <%s>\nextern int unused_x;\n' "$name" "$name")
    for compiler in "gcc -x c -std=c11" "clang-14 -x c -std=c11" \
        "g++ -x c++ -std=c++17" "clang-14 -x c++ -std=c++17"; do
        # shellcheck disable=SC2086 # words are meant to be split
        $compiler "${strict[@]}" - <<<"$source" || { echo "$name: $compiler"; failed=1; }
    done
    case $name in tinkc/tinkc.h) continue ;; esac
    grep -q "#include <$name>" "$root/include/tinkc/tinkc.h" ||
        { echo "tinkc/tinkc.h does not include $name"; failed=1; }
done
# A macro is of no use outside C and C++: each _INIT has its function.
for macro in $(grep -hoE '^#define TINKC_[A-Z0-9_]+_INIT\b' "$root"/include/tinkc/*.h | cut -d' ' -f2); do
    name=$(tr 'A-Z' 'a-z' <<<"$macro")
    grep -qE "^TINKC_API void $name\(" "$root"/include/tinkc/*.h ||
        { echo "$macro has no function $name"; failed=1; }
done
# The examples need no cast: as strict about pointers as the next C standard will be.
for example in "$root"/examples/*.c; do
    [ -e "$example" ] || continue
    gcc -std=c2x -Wall -Wextra -Werror -Werror=incompatible-pointer-types -D_GNU_SOURCE \
        -fsyntax-only "-I$root/include" "$example" ||
        { echo "$(basename "$example"): gcc -std=c2x"; failed=1; }
done
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ] && echo "$count headers, C11 and C++17"
