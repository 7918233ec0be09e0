/* One node of a JSON tree replaced, removed, doubled or renamed; the rest as it was. See
 * hostile_mutate.h. */
#include <stdio.h>
#include <string.h>

#include "support/hostile_mutate.h"

#define ITEMS_MAX 4 /* elements of an array that are changed one by one */

typedef enum json_kind {
    TEXT,    /* `text` in its place */
    MISSING, /* the member or element is left out */
    TWICE,   /* the member comes again, with `text` */
    RENAMED, /* its key in capitals */
    EXTRA,   /* a member that a newer server might add next to it */
    LIST,    /* [value] */
    OBJECT,  /* {"a": value} */
    MANY,    /* [value, value, ...] `n` times */
    DEEP,    /* `n` arrays inside each other, or objects when `text` is set */
    LONG,    /* a string of `n` times `text` */
    REPEAT   /* an array of `n` times `text` */
} json_kind;

typedef struct json_change {
    const char *what;
    json_kind kind;
    const char *text;
    size_t n;
} json_change;

static const json_change changes[] = {
    {"missing", MISSING, NULL, 0},
    {"twice, then null", TWICE, "null", 0},
    {"twice, then a number", TWICE, "-1", 0},
    {"in capitals", RENAMED, NULL, 0},
    {"a new key", EXTRA, "{\"a\":[1,\"x\",null]}", 0},
    {"a new key that is deep", EXTRA, "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", 0},
    {"null", TEXT, "null", 0},
    {"true", TEXT, "true", 0},
    {"false", TEXT, "false", 0},
    {"0", TEXT, "0", 0},
    {"-1", TEXT, "-1", 0},
    {"1", TEXT, "1", 0},
    {"2^31", TEXT, "2147483648", 0},
    {"2^53+1", TEXT, "9007199254740993", 0},
    {"2^63-1", TEXT, "9223372036854775807", 0},
    {"-2^63", TEXT, "-9223372036854775808", 0},
    {"2^63", TEXT, "9223372036854775808", 0},
    {"2^64", TEXT, "18446744073709551616", 0},
    {"1e30", TEXT, "1e30", 0},
    {"1e308", TEXT, "1e308", 0},
    {"-1e308", TEXT, "-1e308", 0},
    {"1e400", TEXT, "1e400", 0},
    {"1e-400", TEXT, "1e-400", 0},
    {"0.5", TEXT, "0.5", 0},
    {"NaN", TEXT, "NaN", 0},
    {"no value", TEXT, "", 0},
    {"\"\"", TEXT, "\"\"", 0},
    {"\"x\"", TEXT, "\"x\"", 0},
    {"\"-1\"", TEXT, "\"-1\"", 0},
    {"\"99999999999999999999\"", TEXT, "\"99999999999999999999\"", 0},
    {"a NUL", TEXT, "\"a\\u0000b\"", 0},
    {"escapes and line ends", TEXT, "\"\\u001b[2J\\r\\nX-Api-Key: x\\r\\n\\r\\n\"", 0},
    {"a raw line end", TEXT, "\"a\nb\"", 0},
    {"bad UTF-8", TEXT, "\"\xff\xc0\x80\"", 0},
    {"a lone surrogate", TEXT, "\"\\ud800\"", 0},
    {"a path upwards", TEXT, "\"../../../../etc/passwd\"", 0},
    {"a path", TEXT, "\"tinker://a/weights/b\"", 0},
    {"printf", TEXT, "\"%s%n%99999999d\"", 0},
    {"the year 9999", TEXT, "\"9999-12-31T23:59:59.999999Z\"", 0},
    {"the year 0", TEXT, "\"0000-00-00T00:00:00Z\"", 0},
    {"an unknown word", TEXT, "\"a_word_of_a_newer_server\"", 0},
    {"[]", TEXT, "[]", 0},
    {"{}", TEXT, "{}", 0},
    {"in a list", LIST, NULL, 0},
    {"in an object", OBJECT, NULL, 0},
    {"a thousand times", MANY, NULL, 1000},
    {"60 arrays", DEEP, NULL, 60},
    {"127 arrays", DEEP, NULL, 127},
    {"128 objects", DEEP, "{\"a\":", 128},
    {"20000 arrays", DEEP, NULL, 20000},
    {"20000 objects", DEEP, "{\"a\":", 20000},
    {"a string of 64 KiB", LONG, "x", 64 * TK_KIB},
    {"a string of 64 KiB of escapes", LONG, "\\u001b", 64 * TK_KIB / 6},
    {"a string of 900 KiB", LONG, "/", 900 * TK_KIB},
    {"30000 numbers", REPEAT, "0", 30000},
    {"30000 nulls", REPEAT, "null", 30000},
    {"30000 objects", REPEAT, "{}", 30000},
    {"30000 texts", REPEAT, "\"\"", 30000},
    {"600000 objects", REPEAT, "{}", 600000}, /* above the limit of most answers */
};

typedef struct emitter {
    tk_buf *out;
    size_t at;     /* number of the next node */
    size_t target; /* SIZE_MAX: none */
    const json_change *change;
} emitter;

static void put_value(tk_buf *out, const tk_json *value)
{
    tk_json_writer writer;
    tk_json_writer_init(&writer, out);
    tk_json_put_value(&writer, value);
}

static void put_many(tk_buf *out, const char *text, size_t n, const char *between)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? between : "");
        tk_buf_puts(out, text);
    }
}

static void put_deep(tk_buf *out, const json_change *change)
{
    bool is_object = change->text != NULL;
    put_many(out, is_object ? change->text : "[", change->n, "");
    tk_buf_puts(out, is_object ? "1" : "");
    put_many(out, is_object ? "}" : "]", change->n, "");
}

static void put_listed(tk_buf *out, const tk_json *value, size_t n)
{
    tk_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? "," : "");
        put_value(out, value);
    }
    tk_buf_putc(out, ']');
}

static void put_changed(tk_buf *out, const json_change *change, const tk_json *value)
{
    switch (change->kind) {
    case TEXT:
        tk_buf_puts(out, change->text);
        break;
    case LIST:
        put_listed(out, value, 1);
        break;
    case MANY:
        put_listed(out, value, change->n);
        break;
    case OBJECT:
        tk_buf_puts(out, "{\"a\":");
        put_value(out, value);
        tk_buf_putc(out, '}');
        break;
    case DEEP:
        put_deep(out, change);
        break;
    case LONG:
        tk_buf_putc(out, '"');
        put_many(out, change->text, change->n, "");
        tk_buf_putc(out, '"');
        break;
    case REPEAT:
        tk_buf_putc(out, '[');
        put_many(out, change->text, change->n, ",");
        tk_buf_putc(out, ']');
        break;
    case MISSING:
    case TWICE:
    case RENAMED:
    case EXTRA:
        put_value(out, value);
        break;
    }
}

static void emit(emitter *e, const tk_json *value);

static void put_key(tk_buf *out, tk_str key, bool in_capitals)
{
    size_t from = out->n;
    tk_json name = {.type = TK_JSON_STRING, .as.string = key};
    put_value(out, &name);
    for (size_t i = from; in_capitals && i < out->n; i++) {
        bool is_small = out->p[i] >= 'a' && out->p[i] <= 'z';
        out->p[i] = (char)(is_small ? out->p[i] - 'a' + 'A' : out->p[i]);
    }
    tk_buf_putc(out, ':');
}

static void emit_member(emitter *e, const tk_json_member *member)
{
    bool is_target = e->at == e->target;
    json_kind kind = is_target ? e->change->kind : TEXT;
    if (is_target && kind == MISSING) {
        e->at++;
        tk_buf_puts(e->out, "\"\":0"); /* keeps the commas right */
        return;
    }
    put_key(e->out, member->key, is_target && kind == RENAMED);
    emit(e, &member->value);
    if (is_target && kind == TWICE) {
        tk_buf_putc(e->out, ',');
        put_key(e->out, member->key, false);
        tk_buf_puts(e->out, e->change->text);
    }
    if (is_target && kind == EXTRA) {
        tk_buf_puts(e->out, ",\"x_newer_server\":");
        tk_buf_puts(e->out, e->change->text);
    }
}

static void emit_items(emitter *e, const tk_json *value)
{
    size_t written = 0;
    tk_buf_putc(e->out, '[');
    for (size_t i = 0; i < tk_json_len(value); i++) {
        tk_json item = tk_json_at(value, i);
        if (i < ITEMS_MAX && e->at == e->target && e->change->kind == MISSING) {
            e->at++;
            continue;
        }
        tk_buf_puts(e->out, written++ > 0 ? "," : "");
        if (i < ITEMS_MAX) {
            emit(e, &item);
        } else {
            put_value(e->out, &item);
        }
    }
    tk_buf_putc(e->out, ']');
}

static void emit(emitter *e, const tk_json *value)
{
    if (e->at++ == e->target) {
        put_changed(e->out, e->change, value);
        return;
    }
    if (value->type == TK_JSON_OBJECT) {
        tk_buf_putc(e->out, '{');
        for (size_t i = 0; i < value->as.object.n; i++) {
            tk_buf_puts(e->out, i > 0 ? "," : "");
            emit_member(e, &value->as.object.members[i]);
        }
        tk_buf_putc(e->out, '}');
    } else if (tk_json_is_array(value)) {
        emit_items(e, value);
    } else {
        put_value(e->out, value);
    }
}

static size_t count_nodes(const tk_json *value)
{
    size_t n = 1;
    if (value->type == TK_JSON_OBJECT) {
        for (size_t i = 0; i < value->as.object.n; i++) {
            n += count_nodes(&value->as.object.members[i].value);
        }
    }
    for (size_t i = 0; i < TK_MIN(tk_json_len(value), ITEMS_MAX); i++) {
        tk_json item = tk_json_at(value, i);
        n += count_nodes(&item);
    }
    return n;
}

size_t hostile_json_count(const tk_json *json)
{
    return count_nodes(json) * TK_ARRAY_LEN(changes);
}

void hostile_json_mutate(hostile_answer *out, const tk_json *json, size_t k)
{
    const json_change *change = &changes[k % TK_ARRAY_LEN(changes)];
    emitter e = {
        .out = &out->body, .target = k / TK_ARRAY_LEN(changes), .change = change};
    tk_buf_clear(&out->body);
    emit(&e, json);
    out->is_readable = change->kind == EXTRA;
    (void)snprintf(out->what, sizeof(out->what), "node %zu: %s", e.target, change->what);
}
