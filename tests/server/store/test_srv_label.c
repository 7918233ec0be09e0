/* Labels of checkpoints: everything is read back, what is damaged is an error, and a
 * deletion can be taken back. */
#include "server/store/srv_label.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "server/srvfix.h"

static const srv_label sample = {
    .checkpoint = {.row = 7,
                   .kind = TK_PATH_SAMPLER_WEIGHTS,
                   .name = {"na\"me", 5},
                   .dir = {"name.01", 7},
                   .created_us = INT64_C(1794940772123456),
                   .expires_us = INT64_C(4102444800000001),
                   .size_bytes = INT64_C(1) << 40,
                   .is_public = true,
                   .has_optimizer = true},
    .run = {.id = {"s:train:0", 9},
            .session_id = {"s", 1},
            .base_model = {"tinkc/pebble", 12},
            .rank = 32,
            .train_unembed = true,
            .user_metadata = {"{\"a\":\"\\u00e9\"}", 14},
            .created_us = 5},
};

typedef struct fix {
    char dir[64], file[96];
    tk_arena arena;
} fix;

static void open_fix(fix *f)
{
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(f->dir);
    (void)snprintf(f->file, sizeof(f->file), "%s/" SRV_LABEL_FILE, f->dir);
    tk_arena_init(&f->arena, 0);
    assert_int_equal(srv_label_write(f->dir, &sample, &err), TINKC_OK);
}

static void close_fix(fix *f)
{
    char command[96];
    tk_arena_dispose(&f->arena);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
}

static tinkc_code read_label(fix *f, srv_label *out)
{
    tk_err err = TK_ERR_INIT;
    return srv_label_read(out, &f->arena, f->dir, &err);
}

static void test_srv_labels_are_read_back(void **state)
{
    fix f;
    srv_label label;
    open_fix(&f);
    assert_int_equal(read_label(&f, &label), TINKC_OK);
    const srv_store_checkpoint *c = &label.checkpoint;
    assert_int_equal(c->row, 7);
    assert_int_equal(c->kind, TK_PATH_SAMPLER_WEIGHTS);
    assert_true(tk_str_eq(c->run_id, sample.run.id));
    assert_true(tk_str_eq(c->name, sample.checkpoint.name));
    assert_true(tk_str_eq(c->dir, sample.checkpoint.dir));
    assert_int_equal(c->created_us, sample.checkpoint.created_us);
    assert_int_equal(c->expires_us, sample.checkpoint.expires_us);
    assert_int_equal(c->size_bytes, sample.checkpoint.size_bytes);
    assert_true(c->is_public && c->has_optimizer);
    assert_true(tk_str_eq(label.run.session_id, sample.run.session_id));
    assert_true(tk_str_eq(label.run.base_model, sample.run.base_model));
    assert_true(tk_str_eq(label.run.user_metadata, sample.run.user_metadata));
    assert_int_equal(label.run.rank, 32);
    assert_true(label.run.train_unembed && !label.run.train_mlp && !label.run.train_attn);
    assert_int_equal(label.run.created_us, 5);
    close_fix(&f);
}

/* A label that was cut off anywhere is an error. */
static void test_srv_cut_labels_are_refused(void **state)
{
    fix f;
    srv_label label;
    char *text = NULL;
    size_t n = 0;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    assert_int_equal(tk_file_read(&text, &n, f.file, TK_MIB, &err), TINKC_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(truncate(f.file, (off_t)(n - 1 - i)), 0);
        assert_int_equal(read_label(&f, &label), TINKC_E_PARSE);
    }
    assert_int_equal(tk_file_replace(f.file, text, n, 0600, &err), TINKC_OK);
    assert_int_equal(read_label(&f, &label), TINKC_OK);
    tk_free(text);
    close_fix(&f);
}

static void expect_code(fix *f, const char *sed, tinkc_code code)
{
    char command[256];
    srv_label label;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(srv_label_write(f->dir, &sample, &err), TINKC_OK);
    (void)snprintf(command, sizeof(command), "sed -i '%s' %s", sed, f->file);
    assert_int_equal(system(command), 0);
    assert_int_equal(read_label(f, &label), code);
}

static void test_srv_other_files_are_not_labels(void **state)
{
    fix f;
    open_fix(&f);
    expect_code(&f, "s/tinkc_checkpoint/other/", TINKC_E_DECODE);
    expect_code(&f, "s/\"version\":1/\"version\":2/", TINKC_E_DECODE);
    expect_code(&f, "s/\"row\":7/\"row\":9223372036854775807/", TINKC_E_DECODE);
    expect_code(&f, "s/\"row\":7/\"row\":-1/", TINKC_E_DECODE);
    expect_code(&f, "s/\"sampler_weights\"/\"x\"/", TINKC_E_DECODE);
    expect_code(&f, "s/\"lora_rank\":32,//", TINKC_E_DECODE);
    expect_code(&f, "s/\"row\":7/\"row\":7,\"later\":[1]/", TINKC_OK);
    assert_int_equal(truncate(f.file, (off_t)TK_SRV_LABEL_BYTES + 1), 0);
    srv_label label;
    assert_int_equal(read_label(&f, &label), TINKC_E_LIMIT);
    assert_int_equal(remove(f.file), 0);
    assert_int_equal(read_label(&f, &label), TINKC_E_MISSING);
    close_fix(&f);
}

static void test_srv_deletions_can_be_taken_back(void **state)
{
    fix f;
    srv_label label;
    tk_err err = TK_ERR_INIT;
    open_fix(&f);
    assert_false(srv_label_is_buried(f.dir));
    assert_int_equal(srv_label_bury(f.dir, &err), TINKC_OK);
    assert_true(srv_label_is_buried(f.dir));
    assert_int_equal(read_label(&f, &label), TINKC_E_MISSING);
    assert_int_equal(srv_label_bury(f.dir, &err), TINKC_E_MISSING);
    tk_err_clear(&err);
    assert_int_equal(srv_label_unearth(f.dir, &err), TINKC_OK);
    assert_false(srv_label_is_buried(f.dir));
    assert_int_equal(read_label(&f, &label), TINKC_OK);
    close_fix(&f);
}

/* A deletion that cannot be made to last did not happen: here no descriptor is left for
 * the sync of the directory. */
static void test_srv_failed_deletions_leave_the_label(void **state)
{
    fix f;
    srv_label label;
    tk_err err = TK_ERR_INIT;
    struct rlimit all;
    open_fix(&f);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    const struct rlimit none = {0, all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    tinkc_code code = srv_label_bury(f.dir, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_int_equal(code, TINKC_E_IO);
    assert_false(srv_label_is_buried(f.dir));
    assert_int_equal(read_label(&f, &label), TINKC_OK);
    close_fix(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_labels_are_read_back),
        cmocka_unit_test(test_srv_cut_labels_are_refused),
        cmocka_unit_test(test_srv_other_files_are_not_labels),
        cmocka_unit_test(test_srv_deletions_can_be_taken_back),
        cmocka_unit_test(test_srv_failed_deletions_leave_the_label),
    };
    return cmocka_run_group_tests_name("srv_label", tests, NULL, NULL);
}
