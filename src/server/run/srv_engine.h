/* The engine thread: the only one that computes. Takes jobs from the models' orders in
 * turn, training requests in pieces of a few hundred tokens, and steps the samplers in
 * between: while both have work, each gets half of the time, and a large request delays
 * neither samples nor other models. */
#ifndef SERVER_SRV_ENGINE_H
#define SERVER_SRV_ENGINE_H

#include "base/err.h"
#include "engine/eng_sampler.h"
#include "server/run/srv_job.h"
#include "server/run/srv_sample.h"

typedef struct srv_engine srv_engine;

/* TINKC_E_CONFIG when a base model does not fit into the server's memory. */
TK_NODISCARD tinkc_code srv_engine_new(srv_engine **out, srv *server, tk_err *err);

/* Makes a base model that was opened later ready for requests; its memory is counted.
 * TINKC_E_CONFIG when it does not fit. Thread: one at a time. */
TK_NODISCARD tinkc_code srv_engine_add_base(srv_engine *engine, const srv_base *base,
                                            tk_err *err);
/* Fills *err: the model needs `bytes`, and how much there is. Returns TINKC_E_CONFIG. */
tinkc_code srv_engine_refuse_base(const srv *server, const char *name, size_t bytes,
                                  tk_err *err);

/* Ends what is being computed, after its current piece, and the thread; `stopping` must be
 * set. A save or load that has begun is finished. What a training request has computed is
 * given up: its model ends with the server. Accepts NULL. */
void srv_engine_stop(srv_engine *engine);

/* Drops what did not run (its futures stay pending). No thread may use it any more.
 * Accepts NULL. */
void srv_engine_free(srv_engine *engine);

/* Wakes the thread: an order has a new job. Under the server's lock. */
void srv_engine_wake(srv_engine *engine);

/* Takes a sample over to run it. Returns false when too many wait: it is still the
 * caller's. Under the server's lock. */
TK_NODISCARD bool srv_engine_add_sample(srv_engine *engine, srv_sample *sample);

/* Ends a sample before the next token is computed. Under the server's lock. */
void srv_engine_cancel_sample(srv_engine *engine, srv_sample *sample);

/* Returns why a sample has no result yet. Under the server's lock. */
srv_wait srv_engine_why(const srv_engine *engine, const srv_sample *sample);
/* Whether any sample waits or runs. Under the server's lock. */
bool srv_engine_has_samples(const srv_engine *engine);

/* Counts working memory of the engine for requests on `base`, of which it keeps the most
 * that any used. Returns false when there is no room for it. Under the server's lock. */
TK_NODISCARD bool srv_engine_reserve(srv_engine *engine, const srv_base *base,
                                     size_t bytes);
/* The same for one request, until its claim is released. */
TK_NODISCARD bool srv_engine_claim(srv_engine *engine, const srv_base *base,
                                   tk_heap_node *claim, size_t bytes);
/* The request computes: the engine keeps from now on what it claimed. */
void srv_engine_keep(srv_engine *engine, const srv_base *base, const tk_heap_node *claim);
/* The request has ended: releases its claim, and frees what the engine keeps beyond a share
 * of the memory that no other request has claimed. Without a claim: a model was unloaded,
 * and its rank may have been the largest. Thread: engine, without the lock. */
void srv_engine_trim(srv_engine *engine, const srv_base *base, tk_heap_node *claim);
/* No effect on a claim that was refused or released. */
void srv_engine_release(srv_engine *engine, const srv_base *base, tk_heap_node *claim);
/* Returns what samples with an adapter of `rank` need of it. */
size_t srv_engine_sample_work(const srv *server, const srv_base *base, size_t rank);

/* Counts the end of a sample. Under the server's lock. */
void srv_engine_sample_ended(srv_engine *engine, const srv_sample *sample);

/* Frees a sampler without owners, with its adapter, on the engine thread. Under the
 * server's lock. */
void srv_engine_drop_sampler(srv_engine *engine, srv_sampler *sampler);

typedef struct srv_engine_stats {
    uint64_t jobs, samples;  /* finished */
    uint64_t cancelled;      /* samples, of those */
    uint64_t tokens_trained; /* of forward and forward_backward */
    uint64_t tokens_prompt, tokens_sampled;
    uint64_t tokens_cached; /* of the prompts: not computed */
    size_t samples_waiting; /* or running */
} srv_engine_stats;

void srv_engine_get_stats(srv_engine *engine, srv_engine_stats *out); /* any thread */
/* Returns the share of the last ten seconds in which it computed. Thread: any. */
double srv_engine_busy(const srv_engine *engine);
/* Adds to the counters. Thread: engine. */
void srv_engine_count(srv_engine *engine, uint64_t trained, uint64_t prompt,
                      uint64_t cached, uint64_t sampled);

#endif
