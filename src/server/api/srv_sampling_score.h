/* What a sample request asks about its prompt and its tokens, made ready for the engine.
 * Thread: a worker. */
#ifndef SERVER_SRV_SAMPLING_SCORE_H
#define SERVER_SRV_SAMPLING_SCORE_H

#include "engine/eng_sampler.h"
#include "wire/msg_sample.h"

/* Fills the scores of *out, whose prompt is set already; arrays live in the arena. Errors
 * name the field: TINKC_E_INVALID, TINKC_E_LIMIT, TINKC_E_UNSUPPORTED for what this server
 * does not do, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_sampling_scores(eng_sample_request *out, tk_arena *arena,
                                            const tk_sample_request *msg, tk_err *err);

/* Refuses what the events of a stream cannot carry. */
TK_NODISCARD tinkc_code srv_sampling_check_stream(const eng_sample_request *request,
                                                  tk_err *err);

#endif
