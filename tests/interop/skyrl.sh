#!/usr/bin/env bash
# The program, the examples and the library against another server of the API: SkyRL of PyPI
# on the CPU (its JAX backend) with the embedded model; then losses of the same adapter and data
# there and on `tinkc serve`, and the CPU time of our client beside the official SDK's.
# `skyrl.sh gateway` only does what gateway_peer.sh does. TINKC_PEER_URL names a server that runs
# already (and TINKC_PEER_MODEL a model of it whose tokenizer is found; without it the embedded
# one): then SkyRL is not installed.
# About 1.5 GB beside build/torch-venv, installed in 3 minutes. With a filled JAX cache the suite took
# 640 s on two cores at a load of 4 to 17; by URL 454 s at a load of 2 to 5, and 34 s for `tinkc serve`.
. "$(dirname "$0")/lib.sh"
home=$PWD/build/skyrl-venv
model=${TINKC_PEER_MODEL:-tinkc/pebble-llama-2m}
tinkc=$build/tinkc
check=tests/interop/skyrl_check.py
sdk_version=0.24.1 # the newest that SkyRL allows
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
# Before Python 3.12 pydantic wants the TypedDict of typing_extensions. It computes in the type
# that the model's configuration names: float32, as ours does. A fixed number of samples at a time
# keeps JAX from compiling for each number that happens to wait.
start_skyrl() {
    mkdir -p "$work/bin" "$work/run/tinkc" "$work/checkpoints" || return 1
    cp -r models/pebble-llama-2m "$work/run/tinkc/" || return 1
    sed -i 's/"bfloat16"/"float32"/' "$work/run/tinkc/pebble-llama-2m/config.json"
    cat >"$work/bin/uv" <<SCRIPT
#!/usr/bin/env bash
while [ \$# -gt 0 ] && [ "\$1" != -m ]; do shift; done
"$home/bin/python" "\$@" &
trap 'kill -TERM \$!' TERM INT
wait \$!
wait \$!
SCRIPT
    chmod +x "$work/bin/uv"
    echo 'import typing, typing_extensions; typing.TypedDict = typing_extensions.TypedDict' \
        >"$work/bin/sitecustomize.py"
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    (
        cd "$work/run" || exit 1
        export PATH=$work/bin:$PATH PYTHONPATH=$work/bin JAX_PLATFORMS=cpu
        export JAX_COMPILATION_CACHE_DIR=$home/compiled JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
        exec uv run -m skyrl.tinker.api --host 127.0.0.1 --port "$port" --base-model "$model" --backend jax \
            --backend-config '{"max_lora_adapters": 8, "max_lora_rank": 32, "sample_max_num_sequences": 32}' \
            --checkpoints-base "$work/checkpoints" --database-url "sqlite:///$work/db.sqlite"
    ) >"$work/skyrl.log" 2>&1 &
    peer=$!
    url=http://127.0.0.1:$port
    for _ in $(seq 600); do
        ! grep -q 'Starting background engine' "$work/skyrl.log" || return 0
        kill -0 "$peer" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 30 "$work/skyrl.log"
    return 1
}

wrong() {
    echo "  $1: FAILED, $2"
    [ ! -s "$work/said" ] || tail -n 5 "$work/said"
    failed=1
}

# check_run NAME PATTERN COMMAND...: it must succeed, and its output, both streams, match.
check_run() {
    local name=$1 pattern=$2 began=$SECONDS rc
    shift 2
    local limit=(timeout 1800)
    ! declare -F "$1" >/dev/null || limit=() # a function has its own
    "${limit[@]}" "$@" >"$work/said" 2>&1 </dev/null
    rc=$?
    if [ $rc -eq 0 ] && grep -qE -- "$pattern" "$work/said"; then
        echo "  $name: ok, $((SECONDS - began)) s"
    else
        wrong "$name" "exit $rc, expected: $pattern"
    fi
}

# check_lacks NAME PATTERN REQUEST ARGUMENT...: SkyRL does not have it. The program says so in one
# sentence, with exit code 1, after a single request. Another server may have it.
check_lacks() {
    local name=$1 pattern=$2 request=$3 rc asked
    shift 3
    timeout 60 "$tinkc" -vv "$@" >"$work/said" 2>&1 </dev/null
    rc=$?
    asked=$(grep -cE "^debug http: $request" "$work/said")
    if [ $rc -eq 0 ] && [ -z "$peer" ]; then
        echo "  $name: ok, the server offers it"
    elif [ $rc -eq 1 ] && [ "$asked" -eq 1 ] && grep -qE -- "$pattern" "$work/said"; then
        echo "  $name: ok, not offered: $(grep -E -- "$pattern" "$work/said" | tail -n 1)"
    else
        wrong "$name" "exit $rc, $asked requests, expected 1 request and: $pattern"
    fi
}

options=(--model "$model" --batch 4 --rank 8 --lr 3e-3 --seed 5)
train() { # NAME OPTION...
    local name=$1
    shift
    (cd "$work" && exec "$tinkc" train "$data" "${options[@]}" --save "$name" --metrics "$name.m" "$@")
}

# A background job of a script ignores SIGINT, and its programs with it.
interruptible='import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])'

# A run that Ctrl-C stops and --resume continues has the losses of one that was not stopped.
check_resume() {
    local pid rc
    train "whole$$" --steps 24 >"$work/said" 2>&1 || { wrong train "exit $?"; return; }
    (cd "$work" && exec python3 -c "$interruptible" "$tinkc" train "$data" "${options[@]}" \
        --save "part$$" --metrics "part$$.m" --steps 24) >"$work/said" 2>&1 &
    pid=$!
    until grep -qs '"step":2,' "$work/part$$.m" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid
    wait $pid
    rc=$?
    [ $rc -eq 130 ] || { wrong Ctrl-C "exit $rc"; return; }
    train "part$$" --steps 24 --resume >"$work/said" 2>&1 || { wrong resume "exit $?"; return; }
    echo "  Ctrl-C (exit 130), resume:"
    python3 $check resume "$work/whole$$.m" "$work/part$$.m" || wrong resume "other losses"
}

# A new adapter of the peer is saved, downloaded and uploaded to `tinkc serve`; both train it on
# the same data. The loss of an adapter of our own shows what its random A changes.
check_curves() {
    local steps=200 peer_url=$TINKER_BASE_URL program=$build/tests/interop_peer start folder
    "$program" curve "$model" "$work/tokens" $steps >"$work/peer.curve" || { wrong curves "at the peer"; return; }
    start=$(sed -n 's/^start //p' "$work/peer.curve")
    "$tinkc" checkpoint download "$start" -o "$work/start" >"$work/said" 2>&1 ||
        { wrong curves "the adapter of the peer cannot be downloaded"; return; }
    folder=$(echo "$work"/start/*)
    serve || { wrong curves "no tinkc serve"; return; }
    TINKER_BASE_URL=$url
    start=$("$tinkc" checkpoint upload "$folder" -m tinkc/pebble-llama-2m 2>"$work/said") &&
        "$program" curve tinkc/pebble-llama-2m "$work/tokens" $steps "$start" >"$work/ours.curve" 2>"$work/said" &&
        "$program" curve tinkc/pebble-llama-2m "$work/tokens" $steps >"$work/own.curve" 2>"$work/said" ||
        wrong curves "at tinkc serve"
    TINKER_BASE_URL=$peer_url
    serve_end || failed=1
    echo "  losses of the same adapter and data:"
    python3 $check curves "$work/own.curve" "$work/peer.curve" "$work/ours.curve" "${peer:+skyrl}" || wrong curves "they differ"
}

# SkyRL may do a step before the batch that it accepted first (docs/servers.md, "order not kept"), and logs that it
# stepped on zero gradients. Our client must not let that happen; the second request of `repeated request` in
# doctor --deep does, and the official SDK may.
empty_steps() { [ ! -s "$work/skyrl.log" ] || grep -c 'No accumulated gradients' "$work/skyrl.log"; }

check_order() { # COUNT BEFORE
    local now
    now=$(empty_steps)
    [ -n "$peer" ] || return
    if [ "$now" = "$1" ]; then
        echo "  order: ok, no step without its gradients"
    else
        wrong order "$((now - $1)) steps without their gradients"
    fi
}

# The least of some runs counts: others may use the machine.
check_cpu() {
    local python sdk=tests/interop/skyrl_sdk.py
    python=$(scripts/sdkenv.py $sdk_version) || { wrong CPU "no SDK"; return; }
    for work_of in "samples 400" "samples 400" "samples 400" "steps 200" "steps 200"; do
        set -- $work_of
        "$build/tests/interop_peer" "$1" "$model" "$work/tokens" "$2" >>"$work/cpu.ours" 2>"$work/said" &&
            { "$python" -W ignore $sdk "$1" "$model" "$work/tokens" "$2" >>"$work/cpu.sdk" 2>"$work/said" || ended; } ||
            { wrong CPU "$work_of"; return; }
    done
    echo "  CPU time of the client, ours and that of the official SDK $sdk_version:"
    python3 $check cpu "$work/cpu.ours" "$work/cpu.sdk" || wrong CPU "less than 10 times"
}

# The same command at the peer and at `tinkc serve`: only the URL differs. The rewards are others: SkyRL has
# its own random A and its own samples.
check_rl() {
    local peer_url=$TINKER_BASE_URL where began
    for where in peer ours; do
        [ $where = peer ] || { serve && TINKER_BASE_URL=$url; } || { wrong rl "no tinkc serve"; return; }
        began=$SECONDS
        (cd "$work" && exec timeout 1800 "$tinkc" rl --tasks "$sums" --match exact --max-tokens 6 -m "$model" --rank 8 \
            --steps 6 --batch 8 --group 8 --scale --lr 3e-3 --concurrency 64 --save-every 0 --save "rl$$" \
            --out "$where") >"$work/said" 2>&1
        if grep -q 'Trained .* 6 steps, 384 episodes' "$work/said" && ! grep -q 'episodes/failed":[1-9]' "$work/$where/metrics.jsonl"; then
            echo "  rl at $TINKER_BASE_URL: ok, reward $(sed -n 's/^reward  *//p' "$work/said"), $((SECONDS - began)) s"
        else
            wrong "rl at $TINKER_BASE_URL" "6 steps without a failure"
        fi
    done
    TINKER_BASE_URL=$peer_url
    serve_end || failed=1
}

check_deep() {
    "$tinkc" --format json doctor --deep --model "$model" --wait 7200 >"$work/deep" 2>"$work/said"
    echo "  doctor --deep:"
    python3 $check deep "$work/deep" "${peer:+skyrl}" || wrong "doctor --deep" "the table above"
}

check_gateway() {
    echo "  OpenAI's and Anthropic's clients through tinkc gateway:"
    TINKC_PEER_URL=$TINKER_BASE_URL tests/interop/gateway_peer.sh || wrong gateway "the table above"
}

if [ -n "${TINKC_PEER_URL:-}" ]; then
    url=$TINKC_PEER_URL
else
    install && start_skyrl || exit 1
fi
export TINKER_BASE_URL=$url TINKER_API_KEY=${TINKER_API_KEY:-tml-interop} XDG_CACHE_HOME=$work/cache
data=$PWD/examples/data/orders.jsonl
sums=$PWD/examples/data/sums.jsonl
examples=$build/examples
python3 $check data "$tinkc" "$model" "$data" 32 >"$work/tokens" || exit 1
echo "server: $url"
case "${1:-}" in # one part alone
gateway | cpu) "check_$1" && exit $failed ;;
esac

check_run health '^ok$' "$tinkc" health
check_run models "$model" "$tinkc" models
check_run doctor 'sampling +ok' "$tinkc" doctor
check_deep
empty=$(empty_steps)
check_run sample '^5$' "$tinkc" sample -m "$model" --temperature 0 --max-tokens 32 --chat "What is 2 + 3?"
check_run chat '^5$' bash -c "echo 'What is 2 + 3?' | '$tinkc' chat -m '$model' --temperature 0 --max-tokens 32"
check_run 01_hello 'I am Pebble' "$examples/01_hello"
# SkyRL has no adapter on the unembedding, without which the loss ends at 13.5 on any server
check_run 02_sft 'step 24  loss (1[0-4]|[0-9])\.' "$examples/02_sft"
check_run 03_rl 'reward: 0.* at the start, (0.*|1.000) at the end' "$examples/03_rl"
check_run '04_dpo (custom loss)' 'short answers preferred: [0-9] of 6 before, [4-6] after' "$examples/04_dpo"
check_run '05_many (400 at once)' '^400 samples' "$examples/05_many" 400
check_run 06_epoll '20 ticks, 20 samples' "$examples/06_epoll"
check_run 'train, eval' 'held-out loss' train "eval$$" --steps 4 --eval "${data%.jsonl}-held-out.jsonl"
check_resume
check_run 'run list' "$model" "$tinkc" run list
check_run 'checkpoint list' "/weights/whole$$" "$tinkc" checkpoint list --limit 100
path=$("$tinkc" --format json checkpoint list --limit 100 | grep -o "tinker://[^\"]*/weights/whole$$" | head -n 1)
check_run 'checkpoint info' "whole$$" "$tinkc" checkpoint info "$path"
check_lacks 'session list' '^Error: the server does not offer GET /api/v1/sessions' 'GET [^ ]*/sessions:' session list
check_lacks 'checkpoint publish' 'does not offer POST' 'POST [^ ]*/publish:' checkpoint publish "$path"
check_lacks 'checkpoint delete' 'does not offer DELETE' DELETE checkpoint delete -y "$path"
check_lacks 'audit log' 'does not offer|keeps no audit log' '[A-Z]* [^ ]*audit' audit
check_curves
check_rl
check_order "$empty"
check_gateway
check_cpu

if [ -n "$peer" ]; then
    pid=$peer
    peer=
    kill -TERM "$pid"
    wait "$pid"
fi
echo "  all in $SECONDS s"
exit $failed
