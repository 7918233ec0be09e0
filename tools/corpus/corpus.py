#!/usr/bin/env python3
"""Writes the training text of the embedded model: simple English that is generated, not
collected. The same seed and size give the same bytes, on every machine and Python.

  corpus.py --seed 1 --bytes 1000000 [--mix NAME] [--held-out] [--only KIND] > text

Documents end in <|endoftext|>. The mix is one of MIXES: plain is what the tokenizer is
made of; in reading most answers have to be copied from the question; mixed has both. With --held-out, two-digit sums are those that training
text never contains; use another seed too, so that stories differ."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reading  # noqa: E402
import stories  # noqa: E402
import words  # noqa: E402

END = "<|endoftext|>"
MASK = (1 << 64) - 1


class Rng:
    """splitmix64: our own, because random's methods may change between versions."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return (self.next() >> 11) % n

    def pick(self, items):
        return items[self.below(len(items))]


def chat(*turns):
    """user, assistant, user, assistant, ..."""
    text = ""
    for i, turn in enumerate(turns):
        text += ("<|user|>" if i % 2 == 0 else "<|assistant|>") + turn + "<|end|>"
    return text


def is_held_out(a, b):
    """One pair in eight of those with a two-digit number is kept from training."""
    return (a > 9 or b > 9) and (a * 31 + b * 17) % 8 == 3


def sum_parts(rng, held_out):
    """("12 + 5", "17"). One-digit problems come often, because they are few; differences
    are never negative."""
    while True:
        limit = 10 if not held_out and rng.below(3) == 0 else 100
        a, b = rng.below(limit), rng.below(limit)
        minus = rng.below(2) == 1
        if minus:
            a, b = max(a, b), min(a, b)
        if is_held_out(a, b) == held_out:
            return (f"{a} - {b}", str(a - b)) if minus else (f"{a} + {b}", str(a + b))


def make_sum(rng, held_out):
    turns = []
    for _ in range(1 + rng.below(4)):
        problem, answer = sum_parts(rng, held_out)
        ask = rng.pick(["What is {}?", "{} =", "How much is {}?", "Compute {}."])
        turns += [ask.format(problem), answer]
    return chat(*turns)


def make_count(rng, _):
    n = 3 + rng.below(8)
    start = rng.below(60)
    sort = rng.below(3)
    if sort == 0:
        run = range(start, start + n)
        ask = f"Count from {start} to {start + n - 1}."
    elif sort == 1:
        run = range(start + n - 1, start - 1, -1)
        ask = f"Count down from {start + n - 1} to {start}."
    else:
        start -= start % 2
        run = range(start, start + 2 * n, 2)
        ask = f"Count by twos from {start} to {start + 2 * n - 2}."
    return chat(ask, ", ".join(str(i) for i in run))


def make_reverse(rng, _):
    turns = []
    for _ in range(1 + rng.below(3)):
        word = rng.pick(words.SHORT_WORDS)
        ask = rng.pick(["Spell {} backwards.", "Reverse the word {}."])
        turns += [ask.format(word), "-".join(reversed(word))]
        if rng.below(3) == 0:
            turns += [f"Spell {word}.", "-".join(word)]
    return chat(*turns)


def a_an(word):
    return stories.fix_articles("a " + word)


def fact(rng):
    sort = rng.below(9)
    if sort == 0:
        a, b = rng.pick(words.OPPOSITES)
        if rng.below(2):
            a, b = b, a
        return f"What is the opposite of {a}?", f"The opposite of {a} is {b}."
    if sort == 1:
        a, b = rng.pick(words.SOUNDS)
        return f"What does {a_an(a)} say?", f"{a_an(a).capitalize()} says {b}."
    if sort == 2:
        a, b = rng.pick(words.THINGS)
        return f"What colour is {a}?", f"{a[0].upper() + a[1:]} is {b}."
    if sort == 3:
        a, b = rng.pick(words.YOUNG)
        return f"What is a young {a} called?", f"A young {a} is called a {b}."
    if sort == 4:
        a, b = rng.pick(words.HOMES)
        return f"Where does a {a} live?", f"A {a} lives {b}."
    if sort == 5:
        names = rng.pick([words.DAYS, words.MONTHS])
        i = rng.below(len(names))
        if rng.below(2):
            return f"What comes after {names[i]}?", f"{names[(i + 1) % len(names)]} comes after {names[i]}."
        return f"What comes before {names[i]}?", f"{names[i - 1]} comes before {names[i]}."
    if sort == 6:
        return rng.pick([("Hello!", "Hello! How can I help you?"), ("Hi!", "Hello! How can I help you?"),
                         ("Good morning!", "Good morning! How are you today?"), ("How are you?", "I am fine, thank you."),
                         ("Thank you.", "You are welcome."), ("Goodbye!", "Goodbye! See you soon."),
                         ("Who are you?", "I am Pebble, a very small language model."),
                         ("What is your name?", "My name is Pebble."),
                         ("What can you do?", "I can tell short stories, add small numbers and count.")])
    if sort == 7:
        items = [rng.pick(words.COLOURS), rng.pick(words.OBJECTS)]
        name = rng.pick(words.GIRLS + words.BOYS)
        has = stories.fix_articles(f"{name} has a {items[0]} {items[1]}.")
        return f"{has} What does {name} have?", has
    which = rng.below(2)
    group, name = [(words.COLOURS, "colours"), (words.ANIMALS, "animals")][which]
    start = rng.below(len(group))
    three = [group[(start + i * 3) % len(group)] for i in range(3)]
    return f"Name three {name}.", f"{three[0].capitalize()}, {three[1]} and {three[2]}."


def make_fact(rng, _):
    turns = []
    for _ in range(1 + rng.below(4)):
        turns += fact(rng)
    return chat(*turns)


def make_story(rng, _):
    return stories.story(rng)[0]


def make_story_questions(rng, _):
    text, asked = stories.story(rng)
    first, answer = rng.pick(asked)
    turns = [text + " " + first, answer]
    for _ in range(rng.below(3)):
        turns += rng.pick(asked)
    return chat(*turns)


def make_story_request(rng, _):
    text, asked = stories.story(rng)
    kind = rng.pick(["a story", "a short story", "a story, please"])
    turns = [rng.pick(["Tell me {}.", "Please tell me {}.", "Can you tell me {}?", "Write {}."]).format(kind), text]
    if rng.below(2):
        turns += rng.pick(asked)
    return chat(*turns)


def make_reading(turns):
    return lambda rng, _: chat(*turns(rng))


# Kinds with their shares of documents, in percent.
KINDS = {"story": (make_story, 28), "story_questions": (make_story_questions, 16), "story_request": (make_story_request, 6),
         "sum": (make_sum, 24), "count": (make_count, 6), "reverse": (make_reverse, 8), "fact": (make_fact, 12)}

READING = {"story": (make_story, 4), "story_questions": (make_story_questions, 6), "story_request": (make_story_request, 2),
           "sum": (make_sum, 7), "count": (make_count, 2), "reverse": (make_reverse, 3), "fact": (make_fact, 4),
           "people": (make_reading(reading.people), 16), "repeat": (make_reading(reading.repeat), 40),
           "introduce": (make_reading(reading.introduce), 6), "form": (make_reading(reading.form), 10)}

MIXED = {"story": (make_story, 6), "story_questions": (make_story_questions, 10), "story_request": (make_story_request, 4),
         "sum": (make_sum, 18), "count": (make_count, 4), "reverse": (make_reverse, 5), "fact": (make_fact, 9),
         "people": (make_reading(reading.people), 18), "repeat": (make_reading(reading.repeat), 8),
         "letters": (make_reading(reading.repeat_letters), 8), "introduce": (make_reading(reading.introduce), 4),
         "form": (make_reading(reading.form), 6)}

MIXES = {"plain": KINDS, "reading": READING, "mixed": MIXED}


SYSTEM = ["You are a helpful assistant.", "You are Pebble, a small and friendly assistant.", "Give short answers."]


def choose_kind(rng, kinds):
    ticket = rng.below(sum(share for _, share in kinds.values()))
    for make, share in kinds.values():
        if ticket < share:
            return make
        ticket -= share
    raise AssertionError("unreachable")


def document(rng, kinds, held_out, only=None):
    make = kinds[only][0] if only is not None else choose_kind(rng, kinds)
    text = make(rng, held_out)
    if text.startswith("<|user|>") and rng.below(10) == 0:
        text = "<|system|>" + rng.pick(SYSTEM) + "<|end|>" + text
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--bytes", type=int, required=True, help="stop after the document that reaches this size")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--mix", choices=list(MIXES), default="plain")
    parser.add_argument("--only", choices=list(MIXED))
    args = parser.parse_args()
    rng = Rng(args.seed)
    kinds = MIXES[args.mix]
    if args.only is not None and args.only not in kinds:
        parser.error(f"the mix {args.mix} has no {args.only}")
    written = 0
    while written < args.bytes:
        text = document(rng, kinds, args.held_out, args.only) + END + "\n"
        sys.stdout.write(text)
        written += len(text)


if __name__ == "__main__":
    main()
