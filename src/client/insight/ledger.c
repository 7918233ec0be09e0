/* See ledger.h. The one number that decides is `committed`: adding to it is what a
 * reservation is, so that threads cannot overdraw together what each alone could. */
#include "client/insight/ledger.h"

#include "base/mem.h"
#include "wire/input.h"

#define RUNS_MAX  65536
#define STEPS_MAX 1048576

tinkc_code tk_ledger_init(tk_ledger *ledger, tk_err *err)
{
    tinkc_code code = tk_mutex_init(&ledger->lock, err);
    if (code == TINKC_OK) {
        ledger->is_ready = true;
        atomic_init(&ledger->budget, -1);
        atomic_init(&ledger->committed, 0);
        tk_map_init(&ledger->by_id, TK_MAP_BORROW_KEYS);
    }
    return code;
}

static void free_run(tk_ledger_run *run)
{
    if (run != NULL) {
        tk_free(run->steps);
        tk_free(run->id);
        tk_free(run);
    }
}

void tk_ledger_dispose(tk_ledger *ledger)
{
    if (!ledger->is_ready) {
        return;
    }
    tk_map_dispose(&ledger->by_id);
    for (size_t i = 0; i < ledger->runs_n; i++) {
        free_run(ledger->runs[i]);
    }
    tk_free(ledger->runs);
    tk_mutex_dispose(&ledger->lock);
}

/* ---- runs ---- */

/* Room for one more; false when there is no memory. */
static bool grow(void **array, size_t *room, size_t n, size_t item_bytes)
{
    if (n < *room) {
        return true;
    }
    size_t more = *room == 0 ? 8 : *room * 2;
    void *larger = tk_realloc_array(*array, more, item_bytes);
    if (larger == NULL) {
        return false;
    }
    *array = larger;
    *room = more;
    return true;
}

static tk_ledger_run *make_run(tk_ledger *ledger, tk_str id, tk_err *err)
{
    tk_ledger_run *run = tk_zalloc(sizeof(*run));
    void *runs = ledger->runs;
    bool ok = run != NULL && (run->id = tk_strndup(id.p, id.n)) != NULL &&
              grow(&runs, &ledger->runs_room, ledger->runs_n, sizeof(*ledger->runs));
    ledger->runs = runs;
    if (!ok || tk_map_put(&ledger->by_id, tk_str_of(run->id), run, err) != TINKC_OK) {
        free_run(run);
        return NULL;
    }
    ledger->runs[ledger->runs_n++] = run;
    return run;
}

tinkc_code tk_ledger_open_run(tk_ledger_run **out, tk_ledger *ledger, tk_str id,
                              tk_err *err)
{
    tk_err ignored = TK_ERR_INIT;
    tk_mutex_lock(&ledger->lock);
    tk_ledger_run *run = tk_map_get(&ledger->by_id, id);
    if (run == NULL && ledger->runs_n == RUNS_MAX) {
        run = ledger->runs[RUNS_MAX - 1];
    } else if (run == NULL) {
        run = make_run(ledger, id, &ignored);
    }
    tk_mutex_unlock(&ledger->lock);
    if (run == NULL) {
        return tk_err_nomem(err);
    }
    *out = run;
    return TINKC_OK;
}

/* ---- reserving ---- */

bool tk_ledger_has_budget(const tk_ledger *ledger)
{
    return atomic_load(&ledger->budget) >= 0;
}

tinkc_code tk_ledger_reserve(tk_ledger_claim *claim, tk_ledger *ledger,
                             tk_ledger_run *run, int64_t tokens, tk_err *err)
{
    tokens = TK_MIN(tokens, TK_LEDGER_MOST);
    int64_t budget = atomic_load(&ledger->budget);
    int64_t before = atomic_load(&ledger->committed);
    do {
        if (budget >= 0 && tokens > budget - TK_MIN(before, budget)) {
            return tk_err_set(err, TINKC_E_BUDGET,
                              "the budget of %lld tokens has %lld left, this needs up to "
                              "%lld",
                              (long long)budget,
                              (long long)(budget - TK_MIN(before, budget)),
                              (long long)tokens);
        }
    } while (!atomic_compare_exchange_weak(&ledger->committed, &before, before + tokens));
    *claim = (tk_ledger_claim){.ledger = ledger, .run = run, .reserved = tokens};
    return TINKC_OK;
}

/* So that counting cannot fail later. */
static bool has_step(tk_ledger *ledger, tk_ledger_run *run, size_t step)
{
    bool ok = true;
    tk_mutex_lock(&ledger->lock);
    while (ok && run->steps_n <= step) {
        void *steps = run->steps;
        ok = grow(&steps, &run->steps_room, run->steps_n, sizeof(*run->steps));
        run->steps = steps;
        if (ok) {
            run->steps[run->steps_n++] = 0;
        }
    }
    tk_mutex_unlock(&ledger->lock);
    return ok;
}

tinkc_code tk_ledger_reserve_step(tk_ledger_claim *claim, tk_ledger *ledger,
                                  tk_ledger_run *run, size_t step, int64_t tokens,
                                  tk_err *err)
{
    step = TK_MIN(step, STEPS_MAX - 1);
    if (!has_step(ledger, run, step)) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_ledger_reserve(claim, ledger, run, tokens, err);
    claim->step = code == TINKC_OK ? step : 0;
    return code;
}

/* ---- settling ---- */

static void tell(const tk_span *span, const tk_ledger_use *use)
{
    for (size_t i = 0; i < TK_LEDGER_KINDS && tk_span_is_open(span); i++) {
        tinkc_hook what = {.event = TINKC_HOOK_TOKENS,
                           .token_kind = (tinkc_token_kind)i,
                           .tokens = use->tokens[i]};
        if (use->tokens[i] > 0) {
            tk_span_point(span, &what);
        }
    }
}

/* Takes the part out of the claim; what there is of it. */
static int64_t take(tk_ledger_claim *claim, int64_t part)
{
    part = TK_MIN(part, claim->reserved);
    claim->reserved -= part;
    return part;
}

/* A server may say anything: no number of its makes the sums wrap. */
static tk_ledger_use believable(const tk_ledger_use *said)
{
    tk_ledger_use use = *said;
    for (size_t i = 0; i < TK_LEDGER_KINDS; i++) {
        use.tokens[i] = TK_MAX(TK_MIN(use.tokens[i], TK_LEDGER_MOST), 0);
    }
    return use;
}

void tk_ledger_spend(tk_ledger_claim *claim, int64_t part, const tk_ledger_use *said,
                     const tk_span *span)
{
    tk_ledger_use use = believable(said);
    tk_ledger *ledger = claim->ledger;
    tk_ledger_run *run = claim->run;
    int64_t used = 0;
    if (ledger == NULL) {
        return;
    }
    part = take(claim, part);
    tk_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < TK_LEDGER_KINDS; i++) {
        run->used[i] += use.tokens[i];
        used += use.tokens[i];
    }
    if (claim->step < run->steps_n) {
        run->steps[claim->step] += use.tokens[TINKC_TOKENS_TRAINING];
    }
    (void)atomic_fetch_add(&ledger->committed, used - part);
    tk_mutex_unlock(&ledger->lock);
    tell(span, &use);
}

void tk_ledger_doubt(tk_ledger_claim *claim, int64_t part)
{
    if (claim->ledger != NULL) {
        part = take(claim, part);
        tk_mutex_lock(&claim->ledger->lock);
        claim->run->uncertain += part;
        tk_mutex_unlock(&claim->ledger->lock);
    }
}

void tk_ledger_release(tk_ledger_claim *claim, int64_t part)
{
    if (claim->ledger != NULL) {
        (void)atomic_fetch_sub(&claim->ledger->committed, take(claim, part));
    }
}

void tk_ledger_release_all(tk_ledger_claim *claim)
{
    tk_ledger_release(claim, claim->reserved);
    claim->ledger = NULL;
}

int64_t tk_ledger_count(const tk_model_input *input)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < input->n; i++) {
        tk_err ignored = TK_ERR_INIT;
        int64_t n = 0;
        if (tk_chunk_length(&n, &input->chunks[i], &ignored) == TINKC_OK && n > 0) {
            tokens = TK_MIN(tokens + TK_MIN(n, TK_LEDGER_MOST), TK_LEDGER_MOST);
        }
    }
    return tokens;
}
