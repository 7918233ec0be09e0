#!/usr/bin/python3
"""A prompt and decoding one sequence with a 0.5B model: our engine against llama.cpp, bf16 and f16.

Needs build/llama-venv, which scripts/llama-venv.sh makes (it compiles for minutes); a note
without it. Both sides take turns, after the same prompt length, and the fastest token of
each counts: other programs only ever slow one down. On two threads in wall time, which means
something on an idle machine only (llama.cpp's threads spin while they wait); on one thread in
CPU time, which always does. Weights are random, because what they
hold does not change the time. llama.cpp converts to f16 where it wants to; f16 files are
shown as well, because CPUs of this kind have an instruction for f16 and none for bf16.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "llama-venv"
PROMPT, TOKENS, ROUNDS = 256, 8, 4
HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, HEAD, VOCABULARY = 896, 4864, 24, 14, 2, 64, 151936


def say(name, ratio, detail):
    print(json.dumps({"name": name, "ratio": ratio, "bar": None, "ok": True, "detail": detail}), flush=True)


class Ours:
    def __init__(self, threads):
        build = os.environ.get("TINKC_BUILD_DIR", str(ROOT / "build"))
        self.process = subprocess.Popen([f"{build}/bench/bench_llama", str(threads), str(TOKENS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        """Wall and CPU seconds of the fastest token, and of the prompt."""
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return tuple(int(word) / 1e9 for word in self.process.stdout.readline().split())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def shapes():
    yield "token_embd.weight", (VOCABULARY, HIDDEN)
    yield "output_norm.weight", (HIDDEN,)
    for i in range(LAYERS):
        at = f"blk.{i}."
        yield at + "attn_norm.weight", (HIDDEN,)
        yield at + "ffn_norm.weight", (HIDDEN,)
        for letter, rows in (("q", HEADS * HEAD), ("k", KV_HEADS * HEAD), ("v", KV_HEADS * HEAD)):
            yield at + f"attn_{letter}.weight", (rows, HIDDEN)
            yield at + f"attn_{letter}.bias", (rows,)
        yield at + "attn_output.weight", (HIDDEN, HEADS * HEAD)
        yield at + "ffn_gate.weight", (INNER, HIDDEN)
        yield at + "ffn_up.weight", (INNER, HIDDEN)
        yield at + "ffn_down.weight", (HIDDEN, INNER)


def write_model(path, dtype):
    import gguf
    import numpy
    kind = getattr(gguf.GGMLQuantizationType, dtype)
    noise = ((numpy.random.default_rng(1).random(VOCABULARY * HIDDEN, dtype=numpy.float32)) - 0.5) * 0.04
    packed = gguf.quants.quantize(noise, kind)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(32768)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(getattr(gguf.LlamaFileType, "MOSTLY_" + dtype))
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    width = packed.nbytes // noise.size
    for name, shape in shapes():
        count = int(numpy.prod(shape))
        if len(shape) == 1:
            norm = name.endswith("norm.weight")
            writer.add_tensor(name, numpy.ones(count, numpy.float32) if norm else noise[:count])
            continue
        block = packed.reshape(-1).view(numpy.uint8)[:count * width].reshape(shape[0], shape[1] * width)
        writer.add_tensor(name, block, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Theirs:
    def __init__(self, path, threads):
        import llama_cpp
        self.threads = threads
        self.c = llama_cpp
        self.quiet = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise SystemExit("bench_llama: llama.cpp does not open the model")

    def run(self):
        """Wall and CPU seconds of the fastest token, and of the prompt."""
        c = self.c
        params = c.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = 2 * PROMPT, PROMPT, PROMPT
        params.n_threads = params.n_threads_batch = self.threads
        context = c.llama_init_from_model(self.model, params)
        start, cpu = time.perf_counter(), time.process_time()
        self.decode(context, [7, 5, 3] + [0] * (PROMPT - 3))
        c.llama_get_logits(context)
        prompt = time.perf_counter() - start, time.process_time() - cpu
        best = (1e9, 1e9)
        for i in range(TOKENS + 1):
            start, cpu = time.perf_counter(), time.process_time()
            self.decode(context, [i])
            c.llama_get_logits(context)
            cost = time.perf_counter() - start, time.process_time() - cpu
            if i > 0:
                best = tuple(map(min, best, cost))
        c.llama_free(context)
        return *best, *prompt

    def decode(self, context, tokens):
        ids = (self.c.llama_token * len(tokens))(*tokens)
        if self.c.llama_decode(context, self.c.llama_batch_get_one(ids, len(tokens))) != 0:
            raise SystemExit("bench_llama: llama_decode failed")


def race(path, dtype, threads):
    ours, theirs = Ours(threads), Theirs(path, threads)
    rounds = [(ours.run(), theirs.run()) for _ in range(ROUNDS)]
    ours.close()
    us, them = ([min(times) for times in zip(*side)] for side in zip(*rounds))
    on = f"vs llama.cpp {dtype.lower()}, {threads} thread{'s' * (threads > 1)}"
    for what, unit, at, n in (("decoding 0.5B, one sequence", "token", 0, 1),
                              (f"a prompt of {PROMPT} tokens, 0.5B", "token", 2, PROMPT)):
        (wall, cpu), (their_wall, their_cpu) = ([1e3 * t / n for t in side[at:at + 2]] for side in (us, them))
        say(f"engine: {what}, {on}", their_cpu / cpu if threads == 1 else their_wall / wall,
            f"ours {wall:.2f} ms a {unit} ({cpu:.2f} ms CPU), llama.cpp {their_wall:.2f} ms "
            f"({their_cpu:.2f} ms CPU); our weights are bf16, products in f32")


def main():
    if not (VENV / "ready").exists():
        say("engine: decoding vs llama.cpp", None, "left out: scripts/llama-venv.sh builds it")
        return 0
    if pathlib.Path(sys.prefix) != VENV:
        python = VENV / "bin" / "python"
        os.execv(python, [str(python), __file__, *sys.argv[1:]])
    for dtype in sys.argv[1:] or ["BF16", "F16"]:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "model.gguf")
            write_model(path, dtype)
            race(path, dtype, 1)
            race(path, dtype, 2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
