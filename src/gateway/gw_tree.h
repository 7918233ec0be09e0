/* The turns of one episode in memory, and how they are written to the log and read again.
 *
 * An answer is one request that was answered: one prompt, and a turn for each sequence
 * that was sampled after it. The ids of a prompt that its parent has are kept there only.
 * Everything but rewards is immutable once added. Thread: one at a time. */
#ifndef GATEWAY_GW_TREE_H
#define GATEWAY_GW_TREE_H

#include "gateway/gw_episode.h"

typedef char gw_sha[TK_SHA256_HEX_BYTES];

typedef struct gw_answer {
    int64_t parent; /* turn; -1 = none */
    size_t n_shared;
    gw_origin origin;
    bool parent_is_raw;
    const int32_t *ids; /* of the prompt, beyond the shared ones */
    size_t n;
    size_t n_messages; /* before the message that went back */
    size_t text_n;     /* bytes of the prompt's text */
    gw_sha text_sha, tokens_sha;
    tk_str why, model, weights, params, prefill; /* prefill: of a continued message */
    int64_t time_ms;
    bool is_chat;
} gw_answer;

typedef struct gw_node { /* a turn */
    const gw_answer *answer;
    const int32_t *ids; /* sampled */
    const float *logprobs;
    size_t n;
    bool is_stopped;
    bool is_continued; /* another turn has it as parent */
    tk_str message;    /* that went back, JSON; "" = none */
    gw_sha after;      /* of the messages with it */
    bool has_reward;
    double reward;
    tk_str metadata; /* JSON; "" = none */
} gw_node;

typedef struct gw_tree {
    tk_arena arena;
    gw_node **nodes; /* owned array; the nodes are the arena's */
    size_t n, cap;
    size_t n_ids; /* that are kept */
    int64_t born_ms;
    bool has_reward;
    double reward;
    tk_str metadata;
} gw_tree;

void gw_tree_init(gw_tree *tree);
void gw_tree_dispose(gw_tree *tree); /* accepts a zeroed one */
size_t gw_tree_bytes(const gw_tree *tree);

/* Returns whether the record of a turn was damaged: only its number is left. */
bool gw_tree_is_lost(const gw_node *node);

/* Returns how many ids a turn has: prompt and sampled ones. */
size_t gw_tree_length(const gw_node *node);

/* Copies the ids of a turn, prompt and sampled ones, to out[0..gw_tree_length). */
void gw_tree_ids(int32_t *out, const gw_tree *tree, size_t turn);

/* The sampled ids as text, special tokens too; without the last one when it is one of
 * model->end_ids and `skip_end`. Failure is the buffer's. */
void gw_tree_text(tk_buf *out, const gw_node *node, const gw_model *model, bool skip_end);

/* ---- messages ---- */

/* out = the digest of the messages of `before`, followed by this one without its
 * reasoning. `scratch` is overwritten. */
TK_NODISCARD tinkc_code gw_tree_chain(gw_sha out, const gw_sha before,
                                      const tk_json *message, tk_buf *scratch,
                                      tk_err *err);

/* ---- the log ---- */

/* Appends the record of an answer, whose first turn gets the number `first`.
 * TINKC_E_LIMIT, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_record_answer(tk_buf *out, const gw_turn *turn, size_t first,
                                         int64_t time_ms, tk_err *err);
TK_NODISCARD tinkc_code gw_record_mark(tk_buf *out, const gw_mark *mark, tk_err *err);

/* Adds what a record says. Turns before its own that are missing become lost ones. On
 * failure the turns are as they were. TINKC_E_DECODE: not a record that fits this tree. */
TK_NODISCARD tinkc_code gw_record_apply(gw_tree *tree, tk_str record, tk_err *err);

/* What a record changes, to take it back when it cannot be written. `turn` is its parent,
 * or the one that it rewards; -1 = none. */
typedef struct gw_saved {
    size_t n, n_ids;
    int64_t born_ms, turn;
    gw_node node; /* a copy */
    bool has_reward;
    double reward;
    tk_str metadata;
} gw_saved;
void gw_record_save(gw_saved *out, const gw_tree *tree, int64_t turn);
void gw_record_undo(gw_tree *tree, const gw_saved *saved);

/* ---- prompts (gw_prompt.c) ---- */

/* Makes the plan for a request over the turns of its episode; tree NULL = none.
 * tokens_sha must be set. */
TK_NODISCARD tinkc_code gw_prompt_plan(gw_plan *plan, const gw_tree *tree,
                                       const gw_ask *ask, tk_err *err);

/* ---- export (gw_export.c) ---- */

TK_NODISCARD tinkc_code gw_export_tree(tk_buf *out, const gw_tree *tree, tk_str id,
                                       tk_err *err);

#endif
