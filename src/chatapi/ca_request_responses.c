/* POST /v1/responses: instructions and input items become messages. Items of one turn of
 * the assistant (reasoning, message, calls) become one message. */
#include <string.h>

#include "chatapi/ca_read.h"
#include "chatapi/ca_seal.h"

/* The assistant's turn while its items are read. */
typedef struct turn {
    bool is_open;
    ca_joiner text, reasoning;
    tk_json *calls;
    size_t n_calls, cap_calls;
} turn;

typedef struct items {
    turn turn;
    ca_joiner system; /* the instructions in front, which become one message */
    bool has_begun;   /* a message that is not of the system came */
} items;

/* ---- messages ---- */

static bool add_plain(ca_reader *r, const ca_at *at, tk_str role, tk_str text)
{
    ca_object message;
    if (!ca_object_new(r, &message, 2)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(role));
    ca_object_put(&message, "content", ca_json_str(text));
    return ca_add_message(r, at, &message);
}

static bool end_system(ca_reader *r, const ca_at *at, items *s)
{
    tk_str text;
    bool is_empty = s->has_begun || s->system.n == 0;
    s->has_begun = true;
    return is_empty || (ca_join_end(r, &s->system, "\n\n", &text) &&
                        add_plain(r, at, TK_STR("system"), text));
}

static bool end_turn(ca_reader *r, const ca_at *at, turn *t)
{
    ca_object message;
    tk_str text, reasoning;
    if (!t->is_open) {
        return true;
    }
    if (!ca_object_new(r, &message, 4) || !ca_join_end(r, &t->text, "", &text) ||
        !ca_join_end(r, &t->reasoning, "", &reasoning)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(TK_STR("assistant")));
    ca_object_put(&message, "content", ca_json_str(text));
    if (reasoning.n > 0) {
        ca_object_put(&message, "reasoning_content", ca_json_str(reasoning));
    }
    if (t->n_calls > 0) {
        tk_json calls = {.type = TK_JSON_ARRAY};
        calls.as.array.items = t->calls;
        calls.as.array.n = t->n_calls;
        ca_object_put(&message, "tool_calls", calls);
    }
    *t = (turn){.is_open = false};
    return ca_add_message(r, at, &message);
}

static bool add_call(ca_reader *r, turn *t, const tk_json *call)
{
    if (t->n_calls == t->cap_calls) {
        size_t cap = t->cap_calls * 2 + 4;
        tk_json *grown = tk_arena_array(&r->out->arena, cap, sizeof(*grown));
        if (grown == NULL) {
            return ca_refuse_memory(r);
        }
        if (t->n_calls > 0) {
            memcpy(grown, t->calls, t->n_calls * sizeof(*grown));
        }
        t->calls = grown;
        t->cap_calls = cap;
    }
    t->calls[t->n_calls++] = *call;
    t->is_open = true;
    return true;
}

/* ---- items ---- */

static bool read_message(ca_reader *r, const ca_at *at, const tk_json *item, items *s)
{
    tk_str role = {"", 0}, text = {"", 0};
    const ca_at who = {at, "role", 0}, here = {at, "content", 0};
    if (!ca_only(r, at, item, "type id role content status phase") ||
        !ca_need_str(r, at, item, "role", &role)) {
        return false;
    }
    bool is_answer = tk_str_is(role, "assistant");
    bool is_system = ca_word_in("system developer", role);
    if (!is_answer && !is_system && !tk_str_is(role, "user")) {
        return ca_refuse(r, &who, "'" TK_STR_FMT "' is not a role", TK_STR_ARG(role));
    }
    if (!ca_to_text(r, &here, ca_get(item, "content"),
                    is_answer ? "output_text input_text text refusal" : "input_text text",
                    is_answer ? "" : "\n", &text)) {
        return false;
    }
    if (is_system && !s->has_begun) {
        return ca_join_add(r, &s->system, text);
    }
    if (is_answer) {
        s->turn.is_open = true;
        return end_system(r, at, s) && ca_join_add(r, &s->turn.text, text);
    }
    return end_system(r, at, s) && end_turn(r, at, &s->turn) &&
           add_plain(r, at, is_system ? TK_STR("system") : role, text);
}

static bool read_call(ca_reader *r, const ca_at *at, const tk_json *item, items *s)
{
    tk_str id = {"", 0}, name = {"", 0}, text = {"", 0};
    tk_json arguments, call;
    return ca_only(r, at, item, "type id call_id name arguments status caller") &&
           ca_need_str(r, at, item, "call_id", &id) &&
           ca_need_str(r, at, item, "name", &name) &&
           ca_need_str(r, at, item, "arguments", &text) && end_system(r, at, s) &&
           ca_parse_arguments(r, text, &arguments) &&
           ca_make_call(r, id, name, arguments, &call) && add_call(r, &s->turn, &call);
}

static bool read_result(ca_reader *r, const ca_at *at, const tk_json *item, items *s)
{
    tk_str id = {"", 0}, text = {"", 0};
    const ca_at here = {at, "output", 0};
    ca_object message;
    if (!ca_only(r, at, item, "type id call_id output status caller") ||
        !ca_need_str(r, at, item, "call_id", &id) ||
        !ca_to_text(r, &here, ca_get(item, "output"), "input_text text output_text", "\n",
                    &text) ||
        !end_system(r, at, s) || !end_turn(r, at, &s->turn) ||
        !ca_object_new(r, &message, 3)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(TK_STR("tool")));
    ca_object_put(&message, "content", ca_json_str(text));
    ca_object_put(&message, "tool_call_id", ca_json_str(id));
    return ca_add_message(r, at, &message);
}

/* The text of an item: what it shows, else what this server sealed. */
static bool read_reasoning(ca_reader *r, const ca_at *at, const tk_json *item, items *s)
{
    tk_str text = {"", 0}, sealed = {"", 0};
    const ca_at here = {at, "content", 0}, hidden = {at, "encrypted_content", 0};
    const ca_at summary = {at, "summary", 0};
    if (!ca_only(r, at, item, "type id summary content encrypted_content status") ||
        !ca_member_str(r, at, item, hidden.key, &sealed)) {
        return false;
    }
    const tk_json *content = ca_get(item, "content");
    if (content != NULL &&
        !ca_to_text(r, &here, content, "reasoning_text text", "", &text)) {
        return false;
    }
    if (text.n == 0 && sealed.n > 0) {
        ca_unsealed how = ca_unseal(&r->out->arena, sealed, &text);
        if (how == CA_UNSEAL_NOMEM) {
            return ca_refuse_memory(r);
        }
        if (how != CA_UNSEAL_OK) {
            return ca_refuse(r, &hidden, "is not of this server");
        }
    }
    if (text.n == 0 && tk_json_len(ca_get(item, "summary")) > 0) {
        return ca_refuse(r, &summary,
                         "reasoning that is only summed up is not supported");
    }
    s->turn.is_open = true;
    return end_system(r, at, s) && ca_join_add(r, &s->turn.reasoning, text);
}

static bool read_item(ca_reader *r, const ca_at *at, const tk_json *item, items *s)
{
    tk_str type = TK_STR("message");
    if (item->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, item, "an object");
    }
    if (item->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (!ca_member_str(r, at, item, "type", &type)) {
        return false;
    }
    if (tk_str_is(type, "message")) {
        return read_message(r, at, item, s);
    }
    if (tk_str_is(type, "function_call")) {
        return read_call(r, at, item, s);
    }
    if (tk_str_is(type, "function_call_output")) {
        return read_result(r, at, item, s);
    }
    if (tk_str_is(type, "reasoning")) {
        return read_reasoning(r, at, item, s);
    }
    return ca_refuse_kind(r, at, type);
}

static bool take_input(ca_reader *r, const ca_at *at, const tk_json *v)
{
    items s = {.has_begun = false};
    size_t n = 0;
    tk_str instructions = {NULL, 0};
    if (!ca_member_str(r, NULL, r->out->body, "instructions", &instructions) ||
        (instructions.n > 0 && !ca_join_add(r, &s.system, instructions))) {
        return false;
    }
    if (v->type == TK_JSON_STRING) {
        return end_system(r, at, &s) && add_plain(r, at, TK_STR("user"), v->as.string);
    }
    if (!tk_json_is_array(v)) {
        return ca_refuse_type(r, at, v, "a string or an array of items");
    }
    if (!ca_to_array(r, at, v, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json item = tk_json_at(v, i);
        if (!read_item(r, &here, &item, &s)) {
            return false;
        }
    }
    if (n == 0) {
        return ca_refuse(r, at, "is empty");
    }
    return end_system(r, at, &s) && end_turn(r, at, &s.turn);
}

/* ---- other fields ---- */

static bool take_reasoning(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const ca_at effort = {at, "effort", 0};
    if (!ca_only(r, at, v, "effort summary generate_summary")) {
        return false;
    }
    const tk_json *given = ca_get(v, effort.key);
    return given == NULL || ca_set_effort(r, &effort, given);
}

static bool take_text(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const ca_at format = {at, "format", 0}, verbosity = {at, "verbosity", 0};
    if (!ca_only(r, at, v, "format verbosity")) {
        return false;
    }
    const tk_json *shape = ca_get(v, format.key), *length = ca_get(v, verbosity.key);
    return (shape == NULL || ca_take_text_format(r, &format, shape)) &&
           (length == NULL || ca_take_verbosity(r, &verbosity, length));
}

static bool take_include(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t n = 0;
    if (!ca_to_array(r, at, v, TK_CA_MEMBERS_MAX, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json item = tk_json_at(v, i);
        tk_str name = {"", 0};
        if (!ca_to_str(r, &here, &item, &name)) {
            return false;
        }
        if (tk_str_is(name, "reasoning.encrypted_content")) {
            r->out->seals_reasoning = true;
        } else if (tk_str_is(name, "message.output_text.logprobs")) {
            r->out->params.logprobs = true;
        } else if (!ca_word_in("web_search_call.action.sources web_search_call.results "
                               "code_interpreter_call.outputs "
                               "computer_call_output.output.image_url "
                               "file_search_call.results message.input_image.image_url",
                               name)) { /* of tools and parts that cannot occur */
            return ca_refuse(r, &here, "'" TK_STR_FMT "' is not supported",
                             TK_STR_ARG(name));
        }
    }
    return true;
}

static bool take_truncation(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_str value = {"", 0};
    return ca_to_str(r, at, v, &value) &&
           (tk_str_is(value, "disabled") ||
            ca_refuse(r, at, "is not supported (only disabled is)"));
}

static const ca_field fields[] = {
    {"input", take_input},
    {"instructions", ca_take_nothing}, /* read with the input */
    {"max_output_tokens", ca_take_max_tokens},
    {"stream_options", ca_take_stream_options},
    {"tools", ca_take_tools},
    {"tool_choice", ca_take_tool_choice},
    {"parallel_tool_calls", ca_take_parallel},
    {"reasoning", take_reasoning},
    {"text", take_text},
    {"include", take_include},
    {"top_logprobs", ca_take_top_logprobs},
    {"stop", ca_take_stop},
    {"chat_template_kwargs", ca_take_nothing}, /* read before the others */
    {"store", ca_take_nothing},
    {"client_metadata", ca_take_nothing},
    {"safety_identifier", ca_take_nothing},
    {"prompt_cache_key", ca_take_nothing},
    {"prompt_cache_retention", ca_take_nothing},
    {"prompt_cache_options", ca_take_nothing},
    {"max_tool_calls", ca_take_nothing}, /* of tools that the server runs */
    {"truncation", take_truncation},
    {"background", ca_take_only_false},
    {"context_management", ca_take_only_empty},
    {"previous_response_id", ca_take_refused},
    {"conversation", ca_take_refused},
    {"prompt", ca_take_refused},
    {"moderation", ca_take_refused},
    {"image", ca_take_refused},
    {"access_programs", ca_take_refused},
    {NULL, NULL},
};

bool ca_read_responses(ca_reader *r, const tk_json *body)
{
    const ca_at input = {NULL, "input", 0};
    if (!ca_read_fields(r, body, fields)) {
        return false;
    }
    r->out->wants_usage = true;
    return r->out->chat.n > 0 || ca_refuse(r, &input, "is missing");
}
