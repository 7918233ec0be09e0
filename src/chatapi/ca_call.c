/* Outputs as messages, and messages in canonical form: one line of JSON with the members
 * role, text, reasoning and calls in this order, each left out when it is empty. */
#include "chatapi/ca_call.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void ca_output_init(ca_output *output)
{
    *output = (ca_output){.n_calls = 0};
    tk_buf_init(&output->text, TK_CA_OUTPUT_BYTES);
    tk_buf_init(&output->reasoning, TK_CA_OUTPUT_BYTES);
}

void ca_output_dispose(ca_output *output)
{
    for (size_t i = 0; i < output->n_calls; i++) {
        tk_free(output->calls[i].name);
        tk_free(output->calls[i].arguments);
        tk_free(output->calls[i].id);
    }
    tk_free(output->calls);
    tk_buf_dispose(&output->text);
    tk_buf_dispose(&output->reasoning);
    *output = (ca_output){.n_calls = 0};
}

static void write_call(tk_json_writer *w, const ca_call *call, const char *id)
{
    const tk_json *arguments = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&arguments, &arena, call->arguments,
                                    strlen(call->arguments), TK_JSON_AS_WRITTEN, NULL);
    tk_json_begin_object(w);
    if (id != NULL) {
        tk_json_key(w, TK_STR("id"));
        tk_json_put_str(w, tk_str_of(id));
    }
    tk_json_key(w, TK_STR("type"));
    tk_json_put_str(w, TK_STR("function"));
    tk_json_key(w, TK_STR("function"));
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("name"));
    tk_json_put_str(w, tk_str_of(call->name));
    tk_json_key(w, TK_STR("arguments"));
    if (code == TINKC_OK) {
        tk_json_put_value(w, arguments);
    } else {
        tk_buf_fail(w->out, code);
    }
    tk_json_end_object(w);
    tk_json_end_object(w);
    tk_arena_dispose(&arena);
}

void ca_output_write(tk_buf *out, const ca_output *output, const char *const *ids)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("role"));
    tk_json_put_str(&w, TK_STR("assistant"));
    tk_json_key(&w, TK_STR("content"));
    tk_json_put_str(&w, tk_buf_str(&output->text));
    if (output->has_reasoning) {
        tk_json_key(&w, TK_STR("reasoning_content"));
        tk_json_put_str(&w, tk_buf_str(&output->reasoning));
    }
    if (output->n_calls > 0) {
        tk_json_key(&w, TK_STR("tool_calls"));
        tk_json_begin_array(&w);
        for (size_t i = 0; i < output->n_calls; i++) {
            write_call(&w, &output->calls[i], ids != NULL ? ids[i] : NULL);
        }
        tk_json_end_array(&w);
    }
    tk_json_end_object(&w);
}

/* ---- canonical form ---- */

static int by_key(const void *a, const void *b)
{
    const tk_json_member *x = *(const tk_json_member *const *)a;
    const tk_json_member *y = *(const tk_json_member *const *)b;
    int order = tk_str_cmp(x->key, y->key);
    return order != 0 ? order : x < y ? -1 : 1; /* equal keys stay in their order */
}

static void put_canonical(tk_json_writer *w, const tk_json *value);

/* Members by key; of equal keys the last one, as everywhere. */
static void put_object(tk_json_writer *w, const tk_json *object)
{
    size_t n = object->as.object.n;
    const tk_json_member **sorted = tk_array(n, sizeof(const tk_json_member *));
    if (sorted == NULL) {
        tk_buf_fail(w->out, TINKC_E_NOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &object->as.object.members[i];
    }
    qsort(sorted, n, sizeof(const tk_json_member *), by_key);
    tk_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || tk_str_cmp(sorted[i]->key, sorted[i + 1]->key) != 0) {
            tk_json_key(w, sorted[i]->key);
            put_canonical(w, &sorted[i]->value);
        }
    }
    tk_json_end_object(w);
    tk_free(sorted);
}

/* A number without a fraction is written as an integer: a client in JavaScript sends 1.0
 * back as 1. */
static void put_canonical(tk_json_writer *w, const tk_json *value)
{
    int64_t whole;
    if (value->type == TK_JSON_OBJECT) {
        put_object(w, value);
    } else if (tk_json_is_array(value)) {
        tk_json_begin_array(w);
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            put_canonical(w, &item);
        }
        tk_json_end_array(w);
    } else if (value->type == TK_JSON_REAL && tk_json_to_i64(value, &whole)) {
        tk_json_put_i64(w, whole);
    } else {
        tk_json_put_value(w, value);
    }
}

static tk_str text_of(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    bool is_text = value != NULL && value->type == TK_JSON_STRING;
    return is_text ? value->as.string : (tk_str){NULL, 0};
}

static bool is_reasoning_part(const tk_json *part)
{
    tk_str type = text_of(part, "type");
    return tk_str_is(type, "thinking") || tk_str_is(type, "reasoning");
}

/* The text of a part; "" when it has none. */
static tk_str part_text(const tk_json *part)
{
    tk_str thinking = text_of(part, "thinking");
    return part->type == TK_JSON_STRING ? part->as.string
           : thinking.n > 0             ? thinking
                                        : text_of(part, "text");
}

static void put_if_any(tk_json_writer *w, tk_str key, const tk_buf *text)
{
    if (text->failure != TINKC_OK) {
        tk_buf_fail(w->out, text->failure);
    } else if (text->n > 0) {
        tk_json_key(w, key);
        tk_json_put_str(w, tk_buf_str(text));
    }
}

/* Joins the texts of the content, or its reasoning. */
static void join(tk_buf *out, const tk_json *content, bool is_reasoning)
{
    if (content->type == TK_JSON_STRING && !is_reasoning) {
        tk_buf_put(out, content->as.string.p, content->as.string.n);
    }
    for (size_t i = 0; i < tk_json_len(content); i++) {
        tk_json part = tk_json_at(content, i);
        tk_str text = part_text(&part);
        if (is_reasoning_part(&part) == is_reasoning) {
            tk_buf_put(out, text.p, text.n);
        }
    }
}

/* Parts that are not text (images), and content of another kind, count as they are. */
static void put_others(tk_json_writer *w, const tk_json *content)
{
    bool is_open = false;
    bool is_list = tk_json_is_array(content);
    bool is_other =
        !is_list && content->type != TK_JSON_STRING && content->type != TK_JSON_NULL;
    for (size_t i = 0; i < (is_list ? tk_json_len(content) : is_other); i++) {
        tk_json part = is_list ? tk_json_at(content, i) : *content;
        bool is_text = part.type == TK_JSON_STRING ||
                       tk_json_get(&part, "text") != NULL || is_reasoning_part(&part);
        if (is_list && is_text) {
            continue;
        }
        if (!is_open) {
            tk_json_key(w, TK_STR("parts"));
            tk_json_begin_array(w);
            is_open = true;
        }
        put_canonical(w, &part);
    }
    if (is_open) {
        tk_json_end_array(w);
    }
}

/* Arguments are an object, or its text, as OpenAI's API has them. */
static void put_arguments(tk_json_writer *w, const tk_json *arguments)
{
    const tk_json *parsed = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    if (arguments->type == TK_JSON_STRING) {
        tk_str text = arguments->as.string;
        tinkc_code code = tk_json_parse(&parsed, &arena, text.p, text.n, NULL, NULL);
        if (code == TINKC_E_NOMEM) {
            tk_buf_fail(w->out, code);
        }
    }
    bool is_object = parsed != NULL && parsed->type == TK_JSON_OBJECT;
    put_canonical(w, is_object ? parsed : arguments);
    tk_arena_dispose(&arena);
}

static void put_calls(tk_json_writer *w, const tk_json *calls)
{
    tk_json_key(w, TK_STR("calls"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < tk_json_len(calls); i++) {
        tk_json call = tk_json_at(calls, i);
        const tk_json *function = tk_json_get(&call, "function");
        function = function != NULL ? function : &call;
        const tk_json *arguments = tk_json_get(function, "arguments");
        tk_json_begin_array(w);
        tk_json_put_str(w, text_of(function, "name"));
        if (arguments != NULL && arguments->type != TK_JSON_NULL) {
            put_arguments(w, arguments);
        }
        tk_json_end_array(w);
    }
    tk_json_end_array(w);
}

static void join_reasoning(tk_buf *out, const tk_json *message, const tk_json *content)
{
    static const char *const keys[] = {"reasoning_content", "reasoning", "thinking"};
    for (size_t i = 0; i < TK_ARRAY_LEN(keys) && out->n == 0; i++) {
        tk_str text = text_of(message, keys[i]);
        tk_buf_put(out, text.p, text.n);
    }
    if (out->n == 0) {
        join(out, content, true);
    }
}

void ca_call_canonical(tk_buf *out, const tk_json *message, bool skip_reasoning)
{
    static const tk_json none = {.type = TK_JSON_NULL};
    const tk_json *content = tk_json_get(message, "content");
    const tk_json *calls = tk_json_get(message, "tool_calls");
    tk_json_writer w;
    tk_buf text, reasoning;
    content = content != NULL ? content : &none;
    tk_buf_init(&text, TK_CA_OUTPUT_BYTES);
    tk_buf_init(&reasoning, TK_CA_OUTPUT_BYTES);
    join(&text, content, false);
    if (!skip_reasoning) {
        join_reasoning(&reasoning, message, content);
    }
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("role"));
    tk_json_put_str(&w, text_of(message, "role"));
    put_if_any(&w, TK_STR("text"), &text);
    put_others(&w, content);
    put_if_any(&w, TK_STR("reasoning"), &reasoning);
    if (tk_json_len(calls) > 0) {
        put_calls(&w, calls);
    }
    tk_json_end_object(&w);
    tk_buf_putc(out, '\n');
    tk_buf_dispose(&text);
    tk_buf_dispose(&reasoning);
}
