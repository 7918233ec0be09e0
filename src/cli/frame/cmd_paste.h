/* Command lines for people to paste: they start this program, also where it is not in the
 * PATH, and name the same server. Thread: the main one. */
#ifndef CLI_CMD_PASTE_H
#define CLI_CMD_PASTE_H

#include "base/buf.h"
#include "cli/frame/cmd.h"

#define CMD_PASTE_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Remembers how the program was called (argv[0], borrowed), and then its command line, which
 * must live as long as lines are made. */
void cmd_paste_program(const char *called);
void cmd_paste_server(const cmd_args *args);

/* Adds a word, in quotes where a shell would change it. */
void cmd_paste_word(tk_buf *line, const char *word);
void cmd_paste_words(tk_buf *line, const char *const *words); /* ended by NULL */

/* Adds an option of the command line, where it was given. */
void cmd_paste_given(tk_buf *line, const char *name);

/* Begins a line: the program, the words of a command (ended by NULL), and the options that
 * say which server. */
void cmd_paste_command(tk_buf *line, const char *const *words);

/* Adds a hint, in which 'tinkc COMMAND' becomes such a line. */
void cmd_paste_hint(tk_buf *out, const char *hint);

#endif
