/* The message queue: coalesced wakes, order per producer, closing, several threads. */
#include "base/mqueue.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/failmem.h"
#include "support/test.h"

typedef struct message {
    tk_mqueue_node node;
    size_t producer;
    size_t number;
} message;

static bool readable(const tk_mqueue *queue, int timeout_ms)
{
    struct pollfd at = {.fd = tk_mqueue_fd(queue), .events = POLLIN};
    return poll(&at, 1, timeout_ms) == 1;
}

static void test_mqueue_one_write_per_batch(void **unused)
{
    tk_mqueue queue;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    assert_false(readable(&queue, 0));
    assert_null(tk_mqueue_take_all(&queue));
    message messages[5];
    for (size_t i = 0; i < 5; i++) {
        assert_true(tk_mqueue_post(&queue, &messages[i].node));
        tk_mqueue_wake(&queue);
    }
    assert_true(readable(&queue, 0));
    uint64_t writes = 0; /* the eventfd counts them */
    assert_int_equal(read(tk_mqueue_fd(&queue), &writes, sizeof(writes)), 8);
    assert_int_equal(writes, 1);
    tk_mqueue_node *at = tk_mqueue_take_all(&queue);
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal(at, &messages[i].node);
        at = at->next;
    }
    assert_null(at);
    assert_false(readable(&queue, 0));
    assert_true(tk_mqueue_post(&queue, &messages[0].node)); /* and it rings again */
    assert_true(readable(&queue, 0));
    assert_ptr_equal(tk_mqueue_take_all(&queue), &messages[0].node);
    assert_false(readable(&queue, 0));
    tk_mqueue_dispose(&queue);
}

/* A consumer that says when it rests is not woken while it is awake, and never rests on a
 * message. */
static void test_mqueue_rest(void **unused)
{
    tk_mqueue queue;
    message messages[2];
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    assert_true(tk_mqueue_rest(&queue));
    assert_true(tk_mqueue_post(&queue, &messages[0].node)); /* asleep: wakes */
    assert_true(readable(&queue, 0));
    assert_false(tk_mqueue_rest(&queue));
    assert_ptr_equal(tk_mqueue_take_all(&queue), &messages[0].node);
    assert_true(tk_mqueue_post(&queue, &messages[1].node)); /* awake: does not */
    assert_false(readable(&queue, 0));
    assert_false(tk_mqueue_rest(&queue));
    assert_ptr_equal(tk_mqueue_take_all(&queue), &messages[1].node);
    assert_true(tk_mqueue_rest(&queue));
    assert_null(tk_mqueue_take_all(&queue));
    tk_mqueue_wake(&queue); /* is always heard */
    assert_true(readable(&queue, 0));
    assert_false(tk_mqueue_rest(&queue));
    assert_null(tk_mqueue_take_all(&queue));
    tk_mqueue_close(&queue);
    assert_false(tk_mqueue_rest(&queue));
    tk_mqueue_dispose(&queue);
}

static void test_mqueue_wake_without_message(void **unused)
{
    tk_mqueue queue;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    tk_mqueue_wake(&queue);
    assert_true(readable(&queue, 0));
    assert_null(tk_mqueue_take_all(&queue));
    assert_false(readable(&queue, 0));
    tk_mqueue_dispose(&queue);
}

static void test_mqueue_close(void **unused)
{
    tk_mqueue queue;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    message before;
    message after;
    assert_true(tk_mqueue_post(&queue, &before.node));
    tk_mqueue_close(&queue);
    assert_false(tk_mqueue_post(&queue, &after.node)); /* still ours */
    assert_true(readable(&queue, 0));
    assert_ptr_equal(tk_mqueue_take_all(&queue), &before.node);
    assert_null(before.node.next);
    assert_null(tk_mqueue_take_all(&queue));
    tk_mqueue_close(&queue);
    assert_false(tk_mqueue_post(&queue, &after.node));
    tk_mqueue_dispose(&queue);
}

static void test_mqueue_without_descriptors(void **unused)
{
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit none = {0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    tk_mqueue queue;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_mqueue_init(&queue, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(code, TINKC_E_IO);
    assert_string_equal(err.message, "cannot make an eventfd: Too many open files");
}

enum { PRODUCERS = 4, MESSAGES = 20000 };

typedef struct producer {
    tk_mqueue *queue;
    size_t id;
    message *messages;
    size_t refused;
} producer;

static void produce(void *user)
{
    producer *self = user;
    for (size_t i = 0; i < MESSAGES; i++) {
        self->messages[i].producer = self->id;
        self->messages[i].number = i;
        self->refused += !tk_mqueue_post(self->queue, &self->messages[i].node);
    }
}

/* Checks one batch: each producer's messages come in its own order. */
static size_t consume(tk_mqueue *queue, size_t next[PRODUCERS])
{
    size_t n = 0;
    for (tk_mqueue_node *at = tk_mqueue_take_all(queue); at != NULL; at = at->next) {
        message *got = TK_CONTAINER_OF(at, message, node);
        assert_int_equal(got->number, next[got->producer]);
        next[got->producer]++;
        n++;
    }
    return n;
}

static message storage[PRODUCERS][MESSAGES];

/* Producers against a consumer that sleeps on the descriptor: nothing is lost, nothing is
 * doubled, and no message is left waiting behind a silent descriptor. */
static void test_mqueue_many_producers(void **unused)
{
    tk_mqueue queue;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    tk_thread threads[PRODUCERS];
    producer producers[PRODUCERS];
    for (size_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){&queue, i, storage[i], 0};
        assert_int_equal(
            tk_thread_start(&threads[i], "producer", produce, &producers[i], NULL),
            TINKC_OK);
    }
    size_t next[PRODUCERS] = {0};
    for (size_t got = 0; got < (size_t)PRODUCERS * MESSAGES;) {
        assert_true(readable(&queue, 60000));
        got += consume(&queue, next);
    }
    for (size_t i = 0; i < PRODUCERS; i++) {
        tk_thread_join(&threads[i]);
        assert_int_equal(producers[i].refused, 0);
        assert_int_equal(next[i], MESSAGES);
    }
    assert_null(tk_mqueue_take_all(&queue));
    tk_mqueue_dispose(&queue);
}

/* Closing in the middle: every message was either taken or refused, never both, and what
 * one producer got in is a start of what it tried. */
static void test_mqueue_close_while_posting(void **unused)
{
    tk_mqueue queue;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    tk_thread threads[PRODUCERS];
    producer producers[PRODUCERS];
    for (size_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){&queue, i, storage[i], 0};
        assert_int_equal(
            tk_thread_start(&threads[i], "producer", produce, &producers[i], NULL),
            TINKC_OK);
    }
    size_t next[PRODUCERS] = {0};
    size_t got = 0;
    while (got < MESSAGES) {
        assert_true(readable(&queue, 60000));
        got += consume(&queue, next);
    }
    tk_mqueue_close(&queue);
    got += consume(&queue, next);
    size_t refused = 0;
    for (size_t i = 0; i < PRODUCERS; i++) {
        tk_thread_join(&threads[i]);
        refused += producers[i].refused;
        assert_int_equal(next[i] + producers[i].refused, MESSAGES);
    }
    assert_null(tk_mqueue_take_all(&queue));
    assert_int_equal(got + refused, (size_t)PRODUCERS * MESSAGES);
    tk_mqueue_dispose(&queue);
}

static void test_mqueue_allocates_nothing(void **unused)
{
    failmem_start();
    tk_mqueue queue;
    message one;
    assert_int_equal(tk_mqueue_init(&queue, NULL), TINKC_OK);
    assert_true(tk_mqueue_post(&queue, &one.node));
    assert_non_null(tk_mqueue_take_all(&queue));
    tk_mqueue_dispose(&queue);
    assert_int_equal(failmem_count(), 0);
    assert_int_equal(failmem_stop(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mqueue_one_write_per_batch),
        cmocka_unit_test(test_mqueue_rest),
        cmocka_unit_test(test_mqueue_wake_without_message),
        cmocka_unit_test(test_mqueue_close),
        cmocka_unit_test(test_mqueue_without_descriptors),
        cmocka_unit_test(test_mqueue_many_producers),
        cmocka_unit_test(test_mqueue_close_while_posting),
        cmocka_unit_test(test_mqueue_allocates_nothing),
    };
    return cmocka_run_group_tests_name("mqueue", tests, NULL, NULL);
}
