/* Agents: processes of the user's, one for each episode, that end with it whatever they do.
 *
 * `/bin/sh -c COMMAND` runs in a session of its own, below a keeper: a small process of ours
 * that feeds it, reads what it writes, and ends it. The keeper is the reaper of all
 * descendants, also of those that began a session of their own, and ends them when the
 * agent has ended, when its time is over, and when this program is gone, also by SIGKILL
 * (rl_keeper.h). Only a process that the system cannot kill survives, and is counted.
 *
 * Thread: one. */
#ifndef CLI_RL_AGENT_H
#define CLI_RL_AGENT_H

#include "base/err.h"
#include "base/str.h"

#define RL_AGENT_MAX        1024       /* that run at a time */
#define RL_AGENT_TASK_BYTES (8 << 20)  /* of a task */
#define RL_AGENT_ENV_BYTES  (96 << 10) /* of a variable: the system has a limit */
#define RL_AGENT_OUT_BYTES                                                               \
    (64 << 10)                       /* of standard output that are kept: the last ones */
#define RL_AGENT_ERR_BYTES (4 << 10) /* of standard error */

/* How an agent ended. */
typedef enum rl_end {
    RL_END_OK = 0,  /* with exit code 0 */
    RL_END_EXIT,    /* with another one */
    RL_END_SIGNAL,  /* by a signal that was not ours */
    RL_END_TIMEOUT, /* ended by us: its time was over */
    RL_END_FLOOD,   /* ended by us: it wrote too much */
    RL_END_STOPPED, /* ended by us: rl_agents_stop */
    RL_END_LOST,    /* it could not be started, or its keeper is gone */
    RL_END_REQUEST  /* no agent: the question of rl_ask.h has no answer */
} rl_end;

typedef struct rl_job {  /* borrowed during the call */
    const char *command; /* of /bin/sh */
    const char *const
        *variables; /* beside those of this program: "NAME=VALUE", or "NAME",
                                     which the agent does not get */
    size_t n_variables;
    tk_str input; /* for its standard input */
    int64_t timeout_ms;
    int64_t grace_ms;    /* between SIGTERM and SIGKILL */
    uint64_t max_output; /* bytes of both outputs */
} rl_job;

typedef struct rl_ended {
    void *user;
    rl_end end;
    int status; /* exit code, or signal; of a question that of HTTP, or 0 */
    tk_str out; /* last bytes of standard output; borrowed until the next call */
    tk_str err; /* last bytes of standard error */
    uint64_t n_written;
    size_t strays; /* processes that it had left behind, and that were ended */
    size_t left;   /* those that could not be ended */
    int64_t ms;
} rl_ended;

typedef struct rl_agents rl_agents;

/* Starts the process that the keepers come from. To be called while this program has one
 * thread. TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code rl_agents_open(rl_agents **out, tk_err *err);

/* Ends all that run, at once, and waits for that. Accepts NULL. */
void rl_agents_close(rl_agents *agents);

/* Starts an agent. TINKC_E_LIMIT: too many, or a text is too long; TINKC_E_IO: the process
 * that the keepers come from is gone. */
TK_NODISCARD tinkc_code rl_agents_start(rl_agents *agents, const rl_job *job, void *user,
                                        tk_err *err);
size_t rl_agents_running(const rl_agents *agents);

/* Waits up to `ms` for one that has ended, and fills *out. Returns false when there is
 * none. */
TK_NODISCARD bool rl_agents_wait(rl_agents *agents, rl_ended *out, int ms);

/* Asks all to end: SIGTERM, and SIGKILL after their grace. They still come out of wait. */
void rl_agents_stop(rl_agents *agents);

#endif
