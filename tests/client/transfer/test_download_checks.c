/* A download is checked against checksums and limits before it counts: cut, hostile and
 * endless archives leave nothing behind (M-131).
 * Links: peer */
#include "support/downloadfix.h"

/* ---- checks ---- */

static void put_digest(downloadfix *f, bool right)
{
    char hex[TK_SHA256_HEX_BYTES];
    unsigned char bytes[32];
    tk_buf text;
    assert_int_equal(tk_sha256_hex(hex, f->blob.p, f->blob.n, NULL), TINKC_OK);
    for (size_t i = 0; i < 32; i++) {
        unsigned value = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (unsigned char)(value ^ (right ? 0u : 1u));
    }
    tk_buf_init(&text, 100);
    tk_base64_encode(&text, bytes, 32);
    (void)snprintf(f->headers, sizeof(f->headers),
                   "Repr-Digest: md5=:x:, sha-256=:%s:\r\n", tk_buf_cstr(&text));
    tk_buf_dispose(&text);
}

/* M-131: the server's checksum and the caller's are both compared with the bytes, also
 * across a cut. */
static void test_download_checksum(void **unused)
{
    static const uint64_t cuts[] = {123456};
    char hex[TK_SHA256_HEX_BYTES];
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    put_digest(&f, false);
    downloadfix_refused(&f, TINKC_E_DECODE, "checksum");
    f.headers[0] = '\0';
    f.options.sha256 = "00000000000000000000000000000000000000000000000000000000000000ff";
    downloadfix_refused(&f, TINKC_E_DECODE, "checksum");
    f.options.sha256 = "abc";
    downloadfix_refused(&f, TINKC_E_INVALID, "sha256");
    f.options.sha256 = NULL;
    put_digest(&f, true);
    f.cuts = cuts;
    f.cuts_n = fileserver_requests(f.files) + 1;
    uint64_t all[8] = {FILESERVER_NO_CUT, FILESERVER_NO_CUT, 123456};
    f.cuts = all;
    f.cuts_n = 3;
    assert_int_equal(tk_sha256_hex(hex, f.blob.p, f.blob.n, NULL), TINKC_OK);
    f.options.sha256 = hex;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    downloadfix_content(&f);
    downloadfix_close(&f);
}

static void wrong_range(downloadfix *f, size_t index, fileserver_reply *reply)
{
    reply->wrong_range = index > 0 ? 512 : 0;
}

/* Bytes of another place than asked for are not taken. */
static void test_download_wrong_range(void **unused)
{
    static const uint64_t cuts[] = {100000};
    downloadfix f;
    downloadfix_open(&f, downloadfix_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = wrong_range;
    downloadfix_refused(&f, TINKC_E_DECODE, "range");
    downloadfix_close(&f);
}

/* M-131: cut at any block, compressed or not: an error, and nothing left. */
static void test_download_truncated_archive(void **unused)
{
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP};
    static const size_t keep[] = {0, 1, 100, 512, 1536, 2048, 3072, 4096, 300000};
    for (size_t i = 0; i < TK_ARRAY_LEN(filters); i++) {
        downloadfix_blob whole = downloadfix_checkpoint(filters[i]);
        for (size_t k = 0; k < TK_ARRAY_LEN(keep); k++) {
            downloadfix f;
            assert_true(keep[k] < whole.n);
            downloadfix_open(&f, downloadfix_part(&whole, keep[k]), NULL);
            downloadfix_refused(&f, TINKC_E_PARSE, "archive");
            downloadfix_close(&f);
        }
        free(whole.p);
    }
}

/* M-131: a tar that ends between two members has no mark of its end. */
static void test_download_cut_between_members(void **unused)
{
    downloadfix_blob b;
    struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_NONE);
    downloadfix_add(archive, &(downloadfix_member){"a", 0, NULL, 512, NULL});
    downloadfix_add(archive, &(downloadfix_member){"b", 0, NULL, 512, NULL});
    downloadfix_tar_end(archive);
    for (size_t n = 512; n <= 3072; n += 512) {
        downloadfix f;
        downloadfix_open(&f, downloadfix_part(&b, n), NULL);
        if (n <= 2048) {
            downloadfix_refused(&f, TINKC_E_PARSE, "archive");
        } else {
            assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
        }
        downloadfix_close(&f);
    }
    free(b.p);
}

/* Noise is not an archive. */
static void test_download_not_an_archive(void **unused)
{
    downloadfix f;
    downloadfix_open(&f, (downloadfix_blob){downloadfix_noise(100000), 100000, 0}, NULL);
    downloadfix_refused(&f, TINKC_E_PARSE, "archive");
    downloadfix_close(&f);
}

/* M-131: members that are not allowed, each after a good one. */
static void test_download_hostile_members(void **unused)
{
    char deep[200] = "";
    for (int i = 0; i < 40; i++) {
        memcpy(deep + strlen(deep), "d/", 3);
    }
    char *wide = malloc(300);
    memset(wide, 'w', 299);
    wide[299] = '\0';
    const struct {
        downloadfix_member bad;
        tinkc_code code;
        const char *text;
    } rows[] = {
        {{"link", AE_IFLNK, "/etc/passwd", 0, NULL}, TINKC_E_DECODE, "link"},
        {{"link", AE_IFLNK, "good", 0, NULL}, TINKC_E_DECODE, "link"},
        {{"hard", 0, "good", 0, NULL}, TINKC_E_DECODE, "link"},
        {{"hard", 0, "/etc/passwd", 0, NULL}, TINKC_E_DECODE, "link"},
        {{"fifo", AE_IFIFO, NULL, 0, NULL}, TINKC_E_DECODE, "neither"},
        {{"device", AE_IFCHR, NULL, 0, NULL}, TINKC_E_DECODE, "neither"},
        {{"disk", AE_IFBLK, NULL, 0, NULL}, TINKC_E_DECODE, "neither"},
        {{"/nonexistent/evil", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "absolute"},
        {{"/nonexistent", AE_IFDIR, NULL, 0, NULL}, TINKC_E_DECODE, "absolute"},
        {{"../evil", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "out of"},
        {{"a/../../evil", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "out of"},
        {{"a/..", AE_IFDIR, NULL, 0, NULL}, TINKC_E_DECODE, "out of"},
        {{"good", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "twice"},
        {{"good/inside", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "one name"},
        {{deep, AE_IFDIR, NULL, 0, NULL}, TINKC_E_DECODE, "deep"},
        {{wide, 0, NULL, 3, "bad"}, TINKC_E_DECODE, "long"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        downloadfix f;
        downloadfix_blob b;
        struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_GZIP);
        downloadfix_add(archive, &(downloadfix_member){"good", 0, NULL, 4, "good"});
        downloadfix_add(archive, &rows[i].bad);
        downloadfix_tar_end(archive);
        downloadfix_open(&f, b, NULL);
        downloadfix_refused(&f, rows[i].code, rows[i].text);
        downloadfix_close(&f);
    }
    free(wide);
    assert_int_equal(access("/nonexistent/evil", F_OK), -1);
}

/* Archives of a whole directory may begin with that directory, under one of these names:
 * it is the target. SkyRL writes "/". */
static void test_download_root_member(void **unused)
{
    static const char *const names[] = {"/", "./", ".", "//"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        downloadfix f;
        downloadfix_blob b;
        struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_GZIP);
        downloadfix_add(archive,
                        &(downloadfix_member){names[i], AE_IFDIR, NULL, 0, NULL});
        downloadfix_add(archive, &(downloadfix_member){"good", 0, NULL, 4, "good"});
        downloadfix_tar_end(archive);
        downloadfix_open(&f, b, NULL);
        assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
        assert_int_equal(downloadfix_entries(f.target), 1);
        downloadfix_close(&f);
    }
}

/* M-131: bombs: by ratio, by size, by number. */
static void test_download_bombs(void **unused)
{
    downloadfix f;
    downloadfix_blob b;
    struct archive *archive = downloadfix_tar(&b, ARCHIVE_FILTER_GZIP);
    downloadfix_add(archive, &(downloadfix_member){"zeros", 0, NULL,
                                                   (size_t)100 * 1000 * 1000, NULL});
    downloadfix_tar_end(archive);
    assert_true(b.n < 1000000);
    downloadfix_open(&f, b, NULL);
    downloadfix_refused(&f, TINKC_E_LIMIT, "times its size");
    f.options.max_bytes = 1000000;
    downloadfix_refused(&f, TINKC_E_LIMIT, "more than 1000000 bytes");
    downloadfix_close(&f);
    archive = downloadfix_tar(&b, ARCHIVE_FILTER_GZIP);
    for (int i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "f%d", i);
        downloadfix_add(archive, &(downloadfix_member){name, 0, NULL, 1, "x"});
    }
    downloadfix_tar_end(archive);
    downloadfix_open(&f, b, NULL);
    f.options.max_files = 29;
    downloadfix_refused(&f, TINKC_E_LIMIT, "29 members");
    f.options.max_files = 30;
    assert_int_equal(downloadfix_get(&f, NULL, NULL), TINKC_OK);
    assert_int_equal(downloadfix_entries(f.target), 30);
    downloadfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_download_checksum),
        cmocka_unit_test(test_download_wrong_range),
        cmocka_unit_test(test_download_truncated_archive),
        cmocka_unit_test(test_download_cut_between_members),
        cmocka_unit_test(test_download_not_an_archive),
        cmocka_unit_test(test_download_hostile_members),
        cmocka_unit_test(test_download_root_member),
        cmocka_unit_test(test_download_bombs),
    };
    return cmocka_run_group_tests_name("download_checks", tests, NULL, NULL);
}
