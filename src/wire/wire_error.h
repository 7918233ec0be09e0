/* Errors of the server: status, headers and body become a tk_err; and the one table that
 * says whether a failure is worth a retry.
 *
 * The table classifies; it does not wait or count. The retry layers ask it and add their
 * own budgets. Pure; thread: any. */
#ifndef WIRE_WIRE_ERROR_H
#define WIRE_WIRE_ERROR_H

#include "base/err.h"
#include "base/str.h"

/* Header x-should-retry. */
typedef enum tk_should_retry {
    TK_SHOULD_RETRY_UNSAID,
    TK_SHOULD_RETRY_YES,
    TK_SHOULD_RETRY_NO
} tk_should_retry;

typedef enum tk_error_class {
    TK_ERROR_USER,      /* the caller has to change something */
    TK_ERROR_RETRYABLE, /* may succeed later as it is */
    TK_ERROR_FATAL      /* neither: a defect, or a server that cannot be understood */
} tk_error_class;

/* How a retryable failure may be tried again. */
typedef enum tk_error_retry {
    TK_RETRY_NEVER,
    TK_RETRY_SAME,  /* the same request again: the server recognises it */
    TK_RETRY_AS_NEW /* as new work with a new sequence id; only where that does no harm */
} tk_error_retry;

/* All that the decision depends on. */
typedef struct tk_fault {
    tinkc_code code;         /* a transport error, TINKC_E_REQUEST for failed work, ... */
    int status;              /* HTTP status, 0 when there was no answer */
    tinkc_category category; /* of failed work */
    tk_should_retry should_retry;
} tk_fault;

/* A row of the table; the first that matches decides. */
typedef struct tk_error_rule {
    const char *when;           /* for the documentation */
    int status_min, status_max; /* both 0: any */
    int code;                   /* tinkc_code, or -1: any */
    int category;               /* tinkc_category, or -1: any */
    int should_retry;           /* tk_should_retry, or -1: any */
    tk_error_class class_of;
    tk_error_retry retry;
} tk_error_rule;

extern const tk_error_rule tk_wire_error_rules[];
extern const size_t tk_wire_error_rules_n;

/* The row for a fault; never NULL: the last row matches everything. */
const tk_error_rule *tk_wire_error_rule(const tk_fault *fault);

/* Whether the official SDK would call it the user's error: failed work of category user,
 * or a status 4xx other than 408. */
bool tk_wire_error_is_user(int status, tinkc_category category);

/* Whether a status says that the server has no such endpoint: 404, 405, 501. */
bool tk_wire_error_is_absent(int status);

/* Whether an error of such a status has the words of a web framework that found no route
 * (or none at all), instead of the words of a program that found nothing to an id. */
bool tk_wire_error_is_of_route(const tk_err *err);

/* "user", "server", "unknown" in any case; anything else, NULL included, is unknown. */
tinkc_category tk_wire_error_category(tk_str word);

tk_should_retry tk_wire_error_should_retry(tk_str header);

/* The hint in milliseconds, -1 when there is none: retry-after-ms (fractions allowed)
 * wins over retry-after, which is seconds or an HTTP date; a date that has passed gives
 * 0. Empty = header absent. */
int64_t tk_wire_error_retry_after(tk_str retry_after_ms, tk_str retry_after,
                                  int64_t now_us);

/* A response that is not a success; absent headers are empty. */
typedef struct tk_error_response {
    int status;
    tk_str body;
    tk_str should_retry, retry_after_ms, retry_after, request_id;
    int64_t now_us; /* wall clock, for dates */
} tk_error_response;

/* Fills *err from the response, unless it already holds an error: code by status, the
 * server's own words as message (`detail`, `error`, `message`, `error_message`, plain
 * text, the title of an HTML page, or the name of the status), category and request id
 * where the body has them. Returns the code. Cannot fail: without memory the message is just shorter. */
tinkc_code tk_wire_error_fill(tk_err *err, const tk_error_response *response);

#endif
