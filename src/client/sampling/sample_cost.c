/* What a sample costs in tokens, before and after. Thread: any. */
#include "client/sampling/sampling_int.h"
#include "client/values/params.h"

tinkc_code tk_sample_cost_of(tk_sample_cost *out, tinkc_sampling *sampling,
                             const tk_sample_request *request, tk_err *err)
{
    int64_t most = tk_params_most_sampled(request);
    if (most < 0 && tk_ledger_has_budget(tk_core_ledger(sampling->core))) {
        return tk_err_set(err, TINKC_E_BUDGET,
                          "with a token budget a sample needs max_tokens");
    }
    out->prompt = tk_ledger_count(&request->prompt);
    out->most = out->prompt + TK_MIN(TK_MAX(most, 0), TK_LEDGER_MOST);
    return TINKC_OK;
}

tinkc_code tk_sample_reserve(tk_ledger_claim *claim, tinkc_sampling *sampling,
                             const tk_sample_cost *cost, tk_err *err)
{
    return tk_ledger_reserve(claim, tk_core_ledger(sampling->core), sampling->base->run,
                             cost->most, err);
}

void tk_sample_spend(tk_ledger_claim *claim, const tk_sample_cost *cost, int64_t cached,
                     int64_t sampled, const tinkc_future *future)
{
    cached = TK_MAX(TK_MIN(cached, cost->prompt), 0);
    tk_ledger_use use = {.tokens = {[TINKC_TOKENS_PREFILL] = cost->prompt - cached,
                                    [TINKC_TOKENS_CACHED_PREFILL] = cached,
                                    [TINKC_TOKENS_SAMPLED] = sampled}};
    tk_ledger_spend(claim, cost->most, &use, tk_future_span(future));
}
