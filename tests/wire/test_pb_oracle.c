/* M-114: our protobuf code against protobuf-c, with thousands of seeded random messages.
 *
 * Each message is turned into protobuf-c's structs by hand (the proto3 presence rules
 * live here a second time, in plain form). Then: our bytes equal protobuf-c's; protobuf-c
 * reads ours to the same fields; we read protobuf-c's to the same fields. */
#include "wire/pb_fwdbwd.h"
#include "wire/pb_oracle.h"
#include "wire/pb_sample.h"

/* ---- ForwardBackwardRequest ---- */

static Oracle__Chunk *make_chunk(pb_random *r, const tk_chunk *c)
{
    Oracle__Chunk *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__chunk__init(m);
    if (c->kind == TK_CHUNK_TEXT) {
        m->chunk_case = ORACLE__CHUNK__CHUNK_ENCODED_TEXT;
        m->encoded_text = pb_random_alloc(r, 1, sizeof(*m->encoded_text));
        oracle__encoded_text_chunk__init(m->encoded_text);
        pb_oracle_set_data(r, &m->encoded_text->has_tokens, &m->encoded_text->tokens,
                           c->tokens.p, c->tokens.n * 4);
    } else if (c->kind == TK_CHUNK_IMAGE) {
        m->chunk_case = ORACLE__CHUNK__CHUNK_IMAGE;
        m->image = pb_random_alloc(r, 1, sizeof(*m->image));
        oracle__image_chunk__init(m->image);
        pb_oracle_set_data(r, &m->image->has_data, &m->image->data, c->data.p, c->data.n);
        m->image->format =
            pb_oracle_text_of(r, tk_str_of(c->format == TK_IMAGE_PNG ? "png" : "jpeg"));
        m->image->has_expected_tokens = c->expected_tokens.is == TK_SET;
        m->image->expected_tokens = (int32_t)c->expected_tokens.v;
    } else {
        m->chunk_case = ORACLE__CHUNK__CHUNK_DMEL;
        m->dmel = pb_random_alloc(r, 1, sizeof(*m->dmel));
        oracle__dmel_chunk__init(m->dmel);
        pb_oracle_set_data(r, &m->dmel->has_dmel, &m->dmel->dmel, c->data.p, c->data.n);
    }
    return m;
}

static Oracle__Tensor *make_tensor(pb_random *r, const tk_tensor *t)
{
    Oracle__Tensor *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__tensor__init(m);
    m->has_dtype = 1;
    m->dtype = t->dtype == TK_DTYPE_F32 ? ORACLE__DTYPE__DTYPE_FLOAT32
                                        : ORACLE__DTYPE__DTYPE_INT64;
    m->n_shape = t->has_shape ? t->shape.n : 0;
    m->shape = (int64_t *)(void *)pb_oracle_data_of(r, t->shape.p, m->n_shape * 8).data;
    size_t bytes = t->n * pb_oracle_item_bytes(t->dtype);
    if (!t->is_sparse) {
        m->encoding_case = ORACLE__TENSOR__ENCODING_DENSE;
        m->dense = pb_oracle_data_of(r, t->data, bytes);
        return m;
    }
    m->encoding_case = ORACLE__TENSOR__ENCODING_SPARSE_CSR;
    Oracle__SparseCsr *csr = pb_random_alloc(r, 1, sizeof(*csr));
    oracle__sparse_csr__init(csr);
    pb_oracle_set_data(r, &csr->has_values, &csr->values, t->data, bytes);
    pb_oracle_set_data(r, &csr->has_crow_indices, &csr->crow_indices, t->crow.p,
                       t->crow.n * 8);
    pb_oracle_set_data(r, &csr->has_col_indices, &csr->col_indices, t->col.p,
                       t->col.n * 8);
    m->sparse_csr = csr;
    return m;
}

static Oracle__ProvenanceSpan **make_spans(pb_random *r, const tk_origins *o)
{
    Oracle__ProvenanceSpan **spans = pb_random_alloc(r, o->n, sizeof(*spans));
    for (size_t i = 0; i < o->n; i++) {
        Oracle__ProvenanceSpan *m = pb_random_alloc(r, 1, sizeof(*m));
        Oracle__Provenance *p = pb_random_alloc(r, 1, sizeof(*p));
        oracle__provenance_span__init(m);
        oracle__provenance__init(p);
        p->sequence_id = pb_oracle_text_of(r, o->p[i].sequence_id);
        p->has_offset = o->p[i].offset != 0;
        p->offset = o->p[i].offset;
        p->has_length = o->p[i].length != 0;
        p->length = o->p[i].length;
        m->span_case = o->p[i].is_sampled ? ORACLE__PROVENANCE_SPAN__SPAN_SAMPLED_TOKENS
                                          : ORACLE__PROVENANCE_SPAN__SPAN_PROMPT_TOKENS;
        m->prompt_tokens = p; /* the members share their place */
        spans[i] = m;
    }
    return spans;
}

static Oracle__LossConfigValue *make_value(pb_random *r, const tk_loss_value *v)
{
    Oracle__LossConfigValue *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__loss_config_value__init(m);
    if (v->is_text) {
        m->value_case = ORACLE__LOSS_CONFIG_VALUE__VALUE_TEXT;
        m->text = pb_oracle_text_of(r, v->text);
    } else {
        m->value_case = ORACLE__LOSS_CONFIG_VALUE__VALUE_NUMBER;
        m->number = v->number;
    }
    return m;
}

static Oracle__Datum *make_datum(pb_random *r, const tk_datum *d)
{
    Oracle__Datum *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__datum__init(m);
    m->n_model_input = d->model_input.n;
    m->model_input = pb_random_alloc(r, d->model_input.n, sizeof(*m->model_input));
    for (size_t i = 0; i < d->model_input.n; i++) {
        m->model_input[i] = make_chunk(r, &d->model_input.chunks[i]);
    }
    m->n_loss_fn_inputs = d->loss_fn_inputs.n;
    m->loss_fn_inputs = pb_random_alloc(r, d->loss_fn_inputs.n, sizeof(void *));
    for (size_t i = 0; i < d->loss_fn_inputs.n; i++) {
        Oracle__Datum__LossFnInputsEntry *e = pb_random_alloc(r, 1, sizeof(*e));
        oracle__datum__loss_fn_inputs_entry__init(e);
        e->key = pb_oracle_text_of(r, d->loss_fn_inputs.items[i].name);
        e->value = make_tensor(r, &d->loss_fn_inputs.items[i].tensor);
        m->loss_fn_inputs[i] = e;
    }
    m->n_model_input_spans = d->model_input_spans.n;
    m->model_input_spans = make_spans(r, &d->model_input_spans);
    m->n_loss_fn_input_spans = d->loss_fn_input_spans.n;
    m->loss_fn_input_spans = make_spans(r, &d->loss_fn_input_spans);
    return m;
}

static Oracle__ForwardBackwardRequest *make_request(pb_random *r,
                                                    const tk_fwdbwd_request *q)
{
    Oracle__ForwardBackwardRequest *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__forward_backward_request__init(m);
    m->model_id = q->model_id.n > 0 ? pb_oracle_text_of(r, q->model_id) : NULL;
    m->has_seq_id = q->seq_id != 0;
    m->seq_id = (int32_t)q->seq_id;
    m->n_data = q->data_n;
    m->data = pb_random_alloc(r, q->data_n, sizeof(*m->data));
    for (size_t i = 0; i < q->data_n; i++) {
        m->data[i] = make_datum(r, &q->data[i]);
    }
    m->loss_fn = q->loss_fn.n > 0 ? pb_oracle_text_of(r, q->loss_fn) : NULL;
    m->n_loss_fn_config = q->loss_fn_config.n;
    m->loss_fn_config = pb_random_alloc(r, q->loss_fn_config.n, sizeof(void *));
    for (size_t i = 0; i < q->loss_fn_config.n; i++) {
        Oracle__ForwardBackwardRequest__LossFnConfigEntry *e =
            pb_random_alloc(r, 1, sizeof(*e));
        oracle__forward_backward_request__loss_fn_config_entry__init(e);
        e->key = pb_oracle_text_of(r, q->loss_fn_config.items[i].name);
        e->has_value = 1;
        e->value = q->loss_fn_config.items[i].v;
        m->loss_fn_config[i] = e;
    }
    m->n_loss_fn_config_v2 = q->loss_fn_config_v2.n;
    m->loss_fn_config_v2 = pb_random_alloc(r, q->loss_fn_config_v2.n, sizeof(void *));
    for (size_t i = 0; i < q->loss_fn_config_v2.n; i++) {
        Oracle__ForwardBackwardRequest__LossFnConfigV2Entry *e =
            pb_random_alloc(r, 1, sizeof(*e));
        oracle__forward_backward_request__loss_fn_config_v2_entry__init(e);
        e->key = pb_oracle_text_of(r, q->loss_fn_config_v2.items[i].name);
        e->value = make_value(r, &q->loss_fn_config_v2.items[i]);
        m->loss_fn_config_v2[i] = e;
    }
    m->has_forward_only = q->forward_only;
    m->forward_only = q->forward_only;
    return m;
}

static void assert_chunk(const Oracle__Chunk *m, const tk_chunk *c)
{
    switch (m->chunk_case) {
    case ORACLE__CHUNK__CHUNK_ENCODED_TEXT:
        assert_int_equal(c->kind, TK_CHUNK_TEXT);
        pb_oracle_assert_data(m->encoded_text->tokens, c->tokens.p, c->tokens.n * 4);
        break;
    case ORACLE__CHUNK__CHUNK_IMAGE:
        assert_int_equal(c->kind, TK_CHUNK_IMAGE);
        pb_oracle_assert_data(m->image->data, c->data.p, c->data.n);
        assert_string_equal(m->image->format, c->format == TK_IMAGE_PNG ? "png" : "jpeg");
        assert_int_equal(m->image->has_expected_tokens, c->expected_tokens.is == TK_SET);
        assert_int_equal(m->image->expected_tokens, c->expected_tokens.v);
        break;
    case ORACLE__CHUNK__CHUNK_DMEL:
        assert_int_equal(c->kind, TK_CHUNK_DMEL);
        pb_oracle_assert_data(m->dmel->dmel, c->data.p, c->data.n);
        break;
    case ORACLE__CHUNK__CHUNK__NOT_SET:
    case _ORACLE__CHUNK__CHUNK__CASE_IS_INT_SIZE:
    default:
        fail_msg("chunk without a kind");
    }
}

static void assert_tensor(const Oracle__Tensor *m, const tk_tensor *t)
{
    size_t bytes = t->n * pb_oracle_item_bytes(t->dtype);
    assert_int_equal(m->dtype, t->dtype);
    assert_int_equal(m->n_shape, t->has_shape ? t->shape.n : 0);
    for (size_t i = 0; i < m->n_shape; i++) {
        assert_int_equal(m->shape[i], t->shape.p[i]);
    }
    if (m->encoding_case == ORACLE__TENSOR__ENCODING_DENSE) {
        assert_false(t->is_sparse);
        pb_oracle_assert_data(m->dense, t->data, bytes);
        return;
    }
    assert_int_equal(m->encoding_case, ORACLE__TENSOR__ENCODING_SPARSE_CSR);
    assert_true(t->is_sparse);
    pb_oracle_assert_data(m->sparse_csr->values, t->data, bytes);
    pb_oracle_assert_data(m->sparse_csr->crow_indices, t->crow.p, t->crow.n * 8);
    pb_oracle_assert_data(m->sparse_csr->col_indices, t->col.p, t->col.n * 8);
}

static void assert_spans(Oracle__ProvenanceSpan *const *m, size_t n, const tk_origins *o)
{
    assert_int_equal(n, o->n);
    for (size_t i = 0; i < n; i++) {
        const Oracle__Provenance *p = m[i]->prompt_tokens;
        assert_int_equal(m[i]->span_case == ORACLE__PROVENANCE_SPAN__SPAN_SAMPLED_TOKENS,
                         o->p[i].is_sampled);
        pb_oracle_assert_text(p->sequence_id, o->p[i].sequence_id);
        assert_true(p->offset == o->p[i].offset && p->length == o->p[i].length);
    }
}

static void assert_values(const Oracle__ForwardBackwardRequest *m,
                          const tk_loss_values *values)
{
    assert_int_equal(m->n_loss_fn_config_v2, values->n);
    for (size_t i = 0; i < values->n; i++) {
        const Oracle__LossConfigValue *v = m->loss_fn_config_v2[i]->value;
        pb_oracle_assert_text(m->loss_fn_config_v2[i]->key, values->items[i].name);
        assert_int_equal(v->value_case == ORACLE__LOSS_CONFIG_VALUE__VALUE_TEXT,
                         values->items[i].is_text);
        if (values->items[i].is_text) {
            pb_oracle_assert_text(v->text, values->items[i].text);
        } else {
            assert_true(v->number == values->items[i].number);
        }
    }
}

static void assert_request(const Oracle__ForwardBackwardRequest *m,
                           const tk_fwdbwd_request *q)
{
    pb_oracle_assert_text(m->model_id, q->model_id);
    assert_int_equal(m->seq_id, q->seq_id);
    pb_oracle_assert_text(m->loss_fn, q->loss_fn);
    assert_int_equal(m->forward_only, q->forward_only);
    assert_int_equal(m->n_loss_fn_config, q->loss_fn_config.n);
    for (size_t i = 0; i < q->loss_fn_config.n; i++) {
        pb_oracle_assert_text(m->loss_fn_config[i]->key, q->loss_fn_config.items[i].name);
        assert_true(m->loss_fn_config[i]->value == q->loss_fn_config.items[i].v);
    }
    assert_values(m, &q->loss_fn_config_v2);
    assert_int_equal(m->n_data, q->data_n);
    for (size_t i = 0; i < q->data_n; i++) {
        const tk_datum *d = &q->data[i];
        assert_spans(m->data[i]->model_input_spans, m->data[i]->n_model_input_spans,
                     &d->model_input_spans);
        assert_spans(m->data[i]->loss_fn_input_spans, m->data[i]->n_loss_fn_input_spans,
                     &d->loss_fn_input_spans);
        assert_int_equal(m->data[i]->n_model_input, d->model_input.n);
        for (size_t j = 0; j < d->model_input.n; j++) {
            assert_chunk(m->data[i]->model_input[j], &d->model_input.chunks[j]);
        }
        assert_int_equal(m->data[i]->n_loss_fn_inputs, d->loss_fn_inputs.n);
        for (size_t j = 0; j < d->loss_fn_inputs.n; j++) {
            pb_oracle_assert_text(m->data[i]->loss_fn_inputs[j]->key,
                                  d->loss_fn_inputs.items[j].name);
            assert_tensor(m->data[i]->loss_fn_inputs[j]->value,
                          &d->loss_fn_inputs.items[j].tensor);
        }
    }
}

static void test_pb_oracle_request(void **unused)
{
    for (uint64_t seed = 1; seed <= PB_ORACLE_ROUNDS; seed++) {
        pb_random r;
        tk_buf out;
        pb_random_init(&r, seed);
        tk_buf_init(&out, TK_BODY_MAX_BYTES);
        tk_fwdbwd_request request = pb_random_request(&r);
        assert_int_equal(tk_pb_fwdbwd_encode(&out, &request, NULL), TINKC_OK);
        Oracle__ForwardBackwardRequest *made = make_request(&r, &request);
        tk_bytes theirs = pb_oracle_packed(&r, &made->base, &out);

        Oracle__ForwardBackwardRequest *read =
            oracle__forward_backward_request__unpack(NULL, out.n, (const uint8_t *)out.p);
        assert_non_null(read);
        assert_request(read, &request);
        oracle__forward_backward_request__free_unpacked(read, NULL);

        tk_fwdbwd_request back;
        assert_int_equal(tk_pb_fwdbwd_decode(&back, &r.arena, theirs, NULL), TINKC_OK);
        assert_request(made, &back);
        tk_buf_dispose(&out);
        tk_arena_dispose(&r.arena);
    }
}

/* ---- SampleResponse ---- */

static Oracle__TopkLogprobs *make_topk(pb_random *r, const tk_topk_logprobs *table)
{
    Oracle__TopkLogprobs *t = pb_random_alloc(r, 1, sizeof(*t));
    size_t bytes = table->k * table->length * 4;
    oracle__topk_logprobs__init(t);
    pb_oracle_set_data(r, &t->has_token_ids, &t->token_ids, table->token_ids, bytes);
    pb_oracle_set_data(r, &t->has_logprobs, &t->logprobs, table->logprobs, bytes);
    t->has_k = t->has_length = 1;
    t->k = (uint32_t)table->k;
    t->length = (uint32_t)table->length;
    return t;
}

static Oracle__SampledSequence *make_sequence(pb_random *r, const tk_sequence *s)
{
    Oracle__SampledSequence *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__sampled_sequence__init(m);
    m->has_stop_reason = s->stop_reason != TK_STOP_STOP;
    m->stop_reason = s->stop_reason == TK_STOP_STOP
                         ? ORACLE__STOP_REASON__STOP_REASON_STOP
                         : ORACLE__STOP_REASON__STOP_REASON_LENGTH;
    pb_oracle_set_data(r, &m->has_tokens, &m->tokens, s->tokens.p, s->tokens.n * 4);
    pb_oracle_set_data(r, &m->has_logprobs, &m->logprobs, s->logprobs.p,
                       s->logprobs.n * 4);
    m->topk_sampled_logprobs = s->has_topk ? make_topk(r, &s->topk) : NULL;
    return m;
}

static Oracle__SampleResponse *make_sample(pb_random *r, const tk_sample_response *s)
{
    Oracle__SampleResponse *m = pb_random_alloc(r, 1, sizeof(*m));
    oracle__sample_response__init(m);
    m->n_sequences = s->sequences_n;
    m->sequences = pb_random_alloc(r, s->sequences_n, sizeof(*m->sequences));
    for (size_t i = 0; i < s->sequences_n; i++) {
        m->sequences[i] = make_sequence(r, &s->sequences[i]);
    }
    pb_oracle_set_data(r, &m->has_prompt_logprobs, &m->prompt_logprobs,
                       s->prompt_logprobs.p, s->prompt_logprobs.n * 4);
    m->topk_prompt_logprobs = s->has_topk ? make_topk(r, &s->topk) : NULL;
    if (s->has_target) {
        m->target_prompt_logprobs = make_tensor(r, &s->target_prompt_logprobs);
    }
    if (s->has_alt) {
        m->prompt_alt_tokens = pb_random_alloc(r, 1, sizeof(*m->prompt_alt_tokens));
        oracle__prompt_alt_tokens__init(m->prompt_alt_tokens);
        m->prompt_alt_tokens->tokens = make_tensor(r, &s->alt.tokens);
        m->prompt_alt_tokens->logprobs = make_tensor(r, &s->alt.logprobs);
    }
    m->has_prompt_cache_hit_tokens = s->prompt_cache_hit_tokens != 0;
    m->prompt_cache_hit_tokens = (int32_t)s->prompt_cache_hit_tokens;
    return m;
}

static void assert_topk(const Oracle__TopkLogprobs *m, bool has,
                        const tk_topk_logprobs *table)
{
    assert_int_equal(m != NULL, has);
    if (has) {
        size_t bytes = table->k * table->length * 4;
        assert_int_equal(m->k, table->k);
        assert_int_equal(m->length, table->length);
        pb_oracle_assert_data(m->token_ids, table->token_ids, bytes);
        pb_oracle_assert_data(m->logprobs, table->logprobs, bytes);
    }
}

static void assert_sample(const Oracle__SampleResponse *m, const tk_sample_response *s)
{
    assert_int_equal(m->n_sequences, s->sequences_n);
    for (size_t i = 0; i < s->sequences_n; i++) {
        const Oracle__SampledSequence *q = m->sequences[i];
        assert_int_equal(q->stop_reason, s->sequences[i].stop_reason);
        pb_oracle_assert_data(q->tokens, s->sequences[i].tokens.p,
                              s->sequences[i].tokens.n * 4);
        assert_int_equal(q->has_logprobs, s->sequences[i].has_logprobs);
        pb_oracle_assert_data(q->logprobs, s->sequences[i].logprobs.p,
                              s->sequences[i].logprobs.n * 4);
        assert_topk(q->topk_sampled_logprobs, s->sequences[i].has_topk,
                    &s->sequences[i].topk);
    }
    assert_int_equal(m->has_prompt_logprobs, s->has_prompt_logprobs);
    pb_oracle_assert_data(m->prompt_logprobs, s->prompt_logprobs.p,
                          s->prompt_logprobs.n * 4);
    assert_topk(m->topk_prompt_logprobs, s->has_topk, &s->topk);
    assert_int_equal(m->target_prompt_logprobs != NULL, s->has_target);
    if (s->has_target) {
        assert_tensor(m->target_prompt_logprobs, &s->target_prompt_logprobs);
    }
    assert_int_equal(m->prompt_alt_tokens != NULL, s->has_alt);
    if (s->has_alt) {
        assert_tensor(m->prompt_alt_tokens->tokens, &s->alt.tokens);
        assert_tensor(m->prompt_alt_tokens->logprobs, &s->alt.logprobs);
    }
    assert_int_equal(m->prompt_cache_hit_tokens, s->prompt_cache_hit_tokens);
}

static void test_pb_oracle_sample(void **unused)
{
    for (uint64_t seed = 1; seed <= PB_ORACLE_ROUNDS; seed++) {
        pb_random r;
        tk_buf out;
        pb_random_init(&r, seed);
        tk_buf_init(&out, TK_BODY_MAX_BYTES);
        tk_sample_response response = pb_random_sample(&r);
        assert_int_equal(tk_pb_sample_encode(&out, &response, NULL), TINKC_OK);
        Oracle__SampleResponse *made = make_sample(&r, &response);
        tk_bytes theirs = pb_oracle_packed(&r, &made->base, &out);

        Oracle__SampleResponse *read =
            oracle__sample_response__unpack(NULL, out.n, (const uint8_t *)out.p);
        assert_non_null(read);
        assert_sample(read, &response);
        oracle__sample_response__free_unpacked(read, NULL);

        tk_sample_response back;
        assert_int_equal(tk_pb_sample_decode(&back, &r.arena, theirs, NULL), TINKC_OK);
        assert_sample(made, &back);
        tk_buf_dispose(&out);
        tk_arena_dispose(&r.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pb_oracle_request),
        cmocka_unit_test(test_pb_oracle_sample),
    };
    return cmocka_run_group_tests_name("pb_oracle", tests, NULL, NULL);
}
