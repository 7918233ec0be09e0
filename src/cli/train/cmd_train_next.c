/* What to do after a run of `tinkc train`: command lines on standard error, ready to be
 * pasted into a shell. They name the same server.
 * Needs: text */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/cmd_print.h"
#include "cli/train/cmd_train.h"

#define LINE_MAX_BYTES (64 * TK_KIB)

/* Adds a word, in quotes where a shell would change it. */
static void put_word(tk_buf *line, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./:=@%+,";
    if (line->n > 0) {
        tk_buf_putc(line, ' ');
    }
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        tk_buf_puts(line, word);
        return;
    }
    tk_buf_putc(line, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            tk_buf_puts(line, "'\\''");
        } else {
            tk_buf_putc(line, *word);
        }
    }
    tk_buf_putc(line, '\'');
}

static void put_words(tk_buf *line, const char *const *words)
{
    for (; *words != NULL; words++) {
        put_word(line, *words);
    }
}

/* Adds an option of the command line, where it was given. */
static void put_given(tk_buf *line, const cmd_args *args, const char *name)
{
    char option[64];
    if (cmd_has(args, name)) {
        const char *value = cmd_text(args, name, NULL);
        (void)snprintf(option, sizeof(option), "--%s", name);
        put_word(line, option);
        if (value != NULL) {
            put_word(line, value);
        }
    }
}

static void put_server(tk_buf *line, const cmd_args *args)
{
    put_given(line, args, "local");
    put_given(line, args, "base-url");
    put_given(line, args, "profile");
}

static void put_files(tk_buf *line, const cmd_args *args)
{
    for (size_t i = 0; i < cmd_operands(args); i++) {
        put_word(line, cmd_operand(args, i));
    }
}

static void show(tk_buf *line)
{
    if (line->failure == TINKC_OK) {
        cmd_print(stderr, "  " TK_STR_FMT "\n", TK_STR_ARG(tk_buf_str(line)));
    }
    tk_buf_clear(line);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

void cmd_train_next(const train_run *run, const char *model, const cmd_args *args)
{
    tk_buf line;
    tk_buf_init(&line, LINE_MAX_BYTES);
    cmd_print(stderr, "\nNext:\n");
    if (run->state->weights != NULL) {
        put_words(&line, WORDS("tinkc", "chat"));
        put_server(&line, args);
        put_words(&line, WORDS("-m", run->state->weights));
        show(&line);
        put_words(&line, WORDS("tinkc", "sample"));
        put_server(&line, args);
        put_words(&line, WORDS("-m", run->state->weights, "--chat", "Hello"));
        show(&line);
        put_words(&line, WORDS("tinkc", "checkpoint", "download"));
        put_server(&line, args);
        put_word(&line, run->state->weights);
        show(&line);
    }
    put_words(&line, WORDS("tinkc", "train"));
    put_server(&line, args);
    put_words(&line, WORDS("-m", model, "--load", run->state->checkpoint, "--save"));
    char name[256];
    (void)snprintf(name, sizeof(name), "%.240s-2", run->name);
    put_word(&line, name);
    put_files(&line, args);
    show(&line);
    tk_buf_dispose(&line);
}

void cmd_train_continue(const cmd_args *args)
{
    tk_buf line;
    tk_buf_init(&line, LINE_MAX_BYTES);
    cmd_print(stderr, "Continue:\n");
    put_words(&line, WORDS("tinkc", "train"));
    put_server(&line, args);
    put_given(&line, args, "save");
    put_given(&line, args, "state");
    put_word(&line, "--resume");
    put_files(&line, args);
    show(&line);
    tk_buf_dispose(&line);
}
