/* Reading, combining, accessors. Taking results out of futures is training_wait.c's. */
#include "client/training/training_result.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/metrics.h"
#include "wire/msg_model.h"
#include "wire/msg_value.h"
#include "wire/pb_output.h"

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

tinkc_code tinkc_metrics_put(tinkc_metrics *metrics, const char *name, double value,
                             tinkc_error **err)
{
    if (metrics == NULL || name == NULL || name[0] == '\0') {
        return tk_error_tell(err, TINKC_E_INVALID,
                             "no metrics, or a metric without name");
    }
    if (tinkc_metrics_count(metrics) >= TK_NUM_MAP_MAX) {
        return tk_error_tell(err, TINKC_E_LIMIT, "there are 4096 metrics already");
    }
    return put(owned(metrics), tk_str_of(name), value)
               ? TINKC_OK
               : tk_error_tell(err, TINKC_E_NOMEM, "out of memory");
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

/* ---- fwdbwd ---- */

void tk_fwdbwd_free(void *result)
{
    tinkc_fwdbwd *r = result;
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->parts_n; i++) {
        tk_fwdbwd_free(r->parts[i]);
    }
    tk_free(r->parts);
    tk_training_free_metrics(r->more);
    tk_arena_dispose(&r->arena);
    tk_free(r);
}

void tinkc_fwdbwd_free(tinkc_fwdbwd **result)
{
    if (result != NULL) {
        tk_fwdbwd_free(*result);
        *result = NULL;
    }
}

/* The names of one datum's tensors, each ending in a NUL; datums of a record share
 * theirs. */
static const char *const *name_row(tk_arena *arena, const tk_tensor_map *map)
{
    const char **row = tk_arena_array(arena, map->n, sizeof(*row));
    for (size_t i = 0; row != NULL && i < map->n; i++) {
        tk_str copy;
        if (!tk_arena_dup(arena, &copy, map->items[i].name.p, map->items[i].name.n)) {
            return NULL;
        }
        row[i] = copy.p;
    }
    return row;
}

static bool same_names(const tk_tensor_map *a, const tk_tensor_map *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        same = tk_str_eq(a->items[i].name, b->items[i].name);
    }
    return same;
}

static tinkc_code make_texts(tinkc_fwdbwd *r, tk_err *err)
{
    tk_str type;
    const tk_fwdbwd_output *out = &r->out;
    r->names = tk_arena_array(&r->arena, out->loss_fn_outputs_n, sizeof(*r->names));
    if (r->names == NULL || !tk_arena_dup(&r->arena, &type, out->loss_fn_output_type.p,
                                          out->loss_fn_output_type.n)) {
        return tk_err_nomem(err);
    }
    r->output_type = type.p;
    for (size_t i = 0; i < out->loss_fn_outputs_n; i++) {
        const tk_tensor_map *map = &out->loss_fn_outputs[i];
        r->names[i] = i > 0 && same_names(map, &out->loss_fn_outputs[i - 1])
                          ? r->names[i - 1]
                          : name_row(&r->arena, map);
        if (r->names[i] == NULL) {
            return tk_err_nomem(err);
        }
    }
    return TINKC_OK;
}

static tinkc_fwdbwd *new_result(tk_err *err)
{
    tinkc_fwdbwd *r = tk_zalloc(sizeof(*r));
    if (r == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    tk_arena_init(&r->arena, 0);
    r->loss = (double)NAN;
    return r;
}

/* Gives a tensor of a JSON result what those of protobuf have: a shape. */
static tinkc_code complete_tensor(tk_tensor *tensor, tk_arena *arena, tk_err *err)
{
    if (tensor->is_sparse) {
        return tk_err_set(err, TINKC_E_DECODE, "a result has a sparse tensor");
    }
    if (tensor->has_shape) {
        return TINKC_OK;
    }
    int64_t *dims = tk_arena_array(arena, 1, sizeof(*dims));
    if (dims == NULL) {
        return tk_err_nomem(err);
    }
    *dims = (int64_t)tensor->n;
    tensor->has_shape = true;
    tensor->shape = (tk_i64s){dims, 1};
    return TINKC_OK;
}

static tinkc_code read_protobuf(tk_fwdbwd_output *out, tk_arena *arena,
                                const tk_poll_result *result, tk_err *err)
{
    tk_str copy;
    if (!tk_arena_dup(arena, &copy, result->body.p, result->body.n)) {
        return tk_err_nomem(err);
    }
    tk_bytes bytes = {(const unsigned char *)copy.p, copy.n};
    return tk_pb_output_decode(out, arena, bytes, err);
}

/* The form of servers without protobuf. */
static tinkc_code read_json(tk_fwdbwd_output *out, tk_arena *arena,
                            const tk_poll_result *result, tk_err *err)
{
    tk_poll_result_keep(arena, result);
    tinkc_code code =
        tk_schema_decode(out, &tk_msg_fwdbwd_output, arena, result->json, 0, err);
    for (size_t i = 0; code == TINKC_OK && i < out->loss_fn_outputs_n; i++) {
        const tk_tensor_map *map = &out->loss_fn_outputs[i];
        for (size_t k = 0; code == TINKC_OK && k < map->n; k++) {
            /* the array is in our arena */
            tk_named_tensor *item = (tk_named_tensor *)(uintptr_t)&map->items[k];
            code = complete_tensor(&item->tensor, arena, err);
        }
    }
    return code;
}

tinkc_fwdbwd *tk_fwdbwd_read(const tk_poll_result *result, tk_err *err)
{
    tinkc_fwdbwd *r = new_result(err);
    if (r == NULL) {
        return NULL;
    }
    tk_fwdbwd_output said;
    tinkc_code code = result->is_protobuf ? read_protobuf(&said, &r->arena, result, err)
                                          : read_json(&said, &r->arena, result, err);
    if (code == TINKC_OK) {
        r->out = said;
        r->more = tk_training_metrics(&said.metrics, err); /* names end in NULs */
        code = r->more != NULL ? make_texts(r, err) : err->code;
    }
    if (code != TINKC_OK) {
        tk_fwdbwd_free(r);
        return NULL;
    }
    return r;
}

tinkc_fwdbwd *tk_fwdbwd_combine(tinkc_fwdbwd **parts, size_t n, tk_err *err)
{
    tinkc_fwdbwd *r = new_result(err);
    tk_fwdbwd_output *outs =
        r != NULL ? tk_arena_array(&r->arena, n, sizeof(*outs)) : NULL;
    if (outs == NULL) {
        tk_err_nomem(err);
        tk_fwdbwd_free(r);
        return NULL;
    }
    r->loss = 0;
    for (size_t i = 0; i < n; i++) {
        outs[i] = parts[i]->out;
        r->loss += parts[i]->loss; /* NAN when one has none */
    }
    if (tk_metrics_combine(&r->out, &r->arena, outs, n, err) != TINKC_OK ||
        make_texts(r, err) != TINKC_OK) {
        tk_fwdbwd_free(r);
        return NULL;
    }
    r->parts = parts;
    r->parts_n = n;
    return r;
}

size_t tinkc_fwdbwd_count(const tinkc_fwdbwd *result)
{
    return result != NULL ? result->out.loss_fn_outputs_n : 0;
}

const char *tinkc_fwdbwd_output_type(const tinkc_fwdbwd *result)
{
    return result != NULL ? result->output_type : NULL;
}

const tinkc_metrics *tinkc_fwdbwd_metrics(const tinkc_fwdbwd *result)
{
    if (result == NULL) {
        return NULL;
    }
    return result->more != NULL ? result->more : tk_types_metrics(&result->out.metrics);
}

tinkc_code tinkc_fwdbwd_loss(double *out, const tinkc_fwdbwd *result, tinkc_error **err)
{
    const tinkc_metrics *metrics = tinkc_fwdbwd_metrics(result);
    if (out != NULL && result != NULL && tinkc_metrics_loss_name(metrics) == NULL &&
        !isnan(result->loss)) {
        *out = result->loss;
        return TINKC_OK;
    }
    return tinkc_metrics_loss(out, metrics, err);
}

const char *tinkc_fwdbwd_name(const tinkc_fwdbwd *result, size_t datum, size_t index)
{
    if (datum >= tinkc_fwdbwd_count(result) ||
        index >= result->out.loss_fn_outputs[datum].n) {
        return NULL;
    }
    return result->names[datum][index];
}

static const tk_tensor *find(const tinkc_fwdbwd *result, size_t datum, const char *name)
{
    if (datum >= tinkc_fwdbwd_count(result) || name == NULL) {
        return NULL;
    }
    const tk_tensor_map *map = &result->out.loss_fn_outputs[datum];
    for (size_t i = 0; i < map->n; i++) {
        if (tk_str_is(map->items[i].name, name)) {
            return &map->items[i].tensor;
        }
    }
    return NULL;
}

static tinkc_code tell_missing(tinkc_error **err)
{
    return tk_error_tell(err, TINKC_E_MISSING, "the result has no tensor of this name");
}

tinkc_code tinkc_fwdbwd_f32(const float **out, size_t *n, const tinkc_fwdbwd *result,
                            size_t datum, const char *name, tinkc_error **err)
{
    const tk_tensor *tensor = find(result, datum, name);
    if (tensor == NULL) {
        return tell_missing(err);
    }
    if (tensor->dtype != TK_DTYPE_F32 || out == NULL || n == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID,
                             "the tensor is int64, or there is no place for it");
    }
    *out = tensor->data;
    *n = tensor->n;
    return TINKC_OK;
}

tinkc_code tinkc_fwdbwd_i64(const int64_t **out, size_t *n, const tinkc_fwdbwd *result,
                            size_t datum, const char *name, tinkc_error **err)
{
    const tk_tensor *tensor = find(result, datum, name);
    if (tensor == NULL) {
        return tell_missing(err);
    }
    if (tensor->dtype != TK_DTYPE_I64 || out == NULL || n == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID,
                             "the tensor is float32, or there is no place for it");
    }
    *out = tensor->data;
    *n = tensor->n;
    return TINKC_OK;
}

tinkc_code tinkc_fwdbwd_shape(const int64_t **dims, size_t *n, const tinkc_fwdbwd *result,
                              size_t datum, const char *name, tinkc_error **err)
{
    const tk_tensor *tensor = find(result, datum, name);
    if (tensor == NULL) {
        return tell_missing(err);
    }
    if (dims == NULL || n == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "no place for the shape");
    }
    *dims = tensor->shape.p;
    *n = tensor->shape.n;
    return TINKC_OK;
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

/* "Qwen/Qwen3-8B:peft:1" names the tokenizer "Qwen/Qwen3-8B" (docs/protocol.md §2.2). */
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

const char *tk_training_info_tokenizer(const tinkc_model_info *info)
{
    return text_of(&info->said.model_data.tokenizer_id);
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

tinkc_optimizer tinkc_model_info_optimizer(const tinkc_model_info *info)
{
    const char *unused;
    return info != NULL ? tk_params_optimizer_of(&unused, &info->said.optimizer_config)
                        : TINKC_OPTIMIZER_ADAMW;
}

const char *tinkc_model_info_optimizer_name(const tinkc_model_info *info)
{
    const char *name = NULL;
    if (info != NULL) {
        (void)tk_params_optimizer_of(&name, &info->said.optimizer_config);
    }
    return name;
}
