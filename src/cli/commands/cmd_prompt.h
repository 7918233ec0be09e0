/* The prompt of `tinkc sample`: text, tokens or a conversation, read from the command
 * line, a file or standard input, and encoded for a model. */
#ifndef CLI_CMD_PROMPT_H
#define CLI_CMD_PROMPT_H

#include "cli/frame/cmd_model.h"

typedef enum cmd_prompt_kind {
    CMD_PROMPT_TEXT,
    CMD_PROMPT_TOKENS, /* needs no tokenizer */
    CMD_PROMPT_CHAT
} cmd_prompt_kind;

typedef struct cmd_prompt {
    cmd_prompt_kind kind;
    char *text; /* owned: TEXT, or the JSON of CHAT */
    size_t text_n;
    int32_t *tokens; /* owned: TOKENS */
    size_t tokens_n;
    tinkc_chat *chat; /* owned: CHAT */
} cmd_prompt;

/* Reads the prompt from the operand, --file, --tokens, --messages or standard input.
 * Returns CMD_OK, or another exit code after an error line; the caller disposes of the
 * prompt in either case. */
int cmd_prompt_read(cmd_prompt *prompt, const cmd_args *args);
void cmd_prompt_dispose(cmd_prompt *prompt);

/* Encodes the prompt for the model; the caller frees *out. Returns the same codes. */
int cmd_prompt_encode(tinkc_model_input **out, const cmd_prompt *prompt,
                      cmd_model *model);

#endif
