/* Every _init function writes what its macro says, and the constants that are macros in C
 * have a function: a program in another language needs no C code.
 * Links: text */
#include <tinkc/tinkc.h>

#include <string.h>

#include "support/test.h"

#define SAME(name, macro)                                                                \
    do {                                                                                 \
        static const tinkc_##name initial = TINKC_##macro##_INIT;                        \
        tinkc_##name made;                                                               \
        memset(&made, 0x5a, sizeof(made));                                               \
        tinkc_##name##_init(&made);                                                      \
        assert_int_equal(made.size, sizeof(made));                                       \
        assert_memory_equal(&made, &initial, sizeof(made));                              \
        tinkc_##name##_init(NULL);                                                       \
    } while (0)

static void test_init_equals_macro(void **unused)
{
    SAME(adam_params, ADAM_PARAMS);
    SAME(array, ARRAY);
    SAME(context, CONTEXT);
    SAME(download_options, DOWNLOAD_OPTIONS);
    SAME(from_state_options, FROM_STATE_OPTIONS);
    SAME(fwdbwd_options, FWDBWD_OPTIONS);
    SAME(list_options, LIST_OPTIONS);
    SAME(lora_config, LORA_CONFIG);
    SAME(pager_options, PAGER_OPTIONS);
    SAME(push_options, PUSH_OPTIONS);
    SAME(reading, READING);
    SAME(rollout, ROLLOUT);
    SAME(rows, ROWS);
    SAME(sample_batch, SAMPLE_BATCH);
    SAME(sample_options, SAMPLE_OPTIONS);
    SAME(sample_target, SAMPLE_TARGET);
    SAME(sampling_params, SAMPLING_PARAMS);
    SAME(save_options, SAVE_OPTIONS);
    SAME(step_options, STEP_OPTIONS);
    SAME(telemetry_counts, TELEMETRY_COUNTS);
    SAME(wait, WAIT);
}

/* Two files may keep their own copy of a text. */
static void test_init_raw_request(void **unused)
{
    tinkc_raw_request initial = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_request made;
    memset(&made, 0x5a, sizeof(made));
    tinkc_raw_request_init(&made);
    tinkc_raw_request_init(NULL);
    assert_string_equal(made.method, initial.method);
    made.method = initial.method;
    assert_memory_equal(&made, &initial, sizeof(made));
}

static void test_init_text_options(void **unused)
{
    SAME(chat_options, CHAT_OPTIONS);
    SAME(decode, DECODE);
    SAME(encode_options, ENCODE_OPTIONS);
    SAME(text_batch, TEXT_BATCH);
    SAME(tokenizer_options, TOKENIZER_OPTIONS);
    SAME(train_options, TRAIN_OPTIONS);
    assert_true(tinkc_chat_now() == TINKC_CHAT_NOW);
}

static void test_init_constants(void **unused)
{
    assert_true(tinkc_time_none() == TINKC_NO_TIME);
    assert_string_equal(tinkc_sdk_level(), TINKC_SDK_LEVEL);
    assert_int_equal(tinkc_version_number(), TINKC_VERSION_NUMBER);
    assert_int_equal(tinkc_version_number(), TINKC_VERSION_MAJOR * 10000 +
                                                 TINKC_VERSION_MINOR * 100 +
                                                 TINKC_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_equals_macro),
        cmocka_unit_test(test_init_raw_request),
        cmocka_unit_test(test_init_text_options),
        cmocka_unit_test(test_init_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
