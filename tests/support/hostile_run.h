/* Runs a public operation of the client against a server of which one answer is hostile,
 * on a fake clock, and judges it: it ends, does not hurry the server, stays within its
 * memory, leaves nothing allocated, and gives a result or an error with a text.
 *
 * A case is an operation, the request whose answer is hostile, the recorded answer and the
 * number of the change. Thread: one at a time. */
#ifndef SUPPORT_HOSTILE_RUN_H
#define SUPPORT_HOSTILE_RUN_H

#include "support/hostile_op.h"
#include "support/hostile_seeds.h"

#define HOSTILE_OPS 64

/* What must hold. */
#define HOSTILE_PEAK_BYTES (64 * TK_MIB)
#define HOSTILE_PER_S      10       /* requests of one kind in a second */
#define HOSTILE_GAP_MS     1000     /* between two of the background */
#define HOSTILE_TOTAL_MS   1000000  /* retries (300 s) with their last attempt */
#define HOSTILE_BILLING_MS 3700000  /* the pause after a 402, in addition */
#define HOSTILE_HINTS_MS   21600000 /* six hints of an hour, in addition */

typedef struct hostile_case {
    const hostile_op *op;
    size_t key;
    const hostile_source *source;
    size_t change;
} hostile_case;

typedef struct hostile_verdict {
    char what[112]; /* the change */
    tinkc_code code;
    int64_t elapsed_ms;
    size_t sent, most_per_s, peak_bytes;
    newer_change newer; /* NEWER_CHANGES: not of that class */
    char error[192];    /* its text */
    char finding[256];  /* "": none */
} hostile_verdict;

typedef struct hostile_plan {
    hostile_seeds seeds;
    bool asks[HOSTILE_OPS][HOSTILE_KEYS]; /* which operation asks what */
} hostile_plan;

/* Loads the recordings and finds out with honest answers what each operation asks for.
 * Ends the program when an operation fails on them. */
void hostile_plan_make(hostile_plan *plan, const char *directory);
void hostile_plan_dispose(hostile_plan *plan);

/* Cases of a key; `is_general` picks the errors that may answer anything. */
size_t hostile_plan_count(const hostile_plan *plan, size_t key, bool is_general);
void hostile_plan_at(hostile_case *out, const hostile_plan *plan, size_t key,
                     bool is_general, size_t index);

/* A selection of the cases: `answers` of them, spread over everything that is asked. */
typedef struct hostile_walk {
    size_t answers;
    uint64_t seed;
    void (*fn)(void *user, const hostile_case *it);
    void *user;
} hostile_walk;

void hostile_plan_walk(const hostile_plan *plan, const hostile_walk *walk);

/* Every answer that a newer server could send, to each operation that gets it (errors that
 * may answer anything: to one of them); of these each `stride`-th. */
void hostile_plan_walk_newer(const hostile_plan *plan, size_t stride,
                             void (*fn)(void *user, const hostile_case *it), void *user);

/* "key:operation:recording:change" and back; false when there is no such case. */
void hostile_case_name(char *out, size_t size, const hostile_case *it);
bool hostile_case_parse(hostile_case *out, const hostile_plan *plan, const char *text);

/* Notes what the operation asks an honest server for; ends the program when it fails. */
void hostile_ask(bool *asked, const hostile_op *op);

/* What an honest server answers. Static. */
const hostile_answer *hostile_honest(size_t key);

void hostile_run(hostile_verdict *out, const hostile_case *it);

/* Does what hostile_run does and tells what the program saw: the result or the error, and
 * how often each request was sent. */
void hostile_run_seen(hostile_verdict *out, hostile_seen *seen, const hostile_case *it);

/* Compares what a program saw of a newer server's answer with what it sees of the recorded
 * one. */
void hostile_judge_newer(hostile_verdict *out, const hostile_case *it,
                         const hostile_seen *seen);

/* ---- for hostile_live.c ---- */

void hostile_inputs(hostile_world *world); /* prompt and datum */
void hostile_clean_up(hostile_world *world);
/* Writes the finding, unless there is one already. */
void hostile_find(hostile_verdict *out, const char *format, ...) TK_PRINTF(2, 3);
/* Whether out->code and the error fit each other. */
void hostile_judge_error(hostile_verdict *out, const tinkc_error *err);

#endif
