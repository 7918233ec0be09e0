/* POST /v1/messages and /v1/messages/count_tokens: Anthropic's blocks become messages with
 * tool calls, results of tools and reasoning. */
#include "chatapi/ca_read.h"

/* A message while its blocks are read. */
typedef struct draft {
    ca_joiner text, reasoning;
    tk_json *calls; /* room for as many as there are blocks */
    size_t n_calls;
    bool is_answer;
} draft;

/* A line that Claude Code puts in front for Anthropic's accounts; it differs with every
 * request and is not for the model. */
static bool is_billing(tk_str text)
{
    return tk_str_has_prefix(text, "x-anthropic-billing-header");
}

static bool flush(ca_reader *r, const ca_at *at, tk_str role, draft *d)
{
    ca_object message;
    tk_str text, reasoning;
    if (!ca_object_new(r, &message, 4) ||
        !ca_join_end(r, &d->reasoning, "", &reasoning) ||
        !ca_join_end(r, &d->text, d->is_answer ? "" : "\n", &text)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(role));
    ca_object_put(&message, "content", ca_json_str(text));
    if (reasoning.n > 0) {
        ca_object_put(&message, "reasoning_content", ca_json_str(reasoning));
    }
    if (d->n_calls > 0) {
        tk_json calls = {.type = TK_JSON_ARRAY};
        calls.as.array.items = d->calls;
        calls.as.array.n = d->n_calls;
        ca_object_put(&message, "tool_calls", calls);
    }
    return ca_add_message(r, at, &message);
}

/* ---- blocks ---- */

static bool read_text(ca_reader *r, const ca_at *at, const tk_json *block, draft *d)
{
    tk_str text = {"", 0};
    const tk_json *citations = ca_get(block, "citations");
    if (citations != NULL && tk_json_len(citations) > 0) {
        return ca_refuse_member(r, at, "citations", "is not supported");
    }
    return ca_only(r, at, block, "type text cache_control citations") &&
           ca_need_str(r, at, block, "text", &text) &&
           (is_billing(text) || ca_join_add(r, &d->text, text));
}

static bool read_thinking(ca_reader *r, const ca_at *at, const tk_json *block, draft *d)
{
    tk_str text = {"", 0};
    return ca_only(r, at, block, "type thinking signature cache_control") &&
           ca_need_str(r, at, block, "thinking", &text) &&
           ca_join_add(r, &d->reasoning, text);
}

static bool read_tool_use(ca_reader *r, const ca_at *at, const tk_json *block, draft *d)
{
    tk_str id = {"", 0}, name = {"", 0};
    const ca_at here = {at, "input", 0};
    if (!ca_only(r, at, block, "type id name input cache_control caller") ||
        !ca_need_str(r, at, block, "id", &id) ||
        !ca_need_str(r, at, block, "name", &name)) {
        return false;
    }
    const tk_json *input = ca_get(block, "input");
    if (input == NULL || input->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, &here, input, "an object");
    }
    return ca_make_call(r, id, name, *input, &d->calls[d->n_calls++]);
}

static bool read_tool_result(ca_reader *r, const ca_at *at, const tk_json *block)
{
    tk_str id = {"", 0}, text = {"", 0};
    const ca_at here = {at, "content", 0}, failed = {at, "is_error", 0};
    bool is_error = false;
    ca_object message;
    if (!ca_only(r, at, block, "type tool_use_id content is_error cache_control") ||
        !ca_need_str(r, at, block, "tool_use_id", &id)) {
        return false;
    }
    const tk_json *content = ca_get(block, "content"), *error = ca_get(block, failed.key);
    if ((content != NULL && !ca_to_text(r, &here, content, "text", "\n", &text)) ||
        (error != NULL && !ca_to_bool(r, &failed, error, &is_error)) ||
        !ca_object_new(r, &message, 3)) {
        return false;
    }
    ca_object_put(&message, "role", ca_json_str(TK_STR("tool")));
    ca_object_put(&message, "content", ca_json_str(text));
    ca_object_put(&message, "tool_call_id", ca_json_str(id));
    return ca_add_message(r, at, &message);
}

static bool read_block(ca_reader *r, const ca_at *at, const tk_json *block, tk_str role,
                       draft *d)
{
    tk_str type = {"", 0};
    if (block->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, block, "an object");
    }
    if (block->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (!ca_need_str(r, at, block, "type", &type)) {
        return false;
    }
    if (tk_str_is(type, "text")) {
        return read_text(r, at, block, d);
    }
    if (d->is_answer && tk_str_is(type, "thinking")) {
        return read_thinking(r, at, block, d);
    }
    if (d->is_answer && tk_str_is(type, "tool_use")) {
        return read_tool_use(r, at, block, d);
    }
    if (tk_str_is(role, "user") && tk_str_is(type, "tool_result")) {
        return (d->text.n == 0 || flush(r, at, role, d)) &&
               read_tool_result(r, at, block);
    }
    return ca_refuse_kind(r, at, type);
}

static bool read_blocks(ca_reader *r, const ca_at *at, const tk_json *blocks, tk_str role)
{
    size_t n = 0, before = r->out->chat.n;
    draft d = {.is_answer = tk_str_is(role, "assistant")};
    if (!ca_to_array(r, at, blocks, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    d.calls = tk_arena_array(&r->out->arena, n + 1, sizeof(*d.calls));
    if (d.calls == NULL) {
        return ca_refuse_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json block = tk_json_at(blocks, i);
        if (!read_block(r, &here, &block, role, &d)) {
            return false;
        }
    }
    if (d.text.n == 0 && r->out->chat.n > before) {
        return true; /* only results of tools */
    }
    return flush(r, at, role, &d);
}

static bool read_message(ca_reader *r, const ca_at *at, const tk_json *from)
{
    tk_str role = {"", 0};
    const ca_at here = {at, "content", 0}, who = {at, "role", 0};
    if (!ca_only(r, at, from, "role content cache_control") ||
        !ca_need_str(r, at, from, "role", &role)) {
        return false;
    }
    if (!ca_word_in("user assistant system", role)) {
        return ca_refuse(r, &who, "'" TK_STR_FMT "' is not a role", TK_STR_ARG(role));
    }
    const tk_json *content = ca_get(from, "content");
    if (content == NULL || content->type != TK_JSON_STRING) {
        return content == NULL || !tk_json_is_array(content)
                   ? ca_refuse_type(r, &here, content, "a string or an array of blocks")
                   : read_blocks(r, &here, content, role);
    }
    draft d = {.is_answer = tk_str_is(role, "assistant")};
    return ca_join_add(r, &d.text, content->as.string) && flush(r, at, role, &d);
}

/* ---- fields ---- */

static bool read_system(ca_reader *r, const tk_json *system)
{
    const ca_at at = {NULL, "system", 0};
    draft d = {.is_answer = false};
    size_t n = 0;
    if (system->type == TK_JSON_STRING) {
        return ca_join_add(r, &d.text, system->as.string) &&
               flush(r, &at, TK_STR("system"), &d);
    }
    if (!tk_json_is_array(system)) {
        return ca_refuse_type(r, &at, system, "a string or an array of blocks");
    }
    if (!ca_to_array(r, &at, system, TK_CA_MESSAGES_MAX, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {&at, NULL, i};
        const tk_json block = tk_json_at(system, i);
        if (!read_block(r, &here, &block, TK_STR("system"), &d)) {
            return false;
        }
    }
    return d.text.n == 0 || flush(r, &at, TK_STR("system"), &d);
}

static bool take_messages(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t n = 0;
    const tk_json *system = ca_get(r->out->body, "system");
    if (system != NULL && !read_system(r, system)) {
        return false;
    }
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

static bool take_thinking(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_str type = {"", 0};
    size_t budget = 0;
    const ca_at here = {at, "type", 0}, limit = {at, "budget_tokens", 0};
    if (!ca_only(r, at, v, "type budget_tokens display") ||
        !ca_need_str(r, at, v, "type", &type)) {
        return false;
    }
    if (!ca_word_in("enabled disabled adaptive", type)) {
        return ca_refuse(r, &here, "is not enabled, disabled or adaptive");
    }
    const tk_json *given = ca_get(v, limit.key);
    return (given == NULL || ca_to_size(r, &limit, given, 1, INT32_MAX, &budget)) &&
           ca_set_thinking(r, !tk_str_is(type, "disabled"));
}

static bool take_output_config(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const ca_at effort = {at, "effort", 0};
    if (!ca_only(r, at, v, "effort")) {
        return false;
    }
    const tk_json *given = ca_get(v, effort.key);
    return given == NULL || ca_set_effort(r, &effort, given);
}

/* Edits that the server makes to the history: only the one that keeps everything. */
static bool take_management(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const ca_at edits = {at, "edits", 0};
    size_t n = 0;
    if (!ca_only(r, at, v, "edits")) {
        return false;
    }
    const tk_json *given = ca_get(v, edits.key);
    if (given == NULL) {
        return true;
    }
    if (!ca_to_array(r, &edits, given, TK_CA_MEMBERS_MAX, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {&edits, NULL, i};
        const tk_json edit = tk_json_at(given, i);
        tk_str type = {"", 0};
        if (!ca_only(r, &here, &edit, "type keep") ||
            !ca_need_str(r, &here, &edit, "type", &type)) {
            return false;
        }
        const tk_json *keep = ca_get(&edit, "keep");
        if (!tk_str_is(type, "clear_thinking_20251015") || keep == NULL ||
            keep->type != TK_JSON_STRING || !tk_str_is(keep->as.string, "all")) {
            return ca_refuse_kind(r, &here, type);
        }
    }
    return true;
}

static const ca_field fields[] = {
    {"messages", take_messages},
    {"system", ca_take_nothing}, /* read with the messages */
    {"max_tokens", ca_take_max_tokens},
    {"stop_sequences", ca_take_stop},
    {"tools", ca_take_tools},
    {"tool_choice", ca_take_tool_choice},
    {"thinking", take_thinking},
    {"output_config", take_output_config},
    {"context_management", take_management},
    {"chat_template_kwargs", ca_take_nothing}, /* read before the others */
    {"cache_control", ca_take_nothing},
    {"speed", ca_take_nothing},
    {"inference_geo", ca_take_nothing},
    {"user_profile_id", ca_take_nothing},
    {"workspace_id", ca_take_nothing},
    {"diagnostics", ca_take_nothing},
    {"mcp_servers", ca_take_only_empty},
    {"container", ca_take_refused},
    {"fallbacks", ca_take_refused},
    {"compaction", ca_take_refused},
    {"thread", ca_take_refused},
    {NULL, NULL},
};

bool ca_read_messages(ca_reader *r, const tk_json *body)
{
    const ca_at messages = {NULL, "messages", 0}, limit = {NULL, "max_tokens", 0};
    const tk_chat *chat = &r->out->chat;
    if (!ca_read_fields(r, body, fields)) {
        return false;
    }
    if (chat->n == 0) {
        return ca_refuse(r, &messages, "is missing");
    }
    if (!r->out->params.has_max_tokens && !r->how->is_count) {
        return ca_refuse(r, &limit, "is missing");
    }
    /* A conversation that ends with the assistant is continued there. */
    const tk_json *last = &chat->messages[chat->n - 1];
    r->out->continue_final = tk_str_is(tk_chat_role(chat, chat->n - 1), "assistant") &&
                             tk_json_get(last, "tool_calls") == NULL;
    r->out->wants_usage = true;
    return true;
}
