#!/usr/bin/env bash
# Makes the embedded model: text, tokenizer, training, export, report.
#   scripts/pebble.sh text      training and held-out text, tokenizer, into build/pebble
#   scripts/pebble.sh train     trains in build/pebble/run, then on reading in build/pebble/reading;
#                               continues where it stopped
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
    python3 tools/corpus/corpus.py --seed 12 --mix reading --held-out --bytes 400000 >$work/reading_held_out.txt
    python3 tools/corpus/corpus.py --seed 14 --mix mixed --held-out --bytes 400000 >$work/mixed_held_out.txt
}

make_text() {
    make_held_out
    python3 tools/corpus/corpus.py --seed 1 --bytes 100000000 >$work/train.txt
    python3 tools/corpus/corpus.py --seed 11 --mix reading --bytes 16000000 >$work/reading.txt
    python3 tools/corpus/corpus.py --seed 13 --mix mixed --bytes 20000000 >$work/mixed.txt
    python3 tools/corpus/corpus.py --seed 1 --bytes 4000000 >$work/tokenizer.txt
    python3 tools/bpe/bpe.py --text $work/tokenizer.txt --vocabulary 2048 --out $work/tokenizer
}

pretrain() {
    "$build"/tools/pretrain "$@" --tokenizer $work/tokenizer/tokenizer.json
}

# The second run starts from the exported weights of the first, which are rounded to bf16. It learns
# to copy from text that has little else in it, then goes on with a mix.
train() {
    pretrain train --text $work/train.txt --held-out $work/held_out.txt --run $work/run \
        --steps 20000 --decay 10000
    pretrain export --run $work/run --out $work/exported
    pretrain train --text $work/reading.txt --held-out $work/reading_held_out.txt \
        --from $work/exported --run $work/reading --steps 3600 --decay 1600 --stop 2489
    pretrain train --text $work/mixed.txt --held-out $work/mixed_held_out.txt \
        --run $work/reading --steps 3900 --decay 1500
}

export_model() {
    mkdir -p $model
    pretrain export --run $work/reading --out $model
    cp $work/tokenizer/tokenizer.json $work/tokenizer/tokenizer_config.json $model/
    cat $work/run/log.txt $work/reading/log.txt >$model/training.log
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
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
