/* `tinkc auth`: the credentials file is written for its owner only, in the form that the
 * official program reads, and the key never shows. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"

#define STORED "tml-stored-0123456789wxyz"

typedef struct home {
    clifix f;
    char dir[32], env[64], file[96], folder[64];
} home;

static void begin(home *h)
{
    clifix_begin(&h->f);
    (void)snprintf(h->dir, sizeof(h->dir), "/tmp/tinkc-test-XXXXXX");
    assert_non_null(mkdtemp(h->dir));
    (void)snprintf(h->env, sizeof(h->env), "HOME=%s", h->dir);
    (void)snprintf(h->folder, sizeof(h->folder), "%s/.tinker", h->dir);
    (void)snprintf(h->file, sizeof(h->file), "%s/credentials.json", h->folder);
    clifix_env(&h->f, h->env);
}

static void end(home *h)
{
    (void)unlink(h->file);
    (void)rmdir(h->folder);
    (void)rmdir(h->dir);
    clifix_end(&h->f);
}

static void run(home *h, const char *line, const char *input, int status)
{
    h->f.options.input = input;
    proc *p = clifix_run(&h->f, line);
    if (p->status != status) {
        print_error("tinkc %s\n%s", line, proc_err(p));
    }
    assert_int_equal(p->status, status);
    assert_null(strstr(proc_out(p), "tml-stored"));
    assert_null(strstr(proc_err(p), "tml-stored"));
    proc_free(&p);
}

static void expect_file(home *h, const char *want)
{
    char *text = NULL;
    struct stat st;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_read(&text, NULL, h->file, 65536, &err), TINKC_OK);
    assert_string_equal(text, want);
    tk_free(text);
    assert_int_equal(stat(h->file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(h->folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

#define RECORD "\"tinkc\":{\"type\":\"manual\",\"key\":\"" STORED "\",\"name\":\"tinkc\"}"

static void test_auth_login_logout(void **unused)
{
    home h;
    begin(&h);
    run(&h, "auth logout", NULL, 1);
    run(&h, "auth login", "", 1);
    run(&h, "auth login", "sk-nothing\n", 1);
    run(&h, "auth login", "tml-with blank\n", 1);
    run(&h, "auth login", " " STORED "\n", 0);
    expect_file(&h, "{\"version\":1,\"default\":\"tinkc\",\"keys\":{" RECORD "}}\n");
    run(&h, "auth login", STORED "\n", 1); /* logged in already */
    run(&h, "auth logout", NULL, 0);
    expect_file(&h, "{\"version\":1,\"keys\":{}}\n");
    end(&h);
}

/* Keys that another program stored stay as they are. */
static void test_auth_keeps_others(void **unused)
{
    static const char theirs[] =
        "{\"version\":1,\"keys\":{\"7d1e\":{\"type\":\"generated\",\"key\":\"tml-a\","
        "\"name\":\"n\",\"details\":{\"x\":[1]}}}}";
    home h;
    tk_err err = TK_ERR_INIT;
    begin(&h);
    assert_int_equal(mkdir(h.folder, 0700), 0);
    assert_int_equal(tk_file_replace(h.file, theirs, sizeof(theirs) - 1, 0600, &err),
                     TINKC_OK);
    run(&h, "auth login", STORED "\n", 0);
    expect_file(
        &h,
        "{\"version\":1,\"default\":\"tinkc\",\"keys\":{\"7d1e\":{\"type\":"
        "\"generated\",\"key\":\"tml-a\",\"name\":\"n\",\"details\":{\"x\":[1]}}," RECORD
        "}}\n");
    end(&h);
}

static void test_auth_status(void **unused)
{
    home h;
    char want[256];
    begin(&h);
    (void)snprintf(want, sizeof(want),
                   "{\n  \"file\": \"%s\",\n  \"name\": null,\n  \"key\": null\n}\n",
                   h.file);
    clifix_expect(&h.f, "auth status -f json", want);
    run(&h, "auth login", STORED "\n", 0);
    (void)snprintf(want, sizeof(want),
                   "{\n  \"file\": \"%s\",\n  \"name\": \"tinkc\",\n  \"key\": "
                   "\"tml-...wxyz\"\n}\n",
                   h.file);
    h.f.options.input = NULL;
    clifix_expect(&h.f, "auth status -f json", want);
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_auth_login_logout),
                                       cmocka_unit_test(test_auth_keeps_others),
                                       cmocka_unit_test(test_auth_status)};
    return cmocka_run_group_tests_name("cmd_auth", tests, NULL, NULL);
}
