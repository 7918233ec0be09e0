/* Answers of a student, scored by a teacher: what `tinkc distill` trains on and measures.
 * The student samples answers to prompts, and the teacher says how likely it finds each token
 * of them. Thread: the main one. */
#ifndef CLI_DISTILL_ROLL_H
#define CLI_DISTILL_ROLL_H

#include <tinkc/sampling.h>

#include "cli/train/train_run.h"

/* What is asked. Everything is borrowed. */
typedef struct distill_ask {
    tinkc_sampling *student, *teacher;
    const data_set *set;
    const size_t *rows;           /* of the set; NULL: the first n */
    size_t n;                     /* prompts */
    size_t samples;               /* answers to each */
    tinkc_sampling_params params; /* without a seed: */
    uint64_t seed, task;          /* tinkc_rl_seed of prompt i has the task `task` + i */
    double coefficient;           /* of the advantages */
    tinkc_datum **data; /* room for n * samples, made here; NULL: only measured */
} distill_ask;

/* Sums over all tokens of all answers; s is the log-probability that the student gives to a
 * token, t that of the teacher. */
typedef struct distill_sums {
    size_t answers, tokens;
    size_t ended;          /* answers that end by themselves */
    size_t inputs;         /* input tokens of the datums */
    size_t data;           /* datums; an answer without a token has none */
    double kl, k3;         /* s - t; exp(t - s) - 1 - (t - s) */
    double entropy, cross; /* -s; -t */
} distill_sums;

/* Asks student and teacher. On failure there are no datums; the reason is run->error or
 * run->err. */
TK_NODISCARD tinkc_code distill_roll(distill_sums *out, train_run *run,
                                     const distill_ask *ask);

/* Puts loss (KL per token) and the other numbers into a record. */
void distill_roll_record(train_record *record, const distill_sums *sums);

#endif
