/* Bodies that are made while they are sent, without a connection. */
#include "base/limits.h"
#include "httpd/hd_stream.h"
#include "support/test.h"

static void note_wait(void *user)
{
    bool *waits = user;
    *waits = true;
}

/* Takes n bytes, in pieces as the HTTP thread does. */
static void take(hd_stream *stream, size_t n)
{
    char piece[4096];
    bool waits = false;
    while (n > 0) {
        long got =
            hd_stream_take(stream, piece, TK_MIN(n, sizeof(piece)), note_wait, &waits);
        assert_true(got > 0);
        n -= (size_t)got;
    }
}

static hd_budget memory;

/* What was sent makes room, also when the reader never catches up. */
static void test_hd_stream_forgets_what_was_sent(void **state)
{
    static char bytes[TK_HD_STREAM_BYTES / 4];
    const tk_str quarter = {bytes, sizeof(bytes)};
    hd_stream *stream = hd_stream_new(&memory);
    assert_non_null(stream);
    memset(bytes, 'x', sizeof(bytes));
    assert_true(hd_stream_put(stream, quarter));
    for (int i = 0; i < 12; i++) {
        assert_true(hd_stream_put(stream, quarter));
        take(stream, sizeof(bytes));
    }
    /* A reader that takes nothing loses its stream. */
    for (int i = 0; i < 3; i++) {
        assert_true(hd_stream_put(stream, quarter));
    }
    assert_false(hd_stream_put(stream, quarter));
    hd_stream_leave(stream);
    hd_stream_release(stream);
}

/* What there is said to be room for can be appended, wherever the reader is. */
static void test_hd_stream_keeps_its_word(void **state)
{
    static char bytes[TK_HD_STREAM_BYTES];
    memset(bytes, 'x', sizeof(bytes));
    for (size_t taken = 0; taken <= TK_HD_STREAM_BYTES; taken += TK_HD_STREAM_BYTES / 8) {
        hd_stream *stream = hd_stream_new(&memory);
        assert_non_null(stream);
        assert_int_equal(hd_stream_room(stream), sizeof(bytes));
        assert_true(hd_stream_put(stream, (tk_str){bytes, sizeof(bytes)}));
        assert_int_equal(hd_stream_room(stream), 0);
        take(stream, taken);
        size_t room = hd_stream_room(stream);
        assert_true(room <= taken);
        assert_true(room > 0 || taken < sizeof(bytes) / 2); /* half of it is enough */
        assert_true(hd_stream_put(stream, (tk_str){bytes, room}));
        /* Nobody has to ask: what was sent makes room. */
        assert_true(hd_stream_put(stream, (tk_str){bytes, taken - room}));
        assert_true(taken == 0 || !hd_stream_put(stream, (tk_str){bytes, 1}));
        hd_stream_leave(stream);
        hd_stream_release(stream);
    }
}

int main(void)
{
    hd_budget_init(&memory, 64 * TK_MIB, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_stream_forgets_what_was_sent),
        cmocka_unit_test(test_hd_stream_keeps_its_word),
    };
    return cmocka_run_group_tests_name("hd_stream", tests, NULL, NULL);
}
