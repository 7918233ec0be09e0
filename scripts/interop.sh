#!/usr/bin/env bash
# Compares other programs with ours: needs PyPI, npm, 6 GB of disk and a few minutes.
#   recordings   the official SDK, both pinned versions, still sends and reads what
#                tests/data/wire holds, on which our codecs are tested
# Further suites are programs tests/interop/*.sh, each of which ends with 1 on a difference.
# With TINKC_PEER_URL only the suite that talks to other servers runs, against that one.
set -u
cd "$(dirname "$0")/.."
[ $# -eq 0 ] || { echo "interop: takes no arguments; one suite alone: tests/interop/NAME.sh"; exit 2; }
scripts/deps.sh interop || exit 1
failed=0

if [ -n "${TINKC_PEER_URL:-}" ]; then
    echo "skyrl"
    exec tests/interop/skyrl.sh
fi

echo "recordings: the official SDK against tests/data/wire"
python3 scripts/record-fixtures.py --check || failed=1

for suite in tests/interop/*.sh; do
    [ "${suite##*/}" != lib.sh ] || continue
    echo "$(basename "$suite" .sh)"
    "$suite" || failed=1
done

[ $failed -eq 0 ] && echo "interop: no difference"
exit $failed
