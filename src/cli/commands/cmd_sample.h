/* Shared by the files of `tinkc sample`. */
#ifndef CLI_CMD_SAMPLE_H
#define CLI_CMD_SAMPLE_H

#include "cli/frame/cmd_model.h"

/* What is to be continued, before a model has been asked. */
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

/* From the operand, --file, --tokens, --messages or standard input. Exit codes after
 * having said what is wrong; the caller disposes of it in any case. */
int cmd_prompt_read(cmd_prompt *prompt, const cmd_args *args);
void cmd_prompt_dispose(cmd_prompt *prompt);

/* As tokens for the model; the caller frees *out. */
int cmd_prompt_encode(tinkc_model_input **out, const cmd_prompt *prompt,
                      cmd_model *model);

/* Shows samples as --format asks. */
int cmd_sample_show(const cmd_model *model, const tinkc_samples *samples,
                    const cmd_args *args);

/* Samples one continuation and shows it while it comes. */
int cmd_sample_stream(cmd_model *model, const tinkc_model_input *input,
                      const cmd_args *args);

#endif
