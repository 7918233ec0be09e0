#!/usr/bin/env bash
# Random agents over the real chat templates that chat.sh fetched: every id of an exported
# sequence is one that was sent or sampled, and a branch is one that the template caused.
set -eu
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tests/test_gw_walk
templates=build/interop-chat/templates.json
[ -e "$templates" ] || tests/interop/chat.sh
TINKC_GW_TEMPLATES=$templates "$program" 2>&1 | tee build/interop-chat/gateway.log | grep "turns:"
! grep -q FAILED build/interop-chat/gateway.log
