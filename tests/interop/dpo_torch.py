"""One step of `tinkc dpo` and of `tinkc distill`, computed directly.

    dpo_torch.py dpo MODEL START BEFORE AFTER PAIRS BETA METRICS
    dpo_torch.py distill MODEL STUDENT TEACHER AFTER ANSWERS QUESTION COEFFICIENT METRICS
    dpo_torch.py seed RUN TASK EPISODE TURN          the seed of <tinkc/rl.h>, from its formula
    dpo_torch.py better RESULT KEY BAR above|below WORDS

START, BEFORE, AFTER, STUDENT and TEACHER are directories of checkpoints: a PEFT adapter, and
AdamW's averages of the gradients. A step makes the average 0.9 of what it was plus 0.1 of the
gradient, so two of them give the gradient that the program's step had; it is compared with
autograd's, matrix by matrix. Everything else is computed here: tokens by transformers, from the
chat template; log-probabilities by PEFT in float32; the losses from their definitions. METRICS is
the file of the run, of which the last step is looked at. Ends with 1 when a bar is missed.
"""
import json
import math
import pathlib
import sys
import tempfile

BETA1 = 0.9
GRADIENTS, METRICS = 1e-3, 1e-4
LEAVES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"]


def peft_name(name):
    """What PEFT calls the matrix that the server trains before the softmax."""
    return name.replace("model.unembed_tokens.", "lm_head.")


def copy_adapter(adapter, to):
    """The same adapter, with PEFT's name for that matrix."""
    from safetensors.torch import load_file, save_file
    config = json.loads((pathlib.Path(adapter) / "adapter_config.json").read_text())
    config["target_modules"] = LEAVES
    (pathlib.Path(to) / "adapter_config.json").write_text(json.dumps(config))
    tensors = load_file(str(pathlib.Path(adapter) / "adapter_model.safetensors"))
    save_file({peft_name(name): t for name, t in tensors.items()},
              str(pathlib.Path(to) / "adapter_model.safetensors"))


def load(directory, adapter, trained):
    import peft
    import torch
    import transformers
    transformers.utils.logging.disable_progress_bar()
    base = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager")
    with tempfile.TemporaryDirectory() as copy:
        copy_adapter(adapter, copy)
        return peft.PeftModel.from_pretrained(base, copy, is_trainable=trained).eval()


def logprobs(model, prompt, answer):
    """Of the tokens of an answer."""
    import torch
    rows = model(input_ids=torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
    return rows[len(prompt) - 1:-1].gather(1, torch.tensor(answer)[:, None])[:, 0]


def averages(checkpoint):
    """The averages of the gradients, by the names of PEFT's parameters."""
    from safetensors.torch import load_file
    path = pathlib.Path(checkpoint) / "optimizer.safetensors"
    end = ".exp_avg"
    return {peft_name(name[:-len(end)]): t.double() for name, t in load_file(str(path)).items()
            if name.endswith(end)}


def compare_gradients(label, model, before, after):
    """before: averages before the step, or None at the first one."""
    ours, worst, total, compared = averages(after), 0.0, [0.0, 0.0], 0
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        key = name.replace(".default.", ".")
        earlier = before[key] if before else 0.0
        got = (ours.pop(key) - BETA1 * earlier) / (1 - BETA1)
        want = parameter.grad.double()
        away, size = (got - want).norm().item(), want.norm().item()
        if size == 0:
            sys.exit(f"{name} has no gradient")
        worst = max(worst, away / size)
        total = [total[0] + away ** 2, total[1] + size ** 2]
        compared += 1
    if ours or compared == 0:
        sys.exit(f"not compared: {sorted(ours)[:3]}")
    print(f"{label}: gradients of {compared} matrices: {math.sqrt(total[0] / total[1]):.1e} apart, "
          f"the worst {worst:.1e} (bar {GRADIENTS:.0e})")
    return worst < GRADIENTS


def compare_metrics(label, path, wanted):
    lines = [json.loads(line) for line in open(path)]
    last = [line for line in lines if "tokens" in line][-1]
    away = {key: abs(last[key] - value) / max(1.0, abs(value)) for key, value in wanted.items()}
    print(f"{label}: " + ", ".join(f"{key} {last[key]:.6f} / {value:.6f}"
                                   for key, value in wanted.items()))
    return max(away.values()) < METRICS


def template_tokens(tokenizer, messages, begins):
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=begins)
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def dpo(directory, start, before, after, pairs, beta, metrics):
    import torch
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    policy, reference = load(directory, before, True), load(directory, start, False)
    losses, margins, rewards = [], [], {"chosen": [], "rejected": []}
    for line in open(pairs):
        pair = json.loads(line)
        prompt = template_tokens(tokenizer, pair["prompt"], True)
        reward = {}
        for side in rewards:
            whole = template_tokens(tokenizer, pair["prompt"] + pair[side], False)
            if whole[:len(prompt)] != prompt:
                sys.exit("the template does not continue the prompt")
            answer = whole[len(prompt):]
            with torch.no_grad():
                known = logprobs(reference, prompt, answer).double().sum()
            reward[side] = float(beta) * (logprobs(policy, prompt, answer).double().sum() - known)
            rewards[side].append(reward[side].item())
        margins.append(reward["chosen"] - reward["rejected"])
        losses.append(-torch.nn.functional.logsigmoid(margins[-1]))
    loss = torch.stack(losses).mean()
    loss.backward()
    n = len(margins)
    wanted = {"loss": loss.item(), "margin": sum(m.item() for m in margins) / n,
              "accuracy": sum(m.item() > 0 for m in margins) / n,
              "chosen_reward": sum(rewards["chosen"]) / n,
              "rejected_reward": sum(rewards["rejected"]) / n}
    good = compare_metrics("dpo, tinkc / torch", metrics, wanted)
    return compare_gradients("dpo", policy, averages(before), after) and good


def distill(directory, student, teacher, after, answers, question, coefficient, metrics):
    import torch
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    policy, judge = load(directory, student, True), load(directory, teacher, False)
    prompt = template_tokens(tokenizer, [{"role": "user", "content": question}], True)
    answers = [s["tokens"] for s in json.load(open(answers))["sequences"]]
    loss, kl, entropy = 0.0, 0.0, 0.0
    for answer in answers:
        own = logprobs(policy, prompt, answer)
        with torch.no_grad():
            theirs, sampled = logprobs(judge, prompt, answer), own.detach()
            advantages = -float(coefficient) * (sampled - theirs)
            kl += (sampled - theirs).double().sum().item()
            entropy -= sampled.double().sum().item()
        loss = loss - (torch.exp(own - sampled) * advantages).sum()
    loss.backward()
    tokens = sum(map(len, answers))
    wanted = {"kl": kl / tokens, "entropy": entropy / tokens, "length": tokens / len(answers)}
    good = compare_metrics("distill, tinkc / torch", metrics, wanted)
    return compare_gradients("distill", policy, None, after) and good


def seed(*numbers):
    mask, h = 2 ** 64 - 1, 0
    for value in numbers:
        h = (h + int(value) + 0x9e3779b97f4a7c15) & mask
        h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9 & mask
        h = (h ^ h >> 27) * 0x94d049bb133111eb & mask
        h ^= h >> 31
    print(h >> 34)
    return True


def better(path, key, bar, side, words):
    """above: the last value is at least the bar; below: at most that share of the first."""
    result = json.load(open(path))
    first, last = result[key + "_first"], result[key + "_last"]
    print(f"{words}: {first:.4f} before, {last:.4f} after")
    return last >= float(bar) if side == "above" else last <= float(bar) * first


sys.exit(0 if {"dpo": dpo, "distill": distill, "seed": seed,
               "better": better}[sys.argv[1]](*sys.argv[2:]) else 1)
