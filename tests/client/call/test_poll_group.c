/* One poll for all samples of a session: every row of the retrieve_futures protocol
 * (docs/protocol.md §4.1) on a scripted transport and a fake clock.
 * Links: peer */
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/groupfix.h"

#define TARGET                                                                           \
    "{\"target\":{\"type\":\"sampling_session\",\"sampling_session_id\":\"S:sample:0\"," \
    "\"cloned_sampler_id\":0},"
#define DONE(id) "{\"state\":\"finished\",\"request_id\":\"" id "\"}"
#define SIZED(id, n)                                                                     \
    "{\"state\":\"finished\",\"request_id\":\"" id                                       \
    "\",\"response_payload_uncompressed_size\":" #n "}"
#define FAILED(id)         "{\"state\":\"failed\",\"request_id\":\"" id "\"}"
#define SAYS(rows, cursor) "{\"completions\":[" rows "],\"cursor\":" #cursor "}"
#define NOTHING            SAYS("", 0)

static void finish_all(groupfix *g)
{
    while (samplefix_finish(&g->f)) {
    }
}

/* The recorded conversation: cursor, acknowledgement, payload without metadata. */
static void test_poll_group_conversation(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
    assert_int_equal(faketransport_count(&g.f.net, POLL), 0);
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 1);
    assert_string_equal(groupfix_asked(&g, 0),
                        TARGET "\"prev_cursor\":0,\"retrieved_request_ids\":[]}");
    assert_int_equal(faketransport_nth(&g.f.net, GROUP, 0)->timeout_ms, 45000);
    groupfix_say(&g, SAYS(SIZED("r0", 9), 7));
    assert_string_equal(faketransport_nth(&g.f.net, POLL, 0)->body,
                        "{\"request_id\":\"r0\",\"allow_metadata_only\":false}");
    char value[64];
    assert_true(faketransport_header(faketransport_nth(&g.f.net, POLL, 0),
                                     "X-Tinker-Request-Iteration", value, 64));
    assert_string_equal(value, "0");
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 2);
    assert_string_equal(groupfix_asked(&g, 1),
                        TARGET "\"prev_cursor\":7,\"retrieved_request_ids\":[]}");
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures, 1, TINKC_OK);
    groupfix_say(&g, SAYS(DONE("r1"), 8));
    assert_string_equal(faketransport_nth(&g.f.net, POLL, 1)->body,
                        "{\"request_id\":\"r1\",\"allow_metadata_only\":true}");
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 2);
    clientfix_advance(&g.f, 1000); /* only to acknowledge: once in a second */
    assert_string_equal(groupfix_asked(&g, 2),
                        TARGET "\"prev_cursor\":8,\"retrieved_request_ids\":[\"r0\"]}");
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures + 1, 1, TINKC_OK);
    groupfix_say(&g, SAYS("", 8));
    clientfix_advance(&g.f, 1000);
    assert_string_equal(groupfix_asked(&g, 3),
                        TARGET "\"prev_cursor\":8,\"retrieved_request_ids\":[\"r1\"]}");
    groupfix_say(&g, SAYS("", 8));
    clientfix_advance(&g.f, 600000);
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 4); /* and then none */
    groupfix_close(&g);
}

/* Acknowledgements are sorted, as those of the official SDK are. */
static void test_poll_group_sorted(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[12];
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        futures[i] = groupfix_sample(&g);
    }
    groupfix_say(&g, SAYS(DONE("r3") "," DONE("r11") "," DONE("r1"), 1));
    finish_all(&g);
    groupfix_say(&g, SAYS("", 2));
    assert_non_null(strstr(groupfix_asked(&g, 2), "[\"r1\",\"r11\",\"r3\"]"));
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    groupfix_close(&g);
}

/* A sample that asks itself after 30 s, and joins again, does not hurry the shared poll:
 * requests that are answered at once and uselessly keep their distance. */
static void test_poll_group_again_keeps_pace(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    size_t seen = faketransport_count(&g.f.net, GROUP);
    int64_t last_ms = 0;
    for (int64_t now_ms = 0; now_ms < 60000; now_ms += 10) {
        if (now_ms % 70 == 0) { /* between two requests of the group */
            (void)faketransport_answer(&g.f.net, POLL, (fakeanswer){.status = 408});
        }
        (void)faketransport_answer(&g.f.net, GROUP, (fakeanswer){.body = NOTHING});
        clientfix_advance(&g.f, 10);
        size_t n = faketransport_count(&g.f.net, GROUP);
        assert_true(n <= seen + 1);
        if (n > seen) {
            assert_true(seen < 3 || now_ms - last_ms >= 90);
            seen = n;
            last_ms = now_ms;
        }
    }
    assert_int_equal(faketransport_count(&g.f.net, POLL), 1); /* it did ask itself */
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    groupfix_close(&g);
}

/* Samples that are awaited one after the other: none waits for the acknowledgement of the
 * one before it, nor for the requests of many before it. */
static void test_poll_group_one_by_one(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    for (size_t i = 0; i < 50; i++) {
        char done[128];
        tinkc_future *future = groupfix_sample(&g);
        assert_int_equal(faketransport_count(&g.f.net, GROUP), i + 1); /* at once */
        snprintf(done, sizeof(done), SAYS(DONE("r%zu"), 1), i);
        assert_true(faketransport_answer(&g.f.net, GROUP, (fakeanswer){.body = done}));
        clientfix_turn(&g.f); /* no time passes */
        assert_true(samplefix_finish(&g.f));
        groupfix_ended(&future, 1, TINKC_OK);
    }
    tinkc_future *last = groupfix_sample(&g);
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 51);
    groupfix_say(&g, NOTHING); /* a long poll without news */
    clientfix_advance(&g.f, 200);
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 52);
    groupfix_say(&g, SAYS(DONE("r50"), 2));
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(&last, 1, TINKC_OK);
    groupfix_close(&g);
}

/* Without the flag, or as an older client, each sample polls itself. */
static void test_poll_group_not_offered(void **unused)
{
    static const char *const new_level[] = {"sdk_version", "0.36.0", NULL};
    static const char *const old_level[] = {"sdk_version", "0.25.0", NULL};
    const struct {
        const char *const *level;
        const char *flags;
    } rows[] = {{new_level, "{}"},
                {new_level, "{\"sample_use_retrieve_futures\":false}"},
                {old_level, GROUPFIX_FLAG}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        groupfix g;
        groupfix_open_as(&g, rows[i].level, rows[i].flags, "{}");
        tinkc_future *future = groupfix_sample(&g);
        assert_int_equal(faketransport_count(&g.f.net, GROUP), 0);
        assert_true(samplefix_finish(&g.f));
        groupfix_ended(&future, 1, TINKC_OK);
        groupfix_close(&g);
    }
}

/* A failed request is fetched like any: its error is the result, and is acknowledged. */
static void test_poll_group_failed(void **unused)
{
    groupfix g;
    static const char *const options[] = {"sdk_version", "0.36.0", "sample_resubmits",
                                          "0", NULL};
    groupfix_open_as(&g, options, GROUPFIX_FLAG, "{}");
    tinkc_future *future = groupfix_sample(&g);
    groupfix_say(&g, SAYS(FAILED("r0"), 1));
    assert_string_equal(faketransport_nth(&g.f.net, POLL, 0)->body,
                        "{\"request_id\":\"r0\",\"allow_metadata_only\":true}");
    assert_true(faketransport_answer(
        &g.f.net, POLL,
        (fakeanswer){.body = "{\"error\":\"no\",\"category\":\"server\"}"}));
    clientfix_turn(&g.f);
    groupfix_ended(&future, 1, TINKC_E_REQUEST);
    clientfix_advance(&g.f, 1000);
    assert_non_null(strstr(groupfix_asked(&g, 1), "[\"r0\"]"));
    groupfix_close(&g);
}

/* What cannot be read is left out; an unknown state is looked into; no sample is lost. */
static void test_poll_group_unknown_rows(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[4];
    for (size_t i = 0; i < 4; i++) {
        futures[i] = groupfix_sample(&g);
    }
    groupfix_say(&g, "{\"completions\":[1,null,{},{\"request_id\":7},\"r0\",[\"r0\"],"
                     "{\"state\":\"expired\",\"request_id\":\"r0\",\"why\":{}},"
                     "{\"request_id\":\"r1\"},{\"state\":3,\"request_id\":\"r2\"},"
                     "{\"state\":\"finished\",\"request_id\":\"r3\","
                     "\"response_payload_uncompressed_size\":\"many\"},"
                     "{\"state\":\"finished\",\"request_id\":\"r3\"}],"
                     "\"cursor\":3,\"later\":[{}]}");
    assert_int_equal(faketransport_open(&g.f.net, POLL), 4);
    finish_all(&g);
    groupfix_ended(futures, 4, TINKC_OK);
    groupfix_close(&g);
}

/* An opaque cursor is passed on whatever it is; without one the last stays. */
static void test_poll_group_cursor(void **unused)
{
    static const char *const said[] = {
        "{\"completions\":[],\"cursor\":9000000000000}", "{\"completions\":[]}",
        "{\"completions\":[],\"cursor\":\"x\"}", "{\"completions\":[],\"cursor\":-5}",
        "{\"completions\":[],\"cursor\":0}"};
    static const char *const then[] = {
        "\"prev_cursor\":9000000000000,", "\"prev_cursor\":9000000000000,",
        "\"prev_cursor\":9000000000000,", "\"prev_cursor\":-5,", "\"prev_cursor\":0,"};
    groupfix g;
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    for (size_t i = 0; i < TK_ARRAY_LEN(said); i++) {
        groupfix_say(&g, said[i]);
        assert_non_null(strstr(groupfix_asked(&g, i + 1), then[i]));
    }
    groupfix_say(&g, SAYS(DONE("r0"), 1));
    finish_all(&g);
    groupfix_ended(&future, 1, TINKC_OK);
    groupfix_close(&g);
}

/* The completion may overtake the answer of asample. */
static void test_poll_group_early(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[] = {groupfix_sample(&g), NULL};
    futures[1] = samplefix_sample(&g.f, g.sampling, 2);
    groupfix_say(&g, SAYS(SIZED("r1", 5) "," DONE("other"), 1));
    groupfix_accept(&g);
    assert_string_equal(faketransport_nth(&g.f.net, POLL, 0)->body,
                        "{\"request_id\":\"r1\",\"allow_metadata_only\":false}");
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures + 1, 1, TINKC_OK);
    groupfix_say(&g, SAYS(DONE("r0"), 2));
    finish_all(&g);
    groupfix_ended(futures, 1, TINKC_OK);
    groupfix_close(&g);
}

/* A server that reports what was never asked for does not fill the memory. */
static void test_poll_group_early_bound(void **unused)
{
    groupfix g;
    (void)samplefix_result(); /* stays allocated */
    failmem_start();
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    size_t before = 0;
    for (int round = 0; round < 6; round++) {
        tk_buf body;
        tk_buf_init(&body, TK_MIB);
        tk_buf_puts(&body, "{\"completions\":[" DONE("x"));
        for (int i = 0; i < 2000; i++) {
            tk_buf_printf(&body, ",{\"request_id\":\"round-%d-%d\"}", round, i);
        }
        tk_buf_puts(&body, "],\"cursor\":1}");
        tk_buf_putc(&body, '\0');
        groupfix_say(&g, body.p);
        tk_buf_dispose(&body);
        before = round == 3 ? failmem_begin_peak() : before;
    }
    assert_in_range(failmem_begin_peak(), 0, before + 65536);
    groupfix_say(&g, SAYS(DONE("r0"), 2));
    finish_all(&g);
    groupfix_ended(&future, 1, TINKC_OK);
    groupfix_close(&g);
    assert_int_equal(failmem_stop(), 0);
}

/* What passes by itself is tried again after at least a second, or as long as the server
 * asks for; the cursor and the acknowledgements are sent again. */
static void test_poll_group_retries(void **unused)
{
    const struct {
        fakeanswer answer;
        int64_t delay_ms;
    } rows[] = {{{.failure = TK_HTTP_RESET}, 1000},
                {{.failure = TK_HTTP_TIMEOUT}, 1000},
                {{.status = 408, .body = "{}"}, 1000},
                {{.status = 409, .body = "{}"}, 1000},
                {{.status = 429, .body = "{}"}, 1000},
                {{.status = 429, .body = "{}", .headers = {"retry-after", "7"}}, 7000},
                {{.status = 500, .body = "{}"}, 1000},
                {{.status = 503, .body = "{}", .headers = {"retry-after-ms", "1"}}, 1000},
                {{.status = 400, .body = "{\"detail\":\"x\"}"}, 1000},
                {{.status = 402, .body = "{}"}, 5000},
                {{.body = "<html>"}, 1000},
                {{.body = "[]"}, 1000},
                {{.body = "{\"completions\":{}}"}, 1000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        groupfix g;
        groupfix_open(&g);
        tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
        groupfix_say(&g, SAYS(DONE("r0"), 4));
        assert_true(samplefix_finish(&g.f));
        groupfix_say(&g, SAYS("", 5));
        assert_non_null(
            strstr(groupfix_asked(&g, 2), "5,\"retrieved_request_ids\":[\"r0"));
        groupfix_answer(&g, rows[i].answer);
        assert_int_equal(faketransport_count(&g.f.net, GROUP), 3);
        clientfix_advance(&g.f, rows[i].delay_ms - 1);
        assert_int_equal(faketransport_count(&g.f.net, GROUP), 3);
        clientfix_advance(&g.f, 1);
        assert_string_equal(groupfix_asked(&g, 3), groupfix_asked(&g, 2));
        assert_int_equal(faketransport_count(&g.f.net, POLL), 1);
        groupfix_say(&g, SAYS(DONE("r1"), 6));
        assert_true(samplefix_finish(&g.f));
        groupfix_ended(futures, 2, TINKC_OK);
        groupfix_close(&g);
    }
}

/* A server that refuses the route: every sample polls itself, now and later. */
static void test_poll_group_fallback(void **unused)
{
    static const fakeanswer refusals[] = {
        {.status = 404, .body = "{}"}, {.status = 405, .body = "{}"},
        {.status = 410, .body = "{}"}, {.status = 501, .body = "{}"},
        {.status = 422, .body = "{}"}, {.status = 403, .body = "{}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        groupfix g;
        groupfix_open(&g);
        tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g),
                                   samplefix_sample(&g.f, g.sampling, 2), NULL};
        groupfix_answer(&g, refusals[i]);
        assert_int_equal(faketransport_open(&g.f.net, POLL), 2);
        assert_non_null(strstr(g.f.log, "retrieve_futures failed"));
        groupfix_accept(&g); /* sent before, accepted after */
        assert_int_equal(faketransport_open(&g.f.net, POLL), 3);
        futures[3] = groupfix_sample(&g);
        assert_int_equal(faketransport_open(&g.f.net, POLL), 4);
        finish_all(&g);
        groupfix_ended(futures, 4, TINKC_OK);
        clientfix_advance(&g.f, 60000);
        assert_int_equal(faketransport_count(&g.f.net, GROUP), 1);
        groupfix_close(&g);
    }
}

/* What one group learned of the server holds for the next. */
static void test_poll_group_learned(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[] = {groupfix_sample(&g), NULL};
    groupfix_answer(&g, (fakeanswer){.status = 404, .body = "{}"});
    tinkc_sampling *other = samplefix_create(&g.f);
    futures[1] = samplefix_sample(&g.f, other, 2);
    groupfix_accept(&g);
    assert_int_equal(faketransport_count(&g.f.net, GROUP), 1);
    assert_int_equal(faketransport_open(&g.f.net, POLL), 2);
    finish_all(&g);
    groupfix_ended(futures, 2, TINKC_OK);
    tinkc_sampling_close(&other);
    groupfix_close(&g);
}

/* Samples of a group need no place among those that are running, because they hold no
 * connection; those that poll themselves do. */
static void test_poll_group_fallback_places(void **unused)
{
    static const char *const level[] = {"sdk_version", "0.36.0", NULL};
    groupfix g;
    groupfix_open_as(&g, level,
                     "{\"sample_use_retrieve_futures\":true,"
                     "\"sample_max_concurrent_requests\":1}",
                     "{}");
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g), NULL, NULL};
    groupfix_answer(&g, (fakeanswer){.status = 404, .body = "{}"});
    assert_int_equal(faketransport_open(&g.f.net, POLL), 2);
    futures[2] = groupfix_sample(&g);
    futures[3] = samplefix_sample(&g.f, g.sampling, 2);
    assert_int_equal(faketransport_count(&g.f.net, SAMPLE), 3);
    finish_all(&g);
    clientfix_turn(&g.f);
    groupfix_accept(&g);
    finish_all(&g);
    groupfix_ended(futures, 4, TINKC_OK);
    groupfix_close(&g);
}

/* A sample that asks itself obeys the server's "not before": it waits in the group, whose
 * answers may bring its result earlier, and does not hold up those that joined later. */
static void test_poll_group_check_hint(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    faketransport_default(&g.f.net, GROUP, (fakeanswer){.status = -1});
    tinkc_future *futures[] = {groupfix_sample(&g), NULL};
    clientfix_advance(&g.f, 30000);
    assert_int_equal(faketransport_open(&g.f.net, POLL), 1);
    assert_true(faketransport_answer(
        &g.f.net, POLL,
        (fakeanswer){.status = 408, .body = "{}", .headers = {"retry-after", "600"}}));
    clientfix_turn(&g.f);
    futures[1] = groupfix_sample(&g);
    clientfix_advance(&g.f, 40000);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 2);
    assert_non_null(strstr(faketransport_nth(&g.f.net, POLL, 1)->body, "\"r1\""));
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures + 1, 1, TINKC_OK);
    clientfix_advance(&g.f, 550000);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 2);
    clientfix_advance(&g.f, 60000);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 3);
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures, 1, TINKC_OK);
    groupfix_close(&g);
}

/* A 400 may be a proxy's: three are forgiven, and again after an answer. */
static void test_poll_group_bad_requests(void **unused)
{
    static const fakeanswer bad = {.status = 400, .body = "{\"detail\":\"x\"}"};
    groupfix g;
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            groupfix_answer(&g, bad);
            clientfix_advance(&g.f, 1000);
            assert_int_equal(faketransport_open(&g.f.net, POLL), 0);
        }
        if (round == 0) {
            groupfix_say(&g, NOTHING);
        }
    }
    groupfix_answer(&g, bad);
    assert_int_equal(faketransport_open(&g.f.net, POLL), 1);
    finish_all(&g);
    groupfix_ended(&future, 1, TINKC_OK);
    groupfix_close(&g);
}

/* The result is gone: the sample is sent again as new work, and waits in the group. */
static void test_poll_group_gone(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    groupfix_say(&g, SAYS(SIZED("r0", 3), 1));
    assert_true(faketransport_answer(&g.f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_advance(&g.f, 1000);
    groupfix_accept(&g);
    groupfix_say(&g, SAYS(SIZED("r1", 3), 2));
    assert_non_null(strstr(groupfix_asked(&g, 1), "\"retrieved_request_ids\":[]"));
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(&future, 1, TINKC_OK);
    groupfix_close(&g);
}

/* The fetch of a payload fails as any poll does: it is repeated, not waited for. */
static void test_poll_group_fetch_fails(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
    groupfix_say(&g, SAYS(SIZED("r0", 3), 1));
    static const fakeanswer faults[] = {{.status = 503, .body = "{}"},
                                        {.status = 408, .body = "{}"},
                                        {.failure = TK_HTTP_RESET}};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        assert_true(faketransport_answer(&g.f.net, POLL, faults[i]));
        clientfix_advance(&g.f, 1100);
        assert_int_equal(faketransport_open(&g.f.net, POLL), 1);
    }
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures, 1, TINKC_OK);
    groupfix_say(&g, SAYS(DONE("r1"), 2));
    finish_all(&g);
    groupfix_ended(futures + 1, 1, TINKC_OK);
    groupfix_close(&g);
}

/* A completion that was lost is found: a sample that waits for long asks itself, and joins
 * again when the server says "not yet". */
static void test_poll_group_check(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    faketransport_default(&g.f.net, GROUP, (fakeanswer){.status = -1});
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g)};
    clientfix_advance(&g.f, 25000);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 0);
    clientfix_advance(&g.f, 10000);
    assert_int_equal(faketransport_open(&g.f.net, POLL), 1); /* one of the two */
    assert_true(faketransport_answer(
        &g.f.net, POLL,
        (fakeanswer){.status = 408, .body = "{\"queue_state\":\"paused_capacity\"}"}));
    clientfix_advance(&g.f, 1000);
    assert_non_null(strstr(g.f.log, "S:sample:0 is paused"));
    assert_int_equal(faketransport_count(&g.f.net, POLL), 1);
    clientfix_advance(&g.f, 10000);
    assert_non_null(strstr(faketransport_nth(&g.f.net, POLL, 1)->body, "\"r1\""));
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures + 1, 1, TINKC_OK);
    groupfix_say(&g, SAYS(DONE("r0"), 2));
    finish_all(&g);
    groupfix_ended(futures, 1, TINKC_OK);
    groupfix_close(&g);
}

/* silence and lack of progress end the samples. */
static void test_poll_group_stuck(void **unused)
{
    enum { SAMPLES = 100 }; /* more than ask for themselves in that time */
    static const char *const silent[] = {"sdk_version", "0.36.0", "stuck_silent",
                                         "200000", NULL};
    static const char *const total[] = {"sdk_version", "0.36.0", "stuck_total", "200000",
                                        NULL};
    for (int i = 0; i < 2; i++) {
        groupfix g;
        groupfix_open_as(&g, i == 0 ? silent : total, GROUPFIX_FLAG, "{}");
        tinkc_future *futures[SAMPLES];
        for (size_t k = 0; k < SAMPLES; k++) {
            futures[k] = groupfix_sample(&g);
        }
        faketransport_default(&g.f.net, GROUP,
                              i == 0 ? (fakeanswer){.failure = TK_HTTP_TIMEOUT}
                                     : (fakeanswer){.body = NOTHING});
        faketransport_default(&g.f.net, POLL,
                              i == 0 ? (fakeanswer){.failure = TK_HTTP_TIMEOUT}
                                     : (fakeanswer){.status = 408, .body = "{}"});
        (void)faketransport_answer(&g.f.net, GROUP, (fakeanswer){.body = NOTHING});
        clientfix_advance(&g.f, 150000);
        assert_false(tinkc_future_is_done(futures[0]));
        clientfix_advance(&g.f, 100000);
        groupfix_ended(futures, SAMPLES, TINKC_E_STUCK);
        groupfix_close(&g);
    }
}

/* A cancelled sample leaves; the others go on; closing with samples inside ends all. */
static void test_poll_group_cancel(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *futures[] = {groupfix_sample(&g), groupfix_sample(&g),
                               groupfix_sample(&g)};
    tinkc_future_cancel(futures[1]);
    clientfix_turn(&g.f);
    groupfix_ended(futures + 1, 1, TINKC_E_CANCELLED);
    groupfix_say(&g, SAYS(DONE("r1") "," DONE("r0"), 2));
    assert_true(samplefix_finish(&g.f));
    groupfix_ended(futures, 1, TINKC_OK);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 1);
    tinkc_sampling_close(&g.sampling);
    clientfix_turn(&g.f);
    assert_int_equal(faketransport_open(&g.f.net, GROUP), 1); /* for the third */
    tinkc_service_close(&g.f.service);
    groupfix_ended(futures + 2, 1, TINKC_E_CANCELLED);
    faketransport_dispose(&g.f.net);
}

/* The group ends with its sampler: its request is given up. */
static void test_poll_group_ends(void **unused)
{
    groupfix g;
    groupfix_open(&g);
    tinkc_future *future = groupfix_sample(&g);
    groupfix_say(&g, SAYS(DONE("r0"), 1));
    finish_all(&g);
    groupfix_ended(&future, 1, TINKC_OK);
    clientfix_advance(&g.f, 1000);
    assert_int_equal(faketransport_open(&g.f.net, GROUP), 1);
    tinkc_sampling_close(&g.sampling);
    clientfix_turn(&g.f);
    assert_int_equal(faketransport_open(&g.f.net, GROUP), 0);
    groupfix_close(&g);
}

/* 2,000 samples in flight: heartbeats go out on time, one poll asks for all. */
static void test_poll_group_heartbeats(void **unused)
{
    enum { SAMPLES = 1200, BEAT_MS = 10000 };
    groupfix g;
    groupfix_open(&g);
    static tinkc_future *futures[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        futures[i] = samplefix_sample(&g.f, g.sampling, 2);
    }
    while (faketransport_open(&g.f.net, SAMPLE) > 0) {
        groupfix_accept(&g);
    }
    clientfix_turn(&g.f);
    size_t beats = faketransport_count(&g.f.net, "session_heartbeat");
    size_t polls = faketransport_count(&g.f.net, GROUP);
    int64_t started = clientfix_now(&g.f);
    for (int i = 0; i < 10; i++) {
        clientfix_advance(&g.f, 2000);
        assert_true(faketransport_answer(&g.f.net, GROUP, (fakeanswer){.body = NOTHING}));
    }
    clientfix_turn(&g.f);
    assert_int_equal(faketransport_count(&g.f.net, "session_heartbeat") - beats,
                     (size_t)(clientfix_now(&g.f) - started) / BEAT_MS);
    assert_int_equal(faketransport_count(&g.f.net, GROUP) - polls, 10);
    assert_int_equal(faketransport_count(&g.f.net, POLL), 0);
    tinkc_sampling_close(&g.sampling);
    tinkc_service_close(&g.f.service);
    groupfix_ended(futures, SAMPLES, TINKC_E_CANCELLED);
    faketransport_dispose(&g.f.net);
}

/* ---- allocation failures ---- */

/* The peer reports each sample at once. */
static fakeapi *start_peer(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.config = GROUPFIX_FLAG});
    fakeapi_default(api, "POST", "/api/v1/retrieve_futures",
                    &(fakeapi_step){.body = SAYS(SIZED("future-0", 9) "," DONE(
                                                     "future-1") "," DONE("future-2"),
                                                 1)});
    return api;
}

static bool sample_once(tinkc_sampling *sampling)
{
    tinkc_model_input *prompt = NULL;
    tinkc_samples *samples = NULL;
    const int32_t token = 3;
    bool ok = tinkc_model_input_new(&prompt, NULL) == TINKC_OK &&
              tinkc_model_input_add_tokens(prompt, &token, 1, NULL) == TINKC_OK &&
              tinkc_sampling_sample_wait(&samples, sampling, prompt, NULL, NULL, NULL) ==
                  TINKC_OK;
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
    return ok;
}

static bool sweep_once(void *user)
{
    fakeapi *api = start_peer();
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    const tk_core_seams seams = {.most_pause_ms = 1};
    tk_err err = TK_ERR_INIT;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "sdk_version", "0.36.0", NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tk_service_open(&service, config, &seams, &err) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) ==
                  TINKC_OK &&
              sample_once(sampling) && sample_once(sampling);
    if (sampling != NULL && !ok) {
        assert_true(sample_once(sampling)); /* the next one works again */
    }
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok && !failmem_fired(); /* without memory for the group each polls itself */
}

static void test_poll_group_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll_group_conversation),
        cmocka_unit_test(test_poll_group_sorted),
        cmocka_unit_test(test_poll_group_again_keeps_pace),
        cmocka_unit_test(test_poll_group_one_by_one),
        cmocka_unit_test(test_poll_group_not_offered),
        cmocka_unit_test(test_poll_group_failed),
        cmocka_unit_test(test_poll_group_unknown_rows),
        cmocka_unit_test(test_poll_group_cursor),
        cmocka_unit_test(test_poll_group_early),
        cmocka_unit_test(test_poll_group_early_bound),
        cmocka_unit_test(test_poll_group_retries),
        cmocka_unit_test(test_poll_group_fallback),
        cmocka_unit_test(test_poll_group_learned),
        cmocka_unit_test(test_poll_group_fallback_places),
        cmocka_unit_test(test_poll_group_check_hint),
        cmocka_unit_test(test_poll_group_bad_requests),
        cmocka_unit_test(test_poll_group_gone),
        cmocka_unit_test(test_poll_group_fetch_fails),
        cmocka_unit_test(test_poll_group_check),
        cmocka_unit_test(test_poll_group_stuck),
        cmocka_unit_test(test_poll_group_cancel),
        cmocka_unit_test(test_poll_group_ends),
        cmocka_unit_test(test_poll_group_heartbeats),
        cmocka_unit_test(test_poll_group_allocation_sweep),
    };
    return cmocka_run_group_tests_name("poll_group", tests, NULL, NULL);
}
