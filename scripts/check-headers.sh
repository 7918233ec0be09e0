#!/usr/bin/env bash
# Each public header compiles alone, as C11 and as C++17, with gcc and clang, strictly;
# tinkc.h includes all of them, every TINKC_X_INIT has its function tinkc_x_init, and the
# examples compile as C23-like C without a cast. Each C++ header compiles alone, with more
# warnings; tinkc.hpp includes all of them and compiles as C++17 and C++20 with both compilers,
# with and without exceptions.
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
# compile_cpp NAME COMPILER
compile_cpp() {
    # shellcheck disable=SC2086
    $2 -x c++ "${strict[@]}" -Wshadow -Wconversion - <<<"#include <$1>
#include <$1>" || { echo "$1: $2"; failed=1; }
}
for header in "$root"/include/tinkc/cpp/*.hpp; do
    [ -e "$header" ] || continue
    name=tinkc/cpp/$(basename "$header")
    count=$((count + 1))
    compile_cpp "$name" "g++ -std=c++17"
    grep -q "#include <$name>" "$root/include/tinkc/tinkc.hpp" ||
        { echo "tinkc/tinkc.hpp does not include $name"; failed=1; }
done
if [ -e "$root/include/tinkc/tinkc.hpp" ]; then
    for compiler in "g++ -std=c++17" "g++ -std=c++20 -fno-exceptions" \
        "clang++-14 -std=c++17 -fno-exceptions" "clang++-14 -std=c++20"; do
        compile_cpp tinkc/tinkc.hpp "$compiler"
    done
    count=$((count + 1))
fi
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
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ] && echo "$count headers, C11 and C++17; those of C++ also C++20"
