/* How a family of models writes reasoning and tool calls. The family is chosen from the
 * source of the chat template, or by name. Static tables. Thread: any. */
#ifndef CHATAPI_CA_FORMAT_H
#define CHATAPI_CA_FORMAT_H

#include "base/str.h"
#include "base/tk.h"

typedef enum ca_tools {
    CA_TOOLS_NONE,       /* calls are never looked for */
    CA_TOOLS_HERMES,     /* <tool_call>{"name": ..., "arguments": ...}</tool_call> */
    CA_TOOLS_QWEN_CODER, /* <tool_call><function=f><parameter=p>...</parameter> */
    CA_TOOLS_LLAMA3,     /* {"name": ..., "parameters": ...}, also after <|python_tag|> */
    CA_TOOLS_MISTRAL,    /* [TOOL_CALLS][{...}], and the newer [TOOL_CALLS]f[ARGS]{...} */
    CA_TOOLS_DEEPSEEK,
    CA_TOOLS_KIMI,
    CA_TOOLS_GLM,
    CA_TOOLS_HARMONY, /* <|channel|>... <|message|>... <|call|>; carries reasoning, too */
    CA_TOOLS_DSML     /* DeepSeek V3.2 and V4 */
} ca_tools;

typedef struct ca_format {
    ca_tools tools;
    tk_str think_open, think_close; /* around reasoning; empty = the family has none */
    bool is_thinking_prompted;      /* the generation prompt may end inside reasoning */
} ca_format;

/* Finds the family of a template. A template without tools gives CA_TOOLS_NONE. */
ca_format ca_format_detect(tk_str template_source);

/* Finds it by the name of --tool-format ("none", "hermes", "qwen-coder", "llama3",
 * "mistral", "deepseek", "kimi", "glm", "harmony", "dsml"). Keeps the reasoning of `format`.
 * Returns false, and changes nothing, for another name. */
TK_NODISCARD bool ca_format_named(ca_format *format, tk_str name);
const char *ca_format_name(ca_tools tools); /* static */
const char *ca_format_names(void);          /* all of them, for messages; static */

#endif
