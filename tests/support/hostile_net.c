/* See hostile_net.h. Bodies are copied into a block of exactly their size, so that reading
 * past the end or after `done` is noticed; the blocks are counted as the client's. */
#include "support/hostile_net.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define STREAM_BYTES (4 * TK_MIB) /* an endless stream is reset after them */
#define STREAM_PIECE (64 * TK_KIB)
#define FIELDS       (HOSTILE_FIELDS + 2)

static hostile_net *net_of(tk_transport *transport)
{
    return TK_CONTAINER_OF(transport, hostile_net, transport);
}

static int64_t now_of(const hostile_net *net)
{
    return tk_clock_mono_ms(&net->clock->clock);
}

/* ---- what is asked ---- */

/* Whether the path fits "/a/{}/b"; more: the longer part before and after the braces. */
static size_t fit(const char *pattern, const char *path)
{
    const char *brace = strstr(pattern, "{}");
    size_t before = brace != NULL ? (size_t)(brace - pattern) : strlen(pattern);
    size_t after = brace != NULL ? strlen(brace + 2) : 0;
    size_t n = strcspn(path, "?");
    if (n < before + after + (brace != NULL ? 1 : 0) || (brace == NULL && n != before) ||
        strncmp(pattern, path, before) != 0 ||
        (after > 0 && memcmp(path + n - after, brace + 2, after) != 0)) {
        return 0;
    }
    return 1 + before + after;
}

static size_t best_key(const char *path, const tk_http_method *method)
{
    size_t best = 0, key = HOSTILE_NO_KEY;
    for (size_t i = 0; i < TK_EP_COUNT; i++) {
        const tk_endpoint *endpoint = tk_endpoint_at((tk_endpoint_id)i);
        size_t fits =
            method == NULL || endpoint->method == *method ? fit(endpoint->path, path) : 0;
        if (fits > best) {
            best = fits;
            key = i;
        }
    }
    return key == TK_EP_RETRIEVE_FUTURE ? HOSTILE_POLL(0) : key;
}

/* A redirect may have changed the method. */
size_t hostile_key_of(tk_http_method method, const char *path)
{
    size_t key = best_key(path, &method);
    return key != HOSTILE_NO_KEY ? key : best_key(path, NULL);
}

const char *hostile_key_name(size_t key)
{
    return key < TK_EP_COUNT ? tk_endpoint_at((tk_endpoint_id)key)->name
           : key < HOSTILE_KEYS
               ? tk_future_info_of((tk_future_type)(key - TK_EP_COUNT))->header
               : "other";
}

bool hostile_key_is_large(size_t key)
{
    return key >= TK_EP_COUNT && key < HOSTILE_KEYS &&
           tk_future_info_of((tk_future_type)(key - TK_EP_COUNT))->is_proto;
}

static size_t poll_key(const tk_http_request *request)
{
    static const char name[] = "X-Tinker-Request-Type:";
    for (size_t i = 0; i < request->headers_n; i++) {
        const char *line = request->headers[i];
        for (size_t t = 0;
             strncasecmp(line, name, sizeof(name) - 1) == 0 && t < TK_FUTURE_TYPES; t++) {
            const char *value = line + sizeof(name) - 1;
            if (strcmp(value + strspn(value, " "),
                       tk_future_info_of((tk_future_type)t)->header) == 0) {
                return HOSTILE_POLL(t);
            }
        }
    }
    return HOSTILE_NO_KEY;
}

static size_t key_of_request(const tk_http_request *request)
{
    const char *path = strstr(request->url, "/api/v1/");
    size_t key = hostile_key_of(request->method, path != NULL ? path : request->url);
    return key == HOSTILE_POLL(0) ? poll_key(request) : key;
}

static void note(hostile_count *count, int64_t now_ms)
{
    size_t within = 1;
    size_t known = TK_MIN(count->sent - count->since, (size_t)HOSTILE_RECENT - 1);
    for (size_t i = 1; i <= known; i++) {
        int64_t gap = now_ms - count->recent_ms[(count->sent - i) % HOSTILE_RECENT];
        count->least_gap_ms =
            i == 1 ? TK_MIN(count->least_gap_ms, gap) : count->least_gap_ms;
        within += gap < 1000;
    }
    count->recent_ms[count->sent++ % HOSTILE_RECENT] = now_ms;
    count->most_per_s = TK_MAX(count->most_per_s, within);
}

/* A program that asks for item after item hurries the server itself. */
static void begin_call(hostile_net *net)
{
    if (net->calls != NULL && *net->calls != net->calls_seen) {
        net->calls_seen = *net->calls;
        for (size_t i = 0; i <= HOSTILE_KEYS; i++) {
            net->counts[i].since = net->counts[i].sent;
        }
    }
}

/* ---- the end of a request ---- */

static void finish(hostile_flight *flight, const tk_http_response *response)
{
    tk_http_request *request = flight->request;
    flight->request = NULL;
    request->impl = NULL;
    request->done(request, response);
}

static void fail(hostile_flight *flight, tk_http_failure failure)
{
    tk_http_response response = {.failure = failure, .err = TK_ERR_INIT};
    tk_err_set(&response.err, tk_http_failure_code(failure), "hostile: %s",
               tk_http_failure_name(failure));
    finish(flight, &response);
}

static bool is_streamed(const hostile_flight *flight)
{
    return flight->request->on_data != NULL && flight->answer->status / 100 == 2;
}

static size_t fill_fields(tk_http_field *fields, char length[32],
                          const hostile_answer *answer)
{
    size_t n = 0;
    if (answer->type != NULL) {
        fields[n++] = (tk_http_field){tk_str_of("Content-Type"), tk_str_of(answer->type)};
    }
    for (size_t i = 0; i < answer->fields_n; i++) {
        fields[n++] = (tk_http_field){tk_str_of(answer->fields[i].name),
                                      tk_str_of(answer->fields[i].value)};
    }
    if (!answer->no_length) {
        (void)snprintf(length, 32, "%zu", answer->body.n);
        fields[n++] = (tk_http_field){tk_str_of("Content-Length"), tk_str_of(length)};
    }
    return n;
}

static size_t most_bytes(const hostile_flight *flight)
{
    const tk_http_request *request = flight->request;
    size_t most = request->max_response_bytes != 0 ? request->max_response_bytes
                                                   : TK_BODY_MAX_BYTES;
    bool is_refusal = flight->answer->status / 100 != 2;
    return is_refusal && request->max_refusal_bytes != 0
               ? TK_MIN(most, request->max_refusal_bytes)
               : most;
}

static void deliver(hostile_flight *flight)
{
    const hostile_answer *answer = flight->answer;
    tk_http_field fields[FIELDS];
    char length[32];
    tk_http_response response = {.status = answer->status,
                                 .err = TK_ERR_INIT,
                                 .headers = fields,
                                 .headers_n = fill_fields(fields, length, answer)};
    if (is_streamed(flight)) {
        finish(flight, &response);
        return;
    }
    if (answer->body.n > most_bytes(flight)) {
        fail(flight, TK_HTTP_TOO_LARGE);
        return;
    }
    char *copy = answer->body.n > 0 ? tk_malloc(answer->body.n) : NULL;
    if (copy != NULL) {
        memcpy(copy, answer->body.p, answer->body.n);
        response.body = (tk_str){copy, answer->body.n};
    }
    finish(flight, &response);
    tk_free(copy);
}

/* ---- pieces ---- */

/* Hands a piece to a stream; false when the request is over or paused. */
static bool stream(hostile_flight *flight, const char *p, size_t n)
{
    tk_http_request *request = flight->request;
    if (!flight->has_head) {
        tk_http_field fields[FIELDS];
        char length[32];
        tk_http_response head = {.status = flight->answer->status,
                                 .err = TK_ERR_INIT,
                                 .headers = fields,
                                 .headers_n =
                                     fill_fields(fields, length, flight->answer)};
        flight->has_head = true;
        if (request->on_head != NULL) {
            request->on_head(request, &head);
        }
    }
    char *copy = tk_malloc(TK_MAX(n, (size_t)1));
    if (copy == NULL) {
        fail(flight, TK_HTTP_NOMEM);
        return false;
    }
    memcpy(copy, p, n);
    tk_http_flow flow = n > 0 ? request->on_data(request, copy, n) : TK_HTTP_TAKE;
    tk_free(copy);
    if (flight->request == NULL) { /* it was cancelled inside */
        return false;
    }
    if (flow == TK_HTTP_STOP) {
        fail(flight, TK_HTTP_CANCELLED);
        return false;
    }
    flight->is_paused = flow == TK_HTTP_PAUSE;
    return !flight->is_paused;
}

/* The next `n` bytes of the body; blanks after its end. */
static bool arrive(hostile_net *net, hostile_flight *flight, size_t n)
{
    static const char blanks[STREAM_PIECE] = {0};
    const tk_buf *body = &flight->answer->body;
    bool inside = flight->arrived < body->n;
    n = inside ? TK_MIN(n, body->n - flight->arrived) : n;
    if (is_streamed(flight)) {
        n = TK_MIN(n, (size_t)STREAM_PIECE);
        if (!stream(flight, inside ? body->p + flight->arrived : blanks, n)) {
            return false;
        }
    }
    flight->arrived += n;
    if (is_streamed(flight)) {
        return true;
    }
    bool is_over = flight->arrived > most_bytes(flight);
    if (!hostile_key_is_large(flight->key)) {
        net->most_bytes =
            TK_MAX(net->most_bytes, is_over ? most_bytes(flight) : flight->arrived);
    }
    if (is_over) {
        fail(flight, TK_HTTP_TOO_LARGE);
    }
    return !is_over;
}

static void step_endless(hostile_net *net, hostile_flight *flight)
{
    if (!arrive(net, flight, TK_MIB)) {
        return;
    }
    if (is_streamed(flight) && flight->arrived > STREAM_BYTES) {
        fail(flight, TK_HTTP_RESET);
        return;
    }
    flight->next_ms++;
}

static void step_drip(hostile_net *net, hostile_flight *flight, size_t bytes, int64_t ms)
{
    bool is_endless = flight->answer->flow == HOSTILE_CRAWL;
    if (!arrive(net, flight, bytes)) {
        return;
    }
    if (!is_endless && flight->arrived >= flight->answer->body.n) {
        deliver(flight);
        return;
    }
    if (is_endless && is_streamed(flight) && flight->arrived > 600) {
        fail(flight, TK_HTTP_RESET);
        return;
    }
    flight->next_ms += ms;
}

static void step(hostile_net *net, hostile_flight *flight)
{
    const hostile_answer *answer = flight->answer;
    switch (answer->flow) {
    case HOSTILE_WHOLE:
        if (!is_streamed(flight) || answer->body.n == flight->arrived) {
            deliver(flight);
        } else if (arrive(net, flight, answer->body.n)) {
            flight->next_ms = flight->started_ms;
        }
        break;
    case HOSTILE_FAILED:
        fail(flight, answer->failure);
        break;
    case HOSTILE_NEVER:
        break;
    case HOSTILE_CUT:
        if (!is_streamed(flight) || arrive(net, flight, answer->body.n / 2)) {
            fail(flight, TK_HTTP_RESET);
        }
        break;
    case HOSTILE_DRIP:
        step_drip(net, flight, answer->drip_bytes, answer->drip_ms);
        break;
    case HOSTILE_ENDLESS:
        step_endless(net, flight);
        break;
    case HOSTILE_CRAWL:
        step_drip(net, flight, 1, 1000);
        break;
    }
}

/* ---- the transport ---- */

/* When the request gives up: its own deadline, or, of a stream, the limit for a silence and
 * for a refusal. */
static int64_t expiry(const hostile_flight *flight)
{
    const tk_http_request *request = flight->request;
    if (request->timeout_ms >= 0) {
        return flight->started_ms + request->timeout_ms;
    }
    bool is_limited = flight->answer->flow == HOSTILE_NEVER || !is_streamed(flight);
    return is_limited && request->idle_timeout_ms > 0
               ? flight->started_ms + request->idle_timeout_ms
               : INT64_MAX;
}

static int64_t due_ms(const hostile_flight *flight)
{
    bool waits = flight->answer->flow == HOSTILE_NEVER || flight->is_paused;
    return TK_MIN(expiry(flight), waits ? INT64_MAX : flight->next_ms);
}

static tinkc_code submit(tk_transport *transport, tk_http_request *request, tk_err *err)
{
    hostile_net *net = net_of(transport);
    size_t i = 0;
    while (i < HOSTILE_IN_FLIGHT && net->flights[i].request != NULL) {
        i++;
    }
    if (i == HOSTILE_IN_FLIGHT) {
        return tk_err_set(err, TINKC_E_LIMIT, "hostile: too many requests at once");
    }
    int64_t now = now_of(net);
    size_t key = key_of_request(request);
    begin_call(net);
    note(&net->counts[key], now);
    net->sent++;
    net->flights[i] = (hostile_flight){.request = request,
                                       .key = key,
                                       .answer = net->answer(net->user, key),
                                       .started_ms = now,
                                       .next_ms = now};
    request->impl = &net->flights[i];
    return TINKC_OK;
}

static void cancel(tk_transport *transport, tk_http_request *request)
{
    (void)transport;
    if (request->impl != NULL) {
        fail(request->impl, TK_HTTP_CANCELLED);
    }
}

static void resume(tk_transport *transport, tk_http_request *request)
{
    hostile_flight *flight = request->impl;
    if (flight != NULL && flight->is_paused) {
        flight->is_paused = false;
        flight->next_ms = now_of(net_of(transport));
    }
}

static int no_fd(tk_transport *transport)
{
    (void)transport;
    return -1;
}

static int64_t deadline(tk_transport *transport)
{
    hostile_net *net = net_of(transport);
    int64_t first = net->idle_step_ms > 0 ? 0 : INT64_MAX;
    for (size_t i = 0; i < HOSTILE_IN_FLIGHT; i++) {
        if (net->flights[i].request != NULL) {
            first = TK_MIN(first, due_ms(&net->flights[i]));
        }
    }
    return first;
}

static void process(tk_transport *transport)
{
    hostile_net *net = net_of(transport);
    int64_t now = now_of(net);
    bool did = false;
    for (size_t i = 0; i < HOSTILE_IN_FLIGHT; i++) {
        hostile_flight *flight = &net->flights[i];
        if (flight->request == NULL || due_ms(flight) > now) {
            continue;
        }
        did = true;
        if (net->idle_step_ms > 0 && now >= net->stop_ms) {
            fail(flight, TK_HTTP_TRUST); /* which nothing repeats */
        } else if (expiry(flight) <= now) {
            fail(flight, TK_HTTP_TIMEOUT);
        } else {
            step(net, flight);
        }
    }
    if (!did && net->idle_step_ms > 0) {
        fakeclock_advance_ms(net->clock, net->idle_step_ms);
    }
}

static void close_all(tk_transport *transport)
{
    hostile_net *net = net_of(transport);
    for (size_t i = 0; i < HOSTILE_IN_FLIGHT; i++) {
        if (net->flights[i].request != NULL) {
            fail(&net->flights[i], TK_HTTP_CANCELLED);
        }
    }
}

void hostile_net_init(hostile_net *net, fakeclock *clock)
{
    static const tk_transport_ops ops = {submit,   cancel,  resume,   no_fd,
                                         deadline, process, close_all};
    *net = (hostile_net){.transport = {&ops}, .clock = clock};
    for (size_t i = 0; i <= HOSTILE_KEYS; i++) {
        net->counts[i].least_gap_ms = INT64_MAX;
    }
}
