/* The honest client and its saves (fz_honest.c, fz_saves.c). Functions that return a bool
 * return false when the life of the server ended; what must hold and does not is
 * reported. */
#ifndef FZ_HONEST_H
#define FZ_HONEST_H

#include "fz.h"

#define FZ_SAVES_MAX 400

typedef struct fz_saved {
    char run[FZ_ID_BYTES];
    char name[40];
    bool is_sampler;
    int rank, steps;
    int is_public; /* -1 = the answer was lost */
    bool is_deleted, may_be_deleted;
} fz_saved;

typedef struct fz_honest {
    fz_client client;
    char session[FZ_ID_BYTES];
    char model[FZ_ID_BYTES];
    bool has_model;
    int rank;  /* index */
    int steps; /* that the model took */
    int64_t seq, model_seq, sampler_seq;
    fz_saved saves[FZ_SAVES_MAX]; /* answered, in all lives */
    size_t n_saves;
    unsigned names;
} fz_honest;

fz_honest *fz_honest_new(fz_world *world, int number);
void fz_honest_free(fz_honest *honest);

void fz_honest_run(void *honest); /* until the round is over */

/* Every save that was answered, after the last restart. */
void fz_honest_check(fz_honest *honest);

/* Submits and polls to the end. */
bool fz_honest_work(fz_honest *honest, const char *route, const char *body, bool proto,
                    fz_answer *out);
fz_way fz_honest_way(fz_honest *honest);

/* ---- saves ---- */

bool fz_saves_save(fz_honest *honest, bool is_sampler);
const fz_saved *fz_saves_pick(fz_honest *honest); /* one that must be there, or NULL */

/* Publishes, unpublishes, limits in time, downloads or deletes one. */
bool fz_saves_change(fz_honest *honest);

/* Compares the lists of all runs with what was answered. */
bool fz_saves_list(fz_honest *honest);

#endif
