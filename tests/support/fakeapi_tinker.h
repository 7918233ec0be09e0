/* Tinker mode of the scripted peer: it answers as a Tinker server would (docs/protocol.md
 * §2, §4, §11), with hosted ids, futures, long polls and idempotency, and keeps a log of
 * the work that it applied. Its numbers are made up by rule, not computed: there is no
 * model.
 *
 *     fakeapi *api = fakeapi_start();
 *     fakeapi_tinker(api, NULL);
 *     fakeapi_lose_first(api, "POST", "*", FAKEAPI_RESET);   every answer is lost once
 *     ... train with a client ...
 *     assert_int_equal(fakeapi_tinker_ops(api, NULL), steps);  and applied once
 *
 * Scripted steps take precedence: a route with queued steps or a default answers with
 * those; a step with .pass lets the work happen and disturbs only the answer. Any
 * thread. */
#ifndef SUPPORT_FAKEAPI_TINKER_H
#define SUPPORT_FAKEAPI_TINKER_H

#include "support/fakeapi.h"
#include "wire/value.h"

typedef struct fakeapi_tinker_options {
    const char *config;  /* answer of client/config; NULL = {} */
    const char *api_key; /* 401 for any other X-API-Key; NULL = any, or none */
    bool strict;         /* keys that the request's schema lacks give 422 */
    bool hold;           /* work stays pending until fakeapi_tinker_finish */
    unsigned poll_ms;    /* how long a poll is held, by the peer's clock; 0 = 20000 */
    size_t
        metadata_above; /* larger results are announced by complete_metadata; 0 = none */
    /* Manners of other servers. All borrowed. */
    const fakeapi_step
        *refuses_proto;        /* the answer to a body in protobuf; NULL = taken */
    bool json_results;         /* also where protobuf is asked for */
    const tk_num_map *metrics; /* of training results; NULL = loss:sum */
    bool short_logprobs;       /* of prompts: none for the first token */
    bool no_prompt_logprobs;   /* also where they are asked for */
    const char *const
        *lacks;         /* "METHOD path" with `*`, ends with NULL: answered 404, as a
                                  web framework without the route does */
    bool other_success; /* 201 to what is made, 202 to accepted work */
    const char *loss;   /* its name among the metrics, a sum unless that ends with
                                  :mean or :avg; "" = no metrics; NULL = loss:sum */
    const char *scheme; /* of the paths of checkpoints; NULL = "tinker://" */
    const char *sampler_kind; /* in them, of weights for sampling; "" = none; NULL =
                                  "sampler_weights" */
    bool no_sequence_ids;     /* of samples */
    int failure_status;       /* of polls of failed work; 0 = 200 */
    size_t nan_after;         /* optimizer steps, after which log-probabilities are NaN;
                                  0 = never. Only in protobuf */
    bool any_order;           /* an optim_step is applied before the work whose result
                                  was not fetched yet: it changes nothing */
    const char *load_answer;  /* to load_weights, in place of the work; NULL = it loads */
} fakeapi_tinker_options;

/* The numbers that it makes up. A target's logprob is this divided by 1 + optimizer steps
 * taken; a sampled token is the one before it plus 1. */
#define FAKEAPI_TINKER_LOGPROB (-2.0f)

/* Once, before the first request. options may be NULL. */
void fakeapi_tinker(fakeapi *api, const fakeapi_tinker_options *options);

/* ---- pending work (option hold) ---- */

void fakeapi_tinker_hold(fakeapi *api, bool hold); /* for work accepted from now on */
size_t fakeapi_tinker_pending(fakeapi *api);
/* Completes the n oldest pending; returns how many there were to complete. */
size_t fakeapi_tinker_finish(fakeapi *api, size_t n);
bool fakeapi_tinker_finish_one(fakeapi *api, const char *request_id);
/* The result is gone: polls get 410. False: no such request. */
bool fakeapi_tinker_lose(fakeapi *api, const char *request_id);

/* The next work of that kind ("optim_step", ...; "*" = any) is accepted and fails: it is
 * not applied, and its future is {error, category}. Queues up. */
void fakeapi_tinker_fail(fakeapi *api, const char *kind, const char *message,
                         const char *category);

/* The queue state that polls report when they run out: "active" (at the start),
 * "paused_capacity", "paused_rate_limit"; reason may be NULL. turn_away ends all parked
 * polls with it. */
void fakeapi_tinker_queue(fakeapi *api, const char *state, const char *reason);
void fakeapi_tinker_turn_away(fakeapi *api);

/* ---- what was done ---- */

typedef struct fakeapi_tinker_op {
    const char *model_id; /* of a sample: its sampling session */
    const char
        *kind;      /* create_model, forward, forward_backward, optim_step, save_weights,
                       save_weights_for_sampler, load_weights, unload_model, sample */
    int64_t seq_id; /* -1 = the request had none */
    size_t datums;  /* forward, forward_backward */
    const char *request_id;
    size_t resent; /* identical requests that came later and were not applied */
} fakeapi_tinker_op;

/* Applied work in the order in which it was applied; model_id NULL = all. A copy. */
size_t fakeapi_tinker_ops(fakeapi *api, const char *model_id);
bool fakeapi_tinker_op_at(fakeapi *api, const char *model_id, size_t index,
                          fakeapi_tinker_op *out);

/* Requests that used the seq_id of another one (answered 409). */
size_t fakeapi_tinker_conflicts(fakeapi *api);

#endif
