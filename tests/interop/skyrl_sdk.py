"""The work of interop_peer.c with the official SDK, to compare the CPU time of the clients.

    skyrl_sdk.py steps|samples MODEL DATA N

Prints what was done, the CPU time since the imports, and that of the whole process.
"""
import resource
import sys

import tinker
from tinker import types

BATCH = 4


def cpu_seconds():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def make_datum(prompt, tokens):
    count = len(tokens) - prompt
    weights = [0.0] * (prompt - 1) + [1.0 / count] * count
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]),
                       loss_fn_inputs={"target_tokens": tokens[1:], "weights": weights})


def steps(service, model, lines, n):
    training = service.create_lora_training_client(base_model=model, rank=8, seed=5, train_unembed=False)
    losses = []
    for i in range(n):
        data = [make_datum(*lines[(i * BATCH + k) % len(lines)]) for k in range(BATCH)]
        passed = training.forward_backward(data, "cross_entropy")
        stepped = training.optim_step(types.AdamParams(learning_rate=1e-3))
        result = passed.result()
        stepped.result()
        losses.append(-sum(weight * logprob for datum, output in zip(data, result.loss_fn_outputs)
                           for weight, logprob in zip(datum.loss_fn_inputs["weights"].data,
                                                      output["logprobs"].data)) / BATCH)
    assert losses[-1] < losses[0], losses


def samples(service, model, lines, n):
    sampling = service.create_sampling_client(base_model=model)
    prompt, tokens = lines[0]
    futures = [sampling.sample(types.ModelInput.from_ints(tokens[:prompt]), num_samples=1,
                               sampling_params=types.SamplingParams(max_tokens=5, seed=i))
               for i in range(n)]
    assert all(future.result().sequences[0].tokens for future in futures)


if __name__ == "__main__":
    began = cpu_seconds()
    what, model, path, n = sys.argv[1:]
    numbers = [[int(word) for word in line.split()] for line in open(path)]
    lines = [(row[0], row[1:]) for row in numbers]
    {"steps": steps, "samples": samples}[what](tinker.ServiceClient(), model, lines, int(n))
    print(what, "%.3f %.3f" % (cpu_seconds() - began, cpu_seconds()), flush=True)
