#!/usr/bin/env bash
# make dist: the source of the last commit as build/dist/tinkc-VERSION.tar.gz, with its checksum.
# The same commit gives the same bytes: names, times and owners come from git, gzip adds none.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
name=tinkc-$version
git -c safe.directory='*' rev-parse -q --verify HEAD >/dev/null 2>&1 ||
    { echo "dist: this is not a git checkout, the tarball is made from one" >&2; exit 1; }
[ -z "$(git -c safe.directory='*' status --porcelain)" ] ||
    echo "dist: what is not committed is left out" >&2

mkdir -p build/dist
git -c safe.directory='*' -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD |
    gzip -9n >"build/dist/$name.tar.gz"
cd build/dist
sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256"
