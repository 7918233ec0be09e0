#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, where they are missing.
# Touches the network only when something is missing.
#   scripts/deps.sh [check|bench|interop|deb|browser]   also what gates and fuzzing, benchmarks,
#       comparisons with others, Debian packages and their test, or tests in a browser need
# Elsewhere than on Debian it installs nothing and says so: the build names what it misses.
set -eu

packages="
    build-essential pkg-config cmake ninja-build git python3 curl
    libcurl4-openssl-dev libssl-dev libzstd-dev libpcre2-dev libutf8proc-dev
    libmicrohttpd-dev libsqlite3-dev libarchive-dev libnghttp2-dev
    libedit2 zsh fish
    man-db libcmocka-dev libjansson-dev libprotobuf-c-dev protobuf-c-compiler
"

case ${1:-} in
check) packages="$packages ccache clang-14 libclang-rt-14-dev llvm-14 clang-format-14 universal-ctags abigail-tools" ;;
bench) packages="$packages libopenblas0-pthread python3-venv valgrind" ;;
interop) packages="$packages python3-venv" ;;
deb) packages="$packages debhelper dpkg-dev fakeroot lintian mandoc debootstrap" ;;
browser) packages="$packages chromium chromium-driver fonts-dejavu-core" ;;
esac
case ${1:-} in
bench | interop) # from Debian only where no other is installed
    command -v node >/dev/null || packages="$packages nodejs"
    command -v npm >/dev/null || packages="$packages npm"
    ;;
esac

command -v dpkg-query >/dev/null || {
    echo "deps: not a Debian, installing nothing; README.md lists the packages of other systems" >&2
    exit 0
}
missing=""
for package in $packages; do
    # one line per architecture that the package is known for
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps: need root or sudo to install:$missing" >&2
        exit 1
    }
    as_root="sudo env DEBIAN_FRONTEND=noninteractive" # sudo drops ours
fi
echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
