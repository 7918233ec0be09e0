/* Requests of OpenAI and Anthropic clients: the first byte chooses the dialect, the rest is
 * the body. What is accepted is answered with a canned result: the body must be JSON, and
 * every event of the stream a line of JSON.
 * Links: chatapi text */
#include "fuzz.h"
#include "support/cadata.h"

static const tk_tok *tokenizer(void)
{
    static tk_tok *tok;
    if (tok == NULL &&
        tk_tok_load_memory(&tok, TK_STR(CADATA_TOKENIZER), NULL) != TINKC_OK) {
        fuzz_fail("the tokenizer");
    }
    return tok;
}

static void check_json(tk_str text)
{
    tk_arena arena;
    const tk_json *value = NULL;
    tk_arena_init(&arena, 0);
    if (tk_json_parse(&value, &arena, text.p, text.n, NULL, NULL) != TINKC_OK) {
        fuzz_fail("an answer that is not JSON");
    }
    tk_arena_dispose(&arena);
}

static void check_events(tk_str rest)
{
    while (rest.n > 0) {
        tk_str line = tk_str_cut(&rest, '\n');
        if (tk_str_has_prefix(line, "data: {")) {
            check_json((tk_str){line.p + 6, line.n - 6});
        } else if (line.n > 0 && !tk_str_has_prefix(line, "event: ") &&
                   !tk_str_is(line, "data: [DONE]")) {
            fuzz_fail("a line that is not of an event");
        }
    }
}

static void answer(const ca_request *request, bool has_calls)
{
    ca_call calls[2];
    ca_output output;
    tk_buf out;
    cadata_output(&output, calls, true, has_calls);
    const ca_reply reply = cadata_reply(request, tokenizer());
    const ca_choice choice = {.output = &output,
                              .text = TK_STR("Hi \xc3\xbc!"),
                              .call_ids = cadata_call_ids,
                              .finish = CA_FINISH_STOP_STRING,
                              .stop = TK_STR("END"),
                              .sampled = cadata_sampled()};
    tk_buf_init(&out, TK_GIB);
    ca_reply_body(&out, &reply, &choice, 1, &cadata_usage);
    check_json(tk_buf_str(&out));
    tk_buf_clear(&out);
    cadata_stream(&out, &reply, &choice, NULL);
    if (out.failure != TINKC_OK) {
        fuzz_fail("a stream that failed");
    }
    check_events(tk_buf_str(&out));
    tk_buf_dispose(&out);
    cadata_output_dispose(&output);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    ca_request request;
    ca_fault fault;
    if (size == 0) {
        return 0;
    }
    const ca_request_how how = {.ignore = (data[0] & 4) != 0 ? TK_STR("web_search,strict")
                                                             : (tk_str){NULL, 0},
                                .is_count = (data[0] & 8) != 0};
    tk_str body = {(const char *)data + 1, size - 1};
    if (ca_request_parse_how(&request, (ca_dialect)(data[0] & 3), body, &how, &fault)) {
        answer(&request, (data[0] & 4) != 0);
        ca_request_dispose(&request);
        return 0;
    }
    if (fault.status < 400 || fault.err.message[0] == '\0') {
        fuzz_fail("a refusal without a reason");
    }
    tk_buf error;
    tk_buf_init(&error, TK_MIB);
    ca_reply_error(&error, (ca_dialect)(data[0] & 3), &fault);
    check_json(tk_buf_str(&error));
    tk_buf_dispose(&error);
    return 0;
}
