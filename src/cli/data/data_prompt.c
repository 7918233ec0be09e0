/* Conversations come from data_shape.c and lose their last message, if it is an answer; other
 * records are looked up by the keys of their question.
 * Needs: text */
#include "cli/data/data_prompt.h"

#include <stdio.h>
#include <string.h>

#include "cli/data/data_make.h"

#define REFUSE(problem, ...) (void)snprintf((problem), DATA_PROBLEM_BYTES, __VA_ARGS__)

/* A value that is a number or a text, as text in the arena; {NULL, 0}: neither. */
static tk_str text_of(data_maker *maker, const tk_json *value)
{
    tk_buf buf;
    tk_json_writer w;
    tk_str copy = {NULL, 0};
    if (value == NULL || value->type == TK_JSON_NULL || value->type == TK_JSON_OBJECT ||
        tk_json_is_array(value)) {
        return copy;
    }
    if (value->type == TK_JSON_STRING) {
        return value->as.string;
    }
    tk_buf_init(&buf, TK_KIB);
    tk_json_writer_init(&w, &buf);
    tk_json_put_value(&w, value);
    if (buf.failure != TINKC_OK || !tk_arena_dup(maker->arena, &copy, buf.p, buf.n)) {
        maker->is_starved = true;
    }
    tk_buf_dispose(&buf);
    return copy;
}

static tk_str text_at(data_maker *maker, const tk_json *record, const char *key)
{
    return text_of(maker, tk_json_get(record, key));
}

/* ---- conversations ---- */

/* Takes the last message off when it is the assistant's. */
static void take_answer(data_maker *maker, data_example *out, tk_str *answer)
{
    size_t n = tk_json_len(out->messages);
    const tk_json last = tk_json_at(out->messages, n - 1);
    const tk_json *role = tk_json_get(&last, "role");
    bool is_answer = n > 1 && role != NULL && role->type == TK_JSON_STRING &&
                     tk_str_is(role->as.string, "assistant");
    tk_json *items = NULL;
    if (is_answer) {
        *answer = text_at(maker, &last, "content");
        const tk_json *list = data_make_list(maker, &items, n - 1);
        for (size_t i = 0; list != NULL && i + 1 < n; i++) {
            items[i] = tk_json_at(out->messages, i);
        }
        out->messages = list;
    }
    out->given = tk_json_len(out->messages);
}

static tinkc_code read_turns(data_maker *maker, data_example *out, tk_str *answer,
                             char *problem, const tk_json *turns)
{
    tinkc_code code = data_shape_read(out, problem, turns, DATA_ANY, maker->arena);
    if (code == TINKC_OK && problem[0] == '\0') {
        take_answer(maker, out, answer);
    }
    return code;
}

/* Makes the conversation of a question, with a system message where `system` has a text. */
static void make_question(data_maker *maker, data_example *out, tk_str system,
                          tk_str question)
{
    tk_json *items = NULL;
    size_t n = 0;
    out->messages = data_make_list(maker, &items, system.n > 0 ? 2 : 1);
    if (out->messages == NULL) {
        return;
    }
    if (system.n > 0) {
        items[n++] = data_make_message(maker, "system", system);
    }
    items[n] = data_make_message(maker, "user", question);
    out->given = n + 1;
}

/* ---- questions ---- */

static tk_str find_answer(data_maker *maker, const tk_json *record)
{
    static const char *const keys[] = {"answer",   "completion", "output",  "response",
                                       "expected", "target",     "solution"};
    for (size_t i = 0; i < TK_ARRAY_LEN(keys); i++) {
        tk_str text = text_at(maker, record, keys[i]);
        if (text.p != NULL) {
            return text;
        }
    }
    return (tk_str){NULL, 0};
}

static void read_question(data_maker *maker, data_example *out, char *problem,
                          const tk_json *record)
{
    static const char *const keys[] = {"prompt",  "question", "query", "instruction",
                                       "problem", "input",    "text"};
    tk_str question = {NULL, 0};
    const char *key = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(keys) && question.n == 0; i++) {
        question = text_at(maker, record, keys[i]);
        key = keys[i];
    }
    if (question.n == 0) {
        REFUSE(problem, "is not a prompt: it has no \"prompt\", \"question\" or "
                        "\"messages\"");
        return;
    }
    bool is_raw = strcmp(key, "text") == 0 ||
                  (strcmp(key, "prompt") == 0 && tk_json_get(record, "response") == NULL);
    if (is_raw) {
        out->prompt = question;
        return;
    }
    if (strcmp(key, "instruction") == 0) {
        tk_str input = text_at(maker, record, "input");
        input = input.n > 0 ? input : text_at(maker, record, "context");
        question = input.n > 0 ? data_make_joined(maker, question, input) : question;
    }
    make_question(maker, out, text_at(maker, record, "system"), question);
}

/* ---- the interface ---- */

tinkc_code data_prompt_read(data_example *out, tk_str *answer,
                            char problem[DATA_PROBLEM_BYTES], const tk_json *record,
                            tk_arena *arena)
{
    data_maker maker = {arena, false};
    const tk_json *prompt = tk_json_get(record, "prompt");
    bool is_list = tk_json_is_array(record);
    tinkc_code code = TINKC_OK;
    memset(out, 0, sizeof(*out));
    *answer = (tk_str){NULL, 0};
    problem[0] = '\0';
    if (record->type != TK_JSON_OBJECT && !is_list) {
        REFUSE(problem, "is not an object, but a JSON %s",
               tk_json_type_name(record->type));
    } else if (is_list || tk_json_get(record, "messages") != NULL ||
               tk_json_get(record, "conversations") != NULL ||
               tk_json_get(record, "conversation") != NULL) {
        code = read_turns(&maker, out, answer, problem, record);
    } else if (tk_json_is_array(prompt)) {
        code = read_turns(&maker, out, answer, problem, prompt);
        const tk_json *turns = tk_json_get(record, "completion");
        const tk_json turn = tk_json_at(turns, 0);
        *answer = tk_json_len(turns) == 1 ? text_at(&maker, &turn, "content")
                                          : find_answer(&maker, record);
    } else {
        read_question(&maker, out, problem, record);
    }
    if (answer->p == NULL && record->type == TK_JSON_OBJECT) {
        *answer = find_answer(&maker, record);
    }
    out->kind = DATA_PROMPT;
    return maker.is_starved ? TINKC_E_NOMEM : code;
}

tinkc_code data_prompt_line(data_example *out, tk_str line, bool is_message,
                            tk_arena *arena)
{
    data_maker maker = {arena, false};
    memset(out, 0, sizeof(*out));
    out->kind = DATA_PROMPT;
    if (is_message) {
        make_question(&maker, out, (tk_str){NULL, 0}, line);
    } else {
        out->prompt = line;
    }
    return maker.is_starved ? TINKC_E_NOMEM : TINKC_OK;
}
