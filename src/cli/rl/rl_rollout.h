/* Episodes: for each task a group of them, several at a time. Each is an agent (rl_agent.h)
 * that speaks to the gateway (rl_gate.h); its reward is the last line that it writes. What
 * goes wrong with an agent is counted and explained, and the others go on. Thread: one. */
#ifndef CLI_RL_ROLLOUT_H
#define CLI_RL_ROLLOUT_H

#include <tinkc/rl.h>
#include <tinkc/tokenizer.h>

#include "cli/rl/rl_agent.h"
#include "cli/rl/rl_ask.h"
#include "cli/rl/rl_gate.h"
#include "cli/rl/rl_lines.h"
#include "cli/rl/rl_reward.h"
#include "cli/rl/rl_tasks.h"

/* How an episode ended. */
typedef enum rl_kind {
    RL_KIND_OK = 0,
    RL_KIND_EXIT,
    RL_KIND_SIGNAL,
    RL_KIND_TIMEOUT,
    RL_KIND_FLOOD,
    RL_KIND_LOST,
    RL_KIND_REQUEST, /* with --match: no answer */
    RL_KIND_NO_REWARD,
    RL_KIND_NOT_FINITE,
    RL_KIND_NO_TURNS, /* a reward, but the model was not asked */
    RL_KIND_UNREADABLE,
    RL_KINDS
} rl_kind;

/* Returns the name of a kind in metrics ("timeout"), and what people read ("ran longer than
 * --timeout"). */
const char *rl_kind_name(rl_kind kind);
const char *rl_kind_text(rl_kind kind);

#define RL_WHY_BYTES 200

typedef struct rl_trouble { /* of one kind */
    size_t n;
    char episode[RL_GATE_NAME_BYTES]; /* the first */
    char why[RL_WHY_BYTES];           /* what it said last */
} rl_trouble;

typedef struct rl_mean { /* a metric of the agents */
    char name[RL_REWARD_NAME_BYTES];
    double sum;
    size_t n;
} rl_mean;

/* What a rollout was. */
typedef struct rl_outcome {
    size_t step;
    bool is_eval;
    int64_t version; /* of the weights */
    uint64_t lot;    /* a random number: these episodes are no others */
    size_t episodes, rewarded;
    double reward_sum;
    size_t turns, refused; /* requests; those beyond --max-turns */
    size_t full;           /* episodes that had some of these */
    size_t strays, left;   /* processes that agents left behind; not ended */
    rl_trouble troubles[RL_KINDS];
    rl_mean metrics[RL_REWARD_METRICS];
    size_t n_metrics;
    bool was_stopped;
    double seconds;
} rl_outcome;

typedef struct rl_rollout { /* borrowed */
    rl_agents *agents;
    rl_asks *asks; /* instead of agents; or NULL */
    rl_gate *gate;
    const char *model, *command;
    const tinkc_tokenizer *tokenizer; /* for texts of rollouts; or NULL */
    int64_t timeout_ms, grace_ms;
    uint64_t max_output;
    size_t max_turns; /* what agents are told; the gate counts */
    size_t concurrency;
    bool has_failed_reward; /* what an episode gets that failed; else it is left out */
    double failed_reward;
    rl_lines *lines;  /* rollouts for reading */
    size_t n_kept;    /* the first ones go there, and those that failed */
    bool with_tokens; /* ids and log-probabilities go there, too */
    bool (*is_stopped)(void);
    void (*on_episode)(void *user, const rl_outcome *so_far, size_t total);
    void *user;
} rl_rollout;

typedef struct rl_ask {
    const rl_tasks *tasks;
    const size_t *rows; /* [n] of the tasks */
    size_t n, group;    /* tasks; episodes of each */
    size_t step;
    bool is_eval;
    uint64_t run;          /* seed */
    uint64_t first_task;   /* number of the first task, for seeds and order */
    int64_t version;       /* of the weights */
    tinkc_rl_batch *batch; /* gets the episodes; NULL: only rewards are wanted */
} rl_ask;

/* Runs all episodes and waits for their ends. After a stop, agents are ended. */
TK_NODISCARD tinkc_code rl_rollout_run(rl_outcome *out, const rl_rollout *rollout,
                                       const rl_ask *ask, tk_err *err);

#endif
