/* Hostile requests: every value of valid bodies replaced by every type of JSON, bodies that
 * are too large, too deep or too many, memory that runs out, and quotas. Nothing may crash;
 * a refusal always has a status and a message. */
#include "base/mem.h"
#include "chatapi/ca_reply.h"
#include "support/cabody.h"
#include "support/failmem.h"
#include "support/test.h"

/* Bodies that use everything that is read. */
static const char *const full[] = {
    [CA_CHAT] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\",\"name\":\"n\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
        "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"r\",\"tool_calls\":"
        "[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
        "\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"7\"}],"
        "\"temperature\":1,\"top_p\":1,\"top_k\":1,\"seed\":1,\"stop\":[\"a\"],"
        "\"stop_token_ids\":[1],\"ignore_eos\":true,\"n\":2,\"max_tokens\":7,\"logprobs\":"
        "true,\"top_logprobs\":2,\"return_token_ids\":true,\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":true,"
        "\"continuous_usage_stats\":false},\"tools\":[{\"type\":\"function\",\"function\":"
        "{\"name\":\"f\",\"description\":\"d\",\"parameters\":{},\"strict\":false}}],"
        "\"tool_choice\":\"auto\",\"parallel_tool_calls\":true,\"reasoning_effort\":\"low\","
        "\"reasoning\":{\"effort\":\"low\",\"enabled\":true},\"verbosity\":\"low\","
        "\"documents\":[{}],\"chat_template_kwargs\":{\"a\":1},\"response_format\":{\"type\":"
        "\"text\"},\"modalities\":[\"text\"],\"frequency_penalty\":0,\"logit_bias\":{},"
        "\"add_generation_prompt\":true,\"continue_final_message\":false}",
    [CA_COMPLETIONS] =
        "{\"prompt\":[\"a\",[1,2]],\"max_tokens\":0,\"echo\":true,\"logprobs\":1,"
        "\"n\":1,\"best_of\":1,\"suffix\":\"\",\"prompt_logprobs\":1}",
    [CA_RESPONSES] =
        "{\"instructions\":\"i\",\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":"
        "[{\"type\":\"input_text\",\"text\":\"a\"}]},{\"type\":\"reasoning\",\"summary\":[],"
        "\"content\":[{\"type\":\"reasoning_text\",\"text\":\"r\"}],\"encrypted_content\":"
        "\"tinkc1.YQ==\"},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","
        "\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c\","
        "\"output\":\"7\"}],\"max_output_tokens\":5,\"tools\":[{\"type\":\"function\","
        "\"name\":\"f\",\"description\":\"d\",\"parameters\":{},\"strict\":false}],"
        "\"reasoning\":{\"effort\":\"low\"},\"text\":{\"format\":{\"type\":\"text\"},"
        "\"verbosity\":\"low\"},\"include\":[\"message.output_text.logprobs\"],"
        "\"top_logprobs\":2,\"truncation\":\"disabled\",\"background\":false}",
    [CA_MESSAGES] =
        "{\"max_tokens\":5,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},{\"role\":"
        "\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":"
        "\"s\"},{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{\"x\":1}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\","
        "\"content\":[{\"type\":\"text\",\"text\":\"7\"}],\"is_error\":true}]}],"
        "\"stop_sequences\":[\"a\"],\"tools\":[{\"name\":\"f\",\"description\":\"d\","
        "\"input_schema\":{}}],\"tool_choice\":{\"type\":\"auto\","
        "\"disable_parallel_tool_use\":false},\"thinking\":{\"type\":\"enabled\","
        "\"budget_tokens\":5},\"output_config\":{\"effort\":\"low\"},\"context_management\":"
        "{\"edits\":[{\"type\":\"clear_thinking_20251015\",\"keep\":\"all\"}]}}",
};

static const char *const others[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "1e300",
    "18446744073709551615",
    "\"\"",
    "\"xyz\"",
    "[]",
    "[null]",
    "[1]",
    "[[1]]",
    "[1.5]",
    "{}",
    "{\"type\":7}",
    "{\"type\":\"text\"}",
    "[{}]",
    "[\"a\",1]",
    "{\"a\":{\"b\":[]}}",
};

/* Parses a body that may be anything; returns whether it was accepted. */
static bool survive(ca_dialect dialect, tk_str body)
{
    ca_request q;
    ca_fault fault;
    if (ca_request_parse(&q, dialect, body, NULL, &fault)) {
        ca_request_dispose(&q);
        return true;
    }
    assert_true(fault.status >= 400 && fault.status < 600);
    assert_true(fault.err.code != TINKC_OK && fault.err.message[0] != '\0');
    assert_true(strlen(fault.field) < sizeof(fault.field));
    tk_buf error; /* the client is told */
    tk_buf_init(&error, TK_MIB);
    ca_reply_error(&error, dialect, &fault);
    assert_int_equal(error.failure, TINKC_OK);
    tk_buf_dispose(&error);
    return false;
}

/* Writes `value` with the value number *at replaced by `with`. */
static void write_but(tk_json_writer *w, const tk_json *value, long *at,
                      const tk_json *with)
{
    if ((*at)-- == 0) {
        tk_json_put_value(w, with);
    } else if (value->type == TK_JSON_OBJECT) {
        tk_json_begin_object(w);
        for (size_t i = 0; i < value->as.object.n; i++) {
            tk_json_key(w, value->as.object.members[i].key);
            write_but(w, &value->as.object.members[i].value, at, with);
        }
        tk_json_end_object(w);
    } else if (tk_json_is_array(value)) {
        tk_json_begin_array(w);
        for (size_t i = 0; i < tk_json_len(value); i++) {
            const tk_json item = tk_json_at(value, i);
            write_but(w, &item, at, with);
        }
        tk_json_end_array(w);
    } else {
        tk_json_put_value(w, value);
    }
}

static void every_value_may_be_of_any_type(void **state)
{
    tk_arena arena;
    size_t accepted = 0, refused = 0;
    tk_arena_init(&arena, 0);
    for (size_t d = 0; d < TK_ARRAY_LEN(full); d++) {
        const tk_json *body = NULL;
        assert_true(survive((ca_dialect)d, tk_str_of(full[d])));
        assert_int_equal(
            tk_json_parse(&body, &arena, full[d], strlen(full[d]), NULL, NULL), TINKC_OK);
        for (size_t o = 0; o < TK_ARRAY_LEN(others); o++) {
            const tk_json *with = NULL;
            assert_int_equal(
                tk_json_parse(&with, &arena, others[o], strlen(others[o]), NULL, NULL),
                TINKC_OK);
            long left = -1;
            for (long at = 0; left < 0; at++) {
                tk_buf out;
                tk_json_writer w;
                tk_buf_init(&out, TK_MIB);
                tk_json_writer_init(&w, &out);
                left = at;
                write_but(&w, body, &left, with);
                bool ok = survive((ca_dialect)d, tk_buf_str(&out));
                accepted += ok ? 1 : 0;
                refused += ok ? 0 : 1;
                tk_buf_dispose(&out);
            }
        }
    }
    tk_arena_dispose(&arena);
    assert_true(refused > 3000);
    assert_true(accepted > 200);
}

/* Every prefix of a body, and every body with one byte changed. */
static void broken_json_is_refused(void **state)
{
    for (size_t d = 0; d < TK_ARRAY_LEN(full); d++) {
        size_t n = strlen(full[d]);
        char *copy = tk_strdup(full[d]);
        assert_non_null(copy);
        for (size_t i = 0; i < n; i++) {
            assert_false(survive((ca_dialect)d, (tk_str){full[d], i}));
            copy[i] = (char)(full[d][i] ^ 0x15);
            (void)survive((ca_dialect)d, (tk_str){copy, n});
            copy[i] = full[d][i];
        }
        tk_free(copy);
    }
}

static void refused_with(ca_dialect dialect, const tk_buf *body, int status,
                         const char *field)
{
    ca_request q;
    ca_fault fault;
    assert_int_equal(body->failure, TINKC_OK);
    assert_false(ca_request_parse(&q, dialect, tk_buf_str(body), NULL, &fault));
    assert_int_equal(fault.status, status);
    assert_string_equal(fault.field, field);
}

static void repeat(tk_buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, text);
    }
}

static void sizes_are_limited(void **state)
{
    tk_buf body;
    tk_buf_init(&body, 101 * TK_MIB);
    char *p = tk_buf_reserve(&body, 100 * TK_MIB);
    assert_non_null(p);
    memset(p, '[', 100 * TK_MIB);
    tk_buf_advance(&body, 100 * TK_MIB);
    refused_with(CA_CHAT, &body, 413, "");
    tk_buf_clear(&body);

    tk_buf_puts(&body, "{\"messages\":");
    repeat(&body, "[", TK_CA_DEPTH);
    refused_with(CA_CHAT, &body, 400, "");
    tk_buf_clear(&body);

    tk_buf_puts(&body, "{\"messages\":[");
    repeat(&body, "{\"role\":\"user\",\"content\":\"\"},", TK_CA_MESSAGES_MAX);
    tk_buf_puts(&body, "{\"role\":\"user\",\"content\":\"\"}]}");
    refused_with(CA_CHAT, &body, 400, "messages");
    tk_buf_clear(&body);

    tk_buf_puts(&body, "{\"user\":0");
    repeat(&body, ",\"user\":0", TK_CA_MEMBERS_MAX);
    tk_buf_puts(&body, "}");
    refused_with(CA_CHAT, &body, 400, "");
    tk_buf_clear(&body);

    tk_buf_puts(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"stream\":"
                       "true,\"stream_options\":{\"include_usage\":true");
    repeat(&body, ",\"include_usage\":true", TK_CA_MEMBERS_MAX);
    tk_buf_puts(&body, "}}");
    refused_with(CA_CHAT, &body, 400, "stream_options");
    tk_buf_clear(&body);

    tk_buf_puts(&body, "{\"prompt\":[\"a\"");
    repeat(&body, ",\"a\"", TK_CA_PROMPTS_MAX);
    tk_buf_puts(&body, "]}");
    refused_with(CA_COMPLETIONS, &body, 400, "prompt");
    tk_buf_clear(&body);

    tk_buf_puts(&body,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[0");
    repeat(&body, ",0", TK_CA_TOOLS_MAX);
    tk_buf_puts(&body, "]}");
    refused_with(CA_CHAT, &body, 400, "tools");
    tk_buf_clear(&body);

    tk_buf_puts(&body,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"stop\":[\"a\"");
    repeat(&body, ",\"a\"", TK_STOPS_MAX);
    tk_buf_puts(&body, "]}");
    refused_with(CA_CHAT, &body, 400, "stop");
    tk_buf_dispose(&body);
}

/* Names of fields are quoted, never trusted. */
static void long_names_are_cut(void **state)
{
    static const char *const before[] = {
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\",\"", "{\"", "{\"x"};
    static const char *const after[] = {"\":1}]}", "\":1}", "\":1}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(before); i++) {
        tk_buf body;
        tk_buf_init(&body, TK_MIB);
        tk_buf_puts(&body, before[i]);
        repeat(&body, "\xc3\xbc", 4000);
        tk_buf_puts(&body, "\\n");
        tk_buf_puts(&body, after[i]);
        assert_false(survive(CA_CHAT, tk_buf_str(&body)));
        tk_buf_dispose(&body);
    }
}

typedef struct pool {
    tk_quota quota;
    size_t left;
} pool;

static bool pool_take(tk_quota *quota, size_t n)
{
    pool *p = TK_CONTAINER_OF(quota, pool, quota);
    bool fits = n <= p->left;
    p->left -= fits ? n : 0;
    return fits;
}

static void pool_give(tk_quota *quota, size_t n)
{
    TK_CONTAINER_OF(quota, pool, quota)->left += n;
}

static void a_quota_is_honoured_and_given_back(void **state)
{
    pool p = {{pool_take, pool_give}, 100};
    ca_request q;
    ca_fault fault;
    assert_false(
        ca_request_parse(&q, CA_CHAT, tk_str_of(full[CA_CHAT]), &p.quota, &fault));
    assert_int_equal(fault.status, 429);
    assert_int_equal(p.left, 100);
    p.left = TK_MIB;
    assert_true(
        ca_request_parse(&q, CA_CHAT, tk_str_of(full[CA_CHAT]), &p.quota, &fault));
    assert_true(p.left < TK_MIB);
    ca_request_dispose(&q);
    assert_int_equal(p.left, TK_MIB);
}

static bool parse_once(void *user)
{
    const size_t *d = user;
    ca_request q;
    ca_fault fault;
    bool ok = ca_request_parse(&q, (ca_dialect)*d, tk_str_of(full[*d]), NULL, &fault);
    if (ok) {
        ca_request_dispose(&q);
    } else {
        assert_int_equal(fault.status, 503);
    }
    return ok;
}

static void every_allocation_may_fail(void **state)
{
    for (size_t d = 0; d < TK_ARRAY_LEN(full); d++) {
        (void)failmem_sweep(parse_once, &d, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_may_be_of_any_type),
        cmocka_unit_test(broken_json_is_refused),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(a_quota_is_honoured_and_given_back),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
