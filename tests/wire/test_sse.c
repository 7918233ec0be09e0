/* Server-sent events: the same events wherever the bytes are split. */
#include "support/failmem.h"
#include "support/test.h"
#include "wire/sse.h"

#define TEXT_BYTES 1024

/* Events as one text: "type|data|id;". */
typedef struct log {
    char text[TEXT_BYTES];
    size_t n;
    size_t events, most;
} log;

static void put(log *l, tk_str part, char end)
{
    assert_true(l->n + part.n + 2 < TEXT_BYTES);
    if (part.n > 0) {
        memcpy(l->text + l->n, part.p, part.n);
    }
    l->n += part.n;
    l->text[l->n++] = end;
    l->text[l->n] = '\0';
}

static bool note(void *user, const tk_sse_event *event)
{
    log *l = user;
    put(l, event->type, '|');
    put(l, event->data, '|');
    put(l, event->id, ';');
    l->events++;
    return l->most == 0 || l->events < l->most;
}

typedef struct fixture {
    const char *input;
    size_t n; /* 0: strlen */
    const char *events;
} fixture;

static const fixture fixtures[] = {
    {"data: a\n\n", 0, "|a|;"},
    {"data: a\r\n\r\n", 0, "|a|;"},
    {"data: a\r\r", 0, "|a|;"},
    {"data: a\r\n\ndata: b\r\r\n", 0, "|a|;|b|;"},
    {"data:a\n\ndata:  b\n\ndata\n\n", 0, "|a|;| b|;||;"},
    {"data: a\ndata: b\ndata:\n\n", 0, "|a\nb\n|;"},
    {"event: x\r\ndata: a\r\nid: 1\r\ndata: b\r\n\r\n: c\r\ndata: d\r\n\r\n", 0,
     "x|a\nb|1;|d|1;"},
    {"event: x\rdata: a\rid: 1\rdata: b\r\rdata: d\r\r", 0, "x|a\nb|1;|d|1;"},
    {": comment\ndata: a\n:\n\n: only a comment\n\n", 0, "|a|;"},
    {"event: x\ndata: a\n\ndata: b\n\n", 0, "x|a|;|b|;"},
    {"event: x\n\ndata: b\n\n", 0, "|b|;"},
    {"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", 0, "|a|1;|b|1;|c|;"},
    {"id: a\0b\ndata: x\n\n", 17, "|x|;"},
    {"retry: 12\ndata: a\n\nother: x\nnonsense\ndata: b\n\n", 0, "|a|;|b|;"},
    {"\xEF\xBB\xBF"
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     0, "|a|;"},
    {"data: h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80\n\n", 0,
     "|h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80|;"},
    {"data: {\"token\":\"\xE6\x97\xA5\",\"token_id\":7}\n\ndata: {\"finish_reason\":"
     "\"stop\"}\n\n",
     0, "|{\"token\":\"\xE6\x97\xA5\",\"token_id\":7}|;|{\"finish_reason\":\"stop\"}|;"},
    {"data: not whole\n", 0, ""},
    {"data: not whole", 0, ""},
    {"\n\n\r\r\n\n", 0, ""},
};

static size_t length_of(const fixture *f)
{
    return f->n != 0 ? f->n : strlen(f->input);
}

/* M-037: every fixture, split at each byte, and byte by byte. */
static void test_sse_split_anywhere(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(fixtures); i++) {
        const fixture *f = &fixtures[i];
        size_t n = length_of(f);
        for (size_t at = 0; at <= n; at++) {
            log l = {0};
            tk_sse sse;
            tk_sse_init(&sse, 4096);
            assert_int_equal(tk_sse_feed(&sse, f->input, at, note, &l, NULL), TINKC_OK);
            assert_int_equal(tk_sse_feed(&sse, f->input + at, n - at, note, &l, NULL),
                             TINKC_OK);
            assert_string_equal(l.text, f->events);
            tk_sse_dispose(&sse);
        }
        log l = {0};
        tk_sse sse;
        tk_sse_init(&sse, 4096);
        for (size_t at = 0; at < n; at++) {
            assert_int_equal(tk_sse_feed(&sse, f->input + at, 1, note, &l, NULL),
                             TINKC_OK);
        }
        assert_string_equal(l.text, f->events);
        tk_sse_dispose(&sse);
    }
}

/* an event is there with the last byte of its blank line, not later. */
static void test_sse_at_once(void **unused)
{
    static const char *const inputs[] = {"data: a\n\n", "data: a\r\r", "data: a\r\n\r"};
    for (size_t i = 0; i < TK_ARRAY_LEN(inputs); i++) {
        log l = {0};
        tk_sse sse;
        tk_sse_init(&sse, 4096);
        assert_int_equal(
            tk_sse_feed(&sse, inputs[i], strlen(inputs[i]) - 1, note, &l, NULL),
            TINKC_OK);
        assert_int_equal(l.events, 0);
        assert_int_equal(
            tk_sse_feed(&sse, inputs[i] + strlen(inputs[i]) - 1, 1, note, &l, NULL),
            TINKC_OK);
        assert_int_equal(l.events, 1);
        tk_sse_dispose(&sse);
    }
}

/* lines and events have a limit. */
static void test_sse_limits(void **unused)
{
    static const char part[] = "data: 0123456789\n";
    log l = {0};
    tk_sse sse;
    tk_err err = TK_ERR_INIT;
    tk_sse_init(&sse, 64);
    for (int i = 0; i < 20 && err.code == TINKC_OK; i++) {
        (void)!tk_sse_feed(&sse, "xxxxxxxxxx", 10, note, &l, &err);
    }
    assert_int_equal(err.code, TINKC_E_LIMIT);
    tk_sse_dispose(&sse);
    tk_err_clear(&err);
    tk_sse_init(&sse, 64);
    for (int i = 0; i < 20 && err.code == TINKC_OK; i++) {
        (void)!tk_sse_feed(&sse, part, sizeof(part) - 1, note, &l, &err);
    }
    assert_int_equal(err.code, TINKC_E_LIMIT);
    tk_sse_dispose(&sse);
    assert_int_equal(l.events, 0);
}

/* the reader stops it. */
static void test_sse_stop(void **unused)
{
    log l = {.most = 2};
    tk_sse sse;
    tk_sse_init(&sse, 64);
    assert_int_equal(
        tk_sse_feed(&sse, "data:1\n\ndata:2\n\ndata:3\n\n", 24, note, &l, NULL),
        TINKC_E_CANCELLED);
    assert_int_equal(l.events, 2);
    tk_sse_dispose(&sse);
}

static void test_sse_retry(void **unused)
{
    log l = {0};
    tk_sse sse;
    tk_sse_init(&sse, 64);
    assert_int_equal(sse.retry_ms, -1);
    assert_int_equal(
        tk_sse_feed(&sse, "retry: 1x\nretry: -1\nretry: 25\n", 30, note, &l, NULL),
        TINKC_OK);
    assert_int_equal(sse.retry_ms, 25);
    tk_sse_dispose(&sse);
}

static bool sweep_once(void *user)
{
    static const char input[] = "event: x\nid: 1\ndata: a\n\ndata: b\n\n";
    log *l = user;
    tk_sse sse;
    *l = (log){0};
    tk_sse_init(&sse, 4096);
    bool ok = tk_sse_feed(&sse, input, sizeof(input) - 1, note, l, NULL) == TINKC_OK;
    tk_sse_dispose(&sse);
    return ok && l->events == 2;
}

static void test_sse_allocation_sweep(void **unused)
{
    log l;
    assert_true(failmem_sweep(sweep_once, &l, 1) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sse_split_anywhere),
        cmocka_unit_test(test_sse_at_once),
        cmocka_unit_test(test_sse_limits),
        cmocka_unit_test(test_sse_stop),
        cmocka_unit_test(test_sse_retry),
        cmocka_unit_test(test_sse_allocation_sweep),
    };
    return cmocka_run_group_tests_name("wire/sse", tests, NULL, NULL);
}
