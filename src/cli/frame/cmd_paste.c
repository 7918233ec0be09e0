/* Lines to paste. Owns what is known of the call: the program's name and its options. */
#include "cli/frame/cmd_paste.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/str.h"

#define NAME       "tinkc"
#define PATH_BYTES 4096

static const char *program = NAME;
static const cmd_args *given;

/* Whether a shell finds the program by its name. */
static bool is_in_path(void)
{
    const char *path = tk_env_get_nonempty(NULL, "PATH");
    tk_str rest = tk_str_of(path != NULL ? path : "");
    while (rest.p != NULL) {
        char file[PATH_BYTES];
        tk_str dir = tk_str_cut(&rest, ':');
        int n = snprintf(file, sizeof(file), TK_STR_FMT "/" NAME, TK_STR_ARG(dir));
        if (dir.n > 0 && n < (int)sizeof(file) && access(file, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

void cmd_paste_program(const char *called)
{
    bool is_path = called != NULL && strchr(called, '/') != NULL;
    program = is_path && !is_in_path() ? called : NAME;
}

void cmd_paste_server(const cmd_args *args)
{
    given = args;
}

/* ---- words ---- */

void cmd_paste_word(tk_buf *line, const char *word)
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

void cmd_paste_words(tk_buf *line, const char *const *words)
{
    for (; *words != NULL; words++) {
        cmd_paste_word(line, *words);
    }
}

void cmd_paste_given(tk_buf *line, const char *name)
{
    char option[64];
    if (given != NULL && cmd_has(given, name)) {
        const char *value = cmd_text(given, name, NULL);
        (void)snprintf(option, sizeof(option), "--%s", name);
        cmd_paste_word(line, option);
        if (value != NULL) {
            cmd_paste_word(line, value);
        }
    }
}

static void put_server(tk_buf *line)
{
    cmd_paste_given(line, "local");
    cmd_paste_given(line, "base-url");
    cmd_paste_given(line, "profile");
}

void cmd_paste_command(tk_buf *line, const char *const *words)
{
    cmd_paste_word(line, program);
    cmd_paste_words(line, words);
    put_server(line);
}

/* ---- hints ---- */

/* Whether the command whose words begin at `at` asks a server. */
static bool asks(const char *at)
{
    static const char *const commands[] = {"models",  "run",    "checkpoint",
                                           "session", "whoami", "doctor"};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        size_t n = strlen(commands[i]);
        if (strncmp(at, commands[i], n) == 0 && (at[n] == ' ' || at[n] == '\'')) {
            return true;
        }
    }
    return false;
}

void cmd_paste_hint(tk_buf *out, const char *hint)
{
    static const char start[] = "'" NAME " ";
    for (const char *at; (at = strstr(hint, start)) != NULL;) {
        const char *words = at + sizeof(start) - 1;
        size_t n = strcspn(words, "'");
        tk_buf_put(out, hint, (size_t)(at - hint) + 1);
        tk_buf_printf(out, "%s %.*s", program, (int)n, words);
        if (asks(words)) {
            put_server(out);
        }
        hint = words + n;
    }
    tk_buf_puts(out, hint);
}
