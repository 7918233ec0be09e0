/* Asks a model the questions of a set and scores its answers. Thread: the main one. */
#ifndef CLI_EVAL_ASK_H
#define CLI_EVAL_ASK_H

#include "cli/data/data_set.h"
#include "cli/eval/eval_match.h"
#include "cli/frame/cmd_model.h"

typedef struct eval_asking {
    const data_set *set; /* prompts with answers */
    int64_t samples;     /* answers to each */
    uint64_t seed;
    eval_match match;
} eval_asking;

/* What one model answered. */
typedef struct eval_answers {
    double *scores; /* owned: of each question, the share of right answers */
    tk_str *wrong;  /* owned: the first wrong answer to each; {NULL, 0}: all are right */
    tk_arena arena; /* of these texts */
} eval_answers;

/* Asks everything, with progress on a terminal. Question i has the seed `seed + i`, so that
 * two models get the same. The caller disposes of *out, also after a failure. Returns CMD_OK,
 * or another exit code after an error line. */
int eval_ask(eval_answers *out, cmd_model *model, const eval_asking *asking);
void eval_answers_dispose(eval_answers *answers);

#endif
