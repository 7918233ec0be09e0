#!/bin/sh
# An agent for `tinkc rl` with curl and sed: asks the model a question, and is rewarded
# when the answer is right. A real one reads the JSON with jq. docs/guide/rl.md explains it.
#
#     tinkc rl --local --tasks examples/data/sums.jsonl --agent examples/rl/agent.sh
set -eu
question=$(printf '%s' "$TINKC_TASK" | sed 's/.*"question": *"\([^"]*\)".*/\1/')
right=$(printf '%s' "$TINKC_TASK" | sed 's/.*"answer": *"\([^"]*\)".*/\1/')

said=$(curl -fsS "$OPENAI_BASE_URL/chat/completions" \
    -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \
    -d "{\"model\":\"$OPENAI_MODEL\",\"max_tokens\":16,\"messages\":[{\"role\":\"user\",\"content\":\"$question\"}]}" |
    sed 's/.*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/')

[ "$said" = "$right" ] && echo 1 || echo 0
