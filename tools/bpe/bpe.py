#!/usr/bin/env python3
"""Trains a byte-level BPE tokenizer and writes it as Hugging Face files.

  bpe.py --text FILE --vocabulary 2048 --out DIR

Writes DIR/tokenizer.json and DIR/tokenizer_config.json (with the chat template). Ties are
broken by the pair itself, so the same text gives the same files. The split pattern uses
ASCII classes only, so that it matches the same text in every regex engine and Unicode
version. Digits are single, and characters outside ASCII go to the byte alphabet."""
import argparse
import collections
import json
import os
import re

SPECIAL = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
SPACE = r" \t\r\n"
PATTERN = rf" ?[A-Za-z]+|[0-9]| ?[^{SPACE}A-Za-z0-9]+|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+"
CHAT = ("{{ bos_token }}{% for message in messages %}"
        "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")


def byte_alphabet():
    """byte -> character, GPT-2's table: printable bytes are themselves, the other 68 are
    U+0100 and on, in order."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table = {b: chr(b) for b in plain}
    for i, b in enumerate(b for b in range(256) if b not in table):
        table[b] = chr(256 + i)
    return table


def count_words(text):
    specials = re.compile("|".join(re.escape(s) for s in SPECIAL))
    counts = collections.Counter()
    for part in specials.split(text):
        counts.update(re.findall(PATTERN, part))
    return counts


def merge_word(word, pair):
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def train(counts, n_merges):
    """The most frequent pair becomes a token, n_merges times or until no pair is left."""
    table = byte_alphabet()
    words = [([table[b] for b in w.encode()], n) for w, n in sorted(counts.items())]
    where = collections.defaultdict(set)
    pairs = collections.Counter()
    for i, (word, n) in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += n
            where[pair].add(i)
    merges = []
    while len(merges) < n_merges:
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < 1:
            break
        merges.append(best)
        for i in sorted(where[best]):
            word, n = words[i]
            for pair in zip(word, word[1:]):
                pairs[pair] -= n
                if pairs[pair] == 0:
                    del pairs[pair]
            word = merge_word(word, best)
            words[i] = (word, n)
            for pair in zip(word, word[1:]):
                pairs[pair] += n
                where[pair].add(i)
        pairs.pop(best, None)
    return merges


def vocabulary(merges):
    table = byte_alphabet()
    tokens = SPECIAL + [table[b] for b in range(256)]
    seen = set(tokens)
    for a, b in merges:
        if a + b not in seen:
            seen.add(a + b)
            tokens.append(a + b)
    return {token: i for i, token in enumerate(tokens)}


def tokenizer_json(merges):
    vocab = vocabulary(merges)
    added = [{"id": vocab[s], "content": s, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for s in SPECIAL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
            "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": vocab, "merges": [f"{a} {b}" for a, b in merges]}}


def config_json(context):
    decoder = {str(i): {"content": s, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
                        "special": True} for i, s in enumerate(SPECIAL)}
    return {"added_tokens_decoder": decoder, "bos_token": SPECIAL[0], "eos_token": "<|end|>", "pad_token": SPECIAL[0],
            "add_bos_token": False, "clean_up_tokenization_spaces": False, "model_max_length": context,
            "tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHAT}


def write(path, value):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    with open(args.text, encoding="utf-8") as file:
        counts = count_words(file.read())
    merges = train(counts, args.vocabulary - 256 - len(SPECIAL))
    os.makedirs(args.out, exist_ok=True)
    write(os.path.join(args.out, "tokenizer.json"), tokenizer_json(merges))
    write(os.path.join(args.out, "tokenizer_config.json"), config_json(args.context))
    print(f"{len(counts)} different words, {len(merges)} merges, {len(vocabulary(merges))} tokens")


if __name__ == "__main__":
    main()
