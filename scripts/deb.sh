#!/usr/bin/env bash
# make deb: libtinkc0, libtinkc-dev and tinkc of the last commit into build/deb, with their source
# package. Fails when lintian has an error or a warning, or mandoc a warning about a manual page.
# The revision is lower than that of a package in Debian would be. packaging/README.md says more.
set -eu
cd "$(dirname "$0")/.."
scripts/dist.sh >/dev/null
version=$(sed -n 's/.*define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
name=tinkc-$version out=$PWD/build/deb
rm -rf "$out"
mkdir -p "$out"
cp "build/dist/$name.tar.gz" "$out/tinkc_$version.orig.tar.gz"
tar -xzf "build/dist/$name.tar.gz" -C "$out"
cp -r "$out/$name/packaging/debian" "$out/$name/debian"
when=$(git -c safe.directory='*' log -1 --format=%cD)
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git -c safe.directory='*' log -1 --format=%ct)
cat >"$out/$name/debian/changelog" <<END
tinkc ($version-1~tinkc1) unstable; urgency=medium

  * Package of the project itself; its changes are in CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $when
END

cd "$out/$name"
dpkg-buildpackage --no-sign >"$out/build.log" 2>&1 || { tail -n 40 "$out/build.log"; exit 1; }
cd "$out"
rm -rf "${out:?}/$name"
root=""
[ "$(id -u)" -ne 0 ] || root=--allow-root
lintian $root --fail-on error,warning --tag-display-limit 0 ./*.changes

# A page has no date, because the build must not depend on the day; links became symbolic ones.
mkdir pages
for package in libtinkc-dev tinkc; do
    dpkg-deb -x "${package}_$version"-*.deb pages
done
find pages -name '*.gz' -path '*/man/*' -type f -exec gunzip {} +
find pages -name '*.[13]' -type f -exec mandoc -Tlint -W warning {} + >mandoc.log 2>&1 || true
if grep -v 'missing date' mandoc.log | head -n 20 | grep .; then
    exit 1
fi
echo "deb: lintian and mandoc are content with $(find pages -name '*.[13]' -type f | wc -l) manual pages and:"
rm -rf pages
ls -- *.deb
