/* The public error object. One allocation per error; when that fails a static object is
 * used, so that reporting "out of memory" never needs memory.
 *
 * Class and retryability come from the table in wire/wire_error.c, which decides for the
 * whole library. A fatal error is never retryable: its object is dead. */
#include "client/values/error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/wire_error.h"

/* "path: message (at byte 123)" */
#define TEXT_BYTES (TK_ERR_PATH_BYTES + TK_ERR_MESSAGE_BYTES + 40)

struct tinkc_error {
    atomic_int owners;
    tinkc_code code;
    tinkc_category category;
    bool is_fatal;
    int http_status;
    int64_t retry_after_ms;
    tinkc_error *cause;
    char request_id[TK_ERR_ID_BYTES];
    char message[TEXT_BYTES];
};

/* Never written to: tinkc_error_free and tinkc_error_ref leave it alone. */
static tinkc_error out_of_memory = {
    .owners = 1,
    .code = TINKC_E_NOMEM,
    .retry_after_ms = -1,
    .message = "out of memory",
};

tinkc_error *tk_error_oom(void)
{
    return &out_of_memory;
}

const char *tinkc_code_name(tinkc_code code)
{
    static const char *const names[] = {
        [TINKC_OK] = "TINKC_OK",
        [TINKC_E_NOMEM] = "TINKC_E_NOMEM",
        [TINKC_E_INVALID] = "TINKC_E_INVALID",
        [TINKC_E_STATE] = "TINKC_E_STATE",
        [TINKC_E_CONFIG] = "TINKC_E_CONFIG",
        [TINKC_E_LIMIT] = "TINKC_E_LIMIT",
        [TINKC_E_MISSING] = "TINKC_E_MISSING",
        [TINKC_E_PARSE] = "TINKC_E_PARSE",
        [TINKC_E_DECODE] = "TINKC_E_DECODE",
        [TINKC_E_UNSUPPORTED] = "TINKC_E_UNSUPPORTED",
        [TINKC_E_IO] = "TINKC_E_IO",
        [TINKC_E_CONNECTION] = "TINKC_E_CONNECTION",
        [TINKC_E_TIMEOUT] = "TINKC_E_TIMEOUT",
        [TINKC_E_CANCELLED] = "TINKC_E_CANCELLED",
        [TINKC_E_STUCK] = "TINKC_E_STUCK",
        [TINKC_E_BUDGET] = "TINKC_E_BUDGET",
        [TINKC_E_REQUEST] = "TINKC_E_REQUEST",
        [TINKC_E_STATUS] = "TINKC_E_STATUS",
        [TINKC_E_BAD_REQUEST] = "TINKC_E_BAD_REQUEST",
        [TINKC_E_AUTH] = "TINKC_E_AUTH",
        [TINKC_E_PAYMENT] = "TINKC_E_PAYMENT",
        [TINKC_E_PERMISSION] = "TINKC_E_PERMISSION",
        [TINKC_E_NOT_FOUND] = "TINKC_E_NOT_FOUND",
        [TINKC_E_CONFLICT] = "TINKC_E_CONFLICT",
        [TINKC_E_GONE] = "TINKC_E_GONE",
        [TINKC_E_UNPROCESSABLE] = "TINKC_E_UNPROCESSABLE",
        [TINKC_E_RATE_LIMIT] = "TINKC_E_RATE_LIMIT",
        [TINKC_E_SERVER] = "TINKC_E_SERVER",
        [TINKC_E_INTERNAL] = "TINKC_E_INTERNAL",
    };
    return (unsigned)code < TK_ARRAY_LEN(names) ? names[code] : "TINKC_E_?";
}

const char *tinkc_category_name(tinkc_category category)
{
    switch ((int)category) {
    case TINKC_CATEGORY_SERVER:
        return "server";
    case TINKC_CATEGORY_USER:
        return "user";
    default:
        return "unknown";
    }
}

static void write_message(tinkc_error *error, const tk_err *err)
{
    char offset[40] = "";
    if (err->offset != TK_ERR_NO_OFFSET) {
        (void)snprintf(offset, sizeof(offset), " (at byte %zu)", err->offset);
    }
    (void)snprintf(error->message, sizeof(error->message), "%s%s%s%s", err->path,
                   err->path[0] != '\0' ? ": " : "", err->message, offset);
}

tinkc_error *tk_error_new(const tk_err *err, tinkc_error *cause)
{
    tinkc_error *error = tk_zalloc(sizeof(*error));
    if (error == NULL) {
        tinkc_error_free(&cause);
        return &out_of_memory;
    }
    atomic_init(&error->owners, 1);
    error->code = err->code;
    error->category = err->category;
    error->is_fatal = err->is_fatal;
    error->http_status = err->http_status;
    error->retry_after_ms = err->retry_after_ms;
    error->cause = cause;
    memcpy(error->request_id, err->request_id, sizeof(error->request_id));
    write_message(error, err);
    return error;
}

tinkc_code tk_error_give(tinkc_error **out, const tk_err *err)
{
    if (out != NULL && err->code != TINKC_OK) {
        *out = tk_error_new(err, NULL);
    }
    return err->code;
}

tinkc_code tk_error_tell(tinkc_error **out, tinkc_code code, const char *text)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, code, "%s", text);
    return tk_error_give(out, &err);
}

tinkc_error *tinkc_error_ref(const tinkc_error *error)
{
    tinkc_error *same = (tinkc_error *)(uintptr_t)error; /* only the count is written */
    if (same != NULL && same != &out_of_memory) {
        (void)atomic_fetch_add_explicit(&same->owners, 1, memory_order_relaxed);
    }
    return same;
}

/* Whether the caller was the last owner. */
static bool drop(tinkc_error *error)
{
    return error != NULL && error != &out_of_memory &&
           atomic_fetch_sub_explicit(&error->owners, 1, memory_order_acq_rel) == 1;
}

void tinkc_error_free(tinkc_error **error)
{
    if (error == NULL) {
        return;
    }
    tinkc_error *at = *error;
    *error = NULL;
    while (drop(at)) { /* a loop: a chain of causes may be long */
        tinkc_error *cause = at->cause;
        tk_free(at);
        at = cause;
    }
}

tinkc_code tinkc_error_code(const tinkc_error *error)
{
    return error != NULL ? error->code : TINKC_OK;
}

tinkc_category tinkc_error_category(const tinkc_error *error)
{
    return error != NULL ? error->category : TINKC_CATEGORY_UNKNOWN;
}

const char *tinkc_error_message(const tinkc_error *error)
{
    return error != NULL ? error->message : "no error";
}

int tinkc_error_http_status(const tinkc_error *error)
{
    return error != NULL ? error->http_status : 0;
}

const char *tinkc_error_request_id(const tinkc_error *error)
{
    return error != NULL && error->request_id[0] != '\0' ? error->request_id : NULL;
}

int64_t tinkc_error_retry_after_ms(const tinkc_error *error)
{
    return error != NULL ? error->retry_after_ms : -1;
}

/* The status, or the one that the code implies. */
static int status_of(const tinkc_error *error)
{
    int status = error->http_status;
    for (int s = 400; status == 0 && error->code != TINKC_E_STATUS && s <= 500; s++) {
        status = tk_err_code_of_status(s) == error->code ? s : 0;
    }
    return status;
}

/* The headers of the answer are not kept: the library obeyed them when the answer
 * came. */
static const tk_error_rule *rule_of(const tinkc_error *error)
{
    const tk_fault fault = {error->code, status_of(error), error->category,
                            TK_SHOULD_RETRY_UNSAID};
    return tk_wire_error_rule(&fault);
}

tinkc_class tinkc_error_class(const tinkc_error *error)
{
    if (error == NULL) {
        return TINKC_CLASS_NONE;
    }
    if (error->is_fatal) {
        return TINKC_CLASS_FATAL;
    }
    switch (rule_of(error)->class_of) {
    case TK_ERROR_USER:
        return TINKC_CLASS_USER;
    case TK_ERROR_RETRYABLE:
        return TINKC_CLASS_RETRYABLE;
    case TK_ERROR_FATAL:
        break;
    }
    return TINKC_CLASS_FATAL;
}

const char *tinkc_class_name(tinkc_class class_of)
{
    static const char *const names[] = {"none", "user", "retryable", "fatal"};
    return (unsigned)class_of < TK_ARRAY_LEN(names) ? names[class_of] : "fatal";
}

bool tinkc_error_is_retryable(const tinkc_error *error)
{
    return error != NULL && !error->is_fatal && rule_of(error)->retry == TK_RETRY_SAME;
}

bool tinkc_error_is_fatal(const tinkc_error *error)
{
    return error != NULL && error->is_fatal;
}

bool tinkc_error_is_user_error(const tinkc_error *error)
{
    for (; error != NULL; error = error->cause) {
        if (tk_wire_error_is_user(error->http_status, error->category)) {
            return true;
        }
    }
    return false;
}

const tinkc_error *tinkc_error_cause(const tinkc_error *error)
{
    return error != NULL ? error->cause : NULL;
}

void tk_error_read(tk_err *err, const tinkc_error *error)
{
    if (error == NULL || err == NULL) {
        return;
    }
    const char *request_id = tinkc_error_request_id(error);
    tk_err_set(err, tinkc_error_code(error), "%s", tinkc_error_message(error));
    err->category = tinkc_error_category(error);
    err->http_status = tinkc_error_http_status(error);
    err->retry_after_ms = tinkc_error_retry_after_ms(error);
    if (request_id != NULL) {
        (void)snprintf(err->request_id, sizeof(err->request_id), "%s", request_id);
    }
}
