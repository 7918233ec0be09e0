#!/usr/bin/env bash
# Makes the embedded model: text, tokenizer, training, export, report.
#   scripts/pebble.sh text      training and held-out text, tokenizer, into build/pebble
#   scripts/pebble.sh train     trains in build/pebble/run; continues where it stopped
#   scripts/pebble.sh export    the model and its log into models/pebble-llama-2m
#   scripts/pebble.sh report    docs/pebble.md from the committed model and log
# Every step gives the same bytes again, on one instruction-set path. Programs come from
# TINKC_BUILD_DIR (build/dev).
set -eu
cd "$(dirname "$0")/.."

build=${TINKC_BUILD_DIR:-build/dev}
work=build/pebble
model=models/pebble-llama-2m

make_held_out() {
    mkdir -p $work
    python3 tools/corpus/corpus.py --seed 2 --held-out --bytes 400000 >$work/held_out.txt
}

make_text() {
    make_held_out
    python3 tools/corpus/corpus.py --seed 1 --bytes 100000000 >$work/train.txt
    python3 tools/corpus/corpus.py --seed 1 --bytes 4000000 >$work/tokenizer.txt
    python3 tools/bpe/bpe.py --text $work/tokenizer.txt --vocabulary 2048 --out $work/tokenizer
}

run_training() {
    "$build"/tools/pretrain train --tokenizer $work/tokenizer/tokenizer.json \
        --text $work/train.txt --held-out $work/held_out.txt --run $work/run "$@"
}

train() {
    run_training --steps 20000 --decay 10000
}

export_model() {
    mkdir -p $model
    "$build"/tools/pretrain export --tokenizer $work/tokenizer/tokenizer.json \
        --run $work/run --out $model
    cp $work/tokenizer/tokenizer.json $work/tokenizer/tokenizer_config.json $model/
    cp $work/run/log.txt $model/training.log
}

report() {
    make_held_out
    "$build"/tools/pebble_report $model $work/held_out.txt >$work/report.md
    python3 tools/pretrain/report.py $model $work/report.md >$work/pebble.md
    cp $work/pebble.md docs/pebble.md
}

case "${1:-}" in
text) make_text ;;
train) train ;;
export) export_model ;;
report) report ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
