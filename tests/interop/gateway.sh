#!/usr/bin/env bash
# Random agents over the real chat templates that chat.sh fetched: every id of an exported
# sequence is one that was sent or sampled, and a branch is one that the template caused. First by
# a C program against src/gateway, then by a Python program that uses nothing of ours but `tinkc
# serve` and `tinkc gateway`, and sees what goes over the wire (10,000 turns, about two minutes).
set -eu
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tests/test_gw_walk
templates=build/interop-chat/templates.json
[ -e "$templates" ] || tests/interop/chat.sh
TINKC_GW_TEMPLATES=$templates "$program" 2>&1 | tee build/interop-chat/gateway.log | grep "turns:"
! grep -q FAILED build/interop-chat/gateway.log
. tests/interop/lib.sh
make_venv build/interop-chat/wire-venv jinja2==3.1.6 markupsafe==3.0.3 tokenizers==0.22.1
build/interop-chat/wire-venv/bin/python tests/interop/gateway_wire.py "$build/tinkc" "$templates" \
    "${1:-10000}"
