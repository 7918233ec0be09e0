/* Texts of errors keep names of files and lose where they are. */
#include "httpd/hd_reply.h"

#include <stdio.h>

#include "support/test.h"

static void expect(const char *from, const char *to)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "%s", from);
    hd_reply_hide_paths(text);
    assert_string_equal(text, to);
}

static void test_hd_paths_are_hidden(void **state)
{
    expect("cannot open /home/a b/run:train:0/x.json: No such file or directory",
           "cannot open x.json: No such file or directory");
    expect("/data/checkpoints", "checkpoints");
    expect("make directory /data/checkpoints/.work/", "make directory .work/");
    expect("'/srv/m/config.json' is damaged (see /srv/log)", "'log)");
    expect("/a/b: /c/d: failed", "b: d: failed");
}

static void test_hd_other_slashes_stay(void **state)
{
    expect("", "");
    expect("/", "/");
    expect("Checkpoint tinker://r:train:0/weights/one already exists",
           "Checkpoint tinker://r:train:0/weights/one already exists");
    expect("Content-Type must be application/json",
           "Content-Type must be application/json");
    expect("weights/<name> or sampler_weights/<name>",
           "weights/<name> or sampler_weights/<name>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_paths_are_hidden),
        cmocka_unit_test(test_hd_other_slashes_stay),
    };
    return cmocka_run_group_tests_name("hd_reply", tests, NULL, NULL);
}
