/* Life of a sampling session, and the pauses that its samples share with all others. */
#include "client/sampling/sampler.h"

#include "base/mem.h"

/* ---- life ---- */

tinkc_code tk_sampler_new(tk_sampler **out, tk_core *core, tk_str id, tk_err *err)
{
    if (id.n == 0) {
        return tk_err_set(err, TINKC_E_DECODE, "the server sent no sampling_session_id");
    }
    tk_sampler *sampler = tk_zalloc(sizeof(*sampler));
    char *copy = tk_strndup(id.p, id.n);
    if (sampler == NULL || copy == NULL ||
        tk_ledger_open_run(&sampler->run, tk_core_ledger(core), id, err) != TINKC_OK) {
        tk_free(sampler);
        tk_free(copy);
        return tk_err_nomem(err);
    }
    atomic_init(&sampler->refs, 1);
    atomic_init(&sampler->next_seq, 0);
    sampler->core = tk_core_ref(core);
    sampler->id = copy;
    /* A budget admits while nothing is owed: n - 1 admits n. */
    int64_t most = tk_core_flags(core)->sample_max_concurrent_requests.v;
    tk_budget_init(&sampler->slots, TK_MAX(most, 1) - 1);
    *out = sampler;
    return TINKC_OK;
}

tk_sampler *tk_sampler_ref(tk_sampler *sampler)
{
    atomic_fetch_add(&sampler->refs, 1);
    return sampler;
}

void tk_sampler_unref(tk_sampler **sampler_ref)
{
    tk_sampler *sampler = *sampler_ref;
    *sampler_ref = NULL;
    if (sampler != NULL && atomic_fetch_sub(&sampler->refs, 1) == 1) {
        tk_poll_group_close(sampler->polls);
        tk_free(sampler->id);
        tk_core_unref(&sampler->core);
        tk_free(sampler);
    }
}

void tk_sampler_set_clone(tk_sampler *sampler, int64_t clone)
{
    sampler->clone = clone;
    atomic_store(&sampler->next_seq, clone * TK_CLONE_SEQS);
}

tk_poll_group *tk_sampler_polls(tk_sampler *sampler)
{
    tk_core *core = sampler->core;
    if (sampler->polls == NULL && sampler->source == TK_SAMPLER_SESSION &&
        tk_sampler_is_grouped(core)) {
        sampler->polls = tk_poll_group_new(core, sampler->id, sampler->clone);
    }
    return sampler->polls != NULL && !tk_poll_group_is_off(sampler->polls)
               ? sampler->polls
               : NULL;
}

int64_t tk_sampler_next_seq(tk_sampler *sampler)
{
    return atomic_fetch_add(&sampler->next_seq, 1);
}

bool tk_sampler_is_grouped(const tk_core *core)
{
    return tk_core_flags(core)->sample_use_retrieve_futures.v &&
           tk_config_sdk_at_least(tk_core_config(core), 36);
}

/* ---- the shared right to submit ---- */

tk_limiter_limits tk_sampler_limits(const tk_core *core)
{
    const tinkc_config *config = tk_core_config(core);
    return (tk_limiter_limits){
        .dispatch = config->sample_dispatch,
        .throttled = config->sample_dispatch_throttled,
        .bytes = tk_core_flags(core)->sample_dispatch_bytes_semaphore_size.v};
}

void tk_sampler_push_back(tk_core *core, const tinkc_future *future,
                          int64_t estimate_bytes, const tk_retry_outcome *outcome)
{
    int64_t pause = tk_limiter_pause_ms(estimate_bytes, outcome->hint_ms);
    tk_span_retry(tk_future_span(future), TINKC_OK, outcome->status, pause);
    tk_limiter_back_off(tk_core_limiter_port(core)->limiter,
                        tk_loop_now_ms(tk_core_loop(core)) + pause);
}
