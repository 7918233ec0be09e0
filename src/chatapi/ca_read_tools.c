/* Tools that are offered, the choice among them, and calls of earlier turns. All dialects
 * become OpenAI's function form, which is what templates read. */
#include <string.h>

#include "chatapi/ca_read.h"

/* ---- calls ---- */

bool ca_make_call(ca_reader *r, tk_str id, tk_str name, tk_json arguments, tk_json *out)
{
    ca_object function, call;
    if (!ca_object_new(r, &function, 2) || !ca_object_new(r, &call, 3)) {
        return false;
    }
    ca_object_put(&function, "name", ca_json_str(name));
    ca_object_put(&function, "arguments", arguments);
    if (id.p != NULL) {
        ca_object_put(&call, "id", ca_json_str(id));
    }
    ca_object_put(&call, "type", ca_json_str(TK_STR("function")));
    ca_object_put(&call, "function", ca_object_json(&function));
    *out = ca_object_json(&call);
    return true;
}

bool ca_parse_arguments(ca_reader *r, tk_str text, tk_json *out)
{
    static const tk_json_limits limits = {.max_depth = TK_CA_DEPTH, .keeps_kinds = true};
    tk_err err = TK_ERR_INIT;
    const tk_json *value = NULL;
    if (tk_str_trim(text).n == 0) { /* a call without arguments */
        *out = (tk_json){.type = TK_JSON_OBJECT};
        return true;
    }
    tinkc_code code =
        tk_json_parse(&value, &r->out->arena, text.p, text.n, &limits, &err);
    if (code == TINKC_E_NOMEM) {
        return ca_refuse_memory(r);
    }
    *out = code == TINKC_OK && value->type == TK_JSON_OBJECT ? *value : ca_json_str(text);
    return true;
}

/* ---- the tools of a request ---- */

bool ca_take_tools(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t n = 0;
    r->tools = v;
    return ca_to_array(r, at, v, TK_CA_TOOLS_MAX, &n);
}

bool ca_take_parallel(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_take_only_true(r, at, v);
}

static bool take_choice_word(ca_reader *r, const ca_at *at, tk_str word)
{
    r->is_choice_none = tk_str_is(word, "none");
    return r->is_choice_none || tk_str_is(word, "auto") ||
           ca_refuse(r, at, "'" TK_STR_FMT "' is not supported (only auto and none are)",
                     TK_STR_ARG(word));
}

bool ca_take_tool_choice(ca_reader *r, const ca_at *at, const tk_json *v)
{
    if (v->type == TK_JSON_STRING && r->out->dialect != CA_MESSAGES) {
        return take_choice_word(r, at, v->as.string);
    }
    if (v->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, v, "a string or an object");
    }
    tk_str type = {"", 0};
    if (r->out->dialect != CA_MESSAGES) {
        return ca_refuse(r, at, "a named tool is not supported (only auto and none are)");
    }
    const ca_at parallel = {at, "disable_parallel_tool_use", 0};
    if (v->as.object.n > TK_CA_MEMBERS_MAX || !ca_need_str(r, at, v, "type", &type)) {
        return r->fault->status != 0 ? false : ca_refuse(r, at, "has too many members");
    }
    const ca_at here = {at, "type", 0};
    const tk_json *value = ca_get(v, parallel.key);
    return take_choice_word(r, &here, type) &&
           ca_only(r, at, v, "type disable_parallel_tool_use") &&
           (value == NULL || ca_take_only_false(r, &parallel, value));
}

/* {"type": "function", "function": {...}} of what the three dialects write. */
static bool make_tool(ca_reader *r, const ca_at *at, const tk_json *from,
                      const char *schema, tk_json *out)
{
    ca_object function, tool;
    tk_str name = {"", 0}, about = {NULL, 0};
    const ca_at named = {at, "name", 0}, shaped = {at, schema, 0};
    const tk_json *parameters = ca_get(from, schema), *strict = ca_get(from, "strict");
    if (!ca_need_str(r, at, from, "name", &name) ||
        !ca_member_str(r, at, from, "description", &about)) {
        return false;
    }
    if (name.n == 0) {
        return ca_refuse(r, &named, "is empty");
    }
    if (parameters != NULL && parameters->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, &shaped, parameters, "an object");
    }
    if (strict != NULL && !ca_is_ignored(r, TK_STR("strict"))) {
        const ca_at here = {at, "strict", 0};
        if (!ca_take_only_false(r, &here, strict)) {
            return false;
        }
    }
    if (!ca_object_new(r, &function, 3) || !ca_object_new(r, &tool, 2)) {
        return false;
    }
    ca_object_put(&function, "name", ca_json_str(name));
    if (about.p != NULL) {
        ca_object_put(&function, "description", ca_json_str(about));
    }
    if (parameters != NULL) {
        ca_object_put(&function, "parameters", *parameters);
    }
    ca_object_put(&tool, "type", ca_json_str(TK_STR("function")));
    ca_object_put(&tool, "function", ca_object_json(&function));
    *out = ca_object_json(&tool);
    return true;
}

static bool read_function(ca_reader *r, const ca_at *at, const tk_json *tool,
                          tk_json *out)
{
    switch (r->out->dialect) {
    case CA_MESSAGES:
        return ca_only(r, at, tool,
                       "type name description input_schema cache_control strict "
                       "eager_input_streaming") &&
               make_tool(r, at, tool, "input_schema", out);
    case CA_RESPONSES:
        return ca_only(r, at, tool, "type name description parameters strict") &&
               make_tool(r, at, tool, "parameters", out);
    case CA_CHAT:
    case CA_COMPLETIONS:
        break;
    }
    const ca_at here = {at, "function", 0};
    const tk_json *function = ca_get(tool, "function");
    return ca_only(r, at, tool, "type function cache_control") &&
           ca_only(r, &here, function, "name description parameters strict") &&
           make_tool(r, &here, function, "parameters", out);
}

/* Reads one tool. *is_left_out: of a kind that the request said to ignore. */
static bool read_tool(ca_reader *r, const ca_at *at, const tk_json *tool, tk_json *out,
                      bool *is_left_out)
{
    bool is_messages = r->out->dialect == CA_MESSAGES;
    tk_str type = is_messages ? TK_STR("custom") : (tk_str){"", 0};
    if (tool->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, tool, "an object");
    }
    if (tool->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (is_messages ? !ca_member_str(r, at, tool, "type", &type)
                    : !ca_need_str(r, at, tool, "type", &type)) {
        return false;
    }
    if (tk_str_is(type, is_messages ? "custom" : "function")) {
        return read_function(r, at, tool, out);
    }
    *is_left_out = ca_is_ignored(r, type);
    return *is_left_out || ca_refuse_kind(r, at, type);
}

bool ca_finish_tools(ca_reader *r)
{
    size_t n = tk_json_len(r->tools), kept = 0;
    const ca_at tools = {NULL, "tools", 0};
    if (n == 0) {
        return true;
    }
    tk_json *items = tk_arena_array(&r->out->arena, n, sizeof(*items));
    if (items == NULL) {
        return ca_refuse_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at at = {&tools, NULL, i};
        const tk_json tool = tk_json_at(r->tools, i);
        bool is_left_out = false;
        if (!read_tool(r, &at, &tool, &items[kept], &is_left_out)) {
            return false;
        }
        kept += is_left_out ? 0 : 1;
    }
    if (kept == 0 || r->is_choice_none) {
        return true;
    }
    tk_json array = {.type = TK_JSON_ARRAY};
    array.as.array.items = items;
    array.as.array.n = kept;
    r->out->has_tools = true;
    return ca_set_var(r, "tools", array);
}
