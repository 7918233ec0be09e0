#!/usr/bin/env python3
"""Writes preferences: questions with a brief answer, which is chosen, and one in a whole
sentence, which is rejected.

    examples/data/brief.py train >examples/data/brief.jsonl
    examples/data/brief.py test >examples/data/brief-held-out.jsonl

The same bytes on every machine. No word that the test asks for is in a line to train on."""
import json
import sys

TESTS = 12

OPPOSITES = """
big small, up down, day night, happy sad, fast slow, open closed, wet dry, full empty, high low, long short, hot cold,
hard soft, loud quiet, early late, good bad, light dark, old young, rich poor, strong weak, thick thin, clean dirty,
near far, left right, top bottom, first last, sweet bitter, simple tricky, deep shallow, wide narrow, brave shy, smooth rough,
sharp blunt, black white, warm cool, kind mean, true false, sunny rainy, inside outside, push pull, buy sell, win lose,
come go, start stop, laugh cry, ask answer, give take, love hate, awake asleep
""".replace("\n", " ").split(",")

QUESTIONS = ["What is the opposite of {0}?", "Tell me the opposite of {0}, please."]
SENTENCES = ["The opposite of {0} is {1}.", "I think that the opposite of {0} is {1}."]


def pairs(words):
    for i, (word, opposite) in enumerate(words):
        for k, question in enumerate(QUESTIONS):
            yield {"prompt": [{"role": "user", "content": question.format(word)}],
                   "chosen": [{"role": "assistant", "content": opposite}],
                   "rejected": [{"role": "assistant",
                                 "content": SENTENCES[(i + k) % 2].format(word, opposite)}]}


def main():
    words = [pair.split() for pair in OPPOSITES]
    parts = {"train": words[:-TESTS], "test": words[-TESTS:]}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    for line in pairs(parts[sys.argv[1]]):
        print(json.dumps(line))


main()
