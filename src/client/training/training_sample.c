/* save_and_sample: weights for sampling without a name (docs/protocol.md §2.3, the
 * ephemeral form), and a sampling handle on them. */
#include <tinkc/sampling.h>

#include "client/core/service.h"
#include "client/sampling/sampling.h"
#include "client/training/training_request.h"
#include "wire/msg_weights.h"

/* A fresh number of the sampling session for every L2 attempt, as the official SDK
 * does: the server keeps the first (docs/protocol.md §12). */
static tinkc_code encode(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    tk_save_for_sampler_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .sampling_session_seq_id = {TK_SET, tk_core_next_sampling_seq(op->op.core)},
        .seq_id = {TK_SET, seq_id},
    };
    return tk_schema_encode(&op->body, &tk_msg_save_for_sampler_request, &request, err);
}

static void *read_session(tk_training_request *op, const tk_json *json, tk_err *err)
{
    tk_arena arena;
    tk_save_for_sampler_result said = {.path = {.is = TK_UNSET}};
    tinkc_sampling *sampling = NULL;
    tk_arena_init(&arena, 0);
    tinkc_code code =
        tk_schema_decode(&said, &tk_msg_save_for_sampler_result, &arena, json, 0, err);
    if (code == TINKC_OK && said.sampling_session_id.is != TK_SET) {
        code = tk_err_set(err, TINKC_E_DECODE,
                          "the server's result has no sampling session");
    }
    if (code == TINKC_OK &&
        tk_sampling_new(&sampling, op->op.handle, said.sampling_session_id.v, err) !=
            TINKC_OK) {
        sampling = NULL;
    }
    tk_arena_dispose(&arena);
    return sampling;
}

static const tk_training_request_spec spec = {.operation = "save_and_sample",
                                              .kind = TK_RESULT_SAMPLING,
                                              .endpoint = TK_EP_SAVE_FOR_SAMPLER,
                                              .type = TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER,
                                              .ids = 1,
                                              .draws_again = true,
                                              .encode = encode,
                                              .read = read_session,
                                              .free_result = tk_sampling_free};

tinkc_future *tinkc_training_save_and_sample(tinkc_training *training)
{
    if (training == NULL) {
        return tk_service_none(spec.operation, spec.kind);
    }
    return tk_training_request_run(training, &spec, NULL);
}

tinkc_code tinkc_training_save_and_sample_wait(tinkc_sampling **out,
                                               tinkc_training *training,
                                               tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_training_save_and_sample(training),
                               TK_RESULT_SAMPLING, err);
}
