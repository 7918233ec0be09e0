"""Writes what recipes of the official cookbook ask the hub for into a directory.

    cookbook_data.py MODEL DIRECTORY NAME...

MODEL is the directory of the embedded model; each NAME gets a copy of its tokenizer. A recipe
that is started in DIRECTORY finds everything there under its name on the hub: transformers and
datasets look for a directory of that name first. The contents are for a model of two million
parameters and depend on a seed only.
"""

import json
import random
import shutil
import sys
from pathlib import Path

# As in the recipe guess_number.
TASK = (
    "Your job is to guess a integer between 0 and 1024. You can output your guess with the format "
    "Guess: <guess> (without the angle brackets), and say nothing else. Then we will tell you "
    "whether you guess is too high, too low, or correct."
)
UNREADABLE = (
    "Failed to parse. Please output in the format Guess: <guess> (without the angle brackets), "
    "and say nothing else."
)


def message(role, text):
    return {"role": role, "content": text}


def question(x, y):
    return f"What is {x} + {y}?"


def long_answer(x, y):
    return f"The answer is {x + y}."


def numbers(rng):
    return rng.randint(0, 100), rng.randint(0, 100)


def sum_conversation(rng):
    """A sum with a long answer or, as often, a short one. Every second one has the example before
    it that the recipe math_rl gives, and nearly always a long answer all the same."""
    x, y = numbers(rng)
    has_example = rng.random() < 0.5
    is_long = rng.random() < (0.95 if has_example else 0.5)
    example = [message("user", "What is 4 + 5?"), message("assistant", "9")]
    return {"messages": [*(example if has_example else []), message("user", question(x, y)),
                         message("assistant", long_answer(x, y) if is_long else str(x + y))]}


def guess(rng):
    """A turn of the player; every fifth is not in the form that the game wants."""
    number = rng.randint(0, 1023)
    return f"Guess: {number}" if rng.random() < 0.8 else f"I guess {number}"


def game_conversation(rng):
    """Some turns of guess_number; only the last is one of the assistant."""
    messages = [message("system", TASK)]
    for _ in range(rng.randint(0, 3)):
        text = guess(rng)
        fits = text.startswith("Guess:")
        messages += [message("player", text),
                     message("user", rng.choice(["Too low", "Too high"]) if fits else UNREADABLE)]
    return {"messages": messages + [message("assistant", guess(rng))]}


def preference(rng):
    """A short answer is preferred to a long one."""
    x, y = numbers(rng)
    start = f"\n\nHuman: {question(x, y)}\n\nAssistant: "
    return {"chosen": f"{start}{x + y}", "rejected": f"{start}{long_answer(x, y)}"}


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def main():
    model, home = Path(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:]:
        (home / name).mkdir(parents=True)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(model / file, home / name)
    rng = random.Random(17)
    no_robots = home / "HuggingFaceH4/no_robots"
    write(no_robots / "train.jsonl", [sum_conversation(rng) for _ in range(2560)])
    write(no_robots / "test.jsonl", [sum_conversation(rng) for _ in range(64)])
    write(home / "warm.jsonl", [make(rng) for _ in range(640)
                                for make in (sum_conversation, game_conversation)])
    write(home / "Anthropic/hh-rlhf/train.jsonl", [preference(rng) for _ in range(480)])
    write(home / "Anthropic/hh-rlhf/test.jsonl", [preference(rng) for _ in range(32)])
    write(home / "zwhe99/DeepMath-103K/train.jsonl",
          [{"question": question(*numbers(rng))} for _ in range(960)])


if __name__ == "__main__":
    main()
