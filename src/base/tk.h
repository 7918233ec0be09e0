/* Attributes and the few macros that everything shares. The only macro header. */
#ifndef BASE_TK_H
#define BASE_TK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tinkc/error.h>
#include <tinkc/export.h>

#define TK_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TK_NODISCARD    TINKC_NODISCARD
#define TK_PRINTF(f, a) TINKC_PRINTF(f, a)
#define TK_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define TK_MAX(a, b)    ((a) > (b) ? (a) : (b))

/* The struct of type `type` whose member `member` lies at `ptr`. */
#define TK_CONTAINER_OF(ptr, type, member)                                               \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
