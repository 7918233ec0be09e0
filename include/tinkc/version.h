/* Version of the header (compile time) and of the library in use (run time). Thread: any.
 */
#ifndef TINKC_VERSION_H
#define TINKC_VERSION_H

#include <tinkc/export.h>

TINKC_BEGIN_DECLS

#define TINKC_VERSION_MAJOR 0
#define TINKC_VERSION_MINOR 1
#define TINKC_VERSION_PATCH 0
#define TINKC_VERSION       "0.1.0"

/* The level of the official Tinker SDK whose wire behaviour this version matches; sent as
 * `sdk_version` unless the configuration says otherwise. */
#define TINKC_SDK_LEVEL "0.25.0"

/* Version of the library that is loaded, "MAJOR.MINOR.PATCH". Static storage; any thread;
 * cannot fail. */
TINKC_API const char *tinkc_version(void);

TINKC_END_DECLS

#endif
