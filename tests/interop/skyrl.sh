#!/usr/bin/env bash
# The program, the examples and the library against another server of the API: SkyRL of PyPI
# on the CPU (its JAX backend) with the embedded model. TINKC_PEER_URL names a server that runs
# already (and TINKC_PEER_MODEL a model of it whose tokenizer is found; without it the embedded
# one): then nothing is installed. What a server does not offer must be said at once.
# About 1.5 GB beside build/torch-venv, and a quarter of an hour: JAX compiles every shape.
. "$(dirname "$0")/lib.sh"
home=$PWD/build/skyrl-venv
model=${TINKC_PEER_MODEL:-tinkc/pebble-llama-2m}
tinkc=$build/tinkc
failed=0

# PyTorch, which PEFT needs, comes from build/torch-venv.
install() {
    [ ! -e "$home/ready" ] || return 0
    local torch
    torch=$(scripts/torch-venv.sh) || return 1
    rm -rf "$home"
    python3 -m venv "$home" || return 1
    local packages
    packages=$(echo "$home"/lib/python*/site-packages)
    echo "$(dirname "$(dirname "$torch")")"/lib/python*/site-packages >"$packages/torch-venv.pth"
    "$home/bin/python" -m pip --disable-pip-version-check -q install \
        "skyrl[tinker,jax]==0.3.0" tinker==0.36.0 jax==0.10.2 flax==0.12.8 optax==0.2.8 transformers==5.8.0 \
        peft==0.18.1 fastapi==0.162.7 pydantic==2.14.3 sqlmodel==0.0.48 sqlalchemy==2.1.8 &&
        touch "$home/ready"
}

# It starts its engine with `uv run`, which would look for a project: here that is its Python.
# Before Python 3.12 pydantic wants the TypedDict of typing_extensions.
start_skyrl() {
    mkdir -p "$work/bin" "$work/run/tinkc" "$work/checkpoints" || return 1
    cp -r models/pebble-llama-2m "$work/run/tinkc/" || return 1
    cat >"$work/bin/uv" <<EOF
#!/usr/bin/env bash
while [ \$# -gt 0 ] && [ "\$1" != -m ]; do shift; done
"$home/bin/python" "\$@" &
trap 'kill -TERM \$!' TERM INT
wait \$!
wait \$!
EOF
    chmod +x "$work/bin/uv"
    echo 'import typing, typing_extensions; typing.TypedDict = typing_extensions.TypedDict' \
        >"$work/bin/sitecustomize.py"
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    (
        cd "$work/run" || exit 1
        export PATH=$work/bin:$PATH PYTHONPATH=$work/bin JAX_PLATFORMS=cpu
        export JAX_COMPILATION_CACHE_DIR=$home/compiled JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
        exec uv run -m skyrl.tinker.api --host 127.0.0.1 --port "$port" --base-model "$model" \
            --backend jax --backend-config '{"max_lora_adapters": 8, "max_lora_rank": 32}' \
            --checkpoints-base "$work/checkpoints" --database-url "sqlite:///$work/db.sqlite"
    ) >"$work/skyrl.log" 2>&1 &
    server=$!
    url=http://127.0.0.1:$port
    for _ in $(seq 600); do
        ! grep -q 'Starting background engine' "$work/skyrl.log" || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 30 "$work/skyrl.log"
    return 1
}

# check NAME PATTERN COMMAND...: its output, both streams, must have the pattern.
check() {
    local name=$1 pattern=$2 began=$SECONDS rc
    shift 2
    local limit=(timeout 900)
    ! declare -F "$1" >/dev/null || limit=() # a function has its own
    if "${limit[@]}" "$@" >"$work/said" 2>&1 </dev/null; rc=$?; grep -qE -- "$pattern" "$work/said"; then
        echo "  $name: ok, $((SECONDS - began)) s"
    else
        echo "  $name: FAILED (exit $rc), expected: $pattern"
        tail -n 5 "$work/said"
        failed=1
    fi
}

# What it lacks is said by a sentence, without minutes of retries.
lacks() {
    local name=$1 pattern=$2 began=$SECONDS
    shift 2
    check "$name" "$pattern" "$@"
    if [ $((SECONDS - began)) -gt 30 ]; then
        echo "  $name: FAILED, it took $((SECONDS - began)) s to say so"
        failed=1
    fi
}

train() { # NAME OPTION...
    local name=$1
    shift
    (cd "$work" && timeout 1800 "$tinkc" train "$data" --model "$model" --batch 4 --rank 8 --lr 3e-3 --seed 5 \
        --save "$name" --metrics "$name.m" "$@")
}

# A run that Ctrl-C stops and --resume continues has the losses of one that was not stopped.
check_resume() {
    local pid rc
    train "whole$$" --steps 6 >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    (cd "$work" && exec "$tinkc" train "$data" --model "$model" --batch 4 --rank 8 --lr 3e-3 --seed 5 \
        --save "part$$" --metrics "part$$.m" --steps 6) >"$work/said" 2>&1 &
    pid=$!
    until grep -qs '"step":2,' "$work/part$$.m" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid
    wait $pid
    rc=$?
    [ $rc -eq 130 ] || [ $rc -eq 0 ] || { cat "$work/said"; return 1; }
    [ $rc -eq 0 ] || train "part$$" --steps 6 --resume >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    python3 - "$work/whole$$.m" "$work/part$$.m" <<'EOF'
import json, sys
runs = [[json.loads(line) for line in open(path)] for path in sys.argv[1:]]
losses = [{row["step"]: row["loss"] for row in rows if "loss" in row} for rows in runs]
apart = max(abs(losses[0][step] - losses[1][step]) for step in losses[0])
print("  losses %s; stopped and resumed: %.1e apart" % (" ".join("%.3f" % losses[0][s] for s in sorted(losses[0])), apart))
sys.exit(apart > 1e-4 or losses[0][6] >= losses[0][1])
EOF
}

if [ -n "${TINKC_PEER_URL:-}" ]; then
    url=$TINKC_PEER_URL
else
    install && start_skyrl || exit 1
fi
export TINKER_BASE_URL=$url TINKER_API_KEY=${TINKER_API_KEY:-tml-interop} XDG_CACHE_HOME=$work/cache
data=$PWD/examples/data/orders.jsonl
examples=$build/examples
echo "server: $url"

check health '^ok$' "$tinkc" health
check models "$model" "$tinkc" models
check sample '^5$' "$tinkc" sample -m "$model" --temperature 0 --max-tokens 32 --chat "What is 2 + 3?"
check chat '^5$' bash -c "echo 'What is 2 + 3?' | '$tinkc' chat -m '$model' --temperature 0 --max-tokens 32"
check doctor 'sampling +ok' "$tinkc" doctor
check 01_hello 'I am Pebble' "$examples/01_hello"
check 02_sft 'right answers: 0 of 6 before, [3-6] after' "$examples/02_sft"
check 03_rl 'reward: 0.* at the start, 0.* at the end|reward: 0.* at the start, 1.000 at the end' "$examples/03_rl"
check '04_dpo (custom loss)' 'short answers preferred: [0-9] of 6 before, [4-6] after' "$examples/04_dpo"
check '05_many (400 at once)' '^400 samples' "$examples/05_many" 400
check 06_epoll '20 ticks, 20 samples' "$examples/06_epoll"
check 'train, eval' 'held-out loss' train "eval$$" --steps 4 --eval "${data%.jsonl}-held-out.jsonl"
check_resume || { echo "  Ctrl-C, resume: FAILED"; failed=1; }
check 'run list' "$model" "$tinkc" run list
check 'checkpoint list' "/weights/whole$$" "$tinkc" checkpoint list --limit 100
path=$("$tinkc" --format json checkpoint list --limit 100 | grep -o "tinker://[^\"]*/weights/whole$$" | head -n 1)
check 'checkpoint info' "whole$$" "$tinkc" checkpoint info "$path"
lacks 'checkpoint delete' 'Deleted 1 checkpoint|does not offer' "$tinkc" checkpoint delete -y "$path"
lacks 'session list' 'session|does not offer' "$tinkc" session list

if [ -n "$server" ]; then
    pid=$server
    server=
    kill -TERM "$pid"
    wait "$pid"
fi
exit $failed
