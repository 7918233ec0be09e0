#!/usr/bin/env bash
# The first commands of docs/guide/command-line.md work as they are written, one after the other.
. "$(dirname "$0")/lib.sh"
root=$PWD
tinkc=$(realpath "${TINKC_BUILD_DIR:-build}")/tinkc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```sh$/ { on = 1; next } /^```/ && on { exit } on' docs/guide/command-line.md >"$work/commands"
ln -s "$root/examples" "$work/examples"
cd "$work"
export HOME=$work NO_PROXY=127.0.0.1
unset XDG_DATA_HOME TINKER_BASE_URL TINKER_API_KEY
count=0
while IFS= read -r line; do
    count=$((count + 1))
    expect "command $count works: ${line:0:60}" \
        bash -c "'$tinkc' ${line#tinkc } <<<'A table for two, please.' >out 2>err || { cat err; false; }"
    expect "command $count shows a result" test -s out
done <commands
expect "there are three commands" test "$count" -eq 3
expect "training drew the loss" grep -q polyline loss.svg
finish
