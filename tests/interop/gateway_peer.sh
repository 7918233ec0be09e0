#!/usr/bin/env bash
# openai, anthropic and litellm through `tinkc gateway` in front of a Tinker server: every id and log-probability
# that is exported is one that the server was sent or gave. The server is `tinkc serve`, or that of TINKC_PEER_URL
# (with a model TINKC_PEER_MODEL whose tokenizer is found; without it the embedded one), whose greedy answers must
# have the ids of `tinkc serve` then. skyrl.sh runs it in front of SkyRL. A few seconds.
. "$(dirname "$0")/lib.sh"
export LITELLM_LOCAL_MODEL_COST_MAP=True # it would fetch a list of prices
make_agents_venv || exit 1
serve || exit 1
build/agents-venv/bin/python -W ignore tests/interop/gateway_peer.py "$build/tinkc" "${TINKC_PEER_URL:-$url}" \
    "${TINKC_PEER_MODEL:-tinkc/pebble-llama-2m}" "$work" $([ -n "${TINKC_PEER_MODEL:-}" ] || echo "$url")
failed=$?
serve_end || failed=1
exit $failed
