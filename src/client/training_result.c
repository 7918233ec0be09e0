/* See training_result.h: reading, combining, accessors. Taking results out of futures is
 * training_wait.c's. */
#include "client/training_result.h"

#include <string.h>

#include "base/mem.h"
#include "client/types.h"
#include "wire/msg_model.h"

/* ---- owned metrics ---- */

/* The public pointer points to `map`, as those of tk_types_metrics do. */
typedef struct owned_metrics {
    tk_num_map map; /* first */
    tk_named_num *items;
    size_t capacity;
    tk_arena arena;
} owned_metrics;

static owned_metrics *owned(tinkc_metrics *metrics)
{
    return (owned_metrics *)(void *)metrics;
}

const tk_num_map *tk_training_metrics_map(const tinkc_metrics *metrics)
{
    return (const tk_num_map *)(const void *)metrics;
}

void tk_training_free_metrics(void *metrics)
{
    owned_metrics *o = metrics;
    if (o != NULL) {
        tk_arena_dispose(&o->arena);
        tk_free(o->items);
        tk_free(o);
    }
}

void tinkc_metrics_free(tinkc_metrics **metrics)
{
    if (metrics != NULL) {
        tk_training_free_metrics(*metrics);
        *metrics = NULL;
    }
}

static bool put_more(owned_metrics *o, tk_str name, double value)
{
    if (o->map.n == o->capacity) {
        size_t capacity = o->capacity == 0 ? 8 : o->capacity * 2;
        tk_named_num *items = tk_realloc_array(o->items, capacity, sizeof(*items));
        if (items == NULL) {
            return false;
        }
        o->items = items;
        o->map.items = items;
        o->capacity = capacity;
    }
    tk_str copy;
    if (!tk_arena_dup(&o->arena, &copy, name.p, name.n)) {
        return false;
    }
    o->items[o->map.n++] = (tk_named_num){copy, value};
    return true;
}

static bool put(owned_metrics *o, tk_str name, double value)
{
    for (size_t i = 0; i < o->map.n; i++) {
        if (tk_str_eq(o->items[i].name, name)) {
            o->items[i].v = value;
            return true;
        }
    }
    return put_more(o, name, value);
}

tinkc_code tinkc_metrics_put(tinkc_metrics *metrics, const char *name, double value)
{
    if (metrics == NULL || name == NULL || name[0] == '\0') {
        return TINKC_E_INVALID;
    }
    if (tinkc_metrics_count(metrics) >= TK_NUM_MAP_MAX) {
        return TINKC_E_LIMIT;
    }
    return put(owned(metrics), tk_str_of(name), value) ? TINKC_OK : TINKC_E_NOMEM;
}

tinkc_metrics *tk_training_metrics(const tk_num_map *from, tk_err *err)
{
    owned_metrics *o = tk_zalloc(sizeof(*o));
    bool ok = o != NULL;
    if (ok) {
        tk_arena_init(&o->arena, 0);
    }
    for (size_t i = 0; ok && from != NULL && i < from->n; i++) {
        ok = put_more(o, from->items[i].name, from->items[i].v);
    }
    if (!ok) {
        tk_training_free_metrics(o);
        tk_err_nomem(err);
        return NULL;
    }
    return (tinkc_metrics *)(void *)o;
}

/* ---- model info ---- */

struct tinkc_model_info {
    tk_arena arena;
    tk_get_info_response said;
    const char *tokenizer_id;
};

void tk_training_free_info(void *result)
{
    tinkc_model_info *info = result;
    if (info != NULL) {
        tk_arena_dispose(&info->arena);
        tk_free(info);
    }
}

void tinkc_model_info_free(tinkc_model_info **info)
{
    if (info != NULL) {
        tk_training_free_info(*info);
        *info = NULL;
    }
}

static const char *text_of(const tk_f_str *text)
{
    return text->is == TK_SET ? text->v.p : NULL;
}

/* "Qwen/Qwen3-8B:peft:1" names the tokenizer "Qwen/Qwen3-8B" (wire.md §2.2). */
static tinkc_code cut_tokenizer(tinkc_model_info *info, tk_err *err)
{
    const tk_f_str *id = &info->said.model_data.tokenizer_id;
    if (id->is != TK_SET) {
        return TINKC_OK;
    }
    tk_str rest = id->v;
    tk_str head = tk_str_cut(&rest, ':');
    tk_str copy;
    if (!tk_arena_dup(&info->arena, &copy, head.p, head.n)) {
        return tk_err_nomem(err);
    }
    info->tokenizer_id = copy.p;
    return TINKC_OK;
}

void *tk_training_read_info(tk_str body, tk_err *err)
{
    tinkc_model_info *info = tk_zalloc(sizeof(*info));
    if (info == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&info->arena, 0);
    tinkc_code code = tk_schema_decode_text(&info->said, &tk_msg_get_info_response,
                                            &info->arena, body, 0, err);
    if (code == TINKC_OK) {
        code = cut_tokenizer(info, err);
    }
    if (code != TINKC_OK) {
        tk_training_free_info(info);
        return NULL;
    }
    return info;
}

const char *tinkc_model_info_model_id(const tinkc_model_info *info)
{
    return info != NULL ? text_of(&info->said.model_id) : NULL;
}

/* Hosted answers put the name into model_data, others next to it. */
const char *tinkc_model_info_model_name(const tinkc_model_info *info)
{
    if (info == NULL) {
        return NULL;
    }
    const char *inner = text_of(&info->said.model_data.model_name);
    return inner != NULL ? inner : text_of(&info->said.model_name);
}

const char *tinkc_model_info_arch(const tinkc_model_info *info)
{
    return info != NULL ? text_of(&info->said.model_data.arch) : NULL;
}

const char *tinkc_model_info_tokenizer_id(const tinkc_model_info *info)
{
    return info != NULL ? info->tokenizer_id : NULL;
}

bool tinkc_model_info_is_lora(const tinkc_model_info *info)
{
    return info != NULL && info->said.is_lora.is == TK_SET && info->said.is_lora.v;
}

int64_t tinkc_model_info_lora_rank(const tinkc_model_info *info)
{
    return info != NULL && info->said.lora_rank.is == TK_SET ? info->said.lora_rank.v
                                                             : -1;
}
