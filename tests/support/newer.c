/* See newer.h: JSON. */
#include "support/newer.h"

#include <stdio.h>
#include <string.h>

/* What the value of a new key may be, and whether it comes first in its object. */
typedef struct extra {
    const char *text; /* NULL: none */
    bool is_first;
} extra;

static const extra values[] = {
    {"null", true},
    {"[\"x\",{}]", true},
    {"true", false},
    {"{\"a\":[1,\"x\",null],\"type\":\"x\"}", false}, /* from here on: may be an entry */
    {"\"x\"", true},
    {"-7", false}};

#define VALUES    TK_ARRAY_LEN(values)
#define IN_MAPS   4   /* values that no map of texts or numbers has */
#define IN_OPEN   3   /* values that no map has, also one of messages that need nothing */
#define LONG_WORD 300 /* bytes */

typedef enum kind_variant {
    SAME_FIELDS, /* an unknown tag, the rest as it was */
    OWN_FIELDS,  /* an unknown tag, and other members */
    NO_TAG,
    KIND_VARIANTS
} kind_variant;

typedef struct walk {
    tk_buf *out;
    size_t seen, target; /* cases before this place; the one that is written */
    newer_place *place;
} walk;

static void put(walk *w, const tk_schema *schema, const tk_json *value);

/* The number of the variant to be written here, or `variants`. */
static size_t at_place(walk *w, newer_change change, size_t variants, tk_str name)
{
    size_t first = w->seen;
    w->seen += variants;
    if (w->target < first || w->target >= w->seen) {
        return variants;
    }
    w->place->change = change;
    (void)snprintf(w->place->what, sizeof(w->place->what), "%s %zu at %.*s",
                   newer_change_name(change), w->target - first, (int)TK_MIN(name.n, 30u),
                   name.n > 0 ? name.p : "");
    return w->target - first;
}

static void put_value(walk *w, const tk_json *value)
{
    tk_json_writer writer;
    tk_json_writer_init(&writer, w->out);
    tk_json_put_value(&writer, value);
}

static void put_text(walk *w, tk_str text)
{
    tk_json value = {.type = TK_JSON_STRING, .as.string = text};
    put_value(w, &value);
}

static void put_key(walk *w, bool *is_later, tk_str key)
{
    tk_buf_puts(w->out, *is_later ? "," : "");
    *is_later = true;
    put_text(w, key);
    tk_buf_putc(w->out, ':');
}

/* The new member of an object, one of the first `n` values. */
static extra new_key(walk *w, size_t n, tk_str name)
{
    size_t i = at_place(w, NEWER_KEY, n, name);
    return i < n ? values[i] : (extra){NULL, false};
}

static void put_extra(walk *w, bool *is_later, const extra *it, bool is_first)
{
    if (it->text != NULL && it->is_first == is_first) {
        put_key(w, is_later, TK_STR("x_newer_key"));
        tk_buf_puts(w->out, it->text);
    }
}

static void put_word(walk *w, const tk_field *field, const tk_json *value)
{
    bool is_label = field->kind == TK_KIND_LITERAL;
    char text[LONG_WORD];
    size_t i = at_place(w, is_label ? NEWER_LABEL : NEWER_WORD, 2,
                        tk_str_of(field->name != NULL ? field->name : ""));
    if (i == 2) {
        put_value(w, value);
    } else if (i == 0) {
        put_text(w, TK_STR(NEWER_WORD_TEXT));
    } else {
        memset(text, '-', sizeof(text));
        memcpy(text, NEWER_WORD_TEXT, sizeof(NEWER_WORD_TEXT) - 1);
        put_text(w, (tk_str){text, sizeof(text)});
    }
}

static bool needs_keys(const tk_schema *schema)
{
    bool needs = schema->codec != NULL;
    for (size_t i = 0; i < schema->n; i++) {
        needs |= (schema->fields[i].flags & TK_REQUIRED) != 0;
    }
    return needs;
}

/* Entries of a map: messages of `sub`, or values. */
static void put_map(walk *w, const tk_field *field, const tk_json *value)
{
    bool is_later = false;
    bool is_open = field->kind == TK_KIND_MSG_MAP && !needs_keys(field->sub);
    extra it = new_key(w, is_open ? IN_OPEN : IN_MAPS,
                       tk_str_of(field->name != NULL ? field->name : "map"));
    tk_buf_putc(w->out, '{');
    put_extra(w, &is_later, &it, true);
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        put_key(w, &is_later, member->key);
        if (field->kind == TK_KIND_MSG_MAP) {
            put(w, field->sub, &member->value);
        } else {
            put_value(w, &member->value);
        }
    }
    put_extra(w, &is_later, &it, false);
    tk_buf_putc(w->out, '}');
}

static void put_items(walk *w, const tk_schema *schema, const tk_json *value)
{
    tk_buf_putc(w->out, '[');
    for (size_t i = 0; i < tk_json_len(value); i++) {
        tk_json item = tk_json_at(value, i);
        tk_buf_puts(w->out, i > 0 ? "," : "");
        put(w, schema, &item);
    }
    tk_buf_putc(w->out, ']');
}

static void put_field(walk *w, const tk_field *field, const tk_json *value)
{
    bool is_object = value->type == TK_JSON_OBJECT;
    switch ((int)field->kind) {
    case TK_KIND_ENUM:
    case TK_KIND_LITERAL:
        if (value->type == TK_JSON_STRING) {
            put_word(w, field, value);
            return;
        }
        break;
    case TK_KIND_MSG:
        put(w, field->sub, value);
        return;
    case TK_KIND_LIST:
        if (tk_json_is_array(value)) {
            put_items(w, field->sub, value);
            return;
        }
        break;
    case TK_KIND_STR_MAP:
    case TK_KIND_NUM_MAP:
    case TK_KIND_MSG_MAP:
        if (is_object) {
            put_map(w, field, value);
            return;
        }
        break;
    default:
        break;
    }
    put_value(w, value);
}

static const tk_field *find_field(const tk_schema *schema, tk_str key)
{
    for (size_t i = 0; schema != NULL && i < schema->n; i++) {
        if (tk_str_is(key, schema->fields[i].name)) {
            return &schema->fields[i];
        }
    }
    return NULL;
}

static void put_member(walk *w, const tk_schema *schema, const tk_json_member *member)
{
    const tk_field *field = find_field(schema, member->key);
    if (field != NULL) {
        put_field(w, field, &member->value);
    } else if (schema == NULL) {
        put(w, NULL, &member->value);
    } else {
        put_value(w, &member->value);
    }
}

/* `tag` of a union is changed by its kind, not as a word. */
static void put_object(walk *w, const tk_schema *schema, const tk_json *value,
                       const char *tag)
{
    tk_str name = tk_str_of(schema != NULL ? schema->name : "object");
    extra it = new_key(w, VALUES, name);
    size_t kind = tag == NULL ? (size_t)KIND_VARIANTS
                              : at_place(w, NEWER_KIND, KIND_VARIANTS, name);
    bool is_later = false;
    tk_buf_putc(w->out, '{');
    put_extra(w, &is_later, &it, true);
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        bool is_tag = tag != NULL && tk_str_is(member->key, tag);
        if ((is_tag && kind == NO_TAG) || (!is_tag && kind == OWN_FIELDS)) {
            continue;
        }
        put_key(w, &is_later, member->key);
        if (is_tag) {
            put_text(w,
                     kind < NO_TAG ? TK_STR(NEWER_WORD_TEXT) : member->value.as.string);
        } else {
            put_member(w, schema, member);
        }
    }
    if (kind == OWN_FIELDS) {
        put_key(w, &is_later, TK_STR("payload"));
        tk_buf_puts(w->out, "{\"a\":1}");
    }
    put_extra(w, &is_later, &it, false);
    tk_buf_putc(w->out, '}');
}

static void put_union(walk *w, const tk_union *u, const tk_json *value)
{
    const tk_json *tag = tk_json_get(value, u->key);
    for (size_t i = 0; i < u->n; i++) {
        if (tag != NULL && tag->type == TK_JSON_STRING &&
            tk_str_is(tag->as.string, u->variants[i].tag)) {
            put_object(w, u->variants[i].schema, value, u->key);
            return;
        }
    }
    put_value(w, value);
}

static void put_plain(walk *w, const tk_json *value)
{
    if (value->type == TK_JSON_OBJECT) {
        put_object(w, NULL, value, NULL);
    } else if (tk_json_is_array(value)) {
        put_items(w, NULL, value);
    } else {
        put_value(w, value);
    }
}

static void put(walk *w, const tk_schema *schema, const tk_json *value)
{
    bool is_object = value->type == TK_JSON_OBJECT;
    if (schema != NULL && schema->codec != NULL && schema->codec->like != NULL) {
        schema = schema->codec->like;
    }
    if (schema == NULL) {
        put_plain(w, value);
    } else if (schema->fields != NULL && schema->fields[0].name == NULL) {
        put_field(w, &schema->fields[0], value);
    } else if (is_object && schema->variants != NULL) {
        put_union(w, schema->variants, value);
    } else if (is_object && schema->fields != NULL) {
        put_object(w, schema, value, NULL);
    } else {
        put_value(w, value);
    }
}

size_t newer_json_count(const tk_schema *schema, const tk_json *json)
{
    tk_buf out;
    newer_place place;
    walk w = {.out = &out, .target = SIZE_MAX, .place = &place};
    tk_buf_init(&out, 64 * TK_MIB);
    put(&w, schema, json);
    tk_buf_dispose(&out);
    return w.seen;
}

void newer_json(tk_buf *out, newer_place *place, const tk_schema *schema,
                const tk_json *json, size_t k)
{
    walk w = {.out = out, .target = k, .place = place};
    *place = (newer_place){.change = NEWER_CHANGES};
    put(&w, schema, json);
}

const char *newer_change_name(newer_change change)
{
    static const char *const names[] = {"a new key", "a new word", "a new label",
                                        "a new kind", "nothing"};
    return names[change];
}
