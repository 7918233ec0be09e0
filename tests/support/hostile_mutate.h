/* Wrong answers made from a right one: the status, the headers, the bytes or one field of
 * a recorded answer is changed, and the way in which it arrives.
 *
 * The changes of a seed are numbered from 0 (none); the number alone says what is done, so
 * a case can be repeated. JSON and protobuf are walked as trees: a new recording is
 * covered without a line here. Everything is allocated with base/mem.h and freed by
 * hostile_answer_dispose. Thread: any. */
#ifndef SUPPORT_HOSTILE_MUTATE_H
#define SUPPORT_HOSTILE_MUTATE_H

#include "base/buf.h"
#include "base/json.h"
#include "http/http.h"
#include "support/newer.h"

#define HOSTILE_FIELDS 3

typedef enum hostile_form { HOSTILE_JSON, HOSTILE_PROTOBUF, HOSTILE_TEXT } hostile_form;

/* How an answer arrives. */
typedef enum hostile_flow {
    HOSTILE_WHOLE,
    HOSTILE_FAILED,  /* `failure` instead of an answer */
    HOSTILE_NEVER,   /* silence */
    HOSTILE_DRIP,    /* `drip_bytes` each `drip_ms` */
    HOSTILE_CUT,     /* the connection is lost after half of the body */
    HOSTILE_ENDLESS, /* blanks without end after the body, 1 MiB each millisecond */
    HOSTILE_CRAWL    /* blanks without end after the body, one each second */
} hostile_flow;

/* What is put around the body after it was changed. */
typedef enum hostile_wrap {
    HOSTILE_BARE,
    HOSTILE_EVENT, /* an event of a stream, and a last event after it */
    HOSTILE_TOKEN /* the claims of a token: {"jwt": "<header>.<body in base64>.<sign>"} */
} hostile_wrap;

typedef struct hostile_seed {
    int status;
    const char *type; /* content type */
    hostile_form form;
    hostile_wrap wrap;
    tk_str body;
    const tk_json *json;     /* the body as a tree, HOSTILE_JSON only */
    const tk_schema *schema; /* of that, or NULL */
    const newer_pb *proto;   /* HOSTILE_PROTOBUF */
} hostile_seed;

typedef struct hostile_answer {
    int status;
    const char *type; /* NULL: no content type */
    struct {
        const char *name, *value;
    } fields[HOSTILE_FIELDS];
    size_t fields_n;
    tk_buf body;
    bool no_length;
    hostile_flow flow;
    tk_http_failure failure;
    size_t drip_bytes;
    int64_t drip_ms;
    bool is_once;      /* the requests after the first one are answered honestly */
    bool is_readable;  /* as a newer server could send it: must be read like the seed */
    newer_place newer; /* what was put in; NEWER_CHANGES: it is not of that class */
    char what[96];     /* the change in words */
} hostile_answer;

size_t hostile_mutate_count(const hostile_seed *seed);

/* The first of the changes that a newer server could make; the others of them follow, up
 * to hostile_mutate_count. */
size_t hostile_mutate_newer(const hostile_seed *seed);

/* Makes answer `k` of the seed. Texts are static or borrowed from the seed. */
void hostile_mutate(hostile_answer *out, const hostile_seed *seed, size_t k);

void hostile_answer_dispose(hostile_answer *answer);

/* ---- one field of a tree; used by hostile_mutate.c ---- */

size_t hostile_json_count(const tk_json *json);
void hostile_json_mutate(hostile_answer *out, const tk_json *json, size_t k);
size_t hostile_pb_count(tk_str body);
void hostile_pb_mutate(hostile_answer *out, tk_str body, size_t k);

#endif
