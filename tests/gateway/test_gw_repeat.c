/* The same request twice: one answer, also while the first runs, when it fails, when the
 * answer is old or large, among threads. */
#include <stdio.h>

#include "base/limits.h"
#include "base/thread.h"
#include "gateway/gw_repeat.h"
#include "support/failmem.h"
#include "support/fakeclock.h"
#include "support/test.h"

typedef struct heard {
    int calls;
    int status; /* of the last; 0 = the first one failed */
    char body[32];
} heard;

static void on_reply(void *user, const gw_reply *reply)
{
    heard *h = user;
    h->calls++;
    h->status = reply != NULL ? reply->status : 0;
    (void)snprintf(h->body, sizeof(h->body), TK_STR_FMT,
                   TK_STR_ARG(reply != NULL ? reply->body : TK_STR("")));
}

static gw_repeat begin(gw_repeats *r, gw_claim *claim, const char *episode,
                       const char *body, heard *h)
{
    gw_repeat kind;
    gw_repeat_ask ask = {.episode = tk_str_of(episode),
                         .route = TK_STR("/v1/chat/completions"),
                         .body = tk_str_of(body),
                         .on_reply = on_reply,
                         .user = h};
    assert_int_equal(gw_repeats_begin(&kind, claim, r, &ask, NULL), TINKC_OK);
    return kind;
}

static void end(gw_repeats *r, gw_claim claim, const char *body)
{
    gw_reply reply = {200, TK_STR("application/json"), tk_str_of(body)};
    gw_repeats_end(r, claim, body != NULL ? &reply : NULL);
}

static gw_repeats *make(const tk_clock *clock, size_t max_bytes)
{
    gw_repeats *r = NULL;
    gw_repeats_config config = {.clock = clock, .keep_ms = 1000, .max_bytes = max_bytes};
    assert_int_equal(gw_repeats_new(&r, &config, NULL), TINKC_OK);
    return r;
}

/* G-006 */
static void test_one_answer(void **state)
{
    gw_repeats *r = make(NULL, 0);
    gw_claim first, second, third;
    heard a = {0}, b = {0};
    assert_int_equal(begin(r, &first, "e", "body", &a), GW_REPEAT_FIRST);
    assert_int_equal(begin(r, &second, "e", "body", &a), GW_REPEAT_WAITS);
    assert_int_equal(begin(r, &third, "e", "body", &b), GW_REPEAT_WAITS);
    assert_true(gw_repeats_cancel(r, third));
    assert_false(gw_repeats_cancel(r, third));
    end(r, first, "yes");
    assert_int_equal(a.calls, 1);
    assert_string_equal(a.body, "yes");
    assert_int_equal(b.calls, 0);
    assert_false(gw_repeats_cancel(r, second));
    assert_int_equal(begin(r, &second, "e", "body", &b), GW_REPEAT_ANSWERED);
    assert_string_equal(b.body, "yes");
    assert_int_equal(b.status, 200);
    gw_repeats_free(r);
}

/* G-006 */
static void test_what_is_another_request(void **state)
{
    gw_repeats *r = make(NULL, 0);
    gw_claim claims[5];
    gw_repeat kind;
    heard h = {0};
    gw_repeat_ask ask = {.key = TK_STR("k"), .body = TK_STR("body")};
    assert_int_equal(begin(r, &claims[0], "e", "body", &h), GW_REPEAT_FIRST);
    assert_int_equal(begin(r, &claims[1], "e", "bodx", &h), GW_REPEAT_FIRST);
    assert_int_equal(begin(r, &claims[2], "f", "body", &h), GW_REPEAT_FIRST);
    assert_int_equal(begin(r, &claims[3], "", "body", &h), GW_REPEAT_FIRST);
    assert_int_equal(claims[3].number, 0);
    assert_int_equal(begin(r, &claims[3], "", "body", &h), GW_REPEAT_FIRST);
    assert_int_equal(gw_repeats_begin(&kind, &claims[4], r, &ask, NULL), TINKC_OK);
    assert_int_equal(kind, GW_REPEAT_FIRST);
    ask.on_reply = on_reply;
    ask.user = &h;
    assert_int_equal(gw_repeats_begin(&kind, &claims[3], r, &ask, NULL), TINKC_OK);
    assert_int_equal(kind, GW_REPEAT_WAITS);
    for (size_t i = 0; i < 5; i++) {
        end(r, claims[i], i == 4 ? "keyed" : NULL);
    }
    assert_string_equal(h.body, "keyed");
    gw_repeats_free(r);
}

static void test_failed_first(void **state)
{
    gw_repeats *r = make(NULL, 0);
    gw_claim first, second;
    heard h = {.status = -1};
    assert_int_equal(begin(r, &first, "e", "body", &h), GW_REPEAT_FIRST);
    assert_int_equal(begin(r, &second, "e", "body", &h), GW_REPEAT_WAITS);
    end(r, first, NULL);
    assert_int_equal(h.status, 0); /* try again */
    assert_int_equal(begin(r, &second, "e", "body", &h), GW_REPEAT_FIRST);
    end(r, second, "now");
    assert_int_equal(begin(r, &first, "e", "body", &h), GW_REPEAT_ANSWERED);
    assert_string_equal(h.body, "now");
    gw_repeats_free(r);
}

static void test_old_and_large_answers(void **state)
{
    fakeclock clock;
    fakeclock_init(&clock);
    gw_repeats *r = make(&clock.clock, 330);
    gw_claim claim;
    heard h = {0};
    static char large[500];
    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(begin(r, &claim, "e", "1", &h), GW_REPEAT_FIRST);
    end(r, claim, large); /* larger than all that is kept */
    assert_int_equal(begin(r, &claim, "e", "1", &h), GW_REPEAT_FIRST);
    end(r, claim, "small");
    fakeclock_advance_ms(&clock, 999);
    assert_int_equal(begin(r, &claim, "e", "1", &h), GW_REPEAT_ANSWERED);
    fakeclock_advance_ms(&clock, 1);
    assert_int_equal(begin(r, &claim, "e", "1", &h), GW_REPEAT_FIRST);
    end(r, claim, "small");
    large[200] = '\0';
    assert_int_equal(begin(r, &claim, "e", "2", &h), GW_REPEAT_FIRST);
    end(r, claim, large); /* the older one makes room */
    assert_int_equal(begin(r, &claim, "e", "2", &h), GW_REPEAT_ANSWERED);
    assert_int_equal(begin(r, &claim, "e", "1", &h), GW_REPEAT_FIRST);
    end(r, claim, NULL);
    gw_repeats_free(r);
}

static void test_limit_of_waiters(void **state)
{
    gw_repeats *r = make(NULL, 0);
    gw_claim first, claim;
    gw_repeat kind;
    heard h = {0};
    gw_repeat_ask ask = {.episode = TK_STR("e"),
                         .route = TK_STR("/v1/chat/completions"),
                         .body = TK_STR("b"),
                         .on_reply = on_reply,
                         .user = &h};
    assert_int_equal(begin(r, &first, "e", "b", &h), GW_REPEAT_FIRST);
    for (int i = 0; i < TK_GW_REPEAT_WAITERS; i++) {
        assert_int_equal(begin(r, &claim, "e", "b", &h), GW_REPEAT_WAITS);
    }
    assert_int_equal(gw_repeats_begin(&kind, &claim, r, &ask, NULL), TINKC_E_LIMIT);
    end(r, first, "a");
    assert_int_equal(h.calls, TK_GW_REPEAT_WAITERS);
    gw_repeats_free(r);
}

/* ---- threads ---- */

typedef struct shared {
    gw_repeats *repeats;
    tk_mutex lock;
    int works, answers;
} shared;

static void count_answer(void *user, const gw_reply *reply)
{
    shared *s = user;
    tk_mutex_lock(&s->lock);
    s->answers += reply != NULL ? 1 : 0;
    tk_mutex_unlock(&s->lock);
}

static void ask_often(void *user)
{
    shared *s = user;
    for (int i = 0; i < 200; i++) {
        char body[16];
        gw_claim claim;
        gw_repeat kind;
        (void)snprintf(body, sizeof(body), "%d", i);
        gw_repeat_ask ask = {.episode = TK_STR("e"),
                             .body = tk_str_of(body),
                             .on_reply = count_answer,
                             .user = s};
        assert_int_equal(gw_repeats_begin(&kind, &claim, s->repeats, &ask, NULL),
                         TINKC_OK);
        if (kind == GW_REPEAT_FIRST) {
            tk_mutex_lock(&s->lock);
            s->works++;
            tk_mutex_unlock(&s->lock);
            end(s->repeats, claim, "answer");
        }
    }
}

static void test_threads(void **state)
{
    shared s = {.lock = TK_MUTEX_INIT};
    tk_thread threads[4];
    gw_repeats_config config = {.keep_ms = 600000};
    assert_int_equal(gw_repeats_new(&s.repeats, &config, NULL), TINKC_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tk_thread_start(&threads[i], "asks", ask_often, &s, NULL),
                         TINKC_OK);
    }
    for (size_t i = 0; i < 4; i++) {
        tk_thread_join(&threads[i]);
    }
    assert_int_equal(s.works, 200);
    assert_int_equal(s.answers, 600);
    gw_repeats_free(s.repeats);
}

static bool scenario(void *user)
{
    gw_repeats *r = NULL;
    gw_repeats_config config = {.keep_ms = 60000};
    gw_claim first = {0}, second;
    gw_repeat kind;
    heard h = {0};
    gw_repeat_ask ask = {
        .episode = TK_STR("e"), .body = TK_STR("b"), .on_reply = on_reply, .user = &h};
    bool is_ok = gw_repeats_new(&r, &config, NULL) == TINKC_OK &&
                 gw_repeats_begin(&kind, &first, r, &ask, NULL) == TINKC_OK &&
                 gw_repeats_begin(&kind, &second, r, &ask, NULL) == TINKC_OK;
    if (r != NULL) {
        end(r, first, "a");
    }
    if (is_ok) { /* an answer that could not be kept is computed again */
        is_ok = gw_repeats_begin(&kind, &second, r, &ask, NULL) == TINKC_OK &&
                kind == GW_REPEAT_ANSWERED;
    }
    gw_repeats_free(r);
    return is_ok;
}

static void test_out_of_memory(void **state)
{
    assert_true(failmem_sweep(scenario, NULL, 1) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_answer),
        cmocka_unit_test(test_what_is_another_request),
        cmocka_unit_test(test_failed_first),
        cmocka_unit_test(test_old_and_large_answers),
        cmocka_unit_test(test_limit_of_waiters),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
