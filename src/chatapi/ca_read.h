/* What the readers of all dialects share: paths for messages, values by name, objects for
 * templates, and the fields of sampling, of tools and of text.
 *
 * Every function that returns bool returns false after it has filled the fault. Values
 * point into the arena of the request. Thread: one at a time. */
#ifndef CHATAPI_CA_READ_H
#define CHATAPI_CA_READ_H

#include "chatapi/ca_request.h"

/* Where in the body a value is: a chain on the stack, written out only for a fault. */
typedef struct ca_at {
    const struct ca_at *up; /* NULL at the top */
    const char *key;        /* NULL: an index */
    size_t index;
} ca_at;

typedef struct ca_reader {
    ca_request *out;
    const ca_request_how *how;
    ca_fault *fault;
    const tk_json *tools; /* read when the choice among them is known */
    bool is_choice_none, adds_generation_prompt, has_adds;
} ca_reader;

/* Reads one field of the body. `at` names it. */
typedef bool (*ca_take)(ca_reader *r, const ca_at *at, const tk_json *value);

typedef struct ca_field {
    const char *name;
    ca_take take;
} ca_field;

/* Reads the body with the fields of a dialect and those that all of them have. Null is
 * absent. An unknown field is refused. */
TK_NODISCARD bool ca_read_fields(ca_reader *r, const tk_json *body,
                                 const ca_field *fields);

/* ---- faults ---- */

/* Fills the fault with the path of `at` and status 400. Returns false. */
bool ca_refuse(ca_reader *r, const ca_at *at, const char *format, ...) TK_PRINTF(3, 4);
bool ca_refuse_member(ca_reader *r, const ca_at *at, const char *key, const char *text);
bool ca_refuse_type(ca_reader *r, const ca_at *at, const tk_json *value,
                    const char *wanted);
bool ca_refuse_memory(ca_reader *r); /* the arena could not give what was asked for */
bool ca_is_ignored(const ca_reader *r, tk_str name); /* by x-tinkc-ignore */

/* ---- values ---- */

const tk_json *ca_get(const tk_json *object, const char *key); /* NULL for null, too */

/* Checks that it is an object whose members, but null ones, are all named in `names`
 * (words with single spaces). */
TK_NODISCARD bool ca_only(ca_reader *r, const ca_at *at, const tk_json *value,
                          const char *names);
TK_NODISCARD bool ca_to_bool(ca_reader *r, const ca_at *at, const tk_json *v, bool *out);
TK_NODISCARD bool ca_to_str(ca_reader *r, const ca_at *at, const tk_json *v, tk_str *out);
TK_NODISCARD bool ca_to_size(ca_reader *r, const ca_at *at, const tk_json *v, size_t min,
                             size_t max, size_t *out);
TK_NODISCARD bool ca_to_double(ca_reader *r, const ca_at *at, const tk_json *v,
                               double *out);
TK_NODISCARD bool ca_to_array(ca_reader *r, const ca_at *at, const tk_json *v, size_t max,
                              size_t *n);
/* Member `key` as text; *out is untouched when it is absent. */
TK_NODISCARD bool ca_member_str(ca_reader *r, const ca_at *at, const tk_json *object,
                                const char *key, tk_str *out);
/* The same, refused when absent. */
TK_NODISCARD bool ca_need_str(ca_reader *r, const ca_at *at, const tk_json *object,
                              const char *key, tk_str *out);

/* Reads an array of token ids into the arena. */
TK_NODISCARD bool ca_to_ids(ca_reader *r, const ca_at *at, const tk_json *v,
                            const int32_t **ids, size_t *n);

/* ---- objects for templates ---- */

typedef struct ca_object {
    tk_json_member *members;
    size_t n, cap;
} ca_object;

tk_json ca_json_str(tk_str text);
tk_json ca_json_bool(bool value);
TK_NODISCARD bool ca_object_new(ca_reader *r, ca_object *object, size_t cap);
void ca_object_put(ca_object *object, const char *key, tk_json value);
tk_json ca_object_json(const ca_object *object);

/* Adds a message to the conversation. */
TK_NODISCARD bool ca_add_message(ca_reader *r, const ca_at *at, const ca_object *message);
/* Sets a variable of the template unless chat_template_kwargs has one of that name. */
TK_NODISCARD bool ca_set_var(ca_reader *r, const char *name, tk_json value);
/* Sets reasoning_effort, and with it enable_thinking and thinking. */
TK_NODISCARD bool ca_set_effort(ca_reader *r, const ca_at *at, const tk_json *value);
TK_NODISCARD bool ca_set_thinking(ca_reader *r, bool on);

/* ---- text ---- */

/* Texts that become one. */
typedef struct ca_joiner {
    tk_str *parts;
    size_t n, cap;
} ca_joiner;

TK_NODISCARD bool ca_join_add(ca_reader *r, ca_joiner *joiner, tk_str text);
TK_NODISCARD bool ca_join_end(ca_reader *r, ca_joiner *joiner, const char *between,
                              tk_str *out);

/* Reads text, or an array of text parts whose types are named in `types` ("text
 * input_text"), as one text. Other parts are refused by the name of their type. */
TK_NODISCARD bool ca_to_text(ca_reader *r, const ca_at *at, const tk_json *v,
                             const char *types, const char *between, tk_str *out);
/* Refuses a part, block or item of a type that is not read. */
bool ca_refuse_kind(ca_reader *r, const ca_at *at, tk_str type);
TK_NODISCARD bool ca_word_in(const char *names, tk_str word);

/* ---- tools ---- */

/* Makes {"id", "type": "function", "function": {"name", "arguments"}}. */
TK_NODISCARD bool ca_make_call(ca_reader *r, tk_str id, tk_str name, tk_json arguments,
                               tk_json *out);
/* Arguments as the value of a template: text that is a JSON object becomes the object. */
TK_NODISCARD bool ca_parse_arguments(ca_reader *r, tk_str text, tk_json *out);
/* Sets the variable "tools" from the field, unless the choice is none. */
TK_NODISCARD bool ca_finish_tools(ca_reader *r);

/* ---- fields that dialects share ---- */

bool ca_take_nothing(ca_reader *r, const ca_at *at, const tk_json *v); /* no effect */
bool ca_take_refused(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_only_zero(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_only_one(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_only_true(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_only_false(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_only_empty(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_model(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_stream(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_stream_options(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_max_tokens(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_stop(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_n(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_top_logprobs(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_prompt_logprobs(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_return_token_ids(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_text_format(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_verbosity(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_tools(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_tool_choice(ca_reader *r, const ca_at *at, const tk_json *v);
bool ca_take_parallel(ca_reader *r, const ca_at *at, const tk_json *v);
const ca_field *ca_shared_fields(void); /* of sampling; ends with a NULL name */

/* ---- dialects: reads the body ---- */

TK_NODISCARD bool ca_read_chat(ca_reader *r, const tk_json *body);
TK_NODISCARD bool ca_read_text(ca_reader *r, const tk_json *body);
TK_NODISCARD bool ca_read_responses(ca_reader *r, const tk_json *body);
TK_NODISCARD bool ca_read_messages(ca_reader *r, const tk_json *body);

#endif
