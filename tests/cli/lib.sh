# Shared by the black-box tests of the program, whose path is in $TINKC. `try ARGS...` runs it;
# then $status, $out and $err hold what it did. `expect WHAT COMMAND...` says what failed.
# $dir is a temporary folder.
set -u
failures=0
dir=$(mktemp -d "${TMPDIR:-/tmp}/tinkc-cli.XXXXXX")
trap 'rm -rf "$dir"' EXIT

try() {
    "$TINKC" "$@" >"$dir/.out" 2>"$dir/.err"
    status=$?
    out=$(cat "$dir/.out")
    err=$(cat "$dir/.err")
}
expect() {
    local what=$1
    shift
    "$@" || {
        echo "not so: $what (status $status)"
        echo "  out: $out"
        echo "  err: $err"
        failures=$((failures + 1))
    }
}
has() { case $1 in *"$2"*) return 0 ;; *) return 1 ;; esac; }
finish() {
    [ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
    exit 0
}
