/* The public face of the ledger: budget, copies for reading, estimates. */
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "client/core/core.h"
#include "client/core/service.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "client/values/types.h"

struct tinkc_ledger {
    tk_arena arena;
    tk_ledger_run *runs;
    size_t n;
    int64_t total[TK_LEDGER_KINDS];
    int64_t uncertain, reserved, left;
};

tinkc_code tinkc_service_set_budget(tinkc_service *service, int64_t tokens,
                                    tinkc_error **err)
{
    if (service == NULL) {
        return tk_error_tell(err, TINKC_E_STATE, "no service");
    }
    atomic_store(&tk_core_ledger(tk_service_core(service))->budget, TK_MAX(tokens, -1));
    return TINKC_OK;
}

/* ---- reading ---- */

static bool copy_run(tk_ledger_run *out, tk_arena *arena, const tk_ledger_run *run)
{
    tk_str id;
    *out = *run;
    out->steps = tk_arena_array(arena, run->steps_n, sizeof(*out->steps));
    if (run->steps_n > 0 && out->steps != NULL) {
        memcpy(out->steps, run->steps, run->steps_n * sizeof(*out->steps));
    }
    if ((run->steps_n > 0 && out->steps == NULL) ||
        !tk_arena_dup(arena, &id, run->id, strlen(run->id))) {
        return false;
    }
    out->id = (char *)(uintptr_t)id.p;
    return true;
}

/* Under the lock. */
static bool copy_all(tinkc_ledger *out, tk_ledger *ledger)
{
    int64_t known = 0;
    out->runs = tk_arena_array(&out->arena, ledger->runs_n, sizeof(*out->runs));
    bool ok = ledger->runs_n == 0 || out->runs != NULL;
    for (; ok && out->n < ledger->runs_n; out->n++) {
        const tk_ledger_run *run = ledger->runs[out->n];
        ok = copy_run(&out->runs[out->n], &out->arena, run);
        for (size_t i = 0; i < TK_LEDGER_KINDS; i++) {
            out->total[i] += run->used[i];
            known += run->used[i];
        }
        out->uncertain += run->uncertain;
    }
    int64_t budget = atomic_load(&ledger->budget);
    int64_t committed = atomic_load(&ledger->committed);
    out->reserved = committed - known - out->uncertain;
    out->left = budget < 0 ? -1 : TK_MAX(budget - committed, 0);
    return ok;
}

tinkc_code tinkc_service_read_ledger(tinkc_ledger **out, tinkc_service *service,
                                     tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (service == NULL || out == NULL) {
        tk_err_set(&err, service == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                   "no service, or no place for the result");
        return tk_error_give(error, &err);
    }
    tk_ledger *ledger = tk_core_ledger(tk_service_core(service));
    tinkc_ledger *copy = tk_zalloc(sizeof(*copy));
    bool ok = copy != NULL;
    if (ok) {
        tk_arena_init(&copy->arena, 0);
        tk_mutex_lock(&ledger->lock);
        ok = copy_all(copy, ledger);
        tk_mutex_unlock(&ledger->lock);
    }
    if (!ok) {
        tinkc_ledger_free(&copy);
        tk_err_nomem(&err);
        return tk_error_give(error, &err);
    }
    *out = copy;
    return TINKC_OK;
}

void tinkc_ledger_free(tinkc_ledger **ledger)
{
    if (ledger != NULL && *ledger != NULL) {
        tk_arena_dispose(&(*ledger)->arena);
        tk_free(*ledger);
        *ledger = NULL;
    }
}

static bool is_kind(tinkc_token_kind kind)
{
    return (size_t)kind < TK_LEDGER_KINDS;
}

int64_t tinkc_ledger_total(const tinkc_ledger *ledger, tinkc_token_kind kind)
{
    return ledger != NULL && is_kind(kind) ? ledger->total[kind] : 0;
}

int64_t tinkc_ledger_uncertain(const tinkc_ledger *ledger)
{
    return ledger != NULL ? ledger->uncertain : 0;
}

int64_t tinkc_ledger_reserved(const tinkc_ledger *ledger)
{
    return ledger != NULL ? ledger->reserved : 0;
}

int64_t tinkc_ledger_left(const tinkc_ledger *ledger)
{
    return ledger != NULL ? ledger->left : 0;
}

size_t tinkc_ledger_runs(const tinkc_ledger *ledger)
{
    return ledger != NULL ? ledger->n : 0;
}

static const tk_ledger_run *run_at(const tinkc_ledger *ledger, size_t run)
{
    return run < tinkc_ledger_runs(ledger) ? &ledger->runs[run] : NULL;
}

const char *tinkc_ledger_run_id(const tinkc_ledger *ledger, size_t run)
{
    const tk_ledger_run *at = run_at(ledger, run);
    return at != NULL ? at->id : NULL;
}

int64_t tinkc_ledger_run_tokens(const tinkc_ledger *ledger, size_t run,
                                tinkc_token_kind kind)
{
    const tk_ledger_run *at = run_at(ledger, run);
    return at != NULL && is_kind(kind) ? at->used[kind] : 0;
}

size_t tinkc_ledger_steps(const tinkc_ledger *ledger, size_t run)
{
    const tk_ledger_run *at = run_at(ledger, run);
    return at != NULL ? at->steps_n : 0;
}

int64_t tinkc_ledger_step_tokens(const tinkc_ledger *ledger, size_t run, size_t step)
{
    const tk_ledger_run *at = run_at(ledger, run);
    return at != NULL && step < at->steps_n ? at->steps[step] : 0;
}

/* ---- estimates ---- */

tinkc_code tinkc_estimate_batch(int64_t *tokens, tinkc_datum *const *data, size_t n,
                                tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    int64_t sum = 0;
    if (tokens == NULL || data == NULL || n == 0) {
        tk_err_set(&err, TINKC_E_INVALID, "no datums, or no place for the result");
    }
    for (size_t i = 0; err.code == TINKC_OK && i < n; i++) {
        if (data[i] == NULL) {
            tk_err_set(&err, TINKC_E_INVALID, "datum %zu is NULL", i);
        } else {
            sum += tk_ledger_count(&tk_types_datum(data[i])->model_input);
        }
    }
    if (err.code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    *tokens = sum;
    return TINKC_OK;
}

tinkc_code tinkc_estimate_sample(int64_t *prefill, int64_t *sampled,
                                 const tinkc_model_input *prompt,
                                 const tinkc_sampling_params *params,
                                 const tinkc_sample_options *options, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_sample_request request = {0};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    request.prompt = *tk_types_input(prompt);
    if (prefill == NULL || sampled == NULL || request.prompt.n == 0) {
        tk_err_set(&err, TINKC_E_INVALID,
                   "the prompt is empty, or no place for the result");
    } else if (tk_params_sampling(&request.sampling_params, &arena, params, &err) ==
                   TINKC_OK &&
               tk_params_sample_options(&request, options, &err) == TINKC_OK) {
        *prefill = tk_ledger_count(&request.prompt);
        *sampled = tk_params_most_sampled(&request);
    }
    tk_arena_dispose(&arena);
    return err.code != TINKC_OK ? tk_error_give(error, &err) : TINKC_OK;
}
