/* Canned results for the tests of replies and for tests/interop/interop_chatapi.c: a
 * tokenizer whose tokens are known, an output with reasoning, text and calls, and scores;
 * and what answers a line of that program.
 * Static data: every program that includes it has its own. */
#ifndef SUPPORT_CADATA_H
#define SUPPORT_CADATA_H

#include <math.h>
#include <string.h>

#include "chatapi/ca_reply.h"

/* Byte-level BPE without merges: bytes as characters, one special token. "Ã" and "¼" are
 * the two bytes of "ü". */
#define CADATA_TOKENIZER                                                                    \
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":6,\"content\":\"<|end|>\",\"special\":" \
    "true,\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false}],"  \
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":"   \
    "false,\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,\"decoder\":"  \
    "{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"H\":0,\"i\":1,"      \
    "\"\xc4\xa0\":2,\"\xc3\x83\":3,\"\xc2\xbc\":4,\"!\":5,\"<|end|>\":6},\"merges\":[]}}"

static const int32_t cadata_ids[] = {0, 1, 2, 3, 4, 5};
static const float cadata_logprobs[] = {-0.5F, -0.25F, -1.0F, -2.0F, -0.125F, -INFINITY};
static const int32_t cadata_top_ids[] = {0, 1, 0, 2, 5, 0, 3, 4, 4, 3, 0, 1};
static const float cadata_top[] = {-0.5F, -1.5F, -0.125F, -4.0F, -0.5F,  -3.0F,
                                   -2.0F, -2.5F, -0.125F, -3.0F, -0.25F, -2.0F};
static const float cadata_prompt_logprobs[] = {NAN, -0.25F, -1.0F};

static inline ca_tokens cadata_sampled(void)
{
    return (ca_tokens){cadata_ids, cadata_logprobs, cadata_top_ids, cadata_top, 6, 2};
}

static inline ca_tokens cadata_prompt(void)
{
    return (ca_tokens){cadata_ids, cadata_prompt_logprobs, cadata_top_ids, cadata_top, 3,
                       2};
}

static inline ca_tokens cadata_slice(const ca_tokens *all, size_t from, size_t n)
{
    ca_tokens part = *all;
    part.ids += from;
    part.logprobs += from;
    part.n = n;
    if (part.top_ids != NULL) {
        part.top_ids += from * all->k;
        part.top_logprobs += from * all->k;
    }
    return part;
}

/* Names and arguments are literals: the output is not disposed of, only its buffers. */
static char cadata_name[] = "get_weather";
static char cadata_other[] = "now";
static char cadata_arguments[] = "{\"city\": \"K\xc3\xb6ln\", \"days\": [1, 2.5]}";
static char cadata_nothing[] = "{}";
static const char *const cadata_call_ids[] = {"call_a1", "call_b2"};

static inline void cadata_output(ca_output *output, ca_call calls[2], bool with_reasoning,
                                 bool with_calls)
{
    *output = (ca_output){.calls = calls, .n_calls = with_calls ? 2 : 0};
    calls[0] = (ca_call){.name = cadata_name, .arguments = cadata_arguments};
    calls[1] = (ca_call){.name = cadata_other, .arguments = cadata_nothing};
    tk_buf_init(&output->text, TK_MIB);
    tk_buf_init(&output->reasoning, TK_MIB);
    tk_buf_puts(&output->text, "Hi \xc3\xbc!");
    if (with_reasoning) {
        output->has_reasoning = true;
        tk_buf_puts(&output->reasoning, "Let me see.\nYes.");
    }
}

static inline void cadata_output_dispose(ca_output *output)
{
    tk_buf_dispose(&output->text);
    tk_buf_dispose(&output->reasoning);
}

static inline ca_reply cadata_reply(const ca_request *request, const tk_tok *tok)
{
    static const unsigned char random[16] = {
        0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8};
    ca_reply reply = {.request = request,
                      .tok = tok,
                      .created = 1700000000,
                      .model = TK_STR("tiny"),
                      .prompt = cadata_prompt(),
                      .prompt_text = TK_STR("Hi ")};
    ca_reply_make_id(&reply, random);
    return reply;
}

static const ca_usage cadata_usage = {12, 6, 8, 2};

/* What a parser would report for the output, in pieces, with tokens where text is. */
static inline void cadata_stream(tk_buf *out, const ca_reply *reply,
                                 const ca_choice *choice, tk_err *err)
{
    ca_stream *stream = NULL;
    const ca_output *output = choice->output;
    const ca_tokens all = choice->sampled;
    const ca_tokens first = cadata_slice(&all, 0, 2), held = cadata_slice(&all, 2, 1);
    const ca_tokens rest = cadata_slice(&all, 3, 3);
    if (ca_stream_new(&stream, reply, err) != TINKC_OK) {
        tk_buf_fail(out, TINKC_E_NOMEM);
        return;
    }
    ca_stream_begin(out, stream, &cadata_usage);
    if (reply->request->dialect == CA_COMPLETIONS) {
        if (reply->request->params.echo) {
            ca_stream_text(out, stream, 0, reply->prompt_text, &reply->prompt);
        }
        ca_stream_text(out, stream, 0, TK_STR("Hi"), &first);
        ca_stream_text(out, stream, 0, TK_STR(""), &held);
        ca_stream_text(out, stream, 0, TK_STR(" \xc3\xbc!"), &rest);
    } else {
        const ca_event pieces[] = {
            {.kind = CA_EVENT_REASONING, .text = TK_STR("Let me see.\n")},
            {.kind = CA_EVENT_REASONING, .text = TK_STR("Yes.")},
            {.kind = CA_EVENT_TEXT, .text = TK_STR("Hi")},
            {.kind = CA_EVENT_TEXT, .text = TK_STR(" \xc3\xbc!")},
        };
        for (size_t i = output->has_reasoning ? 0 : 2; i < 4; i++) {
            const ca_tokens *tokens = i == 2 ? &first : i == 3 ? &rest : NULL;
            ca_stream_event(out, stream, 0, &pieces[i], NULL, tokens);
            if (i == 2) {
                ca_stream_event(out, stream, 0, NULL, NULL, &held);
            }
        }
        for (size_t i = 0; i < output->n_calls; i++) {
            const ca_event call = {
                .kind = CA_EVENT_CALL, .call = &output->calls[i], .call_index = i};
            ca_stream_event(out, stream, 0, &call, choice->call_ids[i], NULL);
        }
    }
    ca_stream_end(out, stream, choice);
    ca_stream_close(out, stream, &cadata_usage);
    ca_stream_free(stream);
}

/* ---- a line of tests/interop/chatapi.py, answered ---- */

static const char *const cadata_dialects[] = {"chat", "completions", "responses",
                                              "messages"};
static const char *const cadata_finishes[] = {"stop", "stop_string", "length", "calls"};

static inline tk_str cadata_text(const tk_json *line, const char *key)
{
    const tk_json *value = tk_json_get(line, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string
                                                          : (tk_str){"", 0};
}

static inline bool cadata_flag(const tk_json *line, const char *key)
{
    const tk_json *value = tk_json_get(line, key);
    return value != NULL && value->type == TK_JSON_BOOL && value->as.boolean;
}

static inline size_t cadata_index(const char *const *names, size_t n, tk_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_str_is(name, names[i])) {
            return i;
        }
    }
    return 0;
}

static inline void cadata_answer(tk_buf *out, const ca_request *request,
                                 const tk_tok *tok, const tk_json *line)
{
    ca_call calls[2];
    ca_output output;
    tk_err err = TK_ERR_INIT;
    cadata_output(&output, calls, cadata_flag(line, "reasoning"),
                  cadata_flag(line, "calls"));
    const ca_reply reply = cadata_reply(request, tok);
    ca_choice choices[2] = {{
        .output = &output,
        .text = TK_STR("Hi \xc3\xbc!"),
        .call_ids = cadata_call_ids,
        .finish =
            (ca_finish)cadata_index(cadata_finishes, 4, cadata_text(line, "finish")),
        .stop = TK_STR("END"),
        .sampled = cadata_sampled(),
    }};
    if (request->params.top_logprobs == 0) {
        choices[0].sampled.top_ids = NULL;
        choices[0].sampled.top_logprobs = NULL;
    }
    choices[1] = choices[0];
    choices[1].index = 1;
    tk_str kind = cadata_text(line, "kind");
    if (output.text.failure != TINKC_OK || output.reasoning.failure != TINKC_OK) {
        tk_buf_fail(out, TINKC_E_NOMEM);
    } else if (tk_str_is(kind, "stream")) {
        cadata_stream(out, &reply, &choices[0], &err);
    } else if (tk_str_is(kind, "failed")) {
        ca_stream *stream = NULL;
        ca_fault fault = {.status = 503, .err = TK_ERR_INIT};
        const ca_event event = {.kind = CA_EVENT_TEXT, .text = TK_STR("Hi")};
        (void)tk_err_set(&fault.err, TINKC_E_SERVER, "the model went away");
        if (ca_stream_new(&stream, &reply, &err) != TINKC_OK) {
            tk_buf_fail(out, TINKC_E_NOMEM);
        } else {
            ca_stream_begin(out, stream, &cadata_usage);
            ca_stream_event(out, stream, 0, &event, NULL, NULL);
            ca_stream_fail(out, stream, &fault);
        }
        ca_stream_free(stream);
    } else {
        ca_reply_body(out, &reply, choices, request->params.n, &cadata_usage);
    }
    cadata_output_dispose(&output);
}

static inline int cadata_serve(tk_buf *out, const tk_tok *tok, const tk_json *line)
{
    static const ca_model models[] = {{TK_STR("tiny"), 1700000000, 1024},
                                      {TK_STR("other"), 1700000001, 0}};
    ca_dialect dialect =
        (ca_dialect)cadata_index(cadata_dialects, 4, cadata_text(line, "dialect"));
    tk_str kind = cadata_text(line, "kind");
    ca_request request;
    ca_fault fault;
    if (tk_str_is(kind, "models") || tk_str_is(kind, "model")) {
        if (tk_str_is(kind, "models")) {
            ca_reply_models(out, dialect, models, 2);
        } else {
            ca_reply_model(out, dialect, &models[0]);
        }
        return 200;
    }
    const ca_request_how how = {.ignore = cadata_text(line, "ignore"),
                                .is_count = tk_str_is(kind, "count")};
    if (!ca_request_parse_how(&request, dialect, cadata_text(line, "request"), &how,
                              &fault)) {
        ca_reply_error(out, dialect, &fault);
        return fault.status;
    }
    int status = 200;
    if (how.is_count) {
        ca_reply_count(out, 17);
    } else if (tk_str_is(kind, "error")) {
        ca_reply_too_long(&fault, dialect, 2000, 1024);
        ca_reply_error(out, dialect, &fault);
        status = fault.status;
    } else {
        cadata_answer(out, &request, tok, line);
    }
    ca_request_dispose(&request);
    return status;
}

#endif
