/* Writing SampleResponse: check, exact size, reserve once, one pass. */
#include <string.h>

#include "base/mem.h"
#include "wire/pb_sample.h"

/* ---- checks ---- */

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
    size_t bytes;
    if (!tk_size_mul(&bytes, s->tokens.n, 8) || bytes > *room) {
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the buffer's limit");
    }
    *room -= bytes;
    return TINKC_OK;
}

static size_t topk_cells(const tk_sample_response *r)
{
    return r->has_topk ? r->topk.prompt_length * r->topk.k : 0;
}

static tinkc_code check_prompt(const tk_sample_response *r, size_t room, tk_err *err)
{
    if (r->prompt_cache_hit_tokens < INT32_MIN ||
        r->prompt_cache_hit_tokens > INT32_MAX) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "prompt_cache_hit_tokens does not fit int32");
    }
    if (r->has_topk && (r->topk.k > UINT32_MAX || r->topk.prompt_length > UINT32_MAX)) {
        return tk_err_set(err, TINKC_E_INVALID, "top-k table is too large");
    }
    size_t n_prompt = r->has_prompt_logprobs ? r->prompt_logprobs.n : 0;
    size_t cells = 0;
    bool fits = !r->has_topk || tk_size_mul(&cells, r->topk.prompt_length, r->topk.k);
    if (!fits || n_prompt > room / 4 || cells > room / 8) {
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the buffer's limit");
    }
    return TINKC_OK;
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

static size_t sequence_size(const tk_sequence *s)
{
    size_t n =
        s->stop_reason != TK_STOP_STOP ? tk_pb_uint_size(1, (uint64_t)s->stop_reason) : 0;
    return n + array_size(2, s->tokens.n) +
           array_size(3, s->has_logprobs ? s->logprobs.n : 0);
}

static size_t topk_size(const tk_sample_response *r)
{
    size_t cells = topk_cells(r);
    return 2 * array_size(1, cells) + tk_pb_uint_size(3, r->topk.k) +
           tk_pb_uint_size(4, r->topk.prompt_length);
}

static size_t response_size(const tk_sample_response *r)
{
    size_t n = array_size(2, r->has_prompt_logprobs ? r->prompt_logprobs.n : 0);
    for (size_t i = 0; i < r->sequences_n; i++) {
        n += tk_pb_bytes_size(1, sequence_size(&r->sequences[i]));
    }
    if (topk_cells(r) > 0) {
        n += tk_pb_bytes_size(3, topk_size(r));
    }
    if (r->prompt_cache_hit_tokens != 0) {
        n += tk_pb_uint_size(4, (uint64_t)r->prompt_cache_hit_tokens);
    }
    return n;
}

/* ---- writing ---- */

static void put_array(tk_pb_writer *w, uint32_t number, const void *items, size_t count)
{
    if (count > 0) {
        tk_pb_put_array(w, number, items, count, 4);
    }
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
}

static void put_topk(tk_pb_writer *w, const tk_sample_response *r)
{
    size_t cells = topk_cells(r);
    tk_pb_put_head(w, 3, topk_size(r));
    put_array(w, 1, r->topk.token_ids, cells);
    put_array(w, 2, r->topk.logprobs, cells);
    tk_pb_put_uint(w, 3, r->topk.k);
    tk_pb_put_uint(w, 4, r->topk.prompt_length);
}

static void put_response(tk_pb_writer *w, const tk_sample_response *r)
{
    for (size_t i = 0; i < r->sequences_n; i++) {
        tk_pb_put_head(w, 1, sequence_size(&r->sequences[i]));
        put_sequence(w, &r->sequences[i]);
    }
    if (r->has_prompt_logprobs) {
        put_array(w, 2, r->prompt_logprobs.p, r->prompt_logprobs.n);
    }
    if (topk_cells(r) > 0) {
        put_topk(w, r);
    }
    if (r->prompt_cache_hit_tokens != 0) {
        tk_pb_put_int(w, 4, r->prompt_cache_hit_tokens);
    }
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
