/* The wall clock jumps under a running server: sessions, heartbeats, results and
 * connections use the clock that does not jump. This program has its own clock_gettime,
 * which the server calls.
 * Links: wire */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/run/srv_keeper.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

static _Atomic int64_t ahead_s; /* of the wall clock */

int clock_gettime(clockid_t id, struct timespec *at)
{
    long rc = syscall(SYS_clock_gettime, id, at);
    if (id == CLOCK_REALTIME) {
        at->tv_sec += (time_t)atomic_load(&ahead_s);
    }
    return (int)rc;
}

static void jump_to(int64_t unix_s)
{
    atomic_store(&ahead_s, 0);
    atomic_store(&ahead_s, unix_s - tk_clock_wall_us(NULL) / 1000000);
}

#define YEAR_S INT64_C(31556952)

static const int64_t times[] = {
    0,                                  /* 1970 */
    INT64_C(2147483648),                /* 2038 */
    INT64_C(4102444800),                /* 2100 */
    INT64_C(9223372037),                /* 2262: nanoseconds have 64 bits no more */
    INT64_C(253402300799),              /* the last second of 9999 */
    INT64_C(253402300800) + 2 * YEAR_S, /* 10001 */
};

static void test_srv_clock_is_read_to_the_second(void **state)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(times); i++) {
        jump_to(times[i]);
        assert_in_range(tk_clock_wall_us(NULL) / 1000000, times[i], times[i] + 60);
    }
    atomic_store(&ahead_s, 0);
}

/* What the keeper does every ten seconds. */
static void sweep(fix *t)
{
    srv *server = t->f.server;
    int64_t now = tk_clock_mono_ns(NULL);
    srv_session_sweep(server, now);
    srv_keeper_expire(server);
    tk_mutex_lock(&server->lock);
    srv_future_expire(&server->futures, now);
    tk_mutex_unlock(&server->lock);
    srv_keeper_forget(server);
}

static void test_srv_clock_jumps_end_nothing(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 50});
    const char *done = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    (void)result_of(&t, done);
    httpget *kept = httpget_connect(srvfix_port(&t.f));
    for (size_t i = 0; i < TK_ARRAY_LEN(times); i++) {
        httpget_response response;
        const char *id = format_body(&t, "{\"request_id\":\"%s\"}", done);
        jump_to(times[i]);
        sweep(&t);
        (void)srvfix_post(&t.f, API "session_heartbeat",
                          format_body(&t, "{\"session_id\":\"%s\"}", t.session));
        assert_int_equal(t.f.status, 200);
        (void)srvfix_post(&t.f, API "retrieve_future", id);
        assert_int_equal(t.f.status, 200); /* the result is kept */
        assert_true(httpget_ask(kept, &(httpget_request){.target = API "healthz"}));
        assert_int_equal(httpget_read(kept, &response), HTTPGET_OK);
        assert_int_equal(response.status, 200);
        httpget_response_dispose(&response);
    }
    atomic_store(&ahead_s, 0);
    httpget_close(&kept);
    close_fix(&t);
}

/* A checkpoint needs a date that can be written: after the year 9999 a save is refused,
 * and nothing of it stays. */
static void test_srv_clock_after_9999_refuses_saves(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    jump_to(times[TK_ARRAY_LEN(times) - 1]);
    const tk_json *json =
        result_of(&t, submit(&t, API "save_weights", save_body(&t, 1, "false")));
    assert_non_null(strstr(srvfix_text(json, "error"), "the years 1 to 9999"));
    atomic_store(&ahead_s, 0);
    json = result_of(&t, submit(&t, API "save_weights", save_body(&t, 2, "false")));
    assert_null(tk_json_get(json, "error"));
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_clock_is_read_to_the_second),
        cmocka_unit_test(test_srv_clock_jumps_end_nothing),
        cmocka_unit_test(test_srv_clock_after_9999_refuses_saves),
    };
    return cmocka_run_group_tests_name("srv_clock", tests, NULL, NULL);
}
