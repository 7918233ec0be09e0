"""Word lists of the corpus generator. Plain data; order matters, because a choice is an
index into a list."""

GIRLS = ("Anna Bella Clara Daisy Ella Fay Grace Holly Ivy Jane Kate Lily Mia Nora Olive Rose Sara Tess "
         "Wendy Zoe Amy Beth Carol Dora Emma Flora Gina Hannah Iris Julia Kim Lucy Mary Nina Pam Ruby "
         "Sophie Tina Uma Vera Alice Betty Cora Diana Eva Helen Jill Laura Molly Peggy").split()
BOYS = ("Adam Ben Carl Dan Eli Finn Gus Hugo Ian Jack Karl Leo Max Ned Oscar Paul Rob Sam Tom Will Alex "
         "Bob Chris David Eric Frank George Henry Ivan James Kevin Lucas Mark Nick Otto Peter Ray Simon "
         "Tim Victor Andy Bill Charlie Dave Fred Harry Jim Mike Ralph Toby").split()
ANIMALS = ("cat dog fox bear rabbit duck mouse frog horse cow pig sheep goat hen owl bird turtle squirrel "
         "lion monkey tiger elephant zebra camel donkey wolf deer hedgehog beaver otter goose swan crow "
         "parrot penguin seal whale dolphin crab snail spider bee ant butterfly panda kangaroo giraffe "
         "hamster badger mole").split()
SMALL = ("little small young kind brave shy happy clever funny quiet old hungry sleepy gentle curious "
         "tiny big tall strong polite careful friendly lazy busy silly wise proud playful cheerful honest "
         "lucky noisy fast slow patient").split()
OBJECTS = ("ball kite book hat key box cup bell drum doll boat lamp coat shoe ring spoon basket blanket map "
         "flute bag bike bottle bowl bracelet broom brush bucket button camera candle chair clock comb "
         "crown feather flag glove guitar hammer jacket jar kettle ladder letter mirror mitten necklace "
         "pencil pillow plate puppet purse puzzle robot rope scarf shell shirt sock stone sweater "
         "telescope towel toy train truck umbrella violin wagon watch whistle wheel").split()
COLOURS = ("red blue green yellow white black brown pink orange purple golden silver grey").split()
PLACES = ["in the park", "in the garden", "by the river", "in the forest", "on the hill", "at the farm", "by the lake",
          "at school", "in the kitchen", "on the beach", "in the barn", "near the old tree", "in the village",
          "at the market", "behind the house", "in the attic", "on the playground", "at the zoo", "in the library",
          "near the bridge", "in the field", "on the mountain", "by the fountain", "in the castle", "at the station",
          "in the meadow", "on the island", "in the cellar", "at the bakery", "by the fence", "in the desert",
          "under the stars", "at the museum", "on the road", "in the city", "at the harbor", "in the jungle",
          "near the pond", "on the bus", "in the classroom"]
HIDING = ["under the bed", "behind the door", "in the tall grass", "under a big leaf", "on the high shelf", "in an old box",
          "behind the tree", "under the table", "in the sand", "near the well", "inside a drawer", "between two rocks", "on top of the roof", "below the stairs", "beside the chimney",
          "under the bridge", "inside a hollow log", "in the snow", "behind the curtain", "in a flower pot", "under the carpet",
          "next to the window", "in the mailbox", "at the bottom of the stream", "on a branch", "in the cupboard"]
FOODS = ("apple cake pie carrot bun pear cookie soup plum banana sandwich pancake "
         "muffin tomato potato cherry strawberry melon peach pizza salad pudding waffle biscuit pumpkin "
         "noodle berry").split()
COOKED = "cake pie bun cookie soup pancake muffin pizza salad pudding waffle biscuit sandwich".split()
WEATHER = ["sunny", "rainy", "windy", "cold", "warm", "snowy", "cloudy", "foggy", "stormy", "bright", "beautiful", "hot"]
FEELINGS = ("happy glad proud calm excited thankful pleased cheerful joyful delighted").split()
BAD = ("sad scared tired worried lonely angry upset nervous unhappy afraid").split()
TIMES = ["One day", "One morning", "One evening", "One sunny day", "One afternoon", "On a cold night", "Last summer",
         "In the spring", "One winter day", "Early in the morning",
         "Yesterday", "After lunch", "Before dinner", "On Sunday", "On Saturday", "In the autumn", "A long time ago",
         "One rainy afternoon", "Late at night", "One weekend", "During the holidays", "Last week"]
OPPOSITES = [("big", "small"), ("hot", "cold"), ("up", "down"), ("day", "night"), ("happy", "sad"), ("fast", "slow"),
             ("old", "young"), ("open", "closed"), ("wet", "dry"), ("full", "empty"), ("light", "dark"), ("high", "low"),
             ("long", "short"), ("hard", "soft"), ("loud", "quiet"), ("left", "right"), ("early", "late"), ("good", "bad")]
SOUNDS = [("cow", "moo"), ("dog", "woof"), ("cat", "meow"), ("duck", "quack"), ("sheep", "baa"), ("pig", "oink"),
          ("owl", "hoot"), ("lion", "roar"), ("frog", "croak"), ("bird", "tweet"), ("mouse", "squeak"), ("horse", "neigh"),
          ("hen", "cluck")]
THINGS = [("grass", "green"), ("snow", "white"), ("the sky", "blue"), ("a lemon", "yellow"), ("a plum", "purple"),
          ("coal", "black"), ("a carrot", "orange"), ("milk", "white"), ("a rose", "red"), ("the sun", "yellow"),
          ("mud", "brown"), ("a pig", "pink")]
YOUNG = [("cat", "kitten"), ("dog", "puppy"), ("cow", "calf"), ("sheep", "lamb"), ("horse", "foal"), ("duck", "duckling"),
         ("hen", "chick"), ("bear", "cub"), ("goat", "kid"), ("pig", "piglet"), ("lion", "cub"), ("frog", "tadpole")]
HOMES = [("bird", "in a nest"), ("bear", "in a cave"), ("fish", "in the water"), ("horse", "in a stable"),
         ("bee", "in a hive"), ("rabbit", "in a burrow"), ("cow", "in a barn"), ("frog", "by the pond"),
         ("squirrel", "in a tree"), ("mouse", "in a hole")]
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
SHORT_WORDS = ("cat dog sun map top pen red box hat cup bed fox jam kit log mud net owl pig rat sea tin van wax zip "
               "bird fish tree book cake door farm gate hill king lamp moon nest park rain ship star tent wind "
               "apple bread chair dream flute grass horse house light mouse ocean plant queen river stone table water").split()
