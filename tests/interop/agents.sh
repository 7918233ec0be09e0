#!/usr/bin/env bash
# Clients of OpenAI's and Anthropic's APIs, unmodified, against `tinkc serve` and `tinkc gateway`:
# PyPI's openai, anthropic and litellm. Newer versions of litellm want another openai.
. "$(dirname "$0")/lib.sh"
export LITELLM_LOCAL_MODEL_COST_MAP=True # it would fetch a list of prices
python=build/agents-venv/bin/python
failed=0
make_venv build/agents-venv openai==3.51.0 anthropic==2.10.0 litellm==1.83.0 mcp==2.3.0 tokenizers==0.23.3 || exit 1
"$python" -W ignore tests/interop/agents_clients.py "$build/tinkc" "$work/clients" || failed=1
exit $failed
