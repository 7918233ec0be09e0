/* The stream of changes: order, resume, many readers, and one that does not read. */
#include <stdlib.h>

#include "confix.h"

#define ACCEPT "Accept: text/event-stream\r\n"

static const con_data nothing = {.kind = "serve"};

typedef struct reader {
    httpget *connection;
    char text[1 << 16];
    size_t n;
    size_t left; /* of a chunk */
    bool is_body;
} reader;

static void open_reader(confix *it, reader *one, const char *headers)
{
    char lines[256];
    (void)snprintf(lines, sizeof(lines), ACCEPT "%s", headers != NULL ? headers : "");
    const httpget_request request = {.target = CON_API "events", .headers = lines};
    *one = (reader){.connection = httpget_connect(it->port)};
    assert_non_null(one->connection);
    assert_true(httpget_ask(one->connection, &request));
    assert_int_equal(httpget_status(one->connection), 200);
}

/* Reads until the text has come; every wait has an end (httpget.h). */
static void wait_for(reader *one, const char *text)
{
    while (strstr(one->text, text) == NULL) {
        char byte = 0;
        assert_true(one->n + 1 < sizeof(one->text));
        if (!httpget_byte(one->connection, &byte)) {
            fail_msg("no %s in %s", text, one->text);
        }
        one->text[one->n++] = byte;
    }
}

static void close_reader(reader *one)
{
    httpget_close(&one->connection);
}

static void note(confix *it, int64_t step)
{
    const con_value metrics[] = {{TK_STR("loss"), 1.5}, {TK_STR("\xFF"), 1.0}};
    const con_step at = {TK_STR("r<\"\n"), step, 10, 20, metrics, 2};
    con_note_step(it->console, &at);
}

static void test_con_events_come_in_order(void **state)
{
    (void)state;
    confix it;
    reader one;
    confix_open(&it, &nothing, NULL);
    assert_int_equal(confix_status(&it, NULL, CON_API "events", NULL, NULL), 406);
    open_reader(&it, &one, NULL);
    wait_for(&one, "event: hello\ndata: {\"version\":");
    note(&it, 1);
    con_note_run(it.console, TK_STR("r"), CON_ENDED);
    con_note_samples(it.console, 5, 2, (tk_str){NULL, 0}, TK_STR("m"));
    con_note_episode(it.console, TK_STR("task-1"));
    wait_for(&one, "event: step\ndata: {\"run\":\"r<\\\"\\n\",\"step\":1,\"time_ms\":10,"
                   "\"tokens\":20,\"metrics\":{\"loss\":1.5}}\n\n");
    wait_for(&one, "event: run\ndata: {\"run\":\"r\",\"state\":\"ended\"}\n\n");
    wait_for(&one,
             "event: sample\ndata: {\"id\":5,\"n\":2,\"run\":null,\"model\":\"m\"}\n\n");
    wait_for(&one, "event: episode\ndata: {\"id\":\"task-1\"}\n\n");
    close_reader(&one);
    confix_close(&it);
}

/* Copies "Last-Event-ID: X" of the last id in a text. */
static void last_id(char *out, size_t size, const char *text)
{
    const char *at = NULL, *next = text;
    while ((next = strstr(next, "id: ")) != NULL) {
        at = next + 4;
        next = at;
    }
    assert_non_null(at);
    (void)snprintf(out, size, "Last-Event-ID: %.*s\r\n", (int)strcspn(at, "\n"), at);
}

static void test_con_events_resume(void **state)
{
    (void)state;
    confix it;
    reader one, two;
    char header[128];
    confix_open(&it, &nothing, NULL);
    open_reader(&it, &one, NULL);
    note(&it, 1);
    wait_for(&one, "\"step\":1,");
    wait_for(&one, "}}\n\n");
    close_reader(&one);
    last_id(header, sizeof(header), one.text);
    note(&it, 2);
    note(&it, 3);
    open_reader(&it, &two, header);
    wait_for(&two, "\"step\":3,");
    assert_null(strstr(two.text, "hello"));
    assert_null(strstr(two.text, "reset"));
    assert_null(strstr(two.text, "\"step\":1,"));
    assert_non_null(strstr(two.text, "\"step\":2,"));
    close_reader(&two);
    static const char *const unknown[] = {"Last-Event-ID: 0000000000000000-1\r\n",
                                          "Last-Event-ID: x\r\n", "Last-Event-ID: -\r\n",
                                          "Last-Event-ID: 1-99999999999999999999\r\n"};
    for (size_t i = 0; i < TK_ARRAY_LEN(unknown); i++) {
        open_reader(&it, &one, unknown[i]);
        wait_for(&one, "event: reset\ndata: {}\n\n");
        close_reader(&one);
    }
    confix_close(&it);
}

/* What the ring does not hold any more cannot be resumed. */
static void test_con_events_old_ids_reset(void **state)
{
    (void)state;
    confix it;
    reader one;
    char header[128];
    confix_open(&it, &nothing, NULL);
    open_reader(&it, &one, NULL);
    wait_for(&one, "hello");
    wait_for(&one, "\n\n");
    wait_for(&one, "}\n\n");
    close_reader(&one);
    last_id(header, sizeof(header), one.text);
    for (int64_t i = 1; i <= 4096; i++) {
        note(&it, i);
    }
    open_reader(&it, &one, header); /* all of them are there */
    wait_for(&one, "\"step\":1,");
    assert_null(strstr(one.text, "reset"));
    close_reader(&one);
    note(&it, 4097);
    open_reader(&it, &one, header);
    wait_for(&one, "event: reset\n");
    close_reader(&one);
    confix_close(&it);
}

static void test_con_events_many_readers(void **state)
{
    (void)state;
    static reader all[50];
    confix it;
    confix_open(&it, &nothing, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        open_reader(&it, &all[i], NULL);
    }
    note(&it, 7);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        wait_for(&all[i], "\"step\":7,");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i += 2) {
        close_reader(&all[i]);
    }
    note(&it, 8);
    for (size_t i = 1; i < TK_ARRAY_LEN(all); i += 2) {
        wait_for(&all[i], "\"step\":8,");
        close_reader(&all[i]);
    }
    confix_close(&it);
}

/* ---- fifty consoles ---- */

static char raw_byte(reader *one)
{
    char byte = 0;
    if (!httpget_byte(one->connection, &byte)) {
        fail_msg("the stream ended after %s", one->text);
    }
    return byte;
}

static void skip_head(reader *one)
{
    for (size_t seen = 0; seen < 4;) {
        char byte = raw_byte(one);
        seen = byte == "\r\n\r\n"[seen] ? seen + 1 : byte == '\r';
    }
    one->is_body = true;
}

/* Reads one byte of the stream without the marks of the chunks. */
static void read_byte(reader *one)
{
    if (!one->is_body) {
        skip_head(one);
    }
    while (one->left == 0) {
        char line[16];
        size_t n = 0;
        for (char byte; (byte = raw_byte(one)) != '\n';) {
            assert_true(n + 1 < sizeof(line));
            line[n++] = byte;
        }
        line[n] = '\0';
        one->left = strtoul(line, NULL, 16); /* 0 for the empty line after a chunk */
    }
    assert_true(one->n + 1 < sizeof(one->text));
    one->text[one->n++] = raw_byte(one);
    one->left--;
}

/* Reads up to the end of the event of a step. */
static void read_step(reader *one, int64_t step)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "\"step\":%d,", (int)step);
    while (strstr(one->text, text) == NULL ||
           strcmp(one->text + one->n - 2, "\n\n") != 0) {
        read_byte(one);
    }
}

/* Leaves after what was read, and comes back with its last id. */
static void come_back(confix *it, reader *one)
{
    static reader before;
    char header[128];
    before = *one;
    last_id(header, sizeof(header), one->text);
    close_reader(one);
    open_reader(it, one, header);
    memcpy(one->text, before.text, before.n);
    one->n = before.n;
}

/* Each step after `first` is there once, in order. */
static void check_steps(const reader *one, int64_t first, int64_t last)
{
    int64_t step = first;
    for (const char *at = one->text; (at = strstr(at, "\"step\":")) != NULL; at++) {
        step++;
        if (strtoll(at + 7, NULL, 10) != step) {
            fail_msg("%.20s in the place of step %d", at, (int)step);
        }
    }
    assert_int_equal(step, last);
    assert_null(strstr(one->text, "event: reset"));
}

/* Fifty consoles, opened while steps come: each gets every event after its beginning once and
 * in order; every third one leaves and comes back in the middle. */
static void test_con_events_fifty_consoles(void **state)
{
    (void)state;
    static reader all[50];
    const int64_t n = (int64_t)TK_ARRAY_LEN(all);
    confix it;
    confix_open(&it, &nothing, NULL);
    for (int64_t i = 0; i < n; i++) {
        open_reader(&it, &all[i], NULL);
        note(&it, i + 1);
    }
    for (int64_t i = 0; i < n; i += 3) {
        read_step(&all[i], TK_MIN(i + 1 + i % 7, n));
    }
    for (int64_t i = 0; i < n; i++) {
        note(&it, n + i + 1);
        if (i % 3 == 0) {
            come_back(&it, &all[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        read_step(&all[i], 2 * n);
        check_steps(&all[i], i, 2 * n);
        close_reader(&all[i]);
    }
    confix_close(&it);
}

static void test_con_events_bound_the_readers(void **state)
{
    (void)state;
    static reader all[256];
    confix it;
    confix_open(&it, &nothing, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        open_reader(&it, &all[i], NULL);
    }
    assert_int_equal(confix_status(&it, NULL, CON_API "events", ACCEPT, NULL), 429);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        close_reader(&all[i]);
    }
    confix_close(&it);
}

/* A reader that takes nothing is let go, and what waits for it is bounded; the others and
 * who notes the changes do not wait. */
static void test_con_events_slow_reader(void **state)
{
    (void)state;
    static char long_name[8000];
    confix it;
    reader slow, quick;
    confix_open(&it, &nothing, NULL);
    memset(long_name, 'x', sizeof(long_name));
    open_reader(&it, &slow, NULL);
    for (int64_t i = 0; i < 20000 && atomic_load(&it.memory.used) < TK_GIB; i++) {
        con_note_episode(it.console, (tk_str){long_name, sizeof(long_name)});
        assert_true(atomic_load(&it.memory.used) < 32 * TK_MIB);
    }
    open_reader(&it, &quick, NULL);
    note(&it, 9);
    wait_for(&quick, "\"step\":9,");
    close_reader(&quick);
    close_reader(&slow);
    confix_close(&it);
}

/* An event that cannot be described: readers start again. */
static void test_con_events_too_long(void **state)
{
    (void)state;
    static char name[100000];
    confix it;
    reader one;
    char header[128];
    confix_open(&it, &nothing, NULL);
    open_reader(&it, &one, NULL);
    wait_for(&one, "}\n\n");
    last_id(header, sizeof(header), one.text);
    memset(name, 'x', sizeof(name));
    con_note_episode(it.console, (tk_str){name, sizeof(name)});
    wait_for(&one, "\r\n0\r\n\r\n"); /* the last chunk */
    close_reader(&one);
    open_reader(&it, &one, header);
    wait_for(&one, "event: reset\n");
    close_reader(&one);
    confix_close(&it);
}

/* Streams that are open do not hold up the stop. */
static void test_con_events_end_with_the_server(void **state)
{
    (void)state;
    confix it;
    reader one;
    confix_open(&it, &nothing, NULL);
    open_reader(&it, &one, NULL);
    wait_for(&one, "hello");
    con_quiesce(it.console);
    assert_int_equal(confix_status(&it, NULL, CON_API "events", ACCEPT, NULL), 503);
    confix_close(&it);
    close_reader(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_con_events_come_in_order),
        cmocka_unit_test(test_con_events_resume),
        cmocka_unit_test(test_con_events_old_ids_reset),
        cmocka_unit_test(test_con_events_many_readers),
        cmocka_unit_test(test_con_events_fifty_consoles),
        cmocka_unit_test(test_con_events_bound_the_readers),
        cmocka_unit_test(test_con_events_slow_reader),
        cmocka_unit_test(test_con_events_too_long),
        cmocka_unit_test(test_con_events_end_with_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
