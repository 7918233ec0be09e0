/* A whole conversation with a Tinker server over one plain connection: the library's
 * message codecs, a raw socket, nothing of the client library. The conversation test
 * sweeps it for allocation failures.
 *
 * Answers that are lost (reset, closed, cut short) are asked for again with the same
 * bytes; everything else that is not 2xx ends the conversation. Blocking; one thread.
 * What the library allocates goes through base/mem, the socket's bytes through
 * fakeapi_mem.h. */
#ifndef SUPPORT_FAKEAPI_TINKER_TALK_H
#define SUPPORT_FAKEAPI_TINKER_TALK_H

#include "base/arena.h"
#include "support/httpget.h"
#include "wire/value.h"

/* One request and what came back, as bytes. Borrowed. */
typedef struct fakeapi_tinker_exchange {
    const char *path;
    const char *sent_type; /* content type */
    tk_str sent;
    httpget_outcome outcome;
    int status;                /* of an answer that came whole */
    const char *answered_type; /* "" when there is none */
    tk_str answered;
    double seconds; /* round trip */
} fakeapi_tinker_exchange;

typedef struct fakeapi_tinker_talk {
    int port;
    httpget *connection; /* NULL = to be opened */
    void (*watch)(void *user, const fakeapi_tinker_exchange *exchange); /* may be NULL */
    void *user;
    size_t calls;       /* numbers the idempotency keys */
    size_t asked_again; /* answers that were lost */
    tk_err err;         /* why a step failed */
    tk_arena arena;     /* everything below lives here */
    tk_str session_id, model_id, checkpoint, sampling_session_id;
    int64_t next_seq;        /* of the model; 1 at first */
    tk_fwdbwd_output losses; /* of the last forward_backward */
    size_t request_bytes;    /* of the last forward_backward */
    size_t as_json_bytes;    /* the same as JSON; only computed when watched */
    tk_sample_response sample;
} fakeapi_tinker_talk;

/* Allocates nothing. The address is fixed from here on. */
void fakeapi_tinker_talk_init(fakeapi_tinker_talk *talk, int port);
void fakeapi_tinker_talk_dispose(fakeapi_tinker_talk *talk);

/* The steps in their order; each returns TINKC_OK or talk->err.code. A step may be taken
 * more than once where that makes sense (forward_backward, optim_step, sample). */
typedef struct fakeapi_tinker_step {
    const char *name;
    const char *about; /* one line for people */
    tinkc_code (*take)(fakeapi_tinker_talk *talk);
} fakeapi_tinker_step;

extern const fakeapi_tinker_step fakeapi_tinker_steps[];
extern const size_t fakeapi_tinker_steps_n;

/* The training data of forward_backward: two datums of tokens with their targets. */
#define FAKEAPI_TINKER_TALK_DATUMS 2
#define FAKEAPI_TINKER_TALK_TOKENS 48 /* each */

#endif
