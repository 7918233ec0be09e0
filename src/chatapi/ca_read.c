/* Faults with the path of a value, values by name and type, and objects in the form that
 * templates read. */
#include "chatapi/ca_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- faults ---- */

static size_t write_path(const ca_at *at, char *out, size_t size)
{
    if (at == NULL) {
        out[0] = '\0';
        return 0;
    }
    size_t n = write_path(at->up, out, size);
    const char *dot = n > 0 ? "." : "";
    int more = at->key != NULL ? snprintf(out + n, size - n, "%s%s", dot, at->key)
                               : snprintf(out + n, size - n, "[%zu]", at->index);
    return more < 0 ? n : TK_MIN(n + (size_t)more, size - 1);
}

static void fill(ca_reader *r, const ca_at *at, int status, tinkc_code code,
                 const char *text)
{
    r->fault->status = status;
    size_t n = write_path(at, r->fault->field, sizeof(r->fault->field));
    tk_utf8_scrub(r->fault->field, n); /* names come from the client, and may be cut */
    (void)tk_err_set(&r->fault->err, code, "%s%s%s", r->fault->field,
                     r->fault->field[0] != '\0' ? ": " : "", text);
}

bool ca_refuse(ca_reader *r, const ca_at *at, const char *format, ...)
{
    char text[TK_ERR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fill(r, at, 400, TINKC_E_INVALID, text);
    return false;
}

bool ca_refuse_member(ca_reader *r, const ca_at *at, const char *key, const char *text)
{
    const ca_at here = {at, key, 0};
    return ca_refuse(r, &here, "%s", text);
}

bool ca_refuse_type(ca_reader *r, const ca_at *at, const tk_json *value,
                    const char *wanted)
{
    return ca_refuse(r, at, "is %s, not %s",
                     value != NULL ? tk_json_type_name(value->type) : "missing", wanted);
}

bool ca_refuse_memory(ca_reader *r)
{
    const tk_arena *arena = &r->out->arena;
    if (arena->refused) {
        fill(r, NULL, 429, TINKC_E_RATE_LIMIT, "no memory for this request at present");
    } else if (arena->used_bytes > arena->max_bytes / 2) {
        fill(r, NULL, 413, TINKC_E_LIMIT, "the request is too large");
    } else {
        fill(r, NULL, 503, TINKC_E_NOMEM, "out of memory");
    }
    return false;
}

bool ca_is_ignored(const ca_reader *r, tk_str name)
{
    tk_str rest = r->how->ignore;
    while (rest.p != NULL) {
        tk_str word = tk_str_trim(tk_str_cut(&rest, ','));
        if (word.n > 0 && tk_str_eq(word, name)) {
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

const tk_json *ca_get(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type != TK_JSON_NULL ? value : NULL;
}

bool ca_word_in(const char *names, tk_str word)
{
    tk_str rest = tk_str_of(names);
    while (rest.p != NULL) {
        if (tk_str_eq(tk_str_cut(&rest, ' '), word)) {
            return true;
        }
    }
    return false;
}

bool ca_only(ca_reader *r, const ca_at *at, const tk_json *value, const char *names)
{
    if (value == NULL || value->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, value, "an object");
    }
    if (value->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        if (member->value.type != TK_JSON_NULL && !ca_word_in(names, member->key)) {
            char key[64];
            (void)snprintf(key, sizeof(key), TK_STR_FMT, TK_STR_ARG(member->key));
            return ca_refuse_member(r, at, key, "is not supported here");
        }
    }
    return true;
}

bool ca_to_bool(ca_reader *r, const ca_at *at, const tk_json *v, bool *out)
{
    if (v == NULL || v->type != TK_JSON_BOOL) {
        return ca_refuse_type(r, at, v, "a boolean");
    }
    *out = v->as.boolean;
    return true;
}

bool ca_to_str(ca_reader *r, const ca_at *at, const tk_json *v, tk_str *out)
{
    if (v == NULL || v->type != TK_JSON_STRING) {
        return ca_refuse_type(r, at, v, "a string");
    }
    *out = v->as.string;
    return true;
}

bool ca_to_size(ca_reader *r, const ca_at *at, const tk_json *v, size_t min, size_t max,
                size_t *out)
{
    uint64_t value;
    int64_t negative;
    if (!tk_json_to_u64(v, &value)) {
        if (!tk_json_to_i64(v, &negative)) {
            return ca_refuse_type(r, at, v, "an integer");
        }
        return ca_refuse(r, at, "is %lld, not from %zu to %zu", (long long)negative, min,
                         max);
    }
    if (value < min || value > max) {
        return ca_refuse(r, at, "is %llu, not from %zu to %zu", (unsigned long long)value,
                         min, max);
    }
    *out = (size_t)value;
    return true;
}

bool ca_to_double(ca_reader *r, const ca_at *at, const tk_json *v, double *out)
{
    return tk_json_to_double(v, out) || ca_refuse_type(r, at, v, "a number");
}

bool ca_to_array(ca_reader *r, const ca_at *at, const tk_json *v, size_t max, size_t *n)
{
    if (v == NULL || !tk_json_is_array(v)) {
        return ca_refuse_type(r, at, v, "an array");
    }
    *n = tk_json_len(v);
    return *n <= max || ca_refuse(r, at, "has more than %zu items", max);
}

bool ca_member_str(ca_reader *r, const ca_at *at, const tk_json *object, const char *key,
                   tk_str *out)
{
    const tk_json *value = ca_get(object, key);
    const ca_at here = {at, key, 0};
    return value == NULL || ca_to_str(r, &here, value, out);
}

bool ca_need_str(ca_reader *r, const ca_at *at, const tk_json *object, const char *key,
                 tk_str *out)
{
    const ca_at here = {at, key, 0};
    return ca_to_str(r, &here, ca_get(object, key), out);
}

bool ca_to_ids(ca_reader *r, const ca_at *at, const tk_json *v, const int32_t **ids,
               size_t *n)
{
    size_t len = 0;
    if (!ca_to_array(r, at, v, TK_CA_BODY_BYTES, &len)) {
        return false;
    }
    int32_t *out = tk_arena_array(&r->out->arena, len + 1, sizeof(*out));
    if (out == NULL) {
        return ca_refuse_memory(r);
    }
    for (size_t i = 0; i < len; i++) {
        const tk_json item = tk_json_at(v, i);
        int64_t id;
        if (!tk_json_to_i64(&item, &id) || id < 0 || id > INT32_MAX) {
            const ca_at here = {at, NULL, i};
            return ca_refuse(r, &here, "is not a token id");
        }
        out[i] = (int32_t)id;
    }
    *ids = out;
    *n = len;
    return true;
}

/* ---- objects for templates ---- */

tk_json ca_json_str(tk_str text)
{
    return (tk_json){.type = TK_JSON_STRING, .as.string = text};
}

tk_json ca_json_bool(bool value)
{
    return (tk_json){.type = TK_JSON_BOOL, .as.boolean = value};
}

bool ca_object_new(ca_reader *r, ca_object *object, size_t cap)
{
    object->members = tk_arena_array(&r->out->arena, cap, sizeof(*object->members));
    object->n = 0;
    object->cap = cap;
    return object->members != NULL || ca_refuse_memory(r);
}

void ca_object_put(ca_object *object, const char *key, tk_json value)
{
    if (object->n < object->cap) {
        object->members[object->n++] = (tk_json_member){tk_str_of(key), value};
    }
}

tk_json ca_object_json(const ca_object *object)
{
    tk_json out = {.type = TK_JSON_OBJECT};
    out.as.object.members = object->members;
    out.as.object.n = object->n;
    return out;
}

bool ca_add_message(ca_reader *r, const ca_at *at, const ca_object *message)
{
    tk_chat *chat = &r->out->chat;
    if (chat->n >= TK_CA_MESSAGES_MAX) {
        return ca_refuse(r, at, "there are more than %zu messages",
                         (size_t)TK_CA_MESSAGES_MAX);
    }
    if (chat->n == chat->cap) {
        size_t cap = chat->cap * 2 + 8;
        tk_json *grown = tk_realloc_array(chat->messages, cap, sizeof(*grown));
        if (grown == NULL) {
            return ca_refuse_memory(r);
        }
        chat->messages = grown;
        chat->cap = cap;
    }
    chat->messages[chat->n++] = ca_object_json(message);
    return true;
}

bool ca_set_var(ca_reader *r, const char *name, tk_json value)
{
    tk_chat *chat = &r->out->chat;
    for (size_t i = 0; i < chat->n_vars; i++) {
        if (tk_str_is(chat->vars[i].name, name)) {
            return true;
        }
    }
    if (chat->n_vars == chat->cap_vars) {
        size_t cap = chat->cap_vars * 2 + 8;
        tk_jinja_var *grown = tk_realloc_array(chat->vars, cap, sizeof(*grown));
        if (grown == NULL) {
            return ca_refuse_memory(r);
        }
        chat->vars = grown;
        chat->cap_vars = cap;
    }
    tk_json *copy = tk_arena_alloc(&r->out->arena, sizeof(*copy));
    if (copy == NULL) {
        return ca_refuse_memory(r);
    }
    *copy = value;
    chat->vars[chat->n_vars++] = (tk_jinja_var){tk_str_of(name), copy};
    return true;
}

/* Templates read either name: Qwen, GLM and others the first, DeepSeek, Kimi and Granite
 * the second. */
bool ca_set_thinking(ca_reader *r, bool on)
{
    return ca_set_var(r, "enable_thinking", ca_json_bool(on)) &&
           ca_set_var(r, "thinking", ca_json_bool(on));
}

bool ca_set_effort(ca_reader *r, const ca_at *at, const tk_json *value)
{
    tk_str effort;
    if (!ca_to_str(r, at, value, &effort)) {
        return false;
    }
    if (!ca_word_in("none minimal low medium high xhigh max", effort)) {
        return ca_refuse(r, at, "is not none, minimal, low, medium, high, xhigh or max");
    }
    return ca_set_var(r, "reasoning_effort", *value) &&
           ca_set_thinking(r, !tk_str_is(effort, "none"));
}
