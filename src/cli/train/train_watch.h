/* Watches the loss for a run that goes wrong: the mean of the last steps rises to more
 * than twice the lowest such mean plus one. Single steps may be as bad as they want; the
 * lines of a batch differ. Thread: one. */
#ifndef CLI_TRAIN_WATCH_H
#define CLI_TRAIN_WATCH_H

#include "base/tk.h"

#define TRAIN_WATCH_STEPS 5

typedef struct train_watch {
    double last[TRAIN_WATCH_STEPS]; /* a ring */
    size_t n;
    double mean, lowest;
    bool has_alarmed;
} train_watch;

/* Adds the loss of a step. Returns true, once in a run, when the loss explodes; `mean` and
 * `lowest` then say by how much. A zeroed struct is a new watch. */
bool train_watch_add(train_watch *watch, double loss);

#endif
