/* POST /v1/chat/completions: messages with roles, in the form that templates read. */
#include "chatapi/ca_read.h"

/* ---- messages ---- */

/* "developer" is the newer name of "system"; few templates know it. */
static tk_str template_role(tk_str role)
{
    return tk_str_is(role, "developer") ? TK_STR("system") : role;
}

static bool read_call(ca_reader *r, const ca_at *at, const tk_json *call, tk_json *out)
{
    tk_str id = {NULL, 0}, type = TK_STR("function"), name, text;
    const ca_at here = {at, "function", 0};
    const tk_json *function;
    tk_json arguments;
    if (!ca_only(r, at, call, "id type function index provider_specific_fields") ||
        !ca_member_str(r, at, call, "id", &id) ||
        !ca_member_str(r, at, call, "type", &type)) {
        return false;
    }
    if (!tk_str_is(type, "function")) {
        return ca_refuse_kind(r, at, type);
    }
    function = ca_get(call, "function");
    if (!ca_only(r, &here, function, "name arguments provider_specific_fields") ||
        !ca_need_str(r, &here, function, "name", &name)) {
        return false;
    }
    const tk_json *given = ca_get(function, "arguments");
    const ca_at there = {&here, "arguments", 0};
    if (given != NULL && given->type == TK_JSON_OBJECT) {
        arguments = *given;
    } else if (given == NULL) {
        arguments = (tk_json){.type = TK_JSON_OBJECT};
    } else if (!ca_to_str(r, &there, given, &text) ||
               !ca_parse_arguments(r, text, &arguments)) {
        return false;
    }
    return ca_make_call(r, id, name, arguments, out);
}

static bool read_calls(ca_reader *r, const ca_at *at, const tk_json *calls,
                       ca_object *message)
{
    size_t n = 0;
    if (calls == NULL) {
        return true;
    }
    if (!ca_to_array(r, at, calls, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    tk_json *items = tk_arena_array(&r->out->arena, n + 1, sizeof(*items));
    if (items == NULL) {
        return ca_refuse_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json call = tk_json_at(calls, i);
        if (!read_call(r, &here, &call, &items[i])) {
            return false;
        }
    }
    tk_json array = {.type = TK_JSON_ARRAY};
    array.as.array.items = items;
    array.as.array.n = n;
    if (n > 0) {
        ca_object_put(message, "tool_calls", array);
    }
    return true;
}

/* What only an answer has: reasoning and calls. */
static bool read_answer(ca_reader *r, const ca_at *at, const tk_json *from,
                        ca_object *message)
{
    static const char *const unsupported[] = {"audio", "function_call"};
    tk_str reasoning = {"", 0};
    const ca_at calls = {at, "tool_calls", 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(unsupported); i++) {
        if (ca_get(from, unsupported[i]) != NULL) {
            return ca_refuse_member(r, at, unsupported[i], "is not supported");
        }
    }
    if (!ca_member_str(r, at, from, "reasoning", &reasoning) ||
        !ca_member_str(r, at, from, "reasoning_content", &reasoning)) {
        return false;
    }
    if (reasoning.n > 0) {
        ca_object_put(message, "reasoning_content", ca_json_str(reasoning));
    }
    return read_calls(r, &calls, ca_get(from, "tool_calls"), message);
}

static const char *members_of(tk_str role)
{
    if (tk_str_is(role, "assistant")) {
        return "role content name tool_calls reasoning_content reasoning refusal "
               "annotations audio function_call provider_specific_fields cache_control";
    }
    if (tk_str_is(role, "tool")) {
        return "role content name tool_call_id cache_control";
    }
    bool is_plain = ca_word_in("system developer user", role);
    return is_plain ? "role content name cache_control" : NULL;
}

static bool read_content(ca_reader *r, const ca_at *at, const tk_json *from,
                         bool is_answer, tk_str *out)
{
    const tk_json *content = ca_get(from, "content");
    const ca_at here = {at, "content", 0};
    if (is_answer && content == NULL) {
        *out = TK_STR("");
        return ca_member_str(r, at, from, "refusal", out);
    }
    return ca_to_text(r, &here, content, is_answer ? "text refusal" : "text",
                      is_answer ? "" : "\n", out);
}

static bool read_message(ca_reader *r, const ca_at *at, const tk_json *from)
{
    tk_str role = {"", 0}, content, name = {NULL, 0}, id = {NULL, 0};
    const ca_at here = {at, "role", 0};
    ca_object message;
    if (from->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, from, "an object");
    }
    if (from->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (!ca_need_str(r, at, from, "role", &role)) {
        return false;
    }
    bool is_answer = tk_str_is(role, "assistant");
    if (members_of(role) == NULL) {
        return ca_refuse(r, &here, "'" TK_STR_FMT "' is not a role", TK_STR_ARG(role));
    }
    if (!ca_only(r, at, from, members_of(role)) ||
        !read_content(r, at, from, is_answer, &content) ||
        !ca_member_str(r, at, from, "name", &name) ||
        !ca_member_str(r, at, from, "tool_call_id", &id) ||
        !ca_object_new(r, &message, 6)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(template_role(role)));
    ca_object_put(&message, "content", ca_json_str(content));
    if (is_answer && !read_answer(r, at, from, &message)) {
        return false;
    }
    if (name.p != NULL) {
        ca_object_put(&message, "name", ca_json_str(name));
    }
    if (id.p != NULL) {
        ca_object_put(&message, "tool_call_id", ca_json_str(id));
    }
    return ca_add_message(r, at, &message);
}

static bool take_messages(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t n = 0;
    if (!ca_to_array(r, at, v, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json message = tk_json_at(v, i);
        if (!read_message(r, &here, &message)) {
            return false;
        }
    }
    return n > 0 || ca_refuse(r, at, "is empty");
}

/* ---- other fields ---- */

static bool take_logprobs(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->params.logprobs);
}

static bool take_modalities(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_json only = tk_json_at(v, 0);
    bool is_text = tk_json_len(v) == 1 && only.type == TK_JSON_STRING &&
                   tk_str_is(only.as.string, "text");
    return is_text || ca_refuse(r, at, "is not supported (only [\"text\"] is)");
}

static bool take_reasoning(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const ca_at effort = {at, "effort", 0}, enabled = {at, "enabled", 0};
    bool on = false;
    if (!ca_only(r, at, v, "effort enabled summary")) {
        return false;
    }
    const tk_json *value = ca_get(v, effort.key), *switched = ca_get(v, enabled.key);
    return (value == NULL || ca_set_effort(r, &effort, value)) &&
           (switched == NULL ||
            (ca_to_bool(r, &enabled, switched, &on) && ca_set_thinking(r, on)));
}

static bool take_documents(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t n = 0;
    return ca_to_array(r, at, v, TK_CA_MESSAGES_MAX, &n) &&
           ca_set_var(r, "documents", *v);
}

static bool take_adds(ca_reader *r, const ca_at *at, const tk_json *v)
{
    r->has_adds = true;
    return ca_to_bool(r, at, v, &r->adds_generation_prompt);
}

static bool take_continue(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->continue_final);
}

static const ca_field fields[] = {
    {"messages", take_messages},
    {"max_tokens", ca_take_max_tokens},
    {"max_completion_tokens", ca_take_max_tokens},
    {"stop", ca_take_stop},
    {"n", ca_take_n},
    {"logprobs", take_logprobs},
    {"top_logprobs", ca_take_top_logprobs},
    {"prompt_logprobs", ca_take_prompt_logprobs},
    {"return_token_ids", ca_take_return_token_ids},
    {"stream_options", ca_take_stream_options},
    {"tools", ca_take_tools},
    {"tool_choice", ca_take_tool_choice},
    {"parallel_tool_calls", ca_take_parallel},
    {"reasoning_effort", ca_set_effort},
    {"reasoning", take_reasoning},
    {"verbosity", ca_take_verbosity},
    {"documents", take_documents},
    {"add_generation_prompt", take_adds},
    {"continue_final_message", take_continue},
    {"chat_template_kwargs", ca_take_nothing}, /* read before the others */
    {"store", ca_take_nothing},
    {"safety_identifier", ca_take_nothing},
    {"prompt_cache_key", ca_take_nothing},
    {"prompt_cache_retention", ca_take_nothing},
    {"prompt_cache_options", ca_take_nothing},
    {"prediction", ca_take_nothing}, /* only makes an answer faster */
    {"response_format", ca_take_text_format},
    {"modalities", take_modalities},
    {"frequency_penalty", ca_take_only_zero},
    {"presence_penalty", ca_take_only_zero},
    {"logit_bias", ca_take_only_empty},
    {"functions", ca_take_only_empty},
    {"echo", ca_take_only_false},
    {"add_special_tokens", ca_take_only_false},
    {"return_tokens_as_token_ids", ca_take_only_false},
    {"include_reasoning", ca_take_only_true},
    {"function_call", ca_take_refused},
    {"audio", ca_take_refused},
    {"web_search_options", ca_take_refused},
    {"moderation", ca_take_refused},
    {"chat_template", ca_take_refused},
    {"structured_outputs", ca_take_refused},
    {"truncate_prompt_tokens", ca_take_refused},
    {"allowed_token_ids", ca_take_refused},
    {"bad_words", ca_take_refused},
    {"logits_processors", ca_take_refused},
    {NULL, NULL},
};

bool ca_read_chat(ca_reader *r, const tk_json *body)
{
    const ca_at messages = {NULL, "messages", 0};
    const ca_at adds = {NULL, "add_generation_prompt", 0};
    const ca_at goes_on = {NULL, "continue_final_message", 0};
    const tk_chat *chat = &r->out->chat;
    if (!ca_read_fields(r, body, fields)) {
        return false;
    }
    if (chat->n == 0) {
        return ca_refuse(r, &messages, "is missing");
    }
    if (r->has_adds && r->adds_generation_prompt == r->out->continue_final) {
        return ca_refuse(r, &adds, "must be the opposite of continue_final_message");
    }
    if (r->out->continue_final &&
        !tk_str_is(tk_chat_role(chat, chat->n - 1), "assistant")) {
        return ca_refuse(r, &goes_on, "the last message is not the assistant's");
    }
    return true;
}
