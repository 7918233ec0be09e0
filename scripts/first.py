#!/usr/bin/env python3
"""make first: the first training of README.md, tested on messages that it was not trained on.

    scripts/first.py [--build DIR] [--seeds 1,2,3,4,5] [--steps N] [--show N] [--below]

Starts `tinkc serve`, asks the embedded model the 100 questions of
examples/data/bookings-held-out.jsonl at temperature 0, trains it with `tinkc train` once for each
seed, and asks again. An answer is right when it is the expected text, character for character.
Exits with 1 when the model has 10 % or more right before training, or under 90 % after it;
--below only measures (for shortened runs). --show N prints what N answers were before and after,
for `make demo`.
"""
import argparse
import concurrent.futures
import fcntl
import json
import os
import resource
import shutil
import subprocess
import sys
import time

MODEL = "tinkc/pebble-llama-2m"
DATA = "examples/data/bookings.jsonl"
TEST = "examples/data/bookings-held-out.jsonl"
OPTIONS = []  # as in README.md, beside the model and the data
BEFORE, AFTER = 10, 90  # percent: under, at least


class Server:
    """`tinkc serve` on a free port; its data stays in the directory, for which another run waits."""

    def __init__(self, tinkc, directory):
        self.lock = open(f"{directory}.lock", "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        with open(os.path.join(directory, "log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([tinkc, "serve", "--port", "0", "--data", os.path.join(directory, "data")],
                                            stdout=subprocess.PIPE, stderr=log, text=True)
        words = self.process.stdout.readline().split()  # nothing when the server ended
        if words[:2] != ["listening", "on"]:
            self.stop()
            sys.exit(f"first: the server did not start: see {directory}/log")
        self.url = words[2]

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.lock.close()


class First:
    def __init__(self, tinkc, directory):
        self.tinkc, self.directory = os.path.abspath(tinkc), directory
        self.server = Server(self.tinkc, directory)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("TINKER_")}
        self.env["TINKER_BASE_URL"] = self.server.url
        with open(TEST, encoding="utf-8") as file:
            conversations = [json.loads(line)["messages"] for line in file]
        self.tests = [(question["content"], answer["content"]) for question, answer in conversations]

    def ask(self, model, question):
        run = subprocess.run([self.tinkc, "sample", "-m", model, "--chat", "--temperature", "0", "--max-tokens", "64", question],
                             env=self.env, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"first: {run.stderr.strip()}")
        return run.stdout.removesuffix("\n")

    def answers(self, model):
        """All answers, and how many of them are right."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            given = list(pool.map(lambda test: self.ask(model, test[0]), self.tests))
        return given, sum(text == test[1] for text, test in zip(given, self.tests))

    def train(self, seed, options, quiet):
        """The path of the trained weights. Progress goes to standard error."""
        command = [self.tinkc, "train", "--format", "json", "-m", MODEL, *options, "--seed", str(seed), "--restart",
                   "--state", os.path.join(self.directory, f"{seed}.train.json"), DATA]
        run = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL if quiet else None)
        if run.returncode != 0:
            sys.exit("first: the training failed")
        return json.loads(run.stdout)["weights"]

    def cpu_seconds(self):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return self.server.cpu_seconds() + children.ru_utime + children.ru_stime

    def show(self, count, before, after):
        print("\nMessages that it was not trained on, each with its answer before and after")
        for (question, _), old, new in list(zip(self.tests, before, after))[::len(self.tests) // count][:count]:
            print(f"  {question}")
            for label, text in (("before", " ".join(old.split())[:76]), ("after", new)):
                for line in text.splitlines() or [""]:
                    print(f"    {label:6}  {line}")
                    label = ""


def run(first, args):
    """False when a bar was missed."""
    options = OPTIONS if args.steps is None else [*OPTIONS, "--steps", str(args.steps)]
    count, quiet = len(first.tests), args.show == 0
    print(f"Teaching {MODEL} to read bookings", flush=True)
    before, right = first.answers(MODEL)
    good = 100 * right < BEFORE * count
    if quiet:
        print(f"before training: {right} of {count} right", flush=True)
    for seed in args.seeds:
        wall, cpu = time.monotonic(), first.cpu_seconds()
        weights = first.train(seed, options, quiet)
        wall, cpu = time.monotonic() - wall, first.cpu_seconds() - cpu
        after, now = first.answers(weights)
        good = good and 100 * now >= AFTER * count
        if quiet:
            print(f"seed {seed}: {now} of {count} right; trained in {wall:.0f} s, {cpu:.0f} s of CPU time", flush=True)
        else:
            first.show(args.show, before, after)
            print(f"\nExactly right: {right} of {count} before, {now} of {count} after")
    return good or args.below


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seeds", type=lambda text: text.split(","), default=["1", "2", "3", "4", "5"])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--below", action="store_true")
    args = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    first = First(os.path.join(args.build, "tinkc"), os.path.join(args.build, "first"))
    try:
        good = run(first, args)
    finally:
        first.server.stop()
    if not good:
        sys.exit(f"first: expected under {BEFORE} % before training and at least {AFTER} % after it")


if __name__ == "__main__":
    main()
