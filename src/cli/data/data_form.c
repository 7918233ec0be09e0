/* Walks the messages and writes them again, with content and arguments replaced.
 * Needs: text */
#include "cli/data/data_form.h"

#include <string.h>

#define LOOKED_FOR 32 /* tools, messages, and calls of a message: more would take long */

/* ---- content ---- */

/* Writes the texts of the parts as one text. */
static void put_joined(tk_json_writer *w, const tk_json *parts)
{
    tk_buf text;
    tk_buf_init(&text, w->out->max);
    for (size_t i = 0; i < tk_json_len(parts); i++) {
        const tk_json part = tk_json_at(parts, i);
        const tk_json *own = tk_json_get(&part, "text");
        if (own != NULL && own->type == TK_JSON_STRING) {
            tk_buf_put(&text, own->as.string.p, own->as.string.n);
        }
    }
    if (text.failure != TINKC_OK) {
        tk_buf_fail(w->out, text.failure);
    }
    tk_json_put_str(w, tk_buf_str(&text));
    tk_buf_dispose(&text);
}

/* ---- tool calls ---- */

/* Writes arguments that are JSON in a text as the object that the text has. */
static void put_arguments(tk_json_writer *w, const tk_json *arguments)
{
    tk_arena arena;
    const tk_json *inner = NULL;
    tinkc_code code = TINKC_E_PARSE;
    tk_arena_init(&arena, 0);
    if (arguments->type == TK_JSON_STRING) {
        code = tk_json_parse(&inner, &arena, arguments->as.string.p,
                             arguments->as.string.n, NULL, NULL);
    }
    if (code == TINKC_E_NOMEM) {
        tk_buf_fail(w->out, TINKC_E_NOMEM);
    }
    bool is_object = code == TINKC_OK && inner->type == TK_JSON_OBJECT;
    tk_json_put_value(w, is_object ? inner : arguments);
    tk_arena_dispose(&arena);
}

/* Writes the call of a function, {"name", "arguments"}, or an object that has it. */
static void put_call(tk_json_writer *w, const tk_json *call, bool is_function)
{
    if (call->type != TK_JSON_OBJECT) {
        tk_json_put_value(w, call);
        return;
    }
    tk_json_begin_object(w);
    for (size_t i = 0; i < call->as.object.n; i++) {
        const tk_json_member *m = &call->as.object.members[i];
        tk_json_key(w, m->key);
        if (is_function && tk_str_is(m->key, "arguments")) {
            put_arguments(w, &m->value);
        } else if (!is_function && tk_str_is(m->key, "function")) {
            put_call(w, &m->value, true);
        } else {
            tk_json_put_value(w, &m->value);
        }
    }
    tk_json_end_object(w);
}

static void put_calls(tk_json_writer *w, const tk_json *calls)
{
    tk_json_begin_array(w);
    for (size_t i = 0; i < tk_json_len(calls); i++) {
        const tk_json call = tk_json_at(calls, i);
        put_call(w, &call, false);
    }
    tk_json_end_array(w);
}

/* ---- conversations ---- */

static void put_message(tk_json_writer *w, const tk_json *message, data_form form)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < message->as.object.n; i++) {
        const tk_json_member *m = &message->as.object.members[i];
        tk_json_key(w, m->key);
        if (tk_str_is(m->key, "content") && tk_json_is_array(&m->value) &&
            (form & DATA_FORM_PARTS) == 0) {
            put_joined(w, &m->value);
        } else if (tk_str_is(m->key, "tool_calls") && tk_json_is_array(&m->value) &&
                   (form & DATA_FORM_TEXT_ARGS) == 0) {
            put_calls(w, &m->value);
        } else {
            tk_json_put_value(w, &m->value);
        }
    }
    tk_json_end_object(w);
}

tinkc_code data_form_write(tk_buf *out, const data_example *example, data_form form)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("messages"));
    tk_json_begin_array(&w);
    for (size_t i = 0; i < tk_json_len(example->messages); i++) {
        const tk_json message = tk_json_at(example->messages, i);
        put_message(&w, &message, form);
    }
    tk_json_end_array(&w);
    for (size_t i = 0; example->vars != NULL && i < example->vars->as.object.n; i++) {
        const tk_json_member *m = &example->vars->as.object.members[i];
        tk_json_key(&w, m->key);
        tk_json_put_value(&w, &m->value);
    }
    tk_json_end_object(&w);
    return tk_json_finish(&w, NULL);
}

/* ---- what is there, and what is missing ---- */

void data_form_features(data_features *out, const data_example *example)
{
    *out = (data_features){.has_tools = tk_json_get(example->vars, "tools") != NULL};
    for (size_t i = 0; i < tk_json_len(example->messages); i++) {
        const tk_json message = tk_json_at(example->messages, i);
        const tk_json *content = tk_json_get(&message, "content");
        const tk_json *role = tk_json_get(&message, "role");
        out->has_parts = out->has_parts || tk_json_is_array(content);
        out->has_tools = out->has_tools || tk_json_get(&message, "tool_calls") != NULL ||
                         (role != NULL && role->type == TK_JSON_STRING &&
                          tk_str_is(role->as.string, "tool"));
    }
}

/* Returns the name of the function of a tool or a call; {NULL, 0}: it has none. */
static tk_str name_of(const tk_json *call)
{
    const tk_json *function = tk_json_get(call, "function");
    const tk_json *name = tk_json_get(function != NULL ? function : call, "name");
    bool is_text = name != NULL && name->type == TK_JSON_STRING;
    return is_text ? name->as.string : (tk_str){NULL, 0};
}

/* Returns whether the text has the word `times` times. */
static bool mentions(tk_str text, tk_str word, size_t times)
{
    while (times > 0 && word.n > 0) {
        const char *found = memmem(text.p, text.n, word.p, word.n);
        if (found == NULL) {
            return false;
        }
        text.n -= (size_t)(found - text.p) + word.n;
        text.p = found + word.n;
        times--;
    }
    return true;
}

/* Returns whether the text names all tools or calls; a call is named in addition to its
 * tool. */
static bool mentions_all(tk_str text, const tk_json *calls, const tk_json *tools)
{
    for (size_t i = 0; i < TK_MIN(tk_json_len(calls), (size_t)LOOKED_FOR); i++) {
        const tk_json call = tk_json_at(calls, i);
        tk_str name = name_of(&call);
        size_t times = 1;
        for (size_t k = 0; k < TK_MIN(tk_json_len(tools), (size_t)LOOKED_FOR); k++) {
            const tk_json tool = tk_json_at(tools, k);
            times = tk_str_eq(name_of(&tool), name) ? 2 : times;
        }
        if (!mentions(text, name, times)) {
            return false;
        }
    }
    return true;
}

bool data_form_has_parts(const data_example *example, tk_str text)
{
    size_t n = TK_MIN(tk_json_len(example->messages), (size_t)LOOKED_FOR);
    for (size_t i = 0; i < n; i++) {
        const tk_json message = tk_json_at(example->messages, i);
        const tk_json *content = tk_json_get(&message, "content");
        for (size_t k = 0; k < TK_MIN(tk_json_len(content), (size_t)LOOKED_FOR); k++) {
            const tk_json part = tk_json_at(content, k);
            const tk_json *own = tk_json_get(&part, "text");
            tk_str word = own != NULL && own->type == TK_JSON_STRING
                              ? tk_str_trim(own->as.string)
                              : (tk_str){NULL, 0};
            if (word.n > 0 && memmem(text.p, text.n, word.p, word.n) == NULL) {
                return false;
            }
        }
    }
    return true;
}

const char *data_form_missing(const data_example *example, tk_str text)
{
    const tk_json *tools = tk_json_get(example->vars, "tools");
    size_t n = TK_MIN(tk_json_len(example->messages), (size_t)LOOKED_FOR);
    if (!mentions_all(text, tools, NULL)) {
        return "the tools";
    }
    for (size_t i = 0; i < n; i++) {
        const tk_json message = tk_json_at(example->messages, i);
        if (!mentions_all(text, tk_json_get(&message, "tool_calls"), tools)) {
            return "the tool calls";
        }
    }
    return NULL;
}
