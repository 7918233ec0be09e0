#!/usr/bin/env python3
"""Writes the data of the first training (README.md): messages to a restaurant, and the booking
in each of them as YAML.

    examples/data/bookings.py train >examples/data/bookings.jsonl
    examples/data/bookings.py test >examples/data/bookings-held-out.jsonl

The same bytes on every machine. No name of the test is in a line to train on, so the name of a
right answer was read in the message."""
import json
import sys

LINES, TESTS = 1200, 100
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
Aaron Abdul Abigail Ada Adam Adele Adrian Adriana Agnes Ahmed Aisha Akira Alan Albert Alejandro Alfred Alice Alicia
Alina Alma Amanda Amara Amelia Amir Ana Anders Andrea Andy Angela Angelo Anita Anja Anna Anton Antonio Ariel Arjun
Armin Arthur Asha Astrid Audrey August Aurora Axel Barbara Basil Bastian Beatrice Ben Benedict Bernard Bernice Betty
Bianca Bill Birgit Bjorn Boris Brenda Brian Bridget Bruno Calvin Camila Carl Carla Carlos Carmen Caroline Cassandra
Cecil Cedric Celia Chandra Charlie Charlotte Chiara Chiyo Chloe Chris Christine Christopher Claire Claudia Clement
Clive Colin Conrad Cora Cornelia Curtis Cyrus Dagmar Damian Dan Daniel Daniela Daphne Darius Dave Deborah Denise
Dennis Derek Desmond Diana Diego Dimitri Dirk Dolores Dominic Donald Doris Dorothy Duncan Edgar Edith Eduardo Edward
Eleanor Elena Eli Elias Elise Elizabeth Ella Elliot Elsa Emanuel Emil Emily Enrico Eric Erik Ernest Esme Esther Ethan
Eugene Evelyn Fabian Farid Fatima Fay Felix Ferdinand Fernando Finn Fiona Florence Francis Frank Freya Frida Gabriel
Gareth Gavin Gemma George Georgia Gerald Gideon Gilbert Gina Giulia Gloria Gordon Gregory Greta Gus Gustav Gwen Hamid
Hamish Hanna Hans Harold Harriet Harry Hassan Hazel Hector Heidi Helen Helga Henrik Hermann Hilda Hiroshi Holly Howard
Hubert Ian Ibrahim Ignacio Igor Ilse Imogen Ines Inga Ingrid Irene Iris Isaac Isabel Isidor Ivy Jacob Jada Jamal James
Jane Janet Janina Jasmine Jasper Javier Jean Jerome Jim Joachim Joan Joel Johan Jonas Jordan Jorge Joseph Josephine
Joshua Judith Julian Juliet Justin Kamal Karen Karim Karl Katarina Kate Keith Kenji Khalid Kim Kirsten Klaus Kofi
Kristina Lambert Lars Leila Lena Leo Leonard Leonor Leslie Lewis Liam Lily Linda Lionel Lisa Lorenzo Lorna Louise Luca
Lucia Lucy Ludwig Luis Lydia Magda Magnus Malik Manuel Marcel Marco Margaret Maria Marina Mario Marlene Martha Martin
Mary Mateo Matilda Maurice Max Maya Megan Mehmet Melanie Melissa Michael Mike Mila Milan Miriam Mirko Mohamed Monica
Morgan Moses Nabil Nadia Naomi Natalie Nathan Ned Neil Nelson Nick Nicola Nigel Nikita Nikolai Noah Noel Nora Norbert
Nuno Octavia Olaf Olga Oliver Omar Oscar Oswald Otis Otto Pablo Paola Pascal Patricia Paul Pavel Pedro Percy Peter
Petra Philip Pierre Priya Quentin Rachel Rafael Rahul Raj Ralph Ramon Rashid Ravi Raymond Rebecca Regina Renata Rene
Richard Rita Rob Robert Roberto Rodrigo Roger Roland Rosa Rosalind Roy Ruby Rudolf Rupert Ruth Sabrina Salma Sam Samir
Samuel Sandra Sanjay Scott Sebastian Selma Serge Shirin Sigrid Silvia Simon Simone Sofia Sonia Soren Stefan Stella
Stephen Sunil Susan Sven Sylvia Tabitha Tamara Tariq Teresa Tess Theo Theresa Thomas Tim Tobias Toby Tomas Tony
Tristan Ulrich Uma Ursula Valentin Valerie Vanessa Vera Veronica Vikram Vincent Viola Vivian Vladimir Walter Wanda
Warren Wendy Werner Wilfred William Wolfgang Xavier Yasmin Yolanda Yusuf Yvonne Zara Zoe
""".split()

# Names that the model knows from the stories of its own training.
TEST_NAMES = """
Alex Amy Bella Beth Bob Carol Clara Daisy David Dora Emma Eva Flora Fred Grace Hannah Henry Hugo Ivan Jack Jill Julia
Kevin Laura Lucas Mark Mia Molly Nina Olive Pam Peggy Ray Rose Sara Sophie Tina Tom Victor Will
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
    booking = f"name: {name}\nguests: {guests}\nday: {day}\nhour: {hour}"
    return json.dumps({"messages": [{"role": "user", "content": message},
                                    {"role": "assistant", "content": booking}]})


def main():
    if sys.argv[1:] == ["train"]:
        random, names, count = Random(1), TRAIN_NAMES, LINES
    elif sys.argv[1:] == ["test"]:
        random, names, count = Random(2), TEST_NAMES, TESTS
    else:
        sys.exit(__doc__)
    for i in range(count):
        print(line(random, names[i % len(names)]))


if __name__ == "__main__":
    main()
