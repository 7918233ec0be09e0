#!/usr/bin/env python3
"""Writes docs/pebble.md from a model's directory, its training.log and the output of pebble_report.

  report.py MODEL_DIRECTORY REPORT > docs/pebble.md"""
import json
import os
import re
import sys

BAR = 50  # characters of the longest bar


def read_log(path):
    """For each of the two runs: [(step, tokens, loss, held-out loss or None)]"""
    runs = []
    pattern = re.compile(r"step (\d+) tokens (\d+) loss ([\d.]+) .*?(?:held_out ([\d.]+))?$")
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = pattern.match(line.strip())
            if match:
                step, tokens, loss, held_out = match.groups()
                if not runs or int(step) < runs[-1][-1][0]:
                    runs.append([])
                runs[-1].append((int(step), int(tokens), float(loss), float(held_out) if held_out else None))
    return runs


def curve(rows):
    """The first lines, then those with a held-out loss: step, tokens, losses, a bar."""
    shown = [row for i, row in enumerate(rows) if row[3] is not None or i < 4]
    top = max(row[2] for row in shown)
    lines = ["step    tokens    loss   held-out"]
    for step, tokens, loss, held_out in shown:
        second = f"{held_out:.4f}" if held_out is not None else "      "
        bar = "#" * max(1, round(BAR * loss / top))
        lines.append(f"{step:5d} {tokens:9d}  {loss:.4f}  {second}  {bar}".rstrip())
    return "\n".join(lines)


def main():
    directory, report = sys.argv[1:]
    with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    rows, reading = read_log(os.path.join(directory, "training.log"))
    size = os.path.getsize(os.path.join(directory, "model.safetensors"))
    with open(report, encoding="utf-8") as file:
        text = file.read()
    numbers, samples = text.split("\n1. ", 1)
    hidden, layers, ffn = config["hidden_size"], config["num_hidden_layers"], config["intermediate_size"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    vocabulary = config["vocab_size"]
    per_layer = 2 * hidden * hidden + 2 * hidden * hidden * kv // heads + 3 * hidden * ffn + 2 * hidden
    parameters = vocabulary * hidden + layers * per_layer + hidden
    print(f"""# The embedded model: tinkc/pebble-llama-2m

A very small Llama, trained by this repository's engine on text that this repository generates,
so that the first command works without a download. It writes short stories in simple sentences,
follows its chat format, repeats words that it has not seen, finds an answer in a sentence or two, and
adds single digits. It rarely gets a sum of two-digit numbers right that it has not seen, or an
answer in a longer story, which leaves fine-tuning and reinforcement learning something to
improve. It knows nothing else, and when it counts it does not stop in time.
`scripts/pebble.sh report` writes this page; do not edit it.

## Sizes

| | |
|---|---|
| architecture | LlamaForCausalLM, tied embeddings |
| parameters | {parameters:,} |
| hidden size, layers, heads, key/value heads | {hidden}, {layers}, {heads}, {kv} |
| feed-forward size | {ffn} |
| vocabulary | {vocabulary:,} (byte-level BPE, 5 special tokens, single digits) |
| context | {config["max_position_embeddings"]:,} |
| `model.safetensors` | {size:,} bytes, bf16 |

## Chat format

`<|endoftext|>` begins a text, then each message is `<|role|>content<|end|>` with role
`system`, `user` or `assistant`. `<|end|>` ends an answer. The template is in
`tokenizer_config.json`.

## Recipe

    scripts/pebble.sh text && scripts/pebble.sh train && scripts/pebble.sh export

* Text: `tools/corpus`, seed 1, 100 MB; held-out text: seed 2, with sums only of pairs of
  numbers that the training text never contains. Documents are stories (28 % of
  documents), stories with questions (16), requests for stories (6), sums and differences
  (24), counting (6), spelling backwards (8), facts (12).
* Text to learn copying from: `tools/corpus --mix reading`, seed 11, 16 MB. 28 % of the documents are
  of the kinds above; the others are words to repeat (40 %), texts about people, with questions
  (16), forms (10) and introductions (6). Half of the names are made of syllables, so that answers
  have to be copied. Then `--mix mixed`, seed 13, 20 MB: 56 % of the kinds above. Held-out text:
  seeds 12 and 14. None of it has the form of `examples/data`.
* Tokenizer: `tools/bpe` on the first 4 MB of it.
* Training: `tools/pretrain`, all parameters, f32, {rows[-1][0]:,} steps, {rows[-1][1]:,} tokens, at
  about 6,000 tokens per second on one core (AVX2). A batch is 4 sequences of 256 tokens; every 8th is 2 sequences of
  1,024. AdamW (0.9, 0.98, eps 1e-8, decay 0.05 on matrices), gradients clipped at norm 1,
  learning rate 3e-3 after 100 steps of warm-up, falling as a cosine over the second half; the
  exact schedule is in `scripts/pebble.sh`.
* Then the same from those weights (rounded to bf16): 2,489 steps on the text for copying and
  {reading[-1][0] - 2489:,} on the mix, {reading[-1][1]:,} tokens.

## Loss

Nats per token; training loss is the mean since the previous line of the log. The whole log is
`{directory}/training.log`.

```
{curve(rows)}
```

The second run, with the mix after step 2,489 (another held-out text):

```
{curve(reading)}
```

{numbers.strip()}

## Sample sheet

Temperature 0.7, seed = number of the prompt, at most 160 tokens, special tokens not shown in
answers. Each prompt comes after `<|endoftext|>`.

1. {samples.strip()}""")


if __name__ == "__main__":
    main()
