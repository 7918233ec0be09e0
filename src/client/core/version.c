/* The version that is linked, for callers that load the library at run time. Thread: any;
 * nothing here can fail. */
#include <tinkc/version.h>

#define NUMBER                                                                           \
    (TINKC_VERSION_MAJOR * 10000 + TINKC_VERSION_MINOR * 100 + TINKC_VERSION_PATCH)

_Static_assert(TINKC_VERSION_NUMBER == NUMBER, "both forms of the version must agree");

const char *tinkc_version(void)
{
    return TINKC_VERSION;
}

int tinkc_version_number(void)
{
    return TINKC_VERSION_NUMBER;
}

const char *tinkc_sdk_level(void)
{
    return TINKC_SDK_LEVEL;
}
