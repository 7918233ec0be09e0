/* The engine thread: the only one that computes. Takes jobs from the models' orders in
 * turn, training requests in pieces of a few hundred tokens, and turns the samplers'
 * crank in between: as long as both have work, each gets half of the time, and a large
 * request holds up neither samples nor other models. */
#ifndef SERVER_SRV_ENGINE_H
#define SERVER_SRV_ENGINE_H

#include "base/err.h"
#include "engine/eng_sampler.h"
#include "server/api/srv_sampler.h"
#include "server/run/srv_job.h"

typedef struct srv_engine srv_engine;

TK_NODISCARD tinkc_code srv_engine_new(srv_engine **out, srv *server, tk_err *err);

/* Finishes the jobs that have begun and ends the thread; `stopping` must be set. What is
 * added later is only kept. Accepts NULL. */
void srv_engine_stop(srv_engine *engine);

/* Drops what did not run (its futures stay pending). Nobody may use it any more. Accepts
 * NULL. */
void srv_engine_free(srv_engine *engine);

/* Says that an order has got something. Under the server's lock. */
void srv_engine_wake(srv_engine *engine);

/* A sample to run, taken over. False when too many wait: it is still the caller's. Under
 * the server's lock. */
TK_NODISCARD bool srv_engine_add_sample(srv_engine *engine, srv_sample *sample);

/* Why a sample has no result yet. Under the server's lock. */
srv_wait srv_engine_why(const srv_engine *engine, const srv_sample *sample);
bool srv_engine_has_samples(const srv_engine *engine); /* likewise */

/* A sample is done with. Under the server's lock. */
void srv_engine_sample_ended(srv_engine *engine, const srv_sample *sample);

/* A sampler that nobody refers to any more: its adapter is freed on the engine thread.
 * Under the server's lock. */
void srv_engine_drop_sampler(srv_engine *engine, srv_sampler *sampler);

typedef struct srv_engine_stats {
    uint64_t jobs, samples;  /* finished */
    uint64_t tokens_trained; /* of forward and forward_backward */
    uint64_t tokens_prompt, tokens_sampled;
    size_t samples_waiting; /* or running */
} srv_engine_stats;

void srv_engine_get_stats(srv_engine *engine, srv_engine_stats *out); /* any thread */
/* For the counters; thread: engine. */
void srv_engine_count(srv_engine *engine, uint64_t trained, uint64_t prompt,
                      uint64_t sampled);

#endif
