#!/usr/bin/env bash
# Makes build/torch-venv (PyTorch, transformers 5, PEFT; pinned) and, for the older spelling
# of configurations, build/torch-venv/transformers4, once. Prints the path of its Python.
# About 6 GB: PyPI's torch brings its GPU libraries along, although only the CPU is used.
set -eu
cd "$(dirname "$0")/.."
home=build/torch-venv
python=$home/bin/python
if [ ! -e "$home/ready" ]; then
    rm -rf "$home"
    python3 -m venv "$home" >&2
    pip=("$python" -m pip --disable-pip-version-check -q install --no-cache-dir)
    "${pip[@]}" torch==2.15.0 transformers==5.22.2 peft==0.21.2 accelerate==1.15.0 \
        numpy==2.4.6 safetensors==0.8.0 tokenizers==0.23.3 >&2
    "${pip[@]}" --target "$home/transformers4" --no-deps transformers==4.57.6 \
        tokenizers==0.22.1 huggingface_hub==0.36.0 requests certifi urllib3 charset-normalizer idna >&2
    touch "$home/ready"
fi
echo "$PWD/$python"
