"""An adapter of PEFT for the model of DIR, and what came back of it.

    external_peft.py make MODEL ADAPTER ALPHA               trains it a little and saves it
    external_peft.py compare MODEL ADAPTER BACK SAMPLED     tensors and greedy tokens are the same

BACK is the directory that was downloaded after an upload, SAMPLED holds the tokens that the
server drew with temperature 0 after the prompt 5 6 7 8, and on a second line the log-probabilities
of that prompt. Tensors are equal bit by bit where alpha is the server's (32); else B times alpha is,
but for the rounding of one product. Ends with 1 on a difference.
"""
import json
import pathlib
import sys

import peft
import torch
import transformers
from safetensors.torch import load_file

PROMPT = [5, 6, 7, 8]
LEAVES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def base(directory):
    return transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager")


def make(directory, adapter, alpha):
    torch.manual_seed(7)
    config = peft.LoraConfig(r=4, lora_alpha=int(alpha), target_modules=LEAVES, lora_dropout=0.0,
                             bias="none", task_type="CAUSAL_LM")
    model = peft.get_peft_model(base(directory), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    tokens = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]])
    for _ in range(20):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(adapter, safe_serialization=True)


def alpha_of(directory):
    return json.loads((pathlib.Path(directory) / "adapter_config.json").read_text())["lora_alpha"]


def is_same(name, sent, got, factor):
    """B came back with the factor that the change of alpha takes out again."""
    if factor == 1 or ".lora_B." not in name:
        return torch.equal(sent, got)
    return torch.allclose(sent * factor, got, rtol=2e-7, atol=0)


def compare(directory, adapter, back, sampled):
    sent = load_file(str(pathlib.Path(adapter) / "adapter_model.safetensors"))
    got = load_file(str(pathlib.Path(back) / "adapter_model.safetensors"))
    if sorted(sent) != sorted(got):
        print("names differ:", sorted(set(sent) ^ set(got))[:4])
        return False
    factor = alpha_of(adapter) / alpha_of(back)
    for name, tensor in sent.items():
        if not is_same(name, tensor.float(), got[name].float(), factor):
            print(f"{name} differs")
            return False
    model = peft.PeftModel.from_pretrained(base(directory), adapter).eval()
    lines = pathlib.Path(sampled).read_text().splitlines()
    drawn = [int(t) for t in lines[0].split()]
    scores = torch.tensor([float(t) for t in lines[1].split()])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([PROMPT])).logits[0, :-1]
        expected = logits.log_softmax(-1).gather(1, torch.tensor(PROMPT[1:])[:, None])[:, 0]
        out = model.generate(input_ids=torch.tensor([PROMPT]), max_new_tokens=len(drawn),
                             do_sample=False)
    if not torch.allclose(scores, expected, rtol=0, atol=2e-4):
        print(f"the server computes {scores.tolist()}, PEFT {expected.tolist()}")
        return False
    want = out[0, len(PROMPT):].tolist()
    if drawn[:len(want)] != want:
        print(f"the server drew {drawn}, PEFT {want}")
        return False
    return True


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:])
    else:
        sys.exit(0 if compare(*sys.argv[2:]) else 1)
