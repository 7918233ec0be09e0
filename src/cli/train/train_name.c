/* Looks at names.
 * Needs: text */
#include "cli/train/train_name.h"

#include <stddef.h>

#define NAME_MAX_BYTES 200

bool train_name_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

bool train_name_is_good(const char *name)
{
    size_t n = 0;
    while (train_name_is_plain(name[n])) {
        n++;
    }
    return n > 0 && n <= NAME_MAX_BYTES && name[n] == '\0' && name[0] != '.';
}
