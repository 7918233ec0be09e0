/* `tinkc doctor --deep` against the real server, and against the same server behind a front
 * that plants defects: every defect is found, by name, and nothing else is. Defects that
 * show in different checks are planted together, because a conversation takes a while.
 * Links: peer client text server */
#include <math.h>
#include <signal.h>

#include "server/srvfix.h"
#include "support/fakeapi_int.h"
#include "support/program.h"

#define CHECKS 38
#define GROUPS 3

typedef struct rig rig;

/* What a defect changes: a request on its way to the server, and the answer. */
typedef struct defect {
    const char *name;
    unsigned group;     /* those of a group are planted together */
    const char *off[6]; /* the checks that must find it; NULL ends the list */
    /* Returns the status of an answer that the front gives itself; 0: forward it. */
    int (*change)(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                  fakeapi_bytes *body);
    void (*spoil)(rig *r, const fakeapi_request *request, fakeapi_bytes *body);
} defect;

struct rig {
    srvfix real;
    fakeapi *front;
    program p;
    tk_arena arena;
    char url[80];
    const defect *planted; /* those with this group, of n */
    size_t n;
    unsigned group;
    size_t steps, unloads, deletes; /* requests so far */
    bool had_backward;              /* since the last step */
    fakeapi_bytes last_step;        /* body of the last optim_step */
    char main[80];                  /* id of the model that takes the first step */
    bool has_left;                  /* it has gradients that no step has used */
    bool was_left;                  /* when it was unloaded */
    unsigned more;                  /* what is added to seq_ids after a repeated step */
};

/* ---- editing ---- */

static bool is_for(const fakeapi_request *request, const char *route)
{
    const char *slash = strrchr(request->path, '/');
    return slash != NULL && strcmp(slash + 1, route) == 0;
}

static void replace(fakeapi_bytes *bytes, size_t at, size_t n, const char *text)
{
    fakeapi_bytes out = {0};
    fakeapi_bytes_put(&out, bytes->p, at);
    fakeapi_bytes_puts(&out, text);
    fakeapi_bytes_put(&out, bytes->p + at + n, bytes->n - at - n);
    fakeapi_bytes_dispose(bytes);
    *bytes = out;
}

/* Replaces the first `from`; false when it is not there. */
static bool edit(fakeapi_bytes *bytes, const char *from, const char *to)
{
    const char *at = bytes->n > 0 ? memmem(bytes->p, bytes->n, from, strlen(from)) : NULL;
    if (at != NULL) {
        replace(bytes, (size_t)(at - bytes->p), strlen(from), to);
    }
    return at != NULL;
}

/* Sets the value of a member that is a number or a list without commas in texts to null. */
static void set_null(fakeapi_bytes *body, const char *key)
{
    const char *at = memmem(body->p, body->n, key, strlen(key));
    if (at != NULL) {
        size_t begin = (size_t)(at - body->p) + strlen(key), n = 0;
        bool is_list = body->p[begin] == '[';
        while (begin + n < body->n &&
               strchr(is_list ? "]" : ",}", body->p[begin + n]) == NULL) {
            n++;
        }
        replace(body, begin, n + is_list, "null");
    }
}

/* ---- eleven defects ---- */

static int ignore_seed(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                       fakeapi_bytes *body)
{
    if (is_for(request, "asample")) {
        set_null(body, "\"seed\":");
    }
    return 0;
}

static int ignore_stop_text(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                            fakeapi_bytes *body)
{
    if (is_for(request, "asample") &&
        memmem(body->p, body->n, "\"stop\":[\"", 9) != NULL) {
        set_null(body, "\"stop\":");
    }
    return 0;
}

static int ignore_eos(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                      fakeapi_bytes *body)
{
    bool is_sample = is_for(request, "asample") || is_for(request, "stream_sample");
    if (is_sample && memmem(body->p, body->n, "\"stop\":", 7) == NULL) {
        (void)edit(body, "\"sampling_params\":{", "\"sampling_params\":{\"stop\":[],");
    }
    return 0;
}

static int other_temperature(rig *r, const fakeapi_request *request,
                             fakeapi_bytes *target, fakeapi_bytes *body)
{
    if (is_for(request, "asample")) {
        (void)edit(body, "\"temperature\":1.0", "\"temperature\":1.7");
    }
    return 0;
}

static int lose_optimizer(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                          fakeapi_bytes *body)
{
    if (is_for(request, "load_weights")) {
        assert_true(edit(body, "\"optimizer\":true", "\"optimizer\":false"));
    }
    return 0;
}

static bool is_backward(const fakeapi_request *request, const fakeapi_bytes *body)
{
    static const char forward_only[] =
        "cross_entropy\x30\x01"; /* the loss, and the flag */
    return is_for(request, "forward_backward") &&
           memmem(body->p, body->n, forward_only, sizeof(forward_only) - 1) == NULL;
}

/* Gradients of the second pass before a step are lost. */
static int lose_chunk(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                      fakeapi_bytes *body)
{
    bool has_gradients = is_backward(request, body);
    if (has_gradients && r->had_backward) {
        fakeapi_bytes_puts(body, "\x30\x01");
    }
    r->had_backward = r->had_backward || has_gradients;
    if (is_for(request, "optim_step") || is_for(request, "create_model")) {
        r->had_backward = false;
    }
    return 0;
}

/* A step that comes again gets a new number, as do the requests after it. */
static int step_again(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                      fakeapi_bytes *body)
{
    char from[32], to[32];
    if (is_for(request, "optim_step")) {
        if (r->last_step.n == body->n && memcmp(r->last_step.p, body->p, body->n) == 0) {
            r->more = 1;
        }
        fakeapi_bytes_dispose(&r->last_step);
        fakeapi_bytes_put(&r->last_step, body->p, body->n);
    }
    if (r->more > 0 &&
        (is_for(request, "optim_step") || is_for(request, "save_weights"))) {
        unsigned seq = is_for(request, "optim_step") ? 3 : 4;
        (void)snprintf(from, sizeof(from), "\"seq_id\":%u,", seq);
        (void)snprintf(to, sizeof(to), "\"seq_id\":%u,", seq + r->more);
        (void)edit(body, from, to);
        r->more =
            is_for(request, "optim_step"); /* the save is the model's last request */
    }
    return 0;
}

static int ignore_layers(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                         fakeapi_bytes *body)
{
    if (is_for(request, "create_model")) {
        (void)edit(body, "\"train_unembed\":false", "\"train_unembed\":true");
    }
    return 0;
}

static int delete_nothing(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                          fakeapi_bytes *body)
{
    return strcmp(request->method, "DELETE") == 0 ? 200 : 0;
}

static void average_loss(rig *r, const fakeapi_request *request, fakeapi_bytes *body)
{
    static const char key[] = "loss:sum\x11"; /* then the double of the map's entry */
    char *at = body->n > 0 ? memmem(body->p, body->n, key, sizeof(key) - 1) : NULL;
    if (at != NULL && is_for(request, "retrieve_future")) {
        double value;
        memcpy(&value, at + sizeof(key) - 1, sizeof(value));
        value /= 24;
        memcpy(at + sizeof(key) - 1, &value, sizeof(value));
    }
}

/* Log-probabilities of a prompt begin with an unknown one, in front of numbers: that one
 * goes to the end. */
static void shift_logprobs(rig *r, const fakeapi_request *request, fakeapi_bytes *body)
{
    const char *type = fakeapi_header(request, "x-tinker-request-type");
    if (type == NULL || strcmp(type, "Sample") != 0) {
        return;
    }
    for (size_t i = 0; i + 6 < body->n; i++) {
        size_t n = (unsigned char)body->p[i + 1];
        float first;
        memcpy(&first, body->p + i + 2, sizeof(first));
        if (body->p[i] == 0x12 && n % 4 == 0 && n > 4 && i + 2 + n <= body->n &&
            isnan(first)) {
            char *values = body->p + i + 2;
            memmove(values, values + 4, n - 4);
            memcpy(values + n - 4, &first, 4);
            return;
        }
    }
}

static const defect defects[] = {
    {"the seed is ignored", 1, {"seed"}, ignore_seed, NULL},
    {"log-probabilities are shifted",
     2,
     {"prompt logprobs", "sampled logprobs"},
     NULL,
     shift_logprobs},
    {"stop strings are ignored", 1, {"stop string"}, ignore_stop_text, NULL},
    {"a repeated step is applied twice", 1, {"repeated request"}, step_again, NULL},
    {"the optimizer is not loaded", 2, {"resume"}, lose_optimizer, NULL},
    {"losses are averaged",
     1,
     {"cross_entropy", "importance_sampling", "ppo", "cispo", "dro"},
     NULL,
     average_loss},
    {"one chunk counts", 3, {"chunks"}, lose_chunk, NULL},
    {"another temperature", 3, {"sampled logprobs"}, other_temperature, NULL},
    {"the end of a text is ignored", 1, {"end of text"}, ignore_eos, NULL},
    {"nothing is deleted", 2, {"delete"}, delete_nothing, NULL},
    {"all layers are trained", 3, {"train_unembed"}, ignore_layers, NULL},
};

/* ---- the front ---- */

/* Header lines of the request that the server should see. */
static void copy_headers(fakeapi_bytes *out, const fakeapi_request *request)
{
    static const char *const own[] = {"host",       "content-length", "content-type",
                                      "connection", "expect",         "accept-encoding"};
    for (size_t i = 0; i < request->headers_n; i++) {
        bool skip = false;
        for (size_t k = 0; k < TK_ARRAY_LEN(own); k++) {
            skip = skip || strcasecmp(request->headers[i].name, own[k]) == 0;
        }
        if (!skip) {
            fakeapi_bytes_printf(out, "%s: %s\r\n", request->headers[i].name,
                                 request->headers[i].value);
        }
    }
    fakeapi_bytes_put(out, "", 1);
}

static void forward(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                    fakeapi_bytes *body, fakeapi_answer *out)
{
    httpget_response response;
    fakeapi_bytes headers = {0};
    const char *type = NULL;
    copy_headers(&headers, request);
    const httpget_request sent = {.method = request->method,
                                  .target = fakeapi_bytes_cstr(target),
                                  .headers = headers.p,
                                  .body = body->n > 0 ? body->p : NULL,
                                  .body_n = body->n,
                                  .content_type =
                                      fakeapi_header(request, "content-type")};
    assert_int_equal(httpget_once(srvfix_port(&r->real), &sent, &response), HTTPGET_OK);
    type = httpget_header(&response, "content-type");
    bool is_proto = type != NULL && strstr(type, "protobuf") != NULL;
    bool is_stream = type != NULL && strstr(type, "event-stream") != NULL;
    out->status = response.status;
    out->content_type = is_proto    ? "application/x-protobuf"
                        : is_stream ? "text/event-stream"
                                    : NULL;
    if (response.status == 302) { /* the front sends no headers: the other form of it */
        out->status = 200;
        fakeapi_bytes_printf(&out->body,
                             "{\"url\":\"%s\",\"expires\":\"2124-08-01T00:00:00Z\"}",
                             httpget_header(&response, "location"));
    } else {
        fakeapi_bytes_put(&out->body, response.body.p, response.body.n);
    }
    httpget_response_dispose(&response);
    fakeapi_bytes_dispose(&headers);
}

/* Follows the gradients of the first model. */
static void watch(rig *r, const fakeapi_request *request, const fakeapi_bytes *body)
{
    static const char key[] = "\"model_id\":\"";
    bool is_step = is_for(request, "optim_step");
    const char *id =
        is_step && body->n > 0 ? memmem(body->p, body->n, key, sizeof(key) - 1) : NULL;
    if (id != NULL && r->main[0] == '\0') {
        id += sizeof(key) - 1;
        size_t n = body->n - (size_t)(id - body->p);
        const char *end = memchr(id, '"', n);
        (void)snprintf(r->main, sizeof(r->main), "%.*s",
                       (int)(end != NULL ? (size_t)(end - id) : n), id);
    }
    if (r->main[0] == '\0' || body->n == 0 ||
        memmem(body->p, body->n, r->main, strlen(r->main)) == NULL) {
        return;
    }
    r->has_left = is_backward(request, body) || (r->has_left && !is_step);
    if (is_for(request, "unload_model")) {
        r->was_left = r->has_left;
    }
}

/* On the front's one thread, which waits for the server. */
static bool answer(void *user, fakeapi_conn *conn, const fakeapi_request *request,
                   fakeapi_answer *out)
{
    rig *r = user;
    fakeapi_bytes target = {0}, body = {0};
    fakeapi_bytes_puts(&target, request->target);
    fakeapi_bytes_put(&body, request->body, request->body_n);
    out->status = 0;
    watch(r, request, &body);
    r->steps += is_for(request, "optim_step");
    r->unloads += is_for(request, "unload_model");
    r->deletes += strcmp(request->method, "DELETE") == 0;
    for (size_t i = 0; i < r->n && out->status == 0; i++) {
        if (r->planted[i].group == r->group && r->planted[i].change != NULL) {
            out->status = r->planted[i].change(r, request, &target, &body);
        }
    }
    if (out->status == 0) {
        forward(r, request, &target, &body, out);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->planted[i].group == r->group && r->planted[i].spoil != NULL) {
            r->planted[i].spoil(r, request, &out->body);
        }
    }
    fakeapi_bytes_dispose(&target);
    fakeapi_bytes_dispose(&body);
    return true;
}

static void rig_open(rig *r)
{
    memset(r, 0, sizeof(*r));
    tk_arena_init(&r->arena, 0);
    srvfix_open(&r->real, (srv_options){.log_level = TINKC_LOG_OFF});
    program_open(&r->p, TINKC_PROGRAM);
    program_env(&r->p, "TINKER_API_KEY=tml-x");
    (void)snprintf(r->url, sizeof(r->url), "TINKER_BASE_URL=%s", srv_url(r->real.server));
    program_env(&r->p, r->url);
}

static void rig_front(rig *r)
{
    r->front = fakeapi_start();
    fakeapi_set_handler(r->front, &(fakeapi_handler){.answer = answer, .user = r});
    (void)snprintf(r->url, sizeof(r->url), "TINKER_BASE_URL=%s", fakeapi_url(r->front));
}

static void rig_close(rig *r)
{
    program_close(&r->p);
    fakeapi_stop(&r->front);
    fakeapi_bytes_dispose(&r->last_step);
    srvfix_close(&r->real);
    tk_arena_dispose(&r->arena);
}

/* ---- the rows ---- */

/* Returns the defect that a check must find; NULL when it must find none. */
static const char *find(const rig *r, const char *check)
{
    for (size_t i = 0; i < r->n; i++) {
        const defect *one = &r->planted[i];
        for (size_t k = 0; one->group == r->group && one->off[k] != NULL; k++) {
            if (strcmp(one->off[k], check) == 0) {
                return one->name;
            }
        }
    }
    return NULL;
}

/* Runs it and returns the rows. */
static const tk_json *run(rig *r)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    program_run(&r->p, PROGRAM_ARGS("doctor", "--deep", "--format", "json"));
    if (r->p.out.n == 0) {
        fail_msg("%s", r->p.err.n > 0 ? r->p.err.p : "no output");
    }
    assert_int_equal(tk_json_parse(&json, &r->arena, r->p.out.p, r->p.out.n, NULL, &err),
                     TINKC_OK);
    const tk_json *list = tk_json_get(json, "checks");
    assert_int_equal(tk_json_len(list), CHECKS);
    return list;
}

/* Runs it: those checks are off that must find a defect, and every other one is ok. */
static void expect_off(rig *r)
{
    const tk_json *list = run(r);
    size_t found = 0, wanted = 0;
    for (size_t i = 0; i < CHECKS; i++) {
        const tk_json row = tk_json_at(list, i);
        const char *name = srvfix_text(&row, "check");
        const char *verdict = srvfix_text(&row, "verdict");
        const char *planted = find(r, name);
        if (strcmp(verdict, planted != NULL ? "off" : "ok") != 0) {
            fail_msg("%s: %s is %s: %s %s", planted != NULL ? planted : "no defect", name,
                     verdict, srvfix_text(&row, "seen"), srvfix_text(&row, "sentence"));
        }
        found += planted != NULL;
        assert_true(planted == NULL || program_said(&r->p.err, name));
    }
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0;
             r->planted[i].group == r->group && r->planted[i].off[k] != NULL; k++) {
            wanted++;
        }
    }
    assert_int_equal(found, wanted);
    assert_int_equal(r->p.code, wanted > 0 ? 1 : 0);
}

static void test_deep_all_green(void **state)
{
    rig r;
    rig_open(&r);
    expect_off(&r);
    assert_int_equal(r.p.err.n, 0);
    rig_close(&r);
}

static void test_deep_defects(void **state)
{
    for (unsigned group = 1; group <= GROUPS; group++) {
        rig r;
        rig_open(&r);
        rig_front(&r);
        r.planted = defects;
        r.n = TK_ARRAY_LEN(defects);
        r.group = group;
        expect_off(&r);
        rig_close(&r);
    }
}

/* ---- what is missing, and what goes wrong ---- */

static int lack(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                fakeapi_bytes *body)
{
    bool is_get = strcmp(request->method, "GET") == 0;
    bool is_dro = is_for(request, "forward_backward") && memmem(body->p, body->n,
                                                                "\x03"
                                                                "dro",
                                                                4) != NULL;
    bool is_sample = is_for(request, "asample");
    if (is_sample) { /* asked for in vain */
        (void)edit(body, "\"topk_prompt_logprobs\":2", "\"topk_prompt_logprobs\":0");
    }
    if (is_sample && memmem(body->p, body->n, "\"max_tokens\":", 13) == NULL) {
        return 422;
    }
    return is_for(request, "stream_sample") || (is_get && is_for(request, "sessions"))
               ? 404
           : is_dro ? 422
                    : 0;
}

static const defect lacking[] = {{"a small server", 0, {NULL}, lack, NULL}};

/* What a server does not offer is said, and is not wrong. */
static void test_deep_not_offered(void **state)
{
    static const char *const names[] = {"dro", "stream", "session list", "top-k logprobs",
                                        "no max_tokens"};
    rig r;
    size_t n = 0;
    rig_open(&r);
    rig_front(&r);
    r.planted = lacking;
    r.n = 1;
    const tk_json *list = run(&r);
    for (size_t i = 0; i < CHECKS; i++) {
        const tk_json row = tk_json_at(list, i);
        bool is_lacking = strcmp(srvfix_text(&row, "verdict"), "not_offered") == 0;
        for (size_t k = 0; is_lacking && k < TK_ARRAY_LEN(names); k++) {
            n += strcmp(srvfix_text(&row, "check"), names[k]) == 0;
        }
        assert_true(is_lacking || strcmp(srvfix_text(&row, "verdict"), "ok") == 0);
    }
    assert_int_equal(n, TK_ARRAY_LEN(names));
    assert_int_equal(r.p.code, 0);
    assert_true(r.main[0] != '\0' && r.unloads > 0);
    assert_false(r.was_left); /* a server may add them to those of the next model */
    rig_close(&r);
}

/* Ctrl-C in the middle of the third step, after a state was saved. */
static int interrupt(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                     fakeapi_bytes *body)
{
    if (is_for(request, "optim_step") && r->steps == 3) {
        assert_int_equal(kill(r->p.pid, SIGINT), 0);
    }
    return 0;
}

/* The server refuses every step. */
static int refuse(rig *r, const fakeapi_request *request, fakeapi_bytes *target,
                  fakeapi_bytes *body)
{
    return is_for(request, "optim_step") ? 500 : 0;
}

static const defect endings[] = {{"interrupted", 0, {NULL}, interrupt, NULL},
                                 {"broken", 1, {NULL}, refuse, NULL}};

/* Whatever happens, nothing is left at the server. */
static void test_deep_cleans_up(void **state)
{
    for (unsigned group = 0; group < TK_ARRAY_LEN(endings); group++) {
        rig r;
        rig_open(&r);
        rig_front(&r);
        r.planted = endings;
        r.n = TK_ARRAY_LEN(endings);
        r.group = group;
        (void)run(&r);
        assert_int_equal(r.p.code, group == 0 ? 130 : 1);
        assert_int_equal(r.unloads, 1);
        assert_int_equal(r.deletes, group == 0 ? 1 : 0);
        const tk_json *left = srvfix_ask(&r.real, "GET", "/api/v1/checkpoints", NULL);
        assert_int_equal(r.real.status, 200);
        assert_int_equal(tk_json_len(tk_json_get(left, "checkpoints")), 0);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_all_green),
        cmocka_unit_test(test_deep_defects),
        cmocka_unit_test(test_deep_not_offered),
        cmocka_unit_test(test_deep_cleans_up),
    };
    return cmocka_run_group_tests_name("deep", tests, NULL, NULL);
}
