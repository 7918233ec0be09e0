"""lm-eval through `tinkc serve` and `tinkc gateway` against lm-eval on transformers.

    lmeval_compare.py PROGRAM WORK

The same tasks (multiple choice, rolling perplexity, text until a stop; from files that are made
here) on the same models, which transformers makes and saves: by lm-eval's "hf" and, over
/v1/completions with echo and log-probabilities, by its "local-completions". Every response is
compared: log-probabilities to four decimals, whether the text is the greedy one, greedy texts.
"""
import json
import logging
import pathlib
import random
import sys

import lm_eval
import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalCompletionsAPI
from lm_eval.tasks import TaskManager
from transformers import logging as transformers_logging

import agents_model
import engine_compare
from gateway_model import make_tokenizer

BAR, CONTEXT, DOCS = 1e-4, 512, 30
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: {kind}
doc_to_text: "{{{{context}}}}"
doc_to_target: {target}
{more}
metadata: {{version: 1}}
"""
KINDS = {
    "choices": ("multiple_choice", "answer", 'doc_to_choice: choices\nmetric_list: [{metric: acc}]'),
    "rolling": ("loglikelihood_rolling", '"{{text}}"', "metric_list: [{metric: word_perplexity}]"),
    "until": ("generate_until", '"{{text}}"',
              'generation_kwargs: {until: ["\\n", " the"], max_gen_toks: 24, do_sample: false, temperature: 0.0}\n'
              "metric_list: [{metric: exact_match}]"),
}
logging.disable(logging.WARNING)
transformers_logging.disable_progress_bar()


def make_tasks(work, text):
    """Documents of words of our own pages, with characters of several bytes between them."""
    rng, words = random.Random(5), text.split()

    def some(low, high):
        at = rng.randrange(len(words) - high)
        return " ".join(words[at:at + rng.randint(low, high)])

    rows = [{"context": some(3, 20) + rng.choice(["", " ü€🙂", ":"]), "text": some(10, 60),
             "choices": [" " + some(1, 6) for _ in range(4)], "answer": rng.randrange(4)}
            for _ in range(DOCS)]
    data = work / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, (kind, target, more) in KINDS.items():
        (work / f"{name}.yaml").write_text(
            TASK.format(name=name, data=data, kind=kind, target=target, more=more))


def make_models(work, text):
    """The tiny models of the engine's suite: names, directories, and those of their tokenizers, which
    stand alone because transformers takes another class where there is a model beside them."""
    generator = torch.Generator().manual_seed(3)
    for name, kind, config, members, dtype in engine_compare.cases():
        if not name.startswith("tiny"):
            continue
        path = work / name.replace(" ", "-").replace(",", "")
        beside = path.with_suffix(".tok")
        beside.mkdir()
        tok, end = make_tokenizer("", text, 700)
        ids = {"bos_token_id": tok.token_to_id("<s>"), "eos_token_id": tok.token_to_id(end)}
        members = {**members, "vocab_size": tok.get_vocab_size(), "max_position_embeddings": CONTEXT}
        model = kind(config(**members, **ids)).eval()
        engine_compare.randomise(model, generator)
        model.to(dtype).save_pretrained(path)
        for directory in (path, beside):
            tok.save(str(directory / "tokenizer.json"))
            (directory / "tokenizer_config.json").write_text(json.dumps(
                {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": end}))
        yield path.name, path, beside
    pebble = pathlib.Path("models/pebble-llama-2m")
    yield "tinkc/pebble-llama-2m", pebble, pebble


def responses(lm, manager):
    """Every response of every task, in order."""
    found = lm_eval.simple_evaluate(lm, tasks=list(KINDS), task_manager=manager, batch_size=1,
                                    bootstrap_iters=0, log_samples=True)["samples"]
    out = {}
    for task, samples in found.items():
        samples.sort(key=lambda s: s["doc_id"])
        out[task] = [answer for s in samples for row in s["resps"] for answer in row]
    return out


def compare(have, want):
    """(What there is, what differs). The sum of a long text is one float32 of -1,000 in lm-eval on
    transformers, which keeps no four decimals: the bar of rolling is for each 100 of it."""
    counts, wrong, gap = [], [], {"choices": 0.0, "rolling": 0.0}
    for task in KINDS:
        a, b = have[task], want[task]
        if len(a) != len(b):
            wrong.append(f"{task}: {len(a)} responses, not {len(b)}")
        for x, y in zip(a, b):
            if task == "until":
                if x != y:
                    wrong.append(f"until: {x!r}, not {y!r}")
                continue
            (p, *rest_p), (q, *rest_q) = ([v] if isinstance(v, float) else list(v) for v in (x, y))
            difference = abs(p - q) / (max(1, abs(q) / 100) if task == "rolling" else 1)
            gap[task] = max(gap[task], difference)
            if difference > BAR or (task == "choices" and rest_p != rest_q):
                wrong.append(f"{task}: {x}, not {y}")
        counts.append(f"{len(b)} {task}")
    gaps = ", ".join(f"{g:.1e} in {task}" for task, g in gap.items())
    return f"{', '.join(counts)}; largest difference {gaps} (bar {BAR})", wrong


def main():
    program, work = sys.argv[1], pathlib.Path(sys.argv[2]) / "lmeval"
    work.mkdir()
    text = "\n".join(p.read_text() for p in sorted(pathlib.Path("docs/guide").glob("*.md")))
    make_tasks(work, text)
    models = list(make_models(work, text))
    manager = TaskManager(include_path=str(work), include_defaults=False)
    server, url = agents_model.start(program, "serve", "--port", "0", "--data", str(work / "data"),
                                     *[str(path) for _, path, _ in models[:-1]])
    gateway, front = agents_model.start_gateway(program, work / "episodes", url, "-m", models[0][0])
    failed = 0
    try:
        for name, path, beside in models:
            want = responses(HFLM(pretrained=str(path), tokenizer=str(beside), device="cpu", dtype="float32",
                                  batch_size=1, max_length=CONTEXT), manager)
            for where, base in (("serve", url), ("gateway", front)):
                lm = LocalCompletionsAPI(base_url=base + "/v1/completions", model=name, tokenizer=str(beside),
                                         tokenizer_backend="huggingface", max_length=CONTEXT, max_retries=1)
                line, wrong = compare(responses(lm, manager), want)
                failed += len(wrong)
                print(f"{'WRONG' if wrong else 'ok   '} {name}, {where}: {line}", flush=True)
                for each in wrong[:5]:
                    print("      " + each, flush=True)
    finally:
        for process in (gateway, server):
            process.terminate()
            failed += process.wait(60) != 0
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
