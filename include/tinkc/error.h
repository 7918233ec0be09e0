/* Error codes, and the error object that travels with a failed result.
 *
 * There is no thread-local "last error": whoever hands out a failure hands out its
 * tinkc_error too. An error object is immutable; every accessor may be called from any
 * thread and accepts NULL (which reads as TINKC_OK, "no error"). */
#ifndef TINKC_ERROR_H
#define TINKC_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include <tinkc/export.h>

TINKC_BEGIN_DECLS

/* Values are part of the ABI: they are never renumbered, new ones are added at the
 * end. */
typedef enum tinkc_code {
    TINKC_OK = 0,
    TINKC_E_NOMEM = 1,        /* out of memory */
    TINKC_E_INVALID = 2,      /* bad argument or value, found before anything was sent */
    TINKC_E_STATE = 3,        /* NULL, closed or finished handle; call not allowed now */
    TINKC_E_CONFIG = 4,       /* unusable configuration: URL, key, environment, file */
    TINKC_E_LIMIT = 5,        /* a documented size, depth or count limit was exceeded */
    TINKC_E_MISSING = 6,      /* a local look-up found nothing */
    TINKC_E_PARSE = 7,        /* bytes are not well-formed JSON, protobuf, zstd, ... */
    TINKC_E_DECODE = 8,       /* well-formed, but not the message that was expected */
    TINKC_E_UNSUPPORTED = 9,  /* understood, but this build or server cannot do it */
    TINKC_E_IO = 10,          /* local file or system call failed */
    TINKC_E_CONNECTION = 11,  /* no usable answer: DNS, TLS, refused, reset, cut short */
    TINKC_E_TIMEOUT = 12,     /* a deadline passed */
    TINKC_E_CANCELLED = 13,   /* cancelled by the caller, or its handle was closed */
    TINKC_E_STUCK = 14,       /* the server has shown no progress for too long */
    TINKC_E_BUDGET = 15,      /* refused locally: a token budget would be exceeded */
    TINKC_E_REQUEST = 16,     /* the server accepted the work, and it failed there */
    TINKC_E_STATUS = 17,      /* any other HTTP status than those below */
    TINKC_E_BAD_REQUEST = 18, /* HTTP 400 */
    TINKC_E_AUTH = 19,        /* HTTP 401 */
    TINKC_E_PAYMENT = 20,     /* HTTP 402 */
    TINKC_E_PERMISSION = 21,  /* HTTP 403 */
    TINKC_E_NOT_FOUND = 22,   /* HTTP 404 */
    TINKC_E_CONFLICT = 23,    /* HTTP 409 */
    TINKC_E_GONE = 24,        /* HTTP 410 */
    TINKC_E_UNPROCESSABLE = 25, /* HTTP 422 */
    TINKC_E_RATE_LIMIT = 26,    /* HTTP 429 */
    TINKC_E_SERVER = 27,        /* HTTP 5xx */
    TINKC_E_INTERNAL = 28       /* a defect in tinkc; please report it */
} tinkc_code;

/* Whose fault a failed request was, as the server says. */
typedef enum tinkc_category {
    TINKC_CATEGORY_UNKNOWN = 0,
    TINKC_CATEGORY_SERVER = 1,
    TINKC_CATEGORY_USER = 2
} tinkc_category;

/* What a failure means for whoever might try again. */
typedef enum tinkc_class {
    TINKC_CLASS_NONE = 0,      /* no error */
    TINKC_CLASS_USER = 1,      /* the caller has to change something */
    TINKC_CLASS_RETRYABLE = 2, /* may succeed later as it is, perhaps as new work */
    TINKC_CLASS_FATAL = 3      /* neither */
} tinkc_class;

typedef struct tinkc_error tinkc_error;

/* Symbolic name, e.g. "TINKC_E_TIMEOUT"; "TINKC_E_?" for a value this version does not
 * know. Static storage. */
TINKC_API const char *tinkc_code_name(tinkc_code code);

/* "unknown", "server" or "user". Static storage. */
TINKC_API const char *tinkc_category_name(tinkc_category category);

/* Releases *error and sets it to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_error_free(tinkc_error **error);

/* What happened. */
TINKC_API tinkc_code tinkc_error_code(const tinkc_error *error);

/* Whose fault it was, as far as the server said so. */
TINKC_API tinkc_category tinkc_error_category(const tinkc_error *error);

/* One line of text, never NULL, valid until the error is freed. */
TINKC_API const char *tinkc_error_message(const tinkc_error *error);

/* HTTP status, or 0 when no response was involved. */
TINKC_API int tinkc_error_http_status(const tinkc_error *error);

/* The server's request id, or NULL. Valid until the error is freed. */
TINKC_API const char *tinkc_error_request_id(const tinkc_error *error);

/* The server's Retry-After hint in milliseconds, or -1 when it gave none. */
TINKC_API int64_t tinkc_error_retry_after_ms(const tinkc_error *error);

/* The coarse class of the error, from the one table that the whole library decides by
 * (docs/errors.md). A result that the server lost, and accepted work that failed there
 * through no fault of the caller, are retryable as new work only: their class says so,
 * tinkc_error_is_retryable does not. */
TINKC_API tinkc_class tinkc_error_class(const tinkc_error *error);

/* "none", "user", "retryable" or "fatal". Static storage. */
TINKC_API const char *tinkc_class_name(tinkc_class class_of);

/* Whether the same call may succeed later without a change on the caller's side. */
TINKC_API bool tinkc_error_is_retryable(const tinkc_error *error);

/* Whether the object that reported it is dead: only closing it is allowed now. */
TINKC_API bool tinkc_error_is_fatal(const tinkc_error *error);

/* Whether the caller caused it: category user, or HTTP 4xx other than 408, here or
 * anywhere in the chain of causes. */
TINKC_API bool tinkc_error_is_user_error(const tinkc_error *error);

/* The error beneath this one, or NULL. Borrowed: freed with `error`. */
TINKC_API const tinkc_error *tinkc_error_cause(const tinkc_error *error);

TINKC_END_DECLS

#endif
