#!/usr/bin/env bash
# make demo: shows the Tinker API at work, on this machine, without a key or a network.
#   scripts/demo.sh [build directory]
# Until the server is there the other side is the tests' scripted peer.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
program=$build/tests/wire_demo
if [ ! -x "$program" ]; then
    echo "demo: $program is missing; type: make demo" >&2
    exit 1
fi
exec "$program"
