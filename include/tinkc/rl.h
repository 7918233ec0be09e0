/* Reinforcement learning: the arithmetic between rollouts and training steps, in parts
 * that can be used one by one.
 *
 * Everything here is a computation: nothing uses the network, the clock or a random
 * source, and the same arguments give the same result on every machine with IEEE
 * arithmetic. `tinkc rl` is made of these functions, and so is examples/03_rl.c.
 * docs/guide/rl.md explains how they work together.
 *
 * Ownership: arguments are borrowed for the duration of a call, except the trajectory of
 * tinkc_rl_batch_add. Outputs are written only on success. Errors: every function that
 * returns a code returns TINKC_E_INVALID when a required pointer is NULL, and for an
 * options struct without its size. Thread: any; a tinkc_rl_batch one at a time. */
#ifndef TINKC_RL_H
#define TINKC_RL_H

#include <tinkc/params.h>
#include <tinkc/training.h>
#include <tinkc/trajectory.h>

TINKC_BEGIN_DECLS

/* ---- seeds ---- */

/* Returns the seed of a sample, from the seed of the run, the number of the task, the
 * number of the episode of that task, and the number of the turn in that episode: a run
 * that is repeated or resumed asks for the same samples, in whatever order episodes
 * finish. With h = 0, then for each of the four in this order
 *
 *     h += value + 0x9e3779b97f4a7c15
 *     h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9
 *     h = (h ^ h >> 27) * 0x94d049bb133111eb
 *     h ^= h >> 31
 *
 * in 64 bits, the seed is h >> 34: below 2^30, which every server takes, also for sample i
 * of several (seed + i). This will not change. */
TINKC_API uint64_t tinkc_rl_seed(uint64_t run, uint64_t task, uint64_t episode,
                                 uint64_t turn);

/* ---- advantages of a group ---- */

/* What the reward of an episode is compared with. */
typedef enum tinkc_rl_baseline {
    TINKC_RL_BASELINE_MEAN = 0,  /* the mean of its group */
    TINKC_RL_BASELINE_OTHERS = 1 /* the mean of the other episodes of its group */
} tinkc_rl_baseline;

/* How advantages are computed. Start from TINKC_RL_ADVANTAGE_OPTIONS_INIT. */
typedef struct tinkc_rl_advantage_options {
    size_t size;
    tinkc_rl_baseline baseline;
    bool scale; /* divide by the standard deviation of the group, sqrt(mean of squares) */
} tinkc_rl_advantage_options;

#define TINKC_RL_ADVANTAGE_OPTIONS_INIT                                                  \
    {                                                                                    \
        sizeof(tinkc_rl_advantage_options), TINKC_RL_BASELINE_MEAN, false                \
    }

/* Sets *options to TINKC_RL_ADVANTAGE_OPTIONS_INIT. */
TINKC_API void tinkc_rl_advantage_options_init(tinkc_rl_advantage_options *options);

/* Computes the advantages of a group: out[i] = rewards[i] - baseline, scaled when the
 * options say so (NULL: TINKC_RL_ADVANTAGE_OPTIONS_INIT). *differ (unless NULL) tells
 * whether the rewards differ; when they do not, by more than 1e-9 of the largest, every
 * advantage is 0, and there is nothing to learn from the group. `out` may be `rewards`.
 * TINKC_E_INVALID, naming the index: a reward that is NaN, infinite or beyond the range of
 * a float; `n` is 0; a baseline that is none of the above. */
TINKC_API tinkc_code tinkc_rl_advantages(double *out, bool *differ, const double *rewards,
                                         size_t n,
                                         const tinkc_rl_advantage_options *options,
                                         tinkc_error **err);

/* ---- episodes of a step ---- */

/* Collects the episodes of a step and makes its datums. */
typedef struct tinkc_rl_batch tinkc_rl_batch;

/* Start from TINKC_RL_BATCH_OPTIONS_INIT. */
typedef struct tinkc_rl_batch_options {
    size_t size;
    size_t group_size;   /* episodes of each task, 1 or more */
    size_t max_episodes; /* more are refused */
    size_t max_tokens;   /* of all trajectories; more are refused */
    int64_t max_lag; /* episodes of weights more versions older are not trained on; -1:
                            all are */
    const tinkc_rl_advantage_options *advantages; /* NULL: the defaults; copied */
    bool repeat_shared;                           /* as in tinkc_trajectory_options */
} tinkc_rl_batch_options;

#define TINKC_RL_BATCH_OPTIONS_INIT                                                      \
    {                                                                                    \
        sizeof(tinkc_rl_batch_options), 8, 65536, 268435456, -1, NULL, false             \
    }

/* Sets *options to TINKC_RL_BATCH_OPTIONS_INIT. */
TINKC_API void tinkc_rl_batch_options_init(tinkc_rl_batch_options *options);

/* Creates an empty batch. `options` NULL: TINKC_RL_BATCH_OPTIONS_INIT. The caller frees
 * *out. TINKC_E_INVALID for a group_size of 0, a max_lag below -1 or a baseline that does
 * not exist; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_rl_batch_new(
    tinkc_rl_batch **out, const tinkc_rl_batch_options *options, tinkc_error **err);

/* Frees the batch with its trajectories and sets *batch to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_rl_batch_free(tinkc_rl_batch **batch);

/* One episode. Start from TINKC_RL_EPISODE_INIT. */
typedef struct tinkc_rl_episode {
    size_t size;
    uint64_t task;   /* its number; datums are in the order of tasks, then of indexes */
    uint64_t index;  /* among the episodes of its task, below group_size */
    int64_t version; /* of the weights it was sampled from, the oldest of several */
    double reward;
    bool failed; /* it has no reward and is not trained on; it counts for its group */
} tinkc_rl_episode;

#define TINKC_RL_EPISODE_INIT                                                            \
    {                                                                                    \
        sizeof(tinkc_rl_episode), 0, 0, 0, 0.0, false                                    \
    }

/* Sets *episode to TINKC_RL_EPISODE_INIT. */
TINKC_API void tinkc_rl_episode_init(tinkc_rl_episode *episode);

/* Adds an episode, in any order. On success the batch takes the trajectory over and
 * *trajectory is set to NULL; on failure the caller keeps it. `trajectory` may be NULL, or
 * a pointer to NULL, when the episode failed. TINKC_E_INVALID: no trajectory, an index of
 * group_size or more, a reward as tinkc_rl_advantages refuses it; TINKC_E_STATE: the batch
 * has this episode; TINKC_E_LIMIT: max_episodes or max_tokens; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_rl_batch_add(tinkc_rl_batch *batch,
                                        const tinkc_rl_episode *episode,
                                        tinkc_trajectory **trajectory, tinkc_error **err);

/* Returns the number of groups of which all episodes were added; 0 for NULL. */
TINKC_API size_t tinkc_rl_batch_complete(const tinkc_rl_batch *batch);

/* What a batch was made of. Start from TINKC_RL_COUNTS_INIT. */
typedef struct tinkc_rl_counts {
    size_t size;
    size_t episodes; /* of complete groups; all numbers are about those */
    size_t failed;
    size_t stale; /* too old to be trained on; not those that failed */
    size_t groups;
    size_t groups_kept;    /* those with datums */
    size_t groups_equal;   /* skipped: all rewards are the same */
    size_t groups_small;   /* skipped: fewer than 2 episodes without failed and stale */
    size_t datums;         /* made of the groups that were kept */
    size_t tokens;         /* of all sequences, prompts too */
    size_t tokens_sampled; /* by the model */
    size_t tokens_trained; /* of those, the ones in datums */
    size_t turns;
    size_t turns_max;  /* of an episode */
    size_t length_max; /* sampled tokens of an episode */
    double reward_mean, reward_std, reward_min, reward_max; /* of episodes that did not
                                                               fail; NaN: there is none */
} tinkc_rl_counts;

#define TINKC_RL_COUNTS_INIT                                                             \
    {                                                                                    \
        sizeof(tinkc_rl_counts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0,     \
            0.0, 0.0                                                                     \
    }

/* Sets *counts to TINKC_RL_COUNTS_INIT. */
TINKC_API void tinkc_rl_counts_init(tinkc_rl_counts *counts);

/* The datums of a step. The caller owns them (tinkc_rl_datums_free). */
typedef struct tinkc_rl_datums {
    tinkc_datum **items;
    size_t n; /* may be 0: nothing to learn from */
} tinkc_rl_datums;

/* Frees the datums and sets *datums to none. Accepts NULL. */
TINKC_API void tinkc_rl_datums_free(tinkc_rl_datums *datums);

/* Makes the datums of all complete groups, ordered by task and episode, whatever was added
 * first, as tinkc_trajectory_datums does with the episode's advantage for each of its
 * sequences. An episode is stale when it is more than max_lag versions older than
 * `version`, the one that is trained; it counts as a failed one. Groups in which rewards
 * do not differ are skipped. Then these groups leave the batch, which takes others;
 * incomplete groups stay. *counts (unless NULL; its size must be set) tells what happened.
 * On failure the batch is as it was. TINKC_E_INVALID, naming task and episode: a
 * log-probability is not known, or an advantage is beyond the range of a float;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_rl_batch_take(tinkc_rl_datums *out,
                                                         tinkc_rl_counts *counts,
                                                         tinkc_rl_batch *batch,
                                                         int64_t version,
                                                         tinkc_error **err);

/* ---- sampler against trainer ---- */

/* How far the sampler, whose log-probabilities s are in the datums, is from the trainer,
 * whose log-probabilities t are in the result, over the tokens that were sampled. Start
 * from TINKC_RL_GAP_INIT. */
typedef struct tinkc_rl_gap {
    size_t size;
    double clip_low, clip_high; /* in: bounds of the ratio exp(t - s), as in "ppo" */
    size_t tokens;              /* 0: none was sampled, and all below is 0 */
    double kl;                  /* mean of s - t: estimates KL(sampler || trainer) */
    double k3; /* mean of exp(t - s) - 1 - (t - s): the same, never below 0 */
    double abs_mean, abs_max; /* of |t - s| */
    double entropy;           /* mean of -s: estimates the sampler's entropy */
    double clipped;           /* share of the tokens whose ratio is outside the bounds */
} tinkc_rl_gap;

#define TINKC_RL_GAP_INIT                                                                \
    {                                                                                    \
        sizeof(tinkc_rl_gap), 0.8, 1.2, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0                  \
    }

/* Sets *gap to TINKC_RL_GAP_INIT. */
TINKC_API void tinkc_rl_gap_init(tinkc_rl_gap *gap);

/* Computes the gap of a batch from its datums and the result of forward or
 * forward_backward; to see what the weights were sampled with, take the first result after
 * sampling. A token counts as sampled when its log-probability or its advantage in the
 * datum is not 0. TINKC_E_INVALID: `n` is not the number of datums of the result, a bound is NaN, a
 * log-probability is not finite (with the index of the datum); TINKC_E_MISSING: a datum is NULL or
 * without logprobs and advantages, or the result has no logprobs of that length. */
TINKC_API tinkc_code tinkc_rl_gap_compute(tinkc_rl_gap *out, const tinkc_fwdbwd *result,
                                          tinkc_datum *const *data, size_t n,
                                          tinkc_error **err);

/* ---- metrics of a step ---- */

/* A line of a metrics file. Parts that are NULL or NaN are left out. Start from
 * TINKC_RL_REPORT_INIT. */
typedef struct tinkc_rl_report {
    size_t size;
    int64_t step;
    const tinkc_rl_counts *counts;
    const tinkc_rl_gap *gap;
    double loss;              /* NAN: not known */
    double rate;              /* learning rate; NAN: not known */
    double seconds;           /* that the step took; NAN: not known */
    const tinkc_number *more; /* of the caller, after the others */
    size_t more_n;
} tinkc_rl_report;

/* Sets *report to a report with nothing in it but step 0. */
TINKC_API void tinkc_rl_report_init(tinkc_rl_report *report);

/* Writes the report as a JSON object on one line, without a newline:
 *
 *     step, loss, lr, seconds
 *     reward/mean, reward/std, reward/min, reward/max
 *     episodes, episodes/failed, episodes/stale
 *     groups, groups/kept, groups/equal, groups/small
 *     datums, tokens, tokens/sampled, tokens/trained
 *     turns/mean, turns/max, length/mean, length/max      (of an episode that did not fail)
 *     gap/kl, gap/k3, gap/abs, gap/max, gap/clipped, gap/tokens, entropy
 *
 * then what `more` has. step, loss, lr, seconds and tokens are named as in the metrics of
 * `tinkc train`. *n (unless NULL) is the length. The caller frees *out
 * (tinkc_text_free). TINKC_E_INVALID: a number of the caller without a name, or with one
 * that is not UTF-8; TINKC_E_LIMIT: more than 1 MiB; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_rl_report_json(char **out, size_t *n,
                                                          const tinkc_rl_report *report,
                                                          tinkc_error **err);

/* ---- preferences ---- */

/* Computes the log-probability of what each datum is to learn: out[i] = sum over its
 * tokens of weight * logprob (weight 1 without weights). out[0 .. n). Errors as
 * tinkc_rl_gap_compute, except that weights may be missing. */
TINKC_API tinkc_code tinkc_rl_sums(double *out, const tinkc_fwdbwd *result,
                                   tinkc_datum *const *data, size_t n, tinkc_error **err);

/* Pairs of answers for direct preference optimization (DPO). logprobs[2 * i] is that of the
 * preferred answer of pair i (tinkc_rl_sums), logprobs[2 * i + 1] that of the other one.
 * Start from TINKC_RL_DPO_PAIRS_INIT. */
typedef struct tinkc_rl_dpo_pairs {
    size_t size;
    double beta;
    const double *logprobs;  /* [2 * pairs] under the weights that are trained */
    const double *reference; /* [2 * pairs] the same under the start weights */
    size_t pairs;            /* 1 or more */
} tinkc_rl_dpo_pairs;

#define TINKC_RL_DPO_PAIRS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_rl_dpo_pairs), 0.1, NULL, NULL, 0                                   \
    }

/* Sets *pairs to TINKC_RL_DPO_PAIRS_INIT. */
TINKC_API void tinkc_rl_dpo_pairs_init(tinkc_rl_dpo_pairs *pairs);

/* Means over all pairs. An answer's reward is beta * (logprob - reference), the margin that
 * of the preferred answer minus that of the other. Start from TINKC_RL_DPO_RESULT_INIT. */
typedef struct tinkc_rl_dpo_result {
    size_t size;
    double loss;     /* -log sigmoid(margin) */
    double accuracy; /* share of the pairs with a margin above 0; 0 counts half */
    double margin;
    double chosen_reward, rejected_reward;
} tinkc_rl_dpo_result;

#define TINKC_RL_DPO_RESULT_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_rl_dpo_result), 0.0, 0.0, 0.0, 0.0, 0.0                             \
    }

/* Sets *result to TINKC_RL_DPO_RESULT_INIT. */
TINKC_API void tinkc_rl_dpo_result_init(tinkc_rl_dpo_result *result);

/* Computes the loss of pairs. slopes[0 .. 2 * pairs), unless NULL, become the derivatives
 * of the loss by each logprobs[i]. TINKC_E_INVALID: no pairs, a beta that is not above 0
 * and finite, a log-probability that is not finite (with its index). */
TINKC_API tinkc_code tinkc_rl_dpo(tinkc_rl_dpo_result *out, double *slopes,
                                  const tinkc_rl_dpo_pairs *pairs, tinkc_error **err);

/* What tinkc_rl_dpo_loss needs. Start from TINKC_RL_DPO_OPTIONS_INIT. */
typedef struct tinkc_rl_dpo_options {
    size_t size;
    double beta;
    const double *reference; /* [n], one for each datum: tinkc_rl_sums under the start
                                weights */
} tinkc_rl_dpo_options;

#define TINKC_RL_DPO_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_rl_dpo_options), 0.1, NULL                                          \
    }

/* Sets *options to TINKC_RL_DPO_OPTIONS_INIT. */
TINKC_API void tinkc_rl_dpo_options_init(tinkc_rl_dpo_options *options);

/* A tinkc_custom_loss_fn; `user` is a tinkc_rl_dpo_options. Items 2 * i and 2 * i + 1 are
 * the preferred and the other answer of pair i; their weights say which tokens count (all
 * do without weights). Metrics: accuracy, margin, chosen_reward, rejected_reward. Returns
 * 0 or a tinkc_code: TINKC_E_INVALID for an odd number of items, weights of another length
 * or type, and what tinkc_rl_dpo refuses; TINKC_E_NOMEM. */
TINKC_API int tinkc_rl_dpo_loss(double *loss, tinkc_metrics *metrics,
                                tinkc_custom_item *items, size_t n, void *user);

/* ---- distillation ---- */

/* Computes the advantages of on-policy distillation, token by token: out[i] =
 * coefficient * (teacher[i] - student[i]), so that their expectation is minus the
 * divergence KL(student || teacher). They become the input "advantages" of a datum
 * (tinkc_datum_set_f32) that the student sampled. `out` may be one of the others.
 * TINKC_E_INVALID, with the index: a number or the result is not finite. */
TINKC_API tinkc_code tinkc_rl_distill_advantages(float *out, const float *student,
                                                 const float *teacher, size_t n,
                                                 double coefficient, tinkc_error **err);

TINKC_END_DECLS

#endif
