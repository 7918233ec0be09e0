/* Answers that are texts stay texts, unless what they answer is a conversation. Of two whole
 * conversations the messages that both begin with are the prompt.
 * Needs: text */
#include "cli/data/data_prefer.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/data/data_make.h"

#define HUMAN     "\n\nHuman:"
#define ASSISTANT "\n\nAssistant:"

typedef struct preferring {
    data_maker maker;
    const tk_json *record;
    const tk_json *prompt;     /* messages before the answers; or NULL */
    const tk_json *answers[2]; /* messages */
    char *problem;             /* [DATA_PROBLEM_BYTES] */
} preferring;

#define REFUSE(p, ...) (void)snprintf((p)->problem, DATA_PROBLEM_BYTES, __VA_ARGS__)

static bool is_bad(const preferring *p)
{
    return p->problem[0] != '\0' || p->maker.is_starved;
}

/* ---- messages ---- */

/* Returns turns of any form as a list of messages; NULL with a problem. */
static const tk_json *to_messages(preferring *p, const tk_json *turns)
{
    data_example example;
    tk_json *item = NULL;
    if (turns->type == TK_JSON_OBJECT) { /* a message without its list */
        const tk_json *list = data_make_list(&p->maker, &item, 1);
        if (list == NULL) {
            return NULL;
        }
        *item = *turns;
        turns = list;
    }
    if (data_shape_read(&example, p->problem, turns, DATA_ANY, p->maker.arena) !=
        TINKC_OK) {
        p->maker.is_starved = true;
    }
    return is_bad(p) ? NULL : example.messages;
}

/* Returns a text as a list with one message. */
static const tk_json *to_message(preferring *p, const char *role, tk_str text)
{
    tk_json *item = NULL;
    const tk_json *list = data_make_list(&p->maker, &item, 1);
    if (list != NULL) {
        *item = data_make_message(&p->maker, role, text);
    }
    return list;
}

static bool is_text(const tk_json *value)
{
    return value->type == TK_JSON_STRING;
}

static bool is_assistant(const tk_json *message)
{
    const tk_json *role = tk_json_get(message, "role");
    return role != NULL && is_text(role) && tk_str_is(role->as.string, "assistant");
}

/* ---- "\n\nHuman: ...\n\nAssistant: ..." ---- */

/* Returns where the next mark begins, or the end; *role is whose it is. */
static const char *next_mark(tk_str text, const char **role, size_t *length)
{
    const char *human = memmem(text.p, text.n, HUMAN, strlen(HUMAN));
    const char *other = memmem(text.p, text.n, ASSISTANT, strlen(ASSISTANT));
    bool is_human = human != NULL && (other == NULL || human < other);
    *role = is_human ? "user" : "assistant";
    *length = is_human ? strlen(HUMAN) : other != NULL ? strlen(ASSISTANT) : 0;
    return is_human ? human : other != NULL ? other : text.p + text.n;
}

/* Returns the rest of a text after its first n bytes. */
static tk_str after(tk_str text, const char *at, size_t n)
{
    size_t gone = (size_t)(at - text.p) + n;
    return (tk_str){text.p + gone, text.n - gone};
}

/* Returns the turns of such a text as messages; NULL: it is not one, or has a problem. */
static const tk_json *to_turns(preferring *p, tk_str text)
{
    const char *role = NULL, *next = NULL;
    size_t length = 0, n = 0;
    tk_json *items = NULL;
    tk_str rest = text;
    const char *at = next_mark(rest, &role, &length);
    bool is_one =
        length > 0 && tk_str_trim((tk_str){text.p, (size_t)(at - text.p)}).n == 0;
    while (is_one && length > 0 && n <= TK_DATA_TURNS_MAX) {
        n++;
        rest = after(rest, at, length);
        at = next_mark(rest, &next, &length);
    }
    if (!is_one || n > TK_DATA_TURNS_MAX) {
        return NULL;
    }
    const tk_json *list = data_make_list(&p->maker, &items, n);
    rest = text;
    at = next_mark(rest, &role, &length);
    for (size_t i = 0; list != NULL && i < n; i++) {
        rest = after(rest, at, length);
        at = next_mark(rest, &next, &length);
        tk_str own = tk_str_trim((tk_str){rest.p, (size_t)(at - rest.p)});
        items[i] = data_make_message(&p->maker, role, own);
        role = next;
    }
    return list;
}

/* ---- two conversations ---- */

static bool are_same(preferring *p, const tk_json *a, const tk_json *b)
{
    const tk_json *const both[2] = {a, b};
    tk_buf texts[2];
    for (size_t i = 0; i < 2; i++) {
        tk_json_writer w;
        tk_buf_init(&texts[i], 2 * TK_DATA_RECORD_BYTES);
        tk_json_writer_init(&w, &texts[i]);
        tk_json_put_value(&w, both[i]);
        p->maker.is_starved = p->maker.is_starved || texts[i].failure == TINKC_E_NOMEM;
    }
    bool same = tk_str_eq(tk_buf_str(&texts[0]), tk_buf_str(&texts[1]));
    tk_buf_dispose(&texts[0]);
    tk_buf_dispose(&texts[1]);
    return same;
}

/* Returns the items [from, to) of a list as a list. */
static const tk_json *slice(preferring *p, const tk_json *list, size_t from, size_t to)
{
    tk_json *items = NULL;
    const tk_json *part = data_make_list(&p->maker, &items, to - from);
    for (size_t i = from; part != NULL && i < to; i++) {
        items[i - from] = tk_json_at(list, i);
    }
    return part;
}

/* Makes the messages that both answers begin with the prompt. */
static void divide(preferring *p)
{
    size_t n[2], k = 0;
    bool same = true;
    for (size_t i = 0; i < 2; i++) {
        n[i] = tk_json_len(p->answers[i]);
    }
    while (same && k < n[0] && k < n[1]) {
        const tk_json a = tk_json_at(p->answers[0], k), b = tk_json_at(p->answers[1], k);
        same = are_same(p, &a, &b);
        k += same ? 1 : 0;
    }
    if (k == n[0] || k == n[1]) {
        REFUSE(p, k == n[0] && k == n[1]
                      ? "\"chosen\" and \"rejected\" are the same"
                      : "\"chosen\" and \"rejected\" do not answer the same prompt");
    } else if (k == 0) {
        REFUSE(p, "\"chosen\" and \"rejected\" do not begin with the same messages");
    } else {
        p->prompt = slice(p, p->answers[0], 0, k);
        p->answers[0] = slice(p, p->answers[0], k, n[0]);
        p->answers[1] = slice(p, p->answers[1], k, n[1]);
    }
}

/* ---- forms ---- */

/* Returns what was asked; *is_raw: a text that is not a message. */
static const tk_json *find_prompt(const tk_json *record, bool *is_raw)
{
    static const char *const keys[] = {"prompt",       "messages", "conversations",
                                       "conversation", "question", "instruction",
                                       "query",        "input"};
    for (size_t i = 0; i < TK_ARRAY_LEN(keys); i++) {
        const tk_json *value = tk_json_get(record, keys[i]);
        if (value != NULL && value->type != TK_JSON_NULL) {
            *is_raw = i == 0 && is_text(value);
            return value;
        }
    }
    return NULL;
}

/* Makes the messages of one answer. */
static const tk_json *read_answer(preferring *p, const tk_json *value, bool is_whole)
{
    if (!is_text(value)) {
        return to_messages(p, value);
    }
    const tk_json *turns = is_whole ? to_turns(p, value->as.string) : NULL;
    if (is_whole && turns == NULL && !is_bad(p)) {
        REFUSE(p, "has no \"prompt\", and \"chosen\" is not a conversation");
    }
    return is_whole ? turns : to_message(p, "assistant", value->as.string);
}

/* Sets prompt and answers of a preference between conversations. */
static void read_messages(preferring *p, const tk_json *prompt,
                          const tk_json *const *both)
{
    for (size_t i = 0; i < 2 && !is_bad(p); i++) {
        p->answers[i] = read_answer(p, both[i], prompt == NULL);
    }
    if (is_bad(p)) {
        return;
    }
    const tk_json first = tk_json_at(p->answers[0], 0);
    if (prompt == NULL || !is_assistant(&first)) {
        divide(p); /* the answers repeat what was asked */
    } else {
        p->prompt = is_text(prompt) ? to_message(p, "user", prompt->as.string)
                                    : to_messages(p, prompt);
        const tk_json other = tk_json_at(p->answers[1], 0);
        if (!is_bad(p) && are_same(p, &first, &other) &&
            tk_json_len(p->answers[0]) == 1 && tk_json_len(p->answers[1]) == 1) {
            REFUSE(p, "\"chosen\" and \"rejected\" are the same");
        }
    }
}

static void make_record(preferring *p, tk_json *out, const tk_json *prompt,
                        const tk_json *completion)
{
    static const tk_json none = {.type = TK_JSON_NULL};
    const tk_json *tools = tk_json_get(p->record, "tools");
    const tk_json_member members[] = {
        {TK_STR("prompt"), prompt != NULL ? *prompt : none},
        {TK_STR("completion"), completion != NULL ? *completion : none},
        {TK_STR("tools"), tools != NULL ? *tools : none},
    };
    *out = data_make_object(&p->maker, members, 3);
}

tinkc_code data_prefer_read(tk_json out[2], char problem[DATA_PROBLEM_BYTES],
                            const tk_json *record, tk_arena *arena)
{
    preferring p = {.maker = {arena, false}, .record = record, .problem = problem};
    const tk_json *both[2] = {tk_json_get(record, "chosen"),
                              tk_json_get(record, "rejected")};
    bool is_raw = false;
    problem[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (both[i] == NULL || both[i]->type == TK_JSON_NULL) {
            REFUSE(&p, "is not a preference: it has no \"%s\"",
                   i == 0 ? "chosen" : "rejected");
            return TINKC_OK;
        }
    }
    const tk_json *prompt = find_prompt(record, &is_raw);
    bool are_texts = is_text(both[0]) && is_text(both[1]);
    if (is_raw && are_texts) {
        if (tk_str_eq(both[0]->as.string, both[1]->as.string)) {
            REFUSE(&p, "\"chosen\" and \"rejected\" are the same");
        }
        make_record(&p, &out[0], prompt, both[0]);
        make_record(&p, &out[1], prompt, both[1]);
    } else {
        read_messages(&p, prompt, both);
        if (!is_bad(&p)) {
            make_record(&p, &out[0], p.prompt, p.answers[0]);
            make_record(&p, &out[1], p.prompt, p.answers[1]);
        }
    }
    return p.maker.is_starved ? TINKC_E_NOMEM : TINKC_OK;
}
