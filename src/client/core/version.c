/* The version that is linked, for callers that load the library at run time. */
#include <tinkc/version.h>

const char *tinkc_version(void)
{
    return TINKC_VERSION;
}
