#!/usr/bin/env bash
# Tool calls, reasoning and text through real chat templates: jinja2 writes the answers, src/chatapi
# takes them apart. Templates are fetched (npm; PyPI: the sources of llama-cpp-python, which hold
# those of llama.cpp) into build/, never kept in the repository.
set -eu
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tests/interop_chatapi
home=build/interop-chatapi
mkdir -p "$home"

python=$home/venv/bin/python
if [ ! -e "$home/venv/ready" ]; then
    python3 -m venv "$home/venv"
    "$python" -m pip --disable-pip-version-check -q install jinja2==3.1.6 markupsafe==3.0.3
    touch "$home/venv/ready"
fi
if [ ! -e "$home/npm/ready" ]; then
    mkdir -p "$home/npm"
    (
        cd "$home/npm"
        archive=$(npm pack --silent @huggingface/ollama-utils@0.0.18 2>/dev/null | tail -n 1)
        tar xzf "$archive" --strip-components=1 package/src/chat-template-automap.ts
        rm -f "$archive"
        touch ready
    )
fi
if [ ! -e "$home/pypi/ready" ]; then
    mkdir -p "$home/pypi"
    "$python" -m pip --disable-pip-version-check -q download --no-deps --no-binary :all: \
        -d "$home/pypi" llama-cpp-python==0.3.36
    tar xzf "$home"/pypi/llama_cpp_python-*.tar.gz -C "$home/pypi" --strip-components=4 \
        --wildcards '*/models/templates/*.jinja'
    rm -f "$home"/pypi/llama_cpp_python-*.tar.gz
    touch "$home/pypi/ready"
fi

export PYTHONDONTWRITEBYTECODE=1
"$python" tests/interop/chat_templates.py "$home/templates.json" "$home/npm" "$home/pypi"
"$python" tests/interop/chatapi_compare.py "$program" "$home/templates.json"
