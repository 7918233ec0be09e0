/* What this client sends against what the official SDK sent for the same calls
 * (tests/data/wire), at the level of each recorded version: a case names a recording and
 * makes its calls through the public API, on the scripted peer.
 *
 *     static const level_case cases[] = {
 *         {LEVEL("rest/list_checkpoints", list_checkpoints)},
 *         {LEVEL_NOT("rest/archive_url", "why not")},
 *     };
 *     ... level_run("rest/", cases, TK_ARRAY_LEN(cases)) ...
 *
 * Every recording of the group must have a case. How to add one: docs/internals/
 * testing.md. */
#ifndef SUPPORT_LEVELFIX_H
#define SUPPORT_LEVELFIX_H

#include <tinkc/service.h>

#include "support/fakeapi.h"

#define LEVEL_OLD "0.25.0"
#define LEVEL_NEW "0.36.0"

/* Ids as the recorder's server gave them; those of the peer are rewritten to them. */
#define LEVEL_SESSION "00000000-0000-4000-8000-000000000001"
#define LEVEL_RUN     LEVEL_SESSION ":train:0"
#define LEVEL_MODEL   "Qwen/Qwen3-8B"

typedef struct levelfix {
    fakeapi *api;
    tinkc_service *service; /* of level_open; closed after the case */
    bool is_new;            /* the level is 0.36 */
    const char *version;
    size_t from; /* the first request that counts */
} levelfix;

typedef struct level_case {
    const char *name; /* "rest/list_checkpoints" */
    void (*run)(levelfix *f);
    const char *config; /* what client/config answers; NULL: {} */
    unsigned without;   /* bit i: the client does not make request i of the recording */
    const char *apart_from; /* words: parts of bodies that differ (levelfix_body.h) */
    const char *why;   /* why not, or why they differ; without `run`: why it makes none */
    const char *older; /* why it is compared at 0.25.0 only */
    const char *newer; /* why it is compared at 0.36.0 only */
    bool any_order;    /* protobuf requests that are sent at the same time */
    bool events; /* telemetry: all events count, in however many requests they come */
} level_case;

/* Rows: {LEVEL("rest/ttl", ttl)}, with more designators; {LEVEL_NOT(name, reason)}. */
#define LEVEL(file, fn)         .name = (file), .run = (fn)
#define LEVEL_NOT(file, reason) .name = (file), .why = (reason)

/* Opens the service of the case. Options are name, value pairs ending in NULL, or NULL. */
void level_open(levelfix *f, const char *const *options);

/* What was sent before does not count. */
void level_record(levelfix *f);

/* Runs each case at each version that has its recording, and compares all requests to
 * the paths of the recording: method, path, query, headers, body. Fails for a recording
 * whose name starts with `group` and that has no case. */
void level_run(const char *group, const level_case *cases, size_t n);

#endif
