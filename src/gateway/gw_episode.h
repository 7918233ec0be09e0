/* Episodes: for each, the tree of its turns, and the exact ids of every prompt.
 *
 * A turn is what was sent and what was sampled: prompt ids, sampled ids, their
 * log-probabilities, the weights, the parameters, and the message that went back. A
 * request continues a turn when its messages begin with that turn's messages plus the
 * message that went back (in canonical form, ca_call.h; reasoning that the agent left out
 * does not count) and the template renders that history as the text of the ids that are
 * held; its prompt is then those ids plus the encoding of the rest of the text. Otherwise
 * everything is encoded: a branch. What was sampled is never tokenized again
 * (docs/internals/gateway.md has the rules).
 *
 * One request: gw_episodes_plan, sample plan.ids, gw_episodes_record, answer. Turns are on
 * disk before they are answered (gw_log.h); memory holds what is in use, up to a limit, and
 * an index of the rest. Thread: any; its own locks. plan, record and export may read and
 * write files: not for an event loop. */
#ifndef GATEWAY_GW_EPISODE_H
#define GATEWAY_GW_EPISODE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "chatapi/ca_call.h"
#include "gateway/gw_backend.h"

typedef struct gw_episodes gw_episodes; /* all of them */

typedef struct gw_episodes_config {
    const char *dir;      /* files are kept there; NULL: in memory only */
    size_t max_bytes;     /* in memory; 0 = TK_GW_MEMORY_BYTES */
    int64_t keep_s;       /* an episode without requests is dropped after it; 0 = never */
    size_t segment_bytes; /* of a file of the log; 0 = TK_GW_SEGMENT_BYTES */
    const tk_clock *clock; /* NULL = the machine's */
    tk_log *log;           /* what was found damaged; or NULL */
    /* Is told each episode that has another turn or reward; NULL = not wanted. Thread: the
     * one that calls; without locks. */
    void (*on_change)(void *user, tk_str episode);
    void *change_user;
} gw_episodes_config;

/* Opens them, with what the directory holds. The caller closes *out. TINKC_E_CONFIG: the
 * directory belongs to something else; TINKC_E_STATE: another process uses it;
 * TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_episodes_open(gw_episodes **out,
                                         const gw_episodes_config *config, tk_err *err);
/* Waits until everything is synced. No other call may run. Accepts NULL. */
void gw_episodes_close(gw_episodes *episodes);

/* Whether a name can be the name of an episode: 1 to TK_GW_ID_BYTES printable ASCII
 * characters without '/', '?', '#', '%' and blanks; not "." and "..". */
bool gw_episodes_is_name(tk_str name);

/* ---- one request ---- */

typedef struct gw_ask { /* borrowed */
    tk_str episode;     /* "" = of none: always encoded whole, never recorded */
    const gw_model *model;
    const ca_request *request;
    size_t prompt; /* of completions: which of request->prompts */
} gw_ask;

/* How the prompt of a request was made. */
typedef enum gw_origin {
    GW_ORIGIN_FIRST,     /* no earlier turn */
    GW_ORIGIN_CONTINUED, /* the ids of a turn and the encoding of the rest */
    GW_ORIGIN_BRANCH     /* encoded whole, although there are earlier turns */
} gw_origin;

typedef struct gw_plan { /* the prompt of one request */
    int32_t *ids;        /* owned */
    size_t n;
    tk_buf text;     /* owned: the rendered conversation; empty for a prompt of ids */
    int64_t parent;  /* turn that it continues; -1 = none */
    size_t n_shared; /* ids that it has from there */
    gw_origin origin;
    const char *why; /* of a branch, for people; static, else "" */

    /* for gw_episodes_record */
    uint64_t birth;     /* of the episode when this was made; 0 = there was none */
    int64_t born_ms;    /* what strftime_now shows in this episode */
    bool parent_is_raw; /* the parent's answer is rendered as it was sampled */
    char tokens_sha[TK_SHA256_HEX_BYTES];   /* of the tokenizer's vocabulary */
    char text_sha[TK_SHA256_HEX_BYTES];     /* of `text` */
    char messages_sha[TK_SHA256_HEX_BYTES]; /* of the messages before the answer */
    size_t n_messages;                      /* their number */
} gw_plan;

/* Makes the prompt for a request. TINKC_E_INVALID, TINKC_E_UNSUPPORTED: the template
 * refuses the conversation, or the model has none; TINKC_E_LIMIT: too many messages or
 * episodes; TINKC_E_IO: the episode cannot be read. On success the caller disposes. */
TK_NODISCARD tinkc_code gw_episodes_plan(gw_plan *out, gw_episodes *episodes,
                                         const gw_ask *ask, tk_err *err);
void gw_plan_dispose(gw_plan *plan); /* accepts a zeroed one */

/* Starts the decoder for the ids of an answer: it comes after a prompt, so no blank is
 * taken off its front. The text that goes back should come from it. */
void gw_plan_decode(tk_tok_stream *stream, const tk_tok *tok, bool skip_special);

/* An answer that is about to go back; borrowed. */
typedef struct gw_turn {
    const gw_ask *ask;
    const gw_plan *plan;
    const gw_sequence *sequences; /* one turn for each, with the same parent */
    const ca_output *outputs;     /* what goes back for each; NULL: of completions */
    size_t n;
} gw_turn;

/* Records the turns of one answer; on disk (written, synced soon) when it returns. Fills
 * ids[0..n) with their numbers, -1 without an episode. On failure nothing is recorded, and
 * the answer must not go back: TINKC_E_IO (disk full, read-only), TINKC_E_LIMIT (turns,
 * ids, memory), TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_episodes_record(gw_episodes *episodes, const gw_turn *turn,
                                           int64_t *ids, tk_err *err);

/* ---- rewards, export, the end ---- */

typedef struct gw_mark { /* borrowed */
    int64_t turn;        /* -1 = the whole episode */
    const double *reward;
    tk_str metadata; /* a JSON object that replaces the one before; {NULL, 0} = none */
} gw_mark;

/* Sets the reward and the metadata. TINKC_E_MISSING: there is no such episode or turn;
 * TINKC_E_INVALID: a reward that is not finite, metadata that is not an object;
 * TINKC_E_LIMIT, TINKC_E_IO. */
TK_NODISCARD tinkc_code gw_episodes_mark(gw_episodes *episodes, tk_str episode,
                                         const gw_mark *mark, tk_err *err);

/* Appends an episode as one line of JSON (docs/internals/gateway.md): turns, and sequences
 * (maximal chains in which each prompt extends the ids before it) of ids, mask,
 * log-probabilities, reward. TINKC_E_MISSING, TINKC_E_LIMIT, TINKC_E_IO. */
TK_NODISCARD tinkc_code gw_episodes_export(tk_buf *out, gw_episodes *episodes,
                                           tk_str episode, tk_err *err);

/* Writes all of them to a file, one line each, replaced atomically; *n (unless NULL) is
 * their number. */
TK_NODISCARD tinkc_code gw_episodes_export_all(size_t *n, gw_episodes *episodes,
                                               const char *path, tk_err *err);

/* Drops an episode. TINKC_E_MISSING. */
TK_NODISCARD tinkc_code gw_episodes_drop(gw_episodes *episodes, tk_str episode,
                                         tk_err *err);

/* Drops what has not been used for keep_s, and gives files back whose records are dropped.
 * To be called now and then (record does it, too). */
void gw_episodes_tidy(gw_episodes *episodes);

typedef struct gw_episode_info { /* borrowed during the call */
    tk_str id;
    size_t
        turns; /* while the reward is not known: records of the log, rewards counted, too */
    int64_t used_ms;
    double reward; /* of the whole episode; NAN = none, or not known yet */
    bool knows_reward;
} gw_episode_info;

/* Reads the reward of an episode and how many turns it has, from its file when it must, which
 * does not count as a use. NAN = it has none. TINKC_E_MISSING, TINKC_E_IO. */
TK_NODISCARD tinkc_code gw_episodes_reward(double *out, size_t *turns,
                                           gw_episodes *episodes, tk_str episode,
                                           tk_err *err);

/* Calls `each` for every episode, oldest first, until it returns false. It must not call
 * back. */
void gw_episodes_each(gw_episodes *episodes,
                      bool (*each)(void *user, const gw_episode_info *info), void *user);

typedef struct gw_stats {
    size_t episodes, loaded; /* all; those in memory */
    size_t bytes;            /* of those */
    size_t disk_bytes;
    size_t damaged;       /* records that could not be read at the start */
    size_t damaged_bytes; /* and the bytes that were skipped */
} gw_stats;
void gw_episodes_stats(gw_stats *out, gw_episodes *episodes);

#endif
