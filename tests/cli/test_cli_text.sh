#!/usr/bin/env bash
# tokenize, detokenize and render, on the embedded model's tokenizer.
. "$(dirname "$0")/lib.sh"
"$TINKC" --help | grep -q '^  render ' || exit 0 # built without tokenizers
model=models/pebble-llama-2m

try tokenize -t $model "hello world"
expect "ids" [ "$status $out" = "0 262 279 116 488 357" ]
try -f json tokenize -t $model hello world
expect "operands are joined, ids as JSON" [ "$out" = "[262, 279, 116, 488, 357]" ]
try tokenize -t $model --count "hello world"
expect "count" [ "$out" = 5 ]
try tokenize -t $model -p "<|user|>a"
expect "pieces" has "$out" "2  * <|user|>"
try tokenize -t $model -p --plain "<|user|>"
expect "plain text" [ -z "$(grep '\*' <<<"$out")" ]
printf 'hello\nworld' >"$dir/text"
try tokenize -t $model -i "$dir/text"
ids=$out
try detokenize -t $model $ids
expect "there and back" [ "$out" = $'hello\nworld' ]
out=$("$TINKC" tokenize -t $model <"$dir/text" | "$TINKC" -f json detokenize -t $model)
expect "through pipes" [ "$out" = '"hello\nworld"' ]
try detokenize -t $model -s "[2, 262]"
expect "special tokens left out" [ "$out" = he ]
try detokenize -t $model 1 x
expect "a bad id" [ "$status $err" = "1 Error: 'x' is not a token id" ]
try tokenize hello
expect "no tokenizer" has "$status $err" "Missing option '--tokenizer' or '--model'."
expect "is a usage error" [ $status -eq 2 ]
try tokenize -t "$dir" hello
expect "no such tokenizer" [ $status -eq 1 ]
try tokenize -t $model -i "$dir/nosuch"
expect "no such file" [ $status -eq 1 ]

cat >"$dir/chat.json" <<'JSON'
[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
JSON
try render -t $model "$dir/chat.json"
expect "text" [ "$out" = "<|endoftext|><|user|>Hi<|end|><|assistant|>Hello!<|end|>" ]
try render -t $model --continue "$dir/chat.json"
expect "to be continued" [ "$out" = "<|endoftext|><|user|>Hi<|end|><|assistant|>Hello!" ]
echo '{"messages": [{"role": "user", "content": "Hi"}]}' >"$dir/one.json"
try -f json render -t $model -g "$dir/one.json"
expect "generation prompt" [ "$out" = '"<|endoftext|><|user|>Hi<|end|><|assistant|>"' ]
try render -t $model --tokens "$dir/chat.json"
expect "tokens" has "$out" "1459  #  assistant     1  content  Hello"
expect "what is not trained" has "$out" "3  .  assistant     1  template <|assistant|>"
try -f json render -t $model -k --loss-on all "$dir/chat.json"
expect "tokens as JSON" has "$out" '"tokens": [0, 2, 1941, 4, 3, 1459, 38, 4], "weights": [1, 1,'
try render -t $model -k "$dir/one.json"
expect "a warning" has "$err" "Warning: no token has a weight"
expect "is not a failure" [ $status -eq 0 ]
echo '{{ x }}{{ y }}{{ messages|length }}' >"$dir/t.jinja"
try render --template "$dir/t.jinja" --var x=5 --var 'y=a "text"' "$dir/chat.json"
expect "variables" [ "$out" = '5a "text"2' ]
echo '{{ raise_exception("why not") }}' >"$dir/t.jinja"
try render --template "$dir/t.jinja" "$dir/chat.json"
expect "the template's own error" [ "$status $err" = "1 Error: template line 1: why not" ]
try render "$dir/chat.json"
expect "no template" [ $status -eq 2 ]
try render --template "$dir/t.jinja" --var x "$dir/chat.json"
expect "a variable without a value" [ $status -eq 2 ]
echo '[' >"$dir/chat.json"
try render -t $model "$dir/chat.json"
expect "no JSON" [ $status -eq 1 ]
expect "no server is to blame" [ "${err#*base URL}" = "$err" ]
finish
