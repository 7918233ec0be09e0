/* All episodes: which there are, which are in memory, where their records are. Only for
 * gw_episode*.c.
 *
 * Locks: `lock` of the store is for everything here; an episode's own lock is for its tree
 * and may be held when the store's is taken, never the other way. Who uses an episode holds
 * it (gw_store_hold); one that nobody holds may leave memory. */
#ifndef GATEWAY_GW_STORE_H
#define GATEWAY_GW_STORE_H

#include "base/list.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/thread.h"
#include "gateway/gw_log.h"
#include "gateway/gw_tree.h"

typedef struct gw_kept { /* a record */
    gw_place place;
    uint32_t seq;
} gw_kept;

typedef struct gw_episode {
    char *id;
    uint64_t birth;
    /* with the store's lock */
    tk_list loaded; /* in gw_episodes.loaded, or alone */
    size_t holders;
    size_t bytes; /* of the tree, as counted */
    bool is_dropped;
    int64_t used_ms;
    bool knows_reward; /* it was in memory once */
    double reward;     /* NAN = none */
    size_t n_turns;    /* known with the reward */
    gw_kept *kept; /* in the order of seq; written with both locks, read with either */
    size_t n_kept, cap_kept;
    uint32_t next_seq;
    /* with its own lock */
    tk_mutex lock;
    gw_tree tree;
    bool is_loaded;
} gw_episode;

typedef struct gw_vocabulary { /* of a tokenizer that was used */
    tk_tok *tok;
    gw_sha sha;
} gw_vocabulary;

struct gw_episodes {
    gw_log *log; /* NULL: in memory only */
    size_t max_bytes;
    int64_t keep_ms;
    const tk_clock *clock;
    tk_log *report;
    tk_mutex lock;
    tk_map all;     /* gw_episode by id */
    tk_list loaded; /* those in memory, used last first */
    size_t bytes, n_loaded;
    void (*on_change)(void *user, tk_str episode); /* or NULL */
    void *change_user;
    size_t lost; /* records that could not be read later */
    tk_rand rand;
    int64_t tidied_ms;
    gw_vocabulary known[TK_GW_TOKENIZERS_MAX];
    size_t n_known;
};

/* ---- with the store's lock held ---- */

TK_NODISCARD tinkc_code gw_store_add(gw_episode **out, gw_episodes *episodes, tk_str id,
                                     uint64_t birth, tk_err *err);
/* Takes it out; it is freed when nobody holds it. */
void gw_store_remove(gw_episodes *episodes, gw_episode *episode);
/* Makes room for one more record, so that adding it cannot fail. */
TK_NODISCARD tinkc_code gw_store_reserve(gw_episode *episode, tk_err *err);

/* ---- without ---- */

int64_t gw_store_now(const gw_episodes *episodes); /* milliseconds since 1970 */

typedef enum gw_hold {
    GW_HOLD_USE,
    GW_HOLD_MAKE, /* one that is not there is made */
    GW_HOLD_LOOK  /* does not count as a use */
} gw_hold;

/* Finds an episode and holds it; *out = NULL when there is none. */
TK_NODISCARD tinkc_code gw_store_hold(gw_episode **out, gw_episodes *episodes, tk_str id,
                                      gw_hold how, tk_err *err);
void gw_store_release(gw_episodes *episodes, gw_episode *episode); /* accepts NULL */

/* Reads the tree, when it is not in memory. With the episode's lock held. */
TK_NODISCARD tinkc_code gw_store_load(gw_episodes *episodes, gw_episode *episode,
                                      tk_err *err);
/* Appends a record, and its place. With the episode's lock held. */
TK_NODISCARD tinkc_code gw_store_append(gw_episodes *episodes, gw_episode *episode,
                                        tk_str body, tk_err *err);

/* The digest of the vocabulary of a tokenizer. */
TK_NODISCARD tinkc_code gw_store_vocabulary(gw_sha out, gw_episodes *episodes,
                                            tk_tok *tok, tk_err *err);

#endif
