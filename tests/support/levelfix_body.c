/* See levelfix_body.h. */
#include "support/levelfix_body.h"

#include <ctype.h>
#include <string.h>

#include "support/pbtree.h"
#include "support/test.h"

static bool has_word(const char *words, tk_str word)
{
    tk_str rest = tk_str_of(words);
    while (rest.n > 0) {
        if (tk_str_eq(tk_str_cut(&rest, ' '), word)) {
            return true;
        }
    }
    return false;
}

/* ---- JSON ---- */

#define UUID "11111111-2222-4333-8444-555555555555"

static const struct {
    const char *key, *value;
} by_chance[] = {{"event_id", UUID},
                 {"process_uuid", UUID},
                 {"session_id", "sessionless-" UUID},
                 {"timestamp", "2026-01-02T03:04:05.678901Z"},
                 {"duration", "0:01:23.456789"}};

static bool has_form(tk_str text, const char *form)
{
    if (text.n != strlen(form)) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i], f = (unsigned char)form[i];
        if (isdigit(f) ? !isxdigit(c) : c != f) {
            return false;
        }
    }
    return true;
}

static void settle(tk_json_member *member)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(by_chance); i++) {
        if (tk_str_is(member->key, by_chance[i].key) &&
            member->value.type == TK_JSON_STRING &&
            has_form(member->value.as.string, by_chance[i].value)) {
            member->value.as.string = tk_str_of(by_chance[i].value);
        }
    }
}

const tk_json *levelfix_body_json(tk_arena *arena, const tk_json *body,
                                  const char *apart_from)
{
    tk_json *out = tk_arena_alloc(arena, sizeof(*out));
    assert_non_null(out);
    *out = *body;
    if (body->type == TK_JSON_OBJECT) {
        size_t n = 0;
        tk_json_member *members =
            tk_arena_array(arena, body->as.object.n, sizeof(*members));
        for (size_t i = 0; i < body->as.object.n; i++) {
            const tk_json_member *from = &body->as.object.members[i];
            if (!has_word(apart_from, from->key)) {
                members[n].key = from->key;
                members[n].value = *levelfix_body_json(arena, &from->value, apart_from);
                settle(&members[n++]);
            }
        }
        out->as.object.members = members;
        out->as.object.n = n;
    } else if (body->type == TK_JSON_ARRAY) {
        tk_json *items = tk_arena_array(arena, body->as.array.n, sizeof(*items));
        for (size_t i = 0; i < body->as.array.n; i++) {
            items[i] = *levelfix_body_json(arena, &body->as.array.items[i], apart_from);
        }
        out->as.array.items = items;
    }
    return out;
}

/* ---- protobuf ---- */

enum { REQUEST_DATA = 3, DATUM_MODEL_INPUT = 1, DATUM_INPUTS = 2, ENTRY_NAME = 1 };

static bool next(pbtree_field *field, tk_str *rest)
{
    if (rest->n == 0) {
        return false;
    }
    assert_true(pbtree_read(field, rest->p, rest->p + rest->n));
    rest->n -= (size_t)(field->end - rest->p);
    rest->p = field->end;
    return true;
}

static bool is_left_out(const pbtree_field *of_datum, const char *apart_from)
{
    pbtree_field name = {0};
    tk_str entry = of_datum->payload;
    if (of_datum->number == DATUM_MODEL_INPUT) {
        return has_word(apart_from, TK_STR("model_input"));
    }
    return of_datum->number == DATUM_INPUTS && next(&name, &entry) &&
           name.number == ENTRY_NAME && has_word(apart_from, name.payload);
}

static void put(tk_buf *out, const pbtree_field *field, const char *apart_from)
{
    if (field->number != REQUEST_DATA) {
        pbtree_put(out, field);
        return;
    }
    tk_buf datum;
    tk_str rest = field->payload;
    pbtree_field changed = *field, part;
    tk_buf_init(&datum, TK_MIB);
    while (next(&part, &rest)) {
        if (!is_left_out(&part, apart_from)) {
            pbtree_put(&datum, &part);
        }
    }
    changed.payload = tk_buf_str(&datum);
    pbtree_put(out, &changed);
    tk_buf_dispose(&datum);
}

tk_bytes levelfix_body_pb(tk_arena *arena, const void *p, size_t n,
                          const char *apart_from)
{
    tk_buf out;
    tk_str copy;
    tk_buf_init(&out, TK_MIB);
    for (uint64_t number = 1; number <= 15; number++) {
        tk_str rest = {p, n};
        for (pbtree_field field; next(&field, &rest);) {
            assert_true(field.number <= 15);
            if (field.number == number) {
                put(&out, &field, apart_from);
            }
        }
    }
    assert_int_equal(tk_buf_status(&out, NULL), TINKC_OK);
    assert_true(tk_arena_dup(arena, &copy, out.p, out.n));
    tk_buf_dispose(&out);
    return (tk_bytes){(const unsigned char *)copy.p, copy.n};
}
