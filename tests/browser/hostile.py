"""Texts that a model or a user may produce, and that must be seen as text."""
import json
import os
import shutil

SCRIPT = "<script>window.__hacked=1</script><img src=x onerror=\"window.__hacked=2\">"
TERMINAL = "\x1b[31mred\x1b[0m\x07\x9b2J"
RTL = "abc \u202egnp.exe\u202c \u05d0\u05d1\u05d2 \u200f\u200bzero"
BROKEN = "caf\ufffd \ufffd\ufffd end"  # what bytes that are not UTF-8 have become
LINE = "x" * 1_000_000
NAME = SCRIPT + " " + RTL + " " + TERMINAL + " " + "long" * 40

# What the page shows in place of what cannot be seen.
SEEN_TERMINAL = "\u241b[31mred\u241b[0m\u2407\u27e8U+009B\u27e92J"
SEEN_RTL = "abc \u27e8U+202E\u27e9gnp.exe\u27e8U+202C\u27e9 \u05d0\u05d1\u05d2 \u27e8U+200F\u27e9\u27e8U+200B\u27e9zero"


def samples(first):
    """(number, pieces of the output), one for each kind."""
    return [(first, ["Look: ", SCRIPT, TERMINAL]), (first + 1, [RTL]), (first + 2, [BROKEN, "\u0000", "\n\n", ""]),
            (first + 3, [LINE]), (first + 4, ["word "] * 20_000)]


def model(folder, to):
    """A copy of the model in `folder` whose last tokens are these texts: at a high temperature it outputs all of them, and
    bytes that are no UTF-8."""
    os.mkdir(to)
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json"):
        shutil.copy(f"{folder}/{name}", to)
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
        tokenizer = json.load(file)
    words, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    for i, text in enumerate((SCRIPT, TERMINAL, RTL, LINE)):
        number = len(words) - 1 - i  # what the last merges make: no other word is made of it
        old = next(w for w, n in words.items() if n == number)
        merges[:] = [m for m in merges if "".join(m.split(" ") if isinstance(m, str) else m) != old]
        del words[old]
        words[text] = number
        if text == LINE:
            continue  # too long for an added token; a word of the vocabulary may be
        tokenizer["added_tokens"].append({"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                                          "normalized": False, "special": False})
    with open(f"{to}/tokenizer.json", "w", encoding="utf-8") as file:
        json.dump(tokenizer, file)
