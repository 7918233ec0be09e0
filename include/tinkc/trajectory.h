/* Trajectories: what an agent did through the gateway (`tinkc gateway`, `tinkc serve`), as
 * sequences of exact tokens to train on.
 *
 * The gateway exports an episode as JSON (GET /tinkc/v1/episodes/ID, or a line of its JSONL
 * files). A sequence is a chain of turns in which each prompt extends the tokens before it:
 * all of them are one row of tokens, of which those that the model sampled count. Where the
 * history was rewritten, another sequence begins. No token was tokenized again.
 *
 * Ownership: tinkc_trajectory_parse copies what it reads; the caller frees *out. What other
 * functions return is borrowed until the trajectory is freed. Every function with an `err`
 * argument returns TINKC_E_INVALID when a required argument is NULL. Thread: a trajectory
 * is immutable, any number of threads may read it. Nothing here uses the network. */
#ifndef TINKC_TRAJECTORY_H
#define TINKC_TRAJECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_trajectory tinkc_trajectory;

/* Reads the JSON of one episode, json[0 .. n). The caller frees *out. TINKC_E_PARSE: not
 * JSON; TINKC_E_DECODE: not an episode, or its arrays do not fit each other;
 * TINKC_E_LIMIT; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_trajectory_parse(tinkc_trajectory **out,
                                                            const char *json, size_t n,
                                                            tinkc_error **err);

/* Frees the trajectory and sets *trajectory to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_trajectory_free(tinkc_trajectory **trajectory);

/* Returns the name of the episode; "" for NULL. */
TINKC_API const char *tinkc_trajectory_id(const tinkc_trajectory *trajectory);

/* Copies the reward of the episode to *out. Returns false, and writes nothing, when it has
 * none. */
TINKC_API bool tinkc_trajectory_reward(double *out, const tinkc_trajectory *trajectory);

/* Returns the metadata of the episode as JSON; NULL when it has none. */
TINKC_API const char *tinkc_trajectory_metadata(const tinkc_trajectory *trajectory);

/* Returns the number of sequences; 0 for NULL. */
TINKC_API size_t tinkc_trajectory_count(const tinkc_trajectory *trajectory);

/* A chain of turns as one row of tokens. Everything is borrowed. */
typedef struct tinkc_sequence {
    const int32_t *tokens; /* [n] */
    const int32_t *mask;   /* [n], 1 = sampled by the model */
    const float *logprobs; /* [n], 0 where mask is 0; NaN = not known */
    size_t n;              /* tokens */
    size_t fresh;          /* tokens before it are part of an earlier sequence, too */
    const int64_t *turns;  /* [n_turns], their numbers in the episode */
    const char *const *weights; /* [n_turns], what each was sampled from */
    size_t n_turns;
    bool has_reward;
    double reward; /* of its last turn that has one, else of the episode */
} tinkc_sequence;

/* Copies a sequence to *out. Returns false, and writes nothing, when `index` is past the
 * end or `trajectory` is NULL. */
TINKC_API bool tinkc_trajectory_sequence(tinkc_sequence *out,
                                         const tinkc_trajectory *trajectory,
                                         size_t index);

/* How to make datums. Start from TINKC_TRAJECTORY_OPTIONS_INIT. */
typedef struct tinkc_trajectory_options {
    size_t size;
    const double *advantages; /* of each sequence, tinkc_trajectory_count of them; NULL:
                                 the sequence's reward */
    bool
        repeat_shared; /* turns that several sequences share count in each of them; false:
                           in the first one */
} tinkc_trajectory_options;

#define TINKC_TRAJECTORY_OPTIONS_INIT                                                    \
    {                                                                                    \
        sizeof(tinkc_trajectory_options), NULL, false                                    \
    }

/* Sets *options to TINKC_TRAJECTORY_OPTIONS_INIT. */
TINKC_API void tinkc_trajectory_options_init(tinkc_trajectory_options *options);

/* Creates the datums of all sequences, for "importance_sampling", "ppo" and similar losses:
 * inputs, target_tokens, logprobs and advantages as in tinkc_datum_from_rollout, where
 * every token that was sampled counts and all others have 0. `out` has room for `size` of
 * them, at least tinkc_trajectory_count; *n is their number, which is less when a sequence
 * has nothing that counts. `options` NULL: TINKC_TRAJECTORY_OPTIONS_INIT. The caller frees
 * each datum; on failure there is none. TINKC_E_LIMIT: `size` is too small;
 * TINKC_E_INVALID: an advantage or a log-probability is missing or not finite, with the
 * index of the sequence; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_trajectory_datums(
    tinkc_datum **out, size_t size, size_t *n, const tinkc_trajectory *trajectory,
    const tinkc_trajectory_options *options, tinkc_error **err);

TINKC_END_DECLS

#endif
