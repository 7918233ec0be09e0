/* The client against answers that are generated from the recordings, each wrong in one way
 * (support/hostile_run.h). A small part of what soak_hostile runs; a finding names its
 * case, which `soak_hostile --only CASE` repeats.
 *
 * Links: hostile */
#include "support/hostile_live.h"
#include "support/test.h"

#if defined(__SANITIZE_THREAD__) /* nearly all of it is on one thread */
#define ANSWERS 100
#define STRIDE  2003
#elif defined(TINKC_SANITIZED)
#define ANSWERS 1000
#define STRIDE  997
#else
#define ANSWERS 3000
#define STRIDE  211
#endif
#define LIVE 16 /* cases that are also sent through libcurl, in each way */

static hostile_plan plan;

static void check(void *user, const hostile_case *it)
{
    hostile_verdict verdict;
    char name[256];
    size_t *n = user;
    hostile_run(&verdict, it);
    if (verdict.finding[0] != '\0') {
        hostile_case_name(name, sizeof(name), it);
        fail_msg("%s (%s): %s", name, verdict.what, verdict.finding);
    }
    (*n)++;
}

/* M-119: generated hostile answers to every operation: an error or a result, never a
 * crash or a wait without an end. */
static void test_hostile_answers(void **unused)
{
    size_t n = 0;
    hostile_walk walk = {.answers = ANSWERS, .seed = 20, .fn = check, .user = &n};
    hostile_plan_walk(&plan, &walk);
    assert_int_equal(n, ANSWERS);
}

/* M-115: an unknown key, word or kind in an answer: what the program gets is what
 * it was without that. `soak_hostile --newer` runs all of them. */
static void test_hostile_newer(void **unused)
{
    size_t n = 0;
    hostile_plan_walk_newer(&plan, STRIDE, check, &n);
    assert_true(n * STRIDE > 35000);
}

/* One of them in each way through libcurl. */
static void check_live(void *user, const hostile_case *it)
{
    hostile_verdict emulated, verdict;
    char name[256];
    size_t *n = user;
    hostile_run(&emulated, it);
    for (size_t i = 0; i < hostile_live_ways(); i++) {
        if (hostile_live(&verdict, it, i, &emulated)) {
            (*n)++;
            if (verdict.finding[0] != '\0') {
                hostile_case_name(name, sizeof(name), it);
                fail_msg("%s --way %zu (%s): %s", name, i, verdict.what, verdict.finding);
            }
        }
    }
}

static void test_hostile_live(void **unused)
{
    size_t n = 0;
    hostile_walk walk = {.answers = LIVE, .seed = 21, .fn = check_live, .user = &n};
    hostile_plan_walk(&plan, &walk);
    assert_true(n > LIVE);
}

/* Each endpoint is asked by an operation and has answers of its own. */
static void test_hostile_covers(void **unused)
{
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        if (key != TK_EP_RETRIEVE_FUTURE &&
            (hostile_plan_count(&plan, key, true) == 0 ||
             hostile_plan_count(&plan, key, false) == 0)) {
            fail_msg("no answers to %s", hostile_key_name(key));
        }
    }
}

/* A case can be repeated by its name. */
static void test_hostile_names(void **unused)
{
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        size_t n = hostile_plan_count(&plan, key, false);
        for (size_t i = 0; i < 5 && n > 0; i++) {
            hostile_case it, again;
            char name[256];
            hostile_plan_at(&it, &plan, key, false, (n - 1) * i / 4);
            hostile_case_name(name, sizeof(name), &it);
            assert_true(hostile_case_parse(&again, &plan, name));
            assert_true(again.op == it.op && again.key == it.key &&
                        again.source == it.source && again.change == it.change);
        }
    }
    hostile_case none;
    assert_false(hostile_case_parse(&none, &plan, "healthz:health:archive"));
    assert_false(hostile_case_parse(&none, &plan, "healthz:health:archive:99999999"));
}

/* ---- the judge itself ---- */

typedef struct script {
    hostile_net net;
    fakeclock clock;
    hostile_answer answer;
    tk_http_request request;
    tk_http_failure failure;
    size_t done, bytes;
} script;

static const hostile_answer *give(void *user, size_t key)
{
    return &((script *)user)->answer;
}

static void on_done(tk_http_request *request, const tk_http_response *response)
{
    script *s = request->user;
    s->done++;
    s->failure = response->failure;
    s->bytes = response->body.n;
}

static void start(script *s, hostile_flow flow, const char *body)
{
    *s = (script){.answer = {.status = 200, .flow = flow}};
    fakeclock_init(&s->clock);
    hostile_net_init(&s->net, &s->clock);
    s->net.answer = give;
    s->net.user = s;
    tk_buf_init(&s->answer.body, TK_MIB);
    tk_buf_puts(&s->answer.body, body);
    s->request = (tk_http_request){.url = "http://x/api/v1/healthz",
                                   .timeout_ms = 60000,
                                   .max_response_bytes = 8 * TK_MIB,
                                   .done = on_done,
                                   .user = s};
}

static void send_at(script *s, int64_t after_ms)
{
    fakeclock_advance_ms(&s->clock, after_ms);
    assert_int_equal(s->net.transport.ops->submit(&s->net.transport, &s->request, NULL),
                     TINKC_OK);
    s->net.transport.ops->process(&s->net.transport);
}

static void test_hostile_counts_pace(void **unused)
{
    script s;
    start(&s, HOSTILE_WHOLE, "{}");
    for (size_t i = 0; i < 30; i++) {
        send_at(&s, 100);
    }
    assert_int_equal(s.net.counts[TK_EP_HEALTHZ].most_per_s, 10);
    assert_int_equal(s.net.counts[TK_EP_HEALTHZ].least_gap_ms, 100);
    send_at(&s, 99);
    assert_int_equal(s.net.counts[TK_EP_HEALTHZ].most_per_s, 11);
    assert_int_equal(s.net.counts[TK_EP_HEALTHZ].least_gap_ms, 99);
    assert_int_equal(s.done, 31);
    hostile_answer_dispose(&s.answer);
}

/* Lets time pass until the request is done; returns the milliseconds. */
static int64_t finish(script *s)
{
    tk_transport *transport = &s->net.transport;
    int64_t start_ms = tk_clock_mono_ms(&s->clock.clock);
    send_at(s, 0);
    while (s->done == 0) {
        int64_t now = tk_clock_mono_ms(&s->clock.clock);
        int64_t due = transport->ops->deadline_ms(transport);
        assert_true(due < INT64_MAX);
        fakeclock_advance_ms(&s->clock, TK_MAX(due - now, 0));
        transport->ops->process(transport);
    }
    hostile_answer_dispose(&s->answer);
    return tk_clock_mono_ms(&s->clock.clock) - start_ms;
}

static void test_hostile_flows(void **unused)
{
    script s;
    start(&s, HOSTILE_NEVER, "");
    assert_int_equal(finish(&s), 60000);
    assert_int_equal(s.failure, TK_HTTP_TIMEOUT);
    start(&s, HOSTILE_ENDLESS, "{");
    assert_true(finish(&s) < 20);
    assert_int_equal(s.failure, TK_HTTP_TOO_LARGE);
    start(&s, HOSTILE_CRAWL, "{");
    assert_int_equal(finish(&s), 60000);
    assert_int_equal(s.failure, TK_HTTP_TIMEOUT);
    start(&s, HOSTILE_DRIP, "{\"a\":1}");
    s.answer.drip_bytes = 2;
    s.answer.drip_ms = 250;
    assert_int_equal(finish(&s), 750);
    assert_int_equal(s.failure, TK_HTTP_OK);
    assert_int_equal(s.bytes, 7);
    start(&s, HOSTILE_CUT, "{}");
    assert_int_equal(finish(&s), 0);
    assert_int_equal(s.failure, TK_HTTP_RESET);
    start(&s, HOSTILE_WHOLE, "0123456789");
    s.request.max_response_bytes = 9;
    assert_int_equal(finish(&s), 0);
    assert_int_equal(s.failure, TK_HTTP_TOO_LARGE);
}

static int open_plan(void **unused)
{
    hostile_plan_make(&plan, TEST_DATA_DIR "/wire");
    return 0;
}

static int close_plan(void **unused)
{
    hostile_plan_dispose(&plan);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_counts_pace), cmocka_unit_test(test_hostile_flows),
        cmocka_unit_test(test_hostile_covers),      cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_hostile_answers),     cmocka_unit_test(test_hostile_live),
        cmocka_unit_test(test_hostile_newer),
    };
    return cmocka_run_group_tests(tests, open_plan, close_plan);
}
