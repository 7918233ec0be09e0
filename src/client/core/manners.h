/* What the server of a service does otherwise than the official one. Nothing is concluded
 * from its name: each fact is learned from an answer, once per service, and chooses the
 * behaviour from then on. The table has a sentence about each fact for the documents.
 * Reading: any thread. Learning: the loop's. */
#ifndef CLIENT_MANNERS_H
#define CLIENT_MANNERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"

typedef enum tk_manner {
    TK_MANNER_JSON_REQUESTS,
    TK_MANNER_JSON_RESULTS,
    TK_MANNER_COUNT
} tk_manner;

/* A fact that may be true of a server. */
typedef struct tk_manner_fact {
    const char *name;    /* short, lower case */
    const char *meaning; /* what such a server does */
    const char *learned; /* the answer that shows it */
    const char *then;    /* what the client does */
} tk_manner_fact;

const tk_manner_fact *tk_manner_fact_of(tk_manner manner);

typedef enum tk_known { TK_KNOWN_NOT_YET, TK_KNOWN_NO, TK_KNOWN_YES } tk_known;

/* Zeroed: nothing is known. */
typedef struct tk_manners {
    atomic_int known[TK_MANNER_COUNT]; /* tk_known */
} tk_manners;

tk_known tk_manners_get(const tk_manners *self, tk_manner manner);

/* Remembers what an answer showed. The first answer counts; a yes is logged. */
void tk_manners_learn(tk_manners *self, tk_log *log, tk_manner manner, bool is_so);

#endif
