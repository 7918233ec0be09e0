#!/usr/bin/env bash
# Every call of eight versions of the official SDK, unmodified, against `tinkc serve`: each works
# or is refused at once with a sentence; one that hangs, gets a 5xx or has no effect fails. The
# outcomes are the table of docs/sdk-versions.md.
#   matrix.sh                      all versions, compared with the table
#   matrix.sh --write              all versions, written into the table
#   matrix.sh VERSION [CALL...]    one version, or some of its calls; no table
. "$(dirname "$0")/lib.sh"
versions='0.16.1 0.18.2 0.22.7 0.25.0 0.28.1 0.30.4 0.33.1 0.36.0'
failed=0

# One version on a server of its own.
probe() {
    local version=$1 ended=0
    shift
    rm -rf "$work/data" "$work/probes"
    mkdir "$work/probes"
    serve || return 1
    python3 -B tests/interop/matrix/run.py "$version" "$url" "$work/probes" \
        "$work/$version.json" "$@" || ended=1
    serve_end && return $ended
}

case ${1:-} in
[0-9]*) probe "$@" || exit 1 ;;
'' | --write)
    for version in $versions; do probe "$version" || failed=1; done
    [ "${1:-}" != --write ] || [ $failed -eq 0 ] || exit 1
    python3 -B tests/interop/matrix/table.py "$@" "$work"/[0-9]*.json || failed=1
    exit $failed
    ;;
*) sed -n '2,8s/^# \?//p' "$0" && exit 2 ;;
esac
