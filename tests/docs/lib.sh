# Shared by the document tests: `expect TEXT COMMAND...` runs a command and says what failed.
# A test runs in the source root.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
failures=0
expect() {
    local what=$1
    shift
    "$@" || { echo "not so: $what"; failures=$((failures + 1)); }
}
finish() {
    [ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
    exit 0
}
