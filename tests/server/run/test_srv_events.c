/* What samples of a session have ended (retrieve_futures), who shares the session
 * (join_sampling_session), and ending samples (cancel_future): docs/protocol.md §4.1,
 * §4.2. The engine waits before its steps until the test lets it go on.
 * Links: wire */
#include "server/run/srv_events.h"
#include "server/wirefix.h"
#include "support/gate.h"

#define CLONE "1000000000"

typedef struct hold {
    gate arrived, go;
} hold;

static void on_step(void *user, srv_step step)
{
    hold *h = user;
    if (step == SRV_STEP_SAMPLE) {
        gate_raise(&h->arrived);
        (void)gate_wait(&h->go, 1);
    }
}

static void open_held(fix *t, hold *h, srv_options options)
{
    gate_init(&h->arrived);
    gate_init(&h->go);
    options.on_step = on_step;
    options.hook_user = h;
    open_fix(t, options);
}

static void close_held(fix *t, hold *h)
{
    gate_raise(&h->go);
    close_fix(t);
    gate_dispose(&h->arrived);
    gate_dispose(&h->go);
}

static const char *open_sampler(fix *t)
{
    const tk_json *json = srvfix_post(
        &t->f, API "create_sampling_session",
        format_body(t,
                    "{\"session_id\":\"%s\",\"sampling_session_seq_id\":0,\"base_model\":"
                    "\"" MODEL "\"}",
                    t->session));
    assert_int_equal(t->f.status, 200);
    return srvfix_text(json, "sampling_session_id");
}

static const char *sample(fix *t, const char *sampler, const char *seq, int token, int n)
{
    return submit(
        t, API "asample",
        format_body(t,
                    "{\"sampling_session_id\":\"%s\",\"seq_id\":%s,\"prompt\":"
                    "{\"chunks\":[{\"tokens\":[%d],\"type\":\"encoded_text\"}]},"
                    "\"sampling_params\":{\"max_tokens\":%d,\"stop\":[]}}",
                    sampler, seq, token, n));
}

static const char *many_body(fix *t, const char *sampler, int clone, long long cursor,
                             const char *retrieved)
{
    return format_body(t,
                       "{\"target\":{\"type\":\"sampling_session\","
                       "\"sampling_session_id\":\"%s\",\"cloned_sampler_id\":%d},"
                       "\"prev_cursor\":%lld,\"retrieved_request_ids\":[%s]}",
                       sampler, clone, cursor, retrieved);
}

static const tk_json *ask_many(fix *t, const char *sampler, int clone, long long cursor)
{
    const tk_json *json = srvfix_post(&t->f, API "retrieve_futures",
                                      many_body(t, sampler, clone, cursor, ""));
    assert_int_equal(t->f.status, 200);
    return json;
}

static size_t rows_of(const tk_json *json)
{
    return tk_json_len(tk_json_get(json, "completions"));
}

static long long cursor_of(const tk_json *json)
{
    return (long long)tk_json_get(json, "cursor")->as.integer;
}

static bool names(const tk_json *json, size_t i, const char *id, const char *state)
{
    const tk_json row = tk_json_at(tk_json_get(json, "completions"), i);
    return strcmp(srvfix_text(&row, "request_id"), id) == 0 &&
           strcmp(srvfix_text(&row, "state"), state) == 0;
}

/* Cursors: what was seen is not sent again, what was lost is; each client of a session
 * sees its own samples. */
static void test_srv_events_cursor(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    const char *sampler = open_sampler(&t);
    const char *ids[] = {sample(&t, sampler, "0", 5, 1), NULL,
                         sample(&t, sampler, CLONE, 5, 1)};
    for (size_t i = 0; i < 3; i += 2) {
        (void)result_of(&t, ids[i]);
        assert_int_equal(t.f.status, 200);
    }
    const tk_json *json = ask_many(&t, sampler, 0, 0);
    assert_int_equal(rows_of(json), 1);
    assert_true(names(json, 0, ids[0], "finished"));
    const tk_json row = tk_json_at(tk_json_get(json, "completions"), 0);
    assert_true(tk_json_get(&row, "response_payload_uncompressed_size")->as.integer > 0);
    assert_int_equal(rows_of(ask_many(&t, sampler, 0, 0)), 1); /* again: it was lost */
    long long cursor = cursor_of(json);
    json = ask_many(&t, sampler, 0, cursor);
    assert_int_equal(rows_of(json), 0);
    assert_int_equal(cursor_of(json), cursor);
    ids[1] = sample(&t, sampler, "1", 5, 1);
    do {
        json = ask_many(&t, sampler, 0, cursor);
    } while (rows_of(json) == 0);
    assert_true(rows_of(json) == 1 && names(json, 0, ids[1], "finished"));
    json = ask_many(&t, sampler, 1, 0);
    assert_true(rows_of(json) == 1 && names(json, 0, ids[2], "finished"));
    assert_int_equal(rows_of(ask_many(&t, sampler, 7, 0)), 0);
    assert_int_equal(rows_of(ask_many(&t, sampler, 0, INT64_MAX)), 0);
    assert_int_equal(rows_of(ask_many(&t, sampler, 0, -1)), 2);
    close_fix(&t);
}

/* More than one answer holds. */
static void test_srv_events_pages(void **state)
{
    enum { SAMPLES = SRV_EVENTS_MAX + 10 };
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    const char *sampler = open_sampler(&t);
    for (int i = 0; i < SAMPLES; i++) {
        char seq[16];
        (void)snprintf(seq, sizeof(seq), "%d", i);
        (void)sample(&t, sampler, seq, 99999999, 1); /* no such token: it fails */
    }
    long long cursor = 0;
    size_t n = 0;
    while (n < SAMPLES) {
        const tk_json *json = ask_many(&t, sampler, 0, cursor);
        n += rows_of(json);
        cursor = cursor_of(json);
    }
    assert_int_equal(n, SAMPLES);
    assert_int_equal(rows_of(ask_many(&t, sampler, 0, 0)), SRV_EVENTS_MAX);
    assert_int_equal(cursor_of(ask_many(&t, sampler, 0, 0)), SRV_EVENTS_MAX);
    close_fix(&t);
}

/* What a client has is freed: its bytes are gone, its number stays known. */
static void test_srv_events_acknowledged(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    const char *sampler = open_sampler(&t);
    const char *ids[] = {sample(&t, sampler, "0", 5, 1), sample(&t, sampler, "1", 5, 1)};
    (void)result_of(&t, ids[0]);
    (void)result_of(&t, ids[1]);
    const char *step = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    (void)result_of(&t, step);
    const tk_json *json = srvfix_post(
        &t.f, API "retrieve_futures",
        many_body(&t, sampler, 0, 0,
                  format_body(&t, "\"%s\",\"%s\",\"no\",\"\"", ids[0], step)));
    assert_int_equal(t.f.status, 200);
    assert_true(rows_of(json) == 1 && names(json, 0, ids[1], "finished"));
    (void)result_of(&t, ids[0]);
    assert_int_equal(t.f.status, 410);
    (void)result_of(&t, ids[1]);
    assert_int_equal(t.f.status, 200);
    (void)result_of(&t, step); /* of a model: not the session's */
    assert_int_equal(t.f.status, 200);
    assert_string_equal(sample(&t, sampler, "0", 5, 1), ids[0]); /* the same request */
    close_fix(&t);
}

static httpget *send_many(fix *t, const char *sampler, int clone)
{
    const httpget_request request = {.method = "POST",
                                     .target = API "retrieve_futures",
                                     .body = many_body(t, sampler, clone, 0, "")};
    httpget *poll = httpget_connect(srvfix_port(&t->f));
    assert_non_null(poll);
    assert_true(httpget_ask(poll, &request));
    return poll;
}

static const tk_json *read_many(fix *t, httpget *poll)
{
    httpget_response response;
    const tk_json *json = NULL;
    assert_int_equal(httpget_read(poll, &response), HTTPGET_OK);
    t->f.status = response.status;
    assert_int_equal(
        tk_json_parse(&json, &t->f.arena, response.body.p, response.body.n, NULL, NULL),
        TINKC_OK);
    httpget_response_dispose(&response);
    httpget_close(&poll);
    return json;
}

/* The value of a counter of /metrics. */
static long metric(fix *t, const char *name)
{
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    char line[96];
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(response.body.p, line);
    assert_non_null(at);
    long value = strtol(at + strlen(line), NULL, 10);
    httpget_response_dispose(&response);
    return value;
}

#define ASKS_MAX 100000

static void wait_metric(fix *t, const char *name, long n)
{
    for (int i = 0; metric(t, name) != n; i++) {
        if (i == ASKS_MAX) {
            fail_msg("%s did not become %ld", name, n);
        }
    }
}

static void wait_parked(fix *t, long n)
{
    wait_metric(t, "tinkc_polls_parked", n);
}

/* A poll is held until something ends, and wakes only for its own client. */
static void test_srv_events_are_held(void **state)
{
    fix t;
    hold h;
    open_held(&t, &h, (srv_options){0});
    const char *sampler = open_sampler(&t);
    const char *id = sample(&t, sampler, "0", 5, 1);
    assert_true(gate_wait(&h.arrived, 1));
    httpget *polls[] = {send_many(&t, sampler, 0), send_many(&t, sampler, 0),
                        send_many(&t, sampler, 1)};
    wait_parked(&t, 3);
    gate_raise(&h.go);
    for (int i = 0; i < 2; i++) {
        const tk_json *json = read_many(&t, polls[i]);
        assert_true(rows_of(json) == 1 && names(json, 0, id, "finished"));
    }
    wait_parked(&t, 1);
    srv_stop(&t.f.server); /* the last one is not forgotten */
    (void)read_many(&t, polls[2]);
    assert_int_equal(t.f.status, 503);
    srvfix_start(&t.f, (srv_options){0});
    close_held(&t, &h);
}

/* The session ends while a poll waits: it is answered in time, the next one with 404. */
static void test_srv_events_session_ends(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 300});
    const char *sampler = open_sampler(&t);
    (void)result_of(&t, sample(&t, sampler, "0", 5, 1));
    httpget *poll = send_many(&t, sampler, 3);
    wait_parked(&t, 1);
    (void)srvfix_post(&t.f, format_body(&t, API "sessions/%s/finish", t.session), "{}");
    assert_int_equal(t.f.status, 200);
    assert_int_equal(rows_of(read_many(&t, poll)), 0);
    assert_int_equal(t.f.status, 200);
    (void)srvfix_post(&t.f, API "retrieve_futures", many_body(&t, sampler, 3, 0, ""));
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

static void test_srv_events_refused(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"target\":{}}",
        "{\"target\":{\"type\":\"model\",\"sampling_session_id\":\"x\"}}",
        "{\"target\":{\"sampling_session_id\":7}}",
        "{\"target\":{\"sampling_session_id\":\"x\",\"cloned_sampler_id\":-1}}",
        "{\"target\":{\"sampling_session_id\":\"x\"},\"prev_cursor\":\"x\"}",
        "{\"target\":{\"sampling_session_id\":\"x\"},\"retrieved_request_ids\":[7]}"};
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        (void)srvfix_post(&t.f, API "retrieve_futures", bad[i]);
        assert_int_equal(t.f.status, 422);
    }
    (void)srvfix_post(&t.f, API "retrieve_futures", many_body(&t, "nowhere", 0, 0, ""));
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

/* ---- join_sampling_session ---- */

static long long join(fix *t, const char *sampler)
{
    const tk_json *json =
        srvfix_post(&t->f, API "join_sampling_session",
                    format_body(t, "{\"sampling_session_id\":\"%s\"}", sampler));
    return t->f.status == 200 ? (long long)tk_json_get(json, "client_counter")->as.integer
                              : -t->f.status;
}

static void test_srv_events_join(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const char *sampler = open_sampler(&t);
    assert_int_equal(join(&t, sampler), 1);
    assert_int_equal(join(&t, sampler), 2);
    assert_int_equal(join(&t, "nowhere"), -404);
    /* sequence ids beyond 32 bits */
    const char *id = sample(&t, sampler, "2000000005", 5, 1);
    assert_string_equal(id, format_body(&t, "%s:2000000005", sampler));
    (void)result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    id = sample(&t, sampler, "8999999999000000007", 5, 1);
    (void)result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    close_fix(&t);
}

/* ---- counters ---- */

/* What was not computed of a prompt, because an earlier request had it, is counted. */
static void test_srv_events_cached_tokens(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.sequences = 1});
    const char *sampler = open_sampler(&t);
    for (int i = 0; i < 2; i++) {
        const char *id = submit(
            &t, API "asample",
            format_body(&t,
                        "{\"sampling_session_id\":\"%s\",\"seq_id\":%d,\"prompt\":"
                        "{\"chunks\":[{\"tokens\":[9,8,7,6,5,9,8,7,6,5],\"type\":"
                        "\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":1}}",
                        sampler, i));
        (void)result_of(&t, id);
        assert_int_equal(t.f.status, 200);
        assert_int_equal(metric(&t, "tinkc_prompt_tokens_total"), 10 * (i + 1));
        assert_int_equal(metric(&t, "tinkc_prompt_tokens_cached_total"), 9 * i);
    }
    close_fix(&t);
}

/* ---- cancel_future ---- */

static int cancel(fix *t, const char *id)
{
    (void)srvfix_post(&t->f, API "cancel_future",
                      format_body(t, "{\"request_id\":\"%s\"}", id));
    return t->f.status;
}

/* Running and waiting samples end; the others and their results stay. */
static void test_srv_events_cancel(void **state)
{
    fix t;
    hold h;
    open_held(&t, &h, (srv_options){.sequences = 1});
    const char *sampler = open_sampler(&t);
    const char *ids[] = {sample(&t, sampler, "0", 5, 500),
                         sample(&t, sampler, "1", 5, 500),
                         sample(&t, sampler, "2", 5, 1)};
    assert_true(gate_wait(&h.arrived, 1)); /* the first one runs, the others wait */
    httpget *poll = send_many(&t, sampler, 0);
    wait_parked(&t, 1);
    assert_int_equal(cancel(&t, ids[0]), 200);
    assert_int_equal(cancel(&t, ids[0]), 200); /* twice is once */
    assert_int_equal(cancel(&t, ids[1]), 200);
    gate_raise(&h.go);
    const tk_json *json = read_many(&t, poll);
    assert_true(rows_of(json) >= 1 && names(json, 0, ids[0], "failed"));
    for (int i = 0; i < 2; i++) {
        json = result_of(&t, ids[i]);
        assert_int_equal(t.f.status, 200);
        assert_string_equal(srvfix_text(json, "error"), "cancelled by the client");
        assert_string_equal(srvfix_text(json, "category"), "user");
    }
    assert_null(tk_json_get(result_of(&t, ids[2]), "error"));
    assert_int_equal(t.f.status, 200);
    assert_int_equal(metric(&t, "tinkc_samples_cancelled_total"), 2);
    wait_metric(&t, "tinkc_samples_waiting", 0); /* counted after the result is there */
    assert_true(metric(&t, "tinkc_sampled_tokens_total") < 100);
    assert_int_equal(cancel(&t, ids[2]), 200); /* its result stays */
    assert_null(tk_json_get(result_of(&t, ids[2]), "error"));
    assert_int_equal(metric(&t, "tinkc_samples_cancelled_total"), 2);
    close_held(&t, &h);
}

static void test_srv_events_cancel_refused(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    assert_int_equal(cancel(&t, "nothing"), 404);
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    assert_int_equal(cancel(&t, id), 400); /* its first part has not come: it waits */
    (void)srvfix_post(&t.f, API "cancel_future", "{}");
    assert_int_equal(t.f.status, 422);
    close_fix(&t);
}

/* What is offered is said. */
static void test_srv_events_offered(void **state)
{
    static const char *const flags[] = {"sample_use_retrieve_futures",
                                        "sample_join_sampling_session"};
    fix t;
    open_fix(&t, (srv_options){0});
    const tk_json *json =
        srvfix_post(&t.f, API "client/config", "{\"sdk_version\":\"0.36.0\"}");
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        assert_true(tk_json_get(json, flags[i])->as.boolean);
    }
    json = srvfix_post(&t.f, API "client/dynamic_config", "{\"sdk_version\":\"0.36.0\"}");
    assert_true(tk_json_get(json, "sample_cancel_enabled")->as.boolean);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_events_cursor),
        cmocka_unit_test(test_srv_events_pages),
        cmocka_unit_test(test_srv_events_acknowledged),
        cmocka_unit_test(test_srv_events_are_held),
        cmocka_unit_test(test_srv_events_session_ends),
        cmocka_unit_test(test_srv_events_refused),
        cmocka_unit_test(test_srv_events_join),
        cmocka_unit_test(test_srv_events_cached_tokens),
        cmocka_unit_test(test_srv_events_cancel),
        cmocka_unit_test(test_srv_events_cancel_refused),
        cmocka_unit_test(test_srv_events_offered),
    };
    return cmocka_run_group_tests_name("srv_events", tests, NULL, NULL);
}
