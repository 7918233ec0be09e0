/* A hostile client: any route with a body from its table, mostly spoiled in one place,
 * with odd headers, wrong keys, packed bodies, cut connections; and bytes that are no
 * request. It has its own session, model and checkpoint, so that it harms only itself. */
#include <string.h>

#include "base/mem.h"
#include "fz.h"
#include "httpd/hd_route.h"
#include "server/api/srv_api.h"
#include "wire/zstd.h"

#define KEY "X-API-Key: " FZ_KEY "\r\n"

/* ---- what it has ---- */

static bool post(fz_client *c, const char *route, const char *body, fz_answer *out)
{
    return fz_post(c, route, body, FZ_PLAIN, out) && out->status == 200;
}

/* Polls the last future, for a bounded number of times. */
static bool wait_future(fz_client *c, const fz_ids *ids)
{
    char body[FZ_ID_BYTES + 64];
    fz_answer answer = {0};
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", ids->future);
    for (int i = 0; i < 200; i++) {
        if (!fz_post(c, "retrieve_future", body, FZ_PLAIN, &answer)) {
            return false;
        }
        if (answer.status != 408) {
            break;
        }
    }
    return true;
}

/* What the hostile client that began last has: others use it too, at the same time. */
static struct {
    tk_mutex lock;
    fz_ids ids;
} shared = {.lock = TK_MUTEX_INIT};

static void publish(const fz_ids *ids)
{
    tk_mutex_lock(&shared.lock);
    shared.ids = *ids;
    tk_mutex_unlock(&shared.lock);
}

/* The client's own ids, or those of another. */
static fz_ids borrow(fz_client *c, const fz_ids *own)
{
    fz_ids ids = *own;
    if (fz_chance(c, 300)) {
        tk_mutex_lock(&shared.lock);
        ids = shared.ids;
        tk_mutex_unlock(&shared.lock);
    }
    return ids;
}

static bool begin(fz_client *c, fz_ids *ids)
{
    char body[512];
    fz_answer answer;
    *ids = (fz_ids){.seq = 3, .model_seq = 1, .sampler_seq = 1};
    if (!post(c, "create_session", "{\"tags\":[\"x\"],\"sdk_version\":\"1\"}", &answer)) {
        return false;
    }
    (void)snprintf(ids->session, sizeof(ids->session), "%s",
                   fz_text(&answer, "session_id"));
    (void)snprintf(ids->sampler, sizeof(ids->sampler), "%.100s:sample:0", ids->session);
    (void)snprintf(ids->model, sizeof(ids->model), "%.100s:train:0", ids->session);
    (void)snprintf(ids->future, sizeof(ids->future), "%.100s:0", ids->model);
    (void)snprintf(ids->path, sizeof(ids->path), "tinker://%.100s/weights/w", ids->model);
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"" FZ_MODEL
                   "\",\"lora_config\":{\"rank\":2}}",
                   ids->session);
    if (!post(c, "create_model", body, &answer) || !wait_future(c, ids)) {
        return false;
    }
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"path\":\"w\",\"seq_id\":1}", ids->model);
    if (!post(c, "save_weights", body, &answer)) {
        return false;
    }
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"path\":\"e\",\"seq_id\":2}", ids->model);
    if (!post(c, "save_weights_external", body, &answer)) {
        return false;
    }
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"sampling_session_seq_id\":0,\"base_model\":"
                   "\"" FZ_MODEL "\"}",
                   ids->session);
    publish(ids);
    return post(c, "create_sampling_session", body, &answer);
}

/* ---- a request ---- */

static const char *const fillers[] = {
    "x",       "..",       "%2e%2e",  "%00", "a%2fb",
    "%ff",     ":train:0", "0",       "-1",  "tinker:%2f%2fa",
    "weights", "%25",      "a:b:c:d", "'",   "9223372036854775808",
};

static const char *const queries[] = {
    "?limit=99999999999999999999999&offset=-1",
    "?limit=9223372036854775807&offset=9223372036854775807",
    "?limit=0&offset=0",
    "?limit=-5&offset=x&access_scope=%00&project_id=..",
    "?starting_on=&ending_before=9999-99-99T99:99:99Z",
    "?starting_on=2026-01-01T00:00:00Z&ending_before=2027-01-01T00:00:00Z",
    "?starting_on=2026-01-01T00:00:00Z&ending_before=2026-01-02T00:00:00Z",
    "?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t",
    "?expires=1&signature=0",
    "?metric=loss&by=tokens&from=1&to=9&points=7",
    "?metric=loss,lr,,x&from=-1e308&to=1e308&points=4000",
    "?limit=3&before=5&search=%ff%25",
    "?limit=3&min=-1e308&max=1e308",
    "?group=1&model=a&run=b&search=x",
    "?limit",
    "?=",
};

const char *fz_hostile_id(const fz_ids *ids, const char *pattern, const char *at)
{
    const struct {
        const char *before, *id;
    } rows[] = {
        {"/sessions/", ids->session},
        {"/samplers/", ids->sampler},
        {"/training_runs/", ids->model},
        {"/checkpoints/", "weights/w"},
        {"/v1/models/", "tinkc"},
        {"/v1/models/*/", "pebble-llama-2m"},
        {"/v1/models/*/*/", "tokenizer.json"},
        {"/v1/archives/", "1"},
        {"/v1/archives/*/", "weights/w"},
        {"/v1/files/", "1"},
        {"/v1/files/*/", "external_weights/e"},
        {"/v1/files/*/**/", "config.json"},
        {"/e/", "e-1"},
        {"/v1/episodes/", "e-1"},
        {"/v1/uploads/", ids->session},
        {"/v1/uploads/*/", "adapter_config.json"},
        {"/console/", "main.js"},
        {"/console/runs/", ids->model},
        {"/console/samples/", "1"},
    };
    size_t n = (size_t)(at - pattern);
    if (strcmp(pattern, "/tinkc/v1/models/*/*") == 0) { /* a name without a slash */
        return at[1] == '\0' ? "tokenizer.json" : "m-1";
    }
    if (strcmp(at, "**") == 0 && strstr(pattern, "/v1/models/**") != NULL) {
        return FZ_MODEL;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        size_t k = strlen(rows[i].before);
        if (n >= k && strncmp(at - k, rows[i].before, k) == 0) {
            return rows[i].id;
        }
    }
    return NULL;
}

/* The checkpoint of its session: one of three kinds. */
static const char *id_for(fz_client *c, const fz_ids *ids, const char *pattern,
                          const char *at)
{
    const char *id = fz_hostile_id(ids, pattern, at);
    bool is_external = strstr(pattern, "/external_weights") != NULL;
    if (strcmp(id, "weights/w") == 0 && fz_chance(c, is_external ? 800 : 200)) {
        return is_external || fz_chance(c, 500) ? "external_weights/e"
                                                : "sampler_weights/w";
    }
    return id;
}

/* Appends a signed link that the server gave out, in one of two cases wrong in one place;
 * false when there is none of its kind. */
static bool write_link(tk_buf *out, fz_client *c, const fz_ids *ids, const char *pattern)
{
    static const char *const starts[FZ_LINKS] = {
        "/tinkc/v1/archives/", "/tinkc/v1/files/", "/tinkc/v1/uploads/"};
    for (size_t i = 0; i < FZ_LINKS; i++) {
        if (strncmp(pattern, starts[i], strlen(starts[i])) == 0 &&
            ids->links[i][0] != '\0') {
            size_t n = strlen(ids->links[i]);
            size_t at = out->n + strlen(starts[i]);
            tk_buf_puts(out, ids->links[i]);
            if (fz_chance(c, 500) && out->p != NULL && n > strlen(starts[i])) {
                at += (size_t)fz_below(c, n - strlen(starts[i]));
                out->p[at] = out->p[at] == '0' ? '1' : '0';
            }
            return true;
        }
    }
    return false;
}

static void write_target(tk_buf *out, fz_client *c, const fz_ids *ids,
                         const char *pattern)
{
    bool is_link = fz_chance(c, 700) && write_link(out, c, ids, pattern);
    for (const char *p = is_link ? "" : pattern; *p != '\0'; p++) {
        if (*p != '*') {
            tk_buf_putc(out, *p);
            continue;
        }
        bool odd = fz_chance(c, 300);
        tk_buf_puts(out, odd ? fillers[fz_below(c, TK_ARRAY_LEN(fillers))]
                             : id_for(c, ids, pattern, p));
        p += p[1] == '*';
    }
    if (!is_link && fz_chance(c, 250)) {
        tk_buf_puts(out, queries[fz_below(c, TK_ARRAY_LEN(queries))]);
    }
    tk_buf_putc(out, '\0');
}

static void write_headers(tk_buf *out, fz_client *c)
{
    static const char *const odd[] = {
        "Accept: application/x-protobuf\r\n",
        "Accept: text/html;q=0, */*\r\n",
        "Content-Encoding: gzip\r\n",
        "Content-Encoding: zstd\r\n",
        "Content-Encoding: identity\r\n",
        "X-Idempotency-Key: a\r\n",
        "X-Idempotency-Key: a\r\nX-Idempotency-Key: b\r\n",
        "Expect: 100-continue\r\n",
        "Connection: close\r\n",
        "Connection: upgrade\r\nUpgrade: h2c\r\n",
        "Range: bytes=0-0\r\n",
        "Range: bytes=9-1,2-3,-0\r\n",
        "Range: bytes=18446744073709551615-\r\n",
        "If-Range: \"x\"\r\n",
        "Origin: http://evil.example\r\n",
        "X-Forwarded-For: 1.2.3.4\r\n",
        "Cookie: a=b; c=\"d\r\n",
        "Host: localhost\r\n",
    };
    static const char *const keys[] = {
        "X-API-Key: tml-wrong\r\n",
        "X-API-Key: \r\n",
        "",
        "X-API-Key: tml-fuzz-key-and-more\r\n",
        "x-api-key: tml-wrong\r\nX-API-Key: " FZ_KEY "\r\n",
        "Authorization: Bearer " FZ_KEY "\r\n",
    };
    tk_buf_puts(out, fz_chance(c, 930) ? KEY : keys[fz_below(c, TK_ARRAY_LEN(keys))]);
    while (fz_chance(c, 200)) {
        tk_buf_puts(out, odd[fz_below(c, TK_ARRAY_LEN(odd))]);
    }
    if (fz_chance(c, 20)) { /* as long as a key may be, and longer */
        size_t n = 250 + (size_t)fz_below(c, 20);
        tk_buf_puts(out, "X-Idempotency-Key: ");
        for (size_t i = 0; i < n; i++) {
            tk_buf_putc(out, 'k');
        }
        tk_buf_puts(out, "\r\n");
    }
    tk_buf_putc(out, '\0');
}

static void pack(tk_buf *body, tk_buf *headers)
{
    tk_zstd zstd;
    tk_buf packed;
    tk_zstd_init(&zstd);
    tk_buf_init(&packed, 2 * TK_MIB);
    const tk_bytes plain = {(const unsigned char *)body->p, body->n};
    if (tk_zstd_compress(&zstd, &packed, plain, 1, NULL) == TINKC_OK) {
        tk_buf_clear(body);
        tk_buf_put(body, packed.p, packed.n);
        headers->n--; /* the NUL */
        tk_buf_puts(headers, "Content-Encoding: zstd\r\n");
        tk_buf_putc(headers, '\0');
    }
    tk_buf_dispose(&packed);
    tk_zstd_dispose(&zstd);
}

/* Keeps the first link of each kind that an answer has. */
static void note_links(fz_ids *ids, const fz_answer *answer)
{
    static const char *const starts[FZ_LINKS] = {
        "/tinkc/v1/archives/", "/tinkc/v1/files/", "/tinkc/v1/uploads/"};
    for (size_t i = 0; i < FZ_LINKS; i++) {
        const char *at = strstr(answer->location, starts[i]);
        if (at == NULL && answer->is_json && answer->body.p != NULL) {
            at = strstr(answer->body.p, starts[i]);
        }
        size_t n = at != NULL ? strcspn(at, "\"") : 0;
        if (n > 0 && n < sizeof(ids->links[i])) {
            memcpy(ids->links[i], at, n);
            ids->links[i][n] = '\0';
        }
    }
}

static void note(fz_ids *ids, const fz_answer *answer)
{
    if (answer->status < 400) {
        note_links(ids, answer);
    }
    const char *future = fz_text(answer, "request_id");
    if (answer->status == 200 && future[0] != '\0' && strlen(future) < FZ_ID_BYTES) {
        (void)snprintf(ids->future, sizeof(ids->future), "%s", future);
    }
}

static bool is_lost(const fz_answer *answer)
{
    return answer->status == 404 && answer->body.p != NULL &&
           (strstr(answer->body.p, "Model not found") != NULL ||
            strstr(answer->body.p, "Session not found") != NULL);
}

/* The pieces of one request. */
typedef struct parts {
    tk_buf target, headers, body;
} parts;

static bool send_parts(fz_client *c, fz_ids *ids, const hd_route *route, parts *p,
                       bool has_body)
{
    static const char *const methods[] = {"GET",   "POST",    "PUT", "DELETE",
                                          "PATCH", "OPTIONS", "X"};
    static const char *const types[] = {
        "application/x-protobuf", "text/plain", "application/json; charset=utf-8",
        "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"};
    fz_answer answer;
    const httpget_request request = {
        .method = fz_chance(c, 950) ? route->method
                                    : methods[fz_below(c, TK_ARRAY_LEN(methods))],
        .target = p->target.p,
        .headers = p->headers.p,
        .body = has_body ? (p->body.n > 0 ? p->body.p : "") : NULL,
        .body_n = p->body.n,
        .chunk = has_body && fz_chance(c, 50) ? 1 + (size_t)fz_below(c, 100) : 0,
        .content_type =
            fz_chance(c, 900) ? NULL : types[fz_below(c, TK_ARRAY_LEN(types))]};
    fz_way way = fz_chance(c, 900) ? FZ_PLAIN : (fz_chance(c, 500) ? FZ_UNREAD : FZ_HALF);
    if (strstr(route->pattern, "/console/events") != NULL) { /* its answer has no end */
        size_t n = (size_t)fz_below(c, 400); /* within the headers, or within an event */
        fz_routes_count(route, fz_listen(c, &request, n));
        return true;
    }
    if (!fz_ask(c, &request, way, &answer)) {
        return false;
    }
    note(ids, &answer);
    return !is_lost(&answer) || fz_chance(c, 700) || begin(c, ids);
}

/* Some row; of the gateway's only, as often as the options say. */
static const hd_route *pick_route(fz_client *c)
{
    const hd_route *route = &srv_api_routes.p[fz_below(c, srv_api_routes.n)];
    bool is_any = !fz_chance(c, c->world->options->gateway);
    while (!is_any && strncmp(route->pattern, "/v1/", 4) != 0 &&
           strncmp(route->pattern, "/e/", 3) != 0 &&
           strstr(route->pattern, "/episodes") == NULL) {
        route = &srv_api_routes.p[fz_below(c, srv_api_routes.n)];
    }
    return route;
}

static bool ask_route(fz_client *c, fz_ids *own)
{
    fz_ids ids = borrow(c, own);
    const hd_route *route = pick_route(c);
    bool has_body = strcmp(route->method, "POST") == 0 ||
                    strcmp(route->method, "PUT") == 0 || fz_chance(c, 50);
    if (strstr(route->pattern, "/finish") != NULL && fz_chance(c, 800)) {
        return true; /* it ends the session */
    }
    parts p;
    tk_buf_init(&p.target, 64 * TK_KIB);
    tk_buf_init(&p.headers, 64 * TK_KIB);
    tk_buf_init(&p.body, 4 * TK_MIB);
    write_target(&p.target, c, &ids, route->pattern);
    write_headers(&p.headers, c);
    if (has_body) {
        fz_body_write(&p.body, c, &ids, route->method, route->pattern);
        own->seq = TK_MAX(own->seq, ids.seq);
        own->model_seq = TK_MAX(own->model_seq, ids.model_seq);
        own->sampler_seq = TK_MAX(own->sampler_seq, ids.sampler_seq);
        if (fz_chance(c, 650)) {
            fz_body_spoil(&p.body, c);
        }
        if (fz_chance(c, 30)) {
            pack(&p.body, &p.headers);
        }
        tk_buf_putc(&p.body, '\0'); /* for logs */
        p.body.n--;
    }
    bool ok = send_parts(c, own, route, &p, has_body);
    tk_buf_dispose(&p.target);
    tk_buf_dispose(&p.headers);
    tk_buf_dispose(&p.body);
    return ok;
}

/* ---- bytes that are no request ---- */

static const char *const raws[] = {
    "",
    "\r\n\r\n",
    "GET",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Content-Length: -1\r\n\r\n{}",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Content-Length: 99999999999999999999\r\n\r\n{}",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}",
    "POST " FZ_API "create_session HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Transfer-Encoding: chunked\r\n\r\n2;ext=1\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    "POST " FZ_API "forward_backward HTTP/1.1\r\nHost: localhost\r\n" KEY
    "Content-Length: 268435456\r\n\r\n{\"a\":",
    "GET " FZ_API "healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET " FZ_API
    "healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "GET " FZ_API "healthz HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
    "GET " FZ_API "healthz HTTP/1.1\nHost: localhost\n\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
};

static void throw_bytes(fz_client *c)
{
    char noise[512];
    bool read_answer = fz_chance(c, 700);
    size_t kind = (size_t)fz_below(c, TK_ARRAY_LEN(raws) + 2);
    if (kind < TK_ARRAY_LEN(raws)) {
        fz_throw(c, raws[kind], strlen(raws[kind]), read_answer);
    } else if (kind == TK_ARRAY_LEN(raws)) {
        size_t n = (size_t)fz_below(c, sizeof(noise));
        tk_rand_bytes(&c->rand, noise, n);
        fz_throw(c, noise, n, read_answer);
    } else { /* a head without an end */
        tk_buf head;
        tk_buf_init(&head, TK_MIB);
        tk_buf_puts(&head, "GET / HTTP/1.1\r\nX: ");
        for (int i = 0; i < 40000; i++) {
            tk_buf_putc(&head, 'x');
        }
        fz_throw(c, head.p, head.n, read_answer);
        tk_buf_dispose(&head);
    }
}

/* ---- a small body that becomes a large one ---- */

#define BOMB_BYTES (64 * TK_MIB)

static bool throw_bomb(fz_client *c)
{
    static const char *const targets[] = {FZ_API "forward_backward", FZ_API "forward",
                                          FZ_API "asample", FZ_API "optim_step"};
    tk_zstd zstd;
    tk_buf packed;
    fz_answer answer;
    char *plain = tk_zalloc(BOMB_BYTES);
    if (plain == NULL) {
        return true;
    }
    memset(plain, fz_chance(c, 500) ? ' ' : '[', BOMB_BYTES);
    tk_zstd_init(&zstd);
    tk_buf_init(&packed, TK_MIB);
    const tk_bytes bytes = {(const unsigned char *)plain, BOMB_BYTES};
    bool ok = tk_zstd_compress(&zstd, &packed, bytes, 1, NULL) == TINKC_OK;
    tk_zstd_dispose(&zstd);
    tk_free(plain);
    const httpget_request request = {.method = "POST",
                                     .target =
                                         targets[fz_below(c, TK_ARRAY_LEN(targets))],
                                     .headers = KEY "Content-Encoding: zstd\r\n",
                                     .body = packed.p,
                                     .body_n = packed.n};
    ok = !ok || fz_ask(c, &request, FZ_PLAIN, &answer);
    tk_buf_dispose(&packed);
    return ok;
}

/* ---- connections that it holds ---- */

#define HELD 24

/* Sends the beginning of a request, or a request whose answer is never read, and keeps the
 * connection. */
static void hold(fz_client *c, httpget *held[HELD], const fz_ids *ids)
{
    char text[1024];
    httpget **slot = &held[fz_below(c, HELD)];
    httpget_close(slot);
    *slot = httpget_connect(atomic_load(&c->world->port));
    if (*slot == NULL) {
        return;
    }
    static const char *const starts[] = {
        "G",
        "GET " FZ_API "healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
        "POST " FZ_API "asample HTTP/1.1\r\nHost: localhost\r\n" KEY
        "Content-Length: 33554432\r\n\r\n{",
    };
    size_t kind = (size_t)fz_below(c, TK_ARRAY_LEN(starts) + 1);
    if (kind < TK_ARRAY_LEN(starts)) {
        (void)snprintf(text, sizeof(text), "%s", starts[kind]);
    } else {
        char body[FZ_ID_BYTES + 32];
        int n = snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", ids->future);
        (void)snprintf(text, sizeof(text),
                       "POST " FZ_API
                       "retrieve_future HTTP/1.1\r\nHost: localhost\r\n" KEY
                       "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                       n, body);
    }
    fz_log(c, "held %s", text);
    (void)httpget_send(*slot, text, strlen(text));
}

static void let_go(httpget *held[HELD])
{
    for (size_t i = 0; i < HELD; i++) {
        httpget_close(&held[i]);
    }
}

void fz_hostile_run(void *user)
{
    fz_client *c = user;
    fz_ids ids;
    httpget *held[HELD] = {NULL};
    while (fz_client_enter_life(c)) {
        bool ok = begin(c, &ids);
        while (ok && !atomic_load(&c->world->is_over)) {
            uint64_t draw = fz_below(c, 100);
            if (draw < 80) {
                ok = fz_chance(c, 5)    ? throw_bomb(c)
                     : fz_chance(c, 10) ? fz_upload(c, &ids)
                                        : ask_route(c, &ids);
            } else if (draw < 88) {
                ok = wait_future(c, &ids);
            } else if (draw < 92) {
                hold(c, held, &ids);
            } else {
                throw_bytes(c);
                ok = !atomic_load(&c->world->is_ending);
            }
            tk_arena_dispose(&c->arena);
        }
        tk_arena_dispose(&c->arena);
        let_go(held);
    }
}
