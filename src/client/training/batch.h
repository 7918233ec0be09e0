/* The requests that carry one batch of datums (docs/protocol.md §6.2, §6.3): cut,
 * encoded and numbered on the caller's thread, submitted and polled on the loop's.
 *
 * In parallel mode parts 2..n go out together and the first one when all of those are
 * accepted; otherwise one goes out after the other. The first failure fails the batch:
 * parts that were not sent yet never are, running submissions are allowed to finish (so
 * that the number of accepted parts is exact), polls stop. Lives inside an operation. */
#ifndef CLIENT_BATCH_H
#define CLIENT_BATCH_H

#include "client/call/submit.h"
#include "client/training/model.h"
#include "client/training/training_result.h"

typedef struct tk_batch tk_batch;
typedef struct tk_batch_part tk_batch_part;

struct tk_batch_part {
    tk_batch *batch;
    tk_submit submit;
    tk_budget_claim claim;
    tk_buf plain;    /* the protobuf request */
    tk_buf packed;   /* compressed; empty: sent plain */
    tk_buf json;     /* the request for servers that read JSON only; empty: not made */
    bool is_forward; /* of `json`: it has a path of its own */
    size_t first, n, bytes;
    int64_t tokens;
    enum { TK_PART_IDLE, TK_PART_BUDGET, TK_PART_POST, TK_PART_POLL, TK_PART_DONE } phase;
    tinkc_fwdbwd *result; /* owned */
};

struct tk_batch {
    /* Set by the owner. */
    tk_model *model; /* borrowed */
    tk_future_type type;
    tinkc_future *future;
    int64_t started_ns;
    size_t max_parallel; /* 0: no limit */
    bool keep_bodies;    /* `plain` is needed afterwards */
    tinkc_chunk_fn on_chunk;
    bool chunks_in_order;
    void *chunk_user;
    /* Nothing will be sent any more: gives the turn back. Once, before `done`. */
    void (*submitted)(tk_batch *batch);
    /* The end: `code` and `err`, or the result of each part. Once; may free the batch. */
    void (*done)(tk_batch *batch);
    void *user;
    /* Made by tk_batch_prepare. */
    tk_batch_part *parts;
    size_t n;
    int64_t tokens;
    tk_ledger_claim ledger; /* of tk_batch_reserve */
    /* Progress; for the owner to read. */
    tinkc_code code;
    tk_err err;
    size_t accepted; /* by the server */
    size_t refused;  /* accepted, and failed at the server */
    /* Private to batch.c. */
    size_t next, posting, polling, delivered, failed_part;
    int depth;
    bool is_submitted;
};

/* The datums as the caller has them. */
typedef struct tk_batch_data {
    tinkc_datum *const *items;
    size_t n;
    bool any_shape; /* inputs of a loss of the caller's: only targets and weights have one
                       entry per token */
} tk_batch_data;

/* Fills data and data_n of the request; the array lives in the arena, and what it points
 * to is the caller's. TINKC_E_INVALID, with the place in err->path: no datums, a NULL
 * among them, NaN in a tensor, a tensor of the wrong length. TINKC_E_LIMIT: too many.
 * Thread: the caller's. */
TK_NODISCARD tinkc_code tk_batch_read_data(tk_fwdbwd_request *request, tk_arena *arena,
                                           const tk_batch_data *data, tk_err *err);

/* Cuts `request->data` and encodes each part, without numbers. Reads everything before it
 * returns. TINKC_E_INVALID names the value. Thread: the caller's. */
TK_NODISCARD tinkc_code tk_batch_prepare(tk_batch *batch,
                                         const tk_fwdbwd_request *request, tk_err *err);

/* Reserves the tokens that sending it `times` will use. TINKC_E_BUDGET. Thread: the
 * caller's. */
TK_NODISCARD tinkc_code tk_batch_reserve(tk_batch *batch, int64_t times, tk_err *err);

/* Numbers the parts from `first_id` on and compresses them where the server asks for it, or
 * makes their JSON form where it is known to need that. Cannot fail: what cannot be
 * compressed is sent plain, what is not in JSON yet is made so when it is sent. Thread: the
 * caller's. */
void tk_batch_number(tk_batch *batch, int64_t first_id);

/* Frees everything inside. Accepts a zeroed one. */
void tk_batch_dispose(tk_batch *batch);

/* ---- loop thread ---- */

void tk_batch_start(tk_batch *batch);

/* Makes a batch that is done ready to be started again, with the bodies it has in `plain`
 * now; results are freed. */
void tk_batch_rewind(tk_batch *batch);

/* Ends it with TINKC_E_CANCELLED through `submitted` and `done`; running submissions
 * are aborted. */
void tk_batch_cancel(tk_batch *batch);

/* Whether some parts count at the server and others do not. */
bool tk_batch_is_partial(const tk_batch *batch);

/* The combined result; takes the results of the parts. NULL with *err set. */
TK_NODISCARD tinkc_fwdbwd *tk_batch_combine(tk_batch *batch, tk_err *err);

#endif
