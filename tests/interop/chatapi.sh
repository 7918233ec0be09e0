#!/usr/bin/env bash
# Requests, bodies and server-sent events of src/chatapi against the official clients: PyPI's
# openai and anthropic, unmodified, talk to a stand-in HTTP server that hands each request to
# interop_chatapi and plays its bytes back. Every body and every event is also checked with the
# clients' own models, all required members included, which the clients themselves do not do.
set -eu
. tests/interop/lib.sh
make_venv build/chatapi-venv openai==3.51.0 anthropic==2.10.0
build/chatapi-venv/bin/python tests/interop/chatapi.py "$build/tests/interop_chatapi"
