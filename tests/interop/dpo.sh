#!/usr/bin/env bash
# `tinkc dpo` and `tinkc distill` against a direct computation in PyTorch, with PEFT, the tokenizer and
# the chat template of transformers: losses, metrics and gradients. And what the two commands do for
# held-out data.
. "$(dirname "$0")/lib.sh"
python=$(scripts/torch-venv.sh) || exit 1
failed=0
data=$PWD/examples/data
here=$PWD/tests/interop
model=tinkc/pebble-llama-2m
pebble=$PWD/models/pebble-llama-2m
serve || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop TINKC_SHOW_WAITS=off
cd "$work" || exit 1

# run WORDS...: the program; its output is in $work/log.
run() {
    "$build/tinkc" "$@" -m $model >log 2>err || { echo "tinkc $*"; cat log err; exit 1; }
}

# Prints the directory of a training checkpoint, which has weights and moments.
checkpoint() { echo "$work"/data/checkpoints/*/weights/"$1".*; }

# ---- one step of dpo, not the first: its start weights are no longer its weights ----

head -n 12 "$data/brief.jsonl" >pairs.jsonl
printf '{"question":"Hello","answer":"I am here"}\n' >hello.jsonl
run train hello.jsonl --steps 3 --batch 1 --rank 8 --save start
for steps in 2 3; do
    run dpo pairs.jsonl --load start --steps $steps --batch 12 --rank 8 --lr 3e-4 --beta 0.2 --schedule constant \
        --save "after$steps" --metrics "after$steps.m"
done
"$python" -W ignore "$here/dpo_torch.py" dpo "$pebble" "$(checkpoint start)" "$(checkpoint after2)" \
    "$(checkpoint after3)" pairs.jsonl 0.2 after3.m || failed=1

# ---- one step of distill: the answers are sampled once more, with the seed that they had ----

run train "$data/orders.jsonl" --steps 12 --batch 8 --rank 8 --save teacher
run train "$data/orders.jsonl" --steps 4 --batch 8 --rank 8 --save begun
question='Two apples and six pies for Nora, please.'
printf '{"question":"%s"}\n' "$question" >prompt.jsonl
run distill prompt.jsonl --load begun --teacher teacher --steps 1 --batch 1 --samples 8 --max-tokens 20 --rank 8 \
    --seed 5 --coefficient 0.7 --save distilled --metrics distilled.m
seed=$("$python" "$here/dpo_torch.py" seed 5 0 0 0) || exit 1
"$build/tinkc" sample -m begun --chat "$question" --n 8 --seed "$seed" --max-tokens 20 --format json >answers.json || exit 1
"$python" -W ignore "$here/dpo_torch.py" distill "$pebble" "$(checkpoint begun)" "$(checkpoint teacher)" \
    "$(checkpoint distilled)" answers.json "$question" 0.7 distilled.m || failed=1

# ---- held-out data ----

run dpo "$data/brief.jsonl" --eval "$data/brief-held-out.jsonl" --save preferred --format json
"$python" "$here/dpo_torch.py" better log eval_accuracy 0.9 above "dpo: held-out accuracy" || failed=1
run train "$data/weather.jsonl" --epochs 6 --save weather
run train "$data/weather.jsonl" --steps 6 --save weather-begun
run distill "$data/weather.jsonl" --load weather-begun --teacher weather --eval "$data/weather-held-out.jsonl" \
    --epochs 10 --max-tokens 32 --save student --format json
"$python" "$here/dpo_torch.py" better log eval_kl 0.5 below "distill: held-out KL per token" || failed=1

cd "$build/.." || exit 1
serve_end || failed=1
[ $failed -eq 0 ] && echo "dpo and distill: no difference"
exit $failed
