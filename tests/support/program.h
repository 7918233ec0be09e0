/* Runs the real program, as a user would: arguments, environment, input; then what it
 * wrote and how it ended. The environment is the test's own: nothing of the machine's
 * credentials, proxies or locale gets in. Failures of the machine fail the test. */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include <sys/types.h>

#include "base/buf.h"

#define PROGRAM_WORDS_MAX 64

typedef struct program {
    const char *path; /* of the executable */
    char dir[64];     /* made by program_open: HOME and working folder */
    const char *env[PROGRAM_WORDS_MAX]; /* NAME=VALUE, besides HOME and PATH */
    const char *input;                  /* of standard input; NULL: empty */
    size_t input_n;                     /* 0: strlen(input) */
    bool no_reader;   /* nothing reads what it writes: the pipe is closed */
    unsigned columns; /* not 0: output and errors are a terminal */
    /* how it went */
    pid_t pid;
    int in_fd, out_fd, err_fd; /* -1: closed */
    tk_buf out, err;           /* NUL-terminated; a terminal has only out */
    int code;                  /* exit code, or 128 + signal */
} program;

void program_open(program *p, const char *path);
void program_close(program *p); /* removes the folder */

/* Sets a variable of the environment: "NAME=VALUE", which must outlive p; replaces one of
 * the same name. */
void program_env(program *p, const char *pair);

/* Runs it to its end. args: words without the program's name, ended by NULL. */
void program_run(program *p, const char *const *args);

/* Runs it in two parts: program_start leaves it running with its input open, for
 * program_send and program_wait_text; program_end waits for its end. */
void program_start(program *p, const char *const *args);
void program_send(program *p, const char *text);

/* Reads until the output (or, is_err, the errors) has the text. False: it ended
 * without. */
bool program_wait_text(program *p, bool is_err, const char *text);

/* Reads what comes next. False: it ended, or nothing came for a long time. */
bool program_wait_more(program *p);
void program_end(program *p);

#define PROGRAM_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Whether what was written has the text. */
bool program_said(const tk_buf *buf, const char *text);

/* "DIR/NAME" in one of a few static buffers. */
const char *program_path(const program *p, const char *name);

/* A file of the folder; the caller frees *out with tk_free. False: it is not there. */
bool program_read_file(const program *p, const char *name, char **out, size_t *n);
void program_write_file(const program *p, const char *name, const char *text);

#endif
