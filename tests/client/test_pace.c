/* No loop of the client hurries a server that answers at once and uselessly: each endpoint
 * of the table, reached through the operation that uses it, against each kind of useless
 * answer on a fake clock. At most ten requests in any second for one outstanding
 * operation, at most one for the loops of the background. A new endpoint does not compile
 * here before `launch` says how it is reached.
 * Links: peer */
#include <tinkc/rest.h>
#include <tinkc/search.h>
#include <tinkc/stream.h>
#include <tinkc/telemetry.h>
#include <tinkc/training.h>
#include <tinkc/weights.h>

#include "client/call/endpoint.h"
#include "client/core/finish.h"
#include "support/datumfix.h"
#include "support/samplefix.h"

#define CKPT        "tinker://run-1/weights/one"
#define WATCHED_MS  12000
#define SECOND_MS   1000
#define IN_A_SECOND 10

typedef struct useless {
    const char *name;
    fakeanswer answer;
} useless;

/* "e30" is {}; the token of the last row says that it ended in 1970. */
static const useless useless_answers[] = {
    {"408", {.status = 408, .body = "{}"}},
    {"408, 0 ms in the body", {.status = 408, .body = "{\"retry_after_ms\":0}"}},
    {"408, 1 ms in the body", {.status = 408, .body = "{\"retry_after_ms\":1}"}},
    {"409", {.status = 409, .body = "{}"}},
    {"429", {.status = 429, .body = "{}"}},
    {"429, 0 s", {.status = 429, .body = "{}", .headers = {"retry-after", "0"}}},
    {"429, 0 ms", {.status = 429, .body = "{}", .headers = {"retry-after-ms", "0"}}},
    {"429, 1 ms", {.status = 429, .body = "{}", .headers = {"retry-after-ms", "1"}}},
    {"500", {.status = 500, .body = "{}"}},
    {"502", {.status = 502, .body = "<html>"}},
    {"503", {.status = 503}},
    {"503, 1 ms", {.status = 503, .headers = {"retry-after-ms", "1"}}},
    {"529", {.status = 529, .body = "{}"}},
    {"402", {.status = 402, .body = "{}", .headers = {"retry-after-ms", "1"}}},
    {"410", {.status = 410, .body = "{}"}},
    {"400 without a body", {.status = 400, .no_length = true}},
    {"401, to be retried",
     {.status = 401,
      .body = "{}",
      .headers = {"x-should-retry", "true", "retry-after-ms", "1"}}},
    {"307", {.status = 307, .headers = {"location", "/api/v1/elsewhere"}}},
    {"reset", {.failure = TK_HTTP_RESET}},
    {"try_again", {.body = "{\"type\":\"try_again\"}"}},
    {"try_again, 1 ms", {.body = "{\"type\":\"try_again\",\"retry_after_ms\":1}"}},
    {"pending", {.body = "{\"status\":\"pending\"}"}},
    {"failed", {.body = "{\"error\":\"x\",\"category\":\"server\"}"}},
    {"nothing", {.body = ""}},
    {"garbage", {.body = "\x01\xff"}},
    {"an expired token", {.body = "{\"jwt\":\"a.eyJleHAiOjF9.c\"}"}},
};

typedef struct pacefix {
    clientfix f;
    tinkc_training *training;
    tinkc_sampling *sampling;
    tk_endpoint_id target; /* TK_EP_COUNT: none */
    tk_endpoint_id wanted; /* what the test is about */
    const useless *useless;
    int64_t sent_ms[TK_EP_COUNT + 1][4096]; /* the last one: where redirects lead */
    size_t sent_n[TK_EP_COUNT + 1];
    size_t hurried; /* which endpoint; TK_EP_COUNT + 1: none */
} pacefix;

/* ---- which endpoint a request is for ---- */

/* How many bytes of the pattern are literal; 0: it does not match. */
static size_t match(const char *pattern, const char *path)
{
    pattern += strlen("/api/v1/");
    size_t n = strcspn(path, "?");
    const char *hole = strstr(pattern, "{}");
    size_t head = hole != NULL ? (size_t)(hole - pattern) : strlen(pattern);
    size_t tail = hole != NULL ? strlen(hole + 2) : 0;
    bool fits = hole != NULL ? n > head + tail : n == head;
    if (!fits || memcmp(pattern, path, head) != 0 ||
        (tail > 0 && memcmp(hole + 2, path + n - tail, tail) != 0)) {
        return 0;
    }
    return head + tail;
}

static size_t endpoint_of(const fakeseen *seen)
{
    size_t best = TK_EP_COUNT, most = 0;
    for (size_t i = 0; i < TK_EP_COUNT; i++) {
        const tk_endpoint *row = tk_endpoint_at((tk_endpoint_id)i);
        size_t literal = row->method == seen->method ? match(row->path, seen->path) : 0;
        if (literal > most) {
            most = literal;
            best = i;
        }
    }
    return best;
}

/* ---- the server ---- */

/* What lets an operation get as far as the endpoint under test. */
static fakeanswer good_answer(const pacefix *p, size_t id)
{
    switch (id) {
    case TK_EP_CLIENT_CONFIG:
        return (fakeanswer){.body = p->wanted == TK_EP_RETRIEVE_FUTURES
                                        ? "{\"pjwt_auth_enabled\":true,"
                                          "\"sample_use_retrieve_futures\":true}"
                                        : "{\"pjwt_auth_enabled\":true,"
                                          "\"custom_loss_server_side\":true,"
                                          "\"sample_join_sampling_session\":true}"};
    case TK_EP_AUTH_TOKEN: /* {"exp":4102444800,"iat":4102444700} */
        return (fakeanswer){
            .body = "{\"jwt\":\"a.eyJleHAiOjQxMDI0NDQ4MDAsImlhdCI6NDEwMjQ0NDcwMH0.c\"}"};
    case TK_EP_CREATE_SESSION:
        return (fakeanswer){.body = "{\"session_id\":\"S\"}"};
    case TK_EP_CREATE_SAMPLING:
        return (fakeanswer){.body = "{\"sampling_session_id\":\"S:sample:0\"}"};
    case TK_EP_DYNAMIC_CONFIG:
        return (fakeanswer){.body = "{\"sample_cancel_enabled\":true}"};
    case TK_EP_TELEMETRY:
        return (fakeanswer){.body = "{\"status\":\"accepted\"}"};
    case TK_EP_RETRIEVE_FUTURE:
        return (fakeanswer){.body = "{\"model_id\":\"m\"}"};
    case TK_EP_CREATE_MODEL:
    case TK_EP_FORWARD_BACKWARD:
    case TK_EP_FORWARD:
    case TK_EP_OPTIM_STEP:
    case TK_EP_ASAMPLE:
        return (fakeanswer){.body = "{\"request_id\":\"r\"}"};
    default:
        return (fakeanswer){.body = "{}"};
    }
}

static size_t allowed(size_t id)
{
    return id < TK_EP_COUNT && tk_endpoint_at((tk_endpoint_id)id)->every_ms >= SECOND_MS
               ? 1
               : IN_A_SECOND;
}

/* Notes the request; whether it is one too many for a second. */
static bool is_hurry(pacefix *p, size_t id, int64_t at_ms)
{
    size_t n = p->sent_n[id]++;
    size_t most = allowed(id);
    assert_true(n < TK_ARRAY_LEN(p->sent_ms[0]));
    p->sent_ms[id][n] = at_ms;
    return n >= most && at_ms - p->sent_ms[id][n - most] < SECOND_MS;
}

static fakeanswer respond(void *user, const fakeseen *seen)
{
    pacefix *p = user;
    size_t id = endpoint_of(seen);
    if (p->target == TK_EP_COUNT) {
        return good_answer(p, id);
    }
    bool is_useful = id == TK_EP_TELEMETRY && id != p->target; /* events that it takes */
    if (!is_useful && is_hurry(p, id, seen->at_ms)) {
        p->hurried = id;
        return (fakeanswer){.status = -1}; /* seen enough */
    }
    return id == p->target || id == TK_EP_COUNT ? p->useless->answer : good_answer(p, id);
}

/* ---- how each endpoint is reached ---- */

static tinkc_future *fwdbwd(pacefix *p)
{
    tinkc_datum *datum = datumfix_new();
    tinkc_datum *data[] = {datum};
    tinkc_future *future =
        tinkc_training_forward_backward(p->training, data, 1, "cross_entropy", NULL);
    tinkc_datum_free(&datum);
    return future;
}

/* On a server that reads JSON only. */
static tinkc_future *forward_json(pacefix *p)
{
    tk_core *core = tk_service_core(p->f.service);
    tinkc_datum *datum = datumfix_new();
    tk_manners_learn(tk_core_manners(core), tk_core_log(core), TK_MANNER_JSON_REQUESTS,
                     true);
    tinkc_future *future =
        tinkc_training_forward(p->training, &datum, 1, "cross_entropy", NULL);
    tinkc_datum_free(&datum);
    return future;
}

static bool ignore(const tinkc_stream_event *event, void *user)
{
    return true;
}

static tinkc_future *stream(pacefix *p)
{
    tinkc_model_input *prompt = samplefix_prompt(3);
    tinkc_future *future = tinkc_sampling_stream(p->sampling, prompt, NULL, ignore, NULL);
    tinkc_model_input_free(&prompt);
    return future;
}

static tinkc_future *report(pacefix *p)
{
    assert_int_equal(tinkc_telemetry_exception(p->f.service, "Pace", "x", NULL,
                                               TINKC_SEVERITY_CRITICAL, NULL),
                     TINKC_OK);
    return tinkc_service_health(p->f.service);
}

/* Accepted, then cancelled. */
static tinkc_future *cancelled(pacefix *p)
{
    p->f.net.answer = NULL;
    tinkc_future *future = samplefix_sample(&p->f, p->sampling, 3);
    assert_true(samplefix_accept(&p->f));
    p->f.net.answer = respond;
    tinkc_future_cancel(future);
    return future;
}

static tinkc_future *copy(tinkc_service *service)
{
    tinkc_copy_options options = TINKC_COPY_OPTIONS_INIT;
    options.project_id = "p";
    return tinkc_rest_copy_weights(service, CKPT, &options);
}

static tinkc_future *create_loss(tinkc_service *service)
{
    static const tinkc_loss_input input = {"logprobs", 1};
    tinkc_custom_loss loss = TINKC_CUSTOM_LOSS_INIT;
    loss.name = "l";
    loss.inputs = &input;
    loss.inputs_n = 1;
    loss.graph = "{\"format\":1,\"nodes\":[{}]}";
    return tinkc_service_create_custom_loss(service, &loss);
}

/* What a close does, whose wait is one of real time. */
static tinkc_future *end_session(tinkc_service *service)
{
    tk_core *core = tk_service_core(service);
    assert_true(tk_loop_post(tk_core_loop(core), &tk_core_finish(core)->task));
    return tinkc_service_health(service);
}

/* What a training client does. */
static tinkc_future *train(pacefix *p, tk_endpoint_id id)
{
    switch ((int)id) {
    case TK_EP_GET_INFO:
        return tinkc_training_get_info(p->training);
    case TK_EP_UNLOAD_MODEL:
        return tinkc_training_unload(p->training);
    case TK_EP_FORWARD_BACKWARD:
        return fwdbwd(p);
    case TK_EP_FORWARD:
        return forward_json(p);
    case TK_EP_OPTIM_STEP:
        return tinkc_training_optim_step(p->training, NULL);
    case TK_EP_SAVE_WEIGHTS:
        return tinkc_training_save_state(p->training, "one", NULL);
    case TK_EP_SAVE_FOR_SAMPLER:
        return tinkc_training_save_weights_for_sampler(p->training, "one", NULL);
    default:
        return tinkc_training_load_state(p->training, CKPT, false, NULL);
    }
}

static tinkc_future *launch(pacefix *p, tk_endpoint_id id)
{
    tinkc_service *s = p->f.service;
    switch (id) {
    case TK_EP_CLIENT_CONFIG:
    case TK_EP_AUTH_TOKEN:
    case TK_EP_DYNAMIC_CONFIG:
    case TK_EP_HEALTHZ:
        return tinkc_service_health(s);
    case TK_EP_CAPABILITIES:
        return tinkc_service_capabilities(s);
    case TK_EP_CREATE_SESSION:
    case TK_EP_CREATE_MODEL:
        return tinkc_service_create_training(s, "m", NULL);
    case TK_EP_HEARTBEAT:
        return tinkc_service_health(s); /* beats by itself */
    case TK_EP_FINISH_SESSION:
        return end_session(s);
    case TK_EP_GET_INFO:
    case TK_EP_UNLOAD_MODEL:
    case TK_EP_FORWARD_BACKWARD:
    case TK_EP_FORWARD:
    case TK_EP_OPTIM_STEP:
    case TK_EP_SAVE_WEIGHTS:
    case TK_EP_SAVE_FOR_SAMPLER:
    case TK_EP_LOAD_WEIGHTS:
        return train(p, id);
    case TK_EP_CREATE_CUSTOM_LOSS:
        return create_loss(s);
    case TK_EP_CREATE_SAMPLING:
        return tinkc_service_create_sampling(s, "m", NULL);
    case TK_EP_ASAMPLE:
    case TK_EP_RETRIEVE_FUTURE:
    case TK_EP_RETRIEVE_FUTURES:
        return samplefix_sample(&p->f, p->sampling, 3);
    case TK_EP_CANCEL_FUTURE:
        return cancelled(p);
    case TK_EP_JOIN_SAMPLING: /* {"sampling_session_id":"S"} */
        return tinkc_service_import_sampling(s, "eyJzYW1wbGluZ19zZXNzaW9uX2lkIjoiUyJ9");
    case TK_EP_SAMPLER:
        return tinkc_rest_get_sampler(s, "S:sample:0");
    case TK_EP_WEIGHTS_INFO:
        return tinkc_rest_weights_info(s, CKPT);
    case TK_EP_RUNS:
        return tinkc_rest_list_runs(s, NULL);
    case TK_EP_RUN:
        return tinkc_rest_get_run(s, "run-1", TINKC_SCOPE_OWNED);
    case TK_EP_RUN_CHECKPOINTS:
        return tinkc_rest_list_checkpoints(s, "run-1");
    case TK_EP_CHECKPOINT:
        return tinkc_rest_delete_checkpoint(s, CKPT);
    case TK_EP_ARCHIVE:
        return tinkc_rest_archive_url(s, CKPT);
    case TK_EP_PUBLISH:
        return tinkc_rest_publish_checkpoint(s, CKPT);
    case TK_EP_UNPUBLISH:
        return tinkc_rest_unpublish_checkpoint(s, CKPT);
    case TK_EP_TTL:
        return tinkc_rest_set_checkpoint_ttl(s, CKPT, 60);
    case TK_EP_USER_CHECKPOINTS:
        return tinkc_rest_list_user_checkpoints(s, NULL);
    case TK_EP_SESSIONS:
        return tinkc_rest_list_sessions(s, NULL);
    case TK_EP_SESSION:
        return tinkc_rest_get_session(s, "S", TINKC_SCOPE_OWNED);
    case TK_EP_PROJECT:
        return tinkc_rest_assign_project(s, "S", "p");
    case TK_EP_TRACE_EXPORT:
        return tinkc_rest_export_trace(s, "S");
    case TK_EP_AUDIT:
        return tinkc_rest_audit(s, TINKC_AUDIT_ALL, NULL);
    case TK_EP_BILLING:
        return tinkc_rest_billing(s, 0, 86400000000);
    case TK_EP_STORAGE:
        return tinkc_rest_storage(s, NULL);
    case TK_EP_SEARCH_SESSIONS:
        return tinkc_rest_search_sessions(s, NULL);
    case TK_EP_SEARCH_CHECKPOINTS:
        return tinkc_rest_search_checkpoints(s, NULL);
    case TK_EP_COPY_WEIGHTS:
        return copy(s);
    case TK_EP_EXTERNAL_URLS:
        return tinkc_rest_external_urls(s, "tinker://S:train:0/external_weights/e");
    case TK_EP_SAVE_EXTERNAL:
        return tinkc_training_save_weights_external(p->training, "one", NULL);
    case TK_EP_STREAM_SAMPLE:
        return stream(p);
    case TK_EP_TELEMETRY:
        return report(p);
    case TK_EP_COUNT:
        break;
    }
    return NULL;
}

/* ---- the walk ---- */

static bool is_setup(tk_endpoint_id id)
{
    return id == TK_EP_CLIENT_CONFIG || id == TK_EP_CREATE_SESSION;
}

static void open_handles(pacefix *p)
{
    tinkc_future *future = tinkc_service_create_training(p->f.service, "m", NULL);
    clientfix_turn(&p->f);
    clientfix_turn(&p->f);
    assert_int_equal(tinkc_future_take_training(&p->training, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    p->sampling = samplefix_create(&p->f);
}

/* The shortest intervals that the options allow. */
static const char *const eager[] = {"telemetry",
                                    "true",
                                    "sdk_version",
                                    "0.36.0",
                                    "heartbeat",
                                    "100",
                                    "sample_retry_base",
                                    "1",
                                    "sample_retry_max",
                                    "1",
                                    "poll_floor",
                                    "0",
                                    "sample_resubmits",
                                    "1000",
                                    "archive_poll",
                                    "1",
                                    "trace_poll",
                                    "1",
                                    "archive_tries",
                                    "100000",
                                    "max_retries",
                                    "1000",
                                    "telemetry_drain",
                                    "0",
                                    "finish_session",
                                    "false", /* but see end_session */
                                    NULL};

static void watch(pacefix *p, tk_endpoint_id id, const useless *answer)
{
    memset(p, 0, sizeof(*p));
    p->target = TK_EP_COUNT;
    p->wanted = id;
    p->hurried = TK_EP_COUNT + 1;
    clientfix_open_bare(&p->f, eager);
    p->f.net.answer = respond;
    p->f.net.answer_user = p;
    if (!is_setup(id)) {
        open_handles(p);
    }
    p->useless = answer;
    p->target = id;
    tinkc_future *future = launch(p, id);
    clientfix_advance(&p->f, WATCHED_MS);
    if (id == TK_EP_AUTH_TOKEN || id == TK_EP_DYNAMIC_CONFIG) {
        clientfix_advance(&p->f, 400000); /* their next turn comes later */
    }
    if (p->sent_n[id] == 0) {
        fail_msg("%s is not reached", tk_endpoint_at(id)->name);
    }
    if (p->hurried <= TK_EP_COUNT) {
        fail_msg("%s answered with %s: %zu requests, too fast, to %s",
                 tk_endpoint_at(id)->name, answer->name, p->sent_n[p->hurried],
                 p->hurried < TK_EP_COUNT
                     ? tk_endpoint_at((tk_endpoint_id)p->hurried)->name
                     : "where it redirects to");
    }
    tinkc_future_free(&future);
    tinkc_sampling_close(&p->sampling);
    tinkc_training_close(&p->training);
    clientfix_close(&p->f);
}

static void test_pace(void **unused)
{
    static pacefix p;
    size_t most = 0;
    for (int id = 0; id < TK_EP_COUNT; id++) {
        for (size_t i = 0; i < TK_ARRAY_LEN(useless_answers); i++) {
            watch(&p, (tk_endpoint_id)id, &useless_answers[i]);
            most = id == TK_EP_RETRIEVE_FUTURE ? TK_MAX(most, p.sent_n[id]) : most;
        }
    }
    assert_in_range(most, WATCHED_MS / 100 - 10, WATCHED_MS / 100 + 1); /* it does ask */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
