#!/usr/bin/python3
"""A training step of our engine against PyTorch + PEFT: same model files, threads, data.

Needs build/torch-venv, which `make interop` makes; a note without it. PyTorch computes in
float32 and, as a second peer, under bf16 autocast, with its default attention. The steps of all
sides take turns; medians count, of CPU time on one thread: on several, PyTorch's spin while they wait
for each other, which on a busy machine is most of their time (32 times ours was seen). Against bf16, whose products keep 8 bits of each number, there is no bar.
    bench_train.py [pebble|half|half512]     only one; half512 is 4 x 512 tokens, minutes per step
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build" / "torch-venv"
THREADS, RANK = 1, 32
LEAVES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"]


def say(name, ratio, bar, detail):
    print(json.dumps({"name": name, "ratio": ratio, "bar": bar, "ok": bar is None or ratio >= bar,
                      "detail": detail}), flush=True)


class Ours:
    def __init__(self, directory, data, tokens):
        build = os.environ.get("TINKC_BUILD_DIR", str(ROOT / "build"))
        command = [f"{build}/bench/bench_train", directory, THREADS, RANK, data, tokens]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.peak = 0

    def step(self):
        """Wall and CPU seconds."""
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        wall, cpu, self.peak = [int(word) for word in self.process.stdout.readline().split()]
        return wall / 1e9, cpu / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Theirs:
    def __init__(self, directory, data, tokens, bf16):
        import peft
        import torch
        import transformers
        self.torch = torch
        self.bf16 = bf16
        torch.set_num_threads(THREADS)
        model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
        config = peft.LoraConfig(r=RANK, lora_alpha=32, target_modules=LEAVES, task_type="CAUSAL_LM")
        self.model = peft.get_peft_model(model, config)
        vocabulary = model.config.vocab_size
        self.ids = torch.arange(data * tokens).reshape(data, tokens) * 7919 % vocabulary
        self.targets = (torch.arange(data * tokens) + 1) * 7919 % vocabulary
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-4, betas=(0.9, 0.95), eps=1e-12, weight_decay=0)

    def step(self):
        """Wall and CPU seconds."""
        start, cpu = time.perf_counter(), time.process_time()
        with self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.bf16):
            logits = self.model(self.ids).logits
            loss = self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.targets, reduction="sum")
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.perf_counter() - start, time.process_time() - cpu


def race(name, directory, data, tokens, repetitions, bar):
    """Theirs one after the other: two 0.5B models of PyTorch would need 10 GB."""
    for kind, bf16 in (("f32", False), ("bf16 autocast", True)):
        ours, theirs = Ours(directory, data, tokens), Theirs(directory, data, tokens, bf16)
        a, b = [], []
        for i in range(repetitions + 1):
            a.append(ours.step())
            b.append(theirs.step())
        (wall, cpu), (their_wall, their_cpu) = (
            [statistics.median(times) for times in zip(*side[1:])] for side in (a, b))
        say(f"{name} {kind}", their_cpu / cpu, None if bf16 else bar,
            f"rank {RANK}, {data} x {tokens} tokens, one thread: ours {cpu:.3f} s of CPU ({wall:.3f} s wall, "
            f"{data * tokens / wall:.0f} tokens/s, peak {ours.peak / 1048576:.2f} GiB), PyTorch {their_cpu:.3f} s of CPU "
            f"({their_wall:.3f} s wall); wall {their_wall / wall:.2f} x")
        ours.close()
        del theirs


def save_half_billion(directory):
    """The shape of Qwen2.5-0.5B, random, in bf16 as released weights are."""
    import torch
    import transformers
    config = transformers.Qwen2Config(
        hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, vocab_size=151936, max_position_embeddings=32768, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    torch.manual_seed(1)
    transformers.Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(directory)


def main():
    python = VENV / "bin" / "python"
    if not (VENV / "ready").exists():
        say("engine: training step vs PyTorch + PEFT", None, None, "left out: make interop installs PyTorch")
        return 0
    if pathlib.Path(sys.prefix) != VENV:
        os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
        os.execv(python, [str(python), "-W", "ignore", __file__, *sys.argv[1:]])
    import transformers
    transformers.utils.logging.disable_progress_bar()
    wanted = sys.argv[1:] or ["pebble", "half"]
    if "pebble" in wanted:
        race("engine: training step, embedded model, vs PyTorch + PEFT",
             str(ROOT / "models" / "pebble-llama-2m"), 8, 128, 10, 1.0)
    if "half" in wanted or "half512" in wanted:
        with tempfile.TemporaryDirectory() as directory:
            save_half_billion(directory)
            for word, tokens in (("half", 128), ("half512", 512)):
                if word in wanted:
                    race(f"engine: training step, 0.5B, 4 x {tokens}, vs PyTorch + PEFT", directory, 4, tokens, 3, 1.5)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
