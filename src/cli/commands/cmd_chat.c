/* `tinkc chat`: a conversation with a model, whose answers are shown while they are
 * sampled. Owns the messages; each turn renders all of them again. Ctrl-C stops an
 * answer; at the prompt it ends the program. Without a terminal every line of standard
 * input is a turn.
 * Needs: text */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_model.h"
#include "cli/frame/cmd_print.h"

#define LINE_MAX_BYTES TK_MIB
#define MESSAGES_MAX   10000
#define ANSWER_MAX     (64 * TK_MIB)
#define POLL_MS        100

typedef struct message {
    const char *role; /* static */
    char *text;       /* owned */
} message;

typedef struct conversation {
    const cmd_args *args;
    cmd_model model;
    message *messages; /* owned */
    size_t n, capacity;
    bool is_terminal; /* standard input and output */
    bool was_stopped; /* Ctrl-C stopped the last answer */
    char reason[32];  /* why the last answer ended */
} conversation;

/* ---- messages ---- */

static bool add(conversation *c, const char *role, const char *text, size_t n)
{
    if (c->n == c->capacity) {
        size_t room = c->capacity * 2 + 16;
        message *list = room <= MESSAGES_MAX
                            ? tk_realloc_array(c->messages, room, sizeof(*list))
                            : NULL;
        if (list == NULL) {
            return false;
        }
        c->messages = list;
        c->capacity = room;
    }
    char *copy = tk_strndup(text, n);
    if (copy == NULL) {
        return false;
    }
    c->messages[c->n++] = (message){role, copy};
    return true;
}

static void drop_last(conversation *c)
{
    tk_free(c->messages[--c->n].text);
}

static bool has_system(const conversation *c)
{
    return c->n > 0 && strcmp(c->messages[0].role, "system") == 0;
}

/* Drops all turns, but not the system message. */
static void reset(conversation *c)
{
    size_t keep = has_system(c) ? 1 : 0;
    while (c->n > keep) {
        drop_last(c);
    }
}

/* Sets the system message ("" for none) and drops all turns. */
static bool set_system(conversation *c, const char *text)
{
    while (c->n > 0) {
        drop_last(c);
    }
    return text[0] == '\0' || add(c, "system", text, strlen(text));
}

static void put_messages(cmd_json *json, const conversation *c)
{
    tk_json_begin_object(&json->w);
    cmd_json_key(json, "messages");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < c->n; i++) {
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "role", c->messages[i].role);
        cmd_json_pair(json, "content", c->messages[i].text);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
    tk_json_end_object(&json->w);
}

/* ---- one answer ---- */

static tinkc_code make_prompt(conversation *c, tinkc_model_input **out,
                              tinkc_error **error)
{
    tinkc_chat *chat = NULL;
    tinkc_code code = tinkc_chat_new(&chat, error);
    for (size_t i = 0; code == TINKC_OK && i < c->n; i++) {
        code = tinkc_chat_add(chat, c->messages[i].role, c->messages[i].text, error);
    }
    if (code == TINKC_OK) {
        code = cmd_model_render(out, &c->model, chat, error);
    }
    tinkc_chat_free(&chat);
    return code;
}

/* Shows and collects the text that is complete so far. */
static bool take_text(conversation *c, const tinkc_decoder *decoder, tk_buf *answer)
{
    size_t n = 0;
    const char *text = tinkc_decoder_text(&n, decoder);
    tk_buf_put(answer, text, n);
    return n == 0 || cmd_wants_json(c->args) || cmd_model_put(text, n);
}

/* Takes events until the end, Ctrl-C, or until standard output is closed. */
static tinkc_code take_events(conversation *c, tinkc_stream *stream,
                              tinkc_decoder *decoder, tk_buf *answer, tinkc_error **error)
{
    const tinkc_stream_event *event = NULL;
    bool is_read = true;
    tinkc_code code = TINKC_OK;
    while (is_read && !cmd_interrupted()) {
        code = tinkc_stream_next(&event, stream, POLL_MS, error);
        if (code == TINKC_E_TIMEOUT) {
            tinkc_error_free(error);
            continue;
        }
        if (code != TINKC_OK) {
            break;
        }
        if (event->kind == TINKC_STREAM_DONE) {
            (void)snprintf(c->reason, sizeof(c->reason), "%s",
                           event->finish_reason != NULL ? event->finish_reason : "stop");
            continue;
        }
        int32_t id = (int32_t)event->token_id;
        if (event->token_id >= 0) {
            code = tinkc_decoder_push(decoder, &id, 1, error);
            is_read = code != TINKC_OK || take_text(c, decoder, answer);
        } else if (event->token != NULL) {
            tk_buf_puts(answer, event->token);
            is_read = cmd_wants_json(c->args) ||
                      cmd_model_put(event->token, strlen(event->token));
        }
    }
    if (code == TINKC_E_MISSING || code == TINKC_E_TIMEOUT) { /* the end, or Ctrl-C */
        tinkc_error_free(error);
        return TINKC_OK;
    }
    return code;
}

static tinkc_code answer_to(conversation *c, tk_buf *answer, tinkc_error **error)
{
    tinkc_model_input *input = NULL;
    tinkc_decoder *decoder = NULL;
    tinkc_stream *stream = NULL;
    (void)snprintf(c->reason, sizeof(c->reason), "interrupted");
    tinkc_code code = make_prompt(c, &input, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_decoder_new(&decoder, c->model.tokenizer, true, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_stream_open(&stream, c->model.sampling, input, &c->model.params, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = take_events(c, stream, decoder, answer, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_decoder_finish(decoder, error);
    if (code == TINKC_OK) {
        (void)take_text(c, decoder, answer);
    }
out:
    tinkc_stream_close(&stream);
    tinkc_decoder_free(&decoder);
    tinkc_model_input_free(&input);
    return code;
}

/* ---- a turn ---- */

static void show_line(conversation *c, const tk_buf *answer)
{
    cmd_json json;
    if (cmd_format_of(c->args) != CMD_JSONL) {
        return;
    }
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "role", "assistant");
    cmd_json_key(&json, "content");
    tk_json_put_str(&json.w, tk_buf_str(answer));
    cmd_json_pair(&json, "stop_reason", c->reason);
    tk_json_end_object(&json.w);
    (void)cmd_json_line(&json);
    (void)fflush(stdout);
    cmd_json_dispose(&json);
}

/* Adds what the user wrote and the answer to it. A turn that fails leaves the
 * conversation as it was. */
static int say(conversation *c, const char *text)
{
    tk_buf answer;
    tinkc_error *error = NULL;
    tk_buf_init(&answer, ANSWER_MAX);
    if (!add(c, "user", text, strlen(text))) {
        return cmd_fail("the conversation is too long: /reset starts a new one");
    }
    cmd_signal_catch();
    tinkc_code code = answer_to(c, &answer, &error);
    c->was_stopped = cmd_interrupted();
    cmd_signal_release();
    if (!cmd_wants_json(c->args)) {
        cmd_print(stdout, "%s\n", c->was_stopped ? " [stopped]" : "");
        (void)fflush(stdout);
    }
    int result = CMD_OK;
    if (code != TINKC_OK) {
        drop_last(c);
        result = cmd_fail_error(&error, NULL);
    } else if (!add(c, "assistant", answer.p != NULL ? answer.p : "", answer.n)) {
        drop_last(c);
        result = cmd_fail("the conversation is too long: /reset starts a new one");
    } else {
        show_line(c, &answer);
    }
    tk_buf_dispose(&answer);
    return result;
}

/* ---- commands ---- */

static int save(const conversation *c, const char *path)
{
    cmd_json json;
    if (path[0] == '\0') {
        return cmd_fail("/save needs the name of a file");
    }
    cmd_json_init(&json);
    put_messages(&json, c);
    return cmd_json_save(&json, path);
}

static void help(void)
{
    cmd_print(stderr, "/reset         start a new conversation\n"
                      "/system TEXT   start a new conversation with this system message\n"
                      "/save FILE     save the conversation as a line for 'tinkc train'\n"
                      "/quit          quit (also Ctrl-D)\n"
                      "Ctrl-C stops an answer; at the prompt it quits.\n");
}

/* Runs a line that starts with a slash; /quit sets *is_over. */
static int command(conversation *c, const char *line, bool *is_over)
{
    size_t n = strcspn(line, " \t");
    const char *rest = line + n + strspn(line + n, " \t");
    const tk_str word = {line, n};
    if (tk_str_is(word, "/quit") || tk_str_is(word, "/exit")) {
        *is_over = true;
    } else if (tk_str_is(word, "/reset")) {
        reset(c);
    } else if (tk_str_is(word, "/system")) {
        return set_system(c, rest) ? CMD_OK : cmd_fail("out of memory");
    } else if (tk_str_is(word, "/save")) {
        return save(c, rest);
    } else if (tk_str_is(word, "/help")) {
        help();
    } else {
        return cmd_fail("no such command: %.*s (see /help)", (int)TK_MIN(n, 40), line);
    }
    return CMD_OK;
}

/* ---- lines ---- */

/* Reads the next line, without its line end; false at the end of input. A line that is
 * too long is read to its end, and line->failure is set. */
static bool next_line(conversation *c, tk_buf *line)
{
    int byte;
    if (c->is_terminal) {
        cmd_print(stdout, "> ");
        (void)fflush(stdout);
    }
    tk_buf_clear(line);
    while ((byte = getc(stdin)) != EOF && byte != '\n') {
        tk_buf_putc(line, (char)byte);
    }
    if (line->n > 0 && line->failure == TINKC_OK && line->p[line->n - 1] == '\r') {
        line->n--;
    }
    bool is_whole = tk_buf_cstr(line) != NULL;
    return byte != EOF || line->n > 0 || !is_whole;
}

static int take_line(conversation *c, const tk_buf *line, bool *is_over)
{
    if (line->failure != TINKC_OK) {
        return cmd_fail("the line is too long: at most %zu bytes",
                        (size_t)LINE_MAX_BYTES - 1);
    }
    if (memchr(line->p, '\0', line->n) != NULL) {
        return cmd_fail("the line is not text: it has a NUL byte");
    }
    return line->p[0] == '/' ? command(c, line->p, is_over) : say(c, line->p);
}

static int converse(conversation *c)
{
    tk_buf line;
    int result = CMD_OK;
    bool is_over = false;
    tk_buf_init(&line, LINE_MAX_BYTES);
    while (!is_over && next_line(c, &line)) {
        if (line.n == 0 && line.failure == TINKC_OK) {
            continue;
        }
        int code = take_line(c, &line, &is_over);
        /* a person can try again; a script must not continue half a conversation */
        if (code != CMD_OK && !c->is_terminal) {
            result = code;
            is_over = true;
        }
        is_over = is_over || ferror(stdout) != 0;
    }
    if (c->is_terminal && !is_over) {
        cmd_print(stdout, "\n");
    }
    tk_buf_dispose(&line);
    return result;
}

static int show_all(const conversation *c)
{
    cmd_json json;
    if (cmd_format_of(c->args) != CMD_JSON) {
        return CMD_OK;
    }
    cmd_json_init(&json);
    put_messages(&json, c);
    return cmd_json_print(&json, c->args);
}

static int run(const cmd_args *args)
{
    conversation c = {.args = args};
    const char *system = cmd_text(args, "system", "");
    c.is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    int result = cmd_model_open(&c.model, args, true);
    if (result == CMD_OK) {
        result = cmd_model_need_template(&c.model);
    }
    if (result == CMD_OK && !set_system(&c, system)) {
        result = cmd_fail("out of memory");
    }
    if (result == CMD_OK) {
        if (c.is_terminal) {
            cmd_print(stderr, "%s: /help lists the commands, Ctrl-D quits.\n",
                      c.model.name);
        }
        result = converse(&c);
        int shown = show_all(&c);
        result = result != CMD_OK ? result : shown;
    }
    while (c.n > 0) {
        drop_last(&c);
    }
    tk_free(c.messages);
    cmd_model_close(&c.model, result);
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
        "an answer. /help lists commands such as /reset, /system and /save. Without a\n"
        "terminal each line of standard input is a turn.",
    .examples = "tinkc chat --local -m tinkc/pebble-llama-2m\n"
                "tinkc chat -m tinker://RUN/sampler_weights/NAME --temperature 0.7",
    .options = options,
    .run = run,
};
