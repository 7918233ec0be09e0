"""Texts in which the answer has to be read from the question: people with their things, places
and meals, forms, words to repeat. Half of the names are made of syllables and mean nothing, so
that they can only be copied. No text is in the form of examples/data."""
from words import ANIMALS, BOYS, COLOURS, DAYS, FOODS, GIRLS, OBJECTS, PLACES, SHORT_WORDS

ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pl qu r s sh st t th tr v w y z".split()
VOWELS = "a e i o u ai ee oo ou ia".split()
CODAS = ["", "", "", "l", "n", "r", "s", "t", "m", "x", "nd", "ck"]
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()


def made_up(rng):
    """A word that is in no list."""
    syllables = 1 + rng.below(3)
    text = "".join(rng.pick(ONSETS) + rng.pick(VOWELS) for _ in range(syllables))
    return text + rng.pick(CODAS)


def letters(rng):
    """A name of any letters, of which more than the first are seldom in one token."""
    vowels, others = "aeiou", "bcdfghjklmnprstvwxyz"
    text = "".join(rng.pick(vowels if rng.below(5) < 2 else others) for _ in range(3 + rng.below(6)))
    return text.capitalize()


def name(rng):
    return made_up(rng).capitalize() if rng.below(2) else rng.pick(GIRLS + BOYS)


def word(rng):
    sort = rng.below(4)
    if sort == 0:
        return made_up(rng)
    return rng.pick([ANIMALS, OBJECTS + FOODS, SHORT_WORDS][sort - 1])


def any_word(rng):
    return rng.pick([name, word, lambda r: r.pick(NUMBERS), lambda r: r.pick(DAYS), lambda r: str(r.below(100))])(rng)


def several(rng, n, draw):
    out = []
    while len(out) < n:
        item = draw(rng)
        if item not in out:
            out.append(item)
    return out


def plural(noun):
    if noun.endswith(("ch", "sh", "x", "s", "o")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


def amount(rng, noun):
    """("three plums", "3")"""
    n = 1 + rng.below(12)
    return (NUMBERS[n] if rng.below(3) else str(n)) + " " + (noun if n == 1 else plural(noun)), str(n)


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def has_thing(rng, who):
    colour, thing = rng.pick(COLOURS), rng.pick(OBJECTS)
    verb, do, base = rng.pick([("has", "does", "have"), ("lost", "did", "lose"), ("found", "did", "find"),
                               ("bought", "did", "buy"), ("wants", "does", "want")])
    what = article(colour) + " " + thing
    text = f"{who} {verb} {what}."
    return text, [(f"Who {verb} {what}?", text), (f"What {do} {who} {base}?", text),
                  (f"What colour is the {thing}?", f"The {thing} is {colour}.")]


def is_somewhere(rng, who):
    place, day = rng.pick(PLACES), rng.pick(DAYS)
    text = f"{who} was {place}."
    return f"{who} was {place} on {day}.", [(f"Where was {who}?", text), (f"Who was {place}?", text),
                                            (f"When was {who} {place}?", f"On {day}.")]


def eats(rng, who):
    food = rng.pick(FOODS)
    many, number = amount(rng, food)
    verb, base = rng.pick([("ate", "eat"), ("baked", "bake"), ("sold", "sell"), ("took", "take")])
    text = f"{who} {verb} {many}."
    return text, [(f"How many {plural(food)} did {who} {base}?", number), (f"What did {who} {base}?", text),
                  (f"Who {verb} {many}?", text)]


def has_pet(rng, who):
    animal, called = rng.pick(ANIMALS), name(rng)
    return f"{who} has {article(animal)} called {called}.", [
        (f"What is the {animal} called?", f"The {animal} is called {called}."),
        (f"Who has {article(animal)}?", f"{who} has {article(animal)}."),
        (f"What animal is {called}?", f"{called} is {article(animal)}.")]


def meets(rng, who):
    town, friend = made_up(rng).capitalize(), name(rng)
    return f"{who} from {town} met {friend}.", [
        (f"Where is {who} from?", town), (f"Who met {friend}?", f"{who} met {friend}."),
        (f"Who is from {town}?", f"{who} is from {town}."), (f"Who did {who} meet?", f"{who} met {friend}.")]


FACTS = [has_thing, is_somewhere, eats, has_pet, meets]


def people(rng):
    """Turns: a text about one to three people, with questions."""
    sentences, asked = [], []
    for who in several(rng, 1 + rng.below(3), name):
        sentence, questions = rng.pick(FACTS)(rng, who)
        sentences.append(sentence)
        asked += questions
    question, answer = rng.pick(asked)
    turns = [" ".join(sentences) + " " + question, answer]
    for _ in range(1 + rng.below(3)):
        turns += rng.pick(asked)
    return turns


def repeat(rng, draws=(name, word, any_word)):
    """Turns: words to say again, all or some of them."""
    turns = []
    draw = rng.pick(draws)
    for _ in range(1 + rng.below(3)):
        items = several(rng, 1 + rng.below(8), draw)
        line = ", ".join(items)
        ask, answer = rng.pick([
            ("Say {}.", line), ("Repeat: {}", line), ("Say it twice: {}.", f"{line}. {line}."), ("Write the first word of {}.", items[0]),
            ("Write the last word of {}.", items[-1]), ("Copy this: {}.", line), ("Put quotes around {}.", f'"{line}"'),
            ("Write one on each line: {}.", "\n".join(items))])
        turns += [ask.format(line), answer]
    return turns


def repeat_letters(rng):
    return repeat(rng, (letters,))


def introduce(rng):
    """Turns: somebody says a name, and asks for it later."""
    who = name(rng)
    said = rng.pick(["My name is {}.", "I am {}.", "Hello, I am {}.", "Call me {}, please."]).format(who)
    liked = word(rng)
    return rng.pick([
        [said, f"Hello {who}!", "What is my name?", f"Your name is {who}."],
        [said + " What is my name?", who],
        [f"{said} I like the word {liked}. Which word do I like?", liked, "Who am I?", f"You are {who}."],
        [said + " Greet me.", f"Good day, {who}!"]])


def form(rng):
    """Turns: a form, and a question for one line of it; or a sentence to make a form of."""
    who, colour, thing = name(rng), rng.pick(COLOURS), rng.pick(OBJECTS + ANIMALS)
    town, day = made_up(rng).capitalize(), rng.pick(DAYS)
    text, number = amount(rng, rng.pick(FOODS))
    lines = {"name": who, "colour": colour, "thing": thing, "town": town, "day": day, "number": number}
    keys = several(rng, 2 + rng.below(3), lambda r: r.pick(list(lines)))
    shown = "\n".join(f"{key}: {lines[key]}" for key in keys)
    if rng.below(2):
        key, other = keys[0], keys[-1]
        return [f"{shown}\nWhat is the {key}?", lines[key], f"And the {other}?", lines[other]]
    sentence = rng.pick([
        f"On {day} {who} from {town} sold {text} and a {colour} {thing}.",
        f"{who} bought a {colour} {thing} and {text} in {town} on {day}.",
        f"In {town}, {who} saw a {colour} {thing} on {day} and ate {text}."])
    return [f"{sentence} Write the {', '.join(keys)}.", shown]
