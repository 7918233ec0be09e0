/* Instances of any message, made by walking its table: with every field, with only the
 * required ones, or with null wherever null may be written. For tests and for the seeds
 * of the fuzzers. */
#ifndef TEST_GEN_MSG_H
#define TEST_GEN_MSG_H

#include <string.h>

#include "wire/msg_sample.h"
#include "wire/msg_value.h"
#include "wire/schema.h"

typedef enum gen_mode { GEN_FULL, GEN_MINIMAL, GEN_NULLS } gen_mode;

typedef struct gen {
    gen_mode mode;
    size_t variant; /* which member of a union; counted modulo their number */
    tk_arena *arena;
} gen;

static bool gen_fill(void *msg, const tk_schema *schema, const gen *g);

static bool gen_tensor(tk_tensor *t, const gen *g)
{
    static const int64_t ids[] = {3, -4};
    static const float reals[] = {0.5F, -1.25F};
    static const int64_t shape[] = {2}, matrix[] = {2, 9}, crow[] = {0, 1, 2},
                         col[] = {8, 0};
    bool sparse = g->variant % 3 == 2;
    *t =
        (tk_tensor){.dtype = g->variant % 2 == 0 ? TK_DTYPE_I64 : TK_DTYPE_F32,
                    .data = g->variant % 2 == 0 ? (const void *)ids : (const void *)reals,
                    .n = 2,
                    .has_shape = g->mode == GEN_FULL || sparse,
                    .shape = {sparse ? matrix : shape, sparse ? 2 : 1},
                    .is_sparse = sparse,
                    .crow = {crow, 3},
                    .col = {col, 2}};
    return true;
}

static bool gen_stops(tk_stops *stops, const gen *g)
{
    static const tk_str texts[] = {{"a", 1}, {"\xc3\xa9", 2}};
    static const int32_t tokens[] = {1, 151643};
    *stops = (tk_stops){.form = (tk_stops_form)(g->variant % 3),
                        .text = texts[1],
                        .texts = {texts, g->mode == GEN_MINIMAL ? 0 : 2},
                        .tokens = {tokens, 2}};
    return true;
}

static bool gen_topk(tk_topk_logprobs *topk)
{
    static const int32_t ids[] = {0, 0, 5, 6, 7, 0};
    static const float logprobs[] = {-99999.0F, -99999.0F, -0.5F,
                                     -1.5F,     -2.0F,     -99999.0F};
    *topk = (tk_topk_logprobs){3, 2, ids, logprobs};
    return true;
}

static const tk_json *gen_json(void)
{
    static const tk_json_member members[] = {
        {{"k", 1}, {.type = TK_JSON_INT, .as.integer = 1}},
        {{"n", 1}, {.type = TK_JSON_NULL}},
    };
    static const tk_json object = {.type = TK_JSON_OBJECT, .as.object = {members, 2}};
    return &object;
}

static void gen_scalar(const tk_field *field, void *at)
{
    switch ((int)field->kind) {
    case TK_KIND_STR:
        *(tk_str *)at = tk_str_of("te\xe2\x82\xacxt \"1\"");
        break;
    case TK_KIND_BOOL:
        *(bool *)at = true;
        break;
    case TK_KIND_I64:
        *(int64_t *)at = TK_MAX(field->min, 7);
        break;
    case TK_KIND_U64:
        *(uint64_t *)at = UINT64_MAX;
        break;
    case TK_KIND_NUM:
        *(double *)at = 0.1;
        break;
    case TK_KIND_ENUM:
        *(int *)at = field->names->n - 1;
        break;
    case TK_KIND_TIME:
        *(int64_t *)at = INT64_C(1783900800250000);
        break;
    case TK_KIND_BASE64:
        *(tk_bytes *)at = (tk_bytes){(const unsigned char *)"\0\xff\1", 3};
        break;
    case TK_KIND_RAW:
        *(const tk_json **)at = gen_json();
        break;
    default:
        break;
    }
}

static const void *gen_items(const tk_field *field)
{
    static const tk_str strs[] = {{"x", 1}, {"", 0}};
    static const int32_t i32s[] = {INT32_MIN, INT32_MAX};
    static const int64_t i64s[] = {INT64_MIN, INT64_MAX};
    static const float f32s[] = {0.1F, -3.0e38F};
    static const tk_named_str str_map[] = {{{"a", 1}, {"b", 1}}, {{"", 0}, {"", 0}}};
    static const tk_named_num num_map[] = {{{"loss:sum", 8}, 1e-9}, {{"z", 1}, -2.0}};
    switch ((int)field->kind) {
    case TK_KIND_STRS:
        return strs;
    case TK_KIND_I32S:
        return i32s;
    case TK_KIND_I64S:
        return i64s;
    case TK_KIND_F32S:
        return f32s;
    case TK_KIND_STR_MAP:
        return str_map;
    default:
        return num_map;
    }
}

/* Two structs, or two wrappers with their keys. */
static bool gen_structs(const tk_field *field, void *msg, const gen *g)
{
    static const tk_str keys[] = {{"target_tokens", 13}, {"weights", 7}};
    bool map = field->kind == TK_KIND_MSG_MAP;
    size_t size = map ? field->item_size : field->sub->size;
    char *items = tk_arena_zalloc(g->arena, 2 * size);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        char *item = items + i * size;
        gen next = *g;
        next.variant += i;
        if (map) {
            *(tk_str *)(void *)item = keys[i];
        }
        if (!gen_fill(item + (map ? field->item_at : 0), field->sub, &next)) {
            return false;
        }
    }
    const void *p = items;
    const size_t n = 2;
    memcpy((char *)msg + field->at, &p, sizeof(p));
    memcpy((char *)msg + field->n_at, &n, sizeof(n));
    return true;
}

static bool gen_value(const tk_field *field, void *msg, const gen *g)
{
    void *at = (char *)msg + field->at;
    if (field->kind == TK_KIND_MSG) {
        return gen_fill(at, field->sub, g);
    }
    if (field->kind == TK_KIND_LIST || field->kind == TK_KIND_MSG_MAP) {
        return gen_structs(field, msg, g);
    }
    if (field->kind >= TK_KIND_STRS && field->kind <= TK_KIND_NUM_MAP) {
        const void *p = gen_items(field);
        const size_t n = 2;
        memcpy(at, &p, sizeof(p));
        memcpy((char *)msg + field->n_at, &n, sizeof(n));
        return true;
    }
    gen_scalar(field, at);
    return true;
}

static bool gen_fields(void *msg, const tk_schema *schema, const gen *g)
{
    for (size_t i = 0; i < schema->n; i++) {
        const tk_field *field = &schema->fields[i];
        bool required = (field->flags & TK_REQUIRED) != 0;
        void *is = (char *)msg + field->is_at;
        if (field->kind == TK_KIND_LITERAL || (!required && g->mode == GEN_MINIMAL)) {
            continue;
        }
        if (g->mode == GEN_NULLS && field->form == TK_FORM_TRI && !required) {
            bool nullable = (field->flags & TK_NULLABLE) != 0;
            *(tk_presence *)is = nullable ? TK_NULL : TK_UNSET;
            continue;
        }
        if (!gen_value(field, msg, g)) {
            return false;
        }
        if (field->form == TK_FORM_TRI) {
            *(tk_presence *)is = TK_SET;
        } else if (field->form == TK_FORM_BOOL) {
            *(bool *)is = true;
        }
    }
    return true;
}

/* Fills a zeroed struct; false when out of memory. */
static bool gen_fill(void *msg, const tk_schema *schema, const gen *g)
{
    if (schema == &tk_msg_tensor) {
        return gen_tensor(msg, g);
    }
    if (schema == &tk_msg_stops) {
        return gen_stops(msg, g);
    }
    if (schema == &tk_msg_topk_logprobs) {
        return gen_topk(msg);
    }
    if (schema->variants != NULL) {
        const tk_union *u = schema->variants;
        size_t pick = g->variant % (u->n + 1);
        void *kind = (char *)msg + u->kind_at;
        if (pick == u->n) {
            static const tk_json_member tag[] = {
                {{"type", 4}, {.type = TK_JSON_STRING, .as.string = {"new", 3}}},
                {{"event", 5}, {.type = TK_JSON_STRING, .as.string = {"NEW", 3}}},
            };
            static const tk_json raw = {.type = TK_JSON_OBJECT, .as.object = {tag, 2}};
            *(int *)kind = u->unknown;
            *(const tk_json **)(void *)((char *)msg + u->raw_at) = &raw;
            return true;
        }
        *(int *)kind = u->variants[pick].kind;
        return gen_fields(msg, u->variants[pick].schema, g);
    }
    return gen_fields(msg, schema, g);
}

#endif
