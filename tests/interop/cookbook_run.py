"""Runs recipes of the official cookbook against a server and judges their curves.

    cookbook_run.py URL SERVER_PID HOME

HOME is what cookbook_data.py wrote, and gets the recipes' logs. Prints a row per recipe: first
and last value of its curve, wall time, CPU time of the server and of the recipe. Ends with 1
when a curve goes the wrong way, a recipe fails or takes too long, or the server answered 5xx.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
URL, SERVER, HOME = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
LIMIT = 900  # seconds that a recipe may take
RECIPES = "tinker_cookbook.recipes."
PEBBLE = "renderer_name=tinkc/pebble"


def metrics():
    """The server's counters by name."""
    with urllib.request.urlopen(URL + "/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {key: float(value) for key, value in
            (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def server_cpu():
    fields = Path(f"/proc/{SERVER}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_memory():
    for line in Path(f"/proc/{SERVER}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0


class Failure(Exception):
    pass


class Recipe:
    """One recipe: its process, its log directory, its costs."""

    def __init__(self, name, module, *arguments):
        self.name, self.module, self.arguments = name, module, arguments
        self.log = HOME / "logs" / name.replace(" ", "-")
        self.wall = self.client = 0.0
        self.server = -server_cpu()

    def rows(self, metric):
        """The values of a metric by step, in the order in which they were written."""
        path = self.log / "metrics.jsonl"
        if not path.exists():
            return []
        rows = [json.loads(line) for line in path.read_text().splitlines(keepends=True)
                if line.endswith("\n")]
        return [(row["step"], row[metric]) for row in rows if metric in row]

    def checkpoint(self, key):
        lines = (self.log / "checkpoints.jsonl").read_text().splitlines()
        return json.loads(lines[-1])[key]

    def run(self, *more, kill_when=None):
        """Runs it to its end, or until kill_when() is true, then kills it; never for longer
        than the limit."""
        self.log.parent.mkdir(exist_ok=True)
        output = Path(f"{self.log}.out")
        began = time.monotonic()
        with output.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", HERE / "cookbook_recipe.py", self.module,
                 *self.arguments, *more, f"log_path={self.log}"], cwd=HOME, stdout=out,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, process_group=0)
        killed = late = False
        pid = 0
        while pid == 0:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            late = time.monotonic() - began > LIMIT
            if pid == 0 and not killed and (late or (kill_when is not None and kill_when())):
                os.killpg(process.pid, signal.SIGKILL)
                killed = True
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall += time.monotonic() - began
        self.client += usage.ru_utime + usage.ru_stime
        wanted = -signal.SIGKILL if kill_when is not None else 0
        # The SDK's HTTP library (pyqwest) sometimes aborts while the interpreter ends, after all.
        is_over = process.returncode == -signal.SIGABRT and (
            "ompleted" in output.read_text(errors="replace")[-2000:])
        if late or (process.returncode != wanted and not is_over):
            tail = "\n".join(output.read_text(errors="replace").splitlines()[-15:])
            what = f"took more than {LIMIT} s" if late else f"ended with {process.returncode}"
            raise Failure(f"{self.name}: {what}\n{tail}")

    def judge(self, metric, direction, mean_of=1):
        """Prints the row; compares the means of the first and the last steps."""
        values = [value for _, value in self.rows(metric)]
        if len(values) < 2 * mean_of:
            raise Failure(f"{self.name}: {len(values)} values of {metric}")
        first, last = (sum(part) / mean_of for part in (values[:mean_of], values[-mean_of:]))
        print(f"  {self.name:22} {metric:24} {first:8.3f} -> {last:8.3f}   {len(values):3} steps  "
              f"{self.wall:6.1f} s  server {self.server + server_cpu():6.1f} s  "
              f"client {self.client:5.1f} s", flush=True)
        if not (last > first if direction == "rises" else last < first):
            raise Failure(f"{self.name}: {metric} should go the other way: {values}")


def supervised():
    recipe = Recipe("sl_basic", RECIPES + "sl_basic", "learning_rate=1e-2")
    recipe.run()
    recipe.judge("train_mean_nll", "falls")


def arithmetic(start):
    recipe = Recipe("math_rl arithmetic", RECIPES + "math_rl.train", "model_name=Qwen/Qwen3.5-9B",
                    PEBBLE, "env=arithmetic", "group_size=8", "groups_per_batch=32",
                    "load_checkpoint_path=" + start.checkpoint("state_path"),
                    "learning_rate=1e-3", "eval_every=0", "save_every=0", "max_steps=15")
    recipe.run()
    recipe.judge("env/all/reward/total", "rises", 3)


def resumed():
    """A run that is killed and started again repeats the steps since its last checkpoint with
    the same losses, then goes on."""
    recipe = Recipe("sl_loop, kill, resume", RECIPES + "sl_loop", "learning_rate=1e-2",
                    "batch_size=64", "save_every=5", "max_steps=15")
    metric = "train_mean_nll"
    recipe.run(kill_when=lambda: any(step >= 8 for step, _ in recipe.rows(metric)))
    saved = recipe.checkpoint("batch")
    recipe.run()
    values = {}
    for step, value in recipe.rows(metric):
        values.setdefault(step, []).append(value)
    recipe.judge(metric, "falls")
    twice = {step: pair for step, pair in values.items() if len(pair) == 2}
    apart = max((abs(a - b) for a, b in twice.values()), default=None)
    print(f"    killed after step {max(twice, default=None)}, went on from step {saved}; steps "
          f"{sorted(twice)} ran twice, their losses are {apart} apart", flush=True)
    if len(twice) < 2 or min(twice) != saved or apart > 1e-6 or sorted(values) != list(range(15)):
        raise Failure(f"{recipe.name}: {values}")


def warm_start():
    """Where the recipes below start: sums with long and short answers, guesses in two forms."""
    recipe = Recipe("chat_sl", RECIPES + "chat_sl.train", "dataset=warm.jsonl", PEBBLE,
                    "batch_size=64", "learning_rate=5e-3", "max_length=512", "eval_every=0")
    recipe.run()
    recipe.judge("train_mean_nll", "falls")
    return recipe


def guess_number(start):
    recipe = Recipe("guess_number", RECIPES + "multiplayer_rl.guess_number.train", "--start",
                    start.checkpoint("state_path"), PEBBLE, "batch_size=4", "group_size=8",
                    "learning_rate=5e-4", "max_tokens=12", "eval_every=0", "save_every=0",
                    "max_steps=12")
    recipe.run()
    recipe.judge("env/all/reward/total", "rises", 3)


def dpo(start):
    recipe = Recipe("dpo", RECIPES + "preference.dpo.train", PEBBLE, "batch_size=32",
                    "load_checkpoint_path=" + start.checkpoint("state_path"),
                    "learning_rate=1e-3", "max_length=256")
    recipe.run()
    recipe.judge("dpo_loss", "falls")
    recipe.judge("accuracy", "rises")
    return recipe


def distillation(start, teacher):
    recipe = Recipe("on-policy distillation", RECIPES + "distillation.on_policy_distillation",
                    PEBBLE, "load_checkpoint_path=" + start.checkpoint("state_path"),
                    "teacher_checkpoint=" + teacher.checkpoint("sampler_path"),
                    "group_size=4", "groups_per_batch=32", "learning_rate=5e-4", "max_tokens=12",
                    "eval_every=0", "save_every=0", "max_steps=15")
    recipe.run()
    recipe.judge("teacher_kl", "falls", 3)


def main():
    """What a failed recipe leaves out fails the ones that start from it."""
    failed, made = False, {}
    recipes = (("sl_basic", supervised, ()), ("resumed", resumed, ()),
               ("start", warm_start, ()),
               ("arithmetic", arithmetic, ("start",)), ("guess_number", guess_number, ("start",)),
               ("teacher", dpo, ("start",)), ("student", distillation, ("start", "teacher")))
    for name, run, needs in recipes:
        try:
            missing = [need for need in needs if need not in made]
            if missing:
                raise Failure(f"{name}: there is no {missing[0]}")
            made[name] = run(*(made[need] for need in needs))
            if metrics()['tinkc_answers_total{class="5xx"}'] > 0:
                raise Failure(f"{name}: the server answered with a status of 5xx")
        except (Failure, OSError) as failure:
            print(f"  FAILED {failure}", flush=True)
            failed = True
    after = metrics()
    print("  server: %d requests, %d samples, %d trained, %d prompt and %d sampled tokens;"
          " %d results kept, %.1f of %.1f MB counted for them, %.0f MB resident" % (
              after["tinkc_requests_total"], after["tinkc_samples_total"],
              after["tinkc_trained_tokens_total"], after["tinkc_prompt_tokens_total"],
              after["tinkc_sampled_tokens_total"], after["tinkc_futures"],
              after['tinkc_memory_bytes{part="results"}'] / 1e6,
              after["tinkc_memory_used_bytes"] / 1e6, server_memory()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
