/* Shared by the commands that sample: the model that --model names, with its tokenizer
 * and its chat template, the options of sampling, and text of a model on standard output.
 */
#ifndef CLI_CMD_MODEL_H
#define CLI_CMD_MODEL_H

#include <tinkc/chat.h>
#include <tinkc/sampling.h>
#include <tinkc/stream.h>
#include <tinkc/tokenizer.h>

#include "cli/frame/cmd.h"

#define CMD_MODEL_STOPS_MAX 16

typedef struct cmd_model {
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_tokenizer *tokenizer; /* NULL: not needed, and not found */
    tinkc_chat_template *tpl;   /* NULL: there is none */
    int32_t end;                /* token that ends an answer; -1: not known */
    const char *stops[CMD_MODEL_STOPS_MAX];
    tinkc_sampling_params params; /* by the options */
} cmd_model;

/* Opens what --model names: "tinker://..." or a base model. `needs_text`: without a
 * tokenizer it is a failure. Other codes than CMD_OK after having said what is wrong; the
 * caller closes it in any case. */
int cmd_model_open(cmd_model *model, const cmd_args *args, bool needs_text);
void cmd_model_close(cmd_model *model);

/* A chat template, which conversations need; CMD_FAILED after having said so. */
int cmd_model_need_template(const cmd_model *model);

/* The prompt of a conversation: rendered, with the start of the answer; the caller frees
 * *out. The model's params then stop at the end of an answer, unless --stop was given. */
tinkc_code cmd_model_render(tinkc_model_input **out, cmd_model *model,
                            const tinkc_chat *chat, tinkc_error **error);

/* Tokens as text, without special tokens; the caller frees it with tinkc_text_free. NULL
 * without a tokenizer. */
char *cmd_model_decode(const cmd_model *model, const int32_t *tokens, size_t n,
                       size_t *n_out);

/* Text of a model to standard output, at once. On a terminal without what could control
 * it, and ASCII where the locale has nothing else; elsewhere byte for byte. False when
 * nobody reads any more. */
bool cmd_model_put(const char *text, size_t n);

/* Rows for a table of options. */
#define CMD_MODEL_OPTIONS                                                                 \
    {"model", 'm', CMD_TEXT, "NAME", "A base model, or weights (tinker://...).", false},  \
        {"max-tokens", 0, CMD_INT, "N", "Tokens to sample at most.", false},              \
        {"temperature", 0, CMD_NUMBER, "T", "0 takes the likeliest (default 1).", false}, \
        {"top-p", 0, CMD_NUMBER, "P", "Only the likeliest up to this sum (1).", false},   \
        {"top-k", 0, CMD_INT, "K", "Only the K likeliest (-1: all).", false},             \
        {"seed", 0, CMD_INT, "N", "The same seed gives the same text.", false},           \
    {                                                                                     \
        "stop", 0, CMD_TEXT, "TEXT", "Stop at this text.", true                           \
    }

#endif
