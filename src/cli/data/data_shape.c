/* A table has, for each kind, the keys that a record of it must have and the function that
 * reads it; the first row whose keys are all there is taken. Values are built in the
 * arena, next to those of the record.
 * Needs: text */
#include "cli/data/data_shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/similar.h"
#include "cli/data/data_make.h"

typedef struct shaping {
    data_maker maker;
    data_example *out;
    const tk_json *record;
    const char *first, *second; /* keys of the row */
    char *problem;              /* [DATA_PROBLEM_BYTES] */
} shaping;

typedef void (*shape_fn)(shaping *s);

static void refuse(shaping *s, const char *format, ...) TK_PRINTF(2, 3);

static void refuse(shaping *s, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (s->problem[0] == '\0') {
        (void)vsnprintf(s->problem, DATA_PROBLEM_BYTES, format, list);
    }
    va_end(list);
}

/* ---- values ---- */

/* Returns the value of a key; NULL when it is absent, null or an empty text, which is how
 * tables say "absent". */
static const tk_json *value_of(const tk_json *object, const char *key)
{
    const tk_json *value = key != NULL ? tk_json_get(object, key) : NULL;
    bool is_none = value == NULL || value->type == TK_JSON_NULL ||
                   (value->type == TK_JSON_STRING && value->as.string.n == 0);
    return is_none ? NULL : value;
}

/* Gives the text of a key; {NULL, 0} when it is absent. False: it is not a text. */
static bool text_of(shaping *s, const tk_json *object, const char *key, tk_str *out)
{
    const tk_json *value = value_of(object, key);
    *out = (tk_str){NULL, 0};
    if (value == NULL) {
        return true;
    }
    if (value->type != TK_JSON_STRING) {
        refuse(s, "\"%s\" is not a string", key);
        return false;
    }
    *out = value->as.string;
    return true;
}

/* Returns the value of a key, where a text is JSON inside JSON (a cell of a table). */
static const tk_json *unfold(shaping *s, const char *key)
{
    const tk_json *value = value_of(s->record, key);
    const tk_json *inner = NULL;
    if (value == NULL || value->type != TK_JSON_STRING) {
        return value;
    }
    tinkc_code code = tk_json_parse(&inner, s->maker.arena, value->as.string.p,
                                    value->as.string.n, NULL, NULL);
    s->maker.is_starved = s->maker.is_starved || code == TINKC_E_NOMEM;
    return code == TINKC_OK ? inner : value;
}

/* Room for the messages of the conversation, which the caller fills. NULL: no memory. */
static tk_json *make_messages(shaping *s, size_t n)
{
    tk_json *items = NULL;
    s->out->messages = data_make_list(&s->maker, &items, n);
    return items;
}

/* Sets the variables of the template: "tools" alone, or every key but the messages. */
static void set_vars(shaping *s, bool has_all)
{
    const tk_json *record = s->record;
    size_t n = record->type == TK_JSON_OBJECT ? record->as.object.n : 0, count = 0;
    tk_json_member *members = tk_arena_array(s->maker.arena, n + 1, sizeof(*members));
    tk_json *vars = tk_arena_zalloc(s->maker.arena, sizeof(*vars));
    if (members == NULL || vars == NULL) {
        s->maker.is_starved = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *m = &record->as.object.members[i];
        bool is_tools = tk_str_is(m->key, "tools");
        bool is_ours = tk_str_is(m->key, "messages");
        if (is_tools) {
            const tk_json *tools = unfold(s, "tools");
            if (tools != NULL && tk_json_len(tools) > 0) {
                members[count++] = (tk_json_member){m->key, *tools};
            } else if (tools != NULL && !tk_json_is_array(tools)) {
                refuse(s, "\"tools\" is not a list");
            }
        } else if (has_all && !is_ours && m->value.type != TK_JSON_NULL) {
            members[count++] = *m;
        }
    }
    vars->type = TK_JSON_OBJECT;
    vars->as.object.members = members;
    vars->as.object.n = count;
    s->out->vars = vars;
}

/* ---- messages ---- */

static void check_parts(shaping *s, size_t at, const tk_json *parts)
{
    for (size_t i = 0; i < tk_json_len(parts); i++) {
        const tk_json part = tk_json_at(parts, i);
        const tk_json *type = tk_json_get(&part, "type");
        const tk_json *text = tk_json_get(&part, "text");
        if (type != NULL && type->type == TK_JSON_STRING &&
            !tk_str_is(type->as.string, "text")) {
            refuse(s,
                   "message %zu has a part of type \"" TK_STR_FMT
                   "\", but only text can be trained on",
                   at, TK_STR_ARG(type->as.string));
        } else if (text == NULL || text->type != TK_JSON_STRING) {
            refuse(s, "message %zu has a content part without text", at);
        }
    }
}

static void check_message(shaping *s, size_t at, const tk_json *message)
{
    const tk_json *role = tk_json_get(message, "role");
    const tk_json *content = tk_json_get(message, "content");
    if (message->type != TK_JSON_OBJECT) {
        refuse(s, "message %zu is not an object", at);
    } else if (role == NULL || role->type != TK_JSON_STRING || role->as.string.n == 0) {
        refuse(s, "message %zu has no \"role\"", at);
    } else if (value_of(message, "function_call") != NULL) {
        refuse(s, "message %zu has a \"function_call\", which \"tool_calls\" replaced",
               at);
    } else if (content == NULL || content->type == TK_JSON_NULL) {
        if (tk_json_len(tk_json_get(message, "tool_calls")) == 0) {
            refuse(s, "message %zu has no \"content\"", at);
        }
    } else if (tk_json_is_array(content)) {
        check_parts(s, at, content);
    } else if (content->type != TK_JSON_STRING) {
        refuse(s, "\"content\" of message %zu is neither a string nor a list of parts",
               at);
    }
}

static void check_messages(shaping *s)
{
    size_t n = tk_json_len(s->out->messages);
    if (n == 0 || n > TK_DATA_TURNS_MAX) {
        refuse(s, n == 0 ? "no messages" : "more than 65536 messages");
        return;
    }
    for (size_t i = 0; i < n && s->problem[0] == '\0'; i++) {
        const tk_json message = tk_json_at(s->out->messages, i);
        check_message(s, i, &message);
    }
}

static void shape_chat(shaping *s)
{
    bool is_list = tk_json_is_array(s->record);
    s->out->messages = is_list ? s->record : unfold(s, "messages");
    if (!tk_json_is_array(s->out->messages)) {
        refuse(s, "\"messages\" is not a list");
        return;
    }
    check_messages(s);
    set_vars(s, true);
}

/* ---- prompt and completion ---- */

static void shape_turns(shaping *s, const tk_json *prompt, const tk_json *completion)
{
    size_t before = tk_json_len(prompt), n = before + tk_json_len(completion);
    s->out->kind = DATA_TURNS;
    if (before == n) {
        refuse(s, "nothing to train on: the completion is empty");
        return;
    }
    tk_json *messages = make_messages(s, n);
    for (size_t i = 0; messages != NULL && i < n; i++) {
        messages[i] =
            i < before ? tk_json_at(prompt, i) : tk_json_at(completion, i - before);
    }
    if (messages != NULL) {
        s->out->given = before;
        check_messages(s);
        set_vars(s, false);
    }
}

/* Returns whether the value is a list of messages; a text such as "[1, 2]" is not. */
static bool is_turns(const tk_json *value)
{
    const tk_json first = tk_json_at(value, 0);
    return tk_json_len(value) == 0 ? tk_json_is_array(value)
                                   : tk_json_get(&first, "role") != NULL;
}

static void shape_pair(shaping *s)
{
    const tk_json *prompt = unfold(s, s->first), *completion = unfold(s, s->second);
    if (prompt != NULL && completion != NULL && is_turns(prompt) &&
        is_turns(completion)) {
        shape_turns(s, prompt, completion);
        return;
    }
    if (text_of(s, s->record, s->first, &s->out->prompt) &&
        text_of(s, s->record, s->second, &s->out->completion) &&
        s->out->completion.n == 0) {
        refuse(s, "nothing to train on: the completion is empty");
    }
}

/* ---- instruction and output, question and answer ---- */

/* Makes the conversation: system (may be empty), question, answer. */
static void make_exchange(shaping *s, tk_str system, tk_str question, tk_str answer)
{
    size_t n = 0;
    if (answer.n == 0 || question.n == 0) {
        refuse(s,
               answer.n == 0 ? "nothing to train on: \"%s\" is empty" : "\"%s\" is empty",
               answer.n == 0 ? s->second : s->first);
        return;
    }
    tk_json *messages = make_messages(s, system.n > 0 ? 3 : 2);
    if (messages == NULL) {
        return;
    }
    if (system.n > 0) {
        messages[n++] = data_make_message(&s->maker, "system", system);
    }
    messages[n++] = data_make_message(&s->maker, "user", question);
    messages[n] = data_make_message(&s->maker, "assistant", answer);
    set_vars(s, false);
}

static void shape_exchange(shaping *s)
{
    tk_str system, question, answer, input, context;
    bool is_alpaca = s->out->kind == DATA_ALPACA;
    if (!text_of(s, s->record, "system", &system) ||
        !text_of(s, s->record, s->first, &question) ||
        !text_of(s, s->record, s->second, &answer) ||
        !text_of(s, s->record, is_alpaca ? "input" : NULL, &input) ||
        !text_of(s, s->record, is_alpaca ? "context" : NULL, &context)) {
        return;
    }
    if (is_alpaca && tk_json_len(value_of(s->record, "history")) > 0) {
        refuse(s, "\"history\" is not read: write the turns as \"messages\"");
    }
    input = input.n > 0 ? input : context;
    if (input.n > 0 && question.n > 0) {
        question = data_make_joined(&s->maker, question, input);
    }
    make_exchange(s, system, question, answer);
}

/* ---- ShareGPT ---- */

static const struct {
    const char *from, *role;
} speakers[] = {
    {"human", "user"},          {"user", "user"},         {"gpt", "assistant"},
    {"assistant", "assistant"}, {"chatgpt", "assistant"}, {"model", "assistant"},
    {"bing", "assistant"},      {"bard", "assistant"},    {"system", "system"},
    {"tool", "tool"},           {"observation", "tool"},  {"function_response", "tool"},
};

static const char *role_of(tk_str from)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(speakers); i++) {
        if (tk_str_is_nocase(from, speakers[i].from)) {
            return speakers[i].role;
        }
    }
    return NULL;
}

/* Makes the message of a turn whose value is the call of a function, as JSON. */
static tk_json make_call(shaping *s, size_t at, tk_str value)
{
    static const tk_json none = {.type = TK_JSON_NULL};
    const tk_json *call = NULL;
    tinkc_code code = tk_json_parse(&call, s->maker.arena, value.p, value.n, NULL, NULL);
    s->maker.is_starved = s->maker.is_starved || code == TINKC_E_NOMEM;
    if (code != TINKC_OK || tk_json_get(call, "name") == NULL) {
        refuse(s, "turn %zu is not a function call with a \"name\"", at);
        return none;
    }
    const tk_json_member parts[] = {{TK_STR("type"), data_make_text(TK_STR("function"))},
                                    {TK_STR("function"), *call}};
    tk_json *item = tk_arena_zalloc(s->maker.arena, sizeof(*item));
    if (item == NULL) {
        s->maker.is_starved = true;
        return none;
    }
    *item = data_make_object(&s->maker, parts, 2);
    tk_json calls = {.type = TK_JSON_ARRAY};
    calls.as.array.items = item;
    calls.as.array.n = 1;
    const tk_json_member members[] = {
        {TK_STR("role"), data_make_text(TK_STR("assistant"))},
        {TK_STR("content"), data_make_text((tk_str){"", 0})},
        {TK_STR("tool_calls"), calls},
    };
    return data_make_object(&s->maker, members, 3);
}

static tk_json make_turn(shaping *s, size_t at, const tk_json *turn)
{
    static const tk_json none = {.type = TK_JSON_NULL};
    const tk_json *from = value_of(turn, "from"), *value = tk_json_get(turn, "value");
    const tk_json *weight = tk_json_get(turn, "weight");
    from = from != NULL ? from : value_of(turn, "role");
    value = value != NULL ? value : tk_json_get(turn, "content");
    if (from == NULL || from->type != TK_JSON_STRING || value == NULL ||
        value->type != TK_JSON_STRING) {
        refuse(s, "turn %zu does not have \"from\" and \"value\"", at);
        return none;
    }
    if (tk_str_is(from->as.string, "function_call")) {
        return make_call(s, at, value->as.string);
    }
    const char *role = role_of(from->as.string);
    if (role == NULL) {
        refuse(s, "turn %zu is from \"" TK_STR_FMT "\", who is not known", at,
               TK_STR_ARG(from->as.string));
        return none;
    }
    const tk_json_member members[] = {
        {TK_STR("role"), data_make_text(tk_str_of(role))},
        {TK_STR("content"), *value},
        {TK_STR("weight"), weight != NULL ? *weight : none},
    };
    return data_make_object(&s->maker, members, 3);
}

static void shape_sharegpt(shaping *s)
{
    bool is_list = tk_json_is_array(s->record);
    const tk_json *turns = is_list ? s->record : unfold(s, s->first);
    tk_str system = {NULL, 0};
    size_t n = tk_json_len(turns), at = 0;
    if (n == 0 || n > TK_DATA_TURNS_MAX) {
        refuse(s, n == 0 ? "no turns" : "more than 65536 turns");
        return;
    }
    if (!is_list && !text_of(s, s->record, "system", &system)) {
        return;
    }
    tk_json *messages = make_messages(s, n + (system.n > 0 ? 1 : 0));
    if (messages != NULL && system.n > 0) {
        messages[at++] = data_make_message(&s->maker, "system", system);
    }
    for (size_t i = 0; messages != NULL && i < n; i++) {
        const tk_json turn = tk_json_at(turns, i);
        messages[at + i] = make_turn(s, i, &turn);
    }
    set_vars(s, false);
}

/* ---- text ---- */

static void shape_text(shaping *s)
{
    if (text_of(s, s->record, s->first, &s->out->completion) &&
        s->out->completion.n == 0) {
        refuse(s, "nothing to train on: the text is empty");
    }
}

/* ---- kinds ---- */

static const struct {
    const char *word, *noun, *name;
} kinds[DATA_KINDS] = {
    [DATA_CHAT] = {"chat", "conversation", "OpenAI chat"},
    [DATA_TURNS] = {NULL, "conversation", "prompt/completion messages"},
    [DATA_PAIR] = {"completion", "pair", "prompt/completion"},
    [DATA_ALPACA] = {"alpaca", "conversation", "Alpaca"},
    [DATA_SHAREGPT] = {"sharegpt", "conversation", "ShareGPT"},
    [DATA_QA] = {"qa", "conversation", "question/answer"},
    [DATA_TEXT] = {"text", "text", "plain text"},
    [DATA_PREFERENCE] = {NULL, "pair", "preferences"},
    [DATA_PROMPT] = {NULL, "prompt", "prompts"},
};

static const struct row {
    data_kind kind;
    const char *first, *second; /* keys; second: or NULL */
    shape_fn read;
} rows[] = {
    {DATA_CHAT, "messages", NULL, shape_chat},
    {DATA_SHAREGPT, "conversations", NULL, shape_sharegpt},
    {DATA_SHAREGPT, "conversation", NULL, shape_sharegpt},
    {DATA_PAIR, "prompt", "completion", shape_pair},
    {DATA_ALPACA, "instruction", "output", shape_exchange},
    {DATA_ALPACA, "instruction", "response", shape_exchange},
    {DATA_QA, "question", "answer", shape_exchange},
    {DATA_QA, "query", "response", shape_exchange},
    {DATA_QA, "prompt", "response", shape_exchange},
    {DATA_QA, "input", "output", shape_exchange},
    {DATA_TEXT, "text", NULL, shape_text},
};

/* Returns the row for a record, or NULL. An array is a conversation without its object. */
static const struct row *find_row(const tk_json *record, data_kind wanted)
{
    const tk_json first = tk_json_at(record, 0);
    bool is_list = tk_json_is_array(record);
    data_kind listed = tk_json_get(&first, "from") != NULL ? DATA_SHAREGPT : DATA_CHAT;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        if (wanted != DATA_ANY && row->kind != wanted) {
            continue;
        }
        if (is_list
                ? row->kind == listed
                : tk_json_get(record, row->first) != NULL &&
                      (row->second == NULL || tk_json_get(record, row->second) != NULL)) {
            return row;
        }
    }
    return NULL;
}

/* Returns the key that was probably meant by one of the record's, or NULL. */
static const char *similar_key(const tk_json *record, data_kind wanted)
{
    for (size_t i = 0; i < record->as.object.n; i++) {
        tk_similar search = {.typed = record->as.object.members[i].key};
        for (size_t r = 0; r < TK_ARRAY_LEN(rows); r++) {
            const char *const keys[] = {rows[r].first, rows[r].second};
            for (size_t k = 0; k < 2 && keys[k] != NULL; k++) {
                bool is_there = tk_json_get(record, keys[k]) != NULL;
                if ((wanted == DATA_ANY || rows[r].kind == wanted) && !is_there) {
                    tk_similar_try(&search, keys[k]);
                }
            }
        }
        if (search.best != NULL && !tk_str_is(search.typed, search.best)) {
            return search.best;
        }
    }
    return NULL;
}

/* Says that the record is in no known format. */
static void refuse_record(shaping *s, data_kind wanted)
{
    const tk_json *record = s->record;
    char keys[120] = "";
    size_t n = 0;
    if (record->type != TK_JSON_OBJECT) {
        refuse(s, "is not an object, but a JSON %s", tk_json_type_name(record->type));
        return;
    }
    for (size_t i = 0; i < record->as.object.n && n < sizeof(keys) - 1; i++) {
        tk_str key = record->as.object.members[i].key;
        int put = snprintf(keys + n, sizeof(keys) - n, "%s%.*s", i > 0 ? ", " : "",
                           (int)TK_MIN(key.n, (size_t)40), key.p);
        n += put > 0 ? (size_t)put : 0;
    }
    if (tk_json_get(record, "chosen") != NULL) {
        refuse(
            s,
            "is a preference (\"chosen\" and \"rejected\"); training needs one answer");
    } else if (tk_json_get(record, "role") != NULL) {
        refuse(s, "is one message; a conversation is {\"messages\": [...]}");
    } else {
        const char *like = similar_key(record, wanted);
        refuse(s, "is not %s%s (it has: %s)%s%s%s",
               wanted == DATA_ANY ? "in a known format" : kinds[wanted].name,
               wanted == DATA_ANY ? "" : " data", keys,
               like != NULL ? "; did you mean \"" : "", like != NULL ? like : "",
               like != NULL ? "\"?" : "");
    }
}

tinkc_code data_shape_read(data_example *out, char problem[DATA_PROBLEM_BYTES],
                           const tk_json *record, data_kind wanted, tk_arena *arena)
{
    const struct row *row = find_row(record, wanted);
    shaping s = {
        .maker = {arena, false}, .out = out, .record = record, .problem = problem};
    memset(out, 0, sizeof(*out));
    problem[0] = '\0';
    if (row == NULL) {
        refuse_record(&s, wanted);
        return TINKC_OK;
    }
    out->kind = row->kind;
    s.first = row->first;
    s.second = row->second;
    row->read(&s);
    return s.maker.is_starved ? TINKC_E_NOMEM : TINKC_OK;
}

bool data_shape_knows(const tk_str *columns, size_t n)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        bool has_first = false, has_second = rows[i].second == NULL;
        for (size_t k = 0; k < n; k++) {
            tk_str name = tk_str_trim(columns[k]);
            has_first = has_first || tk_str_is_nocase(name, rows[i].first);
            has_second = has_second || tk_str_is_nocase(name, rows[i].second);
        }
        if (has_first && has_second) {
            return true;
        }
    }
    return false;
}

const char *data_shape_noun(data_kind kind)
{
    return kinds[kind].noun;
}

const char *data_shape_name(data_kind kind)
{
    return kinds[kind].name;
}

bool data_shape_of_word(data_kind *out, const char *word)
{
    for (size_t i = 0; i < DATA_KINDS; i++) {
        if (kinds[i].word != NULL && strcmp(kinds[i].word, word) == 0) {
            *out = (data_kind)i;
            return true;
        }
    }
    return false;
}
