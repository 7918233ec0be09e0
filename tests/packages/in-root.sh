#!/usr/bin/env bash
# Runs inside the fresh root of scripts/deb-test.sh: installs /packages/*.deb, uses them, purges
# them, and compares the root with what it was.
#   in-root.sh VERSION
set -euo pipefail
version=$1
here=$(cd "$(dirname "$0")" && pwd)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PYTHONDONTWRITEBYTECODE=1
ours="libtinkc0 libtinkc-dev tinkc"
debs=$(ls /packages/*.deb)

# apt ARGS...: quiet, unless it fails
apt() {
    apt-get -y -o Dpkg::Use-Pty=0 "$@" >/packages/apt.log 2>&1 || { cat /packages/apt.log; exit 1; }
}

# What belongs to neither packages' records, logs nor caches; of /etc also the contents.
snapshot() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /packages \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune \
        -o -printf '%p %y %m %l\n' | sort
    find /etc -xdev -type f ! -name ld.so.cache -exec sha256sum {} + | sort
}

# The packages' dependencies come first, so that what stays in the root later is ours.
# shellcheck disable=SC2086 # lists are words
needed=$(apt-get install -s $debs | awk '/^Inst/ { print $2 }' | grep -vxF "${ours// /$'\n'}")
# shellcheck disable=SC2086
apt install $needed
snapshot >/packages/before

# shellcheck disable=SC2086
apt install $debs
# shellcheck disable=SC2086
for package in $ours; do
    dpkg --verify "$package" || { echo "in-root: $package is not as it was packed"; exit 1; }
done
"$here/use.sh" "$version" /usr/share/doc/tinkc
"$here/build.sh" "$version" /usr/share/doc/tinkc "$here/consumer"
files=$(dpkg -L $ours | wc -l)

# shellcheck disable=SC2086
apt purge $ours
snapshot >/packages/after
diff /packages/before /packages/after || { echo "in-root: the packages left something behind"; exit 1; }
[ -z "$(dpkg-query -W -f '${Package}\n' '*tinkc*' 2>/dev/null)" ] || { echo "in-root: dpkg remembers the packages"; exit 1; }
! ls /var/lib/dpkg/info | grep tinkc || { echo "in-root: dpkg keeps files of the packages"; exit 1; }
echo "in-root: $files paths came and went, nothing stayed"
