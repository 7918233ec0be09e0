#!/usr/bin/env python3
"""An environment for `tinkc rl --env`: the model guesses a number, and learns whether it was too
low or too high. docs/guide/rl.md explains it.

    tinkc rl --local --tasks examples/data/guess.jsonl --env 'python3 examples/rl/guess.py'
"""
import json
import sys

GUESSES = 5
QUESTION = "Guess a number from 1 to 9."


def tell(**line):
    print(json.dumps(line), flush=True)


def main():
    number = json.loads(sys.stdin.readline())["task"]["number"]
    tell(observation=QUESTION, request={"max_tokens": 3})
    for guesses in range(1, GUESSES + 1):
        said = json.loads(sys.stdin.readline())["action"].strip()
        guess = int(said) if said.isdecimal() else None
        if guess == number or guesses == GUESSES:
            break
        hint = "No." if guess is None else "Too low." if guess < number else "Too high."
        tell(observation=f"{hint} {QUESTION}")
    tell(reward=1.2 - 0.2 * guesses if guess == number else 0.0, done=True, guesses=guesses)


if __name__ == "__main__":
    main()
