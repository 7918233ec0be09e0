/* Shared by the commands that sample: the model that --model names, with its tokenizer
 * and chat template, the options of sampling, and the output of sampled text. */
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
    char *name; /* owned: what --model means, a base model or a path */
    tinkc_sampling *sampling;
    tinkc_tokenizer *tokenizer; /* NULL: not needed and not found */
    tinkc_chat_template *tpl;   /* NULL: there is none */
    int32_t end;                /* token that ends an answer; -1: unknown */
    const char *stops[CMD_MODEL_STOPS_MAX];
    tinkc_sampling_params params; /* from the options */
} cmd_model;

/* Opens what --model means (cmd_resolve.h); without it, the only model that is served. With `needs_text` or
 * --tokenizer a missing tokenizer is a failure. The params stop at the end token of the
 * tokenizer, unless --stop or --ignore-end was given: not every server does so itself.
 * Returns CMD_OK, or another exit code after an error line; the caller closes the model
 * in either case. */
int cmd_model_open(cmd_model *model, const cmd_args *args, bool needs_text);
void cmd_model_close(cmd_model *model, int result); /* the command's exit code */

/* Opens what `typed` means in place of this model, which stays when that fails or when `check`
 * does not return CMD_OK for it. Returns CMD_OK, or another exit code after an error
 * line. */
int cmd_model_switch(cmd_model *model, const cmd_args *args, const char *typed,
                     int (*check)(const cmd_model *model));

/* Checks that the model has a chat template, which conversations need. Returns CMD_FAILED
 * after an error line. */
int cmd_model_need_template(const cmd_model *model);

/* Renders a conversation as a prompt that ends with the start of the answer. The caller
 * frees *out. */
tinkc_code cmd_model_render(tinkc_model_input **out, cmd_model *model,
                            const tinkc_chat *chat, tinkc_error **error);

/* Returns tokens as text, without special tokens; the caller frees it with
 * tinkc_text_free. NULL without a tokenizer. */
char *cmd_model_decode(const cmd_model *model, const int32_t *tokens, size_t n,
                       size_t *n_out);

/* Writes text of a model to standard output at once: byte for byte, or on a terminal
 * without control characters and in ASCII where the locale is not UTF-8. Returns false
 * when standard output is closed. */
bool cmd_model_put(const char *text, size_t n);

/* Rows for a table of options. */
#define CMD_MODEL_OPTIONS                                                                  \
    {"model",                                                                              \
     'm',                                                                                  \
     CMD_TEXT,                                                                             \
     "NAME",                                                                               \
     "Model, checkpoint (NAME, NAME@STEP, tinker://...), or DIR with --local.",            \
     false},                                                                               \
        {"tokenizer",                                                                      \
         0,                                                                                \
         CMD_TEXT,                                                                         \
         "DIR|NAME",                                                                       \
         "Tokenizer: a directory, or a name at the hub (default: the model's).",           \
         false},                                                                           \
        {"max-tokens", 0, CMD_INT, "N", "Most tokens to sample (256).", false},            \
        {"temperature", 0, CMD_NUMBER, "T", "Randomness; 0 takes the likeliest (1).",      \
         false},                                                                           \
        {"top-p", 0, CMD_NUMBER, "P", "Sample from the top P of probability (1).", false}, \
        {"top-k", 0, CMD_INT, "K", "Sample from the K likeliest (-1: all).", false},       \
        {"seed", 0, CMD_INT, "N", "Seed; the same seed gives the same text.", false},      \
        {"stop", 0, CMD_TEXT, "TEXT", "Stop at this text.", true},                         \
    {                                                                                      \
        "ignore-end", 0, CMD_FLAG, NULL,                                                   \
            "Do not stop at the end token of the tokenizer.", false                        \
    }

#endif
