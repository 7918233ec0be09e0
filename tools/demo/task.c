/* The words, and the generator of items. */
#include "task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Words that the model knows from its training text. */
static const char *const words[] = {
    "moon",  "cat",   "tree", "river", "cloud", "bird",  "fish",  "house", "garden",
    "table", "chair", "road", "boat",  "hat",   "kite",  "ball",  "drum",  "bell",
    "lamp",  "cup",   "book", "shoe",  "coat",  "star",  "sun",   "rain",  "snow",
    "wind",  "leaf",  "frog", "duck",  "cow",   "horse", "sheep", "goat",  "mouse",
    "bear",  "fox",   "wolf", "lion",  "king",  "queen", "boy",   "girl"};

#define WORDS sizeof(words) / sizeof(words[0])

/* SplitMix64, which gives the same numbers on every machine. */
static uint64_t next(task_random *random)
{
    uint64_t x = random->state + 0x9E3779B97F4A7C15u;
    random->state = x;
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Draws three different words. Their indices add up to a multiple of 8 in test items and
 * never in training items, so that no item is in both, but every word is. */
static void draw(task_random *random, bool test, task_item *out)
{
    size_t i[3];
    do {
        for (int k = 0; k < 3; k++) {
            i[k] = (size_t)(next(random) % (WORDS));
        }
    } while (i[0] == i[1] || i[1] == i[2] || i[0] == i[2] ||
             ((i[0] + i[1] + i[2]) % 8 == 0) != test);
    (void)snprintf(out->question, sizeof(out->question),
                   "Say in reverse order: %s, %s, %s.", words[i[0]], words[i[1]],
                   words[i[2]]);
    (void)snprintf(out->answer, sizeof(out->answer), "%s, %s, %s", words[i[2]],
                   words[i[1]], words[i[0]]);
}

void task_train_item(task_random *random, task_item *out)
{
    draw(random, false, out);
}

void task_test_item(task_random *random, task_item *out)
{
    draw(random, true, out);
}
