/* Shared by the commands that read text and tokenizers: input from an option, a file or
 * standard input, and the tokenizer that --model names. */
#ifndef CLI_CMD_TEXT_H
#define CLI_CMD_TEXT_H

#include <tinkc/tokenizer.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/cmd.h"

/* The largest input of one command. */
#define CMD_TEXT_MAX_BYTES (256 * TK_MIB)

/* All of a file, or of standard input for NULL and "-", appended to *out. False after
 * having said what is wrong. */
bool cmd_text_read(tk_buf *out, const char *path);

#if TINKC_HAVE_TEXT

/* Rows of the table of options for it. */
#define CMD_TEXT_TOKENIZER                                                               \
    {                                                                                    \
        "tokenizer", 't', CMD_TEXT, "PATH",                                              \
            "A model's directory, or its tokenizer.json.", false                         \
    }
#define CMD_TEXT_MODEL                                                                   \
    {                                                                                    \
        "model", 'm', CMD_TEXT, "NAME",                                                  \
            "A model by name: from caches, the server or the hub.", false                \
    }

/* The tokenizer that --tokenizer or --model names. For a name the server of the global
 * options is asked too, unless there is nothing that says which (no key, no URL). The
 * caller frees *out. CMD_OK, or another exit code after having said what is wrong. */
int cmd_text_tokenizer(tinkc_tokenizer **out, const cmd_args *args);

#endif

/* Token ids between blanks, commas and brackets; the caller frees *out with tk_free.
 * False: *bad is the word that is no id, or empty when memory ran out. */
bool cmd_text_ids(int32_t **out, size_t *n, tk_str *bad, tk_str text);

/* One JSON string with quotes, for output. */
void cmd_text_put_json(const char *text, size_t n);

/* The same without quotes and with non-ASCII kept: one line for people to read. */
void cmd_text_put_visible(const char *text, size_t n);

#endif
