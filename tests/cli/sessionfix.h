/* Sessions of a person at a terminal of 80x24, which files of tests/data/sessions describe
 * (docs/internals/testing.md): a shell in a pseudo-terminal gets the keys, and the screen
 * must show the rows. Every step waits for what it names. */
#ifndef CLI_SESSIONFIX_H
#define CLI_SESSIONFIX_H

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/program.h"
#include "support/screen.h"
#include "support/test.h"

#define SESSIONFIX_DIR  TEST_DATA_DIR "/sessions/"
#define SESSIONFIX_ROWS 24 /* of one block */
#define SESSIONFIX_MS   120000

typedef struct sessionfix {
    program p; /* the shell; its folder is the person's home */
    screen s;
    size_t shown; /* bytes of p.out that the screen has */
    size_t
        mark; /* rows, also those that have left, above the one where keys were typed */
    int64_t end; /* when the current step has failed */
    const char *name;
    int line; /* of the file */
    const char *rows[SESSIONFIX_ROWS];
    size_t rows_n;
    char last[SCREEN_ROW_BYTES]; /* text of the last row that was expected */
    size_t found;                /* and its number */
} sessionfix;

static inline void sessionfix_open(sessionfix *f, const char *name)
{
    memset(f, 0, sizeof(*f));
    f->name = name;
    program_open(&f->p, "/bin/bash");
}

/* Starts the shell with these variables, pairs NAME=VALUE, ended by NULL. It reads them from
 * a file, because of two of one name it takes either. */
static inline void sessionfix_start(sessionfix *f, const char *const *pairs,
                                    unsigned columns)
{
    fakeapi_bytes rc = {0};
    fakeapi_bytes_puts(&rc, "PS1='$ '\nPATH=$(dirname '" TINKC_PROGRAM "'):$PATH\n"
                            "unset HISTFILE PROMPT_COMMAND\nexport TERM=xterm "
                            "LC_ALL=C.UTF-8 TINKC_SHOW_WAITS=off\n");
    for (; *pairs != NULL; pairs++) {
        fakeapi_bytes_printf(&rc, "export '%s'\n", *pairs);
    }
    fakeapi_bytes_printf(&rc, "DATA='" TEST_DATA_DIR "/../../examples/data'\n"
                              "source '" TINKC_MAN "/completion.bash'\n"
                              "bind 'set show-all-if-ambiguous on'\n"
                              "bind 'set enable-bracketed-paste off'\n");
    program_write_file(&f->p, "rc", fakeapi_bytes_cstr(&rc));
    fakeapi_bytes_dispose(&rc);
    f->p.columns = columns;
    screen_open(&f->s, columns);
    program_start(&f->p, PROGRAM_ARGS("--noprofile", "--rcfile", "rc", "-i"));
}

/* ---- the screen ---- */

static inline void sessionfix_fail(sessionfix *f, const char *what)
{
    fakeapi_bytes text = screen_text(&f->s);
    print_error("%s%s", fakeapi_bytes_cstr(&f->s.gone), fakeapi_bytes_cstr(&text));
    fail_msg("%s:%d: %s", f->name, f->line, what);
}

/* Shows what has come, up to the next return to the start of a line, because a line that
 * changes may be seen only until then. A screen that is cleared has everything to expect. */
static inline void sessionfix_show(sessionfix *f)
{
    bool goes_on = true;
    for (; f->shown < f->p.out.n && goes_on; f->shown++) {
        screen_write(&f->s, f->p.out.p + f->shown, 1);
        f->mark = TK_MIN(f->mark, f->s.gone_n + f->s.row);
        goes_on = f->shown + 1 == f->p.out.n || f->p.out.p[f->shown + 1] != '\r';
    }
}

static inline void sessionfix_more(sessionfix *f, const char *awaited)
{
    if (tk_clock_mono_ms(NULL) > f->end ||
        (f->shown == f->p.out.n && !program_wait_more(&f->p))) {
        sessionfix_fail(f, awaited);
    }
    sessionfix_show(f);
}

/* Whether the block is on the screen from this row on. */
static inline bool sessionfix_matches(sessionfix *f, size_t row)
{
    char text[SCREEN_ROW_BYTES];
    for (size_t i = 0; i < f->rows_n; i++) {
        if (row + i >= SCREEN_ROWS || f->s.gone_n + row < f->mark ||
            !screen_like(screen_row(&f->s, row + i, text), f->rows[i])) {
            return false;
        }
    }
    f->found = row + f->rows_n - 1;
    (void)screen_row(&f->s, f->found, f->last);
    return true;
}

/* Waits until the rows of the block are on the screen, one below the other. */
static inline void sessionfix_expect(sessionfix *f)
{
    for (; f->rows_n > 0; sessionfix_more(f, f->rows[0])) {
        for (size_t row = SCREEN_ROWS; row-- > 0;) {
            if (sessionfix_matches(f, row)) {
                f->rows_n = 0;
                return;
            }
        }
    }
}

/* Waits until the last row that was expected shows another text that is like the pattern: a
 * line that is updated in its place. */
static inline void sessionfix_changes(sessionfix *f, const char *pattern)
{
    char text[SCREEN_ROW_BYTES];
    while (strcmp(screen_row(&f->s, f->found, text), f->last) == 0 ||
           !screen_like(text, pattern)) {
        sessionfix_more(f, pattern);
    }
}

/* No row, also of those that have left at the top, is like the pattern. */
static inline void sessionfix_never(sessionfix *f, const char *pattern)
{
    char text[SCREEN_ROW_BYTES];
    for (size_t row = 0; row < SCREEN_ROWS; row++) {
        if (screen_like(screen_row(&f->s, row, text), pattern)) {
            sessionfix_fail(f, pattern);
        }
    }
    const char *at = fakeapi_bytes_cstr(&f->s.gone);
    for (size_t n = 0; at[n = strcspn(at, "\n")] == '\n'; at += n + 1) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)n, at);
        if (screen_like(text, pattern)) {
            sessionfix_fail(f, pattern);
        }
    }
}

/* Waits for the shell's prompt, with nothing typed behind it. */
static inline void sessionfix_prompt(sessionfix *f)
{
    char text[SCREEN_ROW_BYTES];
    while (f->s.column != 2 || strcmp(screen_row(&f->s, f->s.row, text), "$") != 0) {
        sessionfix_more(f, "the prompt of the shell");
    }
}

/* ---- the file ---- */

/* Types keys: \r, \t, \e, \\ and ^C with any letter. */
static inline void sessionfix_type(sessionfix *f, const char *text)
{
    char keys[512];
    size_t n = 0;
    static const char from[] = "rte\\^", to[] = "\r\t\033\\^";
    for (; *text != '\0' && n + 2 < sizeof(keys); text++) {
        const char *at = *text == '\\' && text[1] != '\0' ? strchr(from, text[1]) : NULL;
        if (at != NULL) {
            keys[n++] = to[at - from];
            text++;
        } else if (*text == '^' && text[1] != '\0') {
            keys[n++] = (char)(*++text & 0x1f);
        } else {
            keys[n++] = *text;
        }
    }
    keys[n] = '\0';
    f->mark = f->s.gone_n + f->s.row;
    program_send(&f->p, keys);
}

static inline void sessionfix_step(sessionfix *f, char *line)
{
    char what = line[0];
    const char *text = line[0] != '\0' && line[1] == ' ' ? line + 2 : line + strlen(line);
    if (what == '|') {
        assert_true(f->rows_n < SESSIONFIX_ROWS);
        f->rows[f->rows_n++] = text;
        return;
    }
    f->end = tk_clock_mono_ms(NULL) + SESSIONFIX_MS;
    sessionfix_expect(f);
    if (what == '$') {
        sessionfix_prompt(f);
        sessionfix_type(f, text);
        sessionfix_type(f, "\\r");
    } else if (what == '<') {
        sessionfix_type(f, text);
    } else if (what == '~') {
        sessionfix_changes(f, text);
    } else if (what == '!') {
        sessionfix_never(f, text);
    } else if (what != '\0' && what != '#') {
        sessionfix_fail(f, "no such step");
    }
}

/* Plays the steps, one for each line. */
static inline void sessionfix_play(sessionfix *f, char *steps)
{
    for (char *line; (line = strsep(&steps, "\n")) != NULL;) {
        f->line++;
        sessionfix_step(f, line);
    }
}

static inline void sessionfix_close(sessionfix *f)
{
    sessionfix_expect(f);
    sessionfix_prompt(f);
    sessionfix_type(f, "exit\\r");
    program_end(&f->p);
    screen_close(&f->s);
    program_close(&f->p);
}

#endif
