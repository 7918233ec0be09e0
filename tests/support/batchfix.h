/* A training client on the scripted peer, and batches for it. */
#ifndef SUPPORT_BATCHFIX_H
#define SUPPORT_BATCHFIX_H

#include <tinkc/training.h>

#include "base/arena.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"
#include "wire/pb_fwdbwd.h"

#define POST_FB    "/api/v1/forward_backward"
#define POST_STEP  "/api/v1/optim_step"
#define POST_POLL  "/api/v1/retrieve_future"
#define DATA_MAX   8
#define SMALL      "{\"fwdbwd_max_chunk_len\":1}"
#define SMALL_LINE "{\"fwdbwd_max_chunk_len\":1,\"parallel_fwdbwd_chunks\":false}"

typedef struct batchfix {
    fakeapi *api;
    tinkc_service *service;
    tinkc_training *training;
    tinkc_datum *datums[DATA_MAX];
    tinkc_datum *data[DATA_MAX];
} batchfix;

/* Datum i has i + 2 tokens. */
static inline tinkc_datum *batchfix_datum(size_t i)
{
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    int32_t tokens[DATA_MAX + 2];
    float weights[DATA_MAX + 2];
    for (size_t k = 0; k < i + 2; k++) {
        tokens[k] = (int32_t)k;
        weights[k] = 1.0F;
    }
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, i + 2, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", tokens, i + 2, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_datum_set_f32(datum, "weights", weights, i + 2, NULL),
                     TINKC_OK);
    return datum;
}

static inline batchfix batchfix_open(const char *flags)
{
    batchfix f = {.api = fakeapi_start()};
    fakeapi_tinker_options server = {.config = flags};
    fakeapi_tinker(f.api, &server);
    f.service = servicefix_open(f.api, SERVICEFIX_QUIET);
    assert_int_equal(
        tinkc_service_create_training_wait(&f.training, f.service, "m", NULL, NULL),
        TINKC_OK);
    for (size_t i = 0; i < DATA_MAX; i++) {
        f.datums[i] = batchfix_datum(i);
        f.data[i] = f.datums[i];
    }
    return f;
}

static inline void batchfix_close(batchfix *f)
{
    for (size_t i = 0; i < DATA_MAX; i++) {
        tinkc_datum_free(&f->datums[i]);
    }
    tinkc_training_close(&f->training);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* seq_id of the nth forward_backward request, as it arrived. */
static inline int64_t batchfix_seq(fakeapi *api, size_t nth, size_t *datums)
{
    const fakeapi_request *seen = fakeapi_nth(api, "POST", POST_FB, nth);
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_bytes body = {(const unsigned char *)seen->body, seen->body_n};
    assert_string_equal(fakeapi_header(seen, "content-type"), "application/x-protobuf");
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_pb_fwdbwd_decode(&request, &arena, body, NULL), TINKC_OK);
    int64_t seq_id = request.seq_id;
    if (datums != NULL) {
        *datums = request.data_n;
    }
    tk_arena_dispose(&arena);
    return seq_id;
}

#endif
