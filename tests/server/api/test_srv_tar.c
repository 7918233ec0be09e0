/* The tar of a checkpoint is computed from its files: the same bytes from any place, for as
 * long as it is open, and nothing is written for it. */
#include "server/api/srv_tar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rand.h"
#include "server/srvfix.h"

#define TIME_US (INT64_C(1700000000) * 1000000)

static void run_in(const char *dir, const char *script)
{
    char command[512];
    (void)snprintf(command, sizeof(command), "cd %s && %s", dir, script);
    if (system(command) != 0) {
        fail_msg("%s", command);
    }
}

static tk_arena arena; /* of the small files */

static srv_tar *open_tar(const char *dir)
{
    srv_tar *tar = NULL;
    tk_err err = TK_ERR_INIT;
    if (srv_tar_open(&tar, &arena, dir, TIME_US, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return tar;
}

/* The whole tar, in pieces of at most `piece` bytes. */
static char *read_all(srv_tar *tar, size_t piece)
{
    size_t size = (size_t)srv_tar_size(tar);
    char *all = tk_malloc(size);
    assert_non_null(all);
    for (size_t at = 0; at < size;) {
        long n = srv_tar_read(tar, (int64_t)at, all + at, TK_MIN(piece, size - at));
        assert_in_range(n, 1, TK_MIN(piece, size - at));
        at += (size_t)n;
    }
    return all;
}

static void make_files(char dir[64], const char *script)
{
    srvfix_make_dir(dir);
    run_in(dir, "echo '{}' > adapter_config.json && "
                "head -c 100000 /dev/urandom > adapter_model.safetensors && "
                "echo secret > tinkc.json");
    run_in(dir, script);
}

/* What GNU tar unpacks is what the files are, and nothing else. */
static void test_srv_tar_unpacks(void **state)
{
    char dir[64], path[96];
    make_files(dir, "mkdir out");
    srv_tar *tar = open_tar(dir);
    char *all = read_all(tar, 4096);
    (void)snprintf(path, sizeof(path), "%s/got.tar", dir);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(all, 1, (size_t)srv_tar_size(tar), out), srv_tar_size(tar));
    assert_int_equal(fclose(out), 0);
    run_in(dir, "tar -C out -xf got.tar && "
                "test \"$(echo $(ls out))\" = 'adapter_config.json "
                "adapter_model.safetensors checkpoint_complete' && "
                "cmp out/adapter_config.json adapter_config.json && "
                "cmp out/adapter_model.safetensors adapter_model.safetensors && "
                "test ! -s out/checkpoint_complete && "
                "test \"$(stat -c %Y out/adapter_config.json)\" = 1700000000");
    tk_free(all);
    srv_tar_free(tar);
    run_in(dir, "rm -rf \"$PWD\"");
}

static void test_srv_tar_reads_from_any_place(void **state)
{
    char dir[64], some[600];
    tk_rand rand;
    make_files(dir, "true");
    tk_rand_init(&rand, 7);
    srv_tar *tar = open_tar(dir);
    uint64_t size = (uint64_t)srv_tar_size(tar);
    char *all = read_all(tar, 1);
    for (int i = 0; i < 5000; i++) {
        uint64_t at = i < 2000 ? (uint64_t)i : tk_rand_below(&rand, size);
        long n = srv_tar_read(tar, (int64_t)at, some, sizeof(some));
        assert_in_range(n, 1, TK_MIN(sizeof(some), size - at));
        assert_memory_equal(some, all + at, (size_t)n);
    }
    tk_free(all);
    srv_tar_free(tar);
    run_in(dir, "rm -rf \"$PWD\"");
}

/* A checkpoint that is deleted during a download is read to its end; a file that became
 * shorter ends it. */
static void test_srv_tar_outlives_its_files(void **state)
{
    char dir[64], some[512];
    make_files(dir, "true");
    srv_tar *tar = open_tar(dir);
    char *before = read_all(tar, 4096);
    run_in(dir, "rm adapter_*");
    char *after = read_all(tar, 4096);
    assert_memory_equal(before, after, (size_t)srv_tar_size(tar));
    srv_tar_free(tar);
    tk_free(before);
    tk_free(after);
    run_in(dir, "echo '{}' > adapter_config.json && "
                "head -c 9000 /dev/zero > adapter_model.safetensors");
    tar = open_tar(dir);
    run_in(dir, "truncate -s 10 adapter_model.safetensors");
    assert_int_equal(srv_tar_read(tar, 3 * 512 + 1000, some, sizeof(some)), -1);
    srv_tar_free(tar);
    run_in(dir, "rm -rf \"$PWD\"");
}

static void test_srv_tar_of_missing_files(void **state)
{
    char dir[64];
    srv_tar *tar = NULL;
    tk_err err = TK_ERR_INIT;
    make_files(dir, "rm adapter_model.safetensors");
    assert_int_equal(srv_tar_open(&tar, &arena, dir, 0, &err), TINKC_E_MISSING);
    tk_err_clear(&err);
    run_in(dir, "ln -s /etc/passwd adapter_model.safetensors");
    assert_int_equal(srv_tar_open(&tar, &arena, dir, 0, &err), TINKC_E_IO);
    assert_null(strstr(err.message, dir));
    run_in(dir, "rm -rf \"$PWD\"");
}

/* More than octal digits hold: GNU tar reads the size of the member. */
static void test_srv_tar_of_a_large_file(void **state)
{
    char dir[64], path[96], head[4096];
    make_files(dir, "truncate -s 9G adapter_model.safetensors");
    srv_tar *tar = open_tar(dir);
    assert_true(srv_tar_size(tar) > INT64_C(9) << 30);
    for (size_t at = 0; at < sizeof(head);) {
        long n = srv_tar_read(tar, (int64_t)at, head + at, sizeof(head) - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    (void)snprintf(path, sizeof(path), "%s/head.tar", dir);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(head, 1, sizeof(head), out), sizeof(head));
    assert_int_equal(fclose(out), 0);
    run_in(dir, "tar tvf head.tar 2>/dev/null | grep -q ' 9663676416 .*adapter_model'");
    srv_tar_free(tar);
    run_in(dir, "rm -rf \"$PWD\"");
}

/* adapter_config.json is in memory: a tar holds one descriptor. */
static void test_srv_tar_holds_one_file(void **state)
{
    char dir[64];
    make_files(dir, "true");
    srv_tar *tar = open_tar(dir);
    int fd = open(dir, O_RDONLY | O_CLOEXEC); /* the lowest that is free */
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    srv_tar_free(tar);
    int lowest = open(dir, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fd - lowest, 1);
    assert_int_equal(close(lowest), 0);
    run_in(dir, "rm -rf \"$PWD\"");
}

static int free_arena(void **state)
{
    tk_arena_dispose(&arena);
    return 0;
}

int main(void)
{
    tk_arena_init(&arena, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_tar_unpacks),
        cmocka_unit_test(test_srv_tar_reads_from_any_place),
        cmocka_unit_test(test_srv_tar_outlives_its_files),
        cmocka_unit_test(test_srv_tar_of_missing_files),
        cmocka_unit_test(test_srv_tar_of_a_large_file),
        cmocka_unit_test(test_srv_tar_holds_one_file),
    };
    return cmocka_run_group_tests_name("srv_tar", tests, NULL, free_arena);
}
