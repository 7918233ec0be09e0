#!/usr/bin/env bash
# make dist-test: the tarball is the same when it is made twice, and outside git, with dpkg and apt
# hidden, it builds, installs, and the installed program and library work.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
tarball=build/dist/tinkc-$version.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scripts/dist.sh >/dev/null
cp "$tarball" "$work/first.tar.gz"
TZ=Asia/Tokyo scripts/dist.sh >/dev/null
cmp "$work/first.tar.gz" "$tarball" || { echo "dist-test: two tarballs of one commit differ"; exit 1; }
(cd build/dist && sha256sum -c --quiet "tinkc-$version.tar.gz.sha256")
tar -xzf "$tarball" -C "$work"

# the tools of this machine, without those of Debian
mkdir "$work/bin"
IFS=: read -ra places <<<"$PATH"
for place in "${places[@]}"; do
    for tool in "$place"/*; do
        case ${tool##*/} in dpkg* | apt* | deb* | dh*) continue ;; esac
        [ ! -x "$tool" ] || [ -e "$work/bin/${tool##*/}" ] || ln -s "$tool" "$work/bin/${tool##*/}"
    done
done
export PATH=$work/bin
! command -v dpkg dpkg-architecture apt-get || { echo "dist-test: dpkg is not hidden"; exit 1; }

cd "$work/tinkc-$version"
step() {
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "dist-test: $1 failed"; exit 1; }
}
step cmake -G Ninja -S . -B build -DTINKC_TESTS=OFF
step cmake --build build
step cmake --install build --prefix "$work/usr"
libdir=$(dirname "$(find "$work/usr" -name libtinkc.so)")
export PATH=$work/usr/bin:$PATH MANPATH=$work/usr/share/man LD_LIBRARY_PATH=$libdir \
    PKG_CONFIG_PATH=$libdir/pkgconfig CMAKE_PREFIX_PATH=$work/usr
tests/packages/use.sh "$version" "$work/usr/share/doc/tinkc"
tests/packages/build.sh "$version" "$work/usr/share/doc/tinkc" tests/consumer
echo "dist-test: $(wc -c <"$work/first.tar.gz") bytes, twice the same; built without git and dpkg, and used"
