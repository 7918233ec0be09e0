/* Requests of a client, and what is true of every answer: there is one, its status is no
 * failure of the server, its body is what its type says, an error has the documented
 * shape, and an answer whose message is in the tables of src/wire can be decoded. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fz.h"
#include "httpd/hd_route.h"
#include "server/api/srv_api.h"

/* ---- clients ---- */

void fz_client_init(fz_client *client, fz_world *world, int number)
{
    *client = (fz_client){.world = world, .number = number};
    tk_rand_init(&client->rand, world->seed * 1000003 + (uint64_t)number);
    tk_rand_init(&client->poll_rand, world->seed * 1000003 + (uint64_t)number);
    tk_arena_init(&client->arena, 0);
}

void fz_client_dispose(fz_client *client)
{
    httpget_close(&client->connection);
    tk_arena_dispose(&client->arena);
}

bool fz_client_enter_life(fz_client *client)
{
    fz_world *world = client->world;
    const struct timespec pause_for = {0, 2000000};
    httpget_close(&client->connection);
    while (atomic_load(&world->is_ending) && !atomic_load(&world->is_over)) {
        (void)nanosleep(&pause_for, NULL);
    }
    client->life = atomic_load(&world->life);
    return !atomic_load(&world->is_over);
}

uint64_t fz_below(fz_client *client, uint64_t limit)
{
    return tk_rand_below(&client->rand, limit);
}

bool fz_chance(fz_client *client, unsigned permille)
{
    return fz_below(client, 1000) < permille;
}

void fz_log(fz_client *client, const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
            *c = '.';
        }
    }
    fprintf(client->world->log, "life %u client %d request %llu: %s\n", client->life,
            client->number, client->sent, line);
}

/* Whether the server that the client talks to was ended, or is being. */
static bool is_gone(const fz_client *client)
{
    return atomic_load(&client->world->is_ending) ||
           atomic_load(&client->world->life) != client->life;
}

/* ---- one exchange ---- */

static const char *const outcome_names[] = {"ok",  "FIN",      "FIN inside",
                                            "RST", "not HTTP", "silence"};

static void keep_answer(fz_client *client, httpget_response *r, fz_answer *out)
{
    tk_err err = TK_ERR_INIT;
    const char *type = httpget_header(r, "content-type");
    out->status = r->status;
    out->is_json = type != NULL && strcmp(type, "application/json") == 0;
    const char *location = httpget_header(r, "location");
    (void)snprintf(out->location, sizeof(out->location), "%s",
                   location != NULL ? location : "");
    if (!tk_arena_dup(&client->arena, &out->body, r->body.p, r->body.n)) {
        fakeapi_die("no memory");
    }
    if (out->is_json) {
        (void)!tk_json_parse(&out->json, &client->arena, out->body.p, out->body.n, NULL,
                             &err);
    }
}

/* Connects to the server of the client's life, or returns NULL. A server that was started
 * meanwhile listens on the same port, and knows nothing of results before it: only when
 * the life has not ended by now does the connection belong to it. */
static httpget *connect_life(const fz_client *client)
{
    httpget *connection = httpget_connect(atomic_load(&client->world->port));
    if (connection != NULL && is_gone(client)) {
        httpget_close(&connection);
    }
    return connection;
}

/* A kept connection that the server has closed is opened again, once. */
static httpget_outcome exchange(fz_client *client, const fakeapi_bytes *bytes,
                                fz_answer *out)
{
    httpget_response r;
    httpget_outcome outcome = HTTPGET_RESET;
    bool reused = client->connection != NULL;
    for (int tries = reused ? 2 : 1; tries > 0 && outcome != HTTPGET_OK; tries--) {
        if (client->connection == NULL) {
            client->connection = connect_life(client);
        }
        if (client->connection == NULL) {
            return HTTPGET_RESET;
        }
        (void)httpget_send(client->connection, bytes->p, bytes->n);
        outcome = httpget_read(client->connection, &r);
        if (outcome == HTTPGET_OK) {
            keep_answer(client, &r, out);
        } else {
            httpget_close(&client->connection);
        }
        httpget_response_dispose(&r);
        if (outcome == HTTPGET_TIMEOUT) {
            break;
        }
    }
    return outcome;
}

/* Polls are held for half a second; everything else is answered at once. */
static void check_time(fz_client *client, const httpget_request *request, int64_t took_ms)
{
    if (took_ms > client->world->options->slow_ms && !is_gone(client)) {
        fz_find(client->world, "client %d request %llu: %s %.200s took %lld ms",
                client->number, client->sent, request->method, request->target,
                (long long)took_ms);
    }
}

static bool finish(fz_client *client, const httpget_request *request,
                   httpget_outcome outcome, const fz_answer *answer)
{
    const char *body = request->body != NULL ? request->body : "";
    fz_log(client, "%s %.200s %.400s -> %d %.300s", request->method, request->target,
           body, answer->status, answer->body.p != NULL ? answer->body.p : "");
    if (outcome == HTTPGET_OK) {
        atomic_fetch_add(&client->world->requests, 1);
        fz_check(client, request, answer);
        return true;
    }
    if (outcome == HTTPGET_TIMEOUT || !is_gone(client)) {
        fz_find(client->world, "client %d: %s instead of an answer to %s %.200s",
                client->number, outcome_names[outcome], request->method, request->target);
    }
    return false;
}

/* ---- ways ---- */

static void abandon(fz_client *client, const fakeapi_bytes *bytes, size_t n)
{
    httpget *connection = httpget_connect(atomic_load(&client->world->port));
    if (connection != NULL) {
        (void)httpget_send(connection, bytes->p, n);
        httpget_close(&connection);
    }
}

/* The same request on a second connection at the same time. */
static httpget_outcome exchange_both(fz_client *client, const fakeapi_bytes *bytes,
                                     fz_answer *out)
{
    fz_answer other = {0};
    httpget_response r;
    httpget *second = connect_life(client);
    if (second == NULL) {
        return HTTPGET_RESET;
    }
    (void)httpget_send(second, bytes->p, bytes->n);
    httpget_outcome outcome = exchange(client, bytes, out);
    httpget_outcome second_outcome = httpget_read(second, &r);
    if (second_outcome == HTTPGET_OK) {
        keep_answer(client, &r, &other);
    }
    httpget_response_dispose(&r);
    httpget_close(&second);
    if (outcome == HTTPGET_OK && second_outcome == HTTPGET_OK && out->status == 200 &&
        other.status == 200 && !tk_str_eq(out->body, other.body)) {
        fz_find(client->world, "client %d: one request, two answers: %.200s and %.200s",
                client->number, out->body.p, other.body.p);
    }
    return outcome != HTTPGET_OK ? outcome : second_outcome;
}

bool fz_ask(fz_client *client, const httpget_request *request, fz_way way, fz_answer *out)
{
    fakeapi_bytes bytes = {0};
    httpget_outcome outcome = HTTPGET_OK;
    int64_t began = tk_clock_mono_ms(NULL);
    client->sent++;
    httpget_write(&bytes, request);
    *out = (fz_answer){0};
    if (way == FZ_UNREAD || way == FZ_HALF) {
        abandon(client, &bytes, way == FZ_HALF ? bytes.n / 2 : bytes.n);
    }
    if (way == FZ_TWICE) {
        outcome = exchange(client, &bytes, out);
    }
    if (outcome == HTTPGET_OK) {
        outcome = way == FZ_BOTH ? exchange_both(client, &bytes, out)
                                 : exchange(client, &bytes, out);
    }
    fakeapi_bytes_dispose(&bytes);
    check_time(client, request, tk_clock_mono_ms(NULL) - began);
    return finish(client, request, outcome, out);
}

bool fz_post(fz_client *client, const char *route, const char *body, fz_way way,
             fz_answer *out)
{
    char target[256];
    (void)snprintf(target, sizeof(target), FZ_API "%s", route);
    const httpget_request request = {.method = "POST",
                                     .target = target,
                                     .headers = "X-API-Key: " FZ_KEY "\r\n",
                                     .body = body};
    return fz_ask(client, &request, way, out);
}

void fz_throw(fz_client *client, const void *data, size_t n, bool read_answer)
{
    httpget_response r;
    httpget *connection = httpget_connect(atomic_load(&client->world->port));
    client->sent++;
    fz_log(client, "raw %.*s", (int)TK_MIN(n, (size_t)400), (const char *)data);
    if (connection == NULL) {
        if (!is_gone(client)) {
            fz_find(client->world, "client %d: no connection", client->number);
        }
        return;
    }
    (void)httpget_send(connection, data, n);
    if (read_answer) {
        httpget_half_close(connection);
        httpget_outcome outcome = httpget_read(connection, &r);
        fz_log(client, "raw -> %s %d", outcome_names[outcome], r.status);
        if (outcome == HTTPGET_TIMEOUT) {
            fz_find(client->world, "client %d: silence after bytes and FIN",
                    client->number);
        }
        httpget_response_dispose(&r);
    }
    httpget_close(&connection);
}

int fz_listen(fz_client *client, const httpget_request *request, size_t n)
{
    httpget *connection = httpget_connect(atomic_load(&client->world->port));
    client->sent++;
    fz_log(client, "%s %.200s, listens", request->method, request->target);
    if (connection == NULL) {
        return 0;
    }
    int status = httpget_ask(connection, request) ? httpget_status(connection) : 0;
    bool is_line =
        false; /* the first event is there at once, and ends with an empty line */
    for (char byte; status == 200 && n > 0 && httpget_byte(connection, &byte); n--) {
        if (byte == '\n' && is_line) {
            break;
        }
        is_line = byte == '\n';
    }
    httpget_close(&connection);
    return status;
}

const char *fz_text(const fz_answer *answer, const char *key)
{
    const tk_json *value = tk_json_get(answer->json, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : "";
}

/* ---- every answer ---- */

static bool is_text(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING;
}

/* {"detail": text} or {"detail": [{"loc", "msg", "type"}]}. */
static bool has_detail(const tk_json *json)
{
    const tk_json *detail = tk_json_get(json, "detail");
    if (is_text(json, "detail")) {
        return true;
    }
    for (size_t i = 0; i < tk_json_len(detail); i++) {
        const tk_json row = tk_json_at(detail, i);
        const tk_json *loc = tk_json_get(&row, "loc");
        if (!is_text(&row, "msg") || !is_text(&row, "type") || loc == NULL ||
            !tk_json_is_array(loc)) {
            return false;
        }
    }
    return tk_json_len(detail) > 0;
}

/* The shape of OpenAI's and Anthropic's errors, on the routes of the gateway. */
static bool has_error(const httpget_request *request, const tk_json *json)
{
    static const char *const starts[] = {"/v1", "/e/", "/tinkc/v1/episodes"};
    const tk_json *error = tk_json_get(json, "error");
    bool is_agent = false;
    for (size_t i = 0; i < TK_ARRAY_LEN(starts); i++) {
        is_agent =
            is_agent || strncmp(request->target, starts[i], strlen(starts[i])) == 0;
    }
    return is_agent && error != NULL && is_text(error, "message") &&
           is_text(error, "type");
}

static const hd_route *route_of(const httpget_request *request)
{
    tk_str params[HD_PARAMS_MAX];
    tk_str rest = tk_str_of(request->target);
    int status = 0;
    return hd_route_find(&srv_api_routes, request->method, tk_str_cut(&rest, '?'), params,
                         &status);
}

static bool decodes(fz_client *client, const tk_schema *schema, const tk_json *json,
                    tk_err *err)
{
    void *msg = tk_arena_zalloc(&client->arena, schema->size);
    return msg != NULL &&
           tk_schema_decode(msg, schema, &client->arena, json, 0, err) == TINKC_OK;
}

static const char *blame(fz_client *client, const httpget_request *request,
                         const fz_answer *a, tk_err *err)
{
    const hd_route *route = route_of(request);
    bool stopping = a->status == 503 && is_gone(client);
    if (a->status >= 500 && !stopping) {
        return "a failure of the server";
    }
    if (a->is_json && a->json == NULL) {
        return "JSON that is none";
    }
    if (a->status == 408) {
        return strcmp(fz_text(a, "type"), "try_again") == 0 &&
                       is_text(a->json, "request_id")
                   ? NULL
                   : "a 408 that is no try_again";
    }
    if (a->status >= 400 && !has_detail(a->json) && !has_error(request, a->json)) {
        return "an error without the documented shape";
    }
    const tk_schema *schema =
        a->status == 200 && route != NULL
            ? fz_body_schema(TK_DIR_RESPONSE, route->method, route->pattern)
            : NULL;
    if (schema != NULL && a->is_json && !decodes(client, schema, a->json, err)) {
        return "an answer that its message's table does not allow";
    }
    return NULL;
}

void fz_check(fz_client *client, const httpget_request *request, const fz_answer *answer)
{
    tk_err err = TK_ERR_INIT;
    const hd_route *route = route_of(request);
    if (route != NULL) {
        fz_routes_count(route, answer->status);
    }
    const char *what = blame(client, request, answer, &err);
    if (what != NULL) {
        fz_find(client->world,
                "client %d request %llu: %s (%s %s): %s %.200s %.600s -> %d %.300s",
                client->number, client->sent, what, err.path, err.message,
                request->method, request->target,
                request->body != NULL ? (const char *)request->body : "", answer->status,
                answer->body.p != NULL ? answer->body.p : "");
    }
}
