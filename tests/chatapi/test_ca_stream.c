/* Streams at their edges: nothing sampled, text after a call, several choices, a failure in
 * the middle, and that a stream says the same as the body. */
#include <stdio.h>

#include "support/cabody.h"
#include "support/cadata.h"
#include "support/test.h"

#define MESSAGE "{\"role\":\"user\",\"content\":\"a\"}"

static const char *const requests[] = {
    [CA_CHAT] = "{\"stream\":true,\"n\":2,\"messages\":[" MESSAGE "]}",
    [CA_COMPLETIONS] = "{\"stream\":true,\"prompt\":\"a\"}",
    [CA_RESPONSES] = "{\"stream\":true,\"input\":\"a\"}",
    [CA_MESSAGES] = ("{\"stream\":true,\"max_tokens\":1,\"messages\":[" MESSAGE "]}"),
};

typedef struct talk {
    ca_request request;
    ca_reply reply;
    ca_stream *stream;
    tk_buf out;
} talk;

static void start(talk *t, ca_dialect dialect)
{
    t->request = parse_ok(dialect, requests[dialect]);
    t->reply = cadata_reply(&t->request, NULL);
    assert_int_equal(ca_stream_new(&t->stream, &t->reply, NULL), TINKC_OK);
    tk_buf_init(&t->out, TK_MIB);
    ca_stream_begin(&t->out, t->stream, &cadata_usage);
}

/* The "type" of every event, or the delta of a chunk, one in a line. */
static void expect_events(talk *t, const char *wanted)
{
    tk_buf got;
    tk_arena arena;
    tk_str rest = tk_buf_str(&t->out);
    tk_buf_init(&got, TK_MIB);
    tk_arena_init(&arena, 0);
    assert_int_equal(t->out.failure, TINKC_OK);
    while (rest.n > 0) {
        tk_str line = tk_str_cut(&rest, '\n');
        const tk_json *data = NULL;
        if (!tk_str_has_prefix(line, "data: {")) {
            continue;
        }
        assert_int_equal(tk_json_parse(&data, &arena, line.p + 6, line.n - 6, NULL, NULL),
                         TINKC_OK);
        const tk_json *type = tk_json_get(data, "type");
        const tk_json choice = tk_json_at(tk_json_get(data, "choices"), 0);
        const tk_json *delta = tk_json_get(&choice, "delta");
        if (type != NULL) {
            tk_buf_put(&got, type->as.string.p, type->as.string.n);
        } else if (delta != NULL) {
            tk_json_writer w;
            tk_json_writer_init(&w, &got);
            tk_json_put_value(&w, delta);
        }
        tk_buf_putc(&got, '\n');
    }
    expect_json(&got, wanted);
    tk_arena_dispose(&arena);
    tk_buf_dispose(&t->out);
    ca_stream_free(t->stream);
    ca_request_dispose(&t->request);
}

static void say(talk *t, size_t index, ca_event_kind kind, const char *text)
{
    const ca_event event = {.kind = kind, .text = tk_str_of(text)};
    ca_stream_event(&t->out, t->stream, index, &event, NULL, NULL);
}

static void call(talk *t, size_t index)
{
    const ca_call made = {.name = cadata_other, .arguments = cadata_nothing};
    const ca_event event = {.kind = CA_EVENT_CALL, .call = &made};
    ca_stream_event(&t->out, t->stream, index, &event, "id", NULL);
}

static void end(talk *t, size_t index, ca_finish finish)
{
    const ca_choice choice = {.index = index, .finish = finish};
    ca_stream_end(&t->out, t->stream, &choice);
}

static void an_empty_answer_is_whole(void **state)
{
    talk t;
    start(&t, CA_MESSAGES);
    end(&t, 0, CA_FINISH_STOP);
    ca_stream_close(&t.out, t.stream, &cadata_usage);
    expect_events(&t, "message_start\nping\ncontent_block_start\ncontent_block_stop\n"
                      "message_delta\nmessage_stop\n");
    start(&t, CA_RESPONSES);
    end(&t, 0, CA_FINISH_STOP);
    ca_stream_close(&t.out, t.stream, &cadata_usage);
    expect_events(&t,
                  "response.created\nresponse.in_progress\nresponse.output_item.added\n"
                  "response.content_part.added\nresponse.output_text.done\n"
                  "response.content_part.done\nresponse.output_item.done\n"
                  "response.completed\n");
    start(&t, CA_COMPLETIONS);
    end(&t, 0, CA_FINISH_LENGTH);
    ca_stream_close(&t.out, t.stream, &cadata_usage);
    assert_non_null(strstr(tk_buf_cstr(&t.out), "\"finish_reason\":\"length\""));
    expect_events(&t, "\n");
}

/* One block is open at a time; text after a call begins a new one. */
static void text_after_a_call_is_a_new_block(void **state)
{
    talk t;
    start(&t, CA_MESSAGES);
    say(&t, 0, CA_EVENT_REASONING, "r");
    say(&t, 0, CA_EVENT_TEXT, "a");
    say(&t, 0, CA_EVENT_TEXT, "b");
    call(&t, 0);
    say(&t, 0, CA_EVENT_TEXT, "c");
    end(&t, 0, CA_FINISH_CALLS);
    assert_non_null(strstr(tk_buf_cstr(&t.out), "\"index\":3"));
    expect_events(&t, "message_start\nping\ncontent_block_start\ncontent_block_delta\n"
                      "content_block_delta\ncontent_block_stop\ncontent_block_start\n"
                      "content_block_delta\ncontent_block_delta\ncontent_block_stop\n"
                      "content_block_start\ncontent_block_delta\ncontent_block_stop\n"
                      "content_block_start\ncontent_block_delta\ncontent_block_stop\n");
    start(&t, CA_RESPONSES);
    call(&t, 0);
    say(&t, 0, CA_EVENT_TEXT, "c");
    end(&t, 0, CA_FINISH_LENGTH);
    tk_buf_clear(&t.out);
    ca_stream_close(&t.out, t.stream, &cadata_usage);
    const char *last = tk_buf_cstr(&t.out);
    assert_non_null(strstr(last, "\"status\":\"incomplete\""));
    assert_non_null(strstr(last, "\"output\":[{\"id\":\"fc_"));
    assert_non_null(strstr(last, "},{\"id\":\"msg_"));
    expect_events(&t, "response.incomplete\n");
}

static void choices_are_told_apart(void **state)
{
    talk t;
    start(&t, CA_CHAT);
    say(&t, 1, CA_EVENT_TEXT, "b");
    say(&t, 0, CA_EVENT_REASONING, "a");
    call(&t, 0);
    end(&t, 1, CA_FINISH_STOP);
    assert_non_null(
        strstr(tk_buf_cstr(&t.out), "\"index\":1,\"delta\":{\"content\":\"b\"}"));
    expect_events(&t, "{\"role\":\"assistant\",\"content\":\"\"}\n"
                      "{\"role\":\"assistant\",\"content\":\"\"}\n{\"content\":\"b\"}\n"
                      "{\"reasoning_content\":\"a\"}\n"
                      "{\"tool_calls\":[{\"index\":0,\"id\":\"id\",\"type\":\"function\","
                      "\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}}]}\n{}\n");
}

static void tokens_that_nobody_asked_for_give_no_event(void **state)
{
    talk t;
    const ca_tokens tokens = cadata_sampled();
    start(&t, CA_CHAT);
    tk_buf_clear(&t.out);
    ca_stream_event(&t.out, t.stream, 0, NULL, NULL, &tokens);
    assert_int_equal(t.out.n, 0);
    expect_events(&t, "");
}

static void a_failure_has_the_shape_of_the_dialect(void **state)
{
    static const char *const wanted[] = {
        [CA_CHAT] =
            "data: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\",\"param\":"
            "null,\"code\":null}}\n\ndata: [DONE]\n\n",
        [CA_COMPLETIONS] =
            "data: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\","
            "\"param\":null,\"code\":null}}\n\ndata: [DONE]\n\n",
        [CA_MESSAGES] = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                        "\"overloaded_error\",\"message\":\"gone\"}}\n\n",
    };
    ca_fault fault = {.status = 503, .err = TK_ERR_INIT};
    (void)tk_err_set(&fault.err, TINKC_E_SERVER, "gone");
    for (size_t d = 0; d < TK_ARRAY_LEN(wanted); d++) {
        talk t;
        start(&t, (ca_dialect)d);
        say(&t, 0, CA_EVENT_TEXT, "a");
        tk_buf_clear(&t.out);
        ca_stream_fail(&t.out, t.stream, &fault);
        if (wanted[d] != NULL) {
            assert_string_equal(tk_buf_cstr(&t.out), wanted[d]);
        } else {
            assert_non_null(strstr(tk_buf_cstr(&t.out), "event: response.failed\n"));
            assert_non_null(strstr(tk_buf_cstr(&t.out),
                                   "\"error\":{\"code\":\"server_error\",\"message\":"
                                   "\"gone\"}"));
        }
        tk_buf_dispose(&t.out);
        ca_stream_free(t.stream);
        ca_request_dispose(&t.request);
    }
}

static void bad_text_fails_the_buffer(void **state)
{
    talk t;
    start(&t, CA_CHAT);
    say(&t, 0, CA_EVENT_TEXT, "\xff");
    assert_int_equal(t.out.failure, TINKC_E_INVALID);
    tk_buf_dispose(&t.out);
    ca_stream_free(t.stream);
    ca_request_dispose(&t.request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_answer_is_whole),
        cmocka_unit_test(text_after_a_call_is_a_new_block),
        cmocka_unit_test(choices_are_told_apart),
        cmocka_unit_test(tokens_that_nobody_asked_for_give_no_event),
        cmocka_unit_test(a_failure_has_the_shape_of_the_dialect),
        cmocka_unit_test(bad_text_fails_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
