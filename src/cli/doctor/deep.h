/* `tinkc doctor --deep`: a conversation with a server about a small model that exists
 * only for it. Each check asks for one thing, compares what came back with what should
 * have come back, and leaves a row. The checks are functions over the public API, in
 * tables by subject (deep_model.c, deep_loss.c, deep_exact.c, deep_sample.c, deep_stop.c,
 * deep_rest.c); deep_work.c has the operations that they share, deep.c runs them in order
 * and removes what they made, deep_out.c shows the rows.
 *
 * Every wait has an end: the option --wait for all operations together, and half of it
 * for one. After Ctrl-C no check begins. Thread: the main one. */
#ifndef CLI_DEEP_H
#define CLI_DEEP_H

#include <tinkc/raw.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/tokenizer.h>
#include <tinkc/training.h>

#include "base/str.h"
#include "cli/doctor/deep_batch.h"
#include "cli/frame/cmd.h"

#define DEEP_ALL_S      600 /* for the whole conversation, unless --wait says else */
#define DEEP_ALL_MAX_S  86400
#define DEEP_ROWS_MAX   64
#define DEEP_MODELS_MAX 8
#define DEEP_PATHS_MAX  16
#define DEEP_TEXT_BYTES 512
#define DEEP_BEGIN      14 /* number of the text that samples begin with */
#define DEEP_NAME_BYTES 256

/* Differences of log-probabilities that are not defects. */
#define DEEP_SAME   1e-4 /* the same work on the same server */
#define DEEP_ALIKE  2e-3 /* the same work with sums in another order */
#define DEEP_NEAR   0.05 /* on average: trainer and sampler may compute differently */
#define DEEP_REDUCE 1e-3 /* of a loss, relative */

typedef enum deep_verdict {
    DEEP_OK,
    DEEP_OFF,         /* done, and the result is wrong */
    DEEP_NOT_OFFERED, /* the server does not have it: not wrong */
    DEEP_FAILED,      /* the server should have done it and did not */
    DEEP_NOT_TRIED    /* something that it needs is missing */
} deep_verdict;

typedef struct deep deep;

typedef struct deep_check {
    const char *name;            /* NULL ends a table */
    const char *asked;           /* these two: a few words */
    const char *expected;        /* also what `seen` says of a check that is ok */
    const char *good, *bad;      /* sentences for ok and off */
    deep_verdict (*run)(deep *); /* fills d->seen and, where it knows better, d->why */
} deep_check;

typedef struct deep_row {
    const deep_check *check;
    deep_verdict verdict;
    double ms;
    char seen[DEEP_TEXT_BYTES];
    char why[DEEP_TEXT_BYTES]; /* one sentence */
} deep_row;

struct deep {
    const cmd_args *args;
    const tinkc_config *config; /* borrowed */
    tinkc_service *service;     /* borrowed */
    const char *base_model;
    tinkc_tokenizer *tokenizer; /* or NULL: not found */
    int64_t end_ms, wait_ms; /* of the conversation; the longest wait for one operation */
    bool is_cleaning;        /* Ctrl-C no longer counts */

    /* of the check that runs */
    char seen[DEEP_TEXT_BYTES], why[DEEP_TEXT_BYTES];
    tinkc_error *error; /* of the last operation that failed, or NULL */
    bool is_late;       /* that operation did not end in time */

    /* what exists at the server */
    tinkc_training *models[DEEP_MODELS_MAX]; /* owned; NULL: a free place */
    char *paths[DEEP_PATHS_MAX];             /* checkpoints, owned; NULL: a free place */
    size_t saves;                            /* so far, for their names */
    tinkc_service *again;                    /* the second connection, or NULL */

    /* what later checks need */
    tinkc_training *model; /* one of `models`, after four steps; NULL: there is none */
    deep_batch first, batch;
    deep_values first_after; /* of `first`, after one step of a new model */
    deep_values at_state, after_one,
        after_two;            /* of `batch`, in steps after `state`; once
                                                   it was loaded, after_one is of that */
    const char *state;        /* one of `paths`, or NULL */
    const char *sampler_path; /* the same */
    tinkc_sampling *sampler;  /* of the four steps */
    int32_t greedy[DEEP_VALUES_MAX];
    size_t greedy_n; /* 0: there was no such sample */
    bool can_stop;   /* at a token */

    deep_row rows[DEEP_ROWS_MAX];
    size_t rows_n;
    size_t trained, sampled; /* tokens */
    double seconds;
};

extern const deep_check deep_model_checks[], deep_loss_checks[], deep_exact_checks[],
    deep_sample_checks[], deep_stop_checks[], deep_rest_checks[];

/* Has the conversation and shows the rows. Returns CMD_OK when no verdict is "off" or
 * "failed", CMD_FAILED, or CMD_INTERRUPTED. `service` was made from `config`. */
int deep_run(const cmd_args *args, const tinkc_config *config, tinkc_service *service,
             const char *base_model);

/* Shows the rows (deep_out.c). Returns CMD_OK or CMD_FAILED after an error line. */
int deep_show(const deep *d);

/* ---- for the checks ---- */

/* Sets what was seen and returns the verdict. */
deep_verdict deep_note(deep *d, deep_verdict verdict, const char *format, ...)
    TINKC_PRINTF(3, 4);

/* Returns DEEP_NOT_TRIED, with the reason: "there is no model". */
deep_verdict deep_skip(deep *d, const char *reason);

/* Returns the verdict on the operation that failed last: DEEP_NOT_OFFERED when the server
 * does not have its route, else DEEP_FAILED. deep_refused also counts a refusal of the
 * request (400, 422, or work that failed because of it) as not offered: for options that
 * servers may leave out. */
deep_verdict deep_failed(deep *d);
deep_verdict deep_refused(deep *d);

/* Waits for an operation. Returns false when it failed, did not end in time (it is
 * cancelled then) or was interrupted, with the reason in *d and *future freed. An
 * operation that makes something at the server (`makes`) is not interrupted: what it made
 * could not be removed. */
bool deep_wait(deep *d, tinkc_future **future, bool makes);

/* Wait for an operation without a result that matters, and for one whose result is a
 * text, which the caller frees. The future is freed in any case. */
bool deep_done(deep *d, tinkc_future *future);
bool deep_text(deep *d, tinkc_future *future, char **out);

/* Creates a model of the conversation's rank and, unless `state` is NULL, loads that
 * checkpoint with its optimizer as its first operation. The caller does not own *out:
 * deep_drop unloads it, and so does the end of the conversation. */
bool deep_create(deep *d, tinkc_service *service, const char *state,
                 tinkc_training **out);
bool deep_create_lora(deep *d, tinkc_service *service, const tinkc_lora_config *lora,
                      tinkc_training **out);
tinkc_lora_config deep_lora(void); /* the conversation's */
bool deep_drop(deep *d, tinkc_training **model);

/* Saves a state, or weights for sampling. The caller does not own *out: the end of the
 * conversation deletes it. */
bool deep_save(deep *d, tinkc_training *model, bool for_sampling, const char **out);

/* Keeps a path so that it is deleted at the end; returns the copy, NULL when there is no
 * room or no memory. */
const char *deep_keep(deep *d, const char *path);

/* A pass over datums [first, first + n) of a batch. */
typedef struct deep_call {
    tinkc_training *model;
    const deep_batch *batch;
    size_t first, n;
    const char *loss;                    /* NULL: forward only, with cross_entropy */
    const tinkc_fwdbwd_options *options; /* or NULL */
} deep_call;

typedef struct deep_pass {
    deep_values lp;
    bool has_loss;
    double loss;   /* as the server sent it */
    char name[48]; /* of that metric */
} deep_pass;

bool deep_forward(deep *d, tinkc_training *model, const deep_batch *batch,
                  deep_pass *out);
bool deep_backward(deep *d, const deep_call *call, deep_pass *out);

/* Reads a result: log-probabilities in the order of the datums, and the loss. Returns
 * false, with d->why, when the values are not one per token. */
bool deep_read_pass(deep *d, const tinkc_fwdbwd *result, const deep_call *call,
                    deep_pass *out);

/* One step of Adam with the accumulated gradients, with the values of deep_adam. */
bool deep_step(deep *d, tinkc_training *model);
extern const tinkc_adam_params deep_adam;

/* Samples, and computes log-probabilities of a prompt; the caller frees *out. `options`
 * may be NULL. */
bool deep_sample(deep *d, tinkc_sampling *sampler, const tinkc_sampling_params *params,
                 tinkc_samples **out);
bool deep_sample_with(deep *d, const tinkc_sampling_params *params,
                      const tinkc_sample_options *options, tinkc_samples **out);
bool deep_logprobs(deep *d, const int32_t *tokens, size_t n, tinkc_logprobs **out);

/* ---- texts (deep_text.c); a build without tokenizers finds none of it ---- */

/* Finds the tokenizer that --tokenizer names, or that of the model; without one some
 * checks are not tried. */
void deep_text_open(deep *d);
void deep_text_close(deep *d);

/* Finds a token of the sample whose text occurs nowhere before it. The caller frees *out,
 * its text; *wanted is the number of tokens up to and with it. */
bool deep_text_find(deep *d, char **out, size_t *wanted);

/* Returns the token that ends a text; -1 when it is not known. */
int32_t deep_text_end(const deep *d);

#endif
