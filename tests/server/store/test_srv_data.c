/* Whose directory it is: new and empty ones and those of the server are taken, all others
 * are left untouched. */
#include "server/store/srv_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include "server/srvfix.h"

static void run_in(const char *dir, const char *script)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "cd %s && %s", dir, script);
    if (system(command) != 0) {
        fail_msg("%s", command);
    }
}

static tinkc_code claim_after(const char *script)
{
    char dir[64];
    struct stat st;
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(dir);
    run_in(dir, script);
    assert_int_equal(chmod(dir, 0755), 0);
    tinkc_code code = srv_data_claim(dir, NULL, &err);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, code == TINKC_OK ? 0700 : 0755);
    run_in(dir, "rm -rf \"$PWD\"");
    return code;
}

static void test_srv_own_directories_are_taken(void **state)
{
    assert_int_equal(claim_after("true"), TINKC_OK);
    assert_int_equal(claim_after("touch lock users local.log && mkdir lost+found"),
                     TINKC_OK);
    assert_int_equal(claim_after("touch tinkc.db && mkdir checkpoints"), TINKC_OK);
    assert_int_equal(claim_after("echo '{\"type\":\"tinkc_data\",\"version\":1,"
                                 "\"instance\":\"x\"}' > tinkc.json && touch other"),
                     TINKC_OK);
}

static void test_srv_foreign_directories_are_refused(void **state)
{
    assert_int_equal(claim_after("touch train.py"), TINKC_E_CONFIG);
    assert_int_equal(claim_after("mkdir checkpoints"), TINKC_E_CONFIG);
    assert_int_equal(claim_after("touch .hidden"), TINKC_E_CONFIG);
    assert_int_equal(claim_after("touch lock && mkdir tinkc.db"), TINKC_E_CONFIG);
    assert_int_equal(claim_after("echo '{}' > tinkc.json"), TINKC_E_CONFIG);
    /* the directory of a checkpoint */
    assert_int_equal(claim_after("echo '{\"type\":\"tinkc_checkpoint\",\"version\":1,"
                                 "\"instance\":\"x\"}' > tinkc.json"),
                     TINKC_E_CONFIG);
    assert_int_equal(claim_after("echo '{\"type\":\"tinkc_data\",\"version\":99,"
                                 "\"instance\":\"x\"}' > tinkc.json"),
                     TINKC_E_UNSUPPORTED);
}

static void test_srv_marks_are_read_back(void **state)
{
    char dir[64], instance[SRV_DATA_INSTANCE_SIZE] = "";
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(dir);
    assert_int_equal(srv_data_read_mark(instance, dir, &err), TINKC_E_MISSING);
    tk_err_clear(&err);
    assert_int_equal(srv_data_write_mark(dir, "0123abcd", &err), TINKC_OK);
    assert_int_equal(srv_data_read_mark(instance, dir, &err), TINKC_OK);
    assert_string_equal(instance, "0123abcd");
    run_in(dir, "rm -rf \"$PWD\"");
}

/* Two things of one name go to different places. */
static void test_srv_aside_keeps_all(void **state)
{
    char dir[64];
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(dir);
    for (int i = 0; i < 2; i++) {
        run_in(dir, "mkdir -p a/b && date > a/b/file");
        assert_int_equal(srv_data_set_aside(dir, "a/b", "test", NULL, &err), TINKC_OK);
        run_in(dir, "test ! -e a/b");
    }
    run_in(dir, "test \"$(ls aside/*/a/b/file | wc -l)\" = 2");
    assert_int_not_equal(srv_data_set_aside(dir, "a/b", "test", NULL, &err), TINKC_OK);
    run_in(dir, "rm -rf \"$PWD\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_own_directories_are_taken),
        cmocka_unit_test(test_srv_foreign_directories_are_refused),
        cmocka_unit_test(test_srv_marks_are_read_back),
        cmocka_unit_test(test_srv_aside_keeps_all),
    };
    return cmocka_run_group_tests_name("srv_data", tests, NULL, NULL);
}
