#!/usr/bin/env bash
# Installs build/ into a throw-away prefix and uses it as other projects do: pkg-config and CMake,
# shared and static, C and C++. Each program is run.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$PWD/tests/consumer
build=${TINKC_BUILD_DIR:-build}
version=$(sed -n 's/.*define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
count=0

cmake --install "$build" --prefix "$work/shared" >/dev/null
libdir=$(dirname "$(find "$work/shared" -name 'libtinkc.so' -print -quit)")
rel=${libdir#"$work/shared/"}
cp -r "$work/shared" "$work/static"
rm "$work/static/$rel"/libtinkc.so*

# expect KIND PROGRAM: runs, prints the version, and depends on libtinkc.so only if shared
expect() {
    local kind=$1 program=$2 out
    out=$(LD_LIBRARY_PATH="$work/shared/$rel" "$program") || { echo "$program failed"; exit 1; }
    [ "$out" = "$version" ] || { echo "$program printed: $out"; exit 1; }
    if readelf -d "$program" | grep -q 'NEEDED.*libtinkc\.so\.0\]'; then
        [ "$kind" = shared ] || { echo "$program needs libtinkc.so"; exit 1; }
    else
        [ "$kind" = static ] || { echo "$program does not use libtinkc.so"; exit 1; }
    fi
    count=$((count + 1))
}

for kind in shared static; do
    export PKG_CONFIG_PATH="$work/$kind/$rel/pkgconfig"
    [ "$(pkg-config --modversion tinkc)" = "$version" ]
    more=""
    [ $kind = shared ] || more=--static
    flags=$(pkg-config $more --cflags --libs tinkc)
    # shellcheck disable=SC2086 # flags are words
    gcc -std=c11 -Wall -Wextra -Werror "$source/main.c" $flags -o "$work/c-$kind"
    expect $kind "$work/c-$kind"
    # shellcheck disable=SC2086
    g++ -std=c++17 -Wall -Wextra -Werror -x c++ "$source/main.c" -x none $flags \
        -o "$work/cxx-$kind"
    expect $kind "$work/cxx-$kind"

    target=tinkc
    [ $kind = shared ] || target=static
    cmake -G Ninja -S "$source" -B "$work/cmake-$kind" -DTINKC_KIND=$target \
        -DCMAKE_PREFIX_PATH="$work/shared" >"$work/log" || { cat "$work/log"; exit 1; }
    cmake --build "$work/cmake-$kind" >"$work/log" || { cat "$work/log"; exit 1; }
    expect $kind "$work/cmake-$kind/consumer"
    expect $kind "$work/cmake-$kind/consumer_cxx"
done

# the installed examples, with exactly the lines of docs/guide/start.md
doc=$work/shared/share/doc/tinkc
export PKG_CONFIG_PATH="$work/shared/$rel/pkgconfig"
mapfile -t lines < <(sed -n 's/^\(cc examples\/01_hello\.c .*\)$/\1/p' docs/guide/start.md)
[ ${#lines[@]} -eq 2 ] || { echo "docs/guide/start.md has ${#lines[@]} lines that compile"; exit 1; }
for example in "$doc"/examples/*.c; do
    name=$(basename "$example" .c)
    for kind in shared static; do
        line=${lines[0]}
        [ $kind = shared ] || line=${lines[1]}
        line=${line//01_hello/$name}
        for standard in "" "-std=c11 -Wall -Wextra -Werror"; do
            (cd "$doc" && eval "${line/#cc/cc $standard} -o '$work/example'") ||
                { echo "start.md: $line"; exit 1; }
            readelf -d "$work/example" | grep -q 'NEEDED.*libtinkc\.so\.0\]' && found=shared || found=static
            [ $found = $kind ] || { echo "$found, not $kind: $line"; exit 1; }
            count=$((count + 1))
        done
    done
done
line=$(sed -n 's/.*Statically with pkg-config: `\(.*\)`\./\1/p' README.md)
eval "cc -std=c11 '$source/main.c' $line -o '$work/c-readme'"
expect static "$work/c-readme"

# a compiler that is too old for the C++ headers is told so
if g++ -std=c++14 -Iinclude -fsyntax-only -x c++ - <<<'#include <tinkc/tinkc.hpp>' 2>"$work/log" ||
    ! grep -q '#error.*needs C++17' "$work/log"; then
    echo "C++14 is not refused with an explanation"
    exit 1
fi

# the examples of the source tree, in C and as C++
flags=$(PKG_CONFIG_PATH="$work/shared/$rel/pkgconfig" pkg-config --cflags --libs tinkc)
for example in examples/*.c; do
    # shellcheck disable=SC2086
    cc -Wall -Wextra -Werror "$example" $flags -lm -o "$work/example"
    # shellcheck disable=SC2086
    c++ -std=c++17 -Wall -Wextra -Werror -x c++ "$example" -x none $flags -lm -o "$work/example"
    count=$((count + 2))
done

# the C++ headers, with both compilers and standards
for example in examples/cpp/*.cpp; do
    for compiler in "g++ -std=c++17" "g++ -std=c++20" "clang++-14 -std=c++17" "clang++-14 -std=c++20"; do
        # shellcheck disable=SC2086
        $compiler -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror "$example" $flags \
            -o "$work/example"
        count=$((count + 1))
    done
done

# staged install, as packagers do it
DESTDIR=$work/stage cmake --install "$build" --prefix /usr >/dev/null
[ -e "$work/stage/usr/$rel/libtinkc.so.0" ] || { echo "DESTDIR is not obeyed"; exit 1; }
! grep -rlF -e "$PWD" -e "$work" "$work/shared/$rel/pkgconfig" "$work/shared/$rel/cmake" ||
    { echo "an installed file names the build machine's paths"; exit 1; }
echo "$count programs: pkg-config and CMake, shared and static, C and C++"
