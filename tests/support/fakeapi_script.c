/* The script: which route a request meets, the queue of steps of each route, and the
 * gates at which answers wait. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/fakeapi_int.h"

typedef struct step_node {
    struct step_node *next;
    fakeapi_step step; /* owns its strings */
    unsigned left;
} step_node;

struct fakeapi_route {
    fakeapi_route *next;
    char *method;
    char *path;
    step_node *steps; /* used ones stay until the end: connections borrow from them */
    step_node *head;  /* first one with uses left */
    step_node **tail;
    step_node *fallback;
    fakeapi_fault lose;
    uint64_t *seen; /* hashes of the requests whose answer was lost */
    size_t seen_n, seen_capacity;
};

bool fakeapi_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    pattern += strspn(pattern, "*");
    return *pattern == '\0';
}

static fakeapi_route *route_for(fakeapi *api, const char *method, const char *path)
{
    for (fakeapi_route *route = api->routes; route != NULL; route = route->next) {
        if (strcmp(route->method, method) == 0 && strcmp(route->path, path) == 0) {
            return route;
        }
    }
    fakeapi_route *route = fakeapi_alloc(sizeof(*route));
    route->method = fakeapi_dup_text(method);
    route->path = fakeapi_dup_text(path);
    route->tail = &route->steps;
    *api->routes_end = route;
    api->routes_end = &route->next;
    return route;
}

static step_node *node_new(const fakeapi_step *step)
{
    step_node *node = fakeapi_alloc(sizeof(*node));
    node->step = *step;
    size_t n = step->body_n > 0 || step->body == NULL ? step->body_n : strlen(step->body);
    node->step.body = fakeapi_dup(step->body, n);
    node->step.body_n = n;
    node->step.headers = fakeapi_dup_text(step->headers);
    node->step.content_type = fakeapi_dup_text(step->content_type);
    node->left = TK_MAX(step->repeat, 1u);
    return node;
}

static void node_free(step_node *node)
{
    if (node != NULL) {
        fakeapi_release((void *)(uintptr_t)node->step.body);
        fakeapi_release((void *)(uintptr_t)node->step.headers);
        fakeapi_release((void *)(uintptr_t)node->step.content_type);
        fakeapi_release(node);
    }
}

void fakeapi_reply(fakeapi *api, const char *method, const char *path,
                   const fakeapi_step *step)
{
    step_node *node = node_new(step);
    pthread_mutex_lock(&api->lock);
    fakeapi_route *route = route_for(api, method, path);
    *route->tail = node;
    route->tail = &node->next;
    route->head = route->head != NULL ? route->head : node;
    pthread_mutex_unlock(&api->lock);
}

void fakeapi_default(fakeapi *api, const char *method, const char *path,
                     const fakeapi_step *step)
{
    step_node *node = node_new(step);
    pthread_mutex_lock(&api->lock);
    fakeapi_route *route = route_for(api, method, path);
    if (route->fallback != NULL) {
        /* A connection may still be sending it: keep it with the used steps. */
        route->fallback->next = route->steps;
        route->tail = route->steps == NULL ? &route->fallback->next : route->tail;
        route->steps = route->fallback;
    }
    route->fallback = node;
    pthread_mutex_unlock(&api->lock);
}

void fakeapi_lose_first(fakeapi *api, const char *method, const char *path,
                        fakeapi_fault fault)
{
    pthread_mutex_lock(&api->lock);
    route_for(api, method, path)->lose = fault;
    pthread_mutex_unlock(&api->lock);
}

size_t fakeapi_steps_left(fakeapi *api)
{
    size_t n = 0;
    pthread_mutex_lock(&api->lock);
    for (fakeapi_route *route = api->routes; route != NULL; route = route->next) {
        for (step_node *node = route->head; node != NULL; node = node->next) {
            n += node->left;
        }
    }
    pthread_mutex_unlock(&api->lock);
    return n;
}

static bool is_for(const fakeapi_route *route, const char *method, const char *path)
{
    return fakeapi_matches(route->method, method) && fakeapi_matches(route->path, path);
}

/* The node that answers: of a queue before any default. */
static step_node *find_node(fakeapi *api, const char *method, const char *path,
                            fakeapi_route **owner)
{
    step_node *fallback = NULL;
    for (fakeapi_route *route = api->routes; route != NULL; route = route->next) {
        if (!is_for(route, method, path)) {
            continue;
        }
        if (route->head != NULL) {
            *owner = route;
            return route->head;
        }
        fallback = fallback != NULL ? fallback : route->fallback;
    }
    *owner = NULL;
    return fallback;
}

bool fakeapi_script_peek(fakeapi *api, const char *method, const char *path,
                         fakeapi_step *out)
{
    fakeapi_route *owner = NULL;
    step_node *node = find_node(api, method, path, &owner);
    *out = node != NULL ? node->step : (fakeapi_step){.pass = true};
    return node != NULL && !node->step.pass;
}

static uint64_t hash_bytes(uint64_t hash, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ (unsigned char)p[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

/* A retried ephemeral save carries a new sampling_session_seq_id (docs/protocol.md §2.3):
 * it is the same request all the same, or it would be lost forever. */
static uint64_t hash_request(const fakeapi_request *request)
{
    static const char key[] = "\"sampling_session_seq_id\":";
    uint64_t hash = UINT64_C(14695981039346656037);
    hash = hash_bytes(hash, request->method, strlen(request->method) + 1);
    hash = hash_bytes(hash, request->path, strlen(request->path) + 1);
    bool is_save = fakeapi_matches("*/save_weights_for_sampler", request->path);
    const char *skip = is_save ? strstr(request->body, key) : NULL;
    if (skip == NULL) {
        return hash_bytes(hash, request->body, request->body_n);
    }
    const char *rest = skip + sizeof(key) - 1;
    rest += strspn(rest, " 0123456789");
    hash = hash_bytes(hash, request->body, (size_t)(skip - request->body));
    return hash_bytes(hash, rest, request->body_n - (size_t)(rest - request->body));
}

static bool is_seen(fakeapi_route *route, uint64_t hash)
{
    for (size_t i = 0; i < route->seen_n; i++) {
        if (route->seen[i] == hash) {
            return true;
        }
    }
    route->seen = fakeapi_table_grow(route->seen, route->seen_n, &route->seen_capacity,
                                     sizeof(*route->seen));
    route->seen[route->seen_n++] = hash;
    return false;
}

static void lay_loss_over(fakeapi *api, const fakeapi_request *request, fakeapi_step *out)
{
    for (fakeapi_route *route = api->routes; route != NULL; route = route->next) {
        if (route->lose != FAKEAPI_NONE &&
            is_for(route, request->method, request->path) &&
            !is_seen(route, hash_request(request))) {
            out->fault = route->lose;
            return;
        }
    }
}

bool fakeapi_script_take(fakeapi *api, const fakeapi_request *request, fakeapi_step *out)
{
    fakeapi_route *owner = NULL;
    step_node *node = find_node(api, request->method, request->path, &owner);
    *out = node != NULL ? node->step : (fakeapi_step){.pass = true};
    if (owner == NULL) {
        lay_loss_over(api, request, out);
    } else if (--node->left == 0) {
        owner->head = node->next;
    }
    return !out->pass;
}

void fakeapi_script_dispose(fakeapi *api)
{
    while (api->routes != NULL) {
        fakeapi_route *route = api->routes;
        api->routes = route->next;
        while (route->steps != NULL) {
            step_node *node = route->steps;
            route->steps = node->next;
            node_free(node);
        }
        node_free(route->fallback);
        fakeapi_release(route->seen);
        fakeapi_release(route->method);
        fakeapi_release(route->path);
        fakeapi_release(route);
    }
    while (api->gates != NULL) {
        fakeapi_gate *gate = api->gates;
        api->gates = gate->next;
        fakeapi_release(gate);
    }
}

/* ---- gates ---- */

fakeapi_gate *fakeapi_gate_new(fakeapi *api)
{
    fakeapi_gate *gate = fakeapi_alloc(sizeof(*gate));
    gate->api = api;
    pthread_mutex_lock(&api->lock);
    gate->next = api->gates;
    api->gates = gate;
    pthread_mutex_unlock(&api->lock);
    return gate;
}

static void gate_set(fakeapi_gate *gate, bool is_open, size_t permits)
{
    pthread_mutex_lock(&gate->api->lock);
    gate->is_open = is_open;
    gate->permits = permits;
    pthread_mutex_unlock(&gate->api->lock);
    fakeapi_wake(gate->api);
}

void fakeapi_gate_let(fakeapi_gate *gate, size_t n)
{
    pthread_mutex_lock(&gate->api->lock);
    gate->permits += n;
    pthread_mutex_unlock(&gate->api->lock);
    fakeapi_wake(gate->api);
}

void fakeapi_gate_open(fakeapi_gate *gate)
{
    gate_set(gate, true, 0);
}

void fakeapi_gate_shut(fakeapi_gate *gate)
{
    gate_set(gate, false, 0);
}

size_t fakeapi_gate_waiting(fakeapi_gate *gate)
{
    pthread_mutex_lock(&gate->api->lock);
    size_t n = gate->waiters.n;
    pthread_mutex_unlock(&gate->api->lock);
    return n;
}

static bool take_permit(fakeapi_gate *gate)
{
    if (!gate->is_open && gate->permits == 0) {
        return false;
    }
    gate->permits -= !gate->is_open;
    return true;
}

bool fakeapi_gate_pass(fakeapi_gate *gate, fakeapi_conn *conn)
{
    bool is_first = gate->waiters.n == 0;
    if (is_first && take_permit(gate)) {
        return true;
    }
    fakeapi_waiters_add(&gate->waiters, conn);
    pthread_cond_broadcast(&gate->api->changed);
    return false;
}

void fakeapi_gates_run(fakeapi *api)
{
    for (fakeapi_gate *gate = api->gates; gate != NULL; gate = gate->next) {
        while (gate->waiters.first != NULL && take_permit(gate)) {
            fakeapi_conn *conn = gate->waiters.first;
            fakeapi_waiters_remove(conn);
            fakeapi_conn_resume(conn);
        }
    }
}

/* ---- small helps ---- */

const char *fakeapi_after_date(char out[FAKEAPI_AFTER_DATE_SIZE], int64_t unix_s)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t when = (time_t)unix_s;
    struct tm tm;
    gmtime_r(&when, &tm);
    snprintf(out, FAKEAPI_AFTER_DATE_SIZE,
             "retry-after: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday],
             tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
             tm.tm_sec);
    return out;
}
