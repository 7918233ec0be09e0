/* What the polling loop tells the caller's future while it waits, and the limits on
 * waiting that can be switched off: with test_poll.c and test_poll_answers.c, a test for
 * every branch of the loop (A-152; A-123, M-096). */
#include <stdio.h>

#include "client/call/poll.h"
#include "support/clientfix.h"

#define POLL "retrieve_future"

typedef struct told {
    clientfix f;
    tk_poll poll;
    tinkc_future *future;
    bool done;
    tinkc_code code;
    char message[TK_ERR_MESSAGE_BYTES];
} told;

static void on_done(tk_poll *poll, const tk_poll_result *result)
{
    told *t = poll->user;
    t->done = true;
    t->code = result->code;
    (void)snprintf(t->message, sizeof(t->message), "%s",
                   result->err != NULL ? result->err->message : "");
}

static void start(told *t, tk_future_type type, const char *const *options)
{
    *t = (told){0};
    clientfix_open(&t->f, options);
    faketransport_default(
        &t->f.net, "client/config",
        (fakeanswer){.body = "{\"inflight_response_bytes_semaphore_size\":50}"});
    faketransport_default(&t->f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *ready = tinkc_service_health(t->f.service);
    clientfix_turn(&t->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    t->future = tk_future_new(NULL, "optim_step", TK_RESULT_NONE);
    t->poll = (tk_poll){.core = tk_service_core(t->f.service),
                        .type = type,
                        .request_id = "r",
                        .what = "model-1",
                        .future = t->future,
                        .done = on_done,
                        .user = t};
}

static void begin(told *t)
{
    tk_poll_start(&t->poll);
    clientfix_turn(&t->f);
}

static void end(told *t)
{
    tk_poll_cancel(&t->poll);
    assert_true(t->done);
    tinkc_future_cancel(t->future);
    tinkc_future_free(&t->future);
    clientfix_close(&t->f);
}

static void answer(told *t, fakeanswer said)
{
    assert_true(faketransport_answer(&t->f.net, POLL, said));
    clientfix_turn(&t->f);
}

static tinkc_wait status_of(const told *t)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    assert_int_equal(tinkc_future_status(&wait, t->future, NULL), TINKC_OK);
    return wait;
}

/* A-152, M-097: a paused queue is reported with the server's reason, and forgotten
 * when it runs again. */
static void test_poll_told_queue(void **unused)
{
    static const struct {
        const char *body;
        tinkc_queue_state state;
        tinkc_stage stage;
        const char *reason;
    } rows[] = {
        {"{\"queue_state\":\"paused_capacity\",\"queue_state_reason\":\"no room\"}",
         TINKC_QUEUE_PAUSED_CAPACITY, TINKC_STAGE_QUEUED, "no room"},
        {"{\"queue_state\":\"paused_rate_limit\",\"queue_state_reason\":\"\"}",
         TINKC_QUEUE_PAUSED_RATE_LIMIT, TINKC_STAGE_QUEUED, ""},
        {"{\"queue_state\":\"paused_capacity\"}", TINKC_QUEUE_PAUSED_CAPACITY,
         TINKC_STAGE_QUEUED, ""},
        {"{\"queue_state\":\"active\"}", TINKC_QUEUE_ACTIVE, TINKC_STAGE_RUNNING, ""},
        {"{\"queue_state_reason\":\"who knows\"}", TINKC_QUEUE_UNKNOWN,
         TINKC_STAGE_RUNNING, "who knows"},
    };
    told t;
    start(&t, TK_FUTURE_OPTIM_STEP, NULL);
    begin(&t);
    assert_int_equal(status_of(&t).stage, TINKC_STAGE_RUNNING);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix_advance(&t.f, TK_RETRY_EVERY_MS); /* the server holds the poll */
        answer(&t, (fakeanswer){.status = 408, .body = rows[i].body});
        tinkc_wait wait = status_of(&t);
        assert_int_equal(wait.queue_state, rows[i].state);
        assert_int_equal(wait.stage, rows[i].stage);
        assert_string_equal(wait.reason, rows[i].reason);
        assert_int_equal(wait.last_status, 408);
    }
    end(&t);
}

/* A connection that fails is a back-off, with -1 for the status. */
static void test_poll_told_back_off(void **unused)
{
    told t;
    start(&t, TK_FUTURE_OPTIM_STEP, NULL);
    begin(&t);
    answer(&t, (fakeanswer){.failure = TK_HTTP_RESET});
    assert_int_equal(status_of(&t).stage, TINKC_STAGE_BACKOFF);
    assert_int_equal(status_of(&t).last_status, -1);
    clientfix_advance(&t.f, 1000);
    assert_int_equal(status_of(&t).stage, TINKC_STAGE_RUNNING);
    end(&t);
}

/* a large result: first a wait for the budget of large results, then the
 * download. */
static void test_poll_told_payload(void **unused)
{
    static const fakeanswer metadata = {
        .body = "{\"status\":\"complete_metadata\",\"response_payload_size\":60}"};
    told t;
    start(&t, TK_FUTURE_SAMPLE, NULL);
    tk_budget *budget = tk_core_response_budget(t.poll.core);
    tk_budget_claim other = {0};
    assert_true(tk_budget_acquire(budget, &other, 60, NULL));
    begin(&t);
    answer(&t, metadata);
    assert_int_equal(status_of(&t).stage, TINKC_STAGE_BUDGET);
    tk_budget_release(budget, &other);
    clientfix_turn(&t.f);
    assert_int_equal(status_of(&t).stage, TINKC_STAGE_DOWNLOADING);
    answer(&t, (fakeanswer){.body = "",
                            .headers = {"content-type", "application/x-protobuf"}});
    assert_true(t.done);
    assert_int_equal(t.code, TINKC_OK);
    end(&t);
}

/* An error without text still fails, and says something. */
static void test_poll_told_empty_error(void **unused)
{
    told t;
    start(&t, TK_FUTURE_OPTIM_STEP, NULL);
    begin(&t);
    answer(&t, (fakeanswer){.body = "{\"error\":\"\",\"category\":\"server\"}"});
    assert_int_equal(t.code, TINKC_E_REQUEST);
    end(&t);
}

/* Three hours in which every poll breaks. */
static void wait_long(told *t)
{
    begin(t);
    faketransport_default(&t->f.net, POLL, (fakeanswer){.failure = TK_HTTP_RESET});
    answer(t, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&t->f, INT64_C(3) * 3600 * 1000);
}

/* the limits against being stuck may be none. */
static void test_poll_told_never_stuck(void **unused)
{
    static const char *const none[] = {"stuck_silent", "none", "stuck_total", "none",
                                       NULL};
    static const char *const one[] = {"stuck_silent", "none", NULL};
    told t;
    start(&t, TK_FUTURE_OPTIM_STEP, none);
    wait_long(&t);
    assert_false(t.done);
    end(&t);
    start(&t, TK_FUTURE_OPTIM_STEP, NULL);
    t.poll.never_stuck = true; /* as the server may say of samples */
    wait_long(&t);
    assert_false(t.done);
    end(&t);
    start(&t, TK_FUTURE_OPTIM_STEP, one);
    wait_long(&t);
    assert_int_equal(t.code, TINKC_E_STUCK);
    assert_string_equal(t.message, "the server has not finished for too long");
    end(&t);
}

/* A hint of a day counts as an hour; a status that no document defines ends it. */
static void test_poll_told_odd_answers(void **unused)
{
    told t;
    start(&t, TK_FUTURE_OPTIM_STEP, NULL);
    begin(&t);
    answer(&t, (fakeanswer){.status = 429, .headers = {"retry-after", "86400"}});
    clientfix_advance(&t.f, 3600000 - 1);
    assert_int_equal(faketransport_open(&t.f.net, POLL), 0);
    clientfix_advance(&t.f, 1);
    assert_int_equal(faketransport_open(&t.f.net, POLL), 1);
    answer(&t, (fakeanswer){.status = 600, .body = "{}"});
    assert_true(t.done);
    assert_int_equal(t.code, TINKC_E_STATUS);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_told_queue),
        cmocka_unit_test(test_poll_told_back_off),
        cmocka_unit_test(test_poll_told_payload),
        cmocka_unit_test(test_poll_told_empty_error),
        cmocka_unit_test(test_poll_told_never_stuck),
        cmocka_unit_test(test_poll_told_odd_answers),
    };
    return cmocka_run_group_tests_name("poll_told", tests, NULL, NULL);
}
