/* S-006: futures and parked polls without HTTP; a request is a plain struct whose resume
 * counts. */
#include "base/mem.h"
#include "server/run/srv_poll.h"
#include "server/run/srv_state.h"
#include "support/test.h"

#define MS     TK_NS_PER_MS
#define MEMORY (64 * TK_MIB)

static srv server; /* all that a request needs of one */

static size_t resumed;

static void count_resume(hd_request *request)
{
    resumed++;
}

static srv_poll *poll_of(const char *id)
{
    hd_request *request = hd_request_new(&server, &server.memory);
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

static hd_blob *blob_of(const char *text)
{
    tk_buf buf;
    tk_buf_init(&buf, TK_MIB);
    tk_buf_puts(&buf, text);
    hd_blob *blob = hd_blob_take(&buf);
    assert_non_null(blob);
    return blob;
}

/* An answer has a length and no NUL. */
static bool says(const srv_poll *poll, const char *wanted)
{
    const hd_request *request = poll->request;
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
    hd_budget_init(&server.memory, MEMORY, &srv_part_rows);
    srv_futures_init(futures, &server.memory);
    resumed = 0;
    *state = futures;
    return 0;
}

static int teardown(void **state)
{
    srv_futures_dispose(*state);
    tk_free(*state);
    assert_int_equal(atomic_load(&server.memory.used), 0);
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
    hd_request_free(a->request);
    hd_request_free(b->request);
}

static srv_wait why_busy(const void *owner)
{
    assert_non_null(owner);
    return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "busy"};
}

/* S-006: a poll whose time is over is answered; the other one stays parked. */
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
    hd_request_free(a->request);
    hd_request_free(b->request);
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
    assert_int_equal(atomic_load(&server.memory.used), 0);
}

static bool is_kept(const srv_futures *futures, const char *id)
{
    return srv_future_find(futures, tk_str_of(id)) != NULL;
}

/* Completes it with a result that counts as `bytes`. */
static srv_future *finish(srv_futures *futures, const char *id, size_t bytes)
{
    tk_list released;
    tk_list_init(&released);
    srv_future *future = add(futures, id, "");
    hd_blob *blob = blob_of("x");
    blob->counted += bytes; /* pretended: only the budget looks at it */
    srv_future_complete(futures, future, blob, false, 0, &released);
    return future;
}

/* A poll comes and takes the result. */
static void fetch(srv_futures *futures, srv_future *future)
{
    srv_poll *poll = poll_of(future->id);
    srv_future_look(futures, poll, future);
    assert_int_equal(srv_poll_answer(poll), HD_ANSWERED);
    assert_int_equal(poll->request->status, 200);
    hd_request_free(poll->request);
}

/* S-007: results have a quarter of the memory. Beyond it those that were taken go
 * first, then the oldest; the newest stays. */
static void test_srv_large_results_push_out_old_ones(void **state)
{
    srv_futures *futures = *state;
    (void)finish(futures, "m:1", 0);
    srv_future *taken = finish(futures, "m:2", 8 * TK_KIB);
    fetch(futures, taken);
    fetch(futures, taken); /* a client whose answer was lost polls again */
    (void)finish(futures, "m:3", MEMORY / 4 - 16 * TK_KIB);
    assert_true(is_kept(futures, "m:1") && is_kept(futures, "m:2"));
    (void)finish(futures, "m:4", 8 * TK_KIB);
    assert_true(is_kept(futures, "m:1"));
    assert_false(is_kept(futures, "m:2"));
    (void)finish(futures, "m:5", MEMORY / 4);
    assert_false(is_kept(futures, "m:1") || is_kept(futures, "m:3"));
    assert_true(is_kept(futures, "m:5"));
}

/* S-007: when others have filled the memory, results that no poll has taken stay, and
 * the last ones that were taken, too: an answer may be lost on its way. */
static void test_srv_results_outlive_a_flood(void **state)
{
    srv_futures *futures = *state;
    (void)finish(futures, "m:1", 0);
    fetch(futures, finish(futures, "m:2", 3 * TK_MIB));
    fetch(futures, finish(futures, "m:4", 0));
    hd_budget_add(&server.memory, HD_PART_REQUESTS, MEMORY - MEMORY / 8);
    (void)finish(futures, "m:3", 0);
    assert_true(is_kept(futures, "m:1") && is_kept(futures, "m:3"));
    assert_true(is_kept(futures, "m:4"));
    assert_false(is_kept(futures, "m:2"));
    hd_budget_give(&server.memory, HD_PART_REQUESTS, MEMORY - MEMORY / 8);
}

/* S-007: a hundred polls that read JSON where the result is protobuf send the same bytes, which
 * are counted once, with the result. */
static void test_srv_polls_share_json(void **state)
{
    enum { POLLS = 100 };
    srv_futures *futures = *state;
    srv_poll *polls[POLLS];
    tk_list released;
    tk_list_init(&released);
    srv_future *future = add(futures, "s:1", "");
    future->type = TK_FUTURE_SAMPLE;
    for (int i = 0; i < POLLS; i++) {
        polls[i] = poll_of("s:1");
        srv_future_park(futures, future, polls[i], MS);
    }
    static const char message[] = "\x0a\x06\x12\x04\x05\0\0\0";
    tk_buf buf;
    tk_buf_init(&buf, TK_KIB);
    tk_buf_put(&buf, message, sizeof(message) - 1);
    srv_future_complete(futures, future, hd_blob_take(&buf), true, 0, &released);
    size_t before = atomic_load(&server.memory.used);
    srv_poll_release(&released);
    assert_int_equal(polls[0]->request->status, 200);
    assert_true(says(polls[0], "\"tokens\":[5]"));
    size_t json = polls[0]->request->answer->n;
    assert_in_range(atomic_load(&server.memory.used) - before, json, TK_KIB);
    for (int i = 1; i < POLLS; i++) {
        assert_ptr_equal(polls[i]->request->answer, polls[0]->request->answer);
    }
    for (int i = 0; i < POLLS; i++) {
        hd_request_free(polls[i]->request);
    }
}

/* S-012: announced first, and only when the poll allows it. */
static void test_srv_large_results_are_announced(void **state)
{
    srv_futures *futures = *state;
    tk_list released;
    tk_list_init(&released);
    srv_future *future = add(futures, "m:1", "");
    hd_blob *large = blob_of("x");
    large->n = SRV_METADATA_BYTES + 1;
    srv_poll *asks = poll_of("m:1"), *takes = poll_of("m:1");
    asks->allow_metadata = true;
    srv_future_park(futures, future, asks, MS);
    srv_future_park(futures, future, takes, MS);
    srv_future_complete(futures, future, large, false, 0, &released);
    srv_poll_release(&released);
    assert_true(says(asks, "complete_metadata"));
    assert_ptr_equal(takes->request->answer, large);
    hd_request_free(asks->request);
    hd_request_free(takes->request);
}

static void test_srv_failures_have_a_category(void **state)
{
    tk_err err = TK_ERR_INIT;
    static const char expected[] =
        "{\"error\":\"no \\\"such\\\" loss\",\"category\":\"user\"}";
    assert_int_equal(tk_mutex_init(&server.lock, &err), TINKC_OK);
    hd_budget_init(&server.memory, MEMORY, &srv_part_rows);
    srv_futures_init(&server.futures, &server.memory);
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
        cmocka_unit_test_setup_teardown(test_srv_results_outlive_a_flood, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_srv_polls_share_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srv_large_results_are_announced, setup,
                                        teardown),
        cmocka_unit_test(test_srv_failures_have_a_category),
    };
    return cmocka_run_group_tests_name("srv_future", tests, NULL, NULL);
}
