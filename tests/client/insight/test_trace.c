/* The recorder of traces: every span as a pair of events in valid JSON (A-139, M-146). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tinkc/hooks.h>
#include <tinkc/trace.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/samplefix.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

typedef struct fixture {
    clientfix f;
    tinkc_sampling *sampling, *tagged;
    tinkc_trace *trace;
    char path[64];
    tk_arena arena;
} fixture;

static void open_all(fixture *t)
{
    static const tinkc_pair tags[] = {{"run", "a \"b\"\n\\"}, {"step", "7"}};
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.traceparent = PARENT;
    context.tags = tags;
    context.tags_n = 2;
    memset(t, 0, sizeof(*t));
    (void)snprintf(t->path, sizeof(t->path), "/tmp/tinkc-trace-XXXXXX");
    int fd = mkstemp(t->path);
    assert_true(fd >= 0);
    (void)close(fd);
    tk_arena_init(&t->arena, 0);
    clientfix_open(&t->f, NULL);
    t->sampling = samplefix_create(&t->f);
    assert_int_equal(tinkc_sampling_with_context(&t->tagged, t->sampling, &context, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_trace_open(&t->trace, t->path, NULL), TINKC_OK);
    assert_int_equal(tinkc_trace_attach(t->trace, t->f.service, NULL), TINKC_OK);
}

static void close_all(fixture *t)
{
    assert_int_equal(tinkc_trace_close(&t->trace, NULL), TINKC_OK);
    tinkc_sampling_close(&t->tagged);
    tinkc_sampling_close(&t->sampling);
    clientfix_close(&t->f);
    tk_arena_dispose(&t->arena);
    (void)unlink(t->path);
}

static const tk_json *read_trace(fixture *t)
{
    char *text = NULL;
    size_t n = 0;
    const tk_json *root = NULL;
    assert_int_equal(tk_file_read(&text, &n, t->path, TK_MIB, NULL), TINKC_OK);
    assert_int_equal(tk_json_parse(&root, &t->arena, text, n, NULL, NULL), TINKC_OK);
    tk_free(text);
    return root;
}

static const char *text_of(const tk_json *event, const char *key)
{
    const tk_json *value = tk_json_get(event, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : "";
}

/* How many events have this phase and name; the last of them in *out. */
static size_t count(const tk_json *root, const char *phase, const char *name,
                    tk_json *out)
{
    size_t n = 0;
    for (size_t i = 0; i < tk_json_len(root); i++) {
        tk_json event = tk_json_at(root, i);
        if (strcmp(text_of(&event, "ph"), phase) == 0 &&
            strcmp(text_of(&event, "name"), name) == 0) {
            *out = event;
            n++;
        }
    }
    return n;
}

/* A-139, M-146: operation and requests are slices with the same ids at both ends; tags,
 * the trace parent, errors and retries are in it. */
static void test_trace_events(void **unused)
{
    fixture t;
    tk_json start, end, post, mark;
    double from = 0, to = 0;
    open_all(&t);
    tinkc_future *future = samplefix_sample(&t.f, t.tagged, 2);
    assert_true(faketransport_answer(&t.f.net, SAMPLE, (fakeanswer){.status = 429}));
    clientfix_advance(&t.f, 60000);
    assert_true(samplefix_accept(&t.f));
    fakeclock_advance_ms(&t.f.clock, 3);
    assert_true(samplefix_finish(&t.f));
    tinkc_future_free(&future);
    assert_int_equal(tinkc_trace_close(&t.trace, NULL), TINKC_OK);
    assert_null(t.trace);
    const tk_json *root = read_trace(&t);
    assert_int_equal(count(root, "b", "sample", &start), 1);
    assert_int_equal(count(root, "e", "sample", &end), 1);
    assert_string_equal(text_of(&start, "id"), text_of(&end, "id"));
    assert_string_equal(text_of(&start, "cat"), "operation");
    const tk_json *args = tk_json_get(&start, "args");
    assert_string_equal(text_of(args, "run"), "a \"b\"\n\\");
    assert_string_equal(text_of(args, "step"), "7");
    assert_string_equal(text_of(args, "traceparent"), PARENT);
    assert_int_equal(count(root, "b", "asample", &post), 2);
    args = tk_json_get(&post, "args");
    assert_string_equal(text_of(args, "operation"), text_of(&start, "id"));
    assert_int_equal(count(root, "e", "asample", &post), 2);
    assert_int_equal(count(root, "n", "retry", &mark), 1);
    assert_string_equal(text_of(tk_json_get(&mark, "args"), "reason"), "429");
    assert_int_equal(count(root, "b", POLL, &start), 1);
    assert_int_equal(count(root, "e", POLL, &end), 1);
    assert_true(tk_json_to_double(tk_json_get(&start, "ts"), &from));
    assert_true(tk_json_to_double(tk_json_get(&end, "ts"), &to));
    assert_true(to - from == 3000.0);
    close_all(&t);
}

/* what happens after the close is not recorded and does no harm. */
static void test_trace_after_the_close(void **unused)
{
    fixture t;
    tk_json event;
    open_all(&t);
    tinkc_future *future = samplefix_sample(&t.f, t.sampling, 2);
    assert_int_equal(tinkc_trace_close(&t.trace, NULL), TINKC_OK);
    assert_true(samplefix_accept(&t.f) && samplefix_finish(&t.f));
    const tk_json *root = read_trace(&t);
    assert_int_equal(count(root, "b", "sample", &event), 1);
    assert_int_equal(count(root, "e", "sample", &event), 0);
    tinkc_future_free(&future);
    close_all(&t);
}

/* a file that cannot be written is reported at the end, and work goes on. */
static void test_trace_of_a_full_disk(void **unused)
{
    clientfix f;
    tinkc_trace *trace = NULL;
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_trace_open(&trace, "/no/such/place/trace.json", &err),
                     TINKC_E_IO);
    assert_non_null(strstr(tinkc_error_message(err), "/no/such/place/trace.json"));
    tinkc_error_free(&err);
    clientfix_open(&f, NULL);
    assert_int_equal(tinkc_trace_open(&trace, "/dev/full", NULL), TINKC_OK);
    assert_int_equal(tinkc_trace_attach(trace, f.service, NULL), TINKC_OK);
    tinkc_sampling *sampling = samplefix_create(&f);
    for (int i = 0; i < 100; i++) { /* more than the buffer holds */
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        assert_true(samplefix_accept(&f) && samplefix_finish(&f));
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
        tinkc_future_free(&future);
    }
    assert_int_equal(tinkc_trace_close(&trace, &err), TINKC_E_IO);
    tinkc_error_free(&err);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static bool sweep_once(void *user)
{
    fixture *t = user;
    tinkc_trace *trace = NULL;
    tinkc_error *err = NULL;
    if (tinkc_trace_open(&trace, t->path, &err) != TINKC_OK ||
        tinkc_trace_attach(trace, t->f.service, &err) != TINKC_OK) {
        tinkc_error_free(&err);
        (void)tinkc_trace_close(&trace, NULL);
        return false;
    }
    tinkc_future *future = tinkc_service_create_sampling(t->f.service, NULL, NULL);
    bool ok = tinkc_future_wait(future, 0) == TINKC_E_INVALID;
    tinkc_future_free(&future);
    tinkc_code code = tinkc_trace_close(&trace, &err);
    assert_true(code == TINKC_OK || tinkc_error_code(err) == code);
    tinkc_error_free(&err);
    return ok && code == TINKC_OK;
}

static bool sweep_in_fixture(void *unused)
{
    fixture t = {.path = "/dev/null"};
    tk_err err = TK_ERR_INIT;
    tinkc_config *config = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL) == TINKC_OK &&
        tinkc_config_set(config, "api_key", "tml-test", NULL) == TINKC_OK &&
        tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK;
    fakeclock_init(&t.f.clock);
    faketransport_init(&t.f.net, &t.f.clock.clock);
    tk_core_seams seams = {.clock = &t.f.clock.clock, .seed = 1};
    ok = ok && tk_service_open(&t.f.service, config, &seams, &err) == TINKC_OK;
    ok = ok && sweep_once(&t);
    tinkc_service_close(&t.f.service);
    tinkc_config_free(&config);
    faketransport_dispose(&t.f.net);
    return ok;
}

/* events for which memory runs out are left out, counted and reported. */
static void test_trace_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_in_fixture, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_events),
        cmocka_unit_test(test_trace_after_the_close),
        cmocka_unit_test(test_trace_of_a_full_disk),
        cmocka_unit_test(test_trace_allocation_sweep),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
