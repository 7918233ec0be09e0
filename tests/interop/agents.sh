#!/usr/bin/env bash
# Clients of OpenAI's and Anthropic's APIs, unmodified: PyPI's openai, anthropic and litellm against `tinkc
# serve` and `tinkc gateway`, and npm's Claude Code, Codex and OpenCode, which `tinkc launch` starts, against
# `tinkc gateway`; without a network where that can be taken away. Newer versions of litellm want another openai.
# An agent that cannot be installed or does not start is a failure, unless TINKC_AGENTS_OPTIONAL is 1.
# 0.3 GB in build/agents-venv, 1.1 GB in build/agents-npm; about 30 s after that.
. "$(dirname "$0")/lib.sh"
export LITELLM_LOCAL_MODEL_COST_MAP=True # it would fetch a list of prices
python=build/agents-venv/bin/python
npm_home=build/agents-npm
failed=0

# Says why when it cannot: then the agents are not run.
install_agents() {
    [ ! -e $npm_home/ready ] || return 0
    command -v npm >/dev/null || { echo "claude, codex, opencode are not run: npm is not installed"; return; }
    rm -rf $npm_home
    mkdir -p $npm_home
    npm install --prefix $npm_home --no-audit --no-fund --loglevel=error \
        @anthropic-ai/claude-code@2.1.327 @openai/codex@0.169.0 opencode-ai@1.18.33 >"$work/npm.log" 2>&1 ||
        { echo "claude, codex, opencode are not run: npm failed:"; tail -n 3 "$work/npm.log"; return; }
    touch $npm_home/ready
}

# Runs a command with nothing but the loopback.
alone() {
    if unshare -rn ip link set lo up 2>/dev/null; then
        unshare -rn bash -c 'ip link set lo up && exec "$@"' alone "$@"
    else
        echo "the network cannot be taken away here"
        "$@"
    fi
}

make_agents_venv || exit 1
install_agents
alone "$python" -W ignore tests/interop/agents_clients.py "$build/tinkc" "$work/clients" || failed=1
alone "$python" -W ignore tests/interop/agents_tools.py "$build/tinkc" "$work/tools" $npm_home/node_modules || failed=1
exit $failed
