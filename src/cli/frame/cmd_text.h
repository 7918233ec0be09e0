/* Shared by the commands that read text and tokenizers: input from a file or standard
 * input, and the tokenizer that --tokenizer or --model names. */
#ifndef CLI_CMD_TEXT_H
#define CLI_CMD_TEXT_H

#include <tinkc/tokenizer.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/cmd.h"

/* Largest input of a command. */
#define CMD_TEXT_MAX_BYTES (256 * TK_MIB)

/* Appends all of a file, or of standard input for NULL and "-", to *out. Returns false
 * after an error line. */
bool cmd_text_read(tk_buf *out, const char *path);

/* Rows for a table of options. */
#define CMD_TEXT_TOKENIZER                                                               \
    {                                                                                    \
        "tokenizer", 't', CMD_TEXT, "PATH",                                              \
            "Directory of a model, or its tokenizer.json.", false                        \
    }
#define CMD_TEXT_MODEL                                                                   \
    {                                                                                    \
        "model", 'm', CMD_TEXT, "NAME",                                                  \
            "Name of a model, found in caches, on the server or the hub.", false         \
    }

/* Opens the tokenizer that --tokenizer or --model names. For a name the server is asked,
 * too, if a key or a URL is configured. The caller frees *out. Returns CMD_OK, or another
 * exit code after an error line. */
int cmd_text_tokenizer(tinkc_tokenizer **out, const cmd_args *args);

/* Reads token ids, separated by blanks, commas and brackets. The caller frees *out with
 * tk_free. On failure *bad is the word that is not an id, or empty when memory ran
 * out. */
bool cmd_text_ids(int32_t **out, size_t *n, tk_str *bad, tk_str text);

/* Writes text to standard output as a JSON string with quotes. */
void cmd_text_put_json(const char *text, size_t n);

/* Writes text to standard output in one line for people: escapes control characters and
 * keeps the rest. */
void cmd_text_put_visible(const char *text, size_t n);

#endif
