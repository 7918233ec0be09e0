#!/usr/bin/env bash
# make demo: the first training of README.md. Starts a server on this machine, fine-tunes its
# model, and shows the answers before and after. Needs no key and no network.
#   scripts/demo.sh [build directory [steps]]
# The server's data stays in <build directory>/first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
build=${build#"$PWD"/}
[ -x "$build/tinkc" ] || {
    echo "demo: $build/tinkc is missing; type: make demo" >&2
    exit 1
}
scripts/first.py --build "$build" --seeds 1 --show 4 ${2:+--steps "$2" --below}

# Three lines to copy, which tests take from here and run (tests/docs/demo_lines.sh).
url=http://127.0.0.1:8000
model=tinkc/pebble-llama-2m
cc=cc
case $PWD in *[[:space:]]*) cc="eval cc" ;; esac # where pkg-config escapes the blank
cat <<END

Go on from here: a server, and in another terminal Python (pip install tinker) or C
$build/tinkc serve
python3 -c 'import tinker; c = tinker.ServiceClient(base_url="$url", api_key="tml-local").create_lora_training_client("$model"); t = c.get_tokenizer(); print(t.decode(c.save_weights_and_get_sampling_client().sample(tinker.ModelInput.from_ints(t.encode("<|user|>Who are you?<|end|><|assistant|>")), 1, tinker.SamplingParams(max_tokens=32, temperature=0)).result().sequences[0].tokens))'
$cc examples/01_hello.c \$(PKG_CONFIG_PATH=$build pkg-config --cflags --libs tinkc) -o $build/hello && TINKER_BASE_URL=$url $build/hello
END
