/* M-114, A-041: ForwardBackwardOutput against protobuf-c: what the writer emits, and what
 * the reader makes of one or several records. */
#include "wire/pb_oracle.h"
#include "wire/pb_output.h"

static Oracle__BatchedTensor *make_column(pb_random *r, const tk_fwdbwd_output *o,
                                          size_t field)
{
    Oracle__BatchedTensor *m = pb_random_alloc(r, 1, sizeof(*m));
    const tk_tensor *first = &o->loss_fn_outputs[0].items[field].tensor;
    size_t size = pb_oracle_item_bytes(first->dtype);
    size_t n = 0;
    for (size_t i = 0; i < o->loss_fn_outputs_n; i++) {
        n += o->loss_fn_outputs[i].items[field].tensor.n * size;
    }
    unsigned char *data = pb_random_alloc(r, n, 1);
    int64_t *offsets = pb_random_alloc(r, o->loss_fn_outputs_n + 1, sizeof(*offsets));
    offsets[0] = 0;
    for (size_t i = 0; i < o->loss_fn_outputs_n; i++) {
        const tk_tensor *t = &o->loss_fn_outputs[i].items[field].tensor;
        memcpy(data + offsets[i], t->data, t->n * size);
        offsets[i + 1] = offsets[i] + (int64_t)(t->n * size);
    }
    oracle__batched_tensor__init(m);
    pb_oracle_set_data(r, &m->has_data, &m->data, data, n);
    pb_oracle_set_data(r, &m->has_offsets, &m->offsets, offsets,
                       (o->loss_fn_outputs_n + 1) * 8);
    m->has_dtype = 1;
    m->dtype = first->dtype == TK_DTYPE_F32 ? ORACLE__DTYPE__DTYPE_FLOAT32
                                            : ORACLE__DTYPE__DTYPE_INT64;
    m->n_trailing_shape = first->shape.n - 1;
    m->trailing_shape = (int64_t *)(void *)pb_oracle_data_of(r, first->shape.p + 1,
                                                             m->n_trailing_shape * 8)
                            .data;
    return m;
}

static Oracle__ArrayRecord *make_record(pb_random *r, const tk_fwdbwd_output *o)
{
    Oracle__ArrayRecord *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__array_record__init(m);
    m->type_tag = pb_oracle_text_of(r, o->loss_fn_output_type);
    m->has_num_datums = 1;
    m->num_datums = (int64_t)o->loss_fn_outputs_n;
    m->n_fields = o->loss_fn_outputs[0].n;
    m->fields = pb_random_alloc(r, m->n_fields, sizeof(*m->fields));
    for (size_t i = 0; i < m->n_fields; i++) {
        m->fields[i] = pb_random_alloc(r, 1, sizeof(*m->fields[i]));
        oracle__array_record__fields_entry__init(m->fields[i]);
        m->fields[i]->key = pb_oracle_text_of(r, o->loss_fn_outputs[0].items[i].name);
        m->fields[i]->value = make_column(r, o, i);
    }
    return m;
}

static Oracle__ForwardBackwardOutput *make_output(pb_random *r, const tk_fwdbwd_output *o)
{
    Oracle__ForwardBackwardOutput *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__forward_backward_output__init(m);
    m->loss_fn_output_type = pb_oracle_text_of(r, o->loss_fn_output_type);
    m->n_loss_fn_outputs = 1;
    m->loss_fn_outputs = pb_random_alloc(r, 1, sizeof(*m->loss_fn_outputs));
    m->loss_fn_outputs[0] = make_record(r, o);
    m->n_metrics = o->metrics.n;
    m->metrics = pb_random_alloc(r, m->n_metrics, sizeof(*m->metrics));
    for (size_t i = 0; i < m->n_metrics; i++) {
        m->metrics[i] = pb_random_alloc(r, 1, sizeof(*m->metrics[i]));
        oracle__forward_backward_output__metrics_entry__init(m->metrics[i]);
        m->metrics[i]->key = pb_oracle_text_of(r, o->metrics.items[i].name);
        m->metrics[i]->has_value = 1;
        m->metrics[i]->value = o->metrics.items[i].v;
    }
    return m;
}

static void assert_same_tensor(const tk_tensor *a, const tk_tensor *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n, b->n);
    if (a->n > 0) {
        assert_memory_equal(a->data, b->data, a->n * pb_oracle_item_bytes(a->dtype));
    }
    assert_int_equal(a->shape.n, b->shape.n);
    for (size_t i = 0; i < a->shape.n; i++) {
        assert_int_equal(a->shape.p[i], b->shape.p[i]);
    }
}

static void assert_same_output(const tk_fwdbwd_output *a, const tk_fwdbwd_output *b)
{
    assert_true(tk_str_eq(a->loss_fn_output_type, b->loss_fn_output_type));
    assert_int_equal(a->metrics.n, b->metrics.n);
    for (size_t i = 0; i < a->metrics.n; i++) {
        assert_true(tk_str_eq(a->metrics.items[i].name, b->metrics.items[i].name));
        assert_true(a->metrics.items[i].v == b->metrics.items[i].v);
    }
    assert_int_equal(a->loss_fn_outputs_n, b->loss_fn_outputs_n);
    for (size_t i = 0; i < a->loss_fn_outputs_n; i++) {
        const tk_tensor_map *x = &a->loss_fn_outputs[i];
        const tk_tensor_map *y = &b->loss_fn_outputs[i];
        assert_int_equal(x->n, y->n);
        for (size_t j = 0; j < x->n; j++) {
            assert_true(tk_str_eq(x->items[j].name, y->items[j].name));
            assert_same_tensor(&x->items[j].tensor, &y->items[j].tensor);
        }
    }
}

static void test_pb_oracle_output_record(void **unused)
{
    for (uint64_t seed = 1; seed <= PB_ORACLE_ROUNDS; seed++) {
        pb_random r;
        tk_buf out;
        pb_random_init(&r, seed);
        tk_buf_init(&out, TK_BODY_MAX_BYTES);
        tk_fwdbwd_output output = pb_random_output(&r);
        assert_int_equal(tk_pb_output_encode(&out, &output, NULL), TINKC_OK);
        Oracle__ForwardBackwardOutput *made = make_output(&r, &output);
        tk_bytes theirs = pb_oracle_packed(&r, &made->base, &out);

        Oracle__ForwardBackwardOutput *read =
            oracle__forward_backward_output__unpack(NULL, out.n, (const uint8_t *)out.p);
        assert_non_null(read);
        assert_int_equal(read->n_loss_fn_outputs, 1);
        assert_int_equal(read->loss_fn_outputs[0]->num_datums, output.loss_fn_outputs_n);
        assert_int_equal(read->loss_fn_outputs[0]->n_fields, output.loss_fn_outputs[0].n);
        oracle__forward_backward_output__free_unpacked(read, NULL);

        tk_fwdbwd_output back;
        assert_int_equal(tk_pb_output_decode(&back, &r.arena, theirs, NULL), TINKC_OK);
        assert_same_output(&output, &back);
        tk_buf_dispose(&out);
        tk_arena_dispose(&r.arena);
    }
}

/* ---- several records with other dtypes and trailing shapes, written by protobuf-c
 * ---- */

#define RECORDS_MAX 4
#define SLICES_MAX  4

typedef struct ragged {
    pb_random r;
    Oracle__ForwardBackwardOutput message;
    Oracle__ArrayRecord *records[RECORDS_MAX];
    tk_tensor expect[RECORDS_MAX * SLICES_MAX][2]; /* per datum, fields a and b */
    size_t n_datums;
} ragged;

/* What one item on the wire reads as. */
static void widen(unsigned char *to, const unsigned char *item, int dtype)
{
    int32_t narrow;
    int64_t value;
    switch (dtype) {
    case TK_DTYPE_I32:
        memcpy(&narrow, item, 4);
        value = narrow;
        memcpy(to, &value, 8);
        break;
    case TK_DTYPE_BF16:
        memset(to, 0, 2);
        memcpy(to + 2, item, 2);
        break;
    default:
        memcpy(to, item, dtype == TK_DTYPE_I64 ? 8 : 4);
    }
}

static tk_tensor widened(pb_random *r, const unsigned char *data, int dtype, size_t rows,
                         size_t row)
{
    static const size_t sizes[] = {0, 4, 8, 4, 2};
    bool is_int = dtype == TK_DTYPE_I64 || dtype == TK_DTYPE_I32;
    unsigned char *wide = pb_random_alloc(r, rows * row, 8);
    int64_t *shape = pb_random_alloc(r, 2, sizeof(*shape));
    shape[0] = (int64_t)rows;
    shape[1] = (int64_t)row;
    for (size_t i = 0; i < rows * row; i++) {
        widen(wide + i * (is_int ? 8 : 4), data + i * sizes[dtype], dtype);
    }
    return (tk_tensor){.dtype = is_int ? TK_DTYPE_I64 : TK_DTYPE_F32,
                       .data = wide,
                       .n = rows * row,
                       .shape = {shape, row > 1 ? 2 : 1}};
}

/* A column of `n` slices for the next datums. */
static Oracle__BatchedTensor *ragged_column(ragged *g, size_t field, size_t n)
{
    static const size_t sizes[] = {0, 4, 8, 4, 2};
    pb_random *r = &g->r;
    int dtype = (int)pb_random_below(r, 4) + 1;
    size_t row = pb_random_below(r, 3) + 1;
    int64_t *trailing = pb_random_alloc(r, 1, sizeof(*trailing));
    int64_t *offsets = pb_random_alloc(r, n + 1, sizeof(*offsets));
    unsigned char *data = pb_random_fill(r, n * 5 * row, sizes[dtype]);
    offsets[0] = 0;
    trailing[0] = (int64_t)row;
    for (size_t i = 0; i < n; i++) {
        size_t rows = pb_random_below(r, 5);
        g->expect[g->n_datums + i][field] =
            widened(r, data + offsets[i], dtype, rows, row);
        offsets[i + 1] = offsets[i] + (int64_t)(rows * row * sizes[dtype]);
    }
    Oracle__BatchedTensor *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__batched_tensor__init(m);
    pb_oracle_set_data(r, &m->has_data, &m->data, data, (size_t)offsets[n]);
    pb_oracle_set_data(r, &m->has_offsets, &m->offsets, offsets, (n + 1) * 8);
    m->has_dtype = 1;
    m->dtype = (Oracle__DType)dtype;
    m->n_trailing_shape = row > 1 ? 1 : 0;
    m->trailing_shape = trailing;
    return m;
}

static Oracle__ArrayRecord *ragged_record(ragged *g)
{
    pb_random *r = &g->r;
    Oracle__ArrayRecord *m = pb_random_alloc(r, 1, sizeof(*m));
    size_t n = pb_random_below(r, SLICES_MAX + 1);
    size_t flip = pb_random_below(r, 2);
    oracle__array_record__init(m);
    m->n_fields = 2;
    m->fields = pb_random_alloc(r, 2, sizeof(*m->fields));
    m->has_num_datums = 1;
    m->num_datums = (int64_t)n;
    for (size_t f = 0; f < 2; f++) {
        Oracle__ArrayRecord__FieldsEntry *e = pb_random_alloc(r, 1, sizeof(*e));
        oracle__array_record__fields_entry__init(e);
        e->key = pb_oracle_text_of(r, tk_str_of(f == 0 ? "a" : "b"));
        e->value = ragged_column(g, f, n);
        m->fields[f ^ flip] = e;
    }
    g->n_datums += n;
    return m;
}

static void ragged_check(ragged *g)
{
    size_t n = protobuf_c_message_get_packed_size(&g->message.base);
    unsigned char *bytes = pb_random_alloc(&g->r, n, 1);
    protobuf_c_message_pack(&g->message.base, bytes);
    tk_fwdbwd_output out;
    assert_int_equal(tk_pb_output_decode(&out, &g->r.arena, (tk_bytes){bytes, n}, NULL),
                     TINKC_OK);
    assert_int_equal(out.loss_fn_outputs_n, g->n_datums);
    for (size_t i = 0; i < g->n_datums; i++) {
        const tk_tensor_map *map = &out.loss_fn_outputs[i];
        assert_int_equal(map->n, 2);
        for (size_t f = 0; f < 2; f++) {
            size_t is_b = tk_str_is(map->items[f].name, "b") ? 1 : 0;
            assert_same_tensor(&map->items[f].tensor, &g->expect[i][is_b]);
        }
    }
}

/* fields of several records, dtypes and ranks. */
static void test_pb_oracle_output_ragged(void **unused)
{
    for (uint64_t seed = 1; seed <= PB_ORACLE_ROUNDS; seed++) {
        ragged g = {.n_datums = 0};
        pb_random_init(&g.r, seed);
        oracle__forward_backward_output__init(&g.message);
        g.message.n_loss_fn_outputs = pb_random_below(&g.r, RECORDS_MAX) + 1;
        g.message.loss_fn_outputs = g.records;
        for (size_t i = 0; i < g.message.n_loss_fn_outputs; i++) {
            g.records[i] = ragged_record(&g);
        }
        ragged_check(&g);
        tk_arena_dispose(&g.r.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_oracle_output_record),
        cmocka_unit_test(test_pb_oracle_output_ragged),
    };
    return cmocka_run_group_tests_name("pb_oracle_output", tests, NULL, NULL);
}
