/* Bodies that are made while they are sent, without a connection.
 * Links: text */
#include "server/run/srv_embed.h"
#include "server/run/srv_sample.h"
#include "support/test.h"

static void note_wait(void *user)
{
    bool *waits = user;
    *waits = true;
}

/* Takes n bytes, in pieces as the HTTP thread does. */
static void take(srv_stream *stream, size_t n)
{
    char piece[4096];
    bool waits = false;
    while (n > 0) {
        long got =
            srv_stream_take(stream, piece, TK_MIN(n, sizeof(piece)), note_wait, &waits);
        assert_true(got > 0);
        n -= (size_t)got;
    }
}

static srv_budget memory;

/* What was sent makes room, also when the reader never catches up. */
static void test_srv_stream_forgets_what_was_sent(void **state)
{
    static char bytes[TK_SRV_STREAM_BYTES / 4];
    const tk_str quarter = {bytes, sizeof(bytes)};
    srv_stream *stream = srv_stream_new(&memory);
    assert_non_null(stream);
    memset(bytes, 'x', sizeof(bytes));
    assert_true(srv_stream_put(stream, quarter));
    for (int i = 0; i < 12; i++) {
        assert_true(srv_stream_put(stream, quarter));
        take(stream, sizeof(bytes));
    }
    /* A reader that takes nothing loses its stream. */
    for (int i = 0; i < 3; i++) {
        assert_true(srv_stream_put(stream, quarter));
    }
    assert_false(srv_stream_put(stream, quarter));
    srv_stream_leave(stream);
    srv_stream_release(stream);
}

/* An event that cannot be written ends the stream: its reader would wait without end, and
 * a stop of the server for the reader. */
static void test_srv_stream_ends_when_it_breaks(void **state)
{
    srv_embed embed;
    tk_err err = TK_ERR_INIT;
    srv_base base = {0};
    srv_sampler sampler = {.base = &base};
    srv_sample sample = {.sampler = &sampler, .stream = srv_stream_new(&memory)};
    char piece[64];
    bool waits = false;
    srv_embed_get(&embed);
    assert_non_null(sample.stream);
    assert_int_equal(srv_text_load_memory(&base.tok, embed.tokenizer, &err), TINKC_OK);
    assert_non_null(base.tok);
    tk_buf_init(&sample.held, 64 * TK_KIB);
    for (size_t i = 0; i < 32 * TK_KIB; i++) { /* in JSON six bytes each: too many */
        tk_buf_putc(&sample.held, '\x01');
    }
    srv_sample_stream_token(&sample, 5, -1.0F);
    assert_true(sample.abandoned);
    assert_int_equal(
        srv_stream_take(sample.stream, piece, sizeof(piece), note_wait, &waits), -1);
    assert_false(waits);
    srv_stream_leave(sample.stream);
    srv_stream_release(sample.stream);
    tk_buf_dispose(&sample.held);
    srv_text_free(base.tok);
}

int main(void)
{
    srv_budget_init(&memory, 64 * TK_MIB);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_stream_forgets_what_was_sent),
        cmocka_unit_test(test_srv_stream_ends_when_it_breaks),
    };
    return cmocka_run_group_tests_name("srv_stream", tests, NULL, NULL);
}
