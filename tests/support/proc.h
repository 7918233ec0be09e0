/* Other programs as a user runs them: arguments, environment, input, and either pipes or
 * terminals; and what they printed. The environment is clean: PATH, a temporary HOME, the
 * sanitizers' variables, and what the test adds. Every wait ends after PROC_CAP_S.
 * Allocates through fakeapi_mem.h. Thread: one at a time. */
#ifndef SUPPORT_PROC_H
#define SUPPORT_PROC_H

#include <sys/types.h>

#include "support/fakeapi_mem.h"

#define PROC_CAP_S 120

typedef struct proc {
    pid_t pid;
    int in, out, err; /* our ends; -1: closed */
    fakeapi_bytes said, complained;
    int status; /* exit code; 128 + signal; -1 while it runs */
} proc;

typedef struct proc_options {
    const char *const *env; /* "NAME=VALUE", ends in NULL; may be NULL */
    const char *cwd;        /* NULL: the test's */
    const char *input;      /* then end of input; NULL: none */
    int out_columns;        /* > 0: standard output is a terminal as wide as that */
    int err_columns;        /* the same for standard error */
    bool all_terminal;      /* one terminal (out_columns wide) for all three, in a new
                             * session, as in a shell; the output is in `said` */
    const char *out_path;   /* standard output goes to this file instead */
    bool close_out;         /* standard output is a pipe without a reader */
} proc_options;

/* argv[0] is the program's path; ends in NULL. options may be NULL. */
proc *proc_start(const proc_options *options, const char *const *argv);

/* Reads until `text` was printed (in either stream) or the program ended. Returns whether
 * it was printed. */
bool proc_wait_for(proc *p, const char *text);
void proc_write(proc *p, const char *text);
void proc_signal(proc *p, int number);

/* Reads until it ended; its exit code. */
int proc_wait(proc *p);

const char *proc_out(proc *p); /* its standard output; followed by a NUL */
const char *proc_err(proc *p);

void proc_free(proc **p); /* kills it if it still runs */

/* start and wait. */
proc *proc_run(const proc_options *options, const char *const *argv);

#endif
