/* A body that is wrong in one place: a value of another type, out of range, huge or deep;
 * a key missing, doubled, unknown; bytes cut, turned or added. */
#include <string.h>

#include "base/mem.h"
#include "fz.h"

#define DEEP 200
#define LONG (96 * 1024)

typedef enum fault {
    FAULT_VALUE,
    FAULT_MISSING,
    FAULT_DOUBLED,
    FAULT_UNKNOWN_KEY,
    FAULT_LONG,
    FAULT_DEEP,
    FAULT_CUT,
    FAULT_BYTE,
    FAULT_TAIL,
    FAULTS
} fault;

typedef struct spoiler {
    tk_buf out;
    fz_client *client;
    fault fault;
    size_t at; /* which value, counted from the outside and from the left */
    size_t seen;
} spoiler;

static const char *const wrong[] = {
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "-1e-320",
    "4096",
    "\"\"",
    "\"1\"",
    "\"../../etc\\u0000\"",
    "\"tinker://a/weights/b\"",
    "\"tinker://../weights/..\"",
    "\"\\ud83d\\ude00\"",
    "\"%2e%2e%2f\"",
    "[]",
    "[null]",
    "[[[{}]]]",
    "[1,2,3,4,5,6,7,8,9]",
    "{}",
    "{\"a\":{}}",
};

static void put_wrong(spoiler *s)
{
    if (s->fault == FAULT_LONG) {
        tk_buf_putc(&s->out, '"');
        for (size_t i = 0; i < LONG; i++) {
            tk_buf_putc(&s->out, 'a');
        }
        tk_buf_putc(&s->out, '"');
    } else if (s->fault == FAULT_DEEP) {
        size_t n = 100 + (size_t)fz_below(s->client, DEEP);
        for (size_t i = 0; i < n; i++) {
            tk_buf_putc(&s->out, '[');
        }
        for (size_t i = 0; i < n; i++) {
            tk_buf_putc(&s->out, ']');
        }
    } else {
        tk_buf_puts(&s->out, wrong[fz_below(s->client, TK_ARRAY_LEN(wrong))]);
    }
}

static void put_plain(spoiler *s, const tk_json *value)
{
    tk_json_writer w;
    tk_json_writer_init(&w, &s->out);
    tk_json_put_value(&w, value);
}

static void put_key(spoiler *s, tk_str key, bool *first)
{
    const tk_json text = {.type = TK_JSON_STRING, .as.string = key};
    tk_buf_puts(&s->out, *first ? "" : ",");
    put_plain(s, &text);
    tk_buf_putc(&s->out, ':');
    *first = false;
}

static void put_spoiled(spoiler *s, const tk_json *value);

static void put_object(spoiler *s, const tk_json *value)
{
    bool first = true;
    tk_buf_putc(&s->out, '{');
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        bool hit = s->seen == s->at;
        if (hit && s->fault == FAULT_MISSING) {
            s->seen++;
            continue;
        }
        if (hit && s->fault == FAULT_UNKNOWN_KEY) {
            put_key(s, TK_STR("weight"), &first);
            put_plain(s, &member->value);
        }
        if (hit && s->fault == FAULT_DOUBLED) {
            put_key(s, member->key, &first);
            put_plain(s, &member->value);
        }
        put_key(s, member->key, &first);
        put_spoiled(s, &member->value);
    }
    tk_buf_putc(&s->out, '}');
}

static void put_spoiled(spoiler *s, const tk_json *value)
{
    bool hit = s->seen++ == s->at;
    if (hit &&
        (s->fault == FAULT_VALUE || s->fault == FAULT_LONG || s->fault == FAULT_DEEP)) {
        put_wrong(s);
    } else if (value->type == TK_JSON_OBJECT) {
        put_object(s, value);
    } else if (tk_json_is_array(value)) {
        tk_buf_putc(&s->out, '[');
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            tk_buf_puts(&s->out, i > 0 ? "," : "");
            put_spoiled(s, &item);
        }
        tk_buf_putc(&s->out, ']');
    } else {
        put_plain(s, value);
    }
}

static size_t count_values(const tk_json *value)
{
    size_t n = 1;
    for (size_t i = 0; value->type == TK_JSON_OBJECT && i < value->as.object.n; i++) {
        n += count_values(&value->as.object.members[i].value);
    }
    for (size_t i = 0; i < tk_json_len(value); i++) {
        tk_json item = tk_json_at(value, i);
        n += count_values(&item);
    }
    return n;
}

/* Faults of the bytes, whatever they are. */
static void spoil_bytes(tk_buf *body, fz_client *client, fault kind)
{
    size_t at = body->n > 0 ? (size_t)fz_below(client, body->n) : 0;
    if (kind == FAULT_CUT) {
        body->n = at;
    } else if (kind == FAULT_BYTE && body->n > 0) {
        body->p[at] = (char)(body->p[at] ^ (1 << fz_below(client, 8)));
    } else {
        tk_buf_puts(body, "{}");
    }
}

void fz_body_spoil(tk_buf *body, fz_client *client)
{
    const tk_json *json = NULL;
    fault kind = (fault)fz_below(client, FAULTS);
    kind = fz_chance(client, 400) ? FAULT_VALUE : kind;
    if (kind >= FAULT_CUT ||
        tk_json_parse(&json, &client->arena, body->p, body->n, NULL, NULL) != TINKC_OK) {
        spoil_bytes(body, client, kind);
        return;
    }
    spoiler s = {.client = client, .fault = kind};
    s.at = (size_t)fz_below(client, count_values(json));
    tk_buf_init(&s.out, TK_MIB);
    put_spoiled(&s, json);
    tk_buf_clear(body);
    tk_buf_put(body, s.out.p, s.out.n);
    tk_buf_dispose(&s.out);
}
