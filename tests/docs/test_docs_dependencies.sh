#!/usr/bin/env bash
# A-136, M-171: docs/dependencies.md is the report: each library that the built files link, and no other,
# with the licence that its package declares. A-130: sizes stay below the limits of that page.
. "$(dirname "$0")/lib.sh"
page=docs/dependencies.md
build=${TINKC_BUILD_DIR:-build}
runtime='^(libc|libm|ld-linux.*|libgcc_s|libasan|libubsan|libtsan|libpthread|libdl|librt)$'

linked() { # the libraries that a file names, without the C runtime
    readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\.so.*\]/\1/p' | grep -vE "$runtime" | sort
}
listed() { # those that the page says, by column: 6 libtinkc, 7 tinkc
    awk -F '|' -v column="$1" '/^\| lib/ && $column ~ /yes/ { gsub(/ /, "", $2); print $2 }' $page | sort
}
same() { diff <(linked "$1") <(listed "$2"); }
expect "libtinkc.so links what the page says" same "$build/libtinkc.so" 6
expect "tinkc links what the page says" same "$build/tinkc" 7

while IFS='|' read -r _ library package licence _; do
    file=/usr/share/doc/$(echo "$package" | tr -d ' ')/copyright
    expect "$file is there" test -r "$file"
    expect "$library: the package declares$licence" \
        grep -qiE "^License:.*$(echo "$licence" | tr -d ' ' | sed 's/+/\\+/g')" "$file"
done < <(grep '^| lib' $page)
expect "there are rows" test "$(grep -c '^| lib' $page)" -ge 6

stripped() { # size without debugging information
    local copy
    copy=$(mktemp) && strip -o "$copy" "$1" && stat -c %s "$copy"
    rm -f "$copy"
}
if ! readelf -d "$build/libtinkc.so" | grep -qE 'lib(asan|tsan|ubsan)'; then
    expect "libtinkc.so is below 3 MiB" test "$(stripped "$build/libtinkc.so")" -lt 3145728
    expect "tinkc is below 8 MiB" test "$(stripped "$build/tinkc")" -lt 8388608
fi
finish
