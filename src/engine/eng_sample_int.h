/* Inside the sampler: requests, their samples, and the three parts of a step: plan (which
 * samples compute which tokens, with pages for them), run (forward, logits, draws), and
 * what a drawn token means for its sample. For eng_sampler.c and eng_sample_*.c. */
#ifndef ENGINE_ENG_SAMPLE_INT_H
#define ENGINE_ENG_SAMPLE_INT_H

#include "base/rand.h"
#include "engine/eng_draw.h"
#include "engine/eng_pages.h"
#include "engine/eng_rng.h"
#include "engine/eng_sampler.h"
#include "engine/eng_stops.h"

typedef struct eng_sample { /* one continuation of a prompt */
    eng_rng rng;
    int32_t *tokens; /* drawn so far */
    float *logprobs;
    int32_t *top_ids; /* [capacity][job->topk_sampled], or NULL */
    float *top_logprobs;
    size_t n, capacity;
    size_t done;      /* positions whose keys and values are in pages */
    eng_page **pages; /* each held once */
    size_t n_pages, pages_capacity;
    size_t published;     /* of pages, from the front */
    eng_stops_state text; /* how much of a stop string its end may be */
    bool finished, stopped;
} eng_sample;

/* What is computed for the positions of a prompt; each array is NULL unless asked for. */
typedef struct eng_sample_scores {
    size_t first; /* position that is scored; the later ones are too. n_prompt: none
                           * is */
    size_t first_logprob; /* position, of the next four */
    float *prompt_logprobs;
    int32_t *topk_ids;
    float *topk_logprobs;
    size_t topk;
    int32_t *targets;
    size_t *target_starts;
    float *target_logprobs;
    int32_t *alt_tokens;
    float *alt_logprobs;
    size_t alt;
    uint64_t alt_seed;
} eng_sample_scores;

typedef struct eng_sample_job { /* an accepted request */
    tk_list node;
    uint64_t id;
    eng_adapter *adapter; /* retained, or NULL */
    uint64_t weights;     /* what pages are published under */
    eng_draw_options options;
    int32_t *prompt;
    size_t n_prompt;
    size_t limit; /* tokens per sample */
    eng_stop_mode stop_mode;
    int32_t *stop_tokens; /* sorted */
    size_t n_stop_tokens;
    eng_stops stops; /* the stop strings */
    eng_sample_scores scores;
    size_t topk_sampled;
    size_t hit_tokens;
    bool started; /* hit_tokens is set */
    bool forked;  /* the prompt is computed: all samples exist, not only the first */
    eng_sample *samples;
    size_t n_samples, n_finished;
    eng_sample_listener listener;
    bool cancelled;
    tk_err err; /* set: the request has failed */
} eng_sample_job;

/* What one sample computes in this step. */
typedef struct eng_sample_item {
    eng_sample_job *job;
    size_t index; /* of its sample */
    size_t n;     /* tokens, from sample->done on */
    size_t order; /* in which they were planned */
} eng_sample_item;

struct eng_sampler {
    eng_model *model;
    eng_sampler_config config;
    eng_pages pages;
    tk_list jobs; /* oldest first */
    uint64_t next_id;
    tk_rand rand; /* seeds of requests without one */
    eng_sample_item *items;
    size_t n_items;
    bool stepping; /* jobs are not freed now */
};

static inline bool eng_sample_job_over(const eng_sample_job *job)
{
    return job->cancelled || job->err.code != TINKC_OK;
}

static inline int32_t eng_sample_token_at(const eng_sample_job *job, const eng_sample *s,
                                          size_t pos)
{
    return pos < job->n_prompt ? job->prompt[pos] : s->tokens[pos - job->n_prompt];
}

static inline size_t eng_sample_length(const eng_sample_job *job, const eng_sample *s)
{
    return job->n_prompt + s->n;
}

/* Samples that exist by now. */
static inline size_t eng_sample_count(const eng_sample_job *job)
{
    return job->forked ? job->n_samples : 1;
}

/* ---- eng_sample_job.c ---- */

/* A checked copy of the request; *out is not in the list yet. */
TK_NODISCARD tinkc_code eng_sample_job_new(eng_sample_job **out, eng_sampler *sampler,
                                           const eng_sample_request *request,
                                           tk_err *err);
void eng_sample_job_free(eng_sampler *sampler, eng_sample_job *job); /* unlinks */

int eng_sample_by_id(const void *a, const void *b); /* order of token ids */

/* ---- eng_sample_score.c ---- */

/* Copies what the request asks for; false when out of memory: then dispose. */
TK_NODISCARD bool eng_sample_score_init(eng_sample_scores *out,
                                        const eng_sample_request *request, uint64_t seed);
void eng_sample_score_dispose(eng_sample_scores *scores);

/* Scratch that eng_sample_score_row needs after the room of a row. */
size_t eng_sample_score_bytes(const eng_sample_scores *scores);

/* Computes everything that is wanted at position `pos` of the job's prompt from the logits
 * before it. False: they are NaN or infinite. Thread: any, one per row. */
TK_NODISCARD bool eng_sample_score_row(const eng_sample_job *job, size_t pos,
                                       const eng_real *logits, size_t n, void *scratch);

/* Writes the k likeliest tokens of a row, and gaps for those that it does not have. Uses
 * the order of the room. */
void eng_sample_score_top(int32_t *ids, float *logprobs, size_t k, const eng_draw *draw);

/* ---- eng_sample_plan.c ---- */

/* Fills items. A request that cannot get memory even alone fails. */
void eng_sample_plan(eng_sampler *sampler);

/* ---- eng_sample_prefix.c ---- */

/* Takes over the page; false when out of memory. */
TK_NODISCARD bool eng_sample_add_page(eng_sample *sample, eng_page *page);

/* Gives a sample without pages what is published of its tokens. */
void eng_sample_find_prefix(eng_sampler *sampler, eng_sample_job *job,
                            eng_sample *sample);

/* Publishes the pages that are full now. */
void eng_sample_publish(eng_sampler *sampler, const eng_sample_job *job,
                        eng_sample *sample);

/* Releases all pages, and publishes the last one if nothing else holds it. */
void eng_sample_drop_pages(eng_sampler *sampler, const eng_sample_job *job,
                           eng_sample *sample);

/* ---- eng_sample_run.c ---- */

/* Computes the items and hands their tokens to their samples. */
void eng_sample_run(eng_sampler *sampler);

/* ---- eng_sample_token.c ---- */

/* The prompt is computed: the other samples start from the first one's pages. */
TK_NODISCARD tinkc_code eng_sample_fork(eng_sampler *sampler, eng_sample_job *job,
                                        tk_err *err);

/* Makes room for the next token of a sample. */
TK_NODISCARD tinkc_code eng_sample_reserve(const eng_sample_job *job, eng_sample *sample,
                                           tk_err *err);

/* Appends a token, for which there is room, and ends the sample if it is the last one. */
void eng_sample_push(eng_sampler *sampler, eng_sample_job *job, size_t index,
                     int32_t token, float logprob);

#endif
