/* The workers' classes: a request of a quick class is answered while all workers of the
 * slower classes are busy. */
#include "httpd/hd_work.h"

#include "base/thread.h"
#include "httpd/hd_reply.h"
#include "support/test.h"

#define MANY 8 /* more than there are workers */

/* Handlers of every class but the first wait at the gate. */
typedef struct gate {
    tk_mutex lock;
    tk_cond changed;
    bool open;
    int inside, answered;
} gate;

static void enter(gate *g)
{
    tk_mutex_lock(&g->lock);
    g->inside++;
    tk_cond_broadcast(&g->changed);
    while (!g->open) {
        tk_cond_wait(&g->changed, &g->lock);
    }
    g->inside--;
    tk_mutex_unlock(&g->lock);
}

static hd_verdict block(hd_request *request)
{
    enter(request->app);
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("[]"));
}

static hd_verdict prompt(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("[]"));
}

/* Needs the disk, which it may not use where it runs first. */
static hd_verdict moves(hd_request *request)
{
    return request->may_wait ? block(request) : hd_request_wait(request);
}

static const hd_route waiting = {"GET", "/", block, 0, 0, NULL};
static const hd_route heavy = {"GET", "/", block, HD_ROUTE_HEAVY, 0, NULL};
static const hd_route light = {"GET", "/", block, HD_ROUTE_LIGHT, 0, NULL};
static const hd_route quick = {"GET", "/", prompt, HD_ROUTE_PROMPT, 0, NULL};
static const hd_route quick_light = {"GET", "/", prompt, HD_ROUTE_LIGHT, 0, NULL};
static const hd_route slow_route = {"GET", "/", block, HD_ROUTE_SLOW, 0, NULL};
static const hd_route quick_waiting = {"GET", "/", prompt, 0, 0, NULL};
static const hd_route quick_waits = {"GET", "/", moves, HD_ROUTE_PROMPT, 0, NULL};

static void on_resume(hd_request *request)
{
    gate *g = request->app;
    tk_mutex_lock(&g->lock);
    g->answered++;
    request->http = g; /* done */
    tk_cond_broadcast(&g->changed);
    tk_mutex_unlock(&g->lock);
}

static hd_request *post(hd_work *work, gate *g, hd_budget *budget, const hd_route *route)
{
    hd_request *request = hd_request_new(g, budget);
    assert_non_null(request);
    request->route = route;
    request->resume = on_resume;
    hd_work_post(work, request);
    return request;
}

/* Waits until it is true, for a minute at most. */
static void wait_for(gate *g, const int *count, int at_least)
{
    int64_t end = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    tk_mutex_lock(&g->lock);
    while (*count < at_least && tk_cond_wait_until(&g->changed, &g->lock, end)) {
    }
    bool there = *count >= at_least;
    tk_mutex_unlock(&g->lock);
    assert_true(there);
}

/* Blocks every worker that takes `slow` requests, then asks for `fast` ones. */
static void check_passes(const hd_route *slow, int workers, const hd_route *fast)
{
    gate g = {.open = false};
    tk_err err = TK_ERR_INIT;
    hd_work *work = NULL;
    hd_budget budget;
    hd_request *all[2 * MANY];
    hd_budget_init(&budget, TK_MIB, NULL);
    assert_int_equal(tk_cond_init_with(&g.changed, &g.lock, &err), TINKC_OK);
    assert_int_equal(hd_work_new(&work, &hd_route_dispatch, &err), TINKC_OK);
    for (int i = 0; i < MANY; i++) {
        all[i] = post(work, &g, &budget, slow);
    }
    wait_for(&g, &g.inside, workers);
    for (int i = MANY; i < 2 * MANY; i++) {
        all[i] = post(work, &g, &budget, fast);
    }
    wait_for(&g, &g.answered, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_null(all[i]->http); /* the slow ones are still inside, or wait */
    }
    tk_mutex_lock(&g.lock);
    g.open = true;
    tk_cond_broadcast(&g.changed);
    tk_mutex_unlock(&g.lock);
    wait_for(&g, &g.answered, 2 * MANY);
    hd_work_free(work);
    for (int i = 0; i < 2 * MANY; i++) {
        assert_int_equal(all[i]->status, 200);
        hd_request_free(all[i]);
    }
    tk_cond_dispose(&g.changed);
    tk_mutex_dispose(&g.lock);
}

static void test_hd_work_classes_do_not_wait(void **state)
{
    check_passes(&slow_route, 2, &quick);
    check_passes(&slow_route, 2, &quick_waiting);
    check_passes(&waiting, 2, &quick);
    check_passes(&waiting, 2, &quick_light);
    check_passes(&heavy, 2, &quick);
    check_passes(&heavy, 2, &quick_light);
    check_passes(&light, 3, &quick);
}

/* A quick handler that needs the disk leaves its worker to others. */
static void test_hd_work_moves_what_waits(void **state)
{
    check_passes(&quick_waits, 2, &quick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_work_classes_do_not_wait),
        cmocka_unit_test(test_hd_work_moves_what_waits),
    };
    return cmocka_run_group_tests_name("hd_work", tests, NULL, NULL);
}
