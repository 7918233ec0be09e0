#!/usr/bin/env bash
# `make` and `make install` build only; the other targets install what they need first. What is
# missing is named in one line, with the command that installs it.
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
installs() { MAKEFLAGS='' make -n "$@" | grep -q scripts/deps.sh; }
for target in all build install; do
    expect "make $target installs no packages" bash -c "! MAKEFLAGS='' make -n $target | grep deps"
done
for target in deps demo test check bench interop soak mutate fuzz dist-test deb deb-test; do
    expect "make $target installs packages" installs $target
done
expect "packages are installed before the build" awk '/deps/ { d = NR } /build.sh/ { b = NR }
    END { exit !(d && d < b) }' <(MAKEFLAGS='' make -n test)

# says WORDS COMMAND...: the command fails, and WORDS is all it says
says() {
    local words=$1 out
    shift
    ! out=$("$@" 2>&1) && [ "$out" = "$words" ] || { echo "$out"; return 1; }
}
mkdir "$work/bin"
for tool in env bash dirname make ninja cc pkg-config; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
expect "a missing tool is named" \
    says "build: cmake is missing; run make deps" env PATH="$work/bin" scripts/build.sh
expect "a missing library is named" says "build: libcrypto is missing; run make deps" \
    env PKG_CONFIG_LIBDIR="$work/none" PKG_CONFIG_PATH= scripts/build.sh "$work/build"

# elsewhere than on Debian
expect "without dpkg, make deps says so and lets the build try" test "$(PATH="$work/bin" scripts/deps.sh 2>&1)" = \
    "deps: not a Debian, installing nothing; README.md lists the packages of other systems"
for tool in cmake c++ ld ar ranlib nm objcopy objdump strip readelf uname python3 as; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }
expect "CMake configures without dpkg" quietly env PATH="$work/bin" cmake -G Ninja -S . \
    -B "$work/nodpkg" -DTINKC_TESTS=OFF
finish
