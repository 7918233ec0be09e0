#!/usr/bin/env bash
# make demo: starts a server on this machine, fine-tunes its model through libtinkc, and shows
# the answers before and after. Needs no key and no network.
#   scripts/demo.sh [build directory [steps]]
# The server's data stays in <build directory>/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
build=${build#"$PWD"/}
shift || true
for program in "$build/tinkc" "$build/tools/demo"; do
    [ -x "$program" ] || {
        echo "demo: $program is missing; type: make demo" >&2
        exit 1
    }
done

work=$build/demo
rm -rf "$work"
mkdir -p "$work"
: >"$work/out"
"$build/tinkc" serve --port 0 --data "$work/data" >"$work/out" 2>"$work/log" &
server=$!
stop() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}
trap stop EXIT

# The line comes when the server is ready; a server that ends first never writes it.
until url=$(sed -n 's/^listening on //p' "$work/out") && [ -n "$url" ]; do
    kill -0 "$server" 2>/dev/null || {
        echo "demo: the server did not start:" >&2
        cat "$work/log" >&2
        exit 1
    }
    sleep 0.05
done
echo "Server: $url"
env -u TINKER_API_KEY TINKER_BASE_URL="$url" "$build/tools/demo" "$@"
stop
echo "  in $work/"

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
