#!/usr/bin/env python3
"""Writes src/text/unicode/uni_table.c: the class that the reference tokenizer gives every character.

    pip install tokenizers && scripts/gen-unicode.py > src/text/unicode/uni_table.c

The classes are asked of Hugging Face's `tokenizers` itself, because its parts have Unicode
different versions: one split per class, one split of digits, one added token that must
be a whole word. Where libutf8proc normalises a character that the reference leaves
alone, the character is listed as inert. `newer` is what this Python's unicodedata (14.0, as
the PCRE2 of Debian 12) does not know.
"""
import ctypes
import ctypes.util
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CPS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, CPS))
CLASSES = ["Lu", "Lt", "Ll", "Lm", "Lo", "M", "N", "P", "S"]  # 1..9 as in uni.h
SPACE, NEWLINE, HAN, WORD, DIGIT, ACTIVE = 10, 11, 0x10, 0x20, 0x40, 0x80


def matching(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = set()
    for _, (begin, end) in split.pre_tokenize_str(TEXT):
        found.update(CPS[begin:end])
    return found


def digits():
    pieces = pre_tokenizers.Digits(True).pre_tokenize_str("a".join(TEXT))
    return {ord(p) for p, _ in pieces if len(p) == 1 and p != "a"}


def words():
    """An added token that must be a whole word does not match before these."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.add_tokens([AddedToken("X", single_word=True)])
    offsets = tokenizer.encode("".join("X" + c + " " for c in TEXT)).offsets
    alone = {begin // 3 for begin, _ in offsets}
    return {c for i, c in enumerate(CPS) if i not in alone}


def values():
    """The byte of uni.h for each code point."""
    value = dict.fromkeys(CPS, 0)
    for number, name in enumerate(CLASSES, 1):
        for c in matching(r"\p{%s}" % name):
            value[c] = number
    for c in matching(r"\s"):
        value[c] = NEWLINE if c in (10, 13) else SPACE
    for bit, chars in (HAN, matching(r"\p{Han}")), (WORD, words()), (DIGIT, digits()):
        for c in chars:
            value[c] |= bit
    return value


def utf8proc_map():
    lib = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
    lib.utf8proc_NFC.restype = lib.utf8proc_NFKC.restype = ctypes.c_char_p
    return lib


def inert():
    """Characters that the reference does not normalise or reorder, but others do."""
    lib = utf8proc_map()
    found = set()
    pairs = [(normalizers.NFC(), lib.utf8proc_NFC, "NFC"),
             (normalizers.NFKC(), lib.utf8proc_NFKC, "NFKC")]
    for c in CPS[1:]:
        for reference, ours, form in pairs:
            for text in chr(c), "\u0301" + chr(c), chr(c) + "\u0323":
                want = reference.normalize_str(text)
                if want != text:
                    continue
                if (ours(text.encode()) != text.encode() or
                        unicodedata.normalize(form, text) != text):
                    found.add(c)
    return found | unsplit()


def unsplit():
    """Characters that the reference does not take apart, and the ends of pairs that it does
    not join, but others do."""
    found = set()
    nfc, nfd, nfkd = normalizers.NFC(), normalizers.NFD(), normalizers.NFKD()
    for c in map(chr, CPS[1:]):
        for reference, form in (nfd, "NFD"), (nfkd, "NFKD"):
            if reference.normalize_str(c) == c != unicodedata.normalize(form, c):
                found.add(ord(c))
        parts = unicodedata.normalize("NFD", c)
        if nfc.normalize_str(parts) == parts != unicodedata.normalize("NFC", parts):
            found.add(ord(parts[-1]))
    return found


def active(value, quiet):
    """What NFC may change, or join with the character before it."""
    nfc = normalizers.NFC()
    marks = {c for c in CPS if value[c] & 15 == 6} - quiet
    changed = {c for c in CPS if nfc.normalize_str(chr(c)) != chr(c)}
    return marks | changed | set(range(0x1160, 0x1200))


def ranges(chars):
    out = []
    for c in sorted(chars):
        if out and out[-1][1] == c:
            out[-1][1] = c + 1
        else:
            out.append([c, c + 1])
    return out


def table(declaration, numbers):
    print(f"\n{declaration} = {{")
    for i in range(0, len(numbers), 9):
        print("    " + " ".join("0x%x," % n for n in numbers[i : i + 9]))
    print("};")


def main():
    value = values()
    newer = {c for c in CPS if value[c] & 15 and unicodedata.category(chr(c)) == "Cn"}
    quiet = inert() | {c for c in newer if value[c] & 15 == 6}
    for c in active(value, quiet):
        value[c] |= ACTIVE
    starts, last = [], None
    for c in CPS:
        if value[c] != last:
            starts.append(c << 8 | value[c])
            last = value[c]
    quiet = ranges(quiet)
    recent = ranges(newer)
    print("/* Characters as the reference tokenizer sees them; see uni.h.")
    print(" * Written by scripts/gen-unicode.py: do not edit. */")
    print('#include "text/unicode/uni.h"\n')
    print("/* clang-format off */")
    print("/* first code point << 8 | byte of uni.h, up to the next one */", end="")
    table("const uint32_t tk_uni_starts[]", starts)
    print(f"const size_t tk_uni_n_starts = {len(starts)};")
    print("\n/* begin, end, begin, end, ... */", end="")
    table("const uint32_t tk_uni_inert[]", sum(quiet, []))
    print(f"const size_t tk_uni_n_inert = {2 * len(quiet)};")
    table("const uint32_t tk_uni_newer[]", sum(recent, []))
    print(f"const size_t tk_uni_n_newer = {2 * len(recent)};")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
