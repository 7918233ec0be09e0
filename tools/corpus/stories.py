"""Short stories: plots as templates. `[a|b]` is a choice, `{name}` a slot. A story gives
its text and the facts that questions may ask for."""
import re

from words import (ANIMALS, BAD, BOYS, COLOURS, COOKED, FEELINGS, FOODS, GIRLS, HIDING, OBJECTS, PLACES, SMALL, TIMES, WEATHER)

PRONOUNS = {"girl": ("she", "her", "her"), "boy": ("he", "him", "his"), "it": ("it", "it", "its")}

OPENINGS = [
    "Once upon a time[,|] there was {a_adj} {kind} [named|called] {name}.",
    "{name} was {a_adj} {kind}[.| who lived {home}.]",
    "{time}, {a_adj} {kind} [named|called] {name} [went for a walk|was playing|was sitting] {place}.",
    "There was once {a_adj} {kind} [named|called] {name}. {He} lived {home}.",
    "{name} the {kind} was very {adj}.",
]

# Each plot: sentences in order. "?" in front marks a sentence that may be left out.
PLOTS = {
    "lost": [
        "{time2}, {name} [could not find|lost] {his} {colour} {obj}.",
        "?{He} [looked|searched] {place}, but it was not there.",
        "{name} [felt|was] {bad}[.| and began to cry.]",
        "[Then {his} friend {friend} came to help.|{friend} said, \"[Do not worry|Do not cry], I will help you.\"]",
        "[Together they|They both|{friend} and {name}] looked everywhere and found the {obj} {hiding}.",
        "{name} [was very {good}|felt {good} again] and said, \"Thank you, {friend}!\"",
        "?[They played with the {obj} all day.|From that day on, {he} took good care of the {obj}.]",
    ],
    "found": [
        "{time2}, {name} [found|saw] a {colour} {obj} {hiding}.",
        "?\"[What a nice|Look at this] {obj}!\" said {name}.",
        "{He} [wanted to know|asked] whose {obj} it was.",
        "{friend} [said|told {him}], \"That is my {obj}. I lost it {place}.\"",
        "{name} gave the {obj} back to {friend}.",
        "{friend} was [so|very] {good} and gave {name} [a|some] {food}.",
        "?[They became good friends.|After that, they played together every day.]",
    ],
    "share": [
        "{time2}, {name} [had|made] a [big|nice|warm] {food}.",
        "{friend} came by and [looked|was] [hungry|very hungry].",
        "\"[May|Can] I have some of your {food}?\" asked {friend}.",
        "?{name} [thought about it|did not want to share] at first.",
        "Then {he} [smiled|nodded] and [cut the {food} in two|gave half of the {food} to {friend}].",
        "{friend} [was {good}.|said, \"Thank you, you are very kind.\"]",
        "?[It is good to share.|They ate together and {laughed}.]",
    ],
    "weather": [
        "It was a {weather} day, and {name} wanted to [play|go out|walk] {place}.",
        "{His} mother said, \"[Take|Do not forget] your {colour} {obj}.\"",
        "{name} [took|put] the {obj} [with {him}|in {his} bag] and went out.",
        "{friend} was there too, and they [played|ran|jumped] [together|all day].",
        "?[Soon it was time to go home.|Then the sun went down.]",
        "At home {name} was [tired|sleepy] but {good}.",
    ],
    "fear": [
        "{name} was {bad} because [it was dark|there was a loud noise|{he} was all alone] {place}.",
        "\"[Who is there|Who are you]?\" {he} asked.",
        "It was only {friend}, who [was looking for|had lost] {fhis} {obj}.",
        "{name} [laughed|smiled] and was not afraid [anymore|any more].",
        "[Together they|They] looked for the {obj} and found it {hiding}.",
        "?Then they [went home|shared a {food}|sang a song] together.",
    ],
    "learn": [
        "{name} wanted to learn how to [{skill}|{skill}].",
        "{He} tried [and tried|again and again], but [it was hard|{he} could not do it].",
        "?{name} felt {bad} and [sat down|wanted to stop].",
        "{friend} said, \"[Try again|Do not give up]. I will show you.\"",
        "{name} [tried once more|practiced every day], and [at last|then] {he} could {skill}.",
        "{He} was so [proud|{good}] and [hugged|thanked] {friend}.",
    ],
    "gift": [
        "{time2}, it was {friend}'s birthday.",
        "{name} wanted to give {fhim} [a nice gift|something special].",
        "{He} [made|bought|found] a {colour} {obj} and put it in a [box|bag].",
        "{friend} opened the [gift|present] and saw the {obj}.",
        "\"[I love it|It is so pretty]!\" said {friend}.",
        "?They ate {food} and [danced|played|sang] [all day|until night].",
        "{name} was {good} too.",
    ],
    "help": [
        "{time2}, {name} [saw|met] {friend} {place}.",
        "{friend} [was {bad}|looked {bad}] because {fhis} {obj} was broken.",
        "\"[I can|Let me] help you,\" said {name}.",
        "{He} [worked hard|took some time] and fixed the {obj}.",
        "{friend} [smiled|was {good}] and said, \"[Thank you|You are a good friend], {name}!\"",
        "?[It felt good to help.|They walked home together.]",
    ],
    "wish": [
        "{name} had a wish. {He} wanted a {colour} {obj}.",
        "Every [day|night] {he} [thought|dreamed] about the {obj}.",
        "{time2}, {he} [saw|met] {friend} {place} with a big [box|bag].",
        "\"This is for you,\" said {friend}.",
        "Inside was a {colour} {obj}!",
        "{name} [jumped with joy|was very {good}] and [hugged|thanked] {friend}.",
    ],
    "race": [
        "{time2}, {name} and {friend} [had|ran] a race {place}.",
        "[At first {friend} was faster.|{friend} ran very fast.|{name} was nervous before the race.]",
        "But [then {friend} fell down|{friend} lost a shoe|{friend} hurt {fhis} leg] and could not [run|go on].",
        "{name} [stopped|turned around] and helped {fhim} [get up|stand up].",
        "?\"You could have [won|been first],\" said {friend}.",
        "\"[A friend is better than a prize|It is more fun together],\" said {name}.",
        "They [walked|crossed the line] together and felt {good}.",
    ],
    "garden": [
        "{name} [planted|put] a [seed|tiny seed] in the ground {place}.",
        "Every [day|morning] {he} [gave it water|watered it] and waited.",
        "?{friend} laughed and said, \"Nothing will grow there.\"",
        "[But one day|After many days|After a week] a green [leaf|plant|stem] came up.",
        "It [grew and grew|became taller and taller], and soon there was a {colour} flower.",
        "{name} [showed|gave] the flower to {friend}[.|, who was {good}.]",
    ],
    "cook": [
        "{time2}, {name} and {friend} wanted to [make|cook] a {meal}.",
        "They needed [flour|milk|sugar|eggs|butter] and [salt|water|oil|cream].",
        "[{name} mixed everything in a bowl.|{friend} read the recipe and {name} stirred.]",
        "?[Oh no, the bowl fell on the floor!|Some of it spilled on the floor.] [They cleaned it up and started again.|They laughed and wiped it up.]",
        "[Soon|After an hour] the {meal} was ready and smelled [good|wonderful|great].",
        "They [ate it together|gave a piece to everyone] and were {good}.",
    ],
    "trip": [
        "{time2}, {name} went on a trip with {friend}.",
        "They traveled by [train|bus|ship|car|plane|bicycle] [for many hours|all morning|over the hills].",
        "?{name} looked out of the window and saw [mountains|rivers|farms|a rainbow|many cows].",
        "At last they [arrived|stopped] {place}.",
        "[They took pictures|They put up a tent|They bought tickets|They had a picnic] and [ate {food}|drank some tea|drank lemonade].",
        "\"[This is the best day ever|I want to come back soon]!\" said {name}.",
    ],
    "sick": [
        "{time2}, {name} was sick and had to stay in bed.",
        "{His} [mother|father|grandmother|grandfather|aunt|uncle] [called the doctor|made some tea|brought warm soup].",
        "{friend} came to visit and brought a {colour} {obj}.",
        "?They [read a book|told jokes|played a quiet game] together.",
        "[The next day|After three days|Soon] {name} felt [better|much better|strong again].",
        "{He} said, \"[Thank you for your visit|You made me feel better], {friend}.\"",
    ],
}
SKILLS = ["swim", "sing", "ride a bike", "fly a kite", "bake a cake", "climb a tree", "dance", "read", "draw", "whistle",
          "write a letter", "play chess", "juggle", "skate", "tie a knot", "jump rope", "paint", "play the piano", "sew", "count to ten"]
HOMES = ["in a small house", "near the forest", "on a farm", "by the sea", "in a big town", "under an old tree",
         "at the end of the road", "near a river"]


def fix_articles(text):
    """a apple -> an apple; the one silent h of the word lists too."""
    return re.sub(r"\b([Aa]) (?=[aeiou]|honest)", r"\1n ", text)


def hero(rng):
    """(name, kind, gender): a child, or an animal with a name."""
    sort = rng.below(4)
    if sort == 0:
        return rng.pick(GIRLS), "girl", "girl"
    if sort == 1:
        return rng.pick(BOYS), "boy", "boy"
    girl = rng.below(2) == 0
    return rng.pick(GIRLS if girl else BOYS), rng.pick(ANIMALS), "girl" if girl else "boy"


def expand(rng, text):
    """Resolves the innermost choices first, so that they may be nested."""
    while True:
        end = text.find("]")
        if end < 0:
            return text
        begin = text.rfind("[", 0, end)
        text = text[:begin] + rng.pick(text[begin + 1:end].split("|")) + text[end + 1:]


def make_slots(rng):
    name, kind, gender = hero(rng)
    friend, fkind, fgender = hero(rng)
    while friend == name:
        friend, fkind, fgender = hero(rng)
    he, him, his = PRONOUNS[gender]
    _, fhim, fhis = PRONOUNS[fgender]
    adj = rng.pick(SMALL)
    first = rng.below(len(TIMES))
    times = TIMES[first], TIMES[(first + 1 + rng.below(len(TIMES) - 1)) % len(TIMES)]
    return {"name": name, "kind": kind, "adj": adj, "a_adj": "a " + adj, "he": he, "him": him, "his": his,
            "He": he.capitalize(), "His": his.capitalize(), "friend": friend, "fkind": fkind, "fhim": fhim, "fhis": fhis,
            "obj": rng.pick(OBJECTS), "colour": rng.pick(COLOURS), "place": rng.pick(PLACES), "hiding": rng.pick(HIDING),
            "food": rng.pick(FOODS), "meal": rng.pick(COOKED), "weather": rng.pick(WEATHER), "good": rng.pick(FEELINGS), "bad": rng.pick(BAD),
            "time": times[0], "time2": times[1], "skill": rng.pick(SKILLS), "home": rng.pick(HOMES),
            "laughed": rng.pick(["laughed", "smiled", "talked"])}


QUESTIONS = {
    "lost": [("What did {name} lose?", "{name} lost {his} {colour} {obj}."),
             ("Where was the {obj}?", "The {obj} was {hiding}."),
             ("Who helped {name}?", "{friend} helped {name}."),
             ("What colour was the {obj}?", "The {obj} was {colour}.")],
    "found": [("What did {name} find?", "{name} found a {colour} {obj}."),
              ("Whose {obj} was it?", "It was {friend}'s {obj}."),
              ("Where did {name} find the {obj}?", "{name} found it {hiding}.")],
    "share": [("What did {name} share?", "{name} shared the {food}."),
              ("Who was hungry?", "{friend} was hungry.")],
    "weather": [("How was the weather?", "It was a {weather} day."),
                ("Who was there too?", "{friend} was there too.")],
    "fear": [("How did {name} feel?", "{name} was {bad}."),
             ("Who was there?", "It was {friend}."),
             ("Where did they find the {obj}?", "They found it {hiding}.")],
    "learn": [("What did {name} learn?", "{name} learned how to {skill}."),
              ("Who helped {name}?", "{friend} helped {name}.")],
    "gift": [("Whose birthday was it?", "It was {friend}'s birthday."),
             ("What was the gift?", "The gift was a {colour} {obj}.")],
    "help": [("What was broken?", "The {obj} was broken."),
             ("Who fixed the {obj}?", "{name} fixed the {obj}.")],
    "wish": [("What did {name} want?", "{name} wanted a {colour} {obj}."),
             ("Who gave {name} the {obj}?", "{friend} gave {him} the {obj}.")],
    "race": [("Who ran a race?", "{name} and {friend} ran a race."), ("Who helped {friend}?", "{name} helped {friend}.")],
    "garden": [("What colour was the flower?", "The flower was {colour}."),
               ("Who planted the seed?", "{name} planted the seed.")],
    "cook": [("What did they make?", "They made a {meal}."), ("Who helped {name}?", "{friend} helped {name}.")],
    "trip": [("Who went on the trip?", "{name} and {friend} went on a trip."),
             ("Where did they go?", "They stopped {place}.")],
    "sick": [("Who was sick?", "{name} was sick."), ("What did {friend} bring?", "{friend} brought a {colour} {obj}."),
             ("Who came to visit?", "{friend} came to visit.")],
}
COMMON = [("Who is the story about?", "The story is about {name}."), ("Who is {name}?", "{name} is {a_adj} {kind}.")]


def story(rng):
    """(text, list of (question, answer))."""
    slots = make_slots(rng)
    plot = rng.pick(list(PLOTS))
    lines = [rng.pick(OPENINGS)]
    for line in PLOTS[plot]:
        if line.startswith("?"):
            if rng.below(2) == 0:
                continue
            line = line[1:]
        lines.append(line)
    text = fix_articles(expand(rng, " ".join(lines)).format(**slots))
    asked = [(q.format(**slots), fix_articles(a.format(**slots))) for q, a in QUESTIONS[plot] + COMMON]
    return text, asked
