/* tk_err: the internal error value. Lives on the caller's stack or inside a future, never
 * allocates, so that reporting "out of memory" cannot fail. Filled once, where the fault
 * is found; the first error wins. Becomes a tinkc_error at the public boundary. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/limits.h"
#include "base/tk.h"

#define TK_ERR_NO_OFFSET ((size_t)-1)

typedef struct tk_err {
    tinkc_code code; /* TINKC_OK = nothing happened yet */
    tinkc_category category;
    bool is_fatal;                /* set by an object that is dead now */
    int http_status;              /* 0 = no response was involved */
    int64_t retry_after_ms;       /* -1 = no hint */
    size_t offset;                /* byte offset into the input, or TK_ERR_NO_OFFSET */
    char path[TK_ERR_PATH_BYTES]; /* field path, or "" */
    char request_id[TK_ERR_ID_BYTES]; /* or "" */
    char message[TK_ERR_MESSAGE_BYTES];
} tk_err;

#define TK_ERR_INIT                                                                      \
    {                                                                                    \
        TINKC_OK, TINKC_CATEGORY_UNKNOWN, false, 0, -1, TK_ERR_NO_OFFSET, "", "", ""     \
    }

void tk_err_clear(tk_err *err);

/* Sets code and text unless *err already holds an error; err may be NULL. Returns `code`
 * (also when the error was not stored), so that callers can `return tk_err_set(...)`.
 * Text that does not fit is cut at a UTF-8 border; bytes that are not UTF-8 become '?',
 * control characters become spaces. */
tinkc_code tk_err_set(tk_err *err, tinkc_code code, const char *format, ...)
    TK_PRINTF(3, 4);

/* As tk_err_set, with a byte offset into the input that was read. */
tinkc_code tk_err_at(tk_err *err, tinkc_code code, size_t offset, const char *format, ...)
    TK_PRINTF(4, 5);

/* A failed system call: the text, ": " and the system's (untranslated) name for `errnum`.
 * TINKC_E_NOMEM for ENOMEM, TINKC_E_IO for all others. */
tinkc_code tk_err_sys(tk_err *err, int errnum, const char *format, ...) TK_PRINTF(3, 4);

/* The code for an HTTP status that is not a success: 404 gives TINKC_E_NOT_FOUND, 503
 * TINKC_E_SERVER, a status without its own code (408 too) TINKC_E_STATUS. */
tinkc_code tk_err_code_of_status(int http_status);

/* TINKC_E_NOMEM with its fixed text. */
tinkc_code tk_err_nomem(tk_err *err);

/* Puts `segment` ("name" or "[3]") in front of the field path, as a decoder unwinds:
 * "[3]" then "data" gives "data[3]". No effect when err is NULL. */
void tk_err_under(tk_err *err, const char *segment);
void tk_err_under_index(tk_err *err, size_t index);

#endif
