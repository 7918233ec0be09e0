#!/bin/sh
# Two turns of an agent with curl, a reward, and the tokens that were sampled. A real agent
# reads the JSON with jq; here only the endpoints matter. docs/guide/agents.md explains it.
#
#     TINKER_BASE_URL=http://127.0.0.1:8000 examples/agent.sh
set -eu
server=${TINKER_BASE_URL:-http://127.0.0.1:8000}
key=${TINKER_API_KEY:-none}
episode=example-sh-$$
model=tinkc/pebble-llama-2m

ask() { # PATH JSON
    curl -fsS "$server$1" -H "Authorization: Bearer $key" -H "Content-Type: application/json" -d "$2"
}

hello='{"role":"user","content":"What is your name?"}'
answer=$(ask "/e/$episode/v1/chat/completions" \
    "{\"model\":\"$model\",\"messages\":[$hello],\"max_tokens\":32,\"temperature\":0}")
text=$(printf '%s' "$answer" | sed -n 's/.*"content":"\(\([^"\\]\|\\.\)*\)".*/\1/p')
echo "said: $text"

# The same conversation goes on: its tokens are those of before, and the new ones.
ask "/e/$episode/v1/chat/completions" \
    "{\"model\":\"$model\",\"messages\":[$hello,{\"role\":\"assistant\",\"content\":\"$text\"},
      {\"role\":\"user\",\"content\":\"Thank you\"}],\"max_tokens\":16,\"stream\":true}" |
    grep -c '^data: ' | sed 's/^/events: /'

ask "/tinkc/v1/episodes/$episode/reward" '{"reward":0.5,"metadata":{"task":"name"}}'
echo
curl -fsS "$server/tinkc/v1/episodes/$episode" -H "Authorization: Bearer $key"
echo
