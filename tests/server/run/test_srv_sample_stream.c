/* Tokens as events of a stream, without a connection.
 * Links: text */
#include "server/run/srv_embed.h"
#include "server/run/srv_sample.h"
#include "support/test.h"

static hd_budget memory;

static void note_wait(void *user)
{
    bool *waits = user;
    *waits = true;
}

/* An event that cannot be written ends the stream: its reader would wait without end, and
 * a stop of the server for the reader. */
static void test_srv_sample_stream_ends_when_it_breaks(void **state)
{
    srv_embed embed;
    tk_err err = TK_ERR_INIT;
    srv_base base = {0};
    srv_sampler sampler = {.base = &base};
    srv_sample sample = {.sampler = &sampler, .stream = hd_stream_new(&memory)};
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
    srv_sample_stream_token(&sample, 5, -1.0F, false);
    assert_true(sample.abandoned);
    assert_int_equal(
        hd_stream_take(sample.stream, piece, sizeof(piece), note_wait, &waits), -1);
    assert_false(waits);
    hd_stream_leave(sample.stream);
    hd_stream_release(sample.stream);
    tk_buf_dispose(&sample.held);
    srv_text_free(base.tok);
}

int main(void)
{
    hd_budget_init(&memory, 64 * TK_MIB, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_sample_stream_ends_when_it_breaks),
    };
    return cmocka_run_group_tests_name("srv_sample_stream", tests, NULL, NULL);
}
