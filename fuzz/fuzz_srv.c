/* The handlers of the route table, without HTTP: first line "METHOD path?query", second
 * line letters (p: the body is protobuf, a: protobuf is accepted, k: an idempotency key,
 * z: the body came as zstd, Z: it is made zstd here), the rest is the body. The server
 * has a session, a model, a checkpoint and a sampler of ids that never change, so that
 * inputs pass the look-ups; it is restarted every REUSE inputs. Every request is answered,
 * never with a failure of the server, and an answer that claims to be JSON is JSON.
 *
 * Links: server wire */
#include <ftw.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "fuzz.h"
#include "server/api/srv_api.h"
#include "server/run/srv_head.h"
#include "server/run/srv_refuse.h"
#include "server/run/srv_state.h"
#include "wire/zstd.h"

#define REUSE 500 /* inputs per server */
#define SEED  1
#define MODEL "tinkc/pebble-llama-2m"
#define ID    "c510c70f-6daf-42b3-aa4c-364796553b85"

static struct {
    srv *server;
    char data[64];
    unsigned uses;
    tk_mutex lock;
    tk_cond wake;
    bool resumed;        /* under lock */
    const char *letters; /* of the request */
} it;

/* ---- one request ---- */

typedef struct call {
    const char *method;
    tk_str target;
    const char *letters;
    tk_str body;
} call;

static void on_resume(hd_request *request)
{
    (void)request;
    tk_mutex_lock(&it.lock);
    it.resumed = true;
    tk_cond_signal(&it.wake);
    tk_mutex_unlock(&it.lock);
}

/* The headers that the letters stand for. */
static tk_str header_of(const hd_request *request, const char *name)
{
    static const struct {
        char letter;
        const char *name, *value;
    } all[] = {{'p', "Content-Type", SRV_TYPE_PROTO},
               {'a', "Accept", SRV_TYPE_PROTO},
               {'k', "X-Idempotency-Key", "k"}};
    (void)request;
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        if (strcmp(name, all[i].name) == 0 && strchr(it.letters, all[i].letter) != NULL) {
            return tk_str_of(all[i].value);
        }
    }
    return (tk_str){NULL, 0};
}

static void fill_query(hd_request *request, tk_str text)
{
    while (text.n > 0 && request->n_query < TK_HD_QUERY_MAX) {
        tk_str value = tk_str_cut(&text, '&');
        tk_str name = tk_str_cut(&value, '=');
        request->query[request->n_query++] =
            (hd_query){name, value.p != NULL ? value : TK_STR("")};
    }
}

static bool fill_body(hd_request *request, const call *c)
{
    size_t cap = request->route->max_body_bytes;
    request->body.max = cap > 0 ? cap : TK_HD_BODY_LIGHT_BYTES;
    if (strchr(c->letters, 'Z') != NULL) {
        tk_zstd zstd;
        tk_zstd_init(&zstd);
        const tk_bytes bytes = {(const unsigned char *)c->body.p, c->body.n};
        (void)!tk_zstd_compress(&zstd, &request->body, bytes, 1, NULL);
        tk_zstd_dispose(&zstd);
    } else {
        tk_buf_put(&request->body, c->body.p, c->body.n);
    }
    return request->body.failure == TINKC_OK;
}

static bool fill(hd_request *request, const call *c)
{
    tk_str target, path;
    int status = 0;
    if (!tk_arena_dup(&request->arena, &target, c->target.p, c->target.n)) {
        return false;
    }
    path = tk_str_cut(&target, '?');
    request->route =
        hd_route_find(&srv_api_routes, c->method, path, request->params, &status);
    if (request->route == NULL) {
        return false;
    }
    fill_query(request, target);
    request->resume = on_resume;
    request->header = header_of;
    request->refuse = srv_refuse;
    request->is_encoded = strpbrk(c->letters, "zZ") != NULL;
    it.letters = c->letters;
    request->host = TK_STR("localhost");
    return fill_body(request, c);
}

static void check(const hd_request *request, tk_arena *arena)
{
    const hd_blob *blob = request->answer;
    tk_str body = blob != NULL ? (tk_str){blob->p, blob->n} : request->fixed;
    const tk_json *json = NULL;
    if (request->status < 200 || request->status >= 500) {
        fprintf(stderr, "%d %.*s\n", request->status, (int)body.n, body.p);
        fuzz_fail("the request has no answer, or a failure of the server");
    }
    if (request->status == 400 && body.n == 0) {
        fuzz_fail("a 400 without a body");
    }
    bool is_file = request->file.fd >= 0; /* sent by the daemon, which is not here */
    if (!is_file && request->content_type != NULL &&
        strcmp(request->content_type, "application/json") == 0 &&
        tk_json_parse(&json, arena, body.p, body.n, NULL, NULL) != TINKC_OK) {
        fuzz_fail("the answer is not JSON");
    }
}

/* The status of the answer; 0 = no such route. With `out` the text under `key` in it. */
static int ask(const call *c, const char *key, char out[128])
{
    int status = 0;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    hd_request *request = hd_request_new(it.server, &it.server->memory);
    if (request == NULL) {
        fuzz_fail("no memory");
    }
    it.resumed = false;
    if (fill(request, c)) {
        hd_verdict verdict = request->route->handler(request);
        while (verdict == HD_LATER) { /* it needs the store: a worker that may wait */
            verdict = request->route->handler(request);
        }
        if (verdict == HD_PARKED) {
            tk_mutex_lock(&it.lock);
            while (!it.resumed) {
                tk_cond_wait(&it.wake, &it.lock);
            }
            tk_mutex_unlock(&it.lock);
        }
        check(request, &arena);
        status = request->status;
    }
    const tk_json *json = NULL;
    if (key != NULL && request->answer != NULL &&
        tk_json_parse(&json, &arena, request->answer->p, request->answer->n, NULL,
                      NULL) == TINKC_OK &&
        tk_json_get(json, key) != NULL) {
        (void)snprintf(out, 128, "%s", tk_json_get(json, key)->as.string.p);
    }
    hd_request_free(request);
    tk_arena_dispose(&arena);
    return status;
}

/* ---- the server ---- */

static void prepare(const char *target, const char *body)
{
    char id[128] = "", poll[192];
    const call c = {"POST", tk_str_of(target), "", tk_str_of(body)};
    if (ask(&c, "request_id", id) != 200) {
        fprintf(stderr, "%s %s\n", target, body);
        fuzz_fail("the server cannot be prepared");
    }
    (void)snprintf(poll, sizeof(poll), "{\"request_id\":\"%s\"}", id);
    const call again = {"POST", TK_STR("/api/v1/retrieve_future"), "", tk_str_of(poll)};
    while (id[0] != '\0' && ask(&again, NULL, NULL) == 408) {
    }
}

static void open_server(void)
{
    tk_err err = TK_ERR_INIT;
    (void)snprintf(it.data, sizeof(it.data), "/tmp/tinkc-fuzz-XXXXXX");
    const srv_options options = {.data = it.data, .threads = 1, .poll_ms = 1};
    if (mkdtemp(it.data) == NULL || srv_start(&it.server, &options, &err) != TINKC_OK) {
        fprintf(stderr, "%s\n", err.message);
        fuzz_fail("no server");
    }
    tk_mutex_lock(&it.server->lock);
    tk_rand_init(&it.server->rand, SEED);
    tk_mutex_unlock(&it.server->lock);
    char id[128] = "";
    const call session = {"POST", TK_STR("/api/v1/create_session"), "",
                          TK_STR("{\"tags\":[],\"sdk_version\":\"x\"}")};
    if (ask(&session, "session_id", id) != 200 || strcmp(id, ID) != 0) {
        fprintf(stderr, "%s\n", id);
        fuzz_fail("the session has another id: the corpus does not fit");
    }
    prepare("/api/v1/create_model", "{\"session_id\":\"" ID "\",\"model_seq_id\":0,"
                                    "\"base_model\":\"" MODEL "\","
                                    "\"lora_config\":{\"rank\":1,\"seed\":1}}");
    prepare("/api/v1/save_weights",
            "{\"model_id\":\"" ID ":train:0\",\"path\":\"w\",\"seq_id\":1}");
    prepare("/api/v1/create_sampling_session",
            "{\"session_id\":\"" ID "\",\"sampling_session_seq_id\":0,"
            "\"base_model\":\"" MODEL "\"}");
    it.uses = 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *unused)
{
    (void)status;
    (void)type;
    (void)unused;
    (void)remove(path);
    return 0;
}

static void close_server(void)
{
    srv_stop(&it.server);
    (void)nftw(it.data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The stop is registered last, to run before the ends of the libraries that the server's
 * threads still use. */
static void open_first(void)
{
    if (tk_mutex_init(&it.lock, NULL) != TINKC_OK ||
        tk_cond_init(&it.wake, NULL) != TINKC_OK) {
        fuzz_fail("no lock");
    }
    open_server();
    if (atexit(close_server) != 0) {
        fuzz_fail("no end");
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    static bool opened;
    char method[8], letters[16];
    tk_str rest = {(const char *)data, size};
    tk_str target = tk_str_cut(&rest, '\n');
    tk_str verb = tk_str_cut(&target, ' ');
    tk_str flags = tk_str_cut(&rest, '\n');
    if (!opened) {
        open_first();
        opened = true;
    } else if (++it.uses >= REUSE) {
        close_server();
        open_server();
    }
    (void)snprintf(method, sizeof(method), "%.*s", (int)TK_MIN(verb.n, (size_t)7),
                   verb.n > 0 ? verb.p : "");
    (void)snprintf(letters, sizeof(letters), "%.*s", (int)TK_MIN(flags.n, (size_t)15),
                   flags.n > 0 ? flags.p : "");
    const call c = {method, target, letters, rest.p != NULL ? rest : TK_STR("")};
    (void)ask(&c, NULL, NULL);
    return 0;
}
