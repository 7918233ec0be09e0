#!/usr/bin/env bash
# Makes build/llama-venv (llama.cpp through its Python binding, and the writer of its files;
# pinned), once. PyPI has it as source only: five to fifteen minutes of compiling on two
# cores. Prints the path of its Python.
set -eu
cd "$(dirname "$0")/.."
home=build/llama-venv
python=$home/bin/python
if [ ! -e "$home/ready" ]; then
    rm -rf "$home"
    python3 -m venv "$home" >&2
    CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) CMAKE_ARGS="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAVA_BUILD=OFF" \
        "$python" -m pip --disable-pip-version-check -q install --no-cache-dir \
        llama-cpp-python==0.3.36 gguf==0.19.0 numpy==2.4.6 >&2
    touch "$home/ready"
fi
echo "$PWD/$python"
