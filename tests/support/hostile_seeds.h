/* The recorded answers (tests/data/wire) as seeds of hostile ones, each with the requests
 * that it answers. Which those are follows from the tables of src/wire and src/client: a
 * new recording needs no line here. Thread: one at a time. */
#ifndef SUPPORT_HOSTILE_SEEDS_H
#define SUPPORT_HOSTILE_SEEDS_H

#include "support/hostile_net.h"

typedef struct hostile_source {
    char name[96]; /* "0.36.0/OptimStepResponse#2" */
    hostile_seed seed;
    bool is_general;         /* an error, which may answer anything */
    bool keys[HOSTILE_KEYS]; /* what it answers */
    size_t changes;          /* hostile_mutate_count */
} hostile_source;

typedef struct hostile_seeds {
    tk_arena arena;
    hostile_source *items;
    size_t n, capacity;
    char unused[512]; /* recorded types that no request of the client asks for */
} hostile_seeds;

/* Reads `directory`/<version>/responses of every recorded version. Ends the program when
 * a file cannot be read. */
void hostile_seeds_load(hostile_seeds *seeds, const char *directory);
void hostile_seeds_dispose(hostile_seeds *seeds);

#endif
