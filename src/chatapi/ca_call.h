/* What a model wrote, taken apart: text, reasoning and tool calls. Also the canonical form
 * of a message, by which two messages are compared. Pure. Thread: one at a time. */
#ifndef CHATAPI_CA_CALL_H
#define CHATAPI_CA_CALL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/* A tool call that the model made. */
typedef struct ca_call {
    char *name;      /* owned, NUL-terminated */
    char *arguments; /* owned: the text of a JSON object, as the model wrote it */
    char *id;        /* owned: the id that the model gave it (Kimi, Mistral), or NULL */
} ca_call;

/* Everything of one answer. Zeroed = empty. */
typedef struct ca_output {
    tk_buf text;      /* for the user, without markers and special tokens */
    tk_buf reasoning; /* without its markers; empty when there is none */
    ca_call *calls;   /* owned */
    size_t n_calls, cap_calls;
    bool has_reasoning;
    bool is_malformed; /* a call did not parse: its whole text is in `text` */
} ca_output;

void ca_output_init(ca_output *output);    /* empty, with its limits */
void ca_output_dispose(ca_output *output); /* accepts a zeroed one */

/* Writes the message that this output is, in the form that chat templates read:
 * {"role": "assistant", "content": text, "reasoning_content": ..., "tool_calls": [{"type":
 * "function", "function": {"name": ..., "arguments": {...}}}]}; "id" too when `ids` has
 * one for each call. Failure is the buffer's. */
void ca_output_write(tk_buf *out, const ca_output *output, const char *const *ids);

/* Appends the canonical form of a message: the same bytes for messages that mean the same
 * to a model. Role, text (parts joined), reasoning unless `skip_reasoning`, calls by name
 * and arguments (objects with sorted keys, numbers as JSON writes them), results of tools
 * by text; ids that agents make up, names of parts and null or absent members do not
 * count. Failure is the buffer's. */
void ca_call_canonical(tk_buf *out, const tk_json *message, bool skip_reasoning);

#endif
