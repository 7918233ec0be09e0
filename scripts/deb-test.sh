#!/usr/bin/env bash
# make deb-test: installs the packages of build/deb in a fresh Debian root, uses them (program,
# C, C++, CMake, Python) and removes them; nothing may stay behind. The root comes from the mirror
# that this machine's apt uses. Needs root: debootstrap, mount, chroot.
# The base system with a compiler stays in build/deb-test for the next run; `make clean` removes it.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "deb-test: needs root for debootstrap and chroot" >&2; exit 1; }
ls build/deb/*.deb >/dev/null 2>&1 || { echo "deb-test: there are no packages; run make deb" >&2; exit 1; }
version=$(sed -n 's/.*define TINKC_VERSION  *"\(.*\)"/\1/p' include/tinkc/version.h)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
dir=$PWD/build/deb-test base=$PWD/build/deb-test/base root=$PWD/build/deb-test/root
mkdir -p "$dir"

# "URI suite component" of what apt reads here for this release, its updates and its fixes
sources() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v s="$suite" '$2 == s || index($2, s "-") == 1' | sort -u
}
# inside ROOT COMMAND...: with a /proc of its own; mounts end with the command
inside() {
    local where=$1
    shift
    unshare --mount --pid --fork --mount-proc="$where/proc" chroot "$where" \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

make_base() {
    local uri
    uri=$(sources | awk -v s="$suite" '$2 == s { print $1; exit }')
    [ -n "$uri" ] || { echo "deb-test: apt has no source for $suite here" >&2; exit 1; }
    rm -rf "$base" "$base.new"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$base.new" "$uri" >"$dir/base.log" 2>&1 ||
        { tail "$dir/base.log"; exit 1; }
    sources | sed 's/^/deb /' >"$base.new/etc/apt/sources.list"
    apt-config dump | grep '^Acquire::.*[Pp]roxy' >"$base.new/etc/apt/apt.conf.d/90proxy" || true
    cp -L /etc/resolv.conf "$base.new/etc/resolv.conf"
    inside "$base.new" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends \
        gcc g++ make cmake pkg-config python3 man-db' >>"$dir/base.log" 2>&1 || { tail "$dir/base.log"; exit 1; }
    mv "$base.new" "$base"
}

[ -d "$base" ] || make_base
rm -rf "$root"
cp -a --reflink=auto "$base" "$root"
mkdir "$root/packages"
for package in libtinkc0 libtinkc-dev tinkc; do
    cp build/deb/"${package}_${version}"-*.deb "$root/packages/"
done
cp -r tests/packages tests/consumer "$root/packages/"
mv "$root/packages/consumer" "$root/packages/packages/"
inside "$root" /packages/packages/in-root.sh "$version"
rm -rf "$root"
echo "deb-test: installed, used and removed in a fresh $suite"
