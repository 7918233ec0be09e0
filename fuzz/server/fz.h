/* Stateful fuzzing of the server: what its files share.
 *
 * A round has a seed, a data directory and a server in a process of its own (fz_child),
 * with a tiny model. Several clients (threads) send sequences of requests; the server is
 * stopped and killed meanwhile and starts again on the same data. Honest clients
 * (fz_honest) train, save, load and sample, repeat and cut their requests, and know what
 * each answer must be; hostile ones (fz_hostile) send what the route table and the message
 * tables allow, spoiled in one place, and bytes that are no request at all. Everything
 * that is answered is checked (fz_talk); what honest clients learn from different lives of
 * the server and from each other must agree bit for bit (fz_truth).
 *
 * A client draws from its own generator, seeded by the round's seed and its number: what
 * it sends depends on the seed and on the answers it got, not on other threads. */
#ifndef FZ_H
#define FZ_H

#include <stdatomic.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/rand.h"
#include "base/thread.h"
#include "support/httpget.h"
#include "wire/schemas.h"

#define FZ_MODEL    "tinkc/pebble-llama-2m"
#define FZ_KEY      "tml-fuzz-key"
#define FZ_API      "/api/v1/"
#define FZ_ID_BYTES 192

/* ---- the server's process ---- */

typedef struct fz_options {
    const char *program; /* argv[0]: the server is this program, started with --serve */
    uint64_t seed;
    size_t memory;   /* bytes: the server's budget */
    size_t rss_max;  /* bytes: the bar for its resident memory */
    int64_t slow_ms; /* the bar for every answer, healthz among them */
    int honest, hostile, agents;
    unsigned gateway; /* permille of the hostile requests that go to its routes alone */
    int64_t round_ms; /* of traffic in a round */
    bool keep;        /* keep directory and log also without a finding */
} fz_options;

typedef struct fz_truth fz_truth;

typedef struct fz_world {
    const fz_options *options;
    uint64_t seed;
    char dir[64];           /* of the round: data/, server.log, requests.log */
    pid_t child;            /* 0 = none */
    FILE *log;              /* every request and its answer; stdio locks it */
    atomic_int port;        /* of the server, in all its lives; 0 = not chosen yet */
    atomic_uint life;       /* its number, from 1 */
    atomic_bool is_ending;  /* it is being stopped: failures and 503 are expected */
    atomic_bool is_over;    /* clients come to their end */
    atomic_size_t requests; /* that were answered, in all rounds */
    atomic_size_t findings;
    atomic_size_t peak_rss;  /* bytes */
    atomic_llong slowest_ms; /* answer of healthz */
    fz_truth *truth;
} fz_world;

/* Starts the server of the round; false, with a finding, when it does not start. */
bool fz_child_start(fz_world *world);

/* Ends it with SIGKILL or SIGTERM; after the latter it must end by itself, without a
 * complaint of a sanitizer. */
void fz_child_end(fz_world *world, int signal_number);

/* Whether it still runs; a finding when it has ended by itself. */
bool fz_child_lives(fz_world *world);
size_t fz_child_rss(const fz_world *world);

/* Removes, cuts or replaces the database now and then, while no server runs. */
void fz_damage(fz_world *world, tk_rand *rand);

/* The program's other half: serves until SIGTERM. Returns the exit code. */
int fz_child_serve(const char *data, size_t memory, int port);

/* ---- findings ---- */

/* Something that must hold does not. Prints it with the seed and where the log is. */
void fz_find(fz_world *world, const char *format, ...) TK_PRINTF(2, 3);

/* ---- talking ---- */

typedef struct fz_client {
    fz_world *world;
    int number;
    tk_rand rand;
    tk_rand poll_rand; /* of polls, whose number depends on the time */
    tk_arena arena;    /* of answers; emptied between steps */
    httpget *connection;
    unsigned life; /* the one that it talks to */
    unsigned long long sent;
} fz_client;

void fz_client_init(fz_client *client, fz_world *world, int number);
void fz_client_dispose(fz_client *client);

/* Waits until a server runs and notes its life; false: the round is over. */
bool fz_client_enter_life(fz_client *client);

typedef struct fz_answer {
    int status; /* 0 = none */
    bool is_json;
    const tk_json *json; /* of the client's arena, or NULL */
    tk_str body;         /* same */
    char location[512];
} fz_answer;

/* How a request is delivered. */
typedef enum fz_way {
    FZ_PLAIN,
    FZ_TWICE,  /* one after the other; the second answer counts */
    FZ_BOTH,   /* at once on two connections; both answers must be the same */
    FZ_UNREAD, /* sent, and its connection closed; then once more */
    FZ_HALF,   /* half of it sent, and its connection closed; then once more */
    FZ_WAYS
} fz_way;

/* Sends a request and checks its answer. False when there is none: the server was ended,
 * or there was a finding; the client enters the next life then. */
bool fz_ask(fz_client *client, const httpget_request *request, fz_way way,
            fz_answer *out);

/* POST of a JSON text to an API route, by its last segments; with the key. */
bool fz_post(fz_client *client, const char *route, const char *body, fz_way way,
             fz_answer *out);

/* Checks what is true of every answer: status, type, shape. `target` and `method` are the
 * request's. */
void fz_check(fz_client *client, const httpget_request *request, const fz_answer *answer);

/* Sends bytes that need not be a request. Only silence is a finding. */
void fz_throw(fz_client *client, const void *data, size_t n, bool read_answer);

/* Reads at most n bytes of an answer that has no end, and not more than its first event, and
 * goes away. Returns its status, 0 when there was none. */
int fz_listen(fz_client *client, const httpget_request *request, size_t n);

/* The text under a key, or "" . */
const char *fz_text(const fz_answer *answer, const char *key);

/* ---- small ---- */

uint64_t fz_below(fz_client *client, uint64_t limit);
bool fz_chance(fz_client *client, unsigned permille);
void fz_log(fz_client *client, const char *format, ...) TK_PRINTF(2, 3);

/* ---- bodies from the tables ---- */

/* Kinds of signed links. */
typedef enum fz_link { FZ_LINK_ARCHIVE, FZ_LINK_FILE, FZ_LINK_UPLOAD, FZ_LINKS } fz_link;

/* What generated bodies refer to. */
typedef struct fz_ids {
    char session[FZ_ID_BYTES];
    char model[FZ_ID_BYTES];
    char sampler[FZ_ID_BYTES];
    char future[FZ_ID_BYTES];
    char path[FZ_ID_BYTES]; /* of a checkpoint */
    int64_t seq;            /* the next one */
    int64_t model_seq, sampler_seq;
    char links[FZ_LINKS][512]; /* signed paths that the server gave out; "" = none */
} fz_ids;

/* The table of the request or the 200 answer of a row of the route table, or NULL. */
const tk_schema *fz_body_schema(tk_direction direction, const char *method,
                                const char *pattern);

/* Appends a body for "POST /api/v1/x" (a row of the route table: method and pattern), as
 * its message's table says, or some object. */
void fz_body_write(tk_buf *out, fz_client *client, fz_ids *ids, const char *method,
                   const char *pattern);

/* Whether there is more than some object for a row of the route table. */
bool fz_body_knows(const char *method, const char *pattern);

/* The row of the route table ("POST /api/v1/x") that the ith fixed body is for, or NULL. */
const char *fz_body_row(size_t i);

/* Replaces a body by one that is wrong in one place. */
void fz_body_spoil(tk_buf *body, fz_client *client);

/* ---- routes ---- */

struct hd_route;

/* Counts an answer. Thread: any. */
void fz_routes_count(const struct hd_route *route, int status);

/* Prints how many routes were answered with success, and which were not. */
void fz_routes_report(void);

/* Prints the rows of the route table that clients have no body or ids for, and bodies
 * without a row; returns how many. */
size_t fz_routes_check(void);

/* Uploads the adapter that the client exported as external_weights/e. False as fz_ask. */
bool fz_upload(fz_client *client, const fz_ids *ids);

/* ---- directories of models ---- */

void fz_models_make(const fz_world *world);         /* in the round's directory */
void fz_models_put(tk_buf *out, fz_client *client); /* appends the path of one */

/* ---- what is true ---- */

typedef enum fz_fact {
    FZ_FORWARD_BACKWARD, /* result of step `steps` + 1 */
    FZ_SECOND_PART,      /* the same, of its second part */
    FZ_OPTIM,            /* the same */
    FZ_FORWARD,          /* after `steps` steps */
    FZ_SAMPLE,           /* the same */
    FZ_FACTS
} fz_fact;

#define FZ_STEPS 48 /* of a model */
#define FZ_RANKS 2

fz_truth *fz_truth_new(void);
void fz_truth_free(fz_truth *truth);

/* Compares the bytes with what was seen before of a model of this rank after so many
 * steps, or keeps them. False when they differ. Thread: any. */
bool fz_truth_agrees(fz_truth *truth, fz_fact fact, int rank, int steps, tk_str bytes);

/* ---- clients; see also fz_honest.h ---- */

void fz_hostile_run(void *client); /* a fz_client */

/* What stands for the star at `at` of a pattern, by what comes before it; NULL: unknown. */
const char *fz_hostile_id(const fz_ids *ids, const char *pattern, const char *at);

#endif
