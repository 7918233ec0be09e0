/* The public operations, as the hostile server meets them: how each is called, and a
 * reader that looks at every byte of its result. Thread: one at a time. */
#ifndef SUPPORT_HOSTILE_OP_H
#define SUPPORT_HOSTILE_OP_H

#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "client/core/service.h"

#define HOSTILE_VALUES 1024

/* What a program saw, one number for each value: two runs can be compared. */
typedef struct hostile_seen {
    uint64_t values[HOSTILE_VALUES]; /* the last one also stands for all after it */
    size_t n;
} hostile_seen;

/* What the operations work with. */
typedef struct hostile_world {
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_training *training;
    tinkc_model_input *prompt;
    tinkc_datum *datum;
    size_t calls; /* that the program made inside one operation */
    hostile_seen seen;
} hostile_world;

typedef enum hostile_need {
    HOSTILE_SERVICE,
    HOSTILE_SAMPLING,
    HOSTILE_TRAINING
} hostile_need;

typedef struct hostile_op {
    const char *name;
    hostile_need need;  /* which client has to exist */
    const char *config; /* what the server says in client/config; NULL: "{}" */
    /* One of the two: an operation with a future, or a call that blocks. */
    tinkc_future *(*start)(hostile_world *world);
    tinkc_code (*call)(hostile_world *world, tinkc_error **err);
    /* Takes the result and reads it; NULL: there is none. */
    tinkc_code (*read)(hostile_world *world, tinkc_future *future, tinkc_error **err);
    bool polls_twice; /* for results of two types */
} hostile_op;

size_t hostile_ops_n(void);
const hostile_op *hostile_op_at(size_t index);

/* ---- shared by the files of this header ---- */

extern const hostile_op hostile_rest_ops[];
extern const size_t hostile_rest_ops_n;

void hostile_see(hostile_world *world, const char *text); /* accepts NULL */
void hostile_see_int(hostile_world *world, int64_t value);
void hostile_see_num(hostile_world *world, double value);
void hostile_see_array(hostile_world *world, const void *p, size_t bytes);
void hostile_see_error(hostile_world *world, const tinkc_error *err); /* accepts NULL */
tinkc_code hostile_read_text(hostile_world *world, tinkc_future *future,
                             tinkc_error **err);

#endif
