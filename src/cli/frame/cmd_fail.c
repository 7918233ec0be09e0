/* Error lines: one line says what failed, a second one what to do about it, and --verbose
 * adds everything that the library knows. Text that a server sent is shown without
 * control characters and without anything that looks like a secret. Owns the flag of
 * --verbose, and the place where a text is kept. */
#include <stdio.h>
#include <string.h>

#include "base/redact.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_paste.h"
#include "cli/frame/cmd_print.h"

#define LINE_BYTES 4096

typedef struct words {
    tinkc_code code;
    const char
        *what; /* in the words of the official program; NULL: the message is enough */
    const char *hint;
} words;

static const words table[] = {
    {TINKC_E_NOMEM, "Out of memory", NULL},
    {TINKC_E_INVALID, NULL, NULL},
    {TINKC_E_STATE, NULL, NULL},
    {TINKC_E_CONFIG, "Configuration error",
     "'tinkc config' shows every option and where its value comes from."},
    {TINKC_E_LIMIT, NULL, "docs/limits.md lists the limits."},
    {TINKC_E_MISSING, NULL, NULL},
    {TINKC_E_PARSE, "Malformed response",
     "Check that the base URL is that of a Tinker server; -v shows the details."},
    {TINKC_E_DECODE, "Unexpected response",
     "Check that the base URL is that of a Tinker server of this version; -v shows the "
     "details."},
    {TINKC_E_UNSUPPORTED, NULL, NULL},
    {TINKC_E_IO, NULL, "Check that the path exists, is writable, and has enough space."},
    {TINKC_E_CONNECTION, "Connection failed",
     "Check the network and the base URL; 'tinkc doctor' finds out more."},
    {TINKC_E_TIMEOUT, "Request timeout", "Try again, or use a longer --timeout."},
    {TINKC_E_CANCELLED, "Cancelled", NULL},
    {TINKC_E_STUCK, "No progress",
     "The server accepted the work but reports no progress; -v shows the details."},
    {TINKC_E_BUDGET, NULL, NULL},
    {TINKC_E_REQUEST, "Request failed", NULL},
    {TINKC_E_STATUS, "API error", NULL},
    {TINKC_E_BAD_REQUEST, "Invalid request", NULL},
    {TINKC_E_AUTH, "Authentication failed",
     "Check the key: TINKER_API_KEY, TINKER_CREDENTIAL_CMD or --api-key."},
    {TINKC_E_PAYMENT, "Payment required", "Billing is paused for this account."},
    {TINKC_E_PERMISSION, "Permission denied",
     "This key has no access; 'tinkc whoami' shows whose key it is."},
    {TINKC_E_NOT_FOUND, "Resource not found",
     "Check the id; 'tinkc run list' and 'tinkc checkpoint list' show yours."},
    {TINKC_E_CONFLICT, "Conflict", NULL},
    {TINKC_E_GONE, "Gone", NULL},
    {TINKC_E_UNPROCESSABLE, "Invalid data provided", NULL},
    {TINKC_E_RATE_LIMIT, "Rate limit exceeded", "Wait a moment, then try again."},
    {TINKC_E_SERVER, "Internal server error", "Try again later."},
    {TINKC_E_INTERNAL, "Internal error", "This is a bug in tinkc; please report it."},
};

static bool is_verbose;

void cmd_fail_set_verbose(bool verbose)
{
    is_verbose = verbose;
}

/* 501: the server works, but lacks this function. */
static const words not_offered = {TINKC_E_SERVER, "Not offered by this server", NULL};

static const words *words_of(tinkc_code code)
{
    static const words none = {TINKC_OK, NULL, NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        if (table[i].code == code) {
            return &table[i];
        }
    }
    return &none;
}

/* What to do about some failures, by a part of the message. */
static const char *hint_of_message(tinkc_code code, const char *message)
{
#define KEY_HINT                                                                         \
    "Add --local to work on this machine without a key, store one with 'tinkc auth "     \
    "login' (or 'tinker auth login'), or set TINKER_API_KEY."
    static const struct {
        tinkc_code code;
        const char *part, *hint;
    } rows[] = {
        {TINKC_E_CONFIG, "no API key", KEY_HINT},
        {TINKC_E_CONFIG, "an API key", KEY_HINT},
        {TINKC_E_CONFIG, "there is no profile",
         "'tinkc profile list' shows those that there are; 'tinkc profile add' stores "
         "one."},
        {TINKC_E_CONFIG, "base URL", "Set TINKER_BASE_URL or --base-url."},
        {TINKC_E_CONNECTION, "there is no server at https://",
         "Check the network, the proxy (HTTPS_PROXY) and the base URL, or add --local; "
         "'tinkc doctor' finds out more."},
        {TINKC_E_CONNECTION, "there is no server at",
         "Is 'tinkc serve' running? Start it, add --local, or set TINKER_BASE_URL."},
        {TINKC_E_PERMISSION, "this server listens on loopback",
         "Use 127.0.0.1 in the base URL, or start the server with --host."},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (rows[i].code == code && strstr(message, rows[i].part) != NULL) {
            return rows[i].hint;
        }
    }
    return NULL;
}

const char *cmd_hint(tinkc_code code)
{
    return words_of(code)->hint;
}

const char *cmd_hint_of(const tinkc_error *error)
{
    tinkc_code code = tinkc_error_code(error);
    const char *hint = hint_of_message(code, tinkc_error_message(error));
    return hint != NULL ? hint : cmd_hint(code);
}

/* Writes a line to standard error, with secrets masked. */
static void write_line(const char *prefix, const char *text)
{
    char line[LINE_BYTES];
    size_t n = tk_redact_apply(NULL, line, sizeof(line), tk_str_of(text), false);
    cmd_print(stderr, "%s%.*s\n", prefix, (int)n, line);
}

static void write_hint(const char *hint)
{
    tk_buf line;
    tk_buf_init(&line, LINE_BYTES);
    cmd_paste_hint(&line, hint);
    const char *text = tk_buf_cstr(&line);
    write_line("Hint: ", text != NULL ? text : hint);
    tk_buf_dispose(&line);
}

static char *kept; /* NULL: error lines are written */
static size_t kept_bytes;

void cmd_fail_keep(char *out, size_t size)
{
    kept = out;
    kept_bytes = size;
}

static void put_failure(const char *text, const char *hint)
{
    if (kept != NULL) {
        (void)tk_redact_apply(NULL, kept, kept_bytes, tk_str_of(text), false);
        return;
    }
    write_line("Error: ", text);
    if (hint != NULL) {
        write_hint(hint);
    }
}

static int fail(const char *hint, const char *format, va_list list) TINKC_PRINTF(2, 0);

static int fail(const char *hint, const char *format, va_list list)
{
    char text[LINE_BYTES];
    (void)vsnprintf(text, sizeof(text), format, list);
    put_failure(text, hint);
    return CMD_FAILED;
}

int cmd_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int code = fail(NULL, format, list);
    va_end(list);
    return code;
}

int cmd_fail_hint(const char *hint, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int code = fail(hint, format, list);
    va_end(list);
    return code;
}

int cmd_fail_input(tinkc_error **error, const char *what)
{
    int code = cmd_fail("%s: %s", what, tinkc_error_message(*error));
    tinkc_error_free(error);
    return code;
}

static void show_details(const tinkc_error *error)
{
    for (; error != NULL; error = tinkc_error_cause(error)) {
        cmd_print(stderr, "  code: %s, class: %s",
                  tinkc_code_name(tinkc_error_code(error)),
                  tinkc_class_name(tinkc_error_class(error)));
        if (tinkc_error_http_status(error) != 0) {
            cmd_print(stderr, ", HTTP status: %d", tinkc_error_http_status(error));
        }
        cmd_print(stderr, "\n");
        if (tinkc_error_request_id(error) != NULL) {
            write_line("  request id: ", tinkc_error_request_id(error));
        }
        if (tinkc_error_cause(error) != NULL) {
            write_line("  because: ", tinkc_error_message(tinkc_error_cause(error)));
        }
    }
}

/* Frees *error. */
static int report(tinkc_error **error, const char *text, const char *hint)
{
    if (!cmd_interrupted()) {
        put_failure(text, hint);
        if (is_verbose) {
            show_details(*error);
        }
    }
    tinkc_error_free(error);
    return cmd_interrupted() ? CMD_INTERRUPTED : CMD_FAILED;
}

/* --local joins a server that runs already, also one with a key of its own. */
static const char *hint_of_local(char out[LINE_BYTES], const tinkc_error *error)
{
    if (tinkc_error_code(error) != TINKC_E_AUTH || !cmd_local_is_used()) {
        return NULL;
    }
    (void)snprintf(out, LINE_BYTES,
                   "--local joined the server at %s, which was started with a key: set "
                   "TINKER_API_KEY or --api-key to it, or stop that server.",
                   cmd_local_url());
    return out;
}

int cmd_fail_error(tinkc_error **error, const char *format, ...)
{
    char what[LINE_BYTES / 2] = "", about_local[LINE_BYTES];
    char text[LINE_BYTES];
    if (format != NULL && format[0] != '\0') {
        va_list list;
        va_start(list, format);
        (void)vsnprintf(what, sizeof(what), format, list);
        va_end(list);
    }
    bool offered = tinkc_error_http_status(*error) != 501;
    const words *w = offered ? words_of(tinkc_error_code(*error)) : &not_offered;
    const char *hint = offered ? cmd_hint_of(*error) : not_offered.hint;
    const char *local = hint_of_local(about_local, *error);
    hint = local != NULL ? local : hint;
    (void)snprintf(text, sizeof(text), "%s%s%s%s%s", what, what[0] != '\0' ? ": " : "",
                   w->what != NULL ? w->what : "", w->what != NULL ? ": " : "",
                   tinkc_error_message(*error));
    return report(error, text, hint);
}

int cmd_fail_elsewhere(tinkc_error **error, const char *what, const char *hint)
{
    char text[LINE_BYTES];
    (void)snprintf(text, sizeof(text), "%s: %s", what, tinkc_error_message(*error));
    return report(error, text, hint);
}
