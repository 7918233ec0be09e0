/* See context.h, and the second handles of <tinkc/hooks.h>. */
#include "client/insight/context.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/core/headers.h"
#include "client/future/future_int.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define TAGS_MAX       64
#define HEADERS_MAX    8
#define TRACESTATE_MAX 4096
#define PARENT_BYTES   55 /* of version 00 */
#define CONTEXT_MAX    (256 * TK_KIB)
#define IS_HEX_AT(p, i)                                                                  \
    (((p)[i] >= '0' && (p)[i] <= '9') || ((p)[i] >= 'a' && (p)[i] <= 'f'))

struct tk_context {
    tk_arena arena;
    tinkc_context said;
    const char *lines[HEADERS_MAX]; /* of said.headers */
};

/* ---- W3C Trace Context, section 3.2 ---- */

static bool is_hex(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!IS_HEX_AT(p, i)) {
            return false;
        }
    }
    return true;
}

static bool is_zero(const char *p, size_t n)
{
    return strspn(p, "0") >= n;
}

static bool is_traceparent(const char *p)
{
    size_t n = strlen(p);
    if (n < PARENT_BYTES || p[2] != '-' || p[35] != '-' || p[52] != '-' ||
        !is_hex(p, 2) || !is_hex(p + 3, 32) || !is_hex(p + 36, 16) ||
        !is_hex(p + 53, 2)) {
        return false;
    }
    bool is_first = p[0] == '0' && p[1] == '0';
    bool fits = n == PARENT_BYTES || (!is_first && p[PARENT_BYTES] == '-');
    bool is_forbidden = p[0] == 'f' && p[1] == 'f';
    return fits && !is_forbidden && !is_zero(p + 3, 32) && !is_zero(p + 36, 16);
}

static bool is_printable(const char *p, size_t max)
{
    size_t n = 0;
    for (; p[n] != '\0'; n++) {
        if (n == max || p[n] < ' ' || p[n] > '~') {
            return false;
        }
    }
    return n > 0;
}

static bool is_named_before(const tinkc_context *said, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcasecmp(said->headers[i].name, said->headers[index].name) == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code check_headers(const tinkc_context *said, tk_err *err)
{
    if (said->headers_n > HEADERS_MAX || (said->headers_n > 0 && said->headers == NULL)) {
        return tk_err_set(err, TINKC_E_INVALID, "more than %d headers, or none there",
                          HEADERS_MAX);
    }
    for (size_t i = 0; i < said->headers_n; i++) {
        const tinkc_pair *header = &said->headers[i];
        if (header->name == NULL || !tk_headers_is_name(tk_str_of(header->name)) ||
            header->value == NULL || !tk_headers_is_clean(tk_str_of(header->value)) ||
            is_named_before(said, i)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "header %zu has a name or a value that no header can have, "
                              "or the name of another",
                              i);
        }
    }
    return TINKC_OK;
}

static tinkc_code check(const tinkc_context *said, tk_err *err)
{
    if (said->traceparent != NULL && (!is_printable(said->traceparent, TRACESTATE_MAX) ||
                                      !is_traceparent(said->traceparent))) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "traceparent is not of the form 00-<trace>-<span>-<flags>");
    }
    if (said->tracestate != NULL &&
        (said->traceparent == NULL || !is_printable(said->tracestate, TRACESTATE_MAX))) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "tracestate needs a traceparent and printable text");
    }
    if (said->tags_n > TAGS_MAX || (said->tags_n > 0 && said->tags == NULL)) {
        return tk_err_set(err, TINKC_E_INVALID, "more than %d tags, or none there",
                          TAGS_MAX);
    }
    for (size_t i = 0; i < said->tags_n; i++) {
        const tinkc_pair *tag = &said->tags[i];
        if (tag->name == NULL || tag->value == NULL ||
            !tk_utf8_is_valid(tk_str_of(tag->name)) ||
            !tk_utf8_is_valid(tk_str_of(tag->value))) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "tag %zu has no name or value, or is not UTF-8", i);
        }
    }
    if (said->timeout_ms < TINKC_FOREVER || said->deadline_ms < 0) {
        return tk_err_set(err, TINKC_E_INVALID, "timeout_ms or deadline_ms is negative");
    }
    return check_headers(said, err);
}

/* ---- life ---- */

static bool copy_text(const char **text, tk_arena *arena)
{
    tk_str copy = {NULL, 0};
    if (*text == NULL) {
        return true;
    }
    bool ok = tk_arena_dup(arena, &copy, *text, strlen(*text));
    *text = copy.p;
    return ok;
}

static bool copy_pairs(const tinkc_pair **pairs, size_t n, tk_arena *arena)
{
    tinkc_pair *copy = n > 0 ? tk_arena_array(arena, n, sizeof(*copy)) : NULL;
    bool ok = copy != NULL || n == 0;
    for (size_t i = 0; ok && i < n; i++) {
        copy[i] = (*pairs)[i];
        ok = copy_text(&copy[i].name, arena) && copy_text(&copy[i].value, arena);
    }
    *pairs = copy;
    return ok;
}

static bool write_lines(tk_context *context)
{
    for (size_t i = 0; i < context->said.headers_n; i++) {
        const tinkc_pair *header = &context->said.headers[i];
        size_t n = strlen(header->name) + strlen(header->value) + 3;
        char *line = tk_arena_alloc(&context->arena, n);
        if (line == NULL) {
            return false;
        }
        (void)snprintf(line, n, "%s: %s", header->name, header->value);
        context->lines[i] = line;
    }
    return true;
}

static bool copy_members(tk_context *context)
{
    tinkc_context *said = &context->said;
    tk_arena *arena = &context->arena;
    return copy_pairs(&said->tags, said->tags_n, arena) &&
           copy_pairs(&said->headers, said->headers_n, arena) &&
           copy_text(&said->traceparent, arena) && copy_text(&said->tracestate, arena) &&
           write_lines(context);
}

tinkc_code tk_context_new(tk_context **out, const tinkc_context *from, tk_err *err)
{
    tinkc_context said = TINKC_CONTEXT_INIT;
    tinkc_code code = tk_types_options(&said, sizeof(said), from, err);
    if (code == TINKC_OK) {
        code = check(&said, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_context *context = tk_zalloc(sizeof(*context));
    if (context == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&context->arena, CONTEXT_MAX);
    context->said = said;
    context->said.size = sizeof(said);
    if (!copy_members(context)) {
        tk_context_free(&context);
        return tk_err_set(err, TINKC_E_NOMEM,
                          "out of memory, or tags and headers are too large");
    }
    *out = context;
    return TINKC_OK;
}

void tk_context_free(tk_context **context_ref)
{
    tk_context *context = *context_ref;
    *context_ref = NULL;
    if (context != NULL) {
        tk_arena_dispose(&context->arena);
        tk_free(context);
    }
}

const tinkc_context *tk_context_public(const tk_context *context)
{
    return context != NULL ? &context->said : NULL;
}

const char *const *tk_context_lines(size_t *n, const tk_context *context)
{
    *n = context != NULL ? context->said.headers_n : 0;
    return context != NULL ? context->lines : NULL;
}

const tk_context *tk_context_of(const tinkc_future *future)
{
    return future != NULL && future->driver != NULL ? future->driver->context : NULL;
}

const tinkc_context *tinkc_future_context(const tinkc_future *future)
{
    return tk_context_public(tk_context_of(future));
}
