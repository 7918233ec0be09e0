/* Loaded in front of a test program by scripts/mutate.py: runs the one function that
 * MUTATE_ONLY names. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern);

__attribute__((constructor)) static void only(void)
{
    const char *name = getenv("MUTATE_ONLY");
    if (name != NULL) {
        cmocka_set_test_filter(name);
    }
}
