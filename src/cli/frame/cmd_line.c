/* Reads lines, with libedit where that is possible. The library is loaded when it is
 * needed, so that the program neither needs it nor waits for it; what is declared here is
 * the part of its interface (histedit.h) that is used. Owns the editor and the history. */
#include "cli/frame/cmd_line.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/frame/cmd.h"
#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"

#define LIBRARY       "libedit.so.2"
#define HISTORY_LINES 1000
#define POLL_MS       100

/* ---- the library ---- */

enum {
    EL_PROMPT = 0,
    EL_EDITOR = 2,
    EL_BIND = 4,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_PREP_TERM = 16
};
enum { H_SETSIZE = 1, H_ENTER = 10, H_LOAD = 17, H_SAVE = 18, H_SETUNIQUE = 20 };

typedef struct edit_event {
    int number;
    const char *text;
} edit_event;

typedef int history_fn(void *history, edit_event *event, int operation, ...);

static struct {
    void *library;
    void *editor;  /* NULL: lines are read as they come */
    void *history; /* NULL: there is none */
    char *path;    /* of its file, owned; NULL: it is not kept */
    const char *prompt;
    size_t typed; /* characters of the line so far */
    bool is_terminal;
    void *(*el_init)(const char *program, FILE *in, FILE *out, FILE *err);
    void (*el_end)(void *editor);
    int (*el_set)(void *editor, int operation, ...);
    const char *(*el_gets)(void *editor, int *n);
    void (*el_resize)(void *editor);
    void *(*history_init)(void);
    void (*history_end)(void *history);
    history_fn *history_do;
} edit;

/* Copies a function's address to the pointer at `out`: ISO C has no conversion. */
static bool find(const char *name, void *out)
{
    void *symbol = dlsym(edit.library, name);
    memcpy(out, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool load(void)
{
    edit.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return edit.library != NULL && find("el_init", &edit.el_init) &&
           find("el_end", &edit.el_end) && find("el_set", &edit.el_set) &&
           find("el_gets", &edit.el_gets) && find("el_resize", &edit.el_resize) &&
           find("history_init", &edit.history_init) &&
           find("history_end", &edit.history_end) && find("history", &edit.history_do);
}

/* ---- characters ---- */

/* Waits for input; false after Ctrl-C. */
static bool await_input(void)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    while (!cmd_interrupted()) {
        if (poll(&in, 1, POLL_MS) > 0) {
            return true;
        }
    }
    return false;
}

/* Reads a character for the editor: 1, 0 at the end of input, or -1. Bytes that are not
 * text in this locale are left out. */
static int next_character(void *editor, wchar_t *out)
{
    mbstate_t state = {0};
    (void)editor;
    while (await_input()) {
        char byte = 0;
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
            return n == 0 ? 0 : -1;
        }
        size_t used = n > 0 ? mbrtowc(out, &byte, 1, &state) : (size_t)-2;
        if (used == (size_t)-1) {
            memset(&state, 0, sizeof(state));
        } else if (used != (size_t)-2) {
            edit.typed++;
            return 1;
        }
    }
    errno = EINTR;
    return -1;
}

static char *prompt_of(void *editor)
{
    char *text = NULL;
    (void)editor;
    memcpy(&text, &edit.prompt, sizeof(text)); /* the library does not write to it */
    return text;
}

/* ---- history ---- */

/* Returns the path of the file, whose directory it makes; NULL: the history is not kept. */
static char *history_path(const char *name)
{
    const char *root = tk_env_get_nonempty(NULL, "XDG_STATE_HOME");
    const char *home = tk_env_get_nonempty(NULL, "HOME");
    const char *chosen = tk_env_get_nonempty(NULL, "TINKC_CHAT_HISTORY");
    if (chosen != NULL) {
        return strcmp(chosen, "off") != 0 ? tk_strdup(chosen) : NULL;
    }
    bool is_own = root != NULL && root[0] == '/';
    if (!is_own && home == NULL) {
        return NULL;
    }
    char *dir =
        tk_file_join(is_own ? root : home, is_own ? "tinkc" : ".local/state/tinkc");
    char *path = NULL;
    if (dir != NULL && tk_file_mkdirs(dir, 0700, NULL) == TINKC_OK) {
        path = tk_file_join(dir, name);
    }
    tk_free(dir);
    return path;
}

static void open_history(const char *name)
{
    edit_event event;
    edit.history = edit.history_init();
    if (edit.history == NULL) {
        return;
    }
    (void)edit.history_do(edit.history, &event, H_SETSIZE, HISTORY_LINES);
    (void)edit.history_do(edit.history, &event, H_SETUNIQUE, 1);
    edit.path = history_path(name);
    if (edit.path != NULL) {
        (void)edit.history_do(edit.history, &event, H_LOAD, edit.path);
    }
    (void)edit.el_set(edit.editor, EL_HIST, edit.history_do, edit.history);
}

/* ---- the editor ---- */

static void bind_keys(void)
{
    static const char *const keys[][2] = {
        {"\\e[H", "ed-move-to-beg"},       {"\\e[F", "ed-move-to-end"},
        {"\\e[1~", "ed-move-to-beg"},      {"\\e[4~", "ed-move-to-end"},
        {"\\e[3~", "ed-delete-next-char"}, {"^R", "em-inc-search-prev"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(keys); i++) {
        (void)edit.el_set(edit.editor, EL_BIND, keys[i][0], keys[i][1], NULL);
    }
}

void cmd_line_begin(const char *history)
{
    const char *term = tk_env_get_nonempty(NULL, "TERM");
    memset(&edit, 0, sizeof(edit));
    edit.is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    if (!edit.is_terminal || term == NULL || strcmp(term, "dumb") == 0 || !load()) {
        return;
    }
    (void)cmd_out_is_utf8(); /* reads the locale, which the editor needs */
    edit.editor = edit.el_init("tinkc", stdin, stdout, stderr);
    if (edit.editor != NULL) {
        (void)edit.el_set(edit.editor, EL_PROMPT, prompt_of);
        (void)edit.el_set(edit.editor, EL_EDITOR, "emacs");
        (void)edit.el_set(edit.editor, EL_GETCFN, next_character);
        bind_keys();
        open_history(history);
    }
}

void cmd_line_end(void)
{
    edit_event event;
    if (edit.history != NULL && edit.path != NULL) {
        (void)edit.history_do(edit.history, &event, H_SAVE, edit.path);
    }
    if (edit.editor != NULL) {
        edit.el_end(edit.editor);
    }
    if (edit.history != NULL) {
        edit.history_end(edit.history);
    }
    tk_free(edit.path);
    /* not dlclose: the terminal database keeps memory until the process ends */
    memset(&edit, 0, sizeof(edit));
}

/* ---- lines ---- */

static cmd_line_result edit_line(tk_buf *line)
{
    edit_event event;
    int n = 0;
    edit.typed = 0;
    cmd_progress_end(); /* the line that changes would be drawn over the prompt */
    edit.el_resize(edit.editor);
    cmd_signal_catch();
    /* otherwise the prompt is shown while the terminal still edits the line itself */
    (void)edit.el_set(edit.editor, EL_PREP_TERM, 1);
    const char *text = edit.el_gets(edit.editor, &n);
    bool is_stopped = cmd_interrupted();
    cmd_signal_release();
    if (is_stopped) {
        cmd_print(stdout, "^C\n");
        return edit.typed > 0 ? CMD_LINE_DROPPED : CMD_LINE_STOPPED;
    }
    if (text == NULL || n <= 0) {
        return CMD_LINE_OVER;
    }
    tk_buf_put(line, text, (size_t)n - (text[n - 1] == '\n'));
    if (tk_buf_cstr(line) != NULL && line->n > 0 && edit.history != NULL) {
        (void)edit.history_do(edit.history, &event, H_ENTER, line->p);
    }
    return CMD_LINE_READ;
}

cmd_line_result cmd_line_next(tk_buf *line, const char *prompt)
{
    int byte;
    tk_buf_clear(line);
    edit.prompt = prompt;
    if (edit.editor != NULL) {
        return edit_line(line);
    }
    if (edit.is_terminal) {
        cmd_print(stdout, "%s", prompt);
        (void)fflush(stdout);
    }
    while ((byte = getc(stdin)) != EOF && byte != '\n') {
        tk_buf_putc(line, (char)byte);
    }
    if (line->n > 0 && line->failure == TINKC_OK && line->p[line->n - 1] == '\r') {
        line->n--;
    }
    bool is_whole = tk_buf_cstr(line) != NULL;
    return byte != EOF || line->n > 0 || !is_whole ? CMD_LINE_READ : CMD_LINE_OVER;
}
