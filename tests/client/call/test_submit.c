/* One accepted request (client/call/submit.h) on the scripted transport: what both users,
 * training and sampling, get from it. */
#include <string.h>

#include "client/call/submit.h"
#include "support/clientfix.h"

#define POLL "retrieve_future"

typedef struct submitfix {
    clientfix f;
    tk_submit submit;
    const char *path;
    bool cancel_when_settled;
    int settled, done, pushed_back;
    tinkc_code code; /* of the last callback */
    bool is_doubtful;
} submitfix;

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    submitfix *s = submit->user;
    s->settled++;
    s->code = code;
    s->is_doubtful = submit->is_doubtful;
    assert_int_equal(code, err != NULL ? err->code : TINKC_OK);
    if (s->cancel_when_settled) {
        tk_submit_cancel(submit);
    }
}

static void on_done(tk_submit *submit, const tk_poll_result *result)
{
    submitfix *s = submit->user;
    s->done++;
    s->code = result->code;
}

static void on_pushed_back(tk_submit *submit, const tk_retry_outcome *outcome)
{
    submitfix *s = submit->user;
    assert_false(tk_submit_is_running(submit));
    assert_int_equal(outcome->hint_ms, 7000);
    s->pushed_back++;
    s->is_doubtful = submit->is_doubtful;
}

static void submitfix_start(submitfix *s)
{
    tk_submit_start(&s->submit);
    clientfix_turn(&s->f);
}

static void submitfix_open(submitfix *s, bool is_sample)
{
    *s = (submitfix){.path = is_sample ? "asample" : "optim_step"};
    clientfix_open(&s->f, NULL);
    faketransport_default(&s->f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *ready = tinkc_service_health(s->f.service);
    clientfix_turn(&s->f);
    assert_int_equal(tinkc_future_wait(ready, 0), TINKC_OK);
    tinkc_future_free(&ready);
    s->submit = (tk_submit){.core = tk_service_core(s->f.service),
                            .endpoint = is_sample ? TK_EP_ASAMPLE : TK_EP_OPTIM_STEP,
                            .type = TK_FUTURE_OPTIM_STEP,
                            .body = "{}",
                            .body_n = 2,
                            .what = "w",
                            .started_ns = -1,
                            .settled = on_settled,
                            .done = on_done,
                            .user = s};
}

static void submitfix_answer(submitfix *s, const char *path, fakeanswer answer)
{
    assert_true(faketransport_answer(&s->f.net, path, answer));
    clientfix_turn(&s->f);
}

static void submitfix_close(submitfix *s)
{
    tk_submit_cancel(&s->submit);
    clientfix_turn(&s->f);
    assert_false(tk_submit_is_running(&s->submit));
    clientfix_close(&s->f);
}

/* A request id that we have no room for is a malformed answer, whichever operation
 * submitted; the server may have taken the work. */
static void test_submit_long_id(void **unused)
{
    static char body[TK_ERR_ID_BYTES + 64];
    for (int i = 0; i < 4; i++) {
        bool is_sample = i % 2 == 0, fits = i / 2 == 0;
        size_t n = TK_ERR_ID_BYTES - (fits ? 1 : 0);
        memset(body, 0, sizeof(body));
        memcpy(body, "{\"request_id\":\"", 15);
        memset(body + 15, 'r', n);
        memcpy(body + 15 + n, "\"}", 3);
        submitfix s;
        submitfix_open(&s, is_sample);
        submitfix_start(&s);
        submitfix_answer(&s, s.path, (fakeanswer){.body = body});
        assert_int_equal(s.settled, 1);
        assert_int_equal(s.code, fits ? TINKC_OK : TINKC_E_DECODE);
        assert_true(s.is_doubtful);
        assert_int_equal(faketransport_count(&s.f.net, POLL), fits ? 1 : 0);
        if (fits) {
            body[15 + n] = '\0';
            assert_non_null(
                strstr(faketransport_nth(&s.f.net, POLL, 0)->body, body + 15));
        }
        submitfix_close(&s);
        assert_int_equal(s.settled, 1);
    }
}

/* A 429 goes to an owner who asked for it, and may then be sent again; L2 repeats it for
 * all others. */
static void test_submit_pushed_back(void **unused)
{
    fakeanswer later = {.status = 429, .body = "{}", .headers = {"retry-after", "7"}};
    submitfix s;
    submitfix_open(&s, true);
    s.submit.pushed_back = on_pushed_back;
    s.submit.extra_header = "X-Extra: 1";
    submitfix_start(&s);
    submitfix_answer(&s, s.path, later);
    assert_int_equal(s.pushed_back, 1);
    assert_int_equal(s.settled, 0);
    assert_false(s.is_doubtful);
    assert_int_equal(s.submit.answered_ms, clientfix_now(&s.f));
    submitfix_start(&s);
    char value[8];
    const fakeseen *second = faketransport_nth(&s.f.net, s.path, 1);
    assert_true(faketransport_header(second, "X-Extra", value, sizeof(value)));
    submitfix_answer(&s, s.path, (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    assert_int_equal(s.settled, 1);
    submitfix_close(&s);

    submitfix_open(&s, true);
    submitfix_start(&s);
    submitfix_answer(&s, s.path, later);
    assert_int_equal(s.pushed_back + s.settled, 0);
    submitfix_close(&s);
    assert_int_equal(s.code, TINKC_E_CANCELLED);
}

/* Cancelled by the owner inside `settled`: `done` follows, no poll is sent. */
static void test_submit_cancelled(void **unused)
{
    submitfix s;
    submitfix_open(&s, false);
    s.cancel_when_settled = true;
    submitfix_start(&s);
    submitfix_answer(&s, s.path, (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    assert_int_equal(s.settled, 1);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.code, TINKC_E_CANCELLED);
    assert_int_equal(faketransport_count(&s.f.net, POLL), 0);
    submitfix_close(&s);
}

/* M-091: the first poll says how long the submission took, unless the owner does not
 * want it. */
static void test_submit_roundtrip(void **unused)
{
    for (int i = 0; i < 2; i++) {
        char value[32];
        submitfix s;
        submitfix_open(&s, false);
        s.submit.started_ns = i == 0 ? -1 : tk_clock_mono_ns(&s.f.clock.clock);
        submitfix_start(&s);
        clientfix_advance(&s.f, 1500);
        submitfix_answer(&s, s.path, (fakeanswer){.body = "{\"request_id\":\"r\"}"});
        assert_true(faketransport_header(faketransport_nth(&s.f.net, POLL, 0),
                                         "X-Tinker-Create-Promise-Roundtrip-Time", value,
                                         sizeof(value)));
        assert_string_equal(value, i == 0 ? "0.000000" : "1.500000");
        submitfix_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit_long_id),
        cmocka_unit_test(test_submit_pushed_back),
        cmocka_unit_test(test_submit_cancelled),
        cmocka_unit_test(test_submit_roundtrip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
