/* Answers that are far larger than what they are for, most of them small on the wire: each
 * kind of endpoint refuses them with TINKC_E_LIMIT, counted after decompression, and the
 * client stays below 64 MiB, also where a hostile list is parsed. Honest lists of the same
 * size are read.
 * Links: peer */
#include <stdlib.h>

#include <tinkc/rest.h>
#include <tinkc/training.h>

#include "base/buf.h"
#include "base/limits.h"
#include "client/call/endpoint.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define BOMB_BYTES (200 * TK_MIB)
#ifdef TINKC_SANITIZED /* every object of an arena has a header of its own (base/arena.h) */
#define MEMORY_BYTES (128 * TK_MIB)
#else
#define MEMORY_BYTES (64 * TK_MIB) /* of the client, at any time */
#endif

/* ---- a bomb ---- */

typedef struct bits {
    unsigned char *p;
    size_t n;
    unsigned held, held_n;
} bits;

static void put_bit(bits *b, unsigned bit)
{
    b->held |= bit << b->held_n++;
    if (b->held_n == 8) {
        b->p[b->n++] = (unsigned char)b->held;
        b->held = b->held_n = 0;
    }
}

/* Huffman codes begin with their highest bit. */
static void put_code(bits *b, unsigned code, unsigned n)
{
    while (n-- > 0) {
        put_bit(b, code >> n & 1);
    }
}

/* gzip of `size` times the same byte: one literal, then copies of 258 bytes from one byte
 * back, with the fixed codes of deflate. Without the checksum: nothing reads that far. */
static bits make_bomb(unsigned literal_code, size_t size)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    bits b = {.p = malloc(sizeof(head) + size / 258 * 2 + 64)};
    assert_non_null(b.p);
    memcpy(b.p, head, sizeof(head));
    b.n = sizeof(head);
    put_bit(&b, 1); /* the last block, */
    put_bit(&b, 1); /* fixed codes */
    put_bit(&b, 0);
    put_code(&b, literal_code, 8);
    for (size_t i = 0; i < size / 258; i++) {
        put_code(&b, 0xc5, 8); /* length 258 */
        put_code(&b, 0, 5);    /* distance 1 */
    }
    put_code(&b, 0, 7); /* the end */
    while (b.held_n != 0) {
        put_bit(&b, 0);
    }
    return b;
}

/* ---- the endpoints ---- */

static tinkc_service *open_service(fakeapi *api, const char *max_report_bytes)
{
    const char *options[] = {"heartbeat",
                             "none",
                             "telemetry",
                             "false",
                             "max_retries",
                             "0",
                             "retry_total",
                             "0",
                             max_report_bytes != NULL ? "max_report_bytes" : NULL,
                             max_report_bytes,
                             NULL};
    return servicefix_open(api, options);
}

static tinkc_future *ask_health(tinkc_service *s)
{
    return tinkc_service_health(s);
}

static tinkc_future *ask_training(tinkc_service *s)
{
    return tinkc_service_create_training(s, "m", NULL);
}

static tinkc_future *ask_runs(tinkc_service *s)
{
    return tinkc_rest_list_runs(s, NULL);
}

static const struct {
    const char *path;
    int status;
    tinkc_future *(*ask)(tinkc_service *service);
    bool is_list; /* may be larger */
} rows[] = {
    {"/api/v1/client/config", 200, ask_health, false},
    {"/api/v1/healthz", 200, ask_health, false},
    {"/api/v1/healthz", 404, ask_health, false},
    {"/api/v1/create_session", 200, ask_training, false},
    {"/api/v1/create_model", 200, ask_training, false},
    {"/api/v1/retrieve_future", 200, ask_training, true},
    {"/api/v1/retrieve_future", 404, ask_training, false},
    {"/api/v1/training_runs*", 200, ask_runs, true},
    {"/api/v1/training_runs*", 404, ask_runs, false},
};

static void try_body(const char *body, size_t n, const char *headers)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        failmem_start();
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_default(api, "*", rows[i].path,
                        &(fakeapi_step){.status = rows[i].status,
                                        .content_type = "application/json",
                                        .headers = headers,
                                        .body = body,
                                        .body_n = n});
        tinkc_service *service = open_service(api, NULL);
        tinkc_future *future = rows[i].ask(service);
        tinkc_code code = tinkc_future_wait(future, TINKC_FOREVER);
        bool is_parsed = rows[i].is_list && n < TK_ANSWER_LIST_BYTES && headers == NULL;
        if (code != TINKC_E_LIMIT && !(is_parsed && code == TINKC_E_DECODE)) {
            fail_msg("%s, %d: %s", rows[i].path, rows[i].status, tinkc_code_name(code));
        }
        tinkc_future_free(&future);
        tinkc_service_close(&service);
        fakeapi_stop(&api);
        assert_in_range(failmem_peak_bytes(), 1, MEMORY_BYTES);
        assert_int_equal(failmem_stop(), 0);
    }
}

/* M-031: a packed answer that would grow without limit is an error. */
static void test_bomb_gzip(void **unused)
{
    bits bomb = make_bomb(0x50, BOMB_BYTES); /* spaces: an endless JSON text */
    try_body((const char *)bomb.p, bomb.n, "Content-Encoding: gzip\r\n");
    free(bomb.p);
}

/* As large as a list may be, and made of the smallest values, which need the most memory
 * when they are parsed. */
static void try_values(const char *before, const char *value, const char *after)
{
    tk_buf text;
    tk_buf_init(&text, TK_ANSWER_LIST_BYTES);
    tk_buf_puts(&text, before);
    while (text.n + strlen(value) + strlen(after) < TK_ANSWER_LIST_BYTES) {
        tk_buf_puts(&text, value);
    }
    text.n--; /* the last comma */
    tk_buf_puts(&text, after);
    assert_int_equal(tk_buf_status(&text, NULL), TINKC_OK);
    try_body(text.p, text.n, NULL);
    tk_buf_dispose(&text);
}

static void test_bomb_parsed(void **unused)
{
    try_values("[", "[],", "]");
    try_values("{\"training_runs\":[", "{},", "]}");
    try_values("{\"metrics\":[", "\"\",", "]}");
}

/* ---- honest lists ---- */

#define A_CHECKPOINT                                                                     \
    "{\"checkpoint_id\":\"weights/0001\",\"checkpoint_type\":\"training\","              \
    "\"time\":\"2026-01-02T03:04:05Z\",\"tinker_path\":\"tinker://a/weights/0001\"}"
#define A_RUN                                                                            \
    "{\"training_run_id\":\"00000000-0000-4000-8000-000000000001:train:0\","             \
    "\"base_model\":\"b\",\"model_owner\":\"o\",\"is_lora\":true,\"corrupted\":false,"   \
    "\"last_request_time\":\"2026-01-02T03:04:05Z\"}"

static tinkc_future *ask_checkpoints(tinkc_service *s)
{
    return tinkc_rest_list_user_checkpoints(s, NULL);
}

static tinkc_future *ask_sessions(tinkc_service *s)
{
    return tinkc_rest_list_sessions(s, NULL);
}

static tinkc_future *ask_capabilities(tinkc_service *s)
{
    return tinkc_service_capabilities(s);
}

static tinkc_future *ask_audit(tinkc_service *s)
{
    return tinkc_rest_audit(s, TINKC_AUDIT_ALL, "2026-07-13");
}

static tinkc_future *ask_billing(tinkc_service *s)
{
    return tinkc_rest_billing(s, 0, INT64_C(3600) * 1000000);
}

static const struct {
    const char *path, *before, *item, *after;
    tinkc_future *(*ask)(tinkc_service *service);
    size_t bytes;        /* of the list */
    const char *allowed; /* option max_report_bytes; NULL = its default */
} lists[] = {
    {"/api/v1/training_runs*", "{\"training_runs\":[", A_RUN,
     "],\"cursor\":{\"offset\":0,\"limit\":20,\"total_count\":41}}", ask_runs,
     TK_ANSWER_LIST_BYTES, NULL},
    {"/api/v1/checkpoints*", "{\"checkpoints\":[", A_CHECKPOINT, "]}", ask_checkpoints,
     TK_ANSWER_LIST_BYTES, NULL},
    {"/api/v1/sessions*", "{\"sessions\":[", "\"00000000-0000-4000-8000-000000000001\"",
     "]}", ask_sessions, TK_ANSWER_LIST_BYTES, NULL},
    {"/api/v1/get_server_capabilities", "{\"supported_models\":[",
     "{\"model_name\":\"a/b\",\"max_context_length\":32768}", "]}", ask_capabilities,
     TK_ANSWER_LIST_BYTES, NULL},
    {"/api/v1/audit*", "{\"entries\":[",
     "{\"timestamp\":\"2026-01-02T03:04:05Z\",\"event\":\"e\",\"model_id\":\"m\"}", "]}",
     ask_audit, TK_ANSWER_REPORT_BYTES, NULL},
    {"/api/v1/billing*", "{\"data\":[",
     "{\"bucket_start\":\"2026-01-02T03:04:05Z\",\"bucket_end\":\"2026-01-02T04:04:05Z\","
     "\"event_info\":{\"type\":\"training\",\"token_count\":10}}",
     "]}", ask_billing, TK_ANSWER_REPORT_BYTES, NULL},
    {"/api/v1/audit*", "{\"entries\":[",
     "{\"timestamp\":\"2026-01-02T03:04:05Z\",\"event\":\"e\",\"model_id\":\"m\"}", "]}",
     ask_audit, 2 * TK_ANSWER_REPORT_BYTES, "67108864"},
};

/* A list that is as long as it may be is read, and so takes no more memory than the ratio
 * allows. */
static void test_bomb_honest_lists(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(lists); i++) {
        size_t item_n = strlen(lists[i].item);
        size_t n = lists[i].bytes / (item_n + 1) - 2;
        tk_buf text;
        tk_buf_init(&text, lists[i].bytes);
        tk_buf_puts(&text, lists[i].before);
        for (size_t j = 0; j < n; j++) {
            tk_buf_puts(&text, j > 0 ? "," : "");
            tk_buf_put(&text, lists[i].item, item_n);
        }
        tk_buf_puts(&text, lists[i].after);
        assert_int_equal(tk_buf_status(&text, NULL), TINKC_OK);
        failmem_start();
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_default(api, "*", lists[i].path,
                        &(fakeapi_step){.body = text.p, .body_n = text.n});
        tinkc_service *service = open_service(api, lists[i].allowed);
        tinkc_future *future = lists[i].ask(service);
        tinkc_code code = tinkc_future_wait(future, TINKC_FOREVER);
        tinkc_future_free(&future);
        tinkc_service_close(&service);
        fakeapi_stop(&api);
        print_message("%s: %zu bytes, %.1f times that in memory\n", lists[i].path, text.n,
                      (double)failmem_peak_bytes() / (double)text.n - 1);
        assert_int_equal(failmem_stop(), 0);
        assert_int_equal(code, TINKC_OK);
        tk_buf_dispose(&text);
    }
}

/* Every row of the table has a limit, and only results have the configured one. */
static void test_bomb_table(void **unused)
{
    for (int id = 0; id < TK_EP_COUNT; id++) {
        size_t most = tk_endpoint_at((tk_endpoint_id)id)->answer_bytes;
        assert_int_not_equal(most, 0);
        assert_true(most <= TK_ANSWER_REPORT_BYTES || id == TK_EP_RETRIEVE_FUTURE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bomb_gzip),
        cmocka_unit_test(test_bomb_parsed),
        cmocka_unit_test(test_bomb_honest_lists),
        cmocka_unit_test(test_bomb_table),
    };
    return cmocka_run_group_tests_name("bomb", tests, NULL, NULL);
}
