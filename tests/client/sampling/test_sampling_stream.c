/* Token streams on the scripted peer: events at once, bounded, cancellable, and an
 * ordinary sample where the server has no streams.
 * Links: peer */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tinkc/ledger.h>
#include <tinkc/stream.h>

#include "base/buf.h"
#include "base/thread.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define STREAM "/api/v1/stream_sample"

static const char three[] =
    ": hello\n\n"
    "data: {\"token\":\"a\",\"token_id\":7,\"index\":0,\"logprob\":-0.5}\n\n"
    "data: {\"token\":\"\xE2\x82\xAC\",\"token_id\":8}\n\n"
    "data: {\"token_id\":9}\n\n"
    "data: {\"finish_reason\":\"stop\",\"total_tokens\":3}\n\n";

#define EXPECTED "7/a/0 8/\xE2\x82\xAC/1 9/-/2 stop/3 "

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
} fix;

static fakeapi_step sse(const char *body)
{
    return (fakeapi_step){
        .body = body, .content_type = "text/event-stream", .framing = FAKEAPI_CHUNKED};
}

static void begin(fix *f, const char *const *options)
{
    static const int32_t tokens[] = {1, 2, 3};
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, NULL);
    f->service = servicefix_open(f->api, options);
    f->sampling = NULL;
    f->prompt = NULL;
    assert_int_equal(
        tinkc_service_create_sampling_wait(&f->sampling, f->service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_model_input_new(&f->prompt, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_add_tokens(f->prompt, tokens, 3, NULL), TINKC_OK);
}

static void end(fix *f)
{
    tinkc_model_input_free(&f->prompt);
    tinkc_sampling_close(&f->sampling);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* What came, as one text. */
typedef struct heard {
    char text[512];
    size_t n, events, most;
    bool whole;
    double logprob; /* of the first token */
} heard;

static bool note(const tinkc_stream_event *event, void *user)
{
    heard *l = user;
    size_t room = sizeof(l->text) - l->n;
    int n =
        event->kind == TINKC_STREAM_TOKEN
            ? snprintf(l->text + l->n, room, "%lld/%s/%lld ", (long long)event->token_id,
                       event->token != NULL ? event->token : "-", (long long)event->index)
            : snprintf(l->text + l->n, room, "%s/%lld ", event->finish_reason,
                       (long long)event->total_tokens);
    l->n += TK_MIN((size_t)n, room - 1);
    l->logprob = l->events == 0 ? event->logprob : l->logprob;
    l->events++;
    l->whole = event->is_whole_sample;
    return l->most == 0 || l->events < l->most;
}

/* A-117, M-037: the callback form, and what is sent for it. */
static void test_stream_callback(void **unused)
{
    fix f;
    heard l = {0};
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 3;
    begin(&f, NULL);
    fakeapi_step step = sse(three);
    fakeapi_reply(f.api, "POST", STREAM, &step);
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, &params, note, &l, NULL),
        TINKC_OK);
    assert_string_equal(l.text, EXPECTED);
    assert_true(l.logprob == -0.5);
    assert_false(l.whole);
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", STREAM, 0);
    assert_string_equal(fakeapi_header(seen, "accept"), "text/event-stream");
    assert_non_null(strstr(seen->body, "\"num_samples\":1"));
    assert_non_null(strstr(seen->body, "\"max_tokens\":3"));
    assert_non_null(strstr(seen->body, "\"seq_id\":0"));
    assert_non_null(strstr(seen->body, tinkc_sampling_session_id(f.sampling)));
    end(&f);
}

/* The ledger counts what came when the server's total is less, and believes no total that
 * cannot be. */
static void test_stream_is_counted(void **unused)
{
    static const struct {
        const char *total;
        int64_t counted;
    } rows[] = {{"0", 1}, {"5", 5}, {"-9", 1}, {"9223372036854775807", INT64_C(1) << 40}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fix f;
        heard l = {0};
        char body[128];
        tinkc_ledger *ledger = NULL;
        begin(&f, NULL);
        (void)snprintf(body, sizeof(body),
                       "data: {\"token_id\":7}\n\n"
                       "data: {\"finish_reason\":\"stop\",\"total_tokens\":%s}\n\n",
                       rows[i].total);
        fakeapi_step step = sse(body);
        fakeapi_reply(f.api, "POST", STREAM, &step);
        assert_int_equal(
            tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, NULL),
            TINKC_OK);
        assert_int_equal(tinkc_service_read_ledger(&ledger, f.service, NULL), TINKC_OK);
        assert_int_equal(tinkc_ledger_total(ledger, TINKC_TOKENS_SAMPLED),
                         rows[i].counted);
        assert_int_equal(tinkc_ledger_total(ledger, TINKC_TOKENS_PREFILL), 3);
        tinkc_ledger_free(&ledger);
        end(&f);
    }
}

/* over the network in pieces of each size. */
static void test_stream_split(void **unused)
{
    fix f;
    begin(&f, NULL);
    for (size_t drip = 1; drip < 40; drip += 3) {
        heard l = {0};
        fakeapi_step step = sse(three);
        step.drip = drip;
        fakeapi_reply(f.api, "POST", STREAM, &step);
        assert_int_equal(
            tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, NULL),
            TINKC_OK);
        assert_string_equal(l.text, EXPECTED);
    }
    end(&f);
}

/* A-113, M-085: the first token is there while the server still holds the second back;
 * on a thread of ours and on the caller's loop. */
static void test_stream_first_token_at_once(void **unused)
{
    static const char *const loops[] = {"thread", "manual"};
    static const char one[] = "data: {\"token_id\":7}\n\n";
    for (size_t i = 0; i < TK_ARRAY_LEN(loops); i++) {
        const char *options[] = {"loop", loops[i], NULL};
        fix f;
        begin(&f, options);
        char body[256];
        (void)snprintf(body, sizeof(body), "%sdata: {\"finish_reason\":\"length\"}\n\n",
                       one);
        fakeapi_gate *gate = fakeapi_gate_new(f.api);
        fakeapi_step step = sse(body);
        step.drip = sizeof(one) - 1;
        step.drip_gate = gate;
        fakeapi_reply(f.api, "POST", STREAM, &step);
        tinkc_stream *stream = NULL;
        const tinkc_stream_event *event = NULL;
        assert_int_equal(tinkc_stream_open(&stream, f.sampling, f.prompt, NULL, NULL),
                         TINKC_OK);
        fakeapi_gate_let(gate, 1);
        assert_int_equal(tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL),
                         TINKC_OK);
        assert_int_equal(event->token_id, 7);
        assert_true(isnan(event->logprob));
        assert_int_equal(tinkc_stream_next(&event, stream, 1, NULL), TINKC_E_TIMEOUT);
        fakeapi_gate_open(gate);
        assert_int_equal(tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL),
                         TINKC_OK);
        assert_int_equal(event->kind, TINKC_STREAM_DONE);
        assert_string_equal(event->finish_reason, "length");
        assert_int_equal(event->total_tokens, 1);
        assert_int_equal(tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL),
                         TINKC_E_MISSING);
        tinkc_stream_close(&stream);
        end(&f);
    }
}

/* What a reader gets that waits on the loop's thread, which itself must deliver the
 * event. */
typedef struct inside {
    tinkc_stream *stream;
    tinkc_code waits, asks;
} inside;

static void read_inside(tinkc_future *future, void *user)
{
    inside *at = user;
    const tinkc_stream_event *event = NULL;
    at->waits = tinkc_stream_next(&event, at->stream, 1, NULL);
    at->asks = tinkc_stream_next(&event, at->stream, 0, NULL);
}

static void test_stream_not_on_the_loop(void **unused)
{
    static const char *const loops[] = {"thread", "manual"};
    for (size_t i = 0; i < TK_ARRAY_LEN(loops); i++) {
        const char *options[] = {"loop", loops[i], NULL};
        fix f;
        begin(&f, options);
        fakeapi_step step = sse(three), health = fakeapi_json("{\"status\":\"ok\"}");
        step.gate = fakeapi_gate_new(f.api);
        health.gate = fakeapi_gate_new(f.api); /* the callback is set before it is done */
        fakeapi_reply(f.api, "POST", STREAM, &step);
        fakeapi_reply(f.api, "GET", "/api/v1/healthz", &health);
        inside at = {.waits = TINKC_OK, .asks = TINKC_OK};
        assert_int_equal(tinkc_stream_open(&at.stream, f.sampling, f.prompt, NULL, NULL),
                         TINKC_OK);
        tinkc_future *future = tinkc_service_health(f.service);
        assert_int_equal(tinkc_future_on_done(future, read_inside, &at, NULL), TINKC_OK);
        fakeapi_gate_open(health.gate);
        assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
        tinkc_future_free(&future);
        /* the callback has run when another operation has */
        assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
        assert_int_equal(at.waits, TINKC_E_STATE);
        assert_int_equal(at.asks, TINKC_E_TIMEOUT);
        fakeapi_gate_open(step.gate);
        tinkc_stream_close(&at.stream);
        end(&f);
    }
}

/* a reader that waits makes the server wait: 1 MB of events passes through a few
 * hundred kilobytes, in order. */
static void test_stream_back_pressure(void **unused)
{
    enum { TOKENS = 20000, TURNS = 200 };
    static const char *const options[] = {"loop", "manual", NULL};
    tk_buf body;
    tk_buf_init(&body, 16 * TK_MIB);
    for (int i = 0; i < TOKENS; i++) {
        tk_buf_printf(
            &body, "data: {\"token\":\"some text of a token\",\"token_id\":%d}\n\n", i);
    }
    tk_buf_puts(&body, "data: {\"finish_reason\":\"stop\"}\n\n");
    char *text = strdup(tk_buf_cstr(&body));
    tk_buf_dispose(&body);
    failmem_start();
    fix f;
    begin(&f, options);
    fakeapi_step step = sse(text);
    fakeapi_reply(f.api, "POST", STREAM, &step);
    fakeapi_default(f.api, "GET", "/api/v1/healthz",
                    &fakeapi_json("{\"status\":\"ok\"}"));
    tinkc_stream *stream = NULL;
    const tinkc_stream_event *event = NULL;
    assert_int_equal(tinkc_stream_open(&stream, f.sampling, f.prompt, NULL, NULL),
                     TINKC_OK);
    /* the loop takes in as much as it wants: with each answer a piece could come, too */
    for (int i = 0; i < TURNS; i++) {
        assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    }
    for (int i = 0; i < TOKENS; i++) {
        assert_int_equal(tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL),
                         TINKC_OK);
        assert_int_equal(event->token_id, i);
    }
    assert_int_equal(tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL), TINKC_OK);
    assert_int_equal(event->kind, TINKC_STREAM_DONE);
    assert_int_equal(event->total_tokens, TOKENS);
    tinkc_stream_close(&stream);
    assert_true(failmem_peak_bytes() < 500000);
    end(&f);
    assert_int_equal(failmem_stop(), 0);
    free(text);
}

/* stopped by the callback, by the future, by closing: the connection closes, the
 * service goes on. */
static void test_stream_cancel(void **unused)
{
    fix f;
    begin(&f, NULL);
    heard l = {.most = 2};
    fakeapi_step step = sse(three);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", STREAM, &step);
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, NULL),
        TINKC_E_CANCELLED);
    assert_int_equal(l.events, 2);

    step.drip = 80;
    step.drip_gate = gate;
    fakeapi_reply(f.api, "POST", STREAM, &step);
    fakeapi_reply(f.api, "POST", STREAM, &step);
    l = (heard){0};
    tinkc_future *future = tinkc_sampling_stream(f.sampling, f.prompt, NULL, note, &l);
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_future_cancel(future);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", STREAM, 0));

    tinkc_stream *stream = NULL;
    assert_int_equal(tinkc_stream_open(&stream, f.sampling, f.prompt, NULL, NULL),
                     TINKC_OK);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", STREAM, 1));
    tinkc_stream_close(&stream);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", STREAM, 0));
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    end(&f);
}

/* Faults: an error event, a cut, an end without its event, a malformed event. */
static void test_stream_faults(void **unused)
{
    static const struct {
        const char *body;
        fakeapi_fault fault;
        size_t cut;
        tinkc_code code;
        const char *text;
    } rows[] = {
        {"data: {\"token_id\":1}\n\ndata: {\"error\":\"no luck\"}\n\n", FAKEAPI_NONE, 0,
         TINKC_E_REQUEST, "no luck"},
        {"data: {\"error\":{\"message\":\"deep\"}}\n\n", FAKEAPI_NONE, 0, TINKC_E_REQUEST,
         "deep"},
        {"data: {\"token_id\":1}\n\n", FAKEAPI_NONE, 0, TINKC_E_CONNECTION, "end event"},
        {"data: {\"token_id\":1}\n\ndata: {}\n\n", FAKEAPI_CUT_BODY, 30,
         TINKC_E_CONNECTION, ""},
        {"data: not json\n\n", FAKEAPI_NONE, 0, TINKC_E_PARSE, ""},
        {"data: {\"token_id\":\"x\"}\n\n", FAKEAPI_NONE, 0, TINKC_E_DECODE, ""},
        {"data: {\"token\":\"\xC3\"}\n\n", FAKEAPI_NONE, 0, TINKC_E_PARSE, ""},
    };
    fix f;
    begin(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        heard l = {0};
        tinkc_error *error = NULL;
        fakeapi_step step = sse(rows[i].body);
        step.fault = rows[i].fault;
        step.cut = rows[i].cut;
        fakeapi_reply(f.api, "POST", STREAM, &step);
        assert_int_equal(
            tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, &error),
            rows[i].code);
        assert_non_null(strstr(tinkc_error_message(error), rows[i].text));
        tinkc_error_free(&error);
    }
    assert_int_equal(fakeapi_count(f.api, "POST", STREAM), TK_ARRAY_LEN(rows));
    end(&f);
}

/* The server pushes back: waited out, not an error. */
static void test_stream_push_back(void **unused)
{
    fix f;
    heard l = {0};
    begin(&f, NULL);
    fakeapi_step step = sse(three);
    fakeapi_reply(f.api, "POST", STREAM, &fakeapi_429(FAKEAPI_AFTER_MS(1)));
    fakeapi_reply(f.api, "POST", STREAM, &step);
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, NULL), TINKC_OK);
    assert_string_equal(l.text, EXPECTED);
    end(&f);
}

/* A server that pushes back for ever is stuck. */
static void test_stream_push_back_for_ever(void **unused)
{
    static const char *const options[] = {"stuck_total", "1", NULL};
    fix f;
    heard l = {0};
    begin(&f, options);
    fakeapi_default(f.api, "POST", STREAM, &fakeapi_429(FAKEAPI_AFTER_MS(1)));
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, NULL),
        TINKC_E_STUCK);
    end(&f);
}

/* M-085: where there is no such endpoint an ordinary sample is taken; asked for once. */
static void test_stream_fallback(void **unused)
{
    static const int statuses[] = {404, 405, 501};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        fix f;
        tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
        params.max_tokens = 3;
        begin(&f, NULL);
        fakeapi_default(f.api, "POST", STREAM, &(fakeapi_step){.status = statuses[i]});
        for (int k = 0; k < 2; k++) {
            heard l = {0};
            assert_int_equal(
                tinkc_sampling_stream_wait(f.sampling, f.prompt, &params, note, &l, NULL),
                TINKC_OK);
            assert_string_equal(l.text, "4/-/0 5/-/1 6/-/2 length/3 ");
            assert_true(l.whole);
        }
        assert_int_equal(fakeapi_count(f.api, "POST", STREAM), 1);
        assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/asample"), 2);
        tinkc_stream *stream = NULL;
        const tinkc_stream_event *event = NULL;
        size_t n = 0;
        assert_int_equal(tinkc_stream_open(&stream, f.sampling, f.prompt, &params, NULL),
                         TINKC_OK);
        while (tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL) == TINKC_OK) {
            n++;
        }
        assert_int_equal(n, 4);
        tinkc_stream_close(&stream);
        heard stop = {.most = 1};
        assert_int_equal(
            tinkc_sampling_stream_wait(f.sampling, f.prompt, &params, note, &stop, NULL),
            TINKC_E_CANCELLED);
        end(&f);
    }
}

/* The ordinary sample is cancelled with its stream, and fails with it. */
static void test_stream_fallback_ends(void **unused)
{
    fix f;
    heard l = {0};
    tinkc_error *error = NULL;
    begin(&f, NULL);
    fakeapi_default(f.api, "POST", STREAM, &(fakeapi_step){.status = 404});
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *future = tinkc_sampling_stream(f.sampling, f.prompt, NULL, note, &l);
    assert_true(fakeapi_wait_for(f.api, "POST", "/api/v1/retrieve_future", 1));
    tinkc_future_cancel(future);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    fakeapi_tinker_hold(f.api, false);
    fakeapi_reply(f.api, "POST", "/api/v1/asample", &fakeapi_detail(400, "bad prompt"));
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, note, &l, &error),
        TINKC_E_BAD_REQUEST);
    tinkc_error_free(&error);
    fakeapi_tinker_hold(f.api, true);
    future = tinkc_sampling_stream(f.sampling, f.prompt, NULL, note, &l);
    assert_true(fakeapi_wait_for(f.api, "POST", "/api/v1/retrieve_future", 2));
    tinkc_service_close(&f.service);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
    end(&f);
}

static void test_stream_refuses(void **unused)
{
    fix f;
    heard l = {0};
    tinkc_stream *stream = NULL;
    tinkc_model_input *empty = NULL;
    tinkc_sampling_params bad = TINKC_SAMPLING_PARAMS_INIT;
    bad.temperature = -1;
    begin(&f, NULL);
    assert_int_equal(tinkc_model_input_new(&empty, NULL), TINKC_OK);
    assert_int_equal(tinkc_sampling_stream_wait(f.sampling, empty, NULL, note, &l, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, &bad, note, &l, NULL),
        TINKC_E_INVALID);
    assert_int_equal(
        tinkc_sampling_stream_wait(f.sampling, f.prompt, NULL, NULL, &l, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_sampling_stream_wait(NULL, f.prompt, NULL, note, &l, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_stream_open(&stream, f.sampling, empty, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_stream_open(&stream, NULL, f.prompt, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(
        tinkc_stream_next(&(const tinkc_stream_event *){NULL}, NULL, 0, NULL),
        TINKC_E_STATE);
    assert_null(stream);
    tinkc_model_input_free(&empty);
    assert_int_equal(fakeapi_count(f.api, "POST", STREAM), 0);
    end(&f);
}

typedef struct sweep_case {
    bool falls_back, pulls;
} sweep_case;

static bool run_stream(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                       bool pulls)
{
    heard l = {0};
    if (!pulls) {
        return tinkc_sampling_stream_wait(sampling, prompt, NULL, note, &l, NULL) ==
               TINKC_OK;
    }
    tinkc_stream *stream = NULL;
    const tinkc_stream_event *event = NULL;
    bool done = false;
    if (tinkc_stream_open(&stream, sampling, prompt, NULL, NULL) != TINKC_OK) {
        return false;
    }
    while (tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL) == TINKC_OK) {
        done = event->kind == TINKC_STREAM_DONE;
    }
    tinkc_stream_close(&stream);
    return done;
}

static bool sweep_once(void *user)
{
    static const int32_t tokens[] = {1, 2, 3};
    const sweep_case *row = user;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_step step = sse(three);
    if (row->falls_back) {
        step = (fakeapi_step){.status = 404};
    }
    fakeapi_default(api, "POST", STREAM, &step);
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_config_set(config, "sample_retry_base", "1", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) ==
                  TINKC_OK &&
              tinkc_model_input_new(&prompt, NULL) == TINKC_OK &&
              tinkc_model_input_add_tokens(prompt, tokens, 3, NULL) == TINKC_OK &&
              run_stream(sampling, prompt, row->pulls);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

static void test_stream_allocation_sweep(void **unused)
{
    sweep_case rows[] = {{false, false}, {false, true}, {true, false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_true(failmem_sweep(sweep_once, &rows[i], 3) > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_callback),
        cmocka_unit_test(test_stream_is_counted),
        cmocka_unit_test(test_stream_split),
        cmocka_unit_test(test_stream_first_token_at_once),
        cmocka_unit_test(test_stream_not_on_the_loop),
        cmocka_unit_test(test_stream_back_pressure),
        cmocka_unit_test(test_stream_cancel),
        cmocka_unit_test(test_stream_faults),
        cmocka_unit_test(test_stream_push_back),
        cmocka_unit_test(test_stream_push_back_for_ever),
        cmocka_unit_test(test_stream_fallback),
        cmocka_unit_test(test_stream_fallback_ends),
        cmocka_unit_test(test_stream_refuses),
        cmocka_unit_test(test_stream_allocation_sweep),
    };
    return cmocka_run_group_tests_name("client/sampling_stream", tests, NULL, NULL);
}
