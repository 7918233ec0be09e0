#!/usr/bin/env bash
# The C and C++ examples of README.md compile strictly, link with the built library and run against
# a server of ten lines; the Python one is Python (tests/interop/snippet.sh runs it); the commands
# and links that it names exist. (M-173)
. "$(dirname "$0")/lib.sh"
build=${TINKC_BUILD_DIR:-build}
work=$(mktemp -d)
python3 tests/docs/tiny_server.py >"$work/port" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -s "$work/port" ]; do
    kill -0 $server || exit 1
    sleep 0.1
done
export TINKER_BASE_URL=http://127.0.0.1:$(cat "$work/port") NO_PROXY=127.0.0.1
awk -v dir="$work" '/^```(c|cpp|python)$/ { n++; on = 1; name = dir "/example" n "." substr($0, 4); next }
    /^```/ { on = 0 } on { print > name }' README.md
count=0
for source in "$work"/example*.c "$work"/example*.cpp; do
    [ -e "$source" ] || break
    count=$((count + 1))
    compiler="${CC:-cc} -std=c11"
    [ "${source%.cpp}" = "$source" ] || compiler="${CXX:-c++} -std=c++17"
    expect "example $count compiles" $compiler -Wall -Wextra -Werror -Iinclude "$source" \
        -L"$build" -ltinkc -Wl,-rpath,"$(realpath "$build")" -o "$work/program"
    expect "example $count prints the server's model" \
        test "$(timeout 60 "$work/program")" = pebble-llama-2m
    rm -f "$work/program"
done
expect "there is an example in C and one in C++" test "$count" -eq 2
expect "there is an example in Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
    "$work"/example*.python
expect "make demo and make test are in the first 20 lines" bash -c \
    "head -n 20 README.md | grep -q 'make demo' && head -n 20 README.md | grep -q 'make test'"
version=$(sed -n 's/^#define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
expect "CMake and the header agree on $version" grep -q "VERSION $version " CMakeLists.txt
expect "the changelog begins with $version" bash -c \
    "grep -m1 '^## ' CHANGELOG.md | grep -q '^## $version'"
for page in README.md HACKING.md SECURITY.md docs/*.md; do
    for link in $(grep -o '](\([A-Za-z0-9_./-]*\))' "$page" | tr -d '])('); do
        expect "$page: $link exists" test -e "$(dirname "$page")/$link"
    done
done
for target in $(grep -oh '`make [a-z]*' README.md HACKING.md | cut -d' ' -f2 | sort -u); do
    expect "make $target is a target" grep -q "^$target:" Makefile
done
for script in $(grep -o 'scripts/[a-z-]*\.sh' Makefile | sort -u); do
    expect "$script, which the Makefile runs, exists" test -x "$script"
done
for folder in $(sed -n 's/^| `\([a-z/]*\/\)`.*/\1/p' README.md); do
    expect "$folder exists" test -d "$folder"
done
finish
