#!/usr/bin/env python3
"""Writes the data of the first training (README.md): messages to a restaurant, and the booking
in each of them as JSON.

    examples/data/bookings.py train >examples/data/bookings.jsonl
    examples/data/bookings.py test >examples/data/bookings-held-out.jsonl

The same bytes on every machine. The test has one line for each of its names, and no name of the
test is in a line to train on, so a right answer has its name from the question."""
import json
import sys

LINES = 1200  # to train on
NUMBERS = "zero one two three four five six seven eight nine".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

MESSAGES = [
    "Hello, this is {name}. A table for {guests} on {day} at {hour}, please.",
    "Can I book a table for {guests} on {day} at {hour}? My name is {name}.",
    "{name} would like a table for {guests} on {day} at {hour}.",
    "We are {guests} and want to come on {day} at {hour}. The name is {name}.",
    "Please keep a table for {name} on {day} at {hour}. We are {guests}.",
    "I am {name}. Is there a table for {guests} at {hour} on {day}?",
    "A table on {day} at {hour} for {name}, please. There will be {guests} of us.",
    "On {day} {name} will come at {hour} with friends, {guests} in all.",
]

TRAIN_NAMES = """
Aaron Abigail Ada Adele Adrian Agnes Ahmed Aisha Akira Alan Albert Alejandro Alina Alma Amara Amelia Amir Ana Andrea
Angela Anita Anton Antonio Ariel Arthur Asha Astrid August Axel Barbara Basil Beatrice Benedict Bernard Bianca Bjorn
Boris Brenda Brian Bruno Camila Carla Carmen Caroline Cecil Celia Chandra Charlotte Chiara Chloe Christine Claire
Claudia Clive Colin Conrad Cyrus Dagmar Damian Daniel Daphne Darius Deborah Denise Dennis Derek Diego Dimitri Dirk
Dominic Donald Doris Duncan Edgar Edith Edward Elena Elias Elise Elizabeth Elsa Emil Emily Enrico Erik Esther Ethan
Eugene Fatima Felix Fernando Fiona Florence Francis Freya Gabriel Gareth Gavin Gemma Gerald Gilbert Giulia Gloria
Gordon Greta Gregory Gwen Hamid Hans Harold Hassan Hazel Hector Heidi Helga Hilda Howard Hubert Ibrahim Igor Ilse
Imogen Inga Ingrid Irene Isaac Isabel Jacob Jamal Janet Jasmine Jasper Javier Jean Jerome Joan Joel Johan Jonas Jordan
Joseph Joshua Judith Julian Kamal Karen Karim Katarina Keith Kenji Khalid Kirsten Klaus Lars Leila Lena Leonard Leslie
Lewis Liam Linda Lionel Lisa Lorenzo Louise Luca Luis Lydia Magda Malik Manuel Marco Margaret Maria Marina Mario Martha
Martin Mateo Matilda Maurice Maya Megan Melanie Michael Mila Milan Miriam Mohamed Monica Morgan Moses Nadia Naomi
Natalie Nathan Neil Nicola Nigel Nikolai Noah Noel Nuno Olga Oliver Omar Oswald Pablo Pascal Patricia Pavel Pedro
Philip Pierre Priya Quentin Rachel Rafael Rahul Raj Ramon Rashid Raymond Rebecca Regina Rene Richard Rita Robert Rodrigo
Roger Roland Rosa Roy Rudolf Ruth Samir Samuel Sandra Sanjay Sebastian Selma Serge Shirin Sigrid Silvia Sofia Sonia
Stefan Stella Stephen Sunil Susan Sven Sylvia Tamara Tariq Teresa Theo Thomas Tobias Tomas Tony Ulrich Ursula Valerie
Vanessa Vincent Viola Vivian Vladimir Walter Wanda Warren Werner William Wolfgang Xavier Yasmin Yusuf Yvonne Zara
""".split()

TEST_NAMES = """
Abdul Adriana Alfred Alicia Amanda Anders Angelo Anja Arjun Armin Audrey Aurora Bastian Bernice Birgit Bridget Calvin
Carlos Cassandra Cedric Chiyo Christopher Clement Cornelia Curtis Daniela Desmond Dolores Dorothy Eduardo Eleanor
Elliot Emanuel Ernest Esme Evelyn Fabian Farid Ferdinand Frida Georgia Gideon Gustav Hamish Hanna Harriet Henrik Hermann
Hiroshi Ignacio Ines Isidor Jada Janina Joachim Jorge Josephine Juliet Justin Kofi Kristina Lambert Leonor Lorna Lucia
Ludwig Magnus Marcel Marlene Mehmet Melissa Mirko Nabil Nelson Nikita Norbert Octavia Olaf Otis Paola Percy Petra
Ravi Renata Roberto Rosalind Rupert Sabrina Salma Scott Simone Soren Tabitha Theresa Tristan Valentin Veronica Vikram
Wilfred Yolanda
""".split()


class Random:
    """splitmix64: our own, because random's methods may change between versions."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) % n


def line(random, name):
    guests, day, hour = 2 + random.below(7), DAYS[random.below(7)], 5 + random.below(5)
    message = MESSAGES[random.below(len(MESSAGES))].format(
        name=name, guests=NUMBERS[guests], day=day, hour=NUMBERS[hour])
    booking = json.dumps({"name": name, "guests": guests, "day": day, "hour": hour})
    return json.dumps({"messages": [{"role": "user", "content": message},
                                    {"role": "assistant", "content": booking}]})


def main():
    if sys.argv[1:] == ["train"]:
        random, names = Random(1), TRAIN_NAMES
        count = LINES
    elif sys.argv[1:] == ["test"]:
        random, names = Random(2), TEST_NAMES
        count = len(names)
    else:
        sys.exit(__doc__)
    for i in range(count):
        print(line(random, names[i % len(names)]))


if __name__ == "__main__":
    main()
