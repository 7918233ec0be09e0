/* The messages of a conversation and its turns. Each turn renders all messages again.
 * Needs: text */
#include "cli/commands/cmd_chat_talk.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/cmd_print.h"

#define MESSAGES_MAX 10000
#define ANSWER_MAX   (64 * TK_MIB)
#define POLL_MS      100
#define TOO_LONG     "the conversation is too long: /reset starts a new one"

/* ---- messages ---- */

static bool add(talk *t, const char *role, const char *text, size_t n)
{
    if (t->n == t->capacity) {
        size_t room = t->capacity * 2 + 16;
        talk_message *list = room <= MESSAGES_MAX
                                 ? tk_realloc_array(t->messages, room, sizeof(*list))
                                 : NULL;
        if (list == NULL) {
            return false;
        }
        t->messages = list;
        t->capacity = room;
    }
    char *copy = tk_strndup(text, n);
    if (copy == NULL) {
        return false;
    }
    t->messages[t->n++] = (talk_message){role, copy};
    return true;
}

static void drop_last(talk *t)
{
    tk_free(t->messages[--t->n].text);
}

static bool has_system(const talk *t)
{
    return t->n > 0 && strcmp(t->messages[0].role, "system") == 0;
}

void cmd_chat_talk_reset(talk *t)
{
    size_t keep = has_system(t) ? 1 : 0;
    while (t->n > keep) {
        drop_last(t);
    }
}

const char *cmd_chat_talk_system_text(const talk *t)
{
    return has_system(t) ? t->messages[0].text : NULL;
}

bool cmd_chat_talk_has_turns(const talk *t)
{
    return t->n > (has_system(t) ? 1U : 0U);
}

bool cmd_chat_talk_system(talk *t, const char *text)
{
    while (t->n > 0) {
        drop_last(t);
    }
    return text[0] == '\0' || add(t, "system", text, strlen(text));
}

void cmd_chat_talk_put(cmd_json *json, const talk *t)
{
    tk_json_begin_object(&json->w);
    cmd_json_key(json, "messages");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < t->n; i++) {
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "role", t->messages[i].role);
        cmd_json_pair(json, "content", t->messages[i].text);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
    tk_json_end_object(&json->w);
}

/* ---- one answer ---- */

static tinkc_code make_prompt(talk *t, tinkc_model_input **out, tinkc_error **error)
{
    tinkc_chat *chat = NULL;
    tinkc_code code = tinkc_chat_new(&chat, error);
    for (size_t i = 0; code == TINKC_OK && i < t->n; i++) {
        code = tinkc_chat_add(chat, t->messages[i].role, t->messages[i].text, error);
    }
    if (code == TINKC_OK) {
        code = cmd_model_render(out, &t->model, chat, error);
    }
    tinkc_chat_free(&chat);
    return code;
}

/* Shows and collects the text that is complete so far. */
static bool take_text(talk *t, const tinkc_decoder *decoder, tk_buf *answer)
{
    size_t n = 0;
    const char *text = tinkc_decoder_text(&n, decoder);
    tk_buf_put(answer, text, n);
    return n == 0 || cmd_wants_json(t->args) || cmd_model_put(text, n);
}

/* Takes events until the end, Ctrl-C, or until standard output is closed. */
static tinkc_code take_events(talk *t, tinkc_stream *stream, tinkc_decoder *decoder,
                              tk_buf *answer, tinkc_error **error)
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
            (void)snprintf(t->reason, sizeof(t->reason), "%s",
                           event->finish_reason != NULL ? event->finish_reason : "stop");
            continue;
        }
        int32_t id = (int32_t)event->token_id;
        if (event->token_id >= 0) {
            code = tinkc_decoder_push(decoder, &id, 1, error);
            is_read = code != TINKC_OK || take_text(t, decoder, answer);
        } else if (event->token != NULL) {
            tk_buf_puts(answer, event->token);
            is_read = cmd_wants_json(t->args) ||
                      cmd_model_put(event->token, strlen(event->token));
        }
    }
    if (code == TINKC_E_MISSING || code == TINKC_E_TIMEOUT) { /* the end, or Ctrl-C */
        tinkc_error_free(error);
        return TINKC_OK;
    }
    return code;
}

static tinkc_code answer_to(talk *t, tk_buf *answer, tinkc_error **error)
{
    tinkc_model_input *input = NULL;
    tinkc_decoder *decoder = NULL;
    tinkc_stream *stream = NULL;
    (void)snprintf(t->reason, sizeof(t->reason), "interrupted");
    tinkc_code code = make_prompt(t, &input, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_decoder_new(&decoder, t->model.tokenizer, true, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_stream_open(&stream, t->model.sampling, input, &t->model.params, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = take_events(t, stream, decoder, answer, error);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_decoder_finish(decoder, error);
    if (code == TINKC_OK) {
        (void)take_text(t, decoder, answer);
    }
out:
    tinkc_stream_close(&stream);
    tinkc_decoder_free(&decoder);
    tinkc_model_input_free(&input);
    return code;
}

/* ---- a turn ---- */

static void show_line(talk *t, const tk_buf *answer)
{
    cmd_json json;
    if (cmd_format_of(t->args) != CMD_JSONL) {
        return;
    }
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "role", "assistant");
    cmd_json_key(&json, "content");
    tk_json_put_str(&json.w, tk_buf_str(answer));
    cmd_json_pair(&json, "stop_reason", t->reason);
    tk_json_end_object(&json.w);
    (void)cmd_json_line(&json);
    (void)fflush(stdout);
    cmd_json_dispose(&json);
}

/* Samples the answer to the last message and adds it. */
static int answer(talk *t)
{
    tk_buf text;
    tinkc_error *error = NULL;
    tk_buf_init(&text, ANSWER_MAX);
    cmd_signal_catch();
    tinkc_code code = answer_to(t, &text, &error);
    bool was_stopped = cmd_interrupted();
    cmd_signal_release();
    if (!cmd_wants_json(t->args)) {
        cmd_print(stdout, "%s\n", was_stopped ? " [stopped]" : "");
        (void)fflush(stdout);
    }
    int result = CMD_OK;
    if (code != TINKC_OK) {
        result = cmd_fail_error(&error, NULL);
    } else if (!add(t, "assistant", text.p != NULL ? text.p : "", text.n)) {
        result = cmd_fail(TOO_LONG);
    } else {
        show_line(t, &text);
    }
    tk_buf_dispose(&text);
    return result;
}

int cmd_chat_talk_say(talk *t, const char *text)
{
    if (!add(t, "user", text, strlen(text))) {
        return cmd_fail(TOO_LONG);
    }
    int result = answer(t);
    if (result != CMD_OK) {
        drop_last(t);
    }
    return result;
}

int cmd_chat_talk_retry(talk *t)
{
    if (t->n == 0 || strcmp(t->messages[t->n - 1].role, "assistant") != 0) {
        return cmd_fail("there is no answer to try again");
    }
    talk_message old = t->messages[--t->n];
    t->model.params.seed += t->model.params.has_seed;
    int result = answer(t);
    if (result != CMD_OK) {
        t->messages[t->n++] = old; /* its place is still there */
    } else {
        tk_free(old.text);
    }
    return result;
}

void cmd_chat_talk_dispose(talk *t)
{
    while (t->n > 0) {
        drop_last(t);
    }
    tk_free(t->messages);
    t->messages = NULL;
}
