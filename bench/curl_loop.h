/* What a careful C programmer would write straight on libcurl for the same job: one
 * thread, one epoll, a multi handle for each of the two URLs, easy handles that are set
 * up once and used again, header lists that are built once, answers collected in memory.
 * It repeats two recorded requests to the byte and neither encodes nor reads anything:
 * the floor that bench_client holds the client against. */
#ifndef BENCH_CURL_LOOP_H
#define BENCH_CURL_LOOP_H

#include <stddef.h>

typedef struct curl_loop curl_loop;

/* One recorded request: "Name: value" lines and the body, all copied. */
typedef struct curl_loop_request {
    const char *url;
    const char *const *lines;
    size_t lines_n;
    const char *body;
    size_t body_n;
} curl_loop_request;

/* `width` pairs of requests are under way at a time. */
curl_loop *curl_loop_new(const curl_loop_request *first, const curl_loop_request *second,
                         size_t width);

/* Runs n pairs, each second request after the answer to its first. */
void curl_loop_run(curl_loop *loop, size_t n);

void curl_loop_free(curl_loop **loop);

#endif
