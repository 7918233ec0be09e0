/* See hostile_live.h. */
#include "support/hostile_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "support/failmem.h"
#include "support/fakeapi_int.h"
#include "support/fakeapi_mem.h"
#include "wire/zstd.h"

#define WAIT_MS     30000 /* only a finding takes that long */
#define BOMB_BYTES  (64 * TK_MIB)
#define PACKED_MAX  (4 * TK_MIB)
#define ENCODED     "content-encoding: zstd\r\n"
#define FIELD_BYTES 512

typedef enum packing { PLAIN, PACKED, BOMB, BROKEN } packing;

typedef struct sending {
    const char *name;
    fakeapi_framing framing;
    size_t drip;
    fakeapi_fault fault;
    packing packing;
    bool is_faithful; /* the client gets what the case says */
} sending;

static const sending ways[] = {
    {"with its length", FAKEAPI_LENGTH, 0, FAKEAPI_NONE, PLAIN, true},
    {"in chunks of 7", FAKEAPI_CHUNKED, 7, FAKEAPI_NONE, PLAIN, true},
    {"until the connection closes", FAKEAPI_UNTIL_CLOSE, 0, FAKEAPI_NONE, PLAIN, true},
    {"compressed", FAKEAPI_LENGTH, 0, FAKEAPI_NONE, PACKED, true},
    {"64 MiB, compressed", FAKEAPI_LENGTH, 0, FAKEAPI_NONE, BOMB, false},
    {"badly compressed", FAKEAPI_LENGTH, 0, FAKEAPI_NONE, BROKEN, false},
    {"shorter than its length", FAKEAPI_WRONG_LENGTH, 0, FAKEAPI_NONE, PLAIN, false},
    {"cut", FAKEAPI_CHUNKED, 5, FAKEAPI_CUT_BODY, PLAIN, false},
    {"reset", FAKEAPI_LENGTH, 0, FAKEAPI_RESET_BODY, PLAIN, false},
};

size_t hostile_live_ways(void)
{
    return TK_ARRAY_LEN(ways);
}

const char *hostile_live_way(size_t index)
{
    return ways[index].name;
}

/* ---- the server ---- */

typedef struct server {
    fakeapi *api;
    const hostile_op *op;
} server;

static tk_http_method method_of(const char *name)
{
    tk_http_method method = TK_HTTP_GET;
    while (method < TK_HTTP_DELETE && strcmp(name, tk_http_method_name(method)) != 0) {
        method++;
    }
    return method;
}

static size_t key_of(const fakeapi_request *request)
{
    const char *type = fakeapi_header(request, "X-Tinker-Request-Type");
    size_t key = hostile_key_of(method_of(request->method), request->path);
    for (size_t t = 0; key == HOSTILE_POLL(0) && type != NULL && t < TK_FUTURE_TYPES;
         t++) {
        if (strcmp(tk_future_info_of((tk_future_type)t)->header, type) == 0) {
            return HOSTILE_POLL(t);
        }
    }
    return key;
}

static bool answer(void *user, fakeapi_conn *conn, const fakeapi_request *request,
                   fakeapi_answer *out)
{
    const server *s = user;
    size_t key = key_of(request);
    const hostile_answer *honest = hostile_honest(key);
    bool has_own = key == TK_EP_CLIENT_CONFIG && s->op->config != NULL;
    const char *body = has_own ? s->op->config : honest->body.p;
    (void)conn;
    *out = (fakeapi_answer){.status = honest->status, .content_type = honest->type};
    fakeapi_bytes_put(&out->body, body, has_own ? strlen(body) : honest->body.n);
    return true;
}

static void dispose(void *user)
{
    (void)user;
}

/* ---- bytes ---- */

static tk_buf pack(const char *p, size_t n)
{
    tk_buf out;
    tk_zstd zstd;
    tk_buf_init(&out, PACKED_MAX);
    tk_zstd_init(&zstd);
    if (tk_zstd_compress(&zstd, &out, (tk_bytes){(const unsigned char *)p, n}, 1, NULL) !=
        TINKC_OK) {
        abort();
    }
    tk_zstd_dispose(&zstd);
    return out;
}

/* Blanks; made once and kept. */
static const tk_buf *bomb(void)
{
    static tk_buf kept;
    if (kept.n == 0) {
        char *blanks = tk_malloc(BOMB_BYTES);
        if (blanks == NULL) {
            abort();
        }
        memset(blanks, ' ', BOMB_BYTES);
        kept = pack(blanks, BOMB_BYTES);
        tk_free(blanks);
    }
    return &kept;
}

static tk_buf encode(const hostile_answer *hostile, const sending *way)
{
    tk_buf out;
    if (way->packing == PACKED) {
        return pack(hostile->body.p, hostile->body.n);
    }
    tk_buf_init(&out, SIZE_MAX);
    if (way->packing == BOMB) {
        tk_buf_put(&out, bomb()->p, bomb()->n);
        return out;
    }
    if (way->packing == BROKEN) {
        tk_buf_puts(&out, "\x28\xb5\x2f\xfd");
    }
    tk_buf_put(&out, hostile->body.p, hostile->body.n);
    return out;
}

static void arm(server *s, const hostile_case *it, const hostile_answer *hostile,
                const sending *way, const tk_buf *body)
{
    char fields[FIELD_BYTES] = "";
    char path[160];
    const tk_endpoint *endpoint = tk_endpoint_at(
        it->key < TK_EP_COUNT ? (tk_endpoint_id)it->key : TK_EP_RETRIEVE_FUTURE);
    const char *brace = strstr(endpoint->path, "{}");
    if (way->packing != PLAIN) {
        (void)snprintf(fields, sizeof(fields), ENCODED);
    }
    (void)snprintf(
        path, sizeof(path), "%.*s%s%s",
        (int)(brace != NULL ? brace - endpoint->path : (ptrdiff_t)strlen(endpoint->path)),
        endpoint->path, brace != NULL ? "*" : "", brace != NULL ? brace + 2 : "");
    fakeapi_step step = {.status = hostile->status,
                         .headers = fields,
                         .body = body->p != NULL ? body->p : "",
                         .body_n = body->n,
                         .content_type = hostile->type != NULL ? hostile->type : "",
                         .framing = way->framing,
                         .drip = body->n < 4096 ? way->drip : 0,
                         .declared_length = body->n + 100,
                         .fault = way->fault,
                         .cut = body->n / 2};
    if (way->is_faithful || way->packing != PLAIN) {
        fakeapi_default(s->api, tk_http_method_name(endpoint->method), path, &step);
    } else { /* what is lost is asked for again: twice, and then it gets through */
        step.repeat = 2;
        fakeapi_reply(s->api, tk_http_method_name(endpoint->method), path, &step);
    }
}

/* ---- the client ---- */

static tinkc_service *open_service(server *s)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tk_err err = TK_ERR_INIT;
    const char *const options[] = {"base_url",
                                   fakeapi_url(s->api),
                                   "api_key",
                                   "tml-test",
                                   "sdk_version",
                                   "0.36.0",
                                   "loop",
                                   "manual",
                                   "stuck_total",
                                   "5000",
                                   "timeout",
                                   "5000",
                                   "max_retries",
                                   "2",
                                   "retry_total",
                                   "1000",
                                   "heartbeat",
                                   "none",
                                   "telemetry",
                                   "false",
                                   "finish_session",
                                   "false",
                                   "proxy",
                                   "",
                                   "archive_poll",
                                   "1",
                                   NULL};
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK;
    for (size_t i = 0; ok && options[i] != NULL; i += 2) {
        ok = tinkc_config_set(config, options[i], options[i + 1], NULL) == TINKC_OK;
    }
    tk_core_seams seams = {.seed = 1, .most_pause_ms = 1};
    if (!ok || tk_service_open(&service, config, &seams, &err) != TINKC_OK) {
        abort();
    }
    tinkc_config_free(&config);
    return service;
}

static bool prepare(hostile_world *w, const hostile_op *op)
{
    hostile_inputs(w);
    return op->need == HOSTILE_SAMPLING
               ? tinkc_service_create_sampling_wait(&w->sampling, w->service, "m", NULL,
                                                    NULL) == TINKC_OK
           : op->need == HOSTILE_TRAINING
               ? tinkc_service_create_training_wait(&w->training, w->service, "m", NULL,
                                                    NULL) == TINKC_OK
               : true;
}

static tinkc_code operate(hostile_world *w, const hostile_op *op, tinkc_error **err)
{
    tinkc_code code = TINKC_OK;
    if (op->call != NULL) {
        return op->call(w, err);
    }
    tinkc_future *future = op->start(w);
    if (tinkc_future_wait(future, WAIT_MS) == TINKC_E_TIMEOUT &&
        !tinkc_future_is_done(future)) {
        code = TINKC_E_INTERNAL;
    } else if (op->read != NULL) {
        code = op->read(w, future, err);
    } else {
        *err = tinkc_future_take_error(future);
        code = tinkc_error_code(*err);
    }
    tinkc_future_free(&future);
    return code;
}

/* ---- one case ---- */

static void run(hostile_verdict *out, const hostile_case *it,
                const hostile_answer *hostile, const sending *way, const tk_buf *body)
{
    tinkc_error *err = NULL;
    server s = {.op = it->op};
    fakeapi_handler handler = {.answer = answer, .dispose = dispose, .user = &s};
    failmem_start();
    s.api = fakeapi_start();
    fakeapi_set_handler(s.api, &handler);
    hostile_world w = {.service = open_service(&s)};
    if (!prepare(&w, it->op)) {
        abort();
    }
    arm(&s, it, hostile, way, body);
    out->code = operate(&w, it->op, &err);
    out->sent = fakeapi_total(s.api);
    hostile_judge_error(out, err);
    tinkc_error_free(&err);
    hostile_clean_up(&w);
    fakeapi_stop(&s.api);
    out->peak_bytes = failmem_peak_bytes();
    size_t leaked = failmem_stop();
    if (leaked != 0) {
        hostile_find(out, "%zu blocks are left", leaked);
    }
    if (out->peak_bytes > HOSTILE_PEAK_BYTES) {
        hostile_find(out, "%zu bytes at a time", out->peak_bytes);
    }
}

/* Whether a result that may be large is polled: an operation with two results polls one
 * of those as well, and the peer does not tell its polls apart. */
static bool polls_large(const hostile_case *it)
{
    return hostile_key_is_large(it->key) ||
           (it->key >= TK_EP_COUNT && it->op->polls_twice);
}

static bool is_fit(const hostile_case *it, const hostile_answer *hostile,
                   const sending *way, const hostile_verdict *emulated)
{
    bool has_body = hostile->status != 204 && hostile->status != 205 &&
                    hostile->status != 304 && hostile->status >= 200;
    return hostile->flow == HOSTILE_WHOLE && !hostile->is_once &&
           hostile->fields_n == 0 && emulated->elapsed_ms == 0 && has_body &&
           hostile->status < 600 && it->key != TK_EP_HEARTBEAT &&
           it->key != TK_EP_TELEMETRY && it->key != TK_EP_FINISH_SESSION &&
           !(way->packing == BOMB && polls_large(it)) &&
           (hostile->type == NULL || hostile->type[0] != '\xff');
}

bool hostile_live(hostile_verdict *out, const hostile_case *it, size_t index,
                  const hostile_verdict *emulated)
{
    const sending *way = &ways[index];
    hostile_answer hostile;
    hostile_mutate(&hostile, &it->source->seed, it->change);
    bool fit = is_fit(it, &hostile, way, emulated);
    if (fit) {
        tk_buf body = encode(&hostile, way);
        *out = (hostile_verdict){0};
        (void)snprintf(out->what, sizeof(out->what), "%.60s, %s", hostile.what,
                       way->name);
        run(out, it, &hostile, way, &body);
        /* The script does not tell one poll from another; a 400 without a length
         * is taken for a broken connection. */
        bool is_mixed = it->op->polls_twice && it->key >= TK_EP_COUNT;
        if (way->is_faithful && !is_mixed && hostile.status != 400 &&
            out->code != emulated->code) {
            hostile_find(out, "code %d by libcurl, %d by the emulation", (int)out->code,
                         (int)emulated->code);
        }
        tk_buf_dispose(&body);
    }
    hostile_answer_dispose(&hostile);
    return fit;
}
