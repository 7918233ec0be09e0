/* Queues of futures: the order of completion, one future taken once, from any thread
 * (M-090). */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/thread.h"
#include "client/future/tk_future.h"
#include "support/test.h"

static tinkc_future *new_future(void)
{
    return tk_future_new(NULL, "sample", TK_RESULT_TEXT);
}

static bool readable(const tinkc_queue *queue)
{
    struct pollfd fd = {.fd = tinkc_queue_fd(queue), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void test_queue_order_and_fd(void **unused)
{
    tinkc_queue *queue = NULL;
    int tags[3];
    tinkc_future *futures[3], *taken = NULL;
    void *tag = NULL;
    assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
    assert_int_equal(tinkc_queue_take(&taken, &tag, queue, TINKC_FOREVER, NULL),
                     TINKC_E_MISSING);
    for (int i = 0; i < 3; i++) {
        futures[i] = new_future();
        assert_int_equal(tinkc_queue_add(queue, futures[i], &tags[i], NULL), TINKC_OK);
        assert_int_equal(tinkc_queue_add(queue, futures[i], &tags[i], NULL),
                         TINKC_E_STATE);
    }
    assert_int_equal(tinkc_queue_pending(queue), 3);
    assert_int_equal(tinkc_queue_take(&taken, &tag, queue, 0, NULL), TINKC_E_TIMEOUT);
    assert_false(readable(queue));
    static const int order[] = {2, 0, 1};
    for (int i = 0; i < 3; i++) {
        assert_true(tk_future_complete(futures[order[i]], NULL, NULL));
    }
    for (int i = 0; i < 3; i++) {
        assert_true(readable(queue));
        assert_int_equal(tinkc_queue_take(&taken, &tag, queue, TINKC_FOREVER, NULL),
                         TINKC_OK);
        assert_ptr_equal(taken, futures[order[i]]);
        assert_ptr_equal(tag, &tags[order[i]]);
        tinkc_future_free(&taken);
        tinkc_future_free(&futures[order[i]]);
    }
    assert_false(readable(queue));
    tinkc_queue_close(&queue);
    assert_null(queue);
}

/* A future that is done already can be taken at once; the caller's reference may go
 * first. */
static void test_queue_done_before_add(void **unused)
{
    tinkc_queue *queue = NULL;
    tinkc_future *future = new_future(), *taken = NULL;
    assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
    assert_true(tk_future_complete(future, NULL, NULL));
    assert_int_equal(tinkc_queue_add(queue, future, NULL, NULL), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_queue_take(&taken, NULL, queue, 0, NULL), TINKC_OK);
    tinkc_future_free(&taken);
    tinkc_queue_close(&queue);
}

static void test_queue_close_detaches(void **unused)
{
    tinkc_queue *queue = NULL;
    tinkc_future *open = new_future(), *done = new_future();
    assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
    assert_int_equal(tinkc_queue_add(queue, open, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_queue_add(queue, done, NULL, NULL), TINKC_OK);
    assert_true(tk_future_complete(done, NULL, NULL));
    tinkc_queue_close(&queue);
    assert_false(tinkc_future_is_done(open));
    assert_true(tk_future_complete(open, NULL, NULL));
    tinkc_future_free(&open);
    tinkc_future_free(&done);
}

typedef struct completer {
    tk_thread thread;
    tinkc_future *futures[500];
} completer;

static void complete_all(void *user)
{
    completer *c = user;
    for (size_t i = 0; i < TK_ARRAY_LEN(c->futures); i++) {
        assert_true(tk_future_complete(c->futures[i], NULL, NULL));
        tinkc_future_free(&c->futures[i]);
    }
}

/* M-090: every one of two thousand is taken once. */
static void test_queue_many_threads(void **unused)
{
    static completer completers[4];
    static char seen[2000];
    tinkc_queue *queue = NULL;
    memset(seen, 0, sizeof(seen));
    assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
    for (size_t i = 0; i < 2000; i++) {
        tinkc_future *future = new_future();
        assert_int_equal(tinkc_queue_add(queue, future, &seen[i], NULL), TINKC_OK);
        completers[i / 500].futures[i % 500] = future;
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tk_thread_start(&completers[i].thread, "c", complete_all,
                                         &completers[i], NULL),
                         TINKC_OK);
    }
    tinkc_future *taken = NULL;
    void *tag = NULL;
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(tinkc_queue_take(&taken, &tag, queue, TINKC_FOREVER, NULL),
                         TINKC_OK);
        ++*(char *)tag;
        tinkc_future_free(&taken);
    }
    for (int i = 0; i < 4; i++) {
        tk_thread_join(&completers[i].thread);
    }
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(seen[i], 1);
    }
    assert_int_equal(tinkc_queue_take(&taken, &tag, queue, 0, NULL), TINKC_E_MISSING);
    tinkc_queue_close(&queue);
}

typedef struct taker {
    tk_thread thread;
    tinkc_queue *queue;
    atomic_int tid; /* set right before the first take */
    tinkc_code code;
} taker;

/* Whether the kernel has put the thread to sleep. */
static bool is_asleep(int tid)
{
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    const char *state = strrchr(text, ')');
    return state != NULL && state[1] == ' ' && state[2] == 'S';
}

static void wait_until_asleep(taker *takers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (atomic_load(&takers[i].tid) == 0 || !is_asleep(takers[i].tid)) {
            sched_yield();
        }
    }
}

static void take_all(void *user)
{
    taker *t = user;
    tinkc_future *taken = NULL;
    atomic_store(&t->tid, (int)gettid());
    do {
        t->code = tinkc_queue_take(&taken, NULL, t->queue, TINKC_FOREVER, NULL);
        tinkc_future_free(&taken);
    } while (t->code == TINKC_OK);
}

static void start_takers(taker *takers, size_t n, tinkc_queue *queue)
{
    for (size_t i = 0; i < n; i++) {
        takers[i] = (taker){.queue = queue};
        assert_int_equal(
            tk_thread_start(&takers[i].thread, "taker", take_all, &takers[i], NULL),
            TINKC_OK);
    }
}

/* One thread gets the last future; the others, which sleep, learn that there is none to
 * wait for. */
static void test_queue_last_wakes_all(void **unused)
{
    for (int round = 0; round < 20; round++) {
        tinkc_queue *queue = NULL;
        tinkc_future *future = new_future();
        taker takers[4];
        assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
        assert_int_equal(tinkc_queue_add(queue, future, NULL, NULL), TINKC_OK);
        start_takers(takers, TK_ARRAY_LEN(takers), queue);
        wait_until_asleep(takers, TK_ARRAY_LEN(takers));
        assert_true(tk_future_complete(future, NULL, NULL));
        for (size_t i = 0; i < TK_ARRAY_LEN(takers); i++) {
            tk_thread_join(&takers[i].thread);
            assert_int_equal(takers[i].code, TINKC_E_MISSING);
        }
        tinkc_future_free(&future);
        tinkc_queue_close(&queue);
    }
}

/* A close ends the takes that wait, and the queue outlives them. */
static void test_queue_close_wakes_takers(void **unused)
{
    for (int round = 0; round < 20; round++) {
        tinkc_queue *queue = NULL;
        tinkc_future *future = new_future();
        taker takers[4];
        assert_int_equal(tinkc_queue_open(&queue, NULL), TINKC_OK);
        assert_int_equal(tinkc_queue_add(queue, future, NULL, NULL), TINKC_OK);
        start_takers(takers, TK_ARRAY_LEN(takers), queue);
        wait_until_asleep(takers, TK_ARRAY_LEN(takers));
        tinkc_queue_close(&queue);
        for (size_t i = 0; i < TK_ARRAY_LEN(takers); i++) {
            tk_thread_join(&takers[i].thread);
            assert_int_equal(takers[i].code, TINKC_E_CANCELLED);
        }
        assert_true(tk_future_complete(future, NULL, NULL));
        tinkc_future_free(&future);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_order_and_fd),
        cmocka_unit_test(test_queue_done_before_add),
        cmocka_unit_test(test_queue_close_detaches),
        cmocka_unit_test(test_queue_many_threads),
        cmocka_unit_test(test_queue_last_wakes_all),
        cmocka_unit_test(test_queue_close_wakes_takers),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
