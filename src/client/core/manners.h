/* What the server of a service does otherwise than the official one. Nothing is concluded
 * from its name: each fact shows in an answer. The first facts are learned once per
 * service, and choose the behaviour from then on; the others are rules about one answer,
 * with nothing to remember. The table has sentences about each for the documents.
 * Thread: any. */
#ifndef CLIENT_MANNERS_H
#define CLIENT_MANNERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"

typedef enum tk_manner {
    /* learned */
    TK_MANNER_JSON_REQUESTS,
    TK_MANNER_JSON_RESULTS,
    TK_MANNER_NO_CONFIG,
    TK_MANNER_NO_STREAMS,
    TK_MANNER_NO_GROUP_POLLS,
    TK_MANNER_NO_CANCELS,
    TK_MANNER_NO_CHECKPOINT_LIST,
    TK_MANNER_BARE_ARCHIVES,
    TK_MANNER_ANY_ORDER,
    TK_MANNER_LEARNED_COUNT,
    /* seen in each answer */
    TK_MANNER_NO_DYNAMIC_CONFIG = TK_MANNER_LEARNED_COUNT,
    TK_MANNER_NO_LOSS,
    TK_MANNER_OTHER_LOSS,
    TK_MANNER_SHORT_PROMPT_LOGPROBS,
    TK_MANNER_NO_PROMPT_LOGPROBS,
    TK_MANNER_OWN_PATHS,
    TK_MANNER_NO_SEQUENCE_IDS,
    TK_MANNER_CREATES_BY_LOAD,
    TK_MANNER_OTHER_SUCCESS,
    TK_MANNER_FAILS_BY_STATUS,
    TK_MANNER_SHORT_POLLS,
    TK_MANNER_NO_ARCHIVES,
    TK_MANNER_FILE_ARCHIVES,
    TK_MANNER_NO_LOAD,
    TK_MANNER_NO_UNLOAD,
    TK_MANNER_NO_FINISH,
    TK_MANNER_NO_SAMPLER_INFO,
    TK_MANNER_NO_RUN_LIST,
    TK_MANNER_NO_SESSION_LIST,
    TK_MANNER_NO_END_STOP,
    TK_MANNER_REPEATS_COUNT,
    TK_MANNER_COUNT
} tk_manner;

/* A fact that may be true of a server. */
typedef struct tk_manner_fact {
    const char *name;  /* short, lower case */
    const char *does;  /* what such a server does: "the server ..." */
    const char *shows; /* the answer that shows it */
    const char *then;  /* what the client does */
    const char *test;  /* "program: test", where the rule is proved alone */
} tk_manner_fact;

const tk_manner_fact *tk_manner_fact_of(tk_manner manner);

typedef enum tk_known { TK_KNOWN_NOT_YET, TK_KNOWN_NO, TK_KNOWN_YES } tk_known;

/* Zeroed: nothing is known. */
typedef struct tk_manners {
    atomic_int known[TK_MANNER_LEARNED_COUNT]; /* tk_known */
} tk_manners;

/* Returns what is known of a fact that is learned. */
tk_known tk_manners_get(const tk_manners *self, tk_manner manner);

/* Remembers what an answer showed. The first answer counts; a yes is logged. */
void tk_manners_learn(tk_manners *self, tk_log *log, tk_manner manner, bool is_so);

#endif
