"""Our engine against transformers and PEFT, on models that transformers makes and saves.

    engine_compare.py PROGRAM WORK [--base-only] [--pebble DIR] [--only WORDS]

For each model: logits and log-probabilities of the base model, and 50 greedy tokens.
With PEFT (not --base-only): an adapter that PEFT saves gives the same logits, gradients
and, after ten AdamW steps, weights; the adapter that we export gives PEFT our logits. Then
ten steps of AdamW on GSPO, and ten of Dimuon, against engine_reference.py. All in float32
with eager attention. Ends with 1 when a bar is missed.

A request to PROGRAM (build/tests/interop_engine) is a JSON file: model, threads, tokens,
target_tokens, weights (one list per datum), adapter (PEFT directory or null), steps, adam,
greedy (tokens; without it only training is done), export (directory to write), out
(safetensors file to write). gspo, instead of weights: both bounds, logprobs, advantages and
sequence_ratio_mask. dimuon instead of adam: its parameters.
"""
import argparse
import json
import pathlib
import subprocess

import torch
import transformers
from safetensors.torch import load_file

import engine_reference

LOGITS, GRADIENTS, WEIGHTS = 1e-4, 1e-3, 1e-5
BFLOAT16 = 15 / 256  # five steps of three products, each rounded to eight bits
GREEDY, STEPS = 50, 10
# The step is small because the first one is lr * sign(gradient): where a gradient is nothing but
# rounding (1e-7 beside others of 1), its sign and with it the step are arbitrary.
ADAM = {"learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.01}
# A trained model has weights whose gradient is 1e-6 beside others of 2, less than float32 keeps of
# them: divided by its own size alone its sign would decide. Likewise where GSPO clips a sequence.
ADAM_TRAINED = {**ADAM, "eps": 1e-3}
DIMUON = {"learning_rate": 1e-3, "beta1": 0.9, "grad_clip_norm": 1.0}
RANK = 4
LEAVES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"]
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
NEW = int(transformers.__version__.split(".")[0]) >= 5

TINY = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 101}
SMALL = {"hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 4,
         "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000}


def rope(theta, scaling=None):
    """The rotary parameters as this version of transformers spells them."""
    if NEW:
        return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, **(scaling or {})}}
    return {"rope_theta": theta, "rope_scaling": scaling}


def cases():
    """Name, model class, configuration class, members, stored type."""
    t = transformers
    llama, qwen2, qwen3 = ((t.LlamaForCausalLM, t.LlamaConfig), (t.Qwen2ForCausalLM, t.Qwen2Config),
                           (t.Qwen3ForCausalLM, t.Qwen3Config))
    f32, bf16 = torch.float32, torch.bfloat16
    for label, size in (("tiny", TINY), ("small", SMALL)):
        dim = {"head_dim": 16} if label == "small" else {"head_dim": 8}
        scaled = {**size, **rope(500000.0, LLAMA3), "rms_norm_eps": 1e-5}
        yield f"{label} llama-3, untied", *llama, {**scaled, "tie_word_embeddings": False}, f32
        yield f"{label} llama-3, tied, bf16", *llama, {**scaled, "tie_word_embeddings": True}, bf16
        yield f"{label} qwen2, tied", *qwen2, {**size, **rope(1e6), "tie_word_embeddings": True}, f32
        yield f"{label} qwen2, untied, bf16", *qwen2, {**size, **rope(1e6), "tie_word_embeddings": False}, bf16
        yield f"{label} qwen3, tied, bf16", *qwen3, {**size, **dim, **rope(1e6), "tie_word_embeddings": True}, bf16
        yield f"{label} qwen3, untied", *qwen3, {**size, **dim, **rope(1e6), "tie_word_embeddings": False}, f32


def randomise(model, generator):
    """Weights far from the usual small ones, so that a wrong bias, norm or scale shows."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if "norm" in name:
                p.copy_(1 + 0.2 * noise)
            else:
                p.copy_(noise * (0.5 if p.dim() == 1 else p.shape[-1] ** -0.5))


def make_data(vocabulary, generator, lengths=(70, 1, 33)):
    def ids(n):
        return torch.randint(vocabulary, (n,), generator=generator).tolist()
    weights = [torch.randn(n, generator=generator).tolist() for n in lengths]
    return {"tokens": [ids(n) for n in lengths], "target_tokens": [ids(n) for n in lengths], "weights": weights}


def logits_of(model, tokens):
    return model(torch.tensor([tokens])).logits[0]


def logprobs_of(model, data, i):
    rows = torch.log_softmax(logits_of(model, data["tokens"][i]), -1)
    return rows.gather(1, torch.tensor(data["target_tokens"][i])[:, None])[:, 0]


def loss_of(model, data):
    return sum(-(torch.tensor(data["weights"][i]) * logprobs_of(model, data, i)).sum()
               for i in range(len(data["tokens"])))


@torch.no_grad()
def greedy_of(model, prompt):
    tokens = list(prompt)
    for _ in range(GREEDY):
        tokens.append(int(logits_of(model, tokens)[-1].argmax()))
    return tokens[len(prompt):]


class Report:
    def __init__(self):
        self.failed = 0

    def line(self, case, what, value, bar, good):
        self.failed += not good
        print(f'{"ok    " if good else "WRONG "} {case:34} {what:34} {value:<12} bar {bar}', flush=True)

    def near(self, case, what, have, want, bar, relative=False):
        gap = (have.reshape(want.shape).double() - want.double()).abs().max().item()
        if relative:
            gap /= max(want.abs().max().item(), 1e-30)
        self.line(case, what, f"{gap:.1e}", bar, gap <= bar)

    def same(self, case, what, have, want):
        equal = sum(a == b for a, b in zip(have, want))
        self.line(case, what, f"{equal} of {len(want)}", len(want), have == want)


def ask(program, work, request):
    path = work / "request.json"
    request["out"] = str(work / "out.safetensors")
    path.write_text(json.dumps(request))
    answer = subprocess.run([program, str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(answer), load_file(request["out"])


def compare_base(report, case, model, data, answer, tensors):
    with torch.no_grad():
        report.near(case, "logits", tensors["logits"], logits_of(model, data["tokens"][0]), LOGITS)
    report.same(case, "greedy tokens", answer["greedy"], greedy_of(model, data["tokens"][0][:8]))
    compare_scores(report, case, model, data, {key[6:]: value for key, value in tensors.items()
                                               if key.startswith("score.")})


@torch.no_grad()
def compare_scores(report, case, model, data, ours):
    """What a sample can ask about its prompt and its tokens, at temperature 0.7."""
    prompt, sampled = data["tokens"][0], ours["tokens"][0].long()
    logits = logits_of(model, prompt + sampled.tolist())
    plain, warm = torch.log_softmax(logits, -1), torch.log_softmax(logits / 0.7, -1)
    n = len(prompt)

    def pick(rows, ids):
        return rows.gather(1, ids.reshape(len(rows), -1))

    report.near(case, "prompt logprobs", ours["prompt"][0], pick(plain[:n - 1], torch.tensor(prompt[1:]))[:, 0], LOGITS)
    report.near(case, "logprobs of named tokens", ours["targets"][0],
                pick(plain[:n - 1], torch.tensor(data["target_tokens"][0][:n - 1]))[:, 0], LOGITS)
    report.near(case, "logprobs of draws", ours["alt_logprobs"], pick(plain[:n - 1], ours["alt_tokens"].long()), LOGITS)
    report.near(case, "logprobs of sampled tokens", ours["logprobs"][0], pick(warm[n - 1:-1], sampled)[:, 0], LOGITS)
    best = warm[n - 1:-1].topk(ours["top"].shape[1])
    report.near(case, "top-k of sampled tokens", ours["top"], best.values, LOGITS)
    report.near(case, "and its tokens", ours["top"], pick(warm[n - 1:-1], ours["top_ids"].long()), LOGITS)


def make_adapter(model, where, generator):
    import peft
    config = peft.LoraConfig(r=RANK, lora_alpha=32, target_modules=LEAVES, lora_dropout=0.0, bias="none",
                             task_type="CAUSAL_LM")
    lora = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, p in lora.named_parameters():
            if "lora_" in name:
                p.copy_(0.1 * torch.randn(p.shape, generator=generator) * p.shape[-1] ** -0.5)
    lora.save_pretrained(where, save_embedding_layers=False)
    return lora


def trained(lora):
    """Our name of each adapted weight -> its parameter."""
    return {name.removeprefix("base_model.model.").replace(".default.weight", ""): p
            for name, p in lora.named_parameters() if "lora_" in name}


def compare_gradients(report, case, lora, data, tensors):
    worst, name = 0.0, ""
    for key, p in trained(lora).items():
        have = tensors[f"grad.{key}"]
        gap = ((have - p.grad).abs().max() / p.grad.abs().max().clamp_min(1e-30)).item()
        worst, name = max((worst, name), (gap, key))
    report.line(case, "gradients, worst of a tensor", f"{worst:.1e}", GRADIENTS, worst <= GRADIENTS)


def adamw(parameters, adam):
    return torch.optim.AdamW(parameters, lr=adam["learning_rate"], betas=(adam["beta1"], adam["beta2"]),
                             eps=adam["eps"], weight_decay=adam["weight_decay"])


def train_theirs(report, case, lora, data, loss_of_data, optimizer, answer, tensors):
    with torch.no_grad():
        report.near(case, "logits with PEFT's adapter", tensors["lora_logits"],
                    logits_of(lora, data["tokens"][0]), LOGITS)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of_data(lora, data)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            for i in range(len(data["tokens"])):
                report.near(case, f"logprobs of datum {i}", tensors[f"logprobs.{i}"],
                            logprobs_of(lora, data, i).detach(), LOGITS)
            compare_gradients(report, case, lora, data, tensors)
        optimizer.step()
    report.near(case, "loss of ten steps", torch.tensor(answer["losses"]), torch.tensor(losses), 1e-3)


def compare_weights(report, case, lora, export):
    ours = load_file(str(export / "adapter_model.safetensors"))
    gap = max((ours[f"base_model.model.{key}.weight"] - p.detach()).abs().max().item()
              for key, p in trained(lora).items())
    report.line(case, "weights after ten steps", f"{gap:.1e}", WEIGHTS, gap <= WEIGHTS)


@torch.no_grad()
def make_gspo(lora, data, generator):
    """Ratios of the sequences of about 1.6, 1 and 0.6, beside bounds of 0.8 and 1.2, so that
    each side is clipped for one sign of the advantages. Not every token is in the ratio."""
    n = len(data["tokens"])
    sampled, advantages, masks = [], [], []
    for i in range(n):
        own = logprobs_of(lora, data, i)
        sampled.append((own - (0.5, 0.0, -0.5)[i % 3] + 0.1 * torch.randn(own.shape, generator=generator)).tolist())
        advantages.append(torch.randn(own.shape, generator=generator).tolist())
        masks.append([1.0, *(torch.rand(len(own) - 1, generator=generator) < 0.7).float().tolist()])
        advantages[-1][len(own) // 2] = 0.0
    return {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2, "logprobs": sampled,
            "advantages": advantages, "sequence_ratio_mask": masks}


def gspo_of(gspo):
    def loss(model, data):
        return sum(engine_reference.gspo_loss(
            logprobs_of(model, data, i), torch.tensor(gspo["logprobs"][i]), torch.tensor(gspo["advantages"][i]),
            torch.tensor(gspo["sequence_ratio_mask"][i]), gspo["clip_low_threshold"], gspo["clip_high_threshold"])
            for i in range(len(data["tokens"])))
    return loss


def compare_training(report, options, work, case, load, request, kind):
    """Ten steps from PEFT's adapter, with `kind`: AdamW on GSPO, or Dimuon."""
    import peft
    lora = peft.PeftModel.from_pretrained(load(), request["adapter"], is_trainable=True).eval()
    request = {key: value for key, value in request.items() if key not in ("greedy", "adam")}
    parameters = list(trained(lora).values())
    if kind == "gspo":
        request.update(adam=ADAM_TRAINED, gspo=make_gspo(lora, request, torch.Generator().manual_seed(11)))
        optimizer, loss = adamw(parameters, ADAM_TRAINED), gspo_of(request["gspo"])
    else:
        request.update(dimuon=DIMUON)
        optimizer, loss = engine_reference.Dimuon(parameters, RANK, **DIMUON), loss_of
    request["export"] = str(work / kind)
    answer, tensors = ask(options.program, work, request)
    case = f"{case}, {kind}"
    train_theirs(report, case, lora, request, loss, optimizer, answer, tensors)
    compare_weights(report, case, lora, work / kind)
    if kind == "dimuon":
        gap = max(engine_reference.muon_gap(tensors[f"grad.{key}"]) for key in trained(lora))
        report.line(case, "reference against torch's Muon", f"{gap:.1e}", round(BFLOAT16, 3), gap <= BFLOAT16)


def compare_export(report, case, lora, load, data, tensors, export):
    import peft
    compare_weights(report, case, lora, export)
    mine = peft.PeftModel.from_pretrained(load(), str(export)).eval()
    with torch.no_grad():
        report.near(case, "logits of our adapter in PEFT", tensors["trained_logits"],
                    logits_of(mine, data["tokens"][0]), LOGITS)
    return mine


def run_case(report, options, case, directory, cls, adam):
    """`directory` holds a saved model; with `adam`, its settings, PEFT takes part."""
    work = options.work / case.replace(",", "").replace(" ", "-")
    work.mkdir(parents=True, exist_ok=True)
    kind = {"dtype": torch.float32} if NEW else {"torch_dtype": torch.float32}

    def load():
        return cls.from_pretrained(str(directory), attn_implementation="eager", **kind).eval()
    model = load()
    generator = torch.Generator().manual_seed(7)
    data = make_data(model.config.vocab_size, generator)
    request = {**data, "model": str(directory), "threads": 2, "greedy": GREEDY, "adapter": None}
    if adam is None:
        answer, tensors = ask(options.program, work, request)
        compare_base(report, case, model, data, answer, tensors)
        with torch.no_grad():
            for i in range(len(data["tokens"])):
                report.near(case, f"logprobs of datum {i}", tensors[f"logprobs.{i}"],
                            logprobs_of(model, data, i), LOGITS)
        return
    lora = make_adapter(load(), work / "peft", generator).eval()
    request.update(adapter=str(work / "peft"), steps=STEPS, adam=adam, export=str(work / "ours"))
    answer, tensors = ask(options.program, work, request)
    compare_base(report, case, model, data, answer, tensors)
    train_theirs(report, case, lora, data, loss_of, adamw(trained(lora).values(), adam), answer, tensors)
    mine = compare_export(report, case, lora, load, data, tensors, work / "ours")
    report.same(case, "greedy tokens with the adapter", answer["greedy_lora"],
                greedy_of(mine, data["tokens"][0][:8]))
    for what in ("gspo", "dimuon"):
        compare_training(report, options, work, case, load, request, what)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("work", type=pathlib.Path)
    arguments.add_argument("--base-only", action="store_true")
    arguments.add_argument("--pebble")
    arguments.add_argument("--only", default="", help="part of the name of a model")
    options = arguments.parse_args()
    torch.set_num_threads(2)
    transformers.utils.logging.disable_progress_bar()
    report = Report()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}", flush=True)
    for seed, (case, cls, config, members, kind) in enumerate(cases()):
        if options.only not in case:
            continue
        torch.manual_seed(seed)
        model = cls(config(max_position_embeddings=256, **members))
        randomise(model, torch.Generator().manual_seed(seed))
        directory = options.work / f"model-{seed}"
        model.to(kind).save_pretrained(str(directory))
        run_case(report, options, case, directory, cls, None if options.base_only else ADAM)
    if options.pebble:
        run_case(report, options, "pebble-llama-2m", pathlib.Path(options.pebble),
                 transformers.LlamaForCausalLM, None if options.base_only else ADAM_TRAINED)
    print(f"{report.failed} differences", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
