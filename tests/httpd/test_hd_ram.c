/* Limits of control groups, from files as Linux shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "httpd/hd_ram.h"
#include "support/test.h"

static void write_file(const char *root, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_dir(const char *root, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void test_hd_ram_obeys_groups(void **state)
{
    char root[] = "/tmp/tinkc-ram-XXXXXX";
    char command[64];
    assert_non_null(mkdtemp(root));
    make_dir(root, "a");
    make_dir(root, "a/b");
    write_file(root, "a/memory.max", "500000\n");
    write_file(root, "a/b/memory.max", "max\n");
    make_dir(root, "memory");
    make_dir(root, "memory/c");
    write_file(root, "memory/c/memory.limit_in_bytes", "300000\n");
    write_file(root, "memory/memory.limit_in_bytes", "9223372036854771712\n");
    /* Version 2: an ancestor's limit counts. */
    assert_int_equal(hd_ram_limit(root, TK_STR("0::/a/b\n")), 500000);
    /* Version 1, among other controllers. */
    assert_int_equal(hd_ram_limit(root, TK_STR("3:cpu:/a\n4:memory,x:/c\n")), 300000);
    assert_int_equal(hd_ram_limit(root, TK_STR("4:memory:/c\n0::/a/b\n")), 300000);
    /* A path of the host, a group without limit, nonsense. */
    assert_int_equal(hd_ram_limit(root, TK_STR("4:memory:/far/away\n")),
                     9223372036854771712u);
    assert_int_equal(hd_ram_limit(root, TK_STR("0::/x\n3:cpu:/c\n\n:::\n")), SIZE_MAX);
    assert_true(hd_ram_bytes() > 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hd_ram_obeys_groups)};
    return cmocka_run_group_tests_name("hd_ram", tests, NULL, NULL);
}
