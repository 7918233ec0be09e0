#!/usr/bin/env bash
# The embedded model's recipe: the generator and the tokenizer trainer give the same bytes as
# when the model was trained, and the page is about the files that are there.
. "$(dirname "$0")/lib.sh"
model=models/pebble-llama-2m page=docs/pebble.md
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
hash_of() { sha256sum | cut -c 1-16; }

python3 tools/corpus/corpus.py --seed 1 --bytes 4000000 >"$dir/text"
python3 tools/bpe/bpe.py --text "$dir/text" --vocabulary 2048 --out "$dir/tokenizer" >/dev/null
for file in tokenizer.json tokenizer_config.json; do
    expect "$file is what tools/bpe makes of the text" cmp "$dir/tokenizer/$file" $model/$file
done
expect "held-out text is the same" test \
    "$(python3 tools/corpus/corpus.py --seed 2 --held-out --bytes 400000 | hash_of)" = f3833af8b745b5e6
python3 tools/corpus/corpus.py --seed 3 --bytes 9999 >"$dir/other"
expect "another seed gives other text" test "$(head -n 1 "$dir/other")" != "$(head -n 1 "$dir/text")"
expect "no training text has a held-out pair" python3 - "$dir/text" <<'END'
import re, sys
sys.path.insert(0, "tools/corpus")
import corpus
pairs = re.findall(r"(\d+) [+-] (\d+)", open(sys.argv[1]).read())
sys.exit(len(pairs) < 1000 or any(corpus.is_held_out(int(a), int(b)) for a, b in pairs))
END
expect "the model has at most 5 MB" test "$(stat -c %s $model/model.safetensors)" -le 5000000
expect "the page has 20 samples" test "$(grep -c '^ *→ ' $page)" -eq 20
expect "the page names the size of the file" grep -q \
    "$(stat -c %s $model/model.safetensors | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')" $page
expect "the page has a held-out loss" grep -q '^Held-out loss: [0-9.]* nats' $page
finish
