#!/usr/bin/env bash
# The first training of README.md: its data is what the generator writes, its test shares no name
# with the lines to train on, its commands are those of scripts/first.py, and with one seed it meets
# the bar (make first takes five).
. "$(dirname "$0")/lib.sh"
data=examples/data
for part in train:bookings test:bookings-held-out; do
    expect "$data/${part#*:}.jsonl is what the generator writes" \
        cmp <(python3 $data/bookings.py "${part%:*}") "$data/${part#*:}.jsonl"
done
expect "100 messages, whose names are in no line to train on" python3 - <<'END'
import json
read = lambda path: [json.loads(line)["messages"] for line in open(path)]
train, test = read("examples/data/bookings.jsonl"), read("examples/data/bookings-held-out.jsonl")
words = {word.strip(".,?") for line in train for word in line[0]["content"].split()}
names = [line[1]["content"].split()[1] for line in test]
assert len({line[0]["content"] for line in test}) == 100
assert all(name in line[0]["content"] for name, line in zip(names, test))
assert not words & set(names)
END
options=$(python3 -B -c 'import sys; sys.path.insert(0, "scripts"); import first; print("-m", first.MODEL, *first.OPTIONS, first.DATA)')
for page in README.md docs/guide/start.md; do
    expect "$page trains as scripts/first.py does" grep -qF -- \
        "tinkc train --local $options" $page
done
expect "under 10 % are right before the training, at least 90 % after it" \
    scripts/first.py --build "${TINKC_BUILD_DIR:-build}" --seeds 1
finish
