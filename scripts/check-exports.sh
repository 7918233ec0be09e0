#!/usr/bin/env bash
# What the built libraries show: the shared one exactly the list in tests/exports/tinkc.sym,
# functions only (A-012), the static one no global but tinkc_*.
#   scripts/check-exports.sh [--update] [--root DIR] [--build DIR]
# The root holds build/ (unless that is named) and tests/exports/.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
update=no
build=
while [ $# -gt 0 ]; do
    case $1 in
    --update) update=yes ;;
    --root) root=$2; shift ;;
    --build) build=$2; shift ;;
    esac
    shift
done
list=$root/tests/exports/tinkc.sym
build=${build:-$root/build}
shared=$build/libtinkc.so
static=$build/libtinkc.a
failed=0
say() { echo "$*"; failed=1; }

# Each symbol is followed by its version; the versions themselves are rows of type A.
symbols=$(nm -D --defined-only --format=posix "$shared" | awk '$2 != "A"')
names=$(awk '{ print $1 }' <<<"$symbols" | sed 's/@.*//' | LC_ALL=C sort)
if [ $update = yes ]; then
    echo "$names" >"$list"
fi
diff -u "$list" - <<<"$names" || say "the exported list differs (scripts/check-exports.sh --update)"
bad=$(grep -v '^tinkc_' <<<"$names" || true)
[ -z "$bad" ] || say "exported without the prefix:" $bad
plain=$(awk '$1 !~ /@@TINKC_[0-9.]+$/ { print $1 }' <<<"$symbols")
[ -z "$plain" ] || say "exported without a version (cmake/tinkc.map):" $plain
data=$(awk '$2 !~ /^[TW]$/ { print $1 }' <<<"$symbols")
[ -z "$data" ] || say "exported data:" $data

globals=$(nm --defined-only --extern-only --format=posix "$static" 2>/dev/null |
    awk 'NF > 2 && $2 !~ /[a-z]/ { print $1 }' | LC_ALL=C sort)
diff -u "$list" - <<<"$globals" || say "the static archive shows other globals"

declared=$(sed -n '/^TINKC_API/,/;/p' "$root"/include/tinkc/*.h |
    grep -o 'tinkc_[a-z0-9_]*(' | tr -d '(' | LC_ALL=C sort -u)
missing=$(LC_ALL=C comm -13 <(echo "$declared") "$list")
[ -z "$missing" ] || say "exported but in no public header:" $missing
missing=$(LC_ALL=C comm -23 <(echo "$declared") "$list")
[ -z "$missing" ] || say "declared but not exported:" $missing
echo "$(wc -l <"$list") symbols"
[ "$failed" -eq 0 ]
