/* A transport without sockets on a fake clock, for a server that misbehaves: answers that
 * drip, never come, never end or are cut arrive as libcurl would deliver them (deadlines,
 * the limit on a response, pieces of a stream). Requests are counted by endpoint, and the
 * closest ones of each are remembered.
 *
 * All on the test's thread. The struct must not move and must outlive the client. */
#ifndef SUPPORT_HOSTILE_NET_H
#define SUPPORT_HOSTILE_NET_H

#include "client/call/endpoint.h"
#include "support/fakeclock.h"
#include "support/hostile_mutate.h"
#include "wire/msg_future.h"

/* What a request asks for: an endpoint, or a poll for one type of result. */
#define HOSTILE_POLL(type) ((size_t)TK_EP_COUNT + (size_t)(type))
#define HOSTILE_KEYS       ((size_t)TK_EP_COUNT + TK_FUTURE_TYPES)
#define HOSTILE_NO_KEY     HOSTILE_KEYS

#define HOSTILE_IN_FLIGHT 16
#define HOSTILE_RECENT    11 /* requests of which the times are remembered */

typedef struct hostile_count {
    size_t sent;
    size_t since;                      /* number of the first one of this call */
    int64_t recent_ms[HOSTILE_RECENT]; /* of the last ones, by their number */
    size_t most_per_s;
    int64_t least_gap_ms; /* INT64_MAX before the second */
} hostile_count;

typedef struct hostile_flight {
    tk_http_request *request; /* NULL: free */
    const hostile_answer *answer;
    size_t key;
    int64_t started_ms, next_ms;
    size_t arrived;
    bool is_paused, has_head;
} hostile_flight;

typedef struct hostile_net {
    tk_transport transport;
    fakeclock *clock;
    hostile_flight flights[HOSTILE_IN_FLIGHT];
    hostile_count counts[HOSTILE_KEYS + 1];
    size_t sent;
    size_t most_bytes;    /* of one answer that the client has to keep */
    int64_t idle_step_ms; /* above 0: time passes by itself, for calls that block */
    int64_t stop_ms;      /* then: requests fail from this moment on */
    const size_t *calls;  /* of the program, so far: the pace is that of one call */
    size_t calls_seen;
    const hostile_answer *(*answer)(void *user, size_t key);
    void *user;
} hostile_net;

void hostile_net_init(hostile_net *net, fakeclock *clock);

/* The key of a method and path ("/api/v1/..."). HOSTILE_POLL(0) stands for a poll. */
size_t hostile_key_of(tk_http_method method, const char *path);
const char *hostile_key_name(size_t key);

/* Whether the answer may be as large as option max_response_bytes: a result in
 * protobuf. */
bool hostile_key_is_large(size_t key);

#endif
