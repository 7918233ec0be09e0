/* Loaded in front of a test program by scripts/mutate.py: runs the one function that
 * MUTATE_ONLY names. What the program starts does not inherit it. */
#include <stdlib.h>

void cmocka_set_test_filter(const char *pattern);

__attribute__((constructor)) static void only(void)
{
    const char *name = getenv("MUTATE_ONLY"); /* stays where it is */
    (void)unsetenv("MUTATE_ONLY");
    (void)unsetenv("LD_PRELOAD");
    if (name != NULL) {
        cmocka_set_test_filter(name);
    }
}
