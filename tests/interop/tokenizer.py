#!/usr/bin/env python3
"""Ids and decoded text against Hugging Face's `tokenizers` and tiktoken, on real files.

    tokenizer.py [--quick] [name...]      only these tokenizers, see tokdata.FAMILIES

For each tokenizer: two corpora by lines and in large pieces, code points in 11 places (all of
them for one tokenizer of each pre-tokenisation, the assigned ones for the others), 100,000
random strings, special tokens glued to text, random ids back to text. Then components that no
real file has, and a tiktoken vocabulary. Ends with 1 on any difference.
"""
import json
import random
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

import tiktoken
import tiktoken.load
import tokenizers

import tokdata

PLACES = ["{}", "{0}{0}", "a{}b", "A{}B", "1{}2", ".{}.", " {} ", "\n{}\n", "\t{}a", "'{}s",
          " {}x"]
WHOLE = {"gpt2", "llama3", "qwen3", "mistral_nemo", "gpt4o", "deepseek_v3", "command_r_plus",
         "claude", "gemma3", "llama2"}
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": False}
QUICK = "--quick" in sys.argv


class Report:
    def __init__(self):
        self.failed = self.strings = self.bytes = 0

    def differ(self, what, text, ours, theirs):
        self.failed += 1
        if self.failed < 20:
            at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
                      min(len(ours), len(theirs)))
            print(f"  {what}: differs at {at}: {ours[max(0, at - 3):at + 5]!r} instead of "
                  f"{theirs[max(0, at - 3):at + 5]!r} for {text[:80]!r}")


def compare(report, what, ours, theirs, texts, special=False):
    """theirs: texts -> [[ids]]"""
    for begin in range(0, len(texts), 20000):
        part = texts[begin:begin + 20000]
        wanted = theirs(part, special)
        found = ours.encode_batch([t.encode() for t in part], special)
        for text, a, b in zip(part, found, wanted):
            if a != b:
                report.differ(what, text, a, b)
        report.strings += len(part)
        report.bytes += sum(len(t.encode()) for t in part)


def reference(tokenizer):
    def encode(texts, special):
        return [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=special)]
    return encode


# ---- texts ----

def pieces(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)]


def corpora():
    for name, text in (("english", tokdata.english()), ("languages", tokdata.multilingual()),
                       ("chinese", tokdata.chinese())):
        if QUICK:
            text = text[:: 1] if len(text) < 400_000 else text[:200_000] + text[-200_000:]
        yield name, text


def code_points(every):
    cps = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    if not every:
        cps = [c for c in cps if unicodedata.category(chr(c)) not in ("Cn", "Co")
               and not 0x3400 <= c < 0xA000 and not 0xAC00 <= c < 0xD7A4 and c < 0x20000]
    if QUICK:
        cps = cps[::7]
    for begin in range(0, len(cps), 500):
        for place in PLACES:
            yield "|".join(place.format(chr(c)) for c in cps[begin:begin + 500])


def random_strings(count, specials, seed=11):
    rng = random.Random(seed)
    likely = "aZ 1'.\n\r\t\u00e9\u0301\u4e2d\u2581\ufffd\U0001f389\u200d\u00a0\u3000-s" + "  "
    for i in range(count):
        n = rng.randrange(40)
        kind = i % 4
        if kind == 0:
            yield bytes(rng.randrange(256) for _ in range(n)).decode("utf-8", "replace")
        elif kind == 1:
            chars = (rng.randrange(0x110000) for _ in range(n))
            yield "".join(chr(c) for c in chars if not 0xD800 <= c < 0xE000)
        elif kind == 2:
            yield "".join(rng.choice(likely) for _ in range(n))
        else:
            words = [rng.choice(likely), rng.choice(["the", "don't", "Ünïcode", "1234567", "__x"])]
            yield "".join(rng.choice(words + specials[:1] + [" "]) for _ in range(n // 3))


def from_vocabulary(tokenizer, count, seed=5):
    """Tokens side by side, and cut: what merges join across their borders, whole or in part."""
    rng = random.Random(seed)
    size = tokenizer.get_vocab_size()
    texts = [t for t in tokenizer.decode_batch([[i] for i in range(size)])
             if t and "\ufffd" not in t]
    beyond = [t for t in texts if any(c > "\u007f" for c in t)] or texts
    for i in range(count):
        few = [rng.choice(beyond if rng.random() < 0.8 else texts) for _ in range(rng.randrange(1, 9))]
        text = "".join(few)
        yield text[rng.randrange(2):len(text) - rng.randrange(2)]


def glued(specials):
    for t in specials:
        yield from (t, t + t, f"x{t}y", f" {t} ", f"\n{t}\n", f"{t} a", f"a {t}", t[:-1], t[1:],
                    f"{t[:-1]}{t}", f"1{t}2", f"é{t}中")


# ---- one tokenizer ----

def check_decode(report, name, ours, tokenizer, texts):
    rng = random.Random(3)
    size = tokenizer.get_vocab_size()
    rows = [[rng.randrange(size + 5) for _ in range(rng.randrange(20))]
            for _ in range(2000 if QUICK else 20000)]
    rows += [e.ids for e in tokenizer.encode_batch_fast(texts)]
    for skip in False, True:
        wanted = tokenizer.decode_batch(rows, skip_special_tokens=skip)
        for ids, text in zip(rows, wanted):
            found = ours.decode(ids, skip)
            if found != text:
                report.differ(f"{name}: decode", str(ids), found, text)
    report.strings += 2 * len(rows)


def load_reference(path):
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def check(report, name, path, texts):
    began = time.time()
    tokenizer, ours = load_reference(path), tokdata.Ours(copy_alone(path))
    theirs = reference(tokenizer)
    specials = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
    for corpus, text in texts:
        compare(report, f"{name}: {corpus}", ours, theirs, text.split("\n"))
        compare(report, f"{name}: {corpus}", ours, theirs, pieces(text, 100_000))
    compare(report, f"{name}: code points", ours, theirs, list(code_points(name in WHOLE)))
    strings = list(random_strings(5000 if QUICK else 100_000, specials))
    compare(report, f"{name}: random", ours, theirs, strings)
    compare(report, f"{name}: vocabulary", ours, theirs,
            list(from_vocabulary(tokenizer, 5000 if QUICK else 50_000)))
    compare(report, f"{name}: with specials", ours, theirs, strings[:2000], True)
    compare(report, f"{name}: special", ours, theirs, list(glued(specials[:300] or ["<s>"])))
    check_decode(report, name, ours, tokenizer, strings[:1000] + pieces(texts[1][1], 20_000))
    print(f"  {name}: {time.time() - began:.0f} s", flush=True)


def copy_alone(path):
    """Without the tokenizer_config.json beside it, which the reference does not read."""
    alone = tokdata.HOME / "alone" / path.parts[-4] / path.name
    if not alone.exists():
        alone.parent.mkdir(parents=True, exist_ok=True)
        alone.symlink_to(path)
    return alone


# ---- components without a real file ----

def variants():
    """(name, pre_tokenizer, normalizer, added tokens)"""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": False}
    base = json.loads(tokdata.files()["gpt4o"].read_text())["pre_tokenizer"]
    patterns = {"string": {"String": "-"}, "regex": {"Regex": r"[\s-]+"},
                "empty": {"Regex": r"(?=\d)"}, "digits": {"Regex": r"\d{1,2}(?=a)"},
                "wrapped": {"Regex": "(?:%s)" % base["pretokenizers"][0]["pattern"]["Regex"]},
                "qwen3.5": {"Regex": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|"
                            r"\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"},
                "han": {"Regex": r"\p{Han}+|[\p{L}&&[^\p{Han}]]+"},
                "nested": {"Regex": r" ?[^(\s|[.,!?…。，、।۔،])]+"}}
    for name, pattern in patterns.items():
        for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                         "Contiguous"):
            for invert in False, True:
                split = {"type": "Split", "pattern": pattern, "behavior": behavior,
                         "invert": invert}
                yield (f"{name} {behavior} {invert}",
                       {"type": "Sequence", "pretokenizers": [split, byte_level]}, None, [])
    for alone in False, True:
        digits = {"type": "Digits", "individual_digits": alone}
        yield f"digits {alone}", {"type": "Sequence", "pretokenizers": [digits, byte_level]}, None, []
    yield "prefix", dict(byte_level, add_prefix_space=True, use_regex=True), None, []
    for form in "NFC", "NFD", "NFKC", "NFKD":
        yield form, dict(byte_level, use_regex=True), {"type": form}, []
    flags = [dict(content="<l>", lstrip=True), dict(content="<r>", rstrip=True),
             dict(content="<b>", lstrip=True, rstrip=True), dict(content="one", single_word=True),
             dict(content="Norm\u0301", normalized=True), dict(content="ab"), dict(content="abb"),
             dict(content=" x"), dict(content="e\u0301t", normalized=True, single_word=True)]
    yield "added", dict(byte_level, use_regex=True), {"type": "NFC"}, flags


EVERYWHERE = {"wrapped Isolated False", "qwen3.5 Isolated False", "han Isolated False", "NFC",
              "NFD", "NFKC", "NFKD", "digits True"}


def component_texts():
    rng = random.Random(5)
    parts = list("-a1 .\n\u4e2d\u0301é\u3000٣½") + ["the", "  ", "--", "<l>", "<r>", "<b>", "one",
                                                "Norm\u0301", "ab", "abb", "éte", "e\u0301t", " x",
                                                "\u00a0", "ſ", "'s", "12345"]
    for _ in range(500 if QUICK else 4000):
        yield "".join(rng.choice(parts) for _ in range(rng.randrange(12)))


def check_components(report):
    model = json.loads(tokdata.files()["gpt2"].read_text())
    vocabulary = model["model"]["vocab"]
    texts = list(component_texts())
    with tempfile.TemporaryDirectory() as home:
        for name, pre, normalizer, flags in variants():
            fresh = [f["content"] for f in flags if f["content"] not in vocabulary]
            tokens = [{**FLAGS, "id": vocabulary[f["content"]] if f["content"] in vocabulary
                       else 50257 + fresh.index(f["content"]), **f} for f in flags]
            file = dict(model, pre_tokenizer=pre, normalizer=normalizer,
                        added_tokens=model["added_tokens"] + tokens)
            path = Path(home) / "tokenizer.json"
            path.write_text(json.dumps(file))
            ours = tokdata.Ours(path)
            theirs = reference(load_reference(path))
            compare(report, f"component {name}", ours, theirs, texts)
            if name in EVERYWHERE:
                compare(report, f"component {name}", ours, theirs, list(code_points(False)))
    print("  components", flush=True)


# ---- tiktoken ----

def check_tiktoken(report, texts):
    source = tokdata.ranks("cl100k_base")
    ranks = tiktoken.load.load_tiktoken_bpe(str(source))
    home = tokdata.HOME / "kimi"
    home.mkdir(exist_ok=True)
    (home / "tiktoken.model").write_bytes(source.read_bytes())
    first = max(ranks.values()) + 1
    (home / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {
        str(first + 1): {"content": "[EOS]", "special": True}}}))
    specials = {f"<|reserved_token_{i}|>": i for i in range(first, first + 256)}
    del specials[f"<|reserved_token_{first + 1}|>"]
    specials["[EOS]"] = first + 1
    encoding = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks,
                                 special_tokens=specials)
    ours = tokdata.Ours(home)

    def theirs(strings, _):
        return [encoding.encode(s, allowed_special="all") for s in strings]

    for corpus, text in texts:
        compare(report, f"tiktoken: {corpus}", ours, theirs, text.split("\n"))
    compare(report, "tiktoken: code points", ours, theirs, list(code_points(True)))
    compare(report, "tiktoken: random", ours, theirs,
            list(random_strings(5000 if QUICK else 100_000, ["[EOS]"])))
    compare(report, "tiktoken: special", ours, theirs, list(glued(list(specials)[:20])))
    print("  tiktoken", flush=True)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    report = Report()
    texts = list(corpora())
    paths = tokdata.files()
    for name in names or paths:
        if name in paths:
            check(report, name, paths[name], texts)
    if not names or "components" in names:
        check_components(report)
    if not names or "tiktoken" in names:
        check_tiktoken(report, texts)
    print(f"  {report.strings} strings, {report.bytes / 1e6:.0f} MB, {report.failed} differences "
          f"(tokenizers {tokenizers.__version__}, tiktoken {tiktoken.__version__})")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
