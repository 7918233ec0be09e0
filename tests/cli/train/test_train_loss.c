/* The loss that `tinkc train` shows on servers that send none, or one of another
 * reduction: a scripted peer plays them. Its log-probabilities are -2, -1, -0.667, ...
 * Links: peer client text */
#include "cli/modelfix.h"

#define MODEL TEST_DATA_DIR "/../../models/pebble-llama-2m"

static const char lines[] = "{\"prompt\":\"One, two,\",\"completion\":\" three, four\"}\n"
                            "{\"prompt\":\"Two, three,\",\"completion\":\" four\"}\n";

typedef struct fix {
    fakeapi *api;
    program p;
    char url[MODELFIX_URL_BYTES];
} fix;

/* Trains on a peer that sends these metrics. */
static void train(fix *f, const tk_num_map *metrics, const char *steps)
{
    const fakeapi_tinker_options options = {.metrics = metrics};
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, &options);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
    program_open(&f->p, TINKC_PROGRAM);
    program_env(&f->p, f->url);
    program_env(&f->p, "TINKER_API_KEY=tml-test");
    program_write_file(&f->p, "d.jsonl", lines);
    program_run(&f->p, PROGRAM_ARGS("train", "d.jsonl", "-m", MODEL, "--steps", steps,
                                    "--batch", "2", "--rank", "2"));
}

static void close_all(fix *f)
{
    program_close(&f->p);
    fakeapi_stop(&f->api);
}

/* Trains, and expects the losses that the log-probabilities give. */
static void expect_shown(const tk_num_map *metrics, const char *warning)
{
    fix f;
    train(&f, metrics, "3");
    if (f.p.code != 0) {
        print_error("%s", f.p.err.p);
    }
    assert_int_equal(f.p.code, 0);
    assert_true(program_said(&f.p.err, "step 1/3  loss 2.0000"));
    assert_true(program_said(&f.p.err, "step 2/3  loss 1.0000"));
    assert_true(program_said(&f.p.err, "step 3/3  loss 0.6667"));
    if (warning != NULL) {
        const char *first = strstr(f.p.err.p, "Warning: ");
        assert_non_null(first);
        assert_true(program_said(&f.p.err, warning));
        assert_null(strstr(first + 1, "Warning: ")); /* once */
    } else {
        assert_false(program_said(&f.p.err, "Warning"));
    }
    close_all(&f);
}

#define METRIC(metric, value)                                                            \
    (&(tk_num_map){(const tk_named_num[]){{TK_STR(metric), value}}, 1})

/* SkyRL sends no metrics at all, or only others. */
static void test_loss_none(void **unused)
{
    expect_shown(&(tk_num_map){NULL, 0}, NULL);
    expect_shown(METRIC("grad_norm:mean", 7), NULL);
}

/* a number that does not fit is not shown; the first one is reported. */
static void test_loss_differs(void **unused)
{
    expect_shown(METRIC("loss:mean", 10.4),
                 "the server reports loss:mean = 10.4, but its log-probabilities give a "
                 "loss of 2 per token");
    expect_shown(METRIC("total_loss:sum", 3), "total_loss:sum = 3");
}

/* The reductions that servers use, of a loss of 2 per token: all of them fit. */
static void test_loss_reductions(void **unused)
{
    static const char *const means[] = {"loss", "loss:mean", "loss:avg",
                                        "total_loss:mean"};
    for (size_t i = 0; i < TK_ARRAY_LEN(means); i++) {
        const tk_named_num metric = {tk_str_of(means[i]), 2.0};
        fix f;
        train(&f, &(tk_num_map){&metric, 1}, "1");
        assert_int_equal(f.p.code, 0);
        assert_true(program_said(&f.p.err, "step 1/1  loss 2.0000"));
        assert_false(program_said(&f.p.err, "Warning"));
        close_all(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_none),
        cmocka_unit_test(test_loss_differs),
        cmocka_unit_test(test_loss_reductions),
    };
    return cmocka_run_group_tests_name("train_loss", tests, NULL, NULL);
}
