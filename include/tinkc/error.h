/* Error codes, and the error object that comes with a failure.
 *
 * The library keeps no thread-local "last error": a function that fails returns its
 * tinkc_error through `err`. An error object is immutable; every accessor may be
 * called from any thread and accepts NULL, which reads as TINKC_OK, "no error".
 *
 * Whether to try again: tinkc_error_class tells what the failure means for the work,
 * tinkc_error_is_retryable whether the same call may simply be repeated. By the time
 * an error is reported, the library has already retried what may be retried.
 *
 *   class      is_retryable  examples                       what to do
 *   USER       false         400, 401, 404, bad argument,   change something first
 *                            cancelled, limit, budget
 *   RETRYABLE  true          408, 409, 429, 5xx, timeout,   repeat the call later
 *                            no connection
 *   RETRYABLE  false         a result that the server lost, submit new work; the old
 *                            work that failed there         work may have been applied
 *   FATAL      false         out of memory, I/O error,      give up
 *                            stuck, unusable response,
 *                            a defect
 *
 * After a restart of the server its models, samplers and results are gone: TINKC_E_GONE and
 * TINKC_E_NOT_FOUND then need new clients, made from a checkpoint. */
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
    TINKC_E_STATE = 3,        /* NULL handle; call not allowed now or on this thread */
    TINKC_E_CONFIG = 4,       /* unusable configuration: URL, key, environment, file */
    TINKC_E_LIMIT = 5,        /* a documented size, depth or count limit was exceeded */
    TINKC_E_MISSING = 6,      /* a local look-up found nothing */
    TINKC_E_PARSE = 7,        /* bytes are not well-formed JSON, protobuf, zstd, ... */
    TINKC_E_DECODE = 8,       /* well-formed, but not the message that was expected */
    TINKC_E_UNSUPPORTED = 9,  /* understood, but this build or server cannot do it */
    TINKC_E_IO = 10,          /* local file or system call failed */
    TINKC_E_CONNECTION = 11,  /* no usable answer: DNS, TLS, refused, reset, cut short */
    TINKC_E_TIMEOUT = 12,     /* a deadline passed */
    TINKC_E_CANCELLED = 13,   /* cancelled by the caller, or the service was closed */
    TINKC_E_STUCK = 14,       /* the server has shown no progress for too long */
    TINKC_E_BUDGET = 15,      /* refused locally: a token budget would be exceeded */
    TINKC_E_REQUEST = 16,     /* the server accepted the work, and it failed there */
    TINKC_E_STATUS = 17,      /* an HTTP status that is not listed below */
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

/* Which side caused a failed request, according to the server. */
typedef enum tinkc_category {
    TINKC_CATEGORY_UNKNOWN = 0,
    TINKC_CATEGORY_SERVER = 1,
    TINKC_CATEGORY_USER = 2
} tinkc_category;

/* What a failure means for another attempt. */
typedef enum tinkc_class {
    TINKC_CLASS_NONE = 0,      /* no error */
    TINKC_CLASS_USER = 1,      /* the caller has to change something */
    TINKC_CLASS_RETRYABLE = 2, /* may succeed later, unchanged or as new work */
    TINKC_CLASS_FATAL = 3      /* no attempt will help */
} tinkc_class;

typedef struct tinkc_error tinkc_error;

/* Returns the symbolic name, e.g. "TINKC_E_TIMEOUT"; "TINKC_E_?" for a value that this
 * version does not know. Static storage. */
TINKC_API const char *tinkc_code_name(tinkc_code code);

/* Returns "unknown", "server" or "user". Static storage. */
TINKC_API const char *tinkc_category_name(tinkc_category category);

/* Frees the error and sets *error to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_error_free(tinkc_error **error);

/* Returns the same error as an object that the caller owns (tinkc_error_free), for an error
 * that is borrowed, such as one that a callback gets. NULL for NULL. */
TINKC_API TINKC_NODISCARD tinkc_error *tinkc_error_ref(const tinkc_error *error);

/* Returns the code of the error; TINKC_OK for NULL. */
TINKC_API tinkc_code tinkc_error_code(const tinkc_error *error);

/* Returns which side caused the failure, according to the server;
 * TINKC_CATEGORY_UNKNOWN when the server did not report it. */
TINKC_API tinkc_category tinkc_error_category(const tinkc_error *error);

/* Returns one line of text, never NULL, valid until the error is freed. */
TINKC_API const char *tinkc_error_message(const tinkc_error *error);

/* Returns the HTTP status, or 0 when no response was involved. */
TINKC_API int tinkc_error_http_status(const tinkc_error *error);

/* Returns the server's request id, or NULL. Valid until the error is freed. */
TINKC_API const char *tinkc_error_request_id(const tinkc_error *error);

/* Returns the server's Retry-After hint in milliseconds, or -1 when it gave none. */
TINKC_API int64_t tinkc_error_retry_after_ms(const tinkc_error *error);

/* Returns the class of the error; the table at the top of this header shows how it
 * relates to tinkc_error_is_retryable. The complete list is in docs/errors.md. */
TINKC_API tinkc_class tinkc_error_class(const tinkc_error *error);

/* Returns "none", "user", "retryable" or "fatal"; "fatal" for a value that this
 * version does not know. Static storage. */
TINKC_API const char *tinkc_class_name(tinkc_class class_of);

/* Returns whether the same call may succeed when it is repeated later, unchanged. */
TINKC_API bool tinkc_error_is_retryable(const tinkc_error *error);

/* Returns whether the object that reported the error can no longer be used, except to
 * close it. No function of this version reports such an error: the result is always
 * false. To recognise TINKC_CLASS_FATAL call tinkc_error_class. */
TINKC_API bool tinkc_error_is_fatal(const tinkc_error *error);

/* Returns whether the server attributes the failure to the caller: category user, or
 * an HTTP status 4xx other than 408 (409 and 429 included), in this error or anywhere
 * in its chain of causes. Always false for errors found locally, such as
 * TINKC_E_INVALID, although their class is TINKC_CLASS_USER. */
TINKC_API bool tinkc_error_is_user_error(const tinkc_error *error);

/* Returns the error that led to this one, or NULL. Borrowed: it is freed with
 * `error`. */
TINKC_API const tinkc_error *tinkc_error_cause(const tinkc_error *error);

TINKC_END_DECLS

#endif
