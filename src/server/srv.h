/* The local server: the Tinker API over HTTP on the engine. This is what the `serve`
 * command and the tests see of src/server; docs/internals/server.md describes its parts.
 *
 * Thread: all functions are for one thread at a time. No signals are handled here: the
 * caller decides when to stop the server. */
#ifndef SERVER_SRV_H
#define SERVER_SRV_H

#include <tinkc/log.h>

#include "base/err.h"
#include "base/tk.h"

typedef struct srv srv;

typedef struct srv_pair { /* of an option NAME=VALUE */
    const char *name;
    const char *value;
} srv_pair;

/* What the engine does next: a piece of a training request, or one step of all
 * samples. */
typedef enum srv_step { SRV_STEP_TRAIN, SRV_STEP_SAMPLE } srv_step;
typedef void (*srv_step_fn)(void *user, srv_step step);

typedef struct srv_options {
    const char *host;       /* address to listen on; NULL = 127.0.0.1 */
    unsigned port;          /* 0 = any free one */
    const char *data;       /* directory of all files, its own; made when it is missing */
    const srv_pair *models; /* name = directory in Hugging Face layout */
    size_t n_models;
    const srv_pair *aliases; /* name = name of a model above, or of the embedded one */
    size_t n_aliases;
    unsigned threads;    /* of the engine; 0 = one per CPU */
    const char *kernel;  /* of the engine, by name; NULL or "auto" = the best one */
    const char *weights; /* "int8": rounded to 8 bits; NULL or "file" = as in the files */
    const char *api_key; /* NULL = none: every key is accepted, but only on loopback */
    bool own_key;        /* make a key, for those who can read SRV_KEY_FILE */
    bool strict;         /* refuse what the hosted service refuses */
    const char *faults;  /* file of faults to inject (docs/faults.md), or NULL */
    size_t memory_bytes; /* for everything; 0 = three quarters of the machine's */
    size_t adapter_bytes;     /* of those, for samplers' weights; 0 = a sixteenth */
    int64_t poll_ms;          /* how long a poll is held; 0 = SRV_POLL_MS */
    bool no_recording;        /* nothing is recorded for the console */
    bool no_samples;          /* no samples are */
    uint64_t recording_bytes; /* of the recordings; 0 = 256 MiB */
    int64_t recording_days;   /* that they are kept; 0 = 30 */
    size_t piece_rows;   /* tokens of a training request in one piece; 0 = the engine's */
    size_t sequences;    /* decoded at once; 0 = SRV_SEQUENCES */
    srv_step_fn on_step; /* for tests: before each step, on the engine thread; or NULL */
    void *hook_user;
    tinkc_log_level log_level;
    tinkc_log_fn log; /* NULL = silent */
    void *log_user;
} srv_options;

/* The file of the data directory that holds the key which the server made (own_key); only
 * its owner can read it. It is written before the URL in the lock file, and removed at the
 * stop and by a server that makes no key. */
#define SRV_KEY_FILE  "tinkc.key"
#define SRV_POLL_MS   40000
#define SRV_SEQUENCES 256

/* Writes the kernels of this build and machine into out, best first: "avx512, avx2". */
void srv_kernels(char *out, size_t size);

/* Opens the data directory, the models and the socket, and answers requests from then on,
 * on its own threads. Options are copied. TINKC_E_CONFIG for options that contradict each
 * other (an address beyond loopback without a key, an unknown alias) and for a data
 * directory that is not one of tinkc's, TINKC_E_STATE when
 * another server uses the data directory, TINKC_E_IO; and the errors of a model's
 * files. */
TK_NODISCARD tinkc_code srv_start(srv **out, const srv_options *options, tk_err *err);

/* Takes no more work, finishes saves that have begun, ends what is being computed, answers
 * what is parked, and frees the server. Sets *server to NULL; accepts a NULL in it. */
void srv_stop(srv **server);

unsigned srv_port(const srv *server);
/* Writes the fragment of the console's address that logs a browser in once, "" when no key
 * is needed. TINKC_E_IO. */
#define SRV_FRAGMENT_BYTES 96
TK_NODISCARD tinkc_code srv_console_fragment(srv *server, char out[SRV_FRAGMENT_BYTES],
                                             tk_err *err);

const char *srv_url(const srv *server); /* "http://127.0.0.1:8000"; until the stop */

#endif
