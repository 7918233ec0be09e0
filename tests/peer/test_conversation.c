/* a whole conversation with a Tinker server, undisturbed, with every answer lost
 * once, and with every allocation failing once. */
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/fakeapi_tinker_talk.h"
#include "support/test.h"

/* All steps; false with talk->err set. */
static bool converse(fakeapi_tinker_talk *talk)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < fakeapi_tinker_steps_n && code == TINKC_OK; i++) {
        code = fakeapi_tinker_steps[i].take(talk);
    }
    return code == TINKC_OK;
}

static void expect_results(const fakeapi_tinker_talk *talk)
{
    assert_true(tk_str_is(talk->checkpoint,
                          "tinker://00000001-0000-4000-8000-000000000000:train:0/"
                          "sampler_weights/first"));
    assert_true(tk_str_is(talk->sampling_session_id,
                          "00000001-0000-4000-8000-000000000000:sample:0"));
    const tk_fwdbwd_output *losses = &talk->losses;
    assert_int_equal(losses->loss_fn_outputs_n, FAKEAPI_TINKER_TALK_DATUMS);
    const tk_named_tensor *logprobs = &losses->loss_fn_outputs[1].items[0];
    assert_true(tk_str_is(logprobs->name, "logprobs"));
    assert_int_equal(logprobs->tensor.n, FAKEAPI_TINKER_TALK_TOKENS);
    const float *values = logprobs->tensor.data;
    assert_true(values[0] == FAKEAPI_TINKER_LOGPROB / 2); /* one step was taken */
    assert_int_equal(losses->metrics.n, 1);
    assert_true(losses->metrics.items[0].v ==
                FAKEAPI_TINKER_TALK_DATUMS * FAKEAPI_TINKER_TALK_TOKENS);
    assert_int_equal(talk->sample.sequences_n, 1);
    const tk_sequence *sequence = &talk->sample.sequences[0];
    assert_int_equal(sequence->tokens.n, 8);
    assert_int_equal(sequence->tokens.p[0], 1003);
    assert_int_equal(sequence->tokens.p[7], 1010);
}

/* The log of a conversation: each piece of work once, in order. */
static void expect_log(fakeapi *api, size_t resent)
{
    static const char *const kinds[] = {
        "create_model",     "forward_backward",         "optim_step",
        "forward_backward", "save_weights_for_sampler", "sample"};
    assert_int_equal(fakeapi_tinker_ops(api, NULL), TK_ARRAY_LEN(kinds));
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, NULL, i, &op));
        assert_string_equal(op.kind, kinds[i]);
        assert_int_equal(op.seq_id, i < 5 ? (int64_t)i : 0);
        assert_int_equal(op.resent, resent);
    }
    assert_int_equal(fakeapi_tinker_conflicts(api), 0);
}

/* the whole conversation without a fault. */
static void test_undisturbed(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.strict = true});
    fakeapi_tinker_talk talk;
    fakeapi_tinker_talk_init(&talk, fakeapi_port(api));
    assert_true(converse(&talk));
    expect_results(&talk);
    expect_log(api, 0);
    assert_int_equal(talk.asked_again, 0);
    assert_int_equal(fakeapi_connections_total(api), 1);
    const fakeapi_request *batch = fakeapi_nth(api, "POST", "*/forward_backward", 0);
    assert_string_equal(fakeapi_header(batch, "content-type"), "application/x-protobuf");
    assert_int_equal(batch->body_n, talk.request_bytes);
    fakeapi_tinker_talk_dispose(&talk);
    fakeapi_stop(&api);
}

/* every answer is lost once, in each of the ways that losing can look. */
static void test_every_answer_lost_once(void **state)
{
    static const fakeapi_fault faults[] = {FAKEAPI_RESET, FAKEAPI_DROP, FAKEAPI_CUT_HEAD,
                                           FAKEAPI_CUT_BODY, FAKEAPI_RESET_BODY};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_lose_first(api, "POST", "*", faults[i]);
        fakeapi_tinker_talk talk;
        fakeapi_tinker_talk_init(&talk, fakeapi_port(api));
        assert_true(converse(&talk));
        expect_results(&talk);
        expect_log(api, 1);
        assert_int_equal(talk.asked_again * 2, fakeapi_total(api));
        fakeapi_tinker_talk_dispose(&talk);
        fakeapi_stop(&api);
    }
}

static void test_failures_end_the_conversation(void **state)
{
    static const struct {
        const char *path;
        fakeapi_step step;
        tinkc_code code;
    } rows[] = {
        {"*/create_session", {.status = 503, .body = "{}"}, TINKC_E_STATUS},
        {"*/create_model", {.body = "[]"}, TINKC_E_DECODE},
        {"*/create_model", {.body = "{\"request_id\":7}"}, TINKC_E_DECODE},
        {"*/optim_step", {.body = "{\"request_id\":"}, TINKC_E_PARSE},
        {"*/retrieve_future", {.body = "{\"error\":\"no\"}"}, TINKC_E_REQUEST},
        {"*/asample", {.repeat = 5, .fault = FAKEAPI_RESET}, TINKC_E_CONNECTION},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fakeapi *api = fakeapi_start();
        fakeapi_tinker(api, NULL);
        fakeapi_reply(api, "POST", rows[i].path, &rows[i].step);
        fakeapi_tinker_talk talk;
        fakeapi_tinker_talk_init(&talk, fakeapi_port(api));
        assert_false(converse(&talk));
        assert_int_equal(talk.err.code, rows[i].code);
        assert_string_not_equal(talk.err.message, "");
        fakeapi_tinker_talk_dispose(&talk);
        fakeapi_stop(&api);
    }
}

/* Out of memory at any point is reported as such, and nothing is left behind. */
static bool scenario(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_tinker_talk talk;
    fakeapi_tinker_talk_init(&talk, fakeapi_port(api));
    bool ok = converse(&talk);
    bool is_told = ok || (talk.err.code == TINKC_E_NOMEM && talk.err.message[0] != '\0');
    fakeapi_tinker_talk_dispose(&talk);
    fakeapi_stop(&api);
    assert_true(is_told);
    return ok;
}

static void test_every_allocation_fails_once(void **state)
{
    size_t points = failmem_sweep(scenario, NULL, 1);
    assert_true(points > fakeapi_tinker_steps_n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undisturbed),
        cmocka_unit_test(test_every_answer_lost_once),
        cmocka_unit_test(test_failures_end_the_conversation),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests_name("conversation", tests, NULL, NULL);
}
