/* Downloads against a server of one file that is interrupted at will: the right files or
 * a clear error and nothing left behind (M-131).
 * Links: peer */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/download.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha256.h"
#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/fileserver.h"
#include "support/servicefix.h"

#define PATH    "tinker://r/weights/1"
#define ARCHIVE "/api/v1/training_runs/r/checkpoints/weights/1/archive"
#define WEIGHTS ((size_t)700000)

/* ---- archives ---- */

typedef struct blob {
    char *p;
    size_t n, capacity;
} blob;

static la_ssize_t collect(struct archive *archive, void *user, const void *p, size_t n)
{
    blob *b = user;
    (void)archive;
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n);
        b->p = realloc(b->p, b->capacity);
        assert_non_null(b->p);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    return (la_ssize_t)n;
}

static struct archive *begin_tar(blob *b, int filter)
{
    struct archive *archive = archive_write_new();
    *b = (blob){0};
    assert_int_equal(archive_write_set_format_pax_restricted(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(archive, filter), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(archive, 1); /* nothing behind the stream */
    assert_int_equal(archive_write_open(archive, b, NULL, collect, NULL), ARCHIVE_OK);
    return archive;
}

typedef struct member {
    const char *name;
    unsigned type;      /* AE_IF...; 0: a file */
    const char *target; /* of a symlink; with a file: of a hard link */
    size_t n;           /* content: zeros, or `data` */
    const char *data;
} member;

static void add(struct archive *archive, const member *m)
{
    static const char zeros[65536];
    struct archive_entry *entry = archive_entry_new();
    unsigned type = m->type != 0 ? m->type : AE_IFREG;
    archive_entry_set_pathname(entry, m->name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry,
                           m->target == NULL && type == AE_IFREG ? (int64_t)m->n : 0);
    if (m->target != NULL && type == AE_IFLNK) {
        archive_entry_set_symlink(entry, m->target);
    } else if (m->target != NULL) {
        archive_entry_set_hardlink(entry, m->target);
    }
    assert_true(archive_write_header(archive, entry) >= ARCHIVE_WARN);
    for (size_t left = type == AE_IFREG && m->target == NULL ? m->n : 0; left > 0;) {
        size_t n = m->data != NULL ? left : TK_MIN(left, sizeof(zeros));
        assert_int_equal(
            archive_write_data(archive, m->data != NULL ? m->data : zeros, n), n);
        left -= n;
    }
    archive_entry_free(entry);
}

static void end_tar(struct archive *archive)
{
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
}

static char *noise(size_t n)
{
    char *bytes = malloc(n);
    tk_rand rand;
    assert_non_null(bytes);
    tk_rand_init(&rand, 42);
    tk_rand_bytes(&rand, bytes, n);
    return bytes;
}

/* A checkpoint as the service writes it: a folder, small files, one large. */
static blob make_checkpoint(int filter)
{
    blob b;
    struct archive *archive = begin_tar(&b, filter);
    char *weights = noise(WEIGHTS);
    const member members[] = {
        {"./", AE_IFDIR, NULL, 0, NULL},
        {"adapter_config.json", 0, NULL, 9, "{\"r\": 32}"},
        {"./deep/er/adapter_model.safetensors", 0, NULL, WEIGHTS, weights},
        {"checkpoint_complete", 0, NULL, 0, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(members); i++) {
        add(archive, &members[i]);
    }
    end_tar(archive);
    free(weights);
    return b;
}

/* ---- the fixture ---- */

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
    fileserver *files;
    blob blob;
    char folder[64]; /* of the test; the target is "<folder>/out" */
    char target[80];
    tinkc_download_options options;
    /* what `decide` does */
    const uint64_t *cuts;
    size_t cuts_n;
    void (*decide)(struct fix *f, size_t index, fileserver_reply *reply);
    char headers[160];
} fix;

static void read_blob(void *user, uint64_t offset, char *p, size_t n)
{
    const fix *f = user;
    memcpy(p, f->blob.p + offset, n);
}

static void decide(void *user, size_t index, const char *head, fileserver_reply *reply)
{
    fix *f = user;
    assert_null(strstr(head, "X-API-Key")); /* the URL is the credential */
    assert_null(strstr(head, "Stainless"));
    reply->etag = "\"v1\"";
    reply->headers = f->headers;
    if (index < f->cuts_n) {
        reply->cut = f->cuts[index];
    }
    if (f->decide != NULL) {
        f->decide(f, index, reply);
    }
}

static void point_at_file(fix *f)
{
    char location[128];
    (void)snprintf(location, sizeof(location), "Location: %s\r\n",
                   fileserver_url(f->files));
    fakeapi_default(f->api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = location});
}

static void begin(fix *f, blob content, const char *const *options)
{
    *f = (fix){.blob = content, .options = TINKC_DOWNLOAD_OPTIONS_INIT};
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tinkc-download-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->target, sizeof(f->target), "%s/out", f->folder);
    f->options.retry_ms = 0;
    f->api = fakeapi_start();
    fakeapi_default(f->api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fileserver_options server = {f->blob.n, read_blob, decide, f};
    f->files = fileserver_start(&server);
    point_at_file(f);
    f->service = servicefix_open(f->api, options);
}

static size_t entries_in(const char *path)
{
    size_t n = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        n += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(folder);
    return n;
}

static void end(fix *f)
{
    char command[128];
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
    fileserver_stop(&f->files);
    free(f->blob.p);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
}

static tinkc_code get(fix *f, tinkc_progress *result, tinkc_error **error)
{
    return tinkc_download_checkpoint(result, f->service, PATH, f->target, &f->options,
                                     error);
}

/* It fails so, with this in its text, and leaves nothing. */
static void assert_refused(fix *f, tinkc_code code, const char *text)
{
    tinkc_error *error = NULL;
    assert_int_equal(get(f, NULL, &error), code);
    if (strstr(tinkc_error_message(error), text) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", tinkc_error_message(error), text);
    }
    tinkc_error_free(&error);
    assert_int_equal(entries_in(f->folder), 0);
}

static void assert_content(const fix *f)
{
    char path[160], sums[2][TK_SHA256_HEX_BYTES], *data = NULL;
    size_t n = 0;
    char *weights = noise(WEIGHTS);
    struct stat info;
    assert_int_equal(entries_in(f->folder), 1);
    assert_int_equal(entries_in(f->target), 3);
    (void)snprintf(path, sizeof(path), "%s/deep/er/adapter_model.safetensors", f->target);
    assert_int_equal(tk_file_read(&data, &n, path, WEIGHTS + 1, NULL), TINKC_OK);
    assert_int_equal(n, WEIGHTS);
    assert_int_equal(tk_sha256_hex(sums[0], data, n, NULL), TINKC_OK);
    assert_int_equal(tk_sha256_hex(sums[1], weights, WEIGHTS, NULL), TINKC_OK);
    assert_string_equal(sums[0], sums[1]);
    tk_free(data);
    free(weights);
    (void)snprintf(path, sizeof(path), "%s/adapter_config.json", f->target);
    assert_int_equal(tk_file_read(&data, &n, path, 100, NULL), TINKC_OK);
    assert_string_equal(data, "{\"r\": 32}");
    tk_free(data);
    (void)snprintf(path, sizeof(path), "%s/checkpoint_complete", f->target);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);
}

/* ---- what works ---- */

/* M-131: every compression that the official client takes, and zstd; both loops. */
static void test_download_formats(void **unused)
{
    (void)unused;
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,
                                  ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ,
                                  ARCHIVE_FILTER_ZSTD};
    static const char *const manual[] = {"loop", "manual", NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(filters); i++) {
        fix f;
        tinkc_progress result;
        begin(&f, make_checkpoint(filters[i]), i % 2 == 0 ? NULL : manual);
        assert_int_equal(get(&f, &result, NULL), TINKC_OK);
        assert_int_equal(result.received, f.blob.n);
        assert_int_equal(result.total, f.blob.n);
        assert_int_equal(result.written, WEIGHTS + 9);
        assert_int_equal(result.files, 3);
        assert_int_equal(result.connections, 1);
        assert_content(&f);
        end(&f);
    }
}

/* M-131: twenty disconnects at random places; each byte is asked for once. */
static void test_download_disconnects(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fix f;
        uint64_t cuts[20];
        tinkc_progress result;
        tk_rand rand;
        begin(&f, make_checkpoint(seed == 1 ? ARCHIVE_FILTER_NONE : ARCHIVE_FILTER_GZIP),
              NULL);
        tk_rand_init(&rand, seed);
        for (size_t i = 0; i < TK_ARRAY_LEN(cuts); i++) { /* in ascending slices */
            uint64_t slice = f.blob.n / TK_ARRAY_LEN(cuts);
            cuts[i] = slice * i + 1 + tk_rand_u64(&rand) % (slice - 1);
        }
        f.cuts = cuts;
        f.cuts_n = TK_ARRAY_LEN(cuts);
        assert_int_equal(get(&f, &result, NULL), TINKC_OK);
        assert_content(&f);
        assert_int_equal(result.connections, 21);
        assert_int_equal(fileserver_requests(f.files), 21);
        assert_int_equal(fileserver_ranges(f.files), 20);
        assert_int_equal(fileserver_sent(f.files), f.blob.n);
        end(&f);
    }
}

static void reset_first(fix *f, size_t index, fileserver_reply *reply)
{
    reply->reset = index < f->cuts_n;
}

static void no_ranges(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    (void)index;
    reply->ignore_range = true;
}

static void no_etag(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    (void)index;
    reply->etag = NULL;
}

static void busy(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    if (index == 1) {
        reply->status = 503;
    }
}

/* The same through resets, a server without ranges, one without ETag, and one that is
 * busy for a moment. */
static void test_download_odd_servers(void **unused)
{
    (void)unused;
    static void (*const ways[])(fix *, size_t, fileserver_reply *) = {
        reset_first, no_ranges, no_etag, busy};
    static const uint64_t cuts[] = {100000, 300000, 500000};
    for (size_t i = 0; i < TK_ARRAY_LEN(ways); i++) {
        fix f;
        begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
        f.cuts = cuts;
        f.cuts_n = TK_ARRAY_LEN(cuts);
        f.decide = ways[i];
        assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
        assert_content(&f);
        end(&f);
    }
}

static void forbid_second(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    if (index == 1 || index == 2) {
        reply->status = 403;
    }
}

/* M-131: a URL that has expired is asked for anew, and the transfer goes on. */
static void test_download_expired_url(void **unused)
{
    (void)unused;
    static const uint64_t cuts[] = {200000};
    fix f;
    tinkc_progress result;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = forbid_second;
    assert_int_equal(get(&f, &result, NULL), TINKC_OK);
    assert_content(&f);
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 3);
    assert_int_equal(fileserver_sent(f.files), f.blob.n);
    end(&f);
}

static void always_forbidden(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    (void)index;
    reply->status = 403;
}

/* A URL that never works is given up, with the server's status. */
static void test_download_forbidden(void **unused)
{
    (void)unused;
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.decide = always_forbidden;
    assert_refused(&f, TINKC_E_PERMISSION, "403");
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 4);
    end(&f);
}

static void new_version(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    reply->etag = index == 0 ? "\"v1\"" : "\"v2\"";
}

/* The archive was built anew in between: it starts over instead of mixing two. */
static void test_download_changed_archive(void **unused)
{
    (void)unused;
    static const uint64_t cuts[] = {200000};
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = new_version;
    assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
    assert_content(&f);
    end(&f);
}

/* What is at the target stays unless it is to be replaced; then it goes at the end. */
static void test_download_overwrite(void **unused)
{
    (void)unused;
    fix f;
    char path[100];
    tinkc_error *error = NULL;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    assert_int_equal(mkdir(f.target, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/old", f.target);
    assert_int_equal(tk_file_replace(path, "x", 1, 0666, NULL), TINKC_OK);
    assert_int_equal(get(&f, NULL, &error), TINKC_E_STATE);
    tinkc_error_free(&error);
    assert_int_equal(fileserver_requests(f.files), 0);
    f.options.overwrite = true;
    f.options.max_bytes = 5;
    assert_int_equal(get(&f, NULL, NULL), TINKC_E_LIMIT);
    assert_int_equal(access(path, F_OK), 0); /* the old one is untouched */
    assert_int_equal(entries_in(f.folder), 1);
    f.options.max_bytes = 0;
    assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
    assert_content(&f);
    end(&f);
}

/* ---- checks ---- */

static void put_digest(fix *f, bool right)
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

/* M-131: the server's checksum and the caller's are both held against the bytes, also
 * across a cut. */
static void test_download_checksum(void **unused)
{
    (void)unused;
    static const uint64_t cuts[] = {123456};
    char hex[TK_SHA256_HEX_BYTES];
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    put_digest(&f, false);
    assert_refused(&f, TINKC_E_DECODE, "checksum");
    f.headers[0] = '\0';
    f.options.sha256 = "00000000000000000000000000000000000000000000000000000000000000ff";
    assert_refused(&f, TINKC_E_DECODE, "checksum");
    f.options.sha256 = "abc";
    assert_refused(&f, TINKC_E_INVALID, "sha256");
    f.options.sha256 = NULL;
    put_digest(&f, true);
    f.cuts = cuts;
    f.cuts_n = fileserver_requests(f.files) + 1;
    uint64_t all[8] = {FILESERVER_NO_CUT, FILESERVER_NO_CUT, 123456};
    f.cuts = all;
    f.cuts_n = 3;
    assert_int_equal(tk_sha256_hex(hex, f.blob.p, f.blob.n, NULL), TINKC_OK);
    f.options.sha256 = hex;
    assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
    assert_content(&f);
    end(&f);
}

static void wrong_range(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    reply->wrong_range = index > 0 ? 512 : 0;
}

/* Bytes of another place than asked for are not taken. */
static void test_download_wrong_range(void **unused)
{
    (void)unused;
    static const uint64_t cuts[] = {100000};
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.cuts = cuts;
    f.cuts_n = 1;
    f.decide = wrong_range;
    assert_refused(&f, TINKC_E_DECODE, "range");
    end(&f);
}

/* M-131: cut at any block, compressed or not: an error, and nothing left. */
static void test_download_truncated_archive(void **unused)
{
    (void)unused;
    static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP};
    static const size_t keep[] = {0, 1, 100, 512, 1536, 2048, 3072, 4096, 300000};
    for (size_t i = 0; i < TK_ARRAY_LEN(filters); i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(keep); k++) {
            fix f;
            blob b = make_checkpoint(filters[i]);
            b.n = keep[k];
            begin(&f, b, NULL);
            assert_refused(&f, TINKC_E_PARSE, "archive");
            end(&f);
        }
    }
}

/* A tar that ends between two members has no mark of its end. */
static void test_download_cut_between_members(void **unused)
{
    (void)unused;
    blob b;
    struct archive *archive = begin_tar(&b, ARCHIVE_FILTER_NONE);
    add(archive, &(member){"a", 0, NULL, 512, NULL});
    add(archive, &(member){"b", 0, NULL, 512, NULL});
    end_tar(archive);
    for (size_t n = 512; n <= 3072; n += 512) {
        fix f;
        blob part = {malloc(n), n, n};
        assert_non_null(part.p);
        memcpy(part.p, b.p, n);
        begin(&f, part, NULL);
        if (n <= 2048) {
            assert_refused(&f, TINKC_E_PARSE, "archive");
        } else {
            assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
        }
        end(&f);
    }
    free(b.p);
}

/* Noise is no archive. */
static void test_download_not_an_archive(void **unused)
{
    (void)unused;
    fix f;
    begin(&f, (blob){noise(100000), 100000, 0}, NULL);
    assert_refused(&f, TINKC_E_PARSE, "archive");
    end(&f);
}

/* M-131: members that are not allowed, each behind a good one. */
static void test_download_hostile_members(void **unused)
{
    (void)unused;
    char deep[200] = "";
    for (int i = 0; i < 40; i++) {
        memcpy(deep + strlen(deep), "d/", 3);
    }
    char *wide = malloc(300);
    memset(wide, 'w', 299);
    wide[299] = '\0';
    const struct {
        member bad;
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
        {{"../evil", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "out of"},
        {{"a/../../evil", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "out of"},
        {{"a/..", AE_IFDIR, NULL, 0, NULL}, TINKC_E_DECODE, "out of"},
        {{"good", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "twice"},
        {{"good/inside", 0, NULL, 3, "bad"}, TINKC_E_DECODE, "one name"},
        {{deep, AE_IFDIR, NULL, 0, NULL}, TINKC_E_DECODE, "deep"},
        {{wide, 0, NULL, 3, "bad"}, TINKC_E_DECODE, "long"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fix f;
        blob b;
        struct archive *archive = begin_tar(&b, ARCHIVE_FILTER_GZIP);
        add(archive, &(member){"good", 0, NULL, 4, "good"});
        add(archive, &rows[i].bad);
        end_tar(archive);
        begin(&f, b, NULL);
        assert_refused(&f, rows[i].code, rows[i].text);
        end(&f);
    }
    free(wide);
    assert_int_equal(access("/nonexistent/evil", F_OK), -1);
}

/* M-131: bombs: by ratio, by size, by number. */
static void test_download_bombs(void **unused)
{
    (void)unused;
    fix f;
    blob b;
    struct archive *archive = begin_tar(&b, ARCHIVE_FILTER_GZIP);
    add(archive, &(member){"zeros", 0, NULL, (size_t)200 * 1000 * 1000, NULL});
    end_tar(archive);
    assert_true(b.n < 1000000);
    begin(&f, b, NULL);
    assert_refused(&f, TINKC_E_LIMIT, "times its size");
    f.options.max_bytes = 1000000;
    assert_refused(&f, TINKC_E_LIMIT, "more than 1000000 bytes");
    end(&f);
    archive = begin_tar(&b, ARCHIVE_FILTER_GZIP);
    for (int i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "f%d", i);
        add(archive, &(member){name, 0, NULL, 1, "x"});
    }
    end_tar(archive);
    begin(&f, b, NULL);
    f.options.max_files = 29;
    assert_refused(&f, TINKC_E_LIMIT, "29 members");
    f.options.max_files = 30;
    assert_int_equal(get(&f, NULL, NULL), TINKC_OK);
    assert_int_equal(entries_in(f.target), 30);
    end(&f);
}

/* ---- ends ---- */

static bool stop_after(const tinkc_progress *progress, void *user)
{
    const uint64_t *most = user;
    return progress->received < *most;
}

/* M-131: the callback stops it: early, in the middle, and while nothing comes. */
static void test_download_cancel(void **unused)
{
    (void)unused;
    uint64_t most[] = {0, 1, 300000};
    for (size_t i = 0; i < TK_ARRAY_LEN(most); i++) {
        fix f;
        begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
        f.options.fn = stop_after;
        f.options.user = &most[i];
        assert_refused(&f, TINKC_E_CANCELLED, "");
        end(&f);
    }
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "GET", ARCHIVE, &(fakeapi_step){.gate = gate});
    f.options.fn = stop_after;
    f.options.user = &most[0];
    assert_refused(&f, TINKC_E_CANCELLED, "");
    end(&f);
}

static void always_cut(fix *f, size_t index, fileserver_reply *reply)
{
    (void)f;
    (void)index;
    reply->cut = 5000;
}

/* A server that never gets further is given up after so many tries without a byte. */
static void test_download_gives_up(void **unused)
{
    (void)unused;
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    f.decide = always_cut;
    f.options.max_retries = 4;
    assert_refused(&f, TINKC_E_CONNECTION, "");
    assert_int_equal(fileserver_requests(f.files), 5); /* one with bytes, four without */
    end(&f);
}

/* The checkpoint is not there: said once, in the server's words. */
static void test_download_missing(void **unused)
{
    (void)unused;
    fix f;
    begin(&f, make_checkpoint(ARCHIVE_FILTER_NONE), NULL);
    fakeapi_default(f.api, "GET", ARCHIVE, &fakeapi_detail(404, "no such checkpoint"));
    assert_refused(&f, TINKC_E_NOT_FOUND, "no such checkpoint");
    assert_int_equal(fakeapi_count(f.api, "GET", ARCHIVE), 1);
    assert_int_equal(tinkc_download_checkpoint(NULL, NULL, PATH, f.target, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(
        tinkc_download_checkpoint(NULL, f.service, "x", f.target, NULL, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_download_checkpoint(NULL, f.service, PATH, "", NULL, NULL),
                     TINKC_E_INVALID);
    end(&f);
}

/* One file: cut and taken up again; a 404 is not asked for twice. */
static void test_download_url(void **unused)
{
    (void)unused;
    static const uint64_t cuts[] = {10, 300000};
    fix f;
    char file[100], *data = NULL;
    size_t n = 0;
    tinkc_progress result;
    begin(&f, (blob){noise(500000), 500000, 0}, NULL);
    f.cuts = cuts;
    f.cuts_n = 2;
    (void)snprintf(file, sizeof(file), "%s/new/trace", f.folder);
    assert_int_equal(tinkc_download_url(&result, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_OK);
    assert_int_equal(result.written, 500000);
    assert_int_equal(tk_file_read(&data, &n, file, 500001, NULL), TINKC_OK);
    assert_int_equal(n, 500000);
    assert_memory_equal(data, f.blob.p, n);
    tk_free(data);
    assert_int_equal(tinkc_download_url(NULL, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_E_STATE);
    f.decide = always_forbidden;
    (void)snprintf(file, sizeof(file), "%s/other", f.folder);
    assert_int_equal(tinkc_download_url(NULL, f.service, fileserver_url(f.files), file,
                                        &f.options, NULL),
                     TINKC_E_PERMISSION);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(fileserver_requests(f.files), 4);
    end(&f);
}

/* ---- memory ---- */

/* M-131: 50 MB through a few hundred kilobytes. */
static void test_download_flat_memory(void **unused)
{
    (void)unused;
    enum { SIZE = 50 * 1000 * 1000 };
    blob b;
    char *weights = noise(SIZE);
    struct archive *archive = begin_tar(&b, ARCHIVE_FILTER_NONE);
    add(archive, &(member){"adapter_model.safetensors", 0, NULL, SIZE, weights});
    end_tar(archive);
    free(weights);
    failmem_start();
    fix f;
    tinkc_progress result;
    begin(&f, b, NULL);
    assert_int_equal(get(&f, &result, NULL), TINKC_OK);
    assert_int_equal(result.written, SIZE);
    assert_true(failmem_peak_bytes() < 1000000);
    end(&f);
    assert_int_equal(failmem_stop(), 0);
}

static bool sweep_once(void *user)
{
    const blob *b = user;
    static const uint64_t cuts[] = {3000};
    fix f = {
        .blob = *b, .options = TINKC_DOWNLOAD_OPTIONS_INIT, .cuts = cuts, .cuts_n = 1};
    (void)snprintf(f.folder, sizeof(f.folder), "/tmp/tinkc-download-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.target, sizeof(f.target), "%s/out", f.folder);
    f.options.retry_ms = 0;
    f.api = fakeapi_start();
    fakeapi_default(f.api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fileserver_options server = {f.blob.n, read_blob, decide, &f};
    f.files = fileserver_start(&server);
    point_at_file(&f);
    tinkc_config *config = NULL;
    bool ok =
        tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", fakeapi_url(f.api), NULL) == TINKC_OK &&
        tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
        tinkc_service_open(&f.service, config, NULL) == TINKC_OK &&
        get(&f, NULL, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    assert_int_equal(entries_in(f.folder), ok ? 1 : 0);
    f.blob.p = NULL;
    end(&f);
    return ok;
}

static void test_download_allocation_sweep(void **unused)
{
    (void)unused;
    blob b;
    struct archive *archive = begin_tar(&b, ARCHIVE_FILTER_GZIP);
    char *weights = noise(6000);
    add(archive, &(member){"a/b", 0, NULL, 6000, weights});
    end_tar(archive);
    assert_true(failmem_sweep(sweep_once, &b, 3) > 50);
    free(weights);
    free(b.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_download_formats),
        cmocka_unit_test(test_download_disconnects),
        cmocka_unit_test(test_download_odd_servers),
        cmocka_unit_test(test_download_expired_url),
        cmocka_unit_test(test_download_forbidden),
        cmocka_unit_test(test_download_changed_archive),
        cmocka_unit_test(test_download_overwrite),
        cmocka_unit_test(test_download_checksum),
        cmocka_unit_test(test_download_wrong_range),
        cmocka_unit_test(test_download_truncated_archive),
        cmocka_unit_test(test_download_cut_between_members),
        cmocka_unit_test(test_download_not_an_archive),
        cmocka_unit_test(test_download_hostile_members),
        cmocka_unit_test(test_download_bombs),
        cmocka_unit_test(test_download_cancel),
        cmocka_unit_test(test_download_gives_up),
        cmocka_unit_test(test_download_missing),
        cmocka_unit_test(test_download_url),
        cmocka_unit_test(test_download_flat_memory),
        cmocka_unit_test(test_download_allocation_sweep),
    };
    return cmocka_run_group_tests_name("client/download", tests, NULL, NULL);
}
