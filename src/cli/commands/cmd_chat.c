/* `tinkc chat`: a conversation with a model (cmd_chat_talk.c), whose answers are shown while
 * they are sampled. Ctrl-C stops an answer; at the prompt it drops what was typed, and ends
 * the program when that is nothing. Without a terminal every line of standard input is a
 * turn. Owns the conversation and the input.
 * Needs: text */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/commands/cmd_chat_talk.h"
#include "cli/frame/cmd_line.h"
#include "cli/frame/cmd_print.h"

#define LINE_MAX_BYTES TK_MIB
#define FENCE          "\"\"\""

typedef struct chat {
    talk talk;
    tk_buf input, line;
    bool is_terminal; /* standard input and output */
    bool is_over;
} chat;

/* ---- commands ---- */

static int do_save(chat *c, const char *path)
{
    cmd_json json;
    if (path[0] == '\0') {
        return cmd_fail("/save needs the name of a file");
    }
    if (!cmd_chat_talk_has_turns(&c->talk)) {
        return cmd_fail("there is nothing to save: the conversation is empty");
    }
    cmd_json_init(&json);
    cmd_chat_talk_put(&json, &c->talk);
    int result = cmd_json_append(&json, path);
    if (result == CMD_OK) {
        cmd_print(stderr, "Saved %zu messages as a line of %s.\n", c->talk.n, path);
    }
    return result;
}

static int do_model(chat *c, const char *name)
{
    if (name[0] == '\0') {
        cmd_print(stderr, "%s\n", c->talk.model.name);
        return CMD_OK;
    }
    int result =
        cmd_model_switch(&c->talk.model, c->talk.args, name, cmd_model_need_template);
    if (result == CMD_OK) {
        cmd_print(stderr, "Continuing with %s.\n", c->talk.model.name);
    }
    return result;
}

static int do_retry(chat *c, const char *rest)
{
    (void)rest;
    return cmd_chat_talk_retry(&c->talk);
}

static int do_reset(chat *c, const char *rest)
{
    (void)rest;
    cmd_chat_talk_reset(&c->talk);
    return CMD_OK;
}

static int do_system(chat *c, const char *text)
{
    const char *now = cmd_chat_talk_system_text(&c->talk);
    bool drops = strcmp(text, "-") == 0;
    if (text[0] == '\0') {
        cmd_print(stderr, "%s\n", now != NULL ? now : "There is no system message.");
        return CMD_OK;
    }
    if (!cmd_chat_talk_system(&c->talk, drops ? "" : text)) {
        return cmd_fail("out of memory");
    }
    cmd_print(stderr, "New conversation %s.\n",
              drops ? "without a system message" : "with this system message");
    return CMD_OK;
}

static int do_quit(chat *c, const char *rest)
{
    (void)rest;
    c->is_over = true;
    return CMD_OK;
}

static int do_help(chat *c, const char *rest);

static const struct {
    const char *name, *operand, *help;
    int (*run)(chat *c, const char *rest);
} commands[] = {
    {"/retry", "", "sample another answer to the last message", do_retry},
    {"/reset", "", "start a new conversation", do_reset},
    {"/system", "TEXT",
     "start a new conversation with this system message (-: none);\n"
     "                alone: show it",
     do_system},
    {"/model", "NAME", "continue with another model; alone: show which it is", do_model},
    {"/save", "FILE", "add the conversation to FILE, as a line for 'tinkc train'",
     do_save},
    {"/help", "", "show this list", do_help},
    {"/quit", "", "quit (also Ctrl-D)", do_quit},
    {"/exit", "", NULL, do_quit},
};

static int do_help(chat *c, const char *rest)
{
    (void)c;
    (void)rest;
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        if (commands[i].help != NULL) {
            cmd_print(stderr, "%-8s %-5s  %s\n", commands[i].name, commands[i].operand,
                      commands[i].help);
        }
    }
    cmd_print(stderr,
              "A line that ends in \\ continues on the next one; lines between " FENCE
              " and " FENCE "\nare one message. Ctrl-C stops an answer.\n");
    return CMD_OK;
}

/* Runs a line that starts with a slash. */
static int command(chat *c, const char *line)
{
    size_t n = strcspn(line, " \t\n");
    const char *rest = line + n + strspn(line + n, " \t\n");
    const tk_str word = {line, n};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        if (tk_str_is(word, commands[i].name)) {
            return commands[i].run(c, rest);
        }
    }
    return cmd_fail("no such command: %.*s (see /help)", (int)TK_MIN(n, 40), line);
}

/* ---- input ---- */

static bool ends_with(const tk_buf *buf, const char *end)
{
    size_t n = strlen(end);
    return buf->n >= n && memcmp(buf->p + buf->n - n, end, n) == 0;
}

/* Adds the line to the input. Returns whether more lines belong to it. */
static bool join_line(tk_buf *input, const tk_buf *line, bool *is_fenced)
{
    bool is_first = input->n == 0;
    if (line->failure != TINKC_OK) {
        tk_buf_fail(input, line->failure);
        return false;
    }
    if (is_first && line->n >= 3 && memcmp(line->p, FENCE, 3) == 0) {
        *is_fenced = true;
        bool is_closed = line->n >= 6 && ends_with(line, FENCE);
        tk_buf_put(input, line->p + 3, line->n - (is_closed ? 6 : 3));
        if (!is_closed && input->n > 0) {
            tk_buf_putc(input, '\n');
        }
        return !is_closed;
    }
    if (*is_fenced) {
        bool is_closed = ends_with(line, FENCE);
        tk_buf_put(input, line->p, line->n - (is_closed ? 3 : 0));
        if (!is_closed) {
            tk_buf_putc(input, '\n');
        }
        return !is_closed;
    }
    bool goes_on = ends_with(line, "\\");
    tk_buf_put(input, line->p, line->n - (goes_on ? 1 : 0));
    if (goes_on) {
        tk_buf_putc(input, '\n');
    }
    return goes_on;
}

/* Reads one input, which may have several lines. */
static cmd_line_result next_input(chat *c)
{
    bool is_fenced = false, goes_on = true;
    cmd_line_result result = CMD_LINE_READ;
    tk_buf_clear(&c->input);
    for (bool is_first = true; goes_on; is_first = false) {
        result = cmd_line_next(&c->line, is_first ? "> " : "... ");
        if (result == CMD_LINE_OVER && !is_first) {
            result = CMD_LINE_READ; /* the end of input ends an open message */
            break;
        }
        if (result != CMD_LINE_READ) {
            return result == CMD_LINE_STOPPED && !is_first ? CMD_LINE_DROPPED : result;
        }
        goes_on = join_line(&c->input, &c->line, &is_fenced);
    }
    while (is_fenced && c->input.n > 0 && c->input.p[c->input.n - 1] == '\n') {
        c->input.n--;
    }
    (void)!tk_buf_cstr(&c->input);
    return result;
}

static int take_input(chat *c)
{
    const tk_buf *input = &c->input;
    if (input->failure != TINKC_OK) {
        return cmd_fail("the line is too long: at most %zu bytes",
                        (size_t)LINE_MAX_BYTES - 1);
    }
    if (memchr(input->p, '\0', input->n) != NULL) {
        return cmd_fail("the line is not text: it has a NUL byte");
    }
    return input->p[0] == '/' ? command(c, input->p)
                              : cmd_chat_talk_say(&c->talk, input->p);
}

static int converse(chat *c)
{
    int result = CMD_OK;
    cmd_line_result read = CMD_LINE_READ;
    bool is_warned = false;
    while (!c->is_over) {
        read = next_input(c);
        if (read == CMD_LINE_STOPPED &&
            !is_warned) { /* it may have been for the answer */
            cmd_print(stdout, "Ctrl-C again or Ctrl-D quits.\n");
            is_warned = true;
            continue;
        }
        if (read == CMD_LINE_OVER || read == CMD_LINE_STOPPED) {
            break;
        }
        is_warned = false;
        if (read == CMD_LINE_DROPPED ||
            (c->input.n == 0 && c->input.failure == TINKC_OK)) {
            continue;
        }
        int code = take_input(c);
        /* a person can try again; a script must not continue half a conversation */
        if (code != CMD_OK && !c->is_terminal) {
            result = code;
            c->is_over = true;
        }
        c->is_over = c->is_over || ferror(stdout) != 0;
    }
    if (c->is_terminal && read == CMD_LINE_OVER) {
        cmd_print(stdout, "\n");
    }
    return read == CMD_LINE_STOPPED ? CMD_INTERRUPTED : result;
}

/* ---- the command ---- */

static int show_all(const chat *c)
{
    cmd_json json;
    if (cmd_format_of(c->talk.args) != CMD_JSON) {
        return CMD_OK;
    }
    cmd_json_init(&json);
    cmd_chat_talk_put(&json, &c->talk);
    return cmd_json_print(&json, c->talk.args);
}

static int run(const cmd_args *args)
{
    chat c = {.talk = {.args = args}};
    const char *system = cmd_text(args, "system", "");
    c.is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    tk_buf_init(&c.input, LINE_MAX_BYTES);
    tk_buf_init(&c.line, LINE_MAX_BYTES);
    int result = cmd_model_open(&c.talk.model, args, true);
    if (result == CMD_OK) {
        result = cmd_model_need_template(&c.talk.model);
    }
    if (result == CMD_OK && !cmd_chat_talk_system(&c.talk, system)) {
        result = cmd_fail("out of memory");
    }
    if (result == CMD_OK) {
        if (c.is_terminal) {
            cmd_print(stderr, "%s: /help lists the commands, Ctrl-D quits.\n",
                      c.talk.model.name);
        }
        cmd_line_begin("chat_history");
        result = converse(&c);
        cmd_line_end();
        int shown = show_all(&c);
        result = result != CMD_OK ? result : shown;
    }
    cmd_chat_talk_dispose(&c.talk);
    tk_buf_dispose(&c.input);
    tk_buf_dispose(&c.line);
    cmd_model_close(&c.talk.model, result);
    return result;
}

static const cmd_option options[] = {
    CMD_MODEL_OPTIONS,
    {"system", 0, CMD_TEXT, "TEXT", "System message before the first turn.", false},
    {0},
};

const cmd_spec cmd_chat = {
    .name = "chat",
    .operands = "",
    .help = "Chat with a model.",
    .more =
        "Each line is a turn, and the answer is shown while it is sampled. Ctrl-C stops\n"
        "an answer. A line that ends in \\ continues on the next one, and lines between\n" FENCE
        " and " FENCE " are one message. /help lists commands: /retry, /model, /system,\n"
        "/save and others. On a terminal lines can be edited, and the history is kept\n"
        "(TINKC_CHAT_HISTORY: another file, or off). Without a terminal each line of\n"
        "standard input is a turn.",
    .examples = "tinkc chat --local -m tinkc/pebble-llama-2m\n"
                "tinkc chat -m tinker://RUN/sampler_weights/NAME --temperature 0.7",
    .options = options,
    .run = run,
};
