/* S-006: futures and parked polls without HTTP; a request is a plain struct whose resume
 * counts. */
#include "base/mem.h"
#include "server/run/srv_poll.h"
#include "server/run/srv_state.h"
#include "support/test.h"

#define MS TK_NS_PER_MS

static srv server; /* all that a request needs of one */

static size_t resumed;

static void count_resume(srv_request *request)
{
    resumed++;
}

static srv_poll *poll_of(const char *id)
{
    srv_request *request = srv_request_new(&server, &server.bodies);
    assert_non_null(request);
    request->resume = count_resume;
    srv_poll *poll = srv_poll_new(request, tk_str_of(id));
    assert_non_null(poll);
    return poll;
}

static srv_future *add(srv_futures *futures, const char *id, const char *idem)
{
    static const char digest[TK_SHA256_HEX_BYTES] = "d";
    tk_err err = TK_ERR_INIT;
    srv_future *future = NULL;
    const srv_future_spec spec = {tk_str_of(id), tk_str_of(idem), TK_FUTURE_OPTIM_STEP,
                                  digest};
    assert_int_equal(srv_future_add(&future, futures, &spec, &err), TINKC_OK);
    return future;
}

static srv_blob *blob_of(const char *text)
{
    tk_buf buf;
    tk_buf_init(&buf, TK_MIB);
    tk_buf_puts(&buf, text);
    srv_blob *blob = srv_blob_take(&buf);
    assert_non_null(blob);
    return blob;
}

/* An answer has a length and no NUL. */
static bool says(const srv_poll *poll, const char *wanted)
{
    const srv_request *request = poll->request;
    char text[1024];
    assert_in_range(request->answer->n, 1, sizeof(text) - 1);
    memcpy(text, request->answer->p, request->answer->n);
    text[request->answer->n] = '\0';
    return strstr(text, wanted) != NULL;
}

static int setup(void **state)
{
    srv_futures *futures = tk_zalloc(sizeof(*futures));
    assert_non_null(futures);
    srv_futures_init(futures);
    resumed = 0;
    *state = futures;
    return 0;
}

static int teardown(void **state)
{
    srv_futures_dispose(*state);
    tk_free(*state);
    return 0;
}

/* Every poll of an id gets the result, and the deadlines are gone with them. */
static void test_srv_result_releases_all(void **state)
{
    srv_futures *futures = *state;
    srv_future *future = add(futures, "m:1", "");
    srv_poll *a = poll_of("m:1"), *b = poll_of("m:1");
    tk_list released;
    tk_list_init(&released);
    srv_future_park(futures, future, a, 10 * MS);
    srv_future_park(futures, future, b, 20 * MS);
    assert_int_equal(srv_future_next_deadline(futures), 10 * MS);
    srv_future_complete(futures, future, blob_of("{}"), false, 5 * MS, &released);
    assert_int_equal(srv_future_next_deadline(futures), TK_FOREVER);
    assert_int_equal(futures->n_waiting, 0);
    srv_poll_release(&released);
    assert_int_equal(resumed, 2);
    assert_int_equal(a->request->status, 200);
    assert_int_equal(b->request->status, 200);
    assert_ptr_equal(a->request->answer, b->request->answer); /* one copy of the bytes */
    srv_request_free(a->request);
    srv_request_free(b->request);
}

static srv_wait why_busy(const void *owner)
{
    assert_non_null(owner);
    return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "busy"};
}

static void test_srv_deadline_releases_one(void **state)
{
    srv_futures *futures = *state;
    srv_future *future = add(futures, "m:1", "");
    srv_poll *a = poll_of("m:1"), *b = poll_of("m:1");
    tk_list released;
    tk_list_init(&released);
    future->why = why_busy;
    future->owner = futures;
    srv_future_park(futures, future, a, 10 * MS);
    srv_future_park(futures, future, b, 20 * MS);
    srv_future_release_due(futures, 10 * MS, &released);
    srv_poll_release(&released);
    assert_int_equal(resumed, 1);
    assert_int_equal(a->request->status, 408);
    assert_true(says(a, "paused_capacity"));
    srv_future_release_due(futures, TK_FOREVER, &released);
    srv_poll_release(&released);
    assert_int_equal(b->request->status, 408);
    srv_request_free(a->request);
    srv_request_free(b->request);
}

/* A result is kept for an hour, and results together have a limit. */
static void test_srv_results_expire(void **state)
{
    srv_futures *futures = *state;
    tk_list released;
    tk_list_init(&released);
    srv_future *old = add(futures, "m:1", "key");
    srv_future_complete(futures, old, blob_of("{}"), false, 0, &released);
    srv_future_expire(futures, SRV_FUTURE_MS * MS - 1);
    assert_ptr_equal(srv_future_find(futures, TK_STR("m:1")), old);
    assert_ptr_equal(srv_future_find_idem(futures, TK_STR("key")), old);
    srv_future_expire(futures, SRV_FUTURE_MS * MS);
    assert_null(srv_future_find(futures, TK_STR("m:1")));
    assert_null(srv_future_find_idem(futures, TK_STR("key")));
    assert_int_equal(futures->result_bytes, 0);
}

static void test_srv_large_results_push_out_old_ones(void **state)
{
    srv_futures *futures = *state;
    tk_list released;
    tk_list_init(&released);
    srv_future *old = add(futures, "m:1", "");
    srv_future_complete(futures, old, blob_of("{}"), false, 0, &released);
    srv_blob *huge = blob_of("x");
    huge->n = TK_SRV_RESULTS_BYTES; /* pretended: it is not read */
    srv_future *new = add(futures, "m:2", "");
    srv_future_complete(futures, new, huge, false, 0, &released);
    assert_null(old->result);
    assert_non_null(new->result);
    srv_poll *late = poll_of("m:1");
    srv_future_look(late, old);
    tk_list_push_back(&released, &late->waiting);
    srv_poll_release(&released);
    assert_int_equal(late->request->status, 410);
    srv_request_free(late->request);
}

/* S-012: announced first, and only when the poll allows it. */
static void test_srv_large_results_are_announced(void **state)
{
    srv_futures *futures = *state;
    tk_list released;
    tk_list_init(&released);
    srv_future *future = add(futures, "m:1", "");
    srv_blob *large = blob_of("x");
    large->n = SRV_METADATA_BYTES + 1;
    srv_poll *asks = poll_of("m:1"), *takes = poll_of("m:1");
    asks->allow_metadata = true;
    srv_future_park(futures, future, asks, MS);
    srv_future_park(futures, future, takes, MS);
    srv_future_complete(futures, future, large, false, 0, &released);
    srv_poll_release(&released);
    assert_true(says(asks, "complete_metadata"));
    assert_ptr_equal(takes->request->answer, large);
    srv_request_free(asks->request);
    srv_request_free(takes->request);
}

static void test_srv_failures_have_a_category(void **state)
{
    tk_err err = TK_ERR_INIT;
    static const char expected[] =
        "{\"error\":\"no \\\"such\\\" loss\",\"category\":\"user\"}";
    assert_int_equal(tk_mutex_init(&server.lock, &err), TINKC_OK);
    srv_futures_init(&server.futures);
    srv_future *future = add(&server.futures, "m:1", "");
    srv_future_fail(&server, future, "no \"such\" loss", TINKC_CATEGORY_USER);
    assert_true(future->done);
    assert_int_equal(future->result->n, sizeof(expected) - 1);
    assert_memory_equal(future->result->p, expected, future->result->n);
    srv_futures_dispose(&server.futures);
    tk_mutex_dispose(&server.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_srv_result_releases_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srv_deadline_releases_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srv_results_expire, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srv_large_results_push_out_old_ones, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_srv_large_results_are_announced, setup,
                                        teardown),
        cmocka_unit_test(test_srv_failures_have_a_category),
    };
    return cmocka_run_group_tests_name("srv_future", tests, NULL, NULL);
}
