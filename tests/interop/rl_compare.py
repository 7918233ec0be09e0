"""`tinkc rl` beside the cookbook's math_rl on the same server.

    rl_compare.py TINKC HOME

HOME is what cookbook_data.py wrote. Prints a row for each run. Ends with 1 when the rewards are
apart by more than the runs of either side are, when our client takes more than a fifth of the
CPU time, or when the gap that tinkc reports is not the one computed here.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy
import tinker
from tinker import types

HERE = Path(__file__).resolve().parent
TINKC, HOME = sys.argv[1], Path(sys.argv[2])
MODEL = "Qwen/Qwen3.5-9B"
STEPS, BATCH, GROUP = 15, 32, 8
SEEDS = 1, 2, 3
LAST = 3  # steps whose mean is compared
FLOOR = 0.02  # three runs may be closer to each other by chance
CPU_BAR = 5
GAP_BAR = 2e-5


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def questions():
    """Those of ArithmeticDataset, as tasks."""
    rng = numpy.random.RandomState(None)
    example = [{"role": "user", "content": "What is 4 + 5?"}, {"role": "assistant", "content": "9"}]
    for step in range(STEPS):
        rng.seed(step)
        for _ in range(BATCH):
            x, y = rng.randint(0, 101), rng.randint(0, 101)
            yield {"messages": [*example, {"role": "user", "content": f"What is {x} + {y}?"}],
                   "answer": int(x + y)}


def run(words, log):
    """Runs a program to its end; returns wall and CPU seconds of it and its children."""
    began = time.monotonic()
    with log.open("ab") as out:
        process = subprocess.Popen([str(word) for word in words], cwd=HOME, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    # the SDK's HTTP library sometimes aborts while the interpreter ends, after all work
    if process.returncode != 0 and not (process.returncode == -6 and "ompleted" in text[-2000:]):
        sys.exit(f"{words[0]} ended with {process.returncode}\n{text[-2000:]}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewards_of(path, key):
    return [row[key] for row in rows_of(path) if key in row]


def report(who, seed, rewards, wall, cpu):
    first, last = (statistics.mean(part) for part in (rewards[:LAST], rewards[-LAST:]))
    print(f"  {who:9} run {seed}  reward {first:6.3f} -> {last:6.3f}   {len(rewards) * BATCH * GROUP} episodes  "
          f"{wall:5.1f} s  client CPU {cpu:5.2f} s", flush=True)
    return last, wall, cpu


def cookbook(seed, start):
    log = HOME / f"cookbook-{seed}"
    wall, cpu = run([sys.executable, "-W", "ignore", HERE / "cookbook_recipe.py",
                     "tinker_cookbook.recipes.math_rl.train", f"model_name={MODEL}",
                     "renderer_name=tinkc/pebble", "env=arithmetic", f"group_size={GROUP}",
                     f"groups_per_batch={BATCH}", f"load_checkpoint_path={start}", "learning_rate=1e-3",
                     "eval_every=0", "save_every=0", f"max_steps={STEPS}", f"log_path={log}"],
                    Path(f"{log}.out"))
    return report("cookbook", seed, rewards_of(log / "metrics.jsonl", "env/all/reward/total"), wall, cpu)


def ours(seed, start, *more, name="tinkc"):
    """The reward of the recipe: 1 for the right number, less 0.1 for an answer that does not end."""
    log = HOME / f"{name}-{seed}"
    wall, cpu = run([TINKC, "rl", "--tasks", HOME / "sums.jsonl", "--match", "number", "--cut-off", "-0.1",
                     "--max-tokens", 5, "-m", MODEL, "--load", start, "--steps", STEPS, "--batch", BATCH,
                     "--group", GROUP, "--lr", "1e-3", "--concurrency", BATCH * GROUP, "--save-every", 0,
                     "--seed", seed, "--save", f"{name}-{seed}", "--out", log, *more], Path(f"{log}.out"))
    return report("tinkc rl", seed, rewards_of(log / "metrics.jsonl", "reward/mean"), wall, cpu)


def compare(start):
    both = [[each(seed, start) for seed in SEEDS] for each in (cookbook, ours)]
    theirs, mine = ([row[0] for row in side] for side in both)
    apart = abs(statistics.mean(theirs) - statistics.mean(mine))
    noise = math.sqrt(statistics.variance(theirs) / len(theirs) + statistics.variance(mine) / len(mine))
    wall, cpu = (sum(row[i] for row in both[0]) / sum(row[i] for row in both[1]) for i in (1, 2))
    print(f"  rewards {apart:.3f} apart, noise of the means {noise:.3f}; the cookbook takes {wall:.1f} times the "
          f"wall time and {cpu:.1f} times the client's CPU time (bar {CPU_BAR})")
    return apart <= max(3 * noise, FLOOR) and cpu >= CPU_BAR


def kept(episodes):
    """The sequences of the groups whose rewards differ, from the rollouts of a step."""
    groups = {}
    for episode in episodes:
        groups.setdefault(episode["episode"].split("-")[1], []).append(episode)
    return [sequence for group in groups.values() if len({e["reward"] for e in group}) > 1
            for episode in group for sequence in episode["sequences"]]


def gap_of(client, sequences):
    """Mean and largest difference of log-probabilities, and the sampler's entropy."""
    data = [types.Datum(model_input=types.ModelInput.from_ints(s["tokens"][:-1]),
                        loss_fn_inputs={"target_tokens": s["tokens"][1:],
                                        "weights": [1.0] * (len(s["tokens"]) - 1)}) for s in sequences]
    outputs = client.forward(data, "cross_entropy").result().loss_fn_outputs
    pairs = [(s["logprobs"][i], out["logprobs"].tolist()[i - 1]) for s, out in zip(sequences, outputs)
             for i in range(1, len(s["tokens"])) if s["mask"][i]]
    return {"gap/abs": statistics.fmean(abs(t - s) for s, t in pairs),
            "gap/kl": statistics.fmean(s - t for s, t in pairs),
            "gap/max": max(abs(t - s) for s, t in pairs),
            "entropy": statistics.fmean(-s for s, _ in pairs), "gap/tokens": len(pairs)}


def check_gap(start):
    """Overlapped, so that sampler and trainer differ; the weights that were trained are kept."""
    ours(1, start, "--steps", 4, "--overlap", "--save-every", 1, "--keep", "--rollouts", 100000,
         "--tokens", name="gap")
    service = tinker.ServiceClient()
    log = HOME / "gap-1"
    rollouts = rows_of(log / "rollouts.jsonl")
    path = json.loads((log / "state.json").read_text())["checkpoint"].rsplit("/", 1)[0]
    good = True
    for row in rows_of(log / "metrics.jsonl"):
        before = start if row["step"] == 1 else f"{path}/gap-1-{row['step'] - 1:06}"
        client = service.create_training_client_from_state(before)
        mine = gap_of(client, kept([e for e in rollouts if e["step"] == row["step"]]))
        worst = max(abs(mine[key] - row[key]) for key in mine)
        good = good and worst <= GAP_BAR
        print(f"  step {row['step']}, lag {row['lag']:.0f}: mean gap {row['gap/abs']:.6f}, largest {row['gap/max']:.6f}, "
              f"entropy {row['entropy']:.6f} over {row['gap/tokens']} tokens; computed again {worst:.1e} apart", flush=True)
    return good


def main():
    write(HOME / "sums.jsonl", questions())
    run([TINKC, "train", HOME / "warm.jsonl", "-m", MODEL, "--batch", 64, "--lr", "5e-3", "--steps", 20, "--save",
         "warm", "--seed", 1, "--skip-bad"], HOME / "warm.out")
    listed = subprocess.run([TINKC, "--format", "json", "checkpoint", "list"], check=True, capture_output=True,
                            text=True).stdout
    start = next(word for word in listed.split('"') if word.endswith("/weights/warm"))
    good = compare(start)
    good = check_gap(start) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
