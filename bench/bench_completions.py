#!/usr/bin/python3
"""/v1/completions of `tinkc serve` against llama.cpp's server, with the embedded model.

The server is the one of llama.cpp's Python binding (llama_cpp.server: the library of llama.cpp
behind FastAPI, one request at a time); PyPI has no other that is built. Needs build/llama-venv, which
scripts/llama-venv.sh makes (it compiles for minutes), and its server's packages, which are
installed into build/llama-server-venv here; a note without it. Both get the same greedy requests
from the same client over as many kept connections, in turns, and give the same text; the fastest
round of each counts.
"""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLAMA, VENV = ROOT / "build" / "llama-venv", ROOT / "build" / "llama-server-venv"
MODEL = ROOT / "models" / "pebble-llama-2m"
NAME, TOKENS, REQUESTS, ROUNDS = "tinkc/pebble-llama-2m", 16, 48, 4
PROMPTS = ["The old man sat by the river and", "One day a little girl found a", "Once upon a time there was a",
           "The boy and his mother went to the"]


def say(name, ratio, detail):
    print(json.dumps({"name": name, "ratio": ratio, "bar": None, "ok": True, "detail": detail}), flush=True)


def tensors():
    """Names and float32 arrays of the model's file, whose numbers are bfloat16."""
    import numpy
    data = (MODEL / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    for name, row in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in row["data_offsets"])
        assert row["dtype"] == "BF16", name
        bits = numpy.frombuffer(data[begin:end], numpy.uint16).astype(numpy.uint32) << 16
        yield name, bits.view(numpy.float32).reshape(row["shape"])


def write_model(path):
    """The same weights as a file of llama.cpp, float32 because it rounds what it multiplies to bfloat16
    otherwise; its pairs of rotary dimensions are neighbours."""
    import gguf
    config = json.loads((MODEL / "config.json").read_text())
    tokenizer = json.loads((MODEL / "tokenizer.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    vocabulary = tokenizer["model"]["vocab"]
    special = {t["id"] for t in tokenizer["added_tokens"]}
    words = {i: w for w, i in vocabulary.items()} | {t["id"]: t["content"] for t in tokenizer["added_tokens"]}
    merges = [m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([words.get(i, f"[unused{i}]") for i in range(config["vocab_size"])])
    writer.add_token_types([3 if i in special else 1 if i in words else 5 for i in range(config["vocab_size"])])
    writer.add_token_merges(merges)
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)
    names = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    parts = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    for name, value in tensors():
        if name not in names:
            _, _, layer, part = name.split(".", 3)
            part = part.removesuffix(".weight")
            if part in ("self_attn.q_proj", "self_attn.k_proj"):
                n = heads if part == "self_attn.q_proj" else kv_heads
                value = value.reshape(n, 2, value.shape[0] // n // 2, -1).swapaxes(1, 2).reshape(value.shape)
            names[name] = f"blk.{layer}.{parts[part]}.weight"
        writer.add_tensor(names[name], value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def request(connection, prompt):
    body = json.dumps({"model": NAME, "prompt": prompt, "max_tokens": TOKENS, "temperature": 0})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise SystemExit(f"bench_completions: {answer.status} {text[:300]}")
    return json.loads(text)["choices"][0]["text"]


def race(port, clients):
    """Requests per second."""
    def work():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for i in range(REQUESTS // clients):
            request(connection, PROMPTS[i % len(PROMPTS)])
        connection.close()
    threads = [threading.Thread(target=work) for _ in range(clients)]
    began = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return REQUESTS / (time.perf_counter() - began)


def start_ours(work, started):
    """Adds the process to `started` before it can fail, so that it is ended."""
    build = os.environ.get("TINKC_BUILD_DIR", str(ROOT / "build"))
    process = subprocess.Popen([f"{build}/tinkc", "serve", "--port", "0", "--data", f"{work}/data"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    started.append(process)
    for line in process.stdout:
        if line.startswith("listening on "):
            return int(line.rsplit(":", 1)[1])
    raise SystemExit("bench_completions: tinkc serve does not start")


def start_theirs(work, started):
    path = f"{work}/model.gguf"
    write_model(path)
    port = 20000 + os.getpid() % 20000
    process = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", "--model", path, "--model_alias", NAME,
                                "--port", str(port), "--n_ctx", "1024", "--n_threads", "2",
                                "--n_threads_batch", "2", "--type_k", "0", "--type_v", "0", "--verbose", "False"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started.append(process)
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/v1/models")
            connection.getresponse().read()
            return port
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise SystemExit("bench_completions: llama_cpp.server does not start")


def install():
    """The packages of the binding's server beside the binding."""
    if (VENV / "ready").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    packages = next((VENV / "lib").glob("python3*")) / "site-packages"
    beside = next((LLAMA / "lib").glob("python3*")) / "site-packages"
    (packages / "llama-venv.pth").write_text(f"{beside}\n")
    subprocess.run([str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install",
                    "llama-cpp-python[server]==0.3.36"], check=True, stdout=sys.stderr)
    (VENV / "ready").touch()


def main():
    if not (LLAMA / "ready").exists():
        say("gateway: requests vs llama.cpp's server", None, "left out: scripts/llama-venv.sh builds it")
        return 0
    if pathlib.Path(sys.prefix) != VENV:
        install()
        python = VENV / "bin" / "python"
        os.execv(python, [str(python), __file__])
    with tempfile.TemporaryDirectory() as work:
        started = []
        try:
            our_port = start_ours(work, started)
            their_port = start_theirs(work, started)
            for prompt in PROMPTS:
                a, b = (request(http.client.HTTPConnection("127.0.0.1", p), prompt) for p in (our_port, their_port))
                if a != b:
                    raise SystemExit(f"bench_completions: other texts: {a!r}, {b!r}")
            for clients in (1, 8):
                rounds = [(race(our_port, clients), race(their_port, clients)) for _ in range(ROUNDS)]
                best, their_best = (max(side) for side in zip(*rounds))
                say(f"gateway: /v1/completions vs llama.cpp's server, {clients} client{'s' * (clients > 1)}",
                    best / their_best, f"ours {best:.0f} requests a second, llama_cpp.server {their_best:.0f}: "
                    f"{TOKENS} greedy tokens each, the same text")
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(60)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
