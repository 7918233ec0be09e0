/* The honest client and its saves (fz_honest.c, fz_model.c, fz_saves.c). Functions that return a bool
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
    bool is_deleted;
    bool is_unsure; /* deleted or overwritten, and the answer was lost */
} fz_saved;

typedef struct fz_honest {
    fz_client client;
    char session[FZ_ID_BYTES];
    char model[FZ_ID_BYTES];
    bool has_model;
    bool is_doubtful; /* in which order the parts of the last step ran */
    int rank;         /* index */
    int steps;        /* that the model took */
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

/* Asks until the answer is not 429. */
bool fz_honest_ask(fz_honest *honest, const httpget_request *request, fz_way way,
                   fz_answer *out);

/* The two halves of fz_honest_work; idem: X-Idempotency-Key, or NULL. */
bool fz_honest_submit(fz_honest *honest, const char *route, const char *body,
                      const char *idem, fz_answer *out);
bool fz_honest_retrieve(fz_honest *honest, const char *id, bool proto, fz_answer *out);

/* ---- its model ---- */

bool fz_model_create(fz_honest *honest);
bool fz_model_train(fz_honest *honest);
bool fz_model_forward(fz_honest *honest);
bool fz_model_unload(fz_honest *honest);

/* Requests that must be refused, or fail, and change nothing. */
bool fz_model_misbehave(fz_honest *honest);
bool fz_model_mislabel(fz_honest *honest);

/* Loads or samples a save: the results must be those of its state. */
bool fz_model_use(fz_honest *honest, const fz_saved *saved);

/* ---- its saves ---- */

bool fz_saves_save(fz_honest *honest, bool is_sampler);
bool fz_saves_overwrite(fz_honest *honest);       /* one of this run, if there is one */
const fz_saved *fz_saves_pick(fz_honest *honest); /* one that must be there, or NULL */

/* Publishes, unpublishes, limits in time, downloads or deletes one. */
bool fz_saves_change(fz_honest *honest);

/* Compares the lists of all runs with what was answered. */
bool fz_saves_list(fz_honest *honest);

#endif
