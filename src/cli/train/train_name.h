/* Names of checkpoints: a server would refuse others, but only at the first save.
 * Thread: any. */
#ifndef CLI_TRAIN_NAME_H
#define CLI_TRAIN_NAME_H

#include <stdbool.h>

/* Returns whether a name may have this character. */
bool train_name_is_plain(char c);

/* Returns whether this is a name: 1 to 200 such characters, the first not a dot. */
bool train_name_is_good(const char *name);

#endif
