/* See context.h, and the second handles of <tinkc/hooks.h>. */
#include "client/insight/context.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/future/future_int.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define TAGS_MAX       64
#define TRACESTATE_MAX 4096
#define PARENT_BYTES   55 /* of version 00 */
#define CONTEXT_MAX    (256 * TK_KIB)
#define IS_HEX_AT(p, i)                                                                  \
    (((p)[i] >= '0' && (p)[i] <= '9') || ((p)[i] >= 'a' && (p)[i] <= 'f'))

struct tk_context {
    tk_arena arena;
    tinkc_context said;
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
    return TINKC_OK;
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

static bool copy_members(tk_context *context)
{
    tinkc_context *said = &context->said;
    tinkc_pair *tags = tk_arena_array(&context->arena, said->tags_n, sizeof(*tags));
    bool ok = (tags != NULL || said->tags_n == 0) &&
              copy_text(&said->traceparent, &context->arena) &&
              copy_text(&said->tracestate, &context->arena);
    for (size_t i = 0; ok && i < said->tags_n; i++) {
        tags[i] = said->tags[i];
        ok = copy_text(&tags[i].name, &context->arena) &&
             copy_text(&tags[i].value, &context->arena);
    }
    said->tags = tags;
    return ok;
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
        return tk_err_set(err, TINKC_E_NOMEM, "out of memory, or the tags are too large");
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

const tinkc_context *tinkc_future_context(const tinkc_future *future)
{
    return future != NULL && future->driver != NULL
               ? tk_context_public(future->driver->context)
               : NULL;
}
