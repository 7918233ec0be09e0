/* every public function survives NULL, closed handles and
 * handles without anything else, and says so clearly; outputs stay as they were; nothing
 * is sent. The calls are generated from the headers (scripts/gen-misuse.py).
 * Links: peer */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tinkc/tinkc.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define WAIT_MS 60000

/* What the calls are made with. */
typedef struct handles {
    tinkc_service *service;
    tinkc_training *training;
    tinkc_sampling *sampling;
    tinkc_future *future;
    tinkc_queue *queue;
    tinkc_config *config;
    tinkc_model_input *input;
    tinkc_datum *datum;
    tinkc_tensor *tensor;
} handles;

typedef struct verdict {
    tinkc_code code;
    bool is_null; /* it returned no future */
    bool wrote;   /* an output */
} verdict;

typedef enum kind { KIND_CODE, KIND_FUTURE, KIND_OTHER } kind;

typedef struct row {
    const char *name;
    kind is;
    verdict (*call)(const handles *g, bool outs, tinkc_error **err);
    bool has_error;
    bool of_client; /* takes a training or sampling client */
} row;

static const int untouched; /* where outputs point before the call */

#include "misuse_calls.inc"

static bool is_among(const char *const *names, const char *name)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL means the defaults, or a place for the answer is all they need. */
static const char *const fine_with_null[] = {
    "tinkc_sampling_params_check",
    "tinkc_sample_options_check",
    "tinkc_sample_retry_check",
    "tinkc_adam_params_check",
    "tinkc_lora_config_check",
    "tinkc_optimizer_config_check",
    "tinkc_optim_params_check",
    "tinkc_regularizer_check",
    "tinkc_future_wait_all",       /* none to wait for */
    "tinkc_future_ref",            /* gives its argument back */
    "tinkc_trace_close",           /* nothing to close */
    "tinkc_rl_distill_advantages", /* of no tokens */
    NULL};
static const char *const fine_with_outputs[] = {
    "tinkc_config_new",
    "tinkc_queue_open",
    "tinkc_model_input_new",
    "tinkc_chat_new",
    "tinkc_rl_batch_new",
    "tinkc_meter_new",
    "tinkc_model_input_from_tokens", /* of no tokens */
    NULL};

static void try_all(const handles *g, bool outs)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const row *r = &rows[i];
        tinkc_error *error = NULL;
        verdict v = r->call(g, outs, &error);
        bool is_fine = is_among(fine_with_null, r->name) ||
                       (outs && is_among(fine_with_outputs, r->name));
        if (!is_fine && r->is != KIND_OTHER && (v.code == TINKC_OK || v.is_null)) {
            fail_msg("%s accepts NULL", r->name);
        }
        if (!is_fine && r->is == KIND_FUTURE && v.code != TINKC_E_STATE &&
            v.code != TINKC_E_INVALID) {
            fail_msg("%s: %s", r->name, tinkc_code_name(v.code));
        }
        if (!is_fine && r->is == KIND_CODE && r->has_error &&
            (tinkc_error_code(error) != v.code || tinkc_error_message(error)[0] == 0)) {
            fail_msg("%s fails without an error", r->name);
        }
        if (v.code != TINKC_OK && v.wrote) {
            fail_msg("%s fails and writes an output", r->name);
        }
        tinkc_error_free(&error);
    }
}

/* every public function with NULL for each handle returns an
 * error or a future that has failed. */
static void test_misuse_null(void **unused)
{
    static const handles none;
    try_all(&none, false);
    try_all(&none, true);
}

static void open_handles(handles *g, fakeapi *api)
{
    static const int32_t tokens[] = {1, 2, 3};
    static const int64_t shape[] = {3};
    static const char *const options[] = {
        "heartbeat", "none",        "telemetry", "false", "finish_drain",
        "0",         "max_retries", "0",         NULL};
    tinkc_model_input *input = NULL;
    memset(g, 0, sizeof(*g));
    g->service = servicefix_open(api, options);
    assert_int_equal(
        tinkc_service_create_training_wait(&g->training, g->service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&g->sampling, g->service, "m", NULL, NULL),
        TINKC_OK);
    g->future = tinkc_service_create_sampling(g->service, NULL, NULL); /* refused */
    assert_int_equal(tinkc_queue_open(&g->queue, NULL), TINKC_OK);
    g->config = servicefix_config(api, NULL);
    assert_int_equal(tinkc_model_input_from_tokens(&g->input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&g->datum, &input, NULL), TINKC_OK);
    tinkc_array array = TINKC_ARRAY_INIT;
    array.elem = TINKC_ELEM_I32;
    array.data = tokens;
    array.shape = shape;
    array.ndim = 1;
    array.dtype = TINKC_DTYPE_INT64;
    assert_int_equal(tinkc_tensor_new(&g->tensor, &array, NULL), TINKC_OK);
}

static void close_handles(handles *g)
{
    tinkc_tensor_free(&g->tensor);
    tinkc_datum_free(&g->datum);
    tinkc_model_input_free(&g->input);
    tinkc_config_free(&g->config);
    tinkc_queue_close(&g->queue);
    tinkc_future_free(&g->future);
    tinkc_sampling_close(&g->sampling);
    tinkc_training_close(&g->training);
    tinkc_service_close(&g->service);
}

/* live handles and nothing else: every call returns, and a failed one writes no
 * output. */
static void test_misuse_nothing_but_a_handle(void **unused)
{
    handles g;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    open_handles(&g, api);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        for (int outs = 0; outs < 2; outs++) {
            tinkc_error *error = NULL;
            verdict v = rows[i].call(&g, outs != 0, &error);
            if (v.is_null || (v.code != TINKC_OK && v.wrote)) {
                fail_msg("%s", rows[i].name);
            }
            if (v.code == TINKC_OK && error != NULL) {
                fail_msg("%s succeeds with an error", rows[i].name);
            }
            tinkc_error_free(&error);
        }
    }
    close_handles(&g);
    fakeapi_stop(&api);
}

/* clients of a service that was closed: an error each, and not a byte. */
static void test_misuse_closed(void **unused)
{
    handles g;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    open_handles(&g, api);
    tinkc_service_close(&g.service);
    assert_null(g.service);
    size_t before = fakeapi_total(api);
    size_t tried = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (!rows[i].of_client || rows[i].is == KIND_OTHER) {
            continue;
        }
        tinkc_error *error = NULL;
        verdict v = rows[i].call(&g, true, &error);
        if (v.code == TINKC_OK || v.is_null || v.wrote) {
            fail_msg("%s works after the close", rows[i].name);
        }
        if (rows[i].has_error && tinkc_error_message(error)[0] == '\0') {
            fail_msg("%s says nothing", rows[i].name);
        }
        tinkc_error_free(&error);
        tried++;
    }
    assert_true(tried > 20);
    assert_int_equal(fakeapi_total(api), before);
    close_handles(&g);
    fakeapi_stop(&api);
}

/* ---- inside a callback ---- */

typedef struct inside {
    handles g;
    tinkc_future *silent; /* never done */
    atomic_bool ran;
} inside;

/* A wait here would stop the thread that it waits for. */
static void call_all(tinkc_future *future, void *user)
{
    inside *in = user;
    size_t index = 0;
    tinkc_future *futures[] = {in->silent}, *taken = NULL;
    assert_int_equal(tinkc_future_wait(in->silent, 0), TINKC_E_TIMEOUT);
    assert_int_equal(tinkc_future_wait(in->silent, TINKC_FOREVER), TINKC_E_STATE);
    assert_int_equal(tinkc_future_wait_all(futures, 1, TINKC_FOREVER), TINKC_E_STATE);
    assert_int_equal(tinkc_future_wait_any(&index, futures, 1, TINKC_FOREVER),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_queue_take(&taken, NULL, in->g.queue, TINKC_FOREVER, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_service_health_wait(in->g.service, NULL), TINKC_E_STATE);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_error *error = NULL;
        (void)rows[i].call(&in->g, true, &error);
        tinkc_error_free(&error);
    }
    atomic_store(&in->ran, true);
}

/* Every function returns there, although the server answers nothing any more. */
static void test_misuse_inside(void **unused)
{
    static inside in;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    open_handles(&in.g, api);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", "/api/v1/get_server_capabilities",
                    &(fakeapi_step){.body = "{}", .gate = gate});
    in.silent = tinkc_service_health(in.g.service);
    assert_int_equal(tinkc_future_wait(in.silent, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&in.silent);
    fakeapi_default(api, "*", "*", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    in.silent = tinkc_service_health(in.g.service);
    assert_int_equal(tinkc_queue_add(in.g.queue, in.silent, NULL, NULL), TINKC_OK);
    tinkc_future *trigger = tinkc_service_capabilities(in.g.service);
    assert_int_equal(tinkc_future_on_done(trigger, call_all, &in, NULL), TINKC_OK);
    fakeapi_gate_open(gate);
    assert_int_not_equal(tinkc_future_wait(trigger, TINKC_FOREVER), TINKC_E_TIMEOUT);
    while (!atomic_load(&in.ran)) {
        sched_yield();
    }
    tinkc_future_free(&trigger);
    tinkc_future_free(&in.silent);
    close_handles(&in.g);
    fakeapi_stop(&api);
}

typedef struct closer {
    tinkc_service *service; /* a copy of the caller's */
    atomic_int calls;
} closer;

static void close_here(tinkc_future *future, void *user)
{
    closer *c = user;
    tinkc_service *copy = c->service;
    tinkc_service_close(&copy);
    assert_ptr_equal(copy, c->service); /* refused: it stays as it is */
    atomic_fetch_add(&c->calls, 1);
}

/* Refused on the loop's thread, and on the thread that closes, where the callbacks of
 * cancelled operations run: the handle is freed once. */
static void test_misuse_close_inside(void **unused)
{
    static const char *const options[] = {"heartbeat", "none", "telemetry", "false",
                                          NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    closer c = {.service = servicefix_open(api, options)};
    tinkc_service *service = c.service;
    tinkc_future *quick = tinkc_service_capabilities(service);
    assert_int_equal(tinkc_future_on_done(quick, close_here, &c, NULL), TINKC_OK);
    (void)tinkc_future_wait(quick, TINKC_FOREVER);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    fakeapi_default(api, "*", "*", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    tinkc_future *silent = tinkc_service_health(service);
    assert_int_equal(tinkc_future_on_done(silent, close_here, &c, NULL), TINKC_OK);
    tinkc_service_close(&service);
    assert_int_equal(tinkc_future_wait(silent, 0), TINKC_E_CANCELLED);
    assert_int_equal(atomic_load(&c.calls), 2);
    tinkc_future_free(&quick);
    tinkc_future_free(&silent);
    fakeapi_stop(&api);
}

int main(void)
{
    static const char *const variables[] = {"TINKER_API_KEY", "TINKER_CREDENTIAL_CMD",
                                            "TINKER_BASE_URL"};
    for (size_t i = 0; i < TK_ARRAY_LEN(variables); i++) {
        (void)unsetenv(variables[i]);
    }
    (void)setenv("HF_HUB_OFFLINE", "1", 1); /* a test sends nothing to the network */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misuse_null),
        cmocka_unit_test(test_misuse_nothing_but_a_handle),
        cmocka_unit_test(test_misuse_closed),
        cmocka_unit_test(test_misuse_inside),
        cmocka_unit_test(test_misuse_close_inside),
    };
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
