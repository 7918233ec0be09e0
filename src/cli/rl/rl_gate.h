/* The gateway that the agents of a run speak to: in this process, on a port of the loopback,
 * with a key that only the agents get. It takes requests of episodes that run, gives a seed
 * to those without one, counts turns and refuses those beyond the limit; afterwards the
 * episode is a trajectory.
 *
 * Thread: one; requests of agents are answered on the gateway's own. */
#ifndef CLI_RL_GATE_H
#define CLI_RL_GATE_H

#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/trajectory.h>

#include "base/err.h"

#define RL_GATE_NAME_BYTES 64 /* of an episode */

typedef struct rl_gate_config { /* borrowed; outlives the gate */
    tinkc_service *service;
    const char *model;         /* what agents call it: the base model */
    const char *template_file; /* NULL = the model's */
    const char *tool_format;   /* NULL = by the template */
    size_t max_turns;          /* of an episode */
    size_t max_tokens;         /* of an answer; 0 = no limit */
} rl_gate_config;

typedef struct rl_gate rl_gate;

TK_NODISCARD tinkc_code rl_gate_open(rl_gate **out, const rl_gate_config *config,
                                     tk_err *err);
void rl_gate_close(rl_gate *gate); /* accepts NULL */

const char *rl_gate_url(const rl_gate *gate); /* "http://127.0.0.1:PORT" */
const char *rl_gate_key(const rl_gate *gate);

/* Lets the agents sample from this client, which the gate takes over, also on failure. To be
 * called while no episode runs. */
TK_NODISCARD tinkc_code rl_gate_use(rl_gate *gate, tinkc_sampling *sampling,
                                    const char *weights, tk_err *err);

typedef struct rl_gate_episode {
    char name[RL_GATE_NAME_BYTES];
    uint64_t run, task, index; /* for tinkc_rl_seed */
} rl_gate_episode;

/* Takes requests of the episode from now on. TINKC_E_LIMIT: too many run. */
TK_NODISCARD tinkc_code rl_gate_begin(rl_gate *gate, const rl_gate_episode *episode,
                                      tk_err *err);

typedef struct rl_gate_result {
    tinkc_trajectory *trajectory; /* NULL: the agent asked for nothing */
    char *text;                   /* the export; tk_free */
    size_t n_text;
    size_t turns, refused; /* requests */
} rl_gate_result;

/* Ends an episode: takes no more requests of it and gives what was sampled. Every episode
 * that was begun must be ended. */
TK_NODISCARD tinkc_code rl_gate_end(rl_gate_result *out, rl_gate *gate, const char *name,
                                    tk_err *err);
void rl_gate_result_dispose(rl_gate_result *result);

#endif
