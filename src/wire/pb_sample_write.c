/* Writing SampleResponse: check, exact size, reserve once, one pass. */
#include <string.h>

#include "base/mem.h"
#include "wire/pb_sample.h"
#include "wire/pb_tensor.h"

/* ---- checks ---- */

static tinkc_code take(size_t *room, size_t count, size_t item_bytes, tk_err *err)
{
    size_t bytes;
    if (!tk_size_mul(&bytes, count, item_bytes) || bytes > *room) {
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the buffer's limit");
    }
    *room -= bytes;
    return TINKC_OK;
}

static tinkc_code check_topk(const tk_topk_logprobs *t, size_t *room, tk_err *err)
{
    size_t cells = 0;
    if (t->k > UINT32_MAX || t->length > UINT32_MAX ||
        !tk_size_mul(&cells, t->length, t->k)) {
        return tk_err_set(err, TINKC_E_INVALID, "top-k table is too large");
    }
    return take(room, cells, 8, err);
}

static tinkc_code check_sequence(const tk_sequence *s, size_t *room, tk_err *err)
{
    if (s->stop_reason != TK_STOP_STOP && s->stop_reason != TK_STOP_LENGTH) {
        return tk_err_set(err, TINKC_E_INVALID, "unknown stop reason %d",
                          (int)s->stop_reason);
    }
    size_t n_logprobs = s->has_logprobs ? s->logprobs.n : 0;
    if (n_logprobs != 0 && n_logprobs != s->tokens.n) {
        return tk_err_set(err, TINKC_E_INVALID, "%zu logprobs for %zu tokens", n_logprobs,
                          s->tokens.n);
    }
    tinkc_code code = take(room, s->tokens.n, 8, err);
    return code == TINKC_OK && s->has_topk ? check_topk(&s->topk, room, err) : code;
}

static tinkc_code check_tensor(const tk_tensor *tensor, const char *name, size_t *room,
                               tk_err *err)
{
    size_t bytes = 0;
    tinkc_code code = tk_pb_tensor_check(&bytes, tensor, err);
    if (code == TINKC_OK) {
        code = take(room, bytes, 1, err);
    }
    if (code != TINKC_OK) {
        tk_err_under(err, name);
    }
    return code;
}

static tinkc_code check_tensors(const tk_sample_response *r, size_t *room, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (r->has_target) {
        code =
            check_tensor(&r->target_prompt_logprobs, "target_prompt_logprobs", room, err);
    }
    if (code == TINKC_OK && r->has_alt) {
        code = check_tensor(&r->alt.tokens, "prompt_alt_tokens.tokens", room, err);
    }
    if (code == TINKC_OK && r->has_alt) {
        code = check_tensor(&r->alt.logprobs, "prompt_alt_tokens.logprobs", room, err);
    }
    return code;
}

static tinkc_code check_prompt(const tk_sample_response *r, size_t room, tk_err *err)
{
    if (r->prompt_cache_hit_tokens < INT32_MIN ||
        r->prompt_cache_hit_tokens > INT32_MAX) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt_cache_hit_tokens does not fit int32");
    }
    size_t n_prompt = r->has_prompt_logprobs ? r->prompt_logprobs.n : 0;
    tinkc_code code = take(&room, n_prompt, 4, err);
    if (code == TINKC_OK && r->has_topk) {
        code = check_topk(&r->topk, &room, err);
    }
    return code == TINKC_OK ? check_tensors(r, &room, err) : code;
}

static tinkc_code check_response(const tk_sample_response *r, size_t room, tk_err *err)
{
    for (size_t i = 0; i < r->sequences_n; i++) {
        tinkc_code code = check_sequence(&r->sequences[i], &room, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "sequences");
            return code;
        }
    }
    return check_prompt(r, room, err);
}

/* ---- sizes ---- */

/* An array of 4-byte items, left out when empty. */
static size_t array_size(uint32_t number, size_t count)
{
    return count > 0 ? tk_pb_bytes_size(number, count * 4) : 0;
}

static size_t topk_cells(bool has, const tk_topk_logprobs *t)
{
    return has ? t->length * t->k : 0;
}

static size_t topk_size(const tk_topk_logprobs *t)
{
    return 2 * array_size(1, t->length * t->k) + tk_pb_uint_size(3, t->k) +
           tk_pb_uint_size(4, t->length);
}

static size_t sequence_size(const tk_sequence *s)
{
    size_t n =
        s->stop_reason != TK_STOP_STOP ? tk_pb_uint_size(1, (uint64_t)s->stop_reason) : 0;
    if (topk_cells(s->has_topk, &s->topk) > 0) {
        n += tk_pb_bytes_size(4, topk_size(&s->topk));
    }
    return n + array_size(2, s->tokens.n) +
           array_size(3, s->has_logprobs ? s->logprobs.n : 0);
}

static size_t tensor_field_size(uint32_t number, const tk_tensor *tensor)
{
    return tk_pb_bytes_size(number, tk_pb_tensor_size(tensor));
}

static size_t alt_size(const tk_alt_tokens *alt)
{
    return tensor_field_size(1, &alt->tokens) + tensor_field_size(2, &alt->logprobs);
}

static size_t response_size(const tk_sample_response *r)
{
    size_t n = array_size(2, r->has_prompt_logprobs ? r->prompt_logprobs.n : 0);
    for (size_t i = 0; i < r->sequences_n; i++) {
        n += tk_pb_bytes_size(1, sequence_size(&r->sequences[i]));
    }
    if (topk_cells(r->has_topk, &r->topk) > 0) {
        n += tk_pb_bytes_size(3, topk_size(&r->topk));
    }
    if (r->prompt_cache_hit_tokens != 0) {
        n += tk_pb_uint_size(4, (uint64_t)r->prompt_cache_hit_tokens);
    }
    n += r->has_target ? tensor_field_size(5, &r->target_prompt_logprobs) : 0;
    return n + (r->has_alt ? tk_pb_bytes_size(6, alt_size(&r->alt)) : 0);
}

/* ---- writing ---- */

static void put_array(tk_pb_writer *w, uint32_t number, const void *items, size_t count)
{
    if (count > 0) {
        tk_pb_put_array(w, number, items, count, 4);
    }
}

static void put_topk(tk_pb_writer *w, uint32_t number, const tk_topk_logprobs *t)
{
    size_t cells = t->length * t->k;
    tk_pb_put_head(w, number, topk_size(t));
    put_array(w, 1, t->token_ids, cells);
    put_array(w, 2, t->logprobs, cells);
    tk_pb_put_uint(w, 3, t->k);
    tk_pb_put_uint(w, 4, t->length);
}

static void put_sequence(tk_pb_writer *w, const tk_sequence *s)
{
    if (s->stop_reason != TK_STOP_STOP) {
        tk_pb_put_uint(w, 1, (uint64_t)s->stop_reason);
    }
    put_array(w, 2, s->tokens.p, s->tokens.n);
    if (s->has_logprobs) {
        put_array(w, 3, s->logprobs.p, s->logprobs.n);
    }
    if (topk_cells(s->has_topk, &s->topk) > 0) {
        put_topk(w, 4, &s->topk);
    }
}

static void put_tensor(tk_pb_writer *w, uint32_t number, const tk_tensor *tensor)
{
    tk_pb_put_head(w, number, tk_pb_tensor_size(tensor));
    tk_pb_tensor_put(w, tensor);
}

static void put_prompt(tk_pb_writer *w, const tk_sample_response *r)
{
    if (r->has_prompt_logprobs) {
        put_array(w, 2, r->prompt_logprobs.p, r->prompt_logprobs.n);
    }
    if (topk_cells(r->has_topk, &r->topk) > 0) {
        put_topk(w, 3, &r->topk);
    }
    if (r->prompt_cache_hit_tokens != 0) {
        tk_pb_put_int(w, 4, r->prompt_cache_hit_tokens);
    }
    if (r->has_target) {
        put_tensor(w, 5, &r->target_prompt_logprobs);
    }
    if (r->has_alt) {
        tk_pb_put_head(w, 6, alt_size(&r->alt));
        put_tensor(w, 1, &r->alt.tokens);
        put_tensor(w, 2, &r->alt.logprobs);
    }
}

static void put_response(tk_pb_writer *w, const tk_sample_response *r)
{
    for (size_t i = 0; i < r->sequences_n; i++) {
        tk_pb_put_head(w, 1, sequence_size(&r->sequences[i]));
        put_sequence(w, &r->sequences[i]);
    }
    put_prompt(w, r);
}

tinkc_code tk_pb_sample_encode(tk_buf *out, const tk_sample_response *response,
                               tk_err *err)
{
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK) {
        code = check_response(response, out->max - out->n, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = response_size(response);
    void *room = tk_buf_reserve(out, n);
    if (room == NULL) {
        return tk_buf_status(out, err);
    }
    tk_pb_writer w;
    tk_pb_writer_init(&w, room, n);
    put_response(&w, response);
    if (!tk_pb_writer_is_full(&w)) {
        return tk_err_set(err, TINKC_E_INTERNAL, "wrong protobuf size");
    }
    tk_buf_advance(out, n);
    return TINKC_OK;
}
