/* Episodes: for each, the tree of its turns, and the exact ids of every prompt.
 *
 * A turn is what was sent and what was sampled: prompt ids, sampled ids, their
 * log-probabilities, the weights, the parameters, and the message that went back. A
 * request continues a turn when its messages begin with that turn's messages plus the
 * message that went back (in canonical form, ca_call.h; reasoning that the agent left out
 * does not count) and the template renders that history as the text of the ids that are
 * held; its prompt is then those ids plus the encoding of the rest of the text. Otherwise
 * everything is encoded: a branch. What was sampled is never tokenized again.
 *
 * Turns are on disk before they are answered (gw_log.h); memory holds what is in use, up
 * to a limit, and an index of the rest. Thread: any; its own lock. */
#ifndef GATEWAY_GW_EPISODE_H
#define GATEWAY_GW_EPISODE_H

#include "chatapi/ca_call.h"
#include "gateway/gw_backend.h"

typedef struct gw_episodes gw_episodes; /* all of them */

typedef struct gw_episodes_config {
    const char *dir;  /* files are kept there; NULL: in memory only */
    size_t max_bytes; /* in memory; 0 = a default */
    int64_t keep_s;   /* an episode without requests is dropped after it; 0 = never */
} gw_episodes_config;

TK_NODISCARD tinkc_code gw_episodes_open(gw_episodes **out,
                                         const gw_episodes_config *config, tk_err *err);
void gw_episodes_close(gw_episodes *episodes); /* accepts NULL */

/* How the prompt of a request was made. */
typedef enum gw_origin {
    GW_ORIGIN_FIRST,     /* no earlier turn */
    GW_ORIGIN_CONTINUED, /* the ids of a turn and the encoding of the rest */
    GW_ORIGIN_BRANCH     /* encoded whole, although there are earlier turns */
} gw_origin;

typedef struct gw_plan { /* the prompt of one request */
    int32_t *ids;        /* owned */
    size_t n;
    tk_buf text;    /* owned: the rendered conversation */
    int64_t parent; /* turn that it continues; -1 = none */
    gw_origin origin;
    const char *why; /* of a branch: static, "the template rendered turn 3 otherwise" */
} gw_plan;

/* Makes the prompt for a request of an episode ("" = of none: always encoded whole).
 * TINKC_E_INVALID, TINKC_E_UNSUPPORTED: the template refuses the conversation. */
TK_NODISCARD tinkc_code gw_episodes_plan(gw_plan *out, gw_episodes *episodes,
                                         tk_str episode, const gw_model *model,
                                         const ca_request *request, tk_err *err);
void gw_plan_dispose(gw_plan *plan); /* accepts a zeroed one */

/* A turn that is about to be answered; borrowed. */
typedef struct gw_turn {
    const gw_plan *plan;
    const ca_request *request;
    const gw_model *model;
    const gw_sequence *sequences; /* one turn for each, with the same parent */
    const ca_output *outputs;     /* what went back for each */
    size_t n;
    int64_t time_ms;
} gw_turn;

/* Records the turns of one answer; on disk (written, synced soon) when it returns. Fills
 * ids[0..n) with their numbers. */
TK_NODISCARD tinkc_code gw_episodes_record(gw_episodes *episodes, tk_str episode,
                                           const gw_turn *turn, int64_t *ids,
                                           tk_err *err);

/* ---- the same request twice ---- */

/* A repeated request (same episode, same bytes) is answered once: begin returns
 * GW_REPEAT_FIRST to the one that does the work, which must call _end on every path; to
 * the others it gives the answer when it is there, or calls `on_answer` later. */
typedef enum gw_repeat { GW_REPEAT_FIRST, GW_REPEAT_ANSWERED, GW_REPEAT_WAITS } gw_repeat;
typedef struct gw_claim gw_claim;

/* ---- rewards and export ---- */

/* Sets the reward and adds metadata (a JSON object; {NULL, 0} = none); `turn` -1 = of the
 * whole episode. TINKC_E_MISSING: there is no such episode or turn. */
TK_NODISCARD tinkc_code gw_episodes_reward(gw_episodes *episodes, tk_str episode,
                                           int64_t turn, const double *reward,
                                           tk_str metadata, tk_err *err);

/* Writes an episode as JSON: turns, and sequences (maximal chains in which each prompt
 * extends the ids before it) of ids, mask, log-probabilities, reward. TINKC_E_MISSING. */
TK_NODISCARD tinkc_code gw_episodes_export(tk_buf *out, gw_episodes *episodes,
                                           tk_str episode, tk_err *err);

#endif
