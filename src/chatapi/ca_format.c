/* Families by what their templates write. A template is source text with the markers of
 * its family as literals; the first rule that fits decides, the narrower rules first. */
#include "chatapi/ca_format.h"

#include <string.h>

static const struct {
    ca_tools tools;
    const char *name;
    const char *parts[3];  /* all of them are in the template; NULL = nothing */
    const char *others[2]; /* and none of these */
} rules[] = {
    {CA_TOOLS_HARMONY, "harmony", {"<|channel|>", "<|message|>", "to="}, {NULL}},
    {CA_TOOLS_KIMI,
     "kimi",
     {"<|tool_calls_section_begin|>", "<|tool_call_begin|>"},
     {NULL}},
    {CA_TOOLS_DEEPSEEK, "deepseek", {"<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"}, {NULL}},
    {CA_TOOLS_GLM, "glm", {"<tool_call>", "<arg_key>", "<arg_value>"}, {NULL}},
    {CA_TOOLS_QWEN_CODER,
     "qwen-coder",
     {"<tool_call>", "<function=", "<parameter="},
     {NULL}},
    {CA_TOOLS_MISTRAL, "mistral", {"[TOOL_CALLS]"}, {NULL}},
    {CA_TOOLS_HERMES,
     "hermes",
     {"<tool_call>", "arguments", "tool_calls"},
     {"<tool_calls>", "<invoke"}},
    {CA_TOOLS_LLAMA3,
     "llama3",
     {"<|start_header_id|>ipython", "\"parameters\": ", "tool_calls"},
     {"<function="}},
    {CA_TOOLS_LLAMA3, /* Llama 4 */
     "llama3",
     {"<|header_start|>ipython", "\"parameters\": ", "tool_calls"},
     {"<function="}},
    {CA_TOOLS_DSML, "dsml", {"｜DSML｜", "invoke name=", "string="}, {NULL}},
    {CA_TOOLS_NONE, "none", {NULL}, {NULL}},
};

static size_t find(tk_str text, tk_str part, size_t from)
{
    for (size_t i = from; i + part.n <= text.n; i++) {
        const char *p = memchr(text.p + i, part.p[0], text.n - part.n + 1 - i);
        if (p == NULL) {
            break;
        }
        i = (size_t)(p - text.p);
        if (memcmp(p, part.p, part.n) == 0) {
            return i;
        }
    }
    return text.n;
}

static bool has(tk_str text, const char *part)
{
    return find(text, tk_str_of(part), 0) < text.n;
}

static bool fits(size_t rule, tk_str source)
{
    bool is_fit = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(rules[rule].parts) && is_fit; i++) {
        is_fit = rules[rule].parts[i] == NULL || has(source, rules[rule].parts[i]);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(rules[rule].others) && is_fit; i++) {
        is_fit = rules[rule].others[i] == NULL || !has(source, rules[rule].others[i]);
    }
    return is_fit;
}

/* Whether the template, where it writes the generation prompt, opens reasoning without
 * closing it again. */
static bool opens_reasoning(tk_str source, tk_str open, tk_str close)
{
    size_t at = 0;
    for (size_t next = 0; next < source.n;) {
        next = find(source, TK_STR("add_generation_prompt"), next);
        at = next < source.n ? next : at;
        next++;
    }
    for (at = find(source, open, at); at < source.n; at = find(source, open, at)) {
        at += open.n;
        while (at < source.n &&
               (strchr(" \n\t", source.p[at]) != NULL ||
                (source.p[at] == '\\' && at + 1 < source.n && source.p[at + 1] == 'n'))) {
            at += source.p[at] == '\\' ? 2 : 1;
        }
        if (source.n - at < close.n || memcmp(source.p + at, close.p, close.n) != 0) {
            return true;
        }
    }
    return false;
}

ca_format ca_format_detect(tk_str template_source)
{
    static const struct {
        tk_str open, close;
    } pairs[] = {
        {{"[THINK]", 7}, {"[/THINK]", 8}},
        {{"◁think▷", sizeof("◁think▷") - 1}, {"◁/think▷", sizeof("◁/think▷") - 1}},
        {{"<think>", 7}, {"</think>", 8}},
    };
    ca_format format = {.tools = CA_TOOLS_NONE};
    size_t rule = 0;
    while (!fits(rule, template_source)) {
        rule++;
    }
    format.tools = rules[rule].tools;
    if (format.tools == CA_TOOLS_HARMONY) {
        format.think_open = TK_STR("<|channel|>analysis<|message|>");
        format.think_close = TK_STR("<|end|>");
        return format;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(pairs) && format.think_open.n == 0; i++) {
        if (find(template_source, pairs[i].open, 0) < template_source.n ||
            find(template_source, pairs[i].close, 0) < template_source.n) {
            format.think_open = pairs[i].open;
            format.think_close = pairs[i].close;
            format.is_thinking_prompted =
                opens_reasoning(template_source, pairs[i].open, pairs[i].close);
        }
    }
    return format;
}

bool ca_format_named(ca_format *format, tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rules); i++) {
        if (tk_str_is(name, rules[i].name)) {
            format->tools = rules[i].tools;
            return true;
        }
    }
    return false;
}

const char *ca_format_name(ca_tools tools)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rules); i++) {
        if (rules[i].tools == tools) {
            return rules[i].name;
        }
    }
    return "none";
}

const char *ca_format_names(void)
{
    return "none, hermes, qwen-coder, llama3, mistral, deepseek, kimi, glm, harmony, dsml";
}
