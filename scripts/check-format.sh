#!/usr/bin/env bash
# clang-format on every tracked C and C++ file. `scripts/check-format.sh --fix` rewrites them.
set -eu
cd "$(dirname "$0")/.."
if [ -e .git ]; then
    mapfile -t files < <(git -c safe.directory='*' ls-files '*.c' '*.h' '*.cpp' '*.hpp')
else # an archive of the tree
    mapfile -t files < <(find . -path ./build -prune -o \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print)
fi
[ "${#files[@]}" -gt 0 ] || { echo "nothing to check: no sources"; exit 1; }
if [ "${1:-}" = --fix ]; then
    exec clang-format-14 -i "${files[@]}"
fi
clang-format-14 --dry-run -Werror "${files[@]}"
echo "${#files[@]} files"
