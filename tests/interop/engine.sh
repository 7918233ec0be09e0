#!/usr/bin/env bash
# The engine against transformers (5 and 4, which spell configurations differently) and PEFT.
set -u
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tests/interop_engine
python=$(scripts/torch-venv.sh) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1
failed=0
"$python" -W ignore tests/interop/engine_compare.py "$program" "$work/new" \
    --pebble models/pebble-llama-2m || failed=1
PYTHONPATH=build/torch-venv/transformers4 "$python" -W ignore tests/interop/engine_compare.py \
    "$program" "$work/old" --base-only || failed=1
exit $failed
