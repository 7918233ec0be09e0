#!/usr/bin/env python3
"""Writes tests/data/text/tok_cases.json: ids and texts of the reference for tokenizers of ours.

    pip install tokenizers && scripts/gen-tok-cases.py > tests/data/text/tok_cases.json

Each case replaces members of the embedded model's tokenizer.json, so that every component is
there without data of others; Hugging Face's `tokenizers` says what comes out.
"""
import json
import sys
import tempfile
from pathlib import Path

import tokenizers

ROOT = Path(__file__).resolve().parents[1]
SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LOW = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
HEAD = r"[^\r\n\p{L}\p{N}]?"
PATTERNS = {
    "cl100k": SHORT + "|" + HEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
    "qwen": SHORT + "|" + HEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + REST,
    "qwen marks": SHORT + "|" + HEAD + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + REST,
    "o200k": f"{HEAD}[{UP}]*[{LOW}]+{SHORT}?|{HEAD}[{UP}]+[{LOW}]*{SHORT}?|"
             r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + REST,
    "tekken": f"{HEAD}[{UP}]*[{LOW}]+|{HEAD}[{UP}]+[{LOW}]*|"
              r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + REST,
    "han": r"\p{Han}+|[\p{L}&&[^\p{Han}]]+",
    "nested": r" ?[^(\s|[.,!?…。，、।۔،])]+",
}
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^""" + "\r\n" +
            r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" + "\r\n" + r"]*|\s*[" + "\r\n" +
            r"]+|\s+(?!\S)|\s+"]
TEXTS = [
    "", " ", "a", "The cat's dog isn't HERE; they'LL go. I'ſ 'Ve", "  two  blanks \n\n and\tmore \r\n ",
    "1234567 and 3.14159, ½ ٣٤ Ⅷ②", "fooBar FOObar FooBAR ÉCole éCOLE ǅabc ʰʰA", "-the-final--countdown-",
    "café cafe\u0301 ﬁ ² ẛ̣ \u212b Å \u1100\u1161\u11a8", "日本語テスト、中文 한국어! ไทย हिन्दी",
    "\u0301ABC \u0301abc a\u0301\u0302b", "🎉👨‍👩‍👧 \U0001fae8 \U00016100 \u0897 \u1c89",
    "x\u180ey\u0085z\ufeff\u200b\u00a0\u3000", "<|user|>Hi<|end|>  <|end|>\n<l> <r> <b>one two one",
    "someone one. Norm\u0301 Norḿ ab abb aabbb  x\ty <b>", "if (x) {\n\treturn a[1]/b; // ok\n}\n\n/\n",
    "▁a ▁▁ b", "\x00\x01\x7f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" * 5, "q\u4e00\u4e01 zq \t tab",
    "\U00011938 \U00011935\U00011930 a\U00011938\u0301",
]


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def byte_level(**more):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
            "use_regex": False, **more}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(model):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
             "special": False}
    rows = [dict(content="<l>", lstrip=True), dict(content="<r>", rstrip=True, special=True),
            dict(content="<b>", lstrip=True, rstrip=True), dict(content="one", single_word=True),
            dict(content="Norm\u0301", normalized=True), dict(content="ab"), dict(content="abb"),
            dict(content=" x"), dict(content="é", special=True)]
    vocab, out, free = model["model"]["vocab"], list(model["added_tokens"]), 2048
    for row in rows:
        number = vocab.get(row["content"], free)
        free += number == free
        out.append({**flags, "id": number, **row})
    return out


def characters(fallback, unknown, missing=()):
    """A vocabulary of characters, as SentencePiece makes them."""
    words = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256) if b not in missing]
    words += ["▁"] + list("abcdefghijklmnopqrstuvwxyzTHI.é中") + \
        ["th", "he", "the", "▁the", "in", "▁a", "an", "▁▁", "aa", "aaaa", "ab", "▁ab", "one"]
    merges = [["t", "h"], ["h", "e"], ["th", "e"], ["▁", "the"], ["i", "n"], ["▁", "a"],
              ["a", "n"], ["▁", "▁"], ["a", "a"], ["aa", "aa"], ["a", "b"], ["▁", "ab"],
              ["a", "b"]]
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>" if unknown else None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
            "byte_fallback": fallback, "ignore_merges": False,
            "vocab": {w: i for i, w in enumerate(words)}, "merges": merges}


def sentencepiece(model):
    special = [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True}
               for i, w in enumerate(["<unk>", "<s>", "</s>"])]
    blank = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    return {
        "model": model, "added_tokens": special, "pre_tokenizer": None,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, blank]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "post_processor": {"type": "TemplateProcessing", "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "</s>", "type_id": 0}}], "pair": [
            {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
                               "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}}}


def cases(model):
    for name, pattern in PATTERNS.items():
        yield name, {"pre_tokenizer": sequence(split({"Regex": pattern}), byte_level())}
    yield "by PCRE2", {"pre_tokenizer": sequence(
        split({"Regex": f"(?:{PATTERNS['o200k']})"}, "Removed", True), byte_level())}
    yield "gpt2", {"pre_tokenizer": byte_level(use_regex=True)}
    yield "prefix", {"pre_tokenizer": byte_level(use_regex=True, add_prefix_space=True)}
    yield "deepseek", {"pre_tokenizer": sequence(*(split({"Regex": p}) for p in DEEPSEEK), byte_level())}
    for alone in False, True:
        yield f"digits {alone}", {"pre_tokenizer": sequence(
            {"type": "Digits", "individual_digits": alone}, byte_level(use_regex=True))}
    for behavior in "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous":
        for invert in False, True:
            yield f"{behavior} {invert}", {"pre_tokenizer": sequence(
                split({"String": "-"}, behavior, invert), byte_level())}
    yield "empty matches", {"pre_tokenizer": sequence(split({"Regex": r"(?=\d)"}), byte_level())}
    for form in "NFC", "NFD", "NFKC", "NFKD":
        yield form, {"normalizer": {"type": form}}
    yield "added", {"added_tokens": added(model), "normalizer": {"type": "NFC"}}
    yield "ignore_merges", {"model": {**model["model"], "ignore_merges": True,
                                      "merges": model["model"]["merges"][:200]}}
    yield "no decoder", {"decoder": None}
    yield "fallback", sentencepiece(characters(True, True))
    yield "fallback with holes", sentencepiece(characters(True, True, (9, 0xE6)))
    yield "unknown", sentencepiece(characters(False, True))
    yield "dropped", sentencepiece(characters(False, False))


def main():
    model = json.loads((ROOT / "models" / "pebble-llama-2m" / "tokenizer.json").read_text())
    out = []
    for name, patch in cases(model):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({**model, **patch}, file)
            file.flush()
            reference = tokenizers.Tokenizer.from_file(file.name)
        rows = []
        for text in TEXTS:
            ids = reference.encode(text, add_special_tokens=False).ids
            special = reference.encode(text).ids
            rows.append({"text": text, "ids": ids, "special": special,
                         "decoded": reference.decode(special, skip_special_tokens=False),
                         "skipped": reference.decode(special)})
        if patch.get("model", {}).get("ignore_merges"):
            patch = {"ignore_merges": 200}  # the test makes the same
        out.append({"name": name, "patch": patch, "rows": rows})
    json.dump(out, sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
