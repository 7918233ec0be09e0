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

/* A stream without a connection, and a sample of the embedded tokenizer that goes into it. */
typedef struct streamed {
    srv_base base;
    srv_sampler sampler;
    srv_sample sample;
} streamed;

static void begin(streamed *s, size_t held_max)
{
    srv_embed embed;
    tk_err err = TK_ERR_INIT;
    *s = (streamed){0};
    s->sampler.base = &s->base;
    s->sample.sampler = &s->sampler;
    s->sample.stream = hd_stream_new(&memory);
    srv_embed_get(&embed);
    assert_non_null(s->sample.stream);
    assert_int_equal(srv_text_load_memory(&s->base.tok, embed.tokenizer, &err), TINKC_OK);
    assert_non_null(s->base.tok);
    tk_buf_init(&s->sample.held, held_max);
}

static void hold(streamed *s, char c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_putc(&s->sample.held, c);
    }
}

static void end(streamed *s)
{
    hd_stream_leave(s->sample.stream);
    hd_stream_release(s->sample.stream);
    tk_buf_dispose(&s->sample.held);
    srv_text_free(s->base.tok);
}

/* Reads what is there; returns whether the stream has ended, and how many bytes came. */
static bool read_all(streamed *s, size_t *bytes)
{
    char piece[4096];
    bool waits = false;
    long n;
    *bytes = 0;
    while ((n = hd_stream_take(s->sample.stream, piece, sizeof(piece), note_wait,
                               &waits)) > 0) {
        *bytes += (size_t)n;
    }
    return n < 0 && !waits;
}

/* An event that cannot be written ends the stream: its reader would wait without end, and
 * a stop of the server for the reader. */
static void test_srv_sample_stream_ends_when_it_breaks(void **state)
{
    streamed s;
    size_t bytes;
    begin(&s, SRV_TOKEN_BYTES);
    hold(&s, '\x01', TK_MIB); /* in JSON six bytes each: too many */
    srv_sample_stream_token(&s.sample, 5, -1.0F, false);
    assert_true(s.sample.abandoned);
    assert_true(read_all(&s, &bytes));
    assert_int_equal(bytes, 0);
    end(&s);
}

/* So does a text of which a part is lost: what follows would look whole. */
static void test_srv_sample_stream_ends_when_text_is_lost(void **state)
{
    streamed s;
    size_t bytes;
    begin(&s, 1);
    hold(&s, '\xC3', 1); /* the token that follows has no room */
    srv_sample_stream_token(&s.sample, 5, -1.0F, false);
    assert_true(s.sample.abandoned);
    assert_true(read_all(&s, &bytes));
    assert_int_equal(bytes, 0);
    end(&s);
}

static void test_srv_sample_stream_long_token(void **state)
{
    streamed s;
    size_t bytes;
    begin(&s, SRV_TOKEN_BYTES);
    hold(&s, 'x', 100 * TK_KIB);
    srv_sample_stream_token(&s.sample, 5, -1.0F, false);
    assert_false(s.sample.abandoned);
    assert_false(read_all(&s, &bytes));
    assert_true(bytes > 100 * TK_KIB);
    end(&s);
}

int main(void)
{
    hd_budget_init(&memory, 64 * TK_MIB, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_sample_stream_ends_when_it_breaks),
        cmocka_unit_test(test_srv_sample_stream_ends_when_text_is_lost),
        cmocka_unit_test(test_srv_sample_stream_long_token),
    };
    return cmocka_run_group_tests_name("srv_sample_stream", tests, NULL, NULL);
}
