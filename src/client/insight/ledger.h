/* The inside of <tinkc/ledger.h>: reservations before work is sent, what became of them
 * afterwards.
 *
 * A claim belongs to an operation, which settles it piece by piece: spent, doubtful, or
 * given back. Reserving takes no lock, but for the first claim of a step. Thread: any; a
 * claim one thread at a time. */
#ifndef CLIENT_LEDGER_H
#define CLIENT_LEDGER_H

#include <stdatomic.h>

#include <tinkc/ledger.h>

#include "base/err.h"
#include "base/map.h"
#include "base/thread.h"
#include "client/insight/hooks.h"
#include "wire/value.h"

#define TK_LEDGER_KINDS 4
#define TK_LEDGER_MOST  (INT64_C(1) << 40) /* of one reservation */

/* One model or sampler. Lives as long as the ledger. */
typedef struct tk_ledger_run {
    char *id;
    /* under the lock */
    int64_t used[TK_LEDGER_KINDS];
    int64_t uncertain;
    int64_t *steps;
    size_t steps_n, steps_room;
} tk_ledger_run;

typedef struct tk_ledger {
    atomic_int_least64_t budget;    /* -1: none */
    atomic_int_least64_t committed; /* used, uncertain and reserved */
    tk_mutex lock;
    bool is_ready;
    tk_map by_id;         /* id -> run */
    tk_ledger_run **runs; /* in order */
    size_t runs_n, runs_room;
} tk_ledger;

/* Zeroed: nothing is claimed. */
typedef struct tk_ledger_claim {
    tk_ledger *ledger;
    tk_ledger_run *run;
    size_t step;
    int64_t reserved;
} tk_ledger_claim;

/* What one piece of work used. */
typedef struct tk_ledger_use {
    int64_t tokens[TK_LEDGER_KINDS];
} tk_ledger_use;

TK_NODISCARD tinkc_code tk_ledger_init(tk_ledger *ledger, tk_err *err);
void tk_ledger_dispose(tk_ledger *ledger); /* accepts a zeroed one */

/* The run of this id, made when there is none. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_ledger_open_run(tk_ledger_run **out, tk_ledger *ledger,
                                           tk_str id, tk_err *err);

/* Reserves `tokens`, of a run or of a step of it. TINKC_E_BUDGET, TINKC_E_NOMEM: nothing
 * is claimed. The claim must be empty. */
TK_NODISCARD tinkc_code tk_ledger_reserve(tk_ledger_claim *claim, tk_ledger *ledger,
                                          tk_ledger_run *run, int64_t tokens,
                                          tk_err *err);
TK_NODISCARD tinkc_code tk_ledger_reserve_step(tk_ledger_claim *claim, tk_ledger *ledger,
                                               tk_ledger_run *run, size_t step,
                                               int64_t tokens, tk_err *err);
bool tk_ledger_has_budget(const tk_ledger *ledger);

/* `part` of what is reserved: has become this use (each number 0 to TK_LEDGER_MOST),
 * which the hooks of `span` get; may have been used; was not used. No effect beyond what
 * is reserved. */
void tk_ledger_spend(tk_ledger_claim *claim, int64_t part, const tk_ledger_use *said,
                     const tk_span *span);
void tk_ledger_doubt(tk_ledger_claim *claim, int64_t part);
void tk_ledger_release(tk_ledger_claim *claim, int64_t part);

/* Everything that is left of it. */
void tk_ledger_release_all(tk_ledger_claim *claim);

/* Tokens of an input as far as they are known. */
int64_t tk_ledger_count(const tk_model_input *input);

#endif
