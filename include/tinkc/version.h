/* Version of the header (compile time) and of the library in use (run time). Thread:
 * any. */
#ifndef TINKC_VERSION_H
#define TINKC_VERSION_H

#include <tinkc/export.h>

TINKC_BEGIN_DECLS

enum { TINKC_VERSION_MAJOR = 0, TINKC_VERSION_MINOR = 1, TINKC_VERSION_PATCH = 0 };

#define TINKC_VERSION "0.1.0"

/* MAJOR * 10000 + MINOR * 100 + PATCH, for the preprocessor: #if TINKC_VERSION_NUMBER. */
#define TINKC_VERSION_NUMBER 100

/* The release of the official Tinker SDK whose behaviour on the wire this version
 * matches; sent as `sdk_version` unless the configuration sets another. */
#define TINKC_SDK_LEVEL "0.36.0"

/* Returns the version of the library that is loaded, "MAJOR.MINOR.PATCH". Static
 * storage. */
TINKC_API const char *tinkc_version(void);

/* Returns the TINKC_VERSION_NUMBER of the library that is loaded. */
TINKC_API int tinkc_version_number(void);

/* Returns the TINKC_SDK_LEVEL of the library that is loaded. Static storage. */
TINKC_API const char *tinkc_sdk_level(void);

TINKC_END_DECLS

#endif
