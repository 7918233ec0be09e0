/* Samples of this process: a function gets the tokens and the result. */
#include "base/mem.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_sample.h"
#include "server/run/srv_state.h"

static const int32_t *copy_ids(tk_arena *arena, const int32_t *ids, size_t n, bool *ok)
{
    int32_t *own = n > 0 ? tk_arena_array(arena, n, sizeof(*own)) : NULL;
    *ok = *ok && (own != NULL || n == 0);
    for (size_t i = 0; own != NULL && i < n; i++) {
        own[i] = ids[i];
    }
    return own;
}

/* Copies what the request points to into the sample's memory. */
static bool copy_request(srv_sample *sample, const eng_sample_request *from)
{
    eng_sample_request *to = &sample->request;
    tk_arena *arena = &sample->memory.arena;
    bool ok = true;
    *to = *from;
    to->prompt = copy_ids(arena, from->prompt, from->n_prompt, &ok);
    to->stop_tokens = copy_ids(arena, from->stop_tokens, from->n_stop_tokens, &ok);
    tk_str *stops = from->n_stop_strings > 0
                        ? tk_arena_array(arena, from->n_stop_strings, sizeof(*stops))
                        : NULL;
    ok = ok && (stops != NULL || from->n_stop_strings == 0);
    for (size_t i = 0; ok && i < from->n_stop_strings; i++) {
        const tk_str *stop = &from->stop_strings[i];
        ok = tk_arena_dup(arena, &stops[i], stop->p, stop->n);
    }
    to->stop_strings = stops;
    return ok;
}

/* Under the lock. Returns 0, or the status of the refusal. */
static int enter(srv *server, srv_sample *sample, srv_sampler *sampler, tk_err *err)
{
    if (atomic_load(&server->stopping)) {
        (void)tk_err_set(err, TINKC_E_STATE, "the server is stopping");
        return 503;
    }
    int status = srv_sample_reserve(sample, sampler, err);
    if (status != 0) {
        return status;
    }
    sample->sampler = sampler;
    if (!srv_engine_add_sample(server->engine, sample)) {
        (void)tk_err_set(err, TINKC_E_RATE_LIMIT, "too many samples are waiting");
        return 429;
    }
    sampler->owners++;
    return 0;
}

int srv_sample_queue(srv_sample **out, srv *server, const srv_sample_call *call,
                     tk_err *err)
{
    srv_sample *sample = srv_sample_new(server);
    if (sample == NULL) {
        (void)tk_err_nomem(err);
        return 500;
    }
    sample->listener = call->listener;
    if (!copy_request(sample, call->request)) {
        bool full = sample->memory.arena.refused;
        srv_sample_free(sample);
        (void)tk_err_set(err, full ? TINKC_E_RATE_LIMIT : TINKC_E_NOMEM, "out of memory");
        return full ? 429 : 500;
    }
    *out = sample; /* before it can end */
    tk_mutex_lock(&server->lock);
    int status = enter(server, sample, call->sampler, err);
    tk_mutex_unlock(&server->lock);
    if (status != 0) {
        *out = NULL;
        srv_sample_free(sample);
    }
    return status;
}

void srv_sample_drop(srv_sample *sample)
{
    const srv_sample_listener listener = sample->listener;
    tk_err err = TK_ERR_INIT;
    if (listener.on_done == NULL) {
        return;
    }
    sample->listener = (srv_sample_listener){NULL, NULL, NULL};
    (void)tk_err_set(&err, TINKC_E_STATE, "the server is stopping");
    listener.on_done(listener.user, NULL, &err);
}
