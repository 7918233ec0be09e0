/* The processes of rl_agent.h below this program.
 *
 *   tinkc ── root ── keeper ── sh -c AGENT ── ...
 *                 └─ keeper ── sh -c AGENT ── ...
 *
 * The root is forked while the program has one thread; it only forks keepers, each with a
 * socket that came from the program. A keeper reads its job there, runs the agent, and
 * writes a report. When the socket closes, the program is gone, and the keeper kills what it
 * keeps. Nothing here returns: these are processes. */
#ifndef CLI_RL_KEEPER_H
#define CLI_RL_KEEPER_H

#include <stdint.h>

/* A job on the socket: this, then `bytes` bytes: the command and the variables, each with
 * its NUL, and the input. */
typedef struct rl_job_head {
    int64_t timeout_ms, grace_ms;
    uint64_t max_output;
    uint64_t bytes, n_input;
    uint64_t n_words; /* the command, and the variables */
} rl_job_head;

/* A report: this, then the ends of both outputs. */
typedef struct rl_report {
    int32_t end, status;
    uint64_t n_written, strays, left;
    int64_t ms;
    uint64_t n_out, n_err;
} rl_report;

/* The root: forks a keeper for each socket that comes over `control`, until that closes and
 * all keepers have ended. */
_Noreturn void rl_keeper_root(int control);

/* One keeper. */
_Noreturn void rl_keeper_run(int socket);

#endif
