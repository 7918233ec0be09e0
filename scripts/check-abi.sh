#!/usr/bin/env bash
# The ABI of libtinkc.so against the last release tag (v*): no function may go, and no type of the
# public headers may change its layout, unless the minor version (in 0.x) or the major one differs.
# Additions are allowed. Without a tag there is nothing to compare.
#   scripts/check-abi.sh [--root DIR]
# Both libraries are built with debug information into build/abi/, without tests, server and program.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ "${1:-}" != --root ] || root=$2
cd "$root"
tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)
if [ -z "$tag" ]; then
    echo "no tag yet"
    exit 0
fi
command -v abidiff >/dev/null || { echo "abidiff is missing: scripts/deps.sh check"; exit 1; }

version() { # of the version.h on stdin, as far as the ABI may not change within it
    sed -n 's/.*define TINKC_VERSION  *"\(.*\)".*/\1/p' | awk -F. '{ print $1 == 0 ? $1 "." $2 : $1 }'
}
library() { # library SOURCE NAME: builds it
    cmake -S "$1" -B "build/abi/$2" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTINKC_TESTS=OFF \
        -DTINKC_SERVER=OFF -DTINKC_CLI=OFF >"build/abi/$2.log" 2>&1 &&
        cmake --build "build/abi/$2" >>"build/abi/$2.log" 2>&1 ||
        { tail -n 20 "build/abi/$2.log"; echo "$2 does not build"; exit 1; }
}

mkdir -p build/abi
rm -rf build/abi/source
mkdir build/abi/source
git archive "$tag" | tar -x -C build/abi/source
library build/abi/source old
library . new
before=$(version <build/abi/source/include/tinkc/version.h)
now=$(version <include/tinkc/version.h)
verdict=0
abidiff --no-added-syms --suppressions scripts/abi.suppr --headers-dir1 build/abi/source/include/tinkc --headers-dir2 include/tinkc \
    build/abi/old/libtinkc.so build/abi/new/libtinkc.so || verdict=$?
if [ "$verdict" -ne 0 ] && [ "$before" = "$now" ]; then
    echo "the ABI of $tag is broken within version $now"
    exit 1
fi
echo "compared with $tag$([ "$verdict" -eq 0 ] || echo ": changed, as a new version may")"
