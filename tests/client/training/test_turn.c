/* The turnstile: order of submissions (A-015 to, B-255). */
#include "client/training/turn.h"

#include <pthread.h>

#include "base/rand.h"
#include "support/failmem.h"
#include "support/test.h"

#define CALLS_MAX 12

/* A call of the model under test. */
typedef struct call {
    tk_ticket *ticket;
    int64_t first;
    bool is_inside;
} call;

static int64_t order[CALLS_MAX];
static size_t order_n;

static void on_go(void *user)
{
    call *self = user;
    self->is_inside = true;
    order[order_n++] = self->first;
}

static void reserve(tk_turn *turn, call *self, int64_t n)
{
    self->is_inside = false;
    self->ticket = tk_turn_ticket(n, on_go, self);
    assert_non_null(self->ticket);
    self->first = tk_turn_reserve(turn, self->ticket);
}

/* entering in another order than called changes nothing. */
static void test_turn_order_of_the_calls(void **unused)
{
    tk_turn turn;
    call calls[3];
    order_n = 0;
    tk_turn_init(&turn, 0);
    for (int i = 0; i < 3; i++) {
        reserve(&turn, &calls[i], 1);
    }
    tk_turn_enter(&turn, calls[2].ticket);
    tk_turn_enter(&turn, calls[1].ticket);
    assert_int_equal(order_n, 0);
    tk_turn_enter(&turn, calls[0].ticket);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(order_n, i + 1); /* one at a time */
        assert_true(calls[i].is_inside);
        tk_turn_leave(&turn, &calls[i].ticket);
        assert_null(calls[i].ticket);
    }
    tk_turn_dispose(&turn);
}

/* A-022, B-255, M-057: a call that leaves early, in whatever order, stops no other. */
static void test_turn_leaving_early(void **unused)
{
    tk_turn turn;
    call calls[4];
    order_n = 0;
    tk_turn_init(&turn, 5);
    for (int i = 0; i < 4; i++) {
        reserve(&turn, &calls[i], 3);
    }
    assert_int_equal(calls[0].first, 5);
    tk_turn_enter(&turn, calls[3].ticket);
    tk_turn_enter(&turn, calls[1].ticket);
    tk_turn_leave(&turn, &calls[1].ticket); /* before 0 has even come */
    tk_turn_enter(&turn, calls[0].ticket);
    tk_turn_enter(&turn, calls[2].ticket);
    tk_turn_leave(&turn, &calls[2].ticket);
    assert_int_equal(order_n, 1);
    tk_turn_leave(&turn, &calls[0].ticket);
    assert_int_equal(order_n, 2);
    assert_true(calls[3].is_inside && !calls[1].is_inside && !calls[2].is_inside);
    tk_turn_leave(&turn, &calls[3].ticket);
    tk_turn_leave(&turn, &calls[3].ticket); /* twice is harmless */
    tk_turn_dispose(&turn);
}

typedef struct hasty {
    tk_turn *turn;
    tk_ticket *ticket;
} hasty;

static void leave_at_once(void *user)
{
    hasty *self = user;
    order[order_n++] = self->ticket->first;
    tk_turn_leave(self->turn, &self->ticket);
}

/* `go` may leave before it returns, many in a row. */
static void test_turn_leaving_inside_go(void **unused)
{
    tk_turn turn;
    hasty calls[CALLS_MAX];
    order_n = 0;
    tk_turn_init(&turn, 0);
    for (int i = 0; i < CALLS_MAX; i++) {
        calls[i] = (hasty){&turn, tk_turn_ticket(1, leave_at_once, &calls[i])};
        assert_int_equal(tk_turn_reserve(&turn, calls[i].ticket), i);
    }
    for (int i = CALLS_MAX - 1; i >= 0; i--) {
        assert_int_equal(order_n, 0);
        tk_turn_enter(&turn, calls[i].ticket);
    }
    assert_int_equal(order_n, CALLS_MAX);
    for (int i = 0; i < CALLS_MAX; i++) {
        assert_int_equal(order[i], i);
        assert_null(calls[i].ticket);
    }
    tk_turn_dispose(&turn);
}

/* An operation without an id (unload) keeps its place between those that have one. */
static void test_turn_without_id(void **unused)
{
    tk_turn turn;
    call calls[3];
    order_n = 0;
    tk_turn_init(&turn, 0);
    reserve(&turn, &calls[0], 1);
    reserve(&turn, &calls[1], 0);
    reserve(&turn, &calls[2], 1);
    assert_int_equal(calls[2].first, 1);
    tk_turn_enter(&turn, calls[2].ticket);
    tk_turn_enter(&turn, calls[1].ticket);
    tk_turn_enter(&turn, calls[0].ticket);
    tk_turn_leave(&turn, &calls[0].ticket);
    assert_true(calls[1].is_inside && !calls[2].is_inside);
    tk_turn_leave(&turn, &calls[1].ticket);
    assert_true(calls[2].is_inside);
    tk_turn_leave(&turn, &calls[2].ticket);
    tk_turn_dispose(&turn);
}

/* Two threads: the one without an id was numbered first and reaches the loop last. */
static void test_turn_without_id_late(void **unused)
{
    tk_turn turn;
    call calls[3];
    order_n = 0;
    tk_turn_init(&turn, 0);
    reserve(&turn, &calls[0], 0);
    reserve(&turn, &calls[1], 1);
    reserve(&turn, &calls[2], 1);
    tk_turn_enter(&turn, calls[1].ticket);
    tk_turn_leave(&turn, &calls[1].ticket);
    tk_turn_enter(&turn, calls[0].ticket);
    assert_true(calls[0].is_inside);
    tk_turn_leave(&turn, &calls[0].ticket);
    tk_turn_enter(&turn, calls[2].ticket);
    assert_true(calls[2].is_inside);
    tk_turn_leave(&turn, &calls[2].ticket);
    tk_turn_dispose(&turn);
}

/* One random schedule: calls of 1 to 3 ids enter and leave in any order. */
static void play(tk_rand *rand)
{
    tk_turn turn;
    call calls[CALLS_MAX];
    bool entered[CALLS_MAX] = {false};
    bool early[CALLS_MAX] = {false};
    size_t left = 0;
    order_n = 0;
    tk_turn_init(&turn, 0);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        reserve(&turn, &calls[i], 1 + (int64_t)tk_rand_below(rand, 3));
        assert_int_equal(calls[i].first + calls[i].ticket->n, tk_turn_next(&turn));
    }
    while (left < CALLS_MAX) {
        size_t i = (size_t)tk_rand_below(rand, CALLS_MAX);
        bool leave_early = tk_rand_below(rand, 8) == 0;
        if (!entered[i]) {
            entered[i] = true;
            tk_turn_enter(&turn, calls[i].ticket);
        } else if (calls[i].ticket != NULL && (calls[i].is_inside || leave_early)) {
            early[i] = !calls[i].is_inside;
            left++;
            tk_turn_leave(&turn, &calls[i].ticket);
        }
    }
    size_t expected = 0;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (!early[i]) {
            assert_int_equal(order[expected], calls[i].first);
            expected++;
        }
    }
    assert_int_equal(order_n, expected);
    assert_true(tk_list_is_empty(&turn.waiting));
    assert_int_equal(turn.now, tk_turn_next(&turn));
    tk_turn_dispose(&turn);
}

/* M-056: 10,000 random schedules: every call that did not give up gets
 * its turn, in order. */
static void test_turn_random_schedules(void **unused)
{
    tk_rand rand;
    tk_rand_init(&rand, 20261115);
    failmem_start();
    for (int i = 0; i < 10000; i++) {
        play(&rand);
    }
    assert_int_equal(failmem_stop(), 0);
}

#define THREADS 8
#define BLOCKS  2000

typedef struct reserver {
    tk_turn *turn;
    int64_t firsts[BLOCKS];
} reserver;

static void *reserve_blocks(void *user)
{
    reserver *self = user;
    for (int i = 0; i < BLOCKS; i++) {
        tk_ticket ticket = {.n = 5};
        self->firsts[i] = tk_turn_reserve(self->turn, &ticket);
    }
    return NULL;
}

/* blocks of several threads never interleave and leave no gap: the
 * ids are one atomic addition. */
static void test_turn_blocks_of_threads(void **unused)
{
    static reserver reservers[THREADS];
    static bool seen[THREADS * BLOCKS];
    pthread_t threads[THREADS];
    tk_turn turn;
    tk_turn_init(&turn, 0);
    for (int i = 0; i < THREADS; i++) {
        reservers[i].turn = &turn;
        assert_int_equal(pthread_create(&threads[i], NULL, reserve_blocks, &reservers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int k = 0; k < BLOCKS; k++) {
            assert_int_equal(reservers[i].firsts[k] % 5, 0);
            assert_false(seen[reservers[i].firsts[k] / 5]);
            seen[reservers[i].firsts[k] / 5] = true;
        }
    }
    assert_int_equal(tk_turn_next(&turn), (int64_t)THREADS * BLOCKS * 5);
    tk_turn_dispose(&turn);
}

/* Ids under which nothing was sent: the next call has them, and no later one waits. */
static void test_turn_unused_ids(void **unused)
{
    tk_turn turn;
    call calls[4];
    order_n = 0;
    tk_turn_init(&turn, 0);
    reserve(&turn, &calls[0], 6);
    tk_turn_enter(&turn, calls[0].ticket);
    tk_turn_unused(&turn, calls[0].ticket, 6); /* all were used */
    assert_int_equal(tk_turn_next(&turn), 6);
    tk_turn_unused(&turn, calls[0].ticket, 4);
    assert_int_equal(tk_turn_next(&turn), 4);
    reserve(&turn, &calls[1], 3);
    assert_int_equal(calls[1].first, 4);
    tk_turn_enter(&turn, calls[1].ticket);
    assert_false(calls[1].is_inside);
    tk_turn_unused(&turn, calls[1].ticket, 0); /* while it waits */
    tk_turn_leave(&turn, &calls[1].ticket);
    reserve(&turn, &calls[2], 1);
    assert_int_equal(calls[2].first, 4);
    tk_turn_enter(&turn, calls[2].ticket);
    tk_turn_leave(&turn, &calls[0].ticket);
    assert_true(calls[2].is_inside);
    tk_turn_leave(&turn, &calls[2].ticket);
    tk_turn_unused(&turn, NULL, 0);
    tk_turn_dispose(&turn);
}

/* A call that came meanwhile keeps its place, also one without ids. */
static void test_turn_unused_ids_too_late(void **unused)
{
    for (int64_t n = 0; n < 2; n++) {
        tk_turn turn;
        call calls[3];
        order_n = 0;
        tk_turn_init(&turn, 0);
        reserve(&turn, &calls[0], 2);
        reserve(&turn, &calls[1], n);
        tk_turn_enter(&turn, calls[0].ticket);
        tk_turn_unused(&turn, calls[0].ticket, 1);
        reserve(&turn, &calls[2], 1);
        assert_int_equal(calls[2].first, 2 + n);
        tk_turn_enter(&turn, calls[1].ticket);
        tk_turn_enter(&turn, calls[2].ticket);
        tk_turn_leave(&turn, &calls[0].ticket);
        assert_true(calls[1].is_inside && !calls[2].is_inside);
        tk_turn_leave(&turn, &calls[1].ticket);
        assert_true(calls[2].is_inside);
        tk_turn_leave(&turn, &calls[2].ticket);
        tk_turn_dispose(&turn);
    }
}

/* No memory for a ticket: nothing was reserved, so nothing is missing. */
static void test_turn_no_memory(void **unused)
{
    failmem_start();
    failmem_fail_at(1);
    assert_null(tk_turn_ticket(1, on_go, NULL));
    assert_int_equal(failmem_stop(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn_order_of_the_calls),
        cmocka_unit_test(test_turn_leaving_early),
        cmocka_unit_test(test_turn_leaving_inside_go),
        cmocka_unit_test(test_turn_without_id),
        cmocka_unit_test(test_turn_without_id_late),
        cmocka_unit_test(test_turn_random_schedules),
        cmocka_unit_test(test_turn_blocks_of_threads),
        cmocka_unit_test(test_turn_unused_ids),
        cmocka_unit_test(test_turn_unused_ids_too_late),
        cmocka_unit_test(test_turn_no_memory),
    };
    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
