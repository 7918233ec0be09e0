/* The log of episodes: what it holds after a kill at any byte, flipped bits, faults of the
 * disk, files that go, foreign directories. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "gateway/gw_log.h"
#include "support/failmem.h"
#include "support/gwfix.h"

#define RECORDS 6

typedef struct found { /* what a log holds */
    gw_place places[64];
    uint32_t seqs[64];
    char ids[64][16];
    gw_kind kinds[64];
    size_t n;
} found;

static tinkc_code on_entry(void *user, const gw_entry *entry, gw_place place, tk_err *err)
{
    found *f = user;
    assert_true(f->n < 64);
    f->places[f->n] = place;
    f->seqs[f->n] = entry->seq;
    f->kinds[f->n] = entry->kind;
    (void)snprintf(f->ids[f->n], 16, TK_STR_FMT, TK_STR_ARG(entry->id));
    f->n++;
    return TINKC_OK;
}

static gw_log *open_log(const char *dir, found *f, const gw_log_calls *calls)
{
    gw_log *log = NULL;
    tk_err err = TK_ERR_INIT;
    gw_log_config config = {.dir = dir, .on_entry = on_entry, .user = f};
    if (calls != NULL) {
        config.calls = *calls;
    }
    f->n = 0;
    if (gw_log_open(&log, &config, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return log;
}

static void body_of(char out[64], uint32_t seq)
{
    (void)snprintf(out, 64, "body %u gwR1 ggg %.*s", seq, (int)(seq * 5),
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

static tinkc_code append(gw_log *log, uint32_t seq, tk_err *err)
{
    char body[64];
    gw_place place;
    gw_entry entry = {GW_KIND_DATA, 7, seq, TK_STR("ep")};
    body_of(body, seq);
    return gw_log_append(&place, log, &entry, tk_str_of(body), err);
}

/* Every record that was found is one that was written, in order. */
static void check_found(gw_log *log, const found *f, uint32_t first, size_t n)
{
    assert_int_equal(f->n, n);
    for (size_t i = 0; i < n; i++) {
        char body[64];
        tk_buf out;
        tk_buf_init(&out, TK_MIB);
        assert_int_equal(f->seqs[i], first + i);
        assert_string_equal(f->ids[i], "ep");
        assert_int_equal(gw_log_read(&out, log, f->places[i], NULL), TINKC_OK);
        body_of(body, f->seqs[i]);
        assert_string_equal(tk_buf_cstr(&out), body);
        tk_buf_dispose(&out);
    }
}

static void file_of(char out[128], const char *dir)
{
    (void)snprintf(out, 128, "%s/episodes-%08u.log", dir, 1U);
}

static char *write_some(const char *dir, size_t *n)
{
    found f;
    char path[128], *bytes = NULL;
    gw_log *log = open_log(dir, &f, NULL);
    for (uint32_t i = 0; i < RECORDS; i++) {
        assert_int_equal(append(log, i, NULL), TINKC_OK);
    }
    gw_log_close(log);
    file_of(path, dir);
    assert_int_equal(tk_file_read(&bytes, n, path, TK_MIB, NULL), TINKC_OK);
    return bytes;
}

static size_t size_of_file(const char *dir)
{
    char path[128];
    struct stat st;
    file_of(path, dir);
    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

static void put_file(const char *dir, const char *bytes, size_t n)
{
    char path[128];
    file_of(path, dir);
    assert_int_equal(tk_file_replace(path, bytes, n, 0600, NULL), TINKC_OK);
}

/* G-007: a kill in the middle of a write leaves any beginning of the file. */
static void test_cut_at_every_byte(void **state)
{
    char dir[64];
    size_t n = 0, ends[RECORDS], full = 0;
    found f;
    gwfix_directory(dir);
    char *bytes = write_some(dir, &n);
    gw_log *log = open_log(dir, &f, NULL);
    check_found(log, &f, 0, RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        ends[i] = (size_t)f.places[i].offset + f.places[i].n;
    }
    gw_log_close(log);
    for (size_t cut = 0; cut <= n; cut++) {
        gw_log_stats stats;
        put_file(dir, bytes, cut);
        for (full = 0; full < RECORDS && ends[full] <= cut;) {
            full++;
        }
        log = open_log(dir, &f, NULL);
        check_found(log, &f, 0, full);
        gw_log_get_stats(&stats, log);
        assert_int_equal(stats.damaged, 0);
        assert_true(full == 0 || size_of_file(dir) == ends[full - 1]);
        assert_int_equal(append(log, (uint32_t)full, NULL), TINKC_OK); /* it goes on */
        gw_log_close(log);
        log = open_log(dir, &f, NULL);
        check_found(log, &f, 0, full + 1);
        gw_log_close(log);
    }
    tk_free(bytes);
    gwfix_remove(dir);
}

/* G-007: one flipped bit costs one record, which is reported; none is invented. */
static void test_flip_every_byte(void **state)
{
    char dir[64];
    size_t n = 0;
    found f;
    gwfix_directory(dir);
    char *bytes = write_some(dir, &n);
    for (size_t at = 40; at < n; at++) {
        gw_log_stats stats;
        bytes[at] ^= (char)(1 << at % 8);
        put_file(dir, bytes, n);
        gw_log *log = open_log(dir, &f, NULL);
        assert_int_equal(f.n, RECORDS - 1);
        gw_log_get_stats(&stats, log);
        assert_int_equal(stats.damaged + (stats.torn_bytes > 0), 1);
        gw_log_close(log);
        bytes[at] ^= (char)(1 << at % 8);
    }
    bytes[3] ^= 1; /* of the head: the file is left alone, a new one is begun */
    put_file(dir, bytes, n);
    gw_log *log = open_log(dir, &f, NULL);
    assert_int_equal(f.n, 0);
    assert_int_equal(append(log, 0, NULL), TINKC_OK);
    gw_log_close(log);
    log = open_log(dir, &f, NULL);
    check_found(log, &f, 0, 1);
    assert_int_equal(f.places[0].segment, 2);
    gw_log_close(log);
    tk_free(bytes);
    gwfix_remove(dir);
}

/* ---- faults of the disk ---- */

static int write_fault, sync_fault;
static size_t write_limit; /* bytes until the disk is full */

static ssize_t fault_pwrite(int fd, const void *data, size_t n, off_t offset)
{
    if (write_fault != 0 && write_limit < n) {
        size_t some = write_limit;
        write_limit = 0;
        if (some > 0) {
            return pwrite(fd, data, some, offset);
        }
        errno = write_fault;
        return -1;
    }
    write_limit -= write_fault != 0 ? n : 0;
    return pwrite(fd, data, n, offset);
}

static int fault_sync(int fd)
{
    if (sync_fault != 0) {
        errno = sync_fault;
        return -1;
    }
    return fdatasync(fd);
}

static const gw_log_calls faults = {fault_pwrite, fault_sync};

/* G-008 */
static void test_full_disk(void **state)
{
    char dir[64];
    found f;
    gwfix_directory(dir);
    gw_log *log = open_log(dir, &f, &faults);
    for (uint32_t i = 0; i < 3; i++) {
        tk_err err = TK_ERR_INIT;
        assert_int_equal(append(log, i, NULL), TINKC_OK);
        write_fault = i == 1 ? EROFS : ENOSPC;
        write_limit = 10 * i; /* a part of it is written */
        assert_int_equal(append(log, 50, &err), TINKC_E_IO);
        assert_non_null(strstr(err.message, i == 1 ? "Read-only" : "No space left"));
        write_fault = 0;
    }
    gw_log_close(log);
    log = open_log(dir, &f, NULL);
    check_found(log, &f, 0, 3);
    gw_log_close(log);
    gwfix_remove(dir);
}

/* G-008 */
static void test_failed_sync(void **state)
{
    char dir[64];
    found f;
    tk_err err = TK_ERR_INIT;
    gwfix_directory(dir);
    gw_log *log = open_log(dir, &f, &faults);
    sync_fault = EIO;
    assert_int_equal(append(log, 0, NULL), TINKC_OK);
    assert_int_equal(gw_log_sync(log, &err), TINKC_E_IO);
    sync_fault = 0;
    tk_err_clear(&err);
    assert_int_equal(append(log, 1, &err), TINKC_E_IO); /* nobody knows what is there */
    assert_non_null(strstr(err.message, "cannot be synced"));
    gw_log_close(log);
    gwfix_remove(dir);
}

/* ---- the directory ---- */

static void test_directory(void **state)
{
    char dir[64], path[128];
    found f;
    struct stat st;
    gw_log *log = NULL, *second = NULL;
    tk_err err = TK_ERR_INIT;
    gw_log_config config = {.on_entry = on_entry, .user = &f};
    gwfix_directory(dir);
    config.dir = dir;
    (void)snprintf(path, sizeof(path), "%s/thesis.txt", dir);
    assert_int_equal(tk_file_replace(path, "x", 1, 0600, NULL), TINKC_OK);
    assert_int_equal(gw_log_open(&log, &config, &err), TINKC_E_CONFIG);
    assert_non_null(strstr(err.message, "thesis.txt"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing was written to it */

    log = open_log(dir, &f, NULL);
    assert_int_equal(append(log, 0, NULL), TINKC_OK);
    tk_err_clear(&err);
    assert_int_equal(gw_log_open(&second, &config, &err), TINKC_E_STATE);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    file_of(path, dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    gw_log_close(log);
    gwfix_remove(dir);
}

/* ---- files ---- */

/* G-009 */
static void test_files_go_oldest_first(void **state)
{
    char dir[64];
    found f = {.n = 0};
    gw_log *log = NULL;
    uint32_t due = 0;
    gw_place places[12];
    gw_log_stats stats;
    gw_log_config config = {
        .dir = dir, .segment_bytes = 200, .on_entry = on_entry, .user = &f};
    gwfix_directory(dir);
    assert_int_equal(gw_log_open(&log, &config, NULL), TINKC_OK);
    for (uint32_t i = 0; i < 12; i++) {
        gw_entry entry = {GW_KIND_DATA, 7, i, TK_STR("ep")};
        assert_int_equal(gw_log_append(&places[i], log, &entry,
                                       TK_STR("0123456789012345678901234567890123"),
                                       NULL),
                         TINKC_OK);
    }
    gw_log_get_stats(&stats, log);
    assert_true(stats.segments >= 4);
    assert_false(gw_log_is_due(&due, log));
    gw_log_forget(log, places[11]);
    for (size_t i = 4; i < 8; i++) {
        gw_log_forget(log, places[i]);
    }
    assert_false(gw_log_is_due(&due, log)); /* the first is needed */
    for (size_t i = 0; i < 4; i++) {
        gw_log_forget(log, places[i]);
    }
    assert_true(gw_log_is_due(&due, log));
    assert_int_equal(due, places[0].segment);
    gw_log_remove(log, due);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(gw_log_read(&out, log, places[0], NULL), TINKC_E_IO);
    assert_int_equal(gw_log_read(&out, log, places[10], NULL), TINKC_OK);
    tk_buf_dispose(&out);
    gw_log_close(log);
    assert_int_equal(gw_log_open(&log, &config, NULL), TINKC_OK);
    assert_int_equal(f.seqs[0], places[0].segment == places[3].segment ? 4 : 3);
    gw_log_close(log);
    gwfix_remove(dir);
}

/* G-009: a file whose head is damaged stays, and those after it go as if it were not
 * there. */
static void test_damaged_head_holds_up_nothing(void **state)
{
    char dir[64], path[128], *kept = NULL;
    size_t n = 0, n_kept = 0;
    found f = {.n = 0};
    gw_log_stats stats;
    uint32_t due = 0;
    gwfix_directory(dir);
    char *bytes = write_some(dir, &n);
    bytes[20] = (char)(bytes[20] ^ 1);
    put_file(dir, bytes, n);
    gw_log_config config = {
        .dir = dir, .segment_bytes = 200, .on_entry = on_entry, .user = &f};
    gw_log *log = NULL;
    assert_int_equal(gw_log_open(&log, &config, NULL), TINKC_OK);
    assert_int_equal(f.n, 0);
    for (uint32_t i = 0; i < 12; i++) {
        gw_place place;
        gw_entry entry = {GW_KIND_DATA, 7, i, TK_STR("ep")};
        assert_int_equal(gw_log_append(&place, log, &entry, TK_STR("body"), NULL),
                         TINKC_OK);
        assert_false(gw_log_is_due(&due, log) && due == 1);
        gw_log_forget(log, place);
    }
    gw_log_get_stats(&stats, log);
    assert_int_equal(stats.damaged, 1);
    assert_true(stats.segments >= 4);
    for (size_t left = stats.segments; left > 2; left--) {
        assert_true(gw_log_is_due(&due, log));
        assert_true(due > 1);
        gw_log_remove(log, due);
        gw_log_get_stats(&stats, log);
        assert_int_equal(stats.segments, left - 1);
    }
    assert_false(gw_log_is_due(&due, log)); /* the damaged one and the last are left */
    gw_log_close(log);
    file_of(path, dir);
    assert_int_equal(tk_file_read(&kept, &n_kept, path, TK_MIB, NULL), TINKC_OK);
    assert_int_equal(n_kept, n);
    assert_memory_equal(kept, bytes, n);
    tk_free(kept);
    tk_free(bytes);
    gwfix_remove(dir);
}

/* ---- many threads, and memory ---- */

typedef struct writer {
    gw_log *log;
    tk_thread thread;
    uint32_t from;
} writer;

static void write_many(void *user)
{
    writer *w = user;
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(append(w->log, w->from + i, NULL), TINKC_OK);
    }
}

static void test_threads(void **state)
{
    char dir[64];
    found f = {.n = 0};
    writer writers[4];
    bool seen[32] = {false};
    gw_log_config config = {
        .dir = dir, .segment_bytes = 300, .on_entry = on_entry, .user = &f};
    gw_log *log = NULL;
    gwfix_directory(dir);
    assert_int_equal(gw_log_open(&log, &config, NULL), TINKC_OK);
    for (size_t i = 0; i < 4; i++) {
        writers[i] = (writer){.log = log, .from = (uint32_t)i * 8};
        assert_int_equal(
            tk_thread_start(&writers[i].thread, "writer", write_many, &writers[i], NULL),
            TINKC_OK);
    }
    for (size_t i = 0; i < 4; i++) {
        tk_thread_join(&writers[i].thread);
    }
    gw_log_close(log);
    assert_int_equal(gw_log_open(&log, &config, NULL), TINKC_OK);
    assert_int_equal(f.n, 32);
    for (size_t i = 0; i < 32; i++) {
        assert_false(seen[f.seqs[i]]);
        seen[f.seqs[i]] = true;
    }
    gw_log_close(log);
    gwfix_remove(dir);
}

static bool scenario(void *user)
{
    char dir[64];
    found f = {.n = 0};
    gw_log *log = NULL;
    tk_buf out;
    gw_log_config config = {
        .dir = dir, .segment_bytes = 100, .on_entry = on_entry, .user = &f};
    bool is_ok = true;
    gwfix_directory(dir);
    tk_buf_init(&out, TK_MIB);
    for (int round = 0; is_ok && round < 2; round++) {
        is_ok = gw_log_open(&log, &config, NULL) == TINKC_OK;
        for (uint32_t i = 0; is_ok && i < 3; i++) {
            is_ok = append(log, i, NULL) == TINKC_OK;
        }
        if (is_ok && f.n > 0) {
            is_ok = gw_log_read(&out, log, f.places[0], NULL) == TINKC_OK;
        }
        gw_log_close(log);
        log = NULL;
    }
    tk_buf_dispose(&out);
    gwfix_remove(dir);
    return is_ok;
}

static void test_out_of_memory(void **state)
{
    assert_true(failmem_sweep(scenario, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_flip_every_byte),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_failed_sync),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_files_go_oldest_first),
        cmocka_unit_test(test_damaged_head_holds_up_nothing),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
