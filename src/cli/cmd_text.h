/* Shared by the commands that read text and tokenizers: input from an option, a file or
 * standard input, and the tokenizer that --model names. */
#ifndef CLI_CMD_TEXT_H
#define CLI_CMD_TEXT_H

#include "base/buf.h"
#include "cli/cmd.h"

/* The largest input of one command. */
#define CMD_TEXT_MAX_BYTES (256 * TK_MIB)

/* All of a file, or of standard input for NULL and "-", appended to *out. False after
 * having said what is wrong. */
bool cmd_text_read(tk_buf *out, const char *path);

/* One JSON string with quotes, for output. */
void cmd_text_put_json(const char *text, size_t n);

/* The same without quotes and with non-ASCII kept: one line for people to read. */
void cmd_text_put_visible(const char *text, size_t n);

#endif
