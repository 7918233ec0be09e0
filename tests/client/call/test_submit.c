/* One accepted request (client/call/submit.h) on the scripted transport: what both users,
 * training and sampling, get from it. */
#include <stdio.h>
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
    char message[TK_ERR_MESSAGE_BYTES];
} submitfix;

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    submitfix *s = submit->user;
    s->settled++;
    s->code = code;
    s->is_doubtful = submit->is_doubtful;
    assert_int_equal(code, err != NULL ? err->code : TINKC_OK);
    (void)snprintf(s->message, sizeof(s->message), "%s", err != NULL ? err->message : "");
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
                            .form.endpoint = is_sample ? TK_EP_ASAMPLE : TK_EP_OPTIM_STEP,
                            .type = TK_FUTURE_OPTIM_STEP,
                            .form.body = "{}",
                            .form.body_n = 2,
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

/* An answer without an id that says why is refused with what it says. */
static void test_submit_no_request_id(void **unused)
{
    static const struct {
        const char *body;
        tinkc_code code;
        const char *says;
    } rows[] = {{"{\"error\":\"Endpoint deprecated\",\"reason\":\"use another\"}",
                 TINKC_E_REQUEST, "Endpoint deprecated: use another"},
                {"{\"error\":\"not here\"}", TINKC_E_REQUEST, "not here"},
                {"{\"error\":5}", TINKC_E_DECODE, ""}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        submitfix s;
        submitfix_open(&s, false);
        submitfix_start(&s);
        submitfix_answer(&s, s.path, (fakeanswer){.body = rows[i].body});
        assert_int_equal(s.settled, 1);
        assert_int_equal(s.code, rows[i].code);
        assert_non_null(strstr(s.message, rows[i].says));
        submitfix_close(&s);
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

/* ---- two forms of a body ---- */

#define FORWARD_BACKWARD "forward_backward"
#define FORWARD          "forward"
#define ACCEPTED         "{\"request_id\":\"r\"}"
#define MUTE             "Internal Server Error"
#define PYDANTIC                                                                         \
    "{\"detail\":[{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":"       \
    "\"Input should be a valid dictionary or object to extract fields from\"}]}"

static tinkc_code in_json(tk_submit *submit, tk_submit_form *out, tk_err *err)
{
    *out = (tk_submit_form){.endpoint = TK_EP_FORWARD, .body = "{}", .body_n = 2};
    return TINKC_OK;
}

static tinkc_code not_in_json(tk_submit *submit, tk_submit_form *out, tk_err *err)
{
    return tk_err_set(err, TINKC_E_UNSUPPORTED, "cannot be sent as JSON");
}

static void forms_open(submitfix *s)
{
    submitfix_open(s, false);
    s->submit.type = TK_FUTURE_FORWARD;
    s->submit.form = (tk_submit_form){.endpoint = TK_EP_FORWARD_BACKWARD,
                                      .body = "\1\2",
                                      .body_n = 2,
                                      .content_type = "application/x-protobuf"};
    s->submit.in_json = in_json;
    submitfix_start(s);
}

/* Requests in each form so far. */
static void expect_sent(submitfix *s, size_t protobuf, size_t json)
{
    assert_int_equal(faketransport_count(&s->f.net, FORWARD_BACKWARD), protobuf);
    assert_int_equal(faketransport_count(&s->f.net, FORWARD), json);
}

static void answer(submitfix *s, const char *path, int status, const char *body)
{
    submitfix_answer(s, path, (fakeanswer){.status = status, .body = body});
    clientfix_advance(&s->f, 1000);
}

/* Starts it again as the next request of the service. */
static void start_next(submitfix *s)
{
    tk_submit_cancel(&s->submit);
    clientfix_turn(&s->f);
    submitfix_start(s);
}

/* A refusal of the format is not repeated: JSON is tried at once, learned, logged once, and
 * used from the start by the next submission. */
static void test_submit_json_learned(void **unused)
{
    static const struct {
        int status;
        const char *body;
    } refusals[] = {
        {415, "no"},
        {422, PYDANTIC},
        {422, "{\"detail\":[{\"type\": \"json_invalid\", \"loc\": [\"body\", 1]}]}"},
        {400, "{\"detail\":\"There was an error parsing the body\"}"},
        {500, "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        submitfix s;
        forms_open(&s);
        answer(&s, FORWARD_BACKWARD, refusals[i].status, refusals[i].body);
        expect_sent(&s, 1, 1);
        answer(&s, FORWARD, 200, ACCEPTED);
        assert_int_equal(s.settled, 1);
        assert_int_equal(s.code, TINKC_OK);
        start_next(&s);
        expect_sent(&s, 1, 2);
        answer(&s, FORWARD, 200, ACCEPTED);
        assert_int_equal(s.settled, 2);
        const char *line = strstr(s.f.log, "info server: the server reads forward");
        assert_non_null(line);
        assert_null(strstr(line + 1, "info server: "));
        submitfix_close(&s);
    }
}

/* A 500 without a reason is repeated once before JSON is tried. */
static void test_submit_json_mute(void **unused)
{
    submitfix s;
    forms_open(&s);
    answer(&s, FORWARD_BACKWARD, 500, MUTE);
    expect_sent(&s, 2, 0);
    answer(&s, FORWARD_BACKWARD, 500, MUTE);
    expect_sent(&s, 2, 1);
    answer(&s, FORWARD, 200, ACCEPTED);
    assert_int_equal(s.settled, 1);
    assert_int_equal(s.code, TINKC_OK);
    submitfix_close(&s);
}

/* If JSON fares no better, or the server remembers the first form of the same request, the
 * 500s were about something else: the first form is repeated, and JSON is not tried
 * again. */
static void test_submit_json_no_better(void **unused)
{
    static const int statuses[] = {500, 409, 415};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        submitfix s;
        forms_open(&s);
        answer(&s, FORWARD_BACKWARD, 500, MUTE);
        answer(&s, FORWARD_BACKWARD, 500, MUTE);
        answer(&s, FORWARD, statuses[i], "{\"detail\":\"x\"}");
        expect_sent(&s, 3, 1);
        answer(&s, FORWARD_BACKWARD, 500, MUTE);
        clientfix_advance(&s.f, 4000);
        expect_sent(&s, 4, 1);
        answer(&s, FORWARD_BACKWARD, 200, ACCEPTED);
        assert_int_equal(s.settled, 1);
        assert_int_equal(s.code, TINKC_OK);
        assert_null(strstr(s.f.log, "info server: "));
        submitfix_close(&s);
    }
}

/* A server that has accepted protobuf is never asked in JSON; a lost answer to JSON is
 * repeated in JSON, which the server knows again by its number. */
static void test_submit_json_not_mixed(void **unused)
{
    submitfix s;
    forms_open(&s);
    answer(&s, FORWARD_BACKWARD, 200, ACCEPTED);
    start_next(&s);
    answer(&s, FORWARD_BACKWARD, 422, PYDANTIC);
    expect_sent(&s, 2, 0);
    assert_int_equal(s.settled, 2);
    assert_int_not_equal(s.code, TINKC_OK);
    submitfix_close(&s);

    forms_open(&s);
    answer(&s, FORWARD_BACKWARD, 415, "");
    submitfix_answer(&s, FORWARD, (fakeanswer){.failure = TK_HTTP_RESET});
    clientfix_advance(&s.f, 1000);
    expect_sent(&s, 1, 2);
    answer(&s, FORWARD, 200, ACCEPTED);
    assert_int_equal(s.code, TINKC_OK);
    assert_true(s.is_doubtful);
    submitfix_close(&s);
}

/* What ends it: both forms refused, a refusal of the work itself, no JSON form. */
static void test_submit_json_refused(void **unused)
{
    submitfix s;
    forms_open(&s);
    answer(&s, FORWARD_BACKWARD, 415, "");
    answer(&s, FORWARD, 415, "");
    expect_sent(&s, 1, 1);
    assert_int_equal(s.settled, 1);
    assert_int_not_equal(s.code, TINKC_OK);
    submitfix_close(&s);

    forms_open(&s);
    answer(&s, FORWARD_BACKWARD, 422,
           "{\"detail\":[{\"loc\":[\"body\",\"loss_fn\"],\"msg\":\"no\"}]}");
    expect_sent(&s, 1, 0);
    assert_int_equal(s.settled, 1);
    submitfix_close(&s);

    forms_open(&s);
    s.submit.in_json = not_in_json;
    answer(&s, FORWARD_BACKWARD, 415, "");
    expect_sent(&s, 1, 0);
    assert_int_equal(s.code, TINKC_E_UNSUPPORTED);
    submitfix_close(&s);

    forms_open(&s);
    s.submit.in_json = not_in_json;
    answer(&s, FORWARD_BACKWARD, 500, MUTE);
    answer(&s, FORWARD_BACKWARD, 500, MUTE);
    expect_sent(&s, 3, 0);
    answer(&s, FORWARD_BACKWARD, 200, ACCEPTED);
    assert_int_equal(s.code, TINKC_OK);
    submitfix_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submit_long_id),
        cmocka_unit_test(test_submit_no_request_id),
        cmocka_unit_test(test_submit_pushed_back),
        cmocka_unit_test(test_submit_cancelled),
        cmocka_unit_test(test_submit_roundtrip),
        cmocka_unit_test(test_submit_json_learned),
        cmocka_unit_test(test_submit_json_mute),
        cmocka_unit_test(test_submit_json_no_better),
        cmocka_unit_test(test_submit_json_not_mixed),
        cmocka_unit_test(test_submit_json_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
