/* An honest agent of the gateway (fz_agent.c). */
#ifndef FZ_AGENT_H
#define FZ_AGENT_H

#include "fz.h"

#define FZ_TURNS 400 /* of an agent in a round */

typedef struct fz_turn { /* that was answered */
    int64_t *ids;        /* owned: prompt and answer */
    size_t n_prompt, n;
} fz_turn;

typedef struct fz_agent {
    fz_client client;
    tk_buf messages; /* of the conversation, with commas */
    int seed;        /* makes every request another one */
    fz_turn turns[FZ_TURNS];
    size_t n_turns;
} fz_agent;

fz_agent *fz_agent_new(fz_world *world, int number);
void fz_agent_free(fz_agent *agent);

/* Talks until the round is over. */
void fz_agent_run(void *agent); /* a fz_agent */

/* Looks once more for everything that was answered. */
void fz_agent_check(fz_agent *agent);

#endif
