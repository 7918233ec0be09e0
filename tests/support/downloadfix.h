/* A checkpoint on a server of one file that is interrupted at will, and a service that
 * downloads it. */
#ifndef SUPPORT_DOWNLOADFIX_H
#define SUPPORT_DOWNLOADFIX_H

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

typedef struct downloadfix_blob {
    char *p;
    size_t n, capacity;
} downloadfix_blob;

static inline la_ssize_t downloadfix_collect(struct archive *archive, void *user,
                                             const void *p, size_t n)
{
    downloadfix_blob *b = user;
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n);
        b->p = realloc(b->p, b->capacity);
        assert_non_null(b->p);
    }
    memcpy(b->p + b->n, p, n);
    b->n += n;
    return (la_ssize_t)n;
}

static inline struct archive *downloadfix_tar(downloadfix_blob *b, int filter)
{
    struct archive *archive = archive_write_new();
    *b = (downloadfix_blob){0};
    assert_int_equal(archive_write_set_format_pax_restricted(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(archive, filter), ARCHIVE_OK);
    archive_write_set_bytes_in_last_block(archive, 1); /* nothing after the stream */
    assert_int_equal(archive_write_open(archive, b, NULL, downloadfix_collect, NULL),
                     ARCHIVE_OK);
    return archive;
}

typedef struct downloadfix_member {
    const char *name;
    unsigned type;      /* AE_IF...; 0: a file */
    const char *target; /* of a symlink; with a file: of a hard link */
    size_t n;           /* content: zeros, or `data` */
    const char *data;
} downloadfix_member;

static inline void downloadfix_add(struct archive *archive, const downloadfix_member *m)
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

static inline void downloadfix_tar_end(struct archive *archive)
{
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
}

static inline char *downloadfix_noise(size_t n)
{
    char *bytes = malloc(n);
    tk_rand rand;
    assert_non_null(bytes);
    tk_rand_init(&rand, 42);
    tk_rand_bytes(&rand, bytes, n);
    return bytes;
}

/* WEIGHTS bytes, made once. */
static inline const char *downloadfix_weights(void)
{
    static char bytes[WEIGHTS];
    static bool is_made;
    if (!is_made) {
        char *noise = downloadfix_noise(WEIGHTS);
        memcpy(bytes, noise, WEIGHTS);
        free(noise);
        is_made = true;
    }
    return bytes;
}

/* A checkpoint as the service writes it: a folder, small files, one large. */
static inline downloadfix_blob downloadfix_checkpoint(int filter)
{
    downloadfix_blob b;
    struct archive *archive = downloadfix_tar(&b, filter);
    const downloadfix_member members[] = {
        {"./", AE_IFDIR, NULL, 0, NULL},
        {"adapter_config.json", 0, NULL, 9, "{\"r\": 32}"},
        {"./deep/er/adapter_model.safetensors", 0, NULL, WEIGHTS, downloadfix_weights()},
        {"checkpoint_complete", 0, NULL, 0, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(members); i++) {
        downloadfix_add(archive, &members[i]);
    }
    downloadfix_tar_end(archive);
    return b;
}

/* A copy of its first n bytes. */
static inline downloadfix_blob downloadfix_part(const downloadfix_blob *whole, size_t n)
{
    downloadfix_blob part = {malloc(n + 1), n, n};
    assert_non_null(part.p);
    memcpy(part.p, whole->p, n);
    return part;
}

/* ---- the fixture ---- */

typedef struct downloadfix {
    fakeapi *api;
    tinkc_service *service;
    fileserver *files;
    downloadfix_blob blob;
    char folder[64]; /* of the test; the target is "<folder>/out" */
    char target[80];
    tinkc_download_options options;
    /* what `decide` does */
    const uint64_t *cuts;
    size_t cuts_n;
    void (*decide)(struct downloadfix *f, size_t index, fileserver_reply *reply);
    char headers[160];
} downloadfix;

static inline void downloadfix_read(void *user, uint64_t offset, char *p, size_t n)
{
    const downloadfix *f = user;
    memcpy(p, f->blob.p + offset, n);
}

static inline void downloadfix_decide(void *user, size_t index, const char *head,
                                      fileserver_reply *reply)
{
    downloadfix *f = user;
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

static inline void downloadfix_point(downloadfix *f)
{
    char location[128];
    (void)snprintf(location, sizeof(location), "Location: %s\r\n",
                   fileserver_url(f->files));
    fakeapi_default(f->api, "GET", ARCHIVE,
                    &(fakeapi_step){.status = 302, .headers = location});
}

static inline void downloadfix_open(downloadfix *f, downloadfix_blob content,
                                    const char *const *options)
{
    *f = (downloadfix){.blob = content, .options = TINKC_DOWNLOAD_OPTIONS_INIT};
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tinkc-download-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->target, sizeof(f->target), "%s/out", f->folder);
    f->options.retry_ms = 0;
    f->api = fakeapi_start();
    fakeapi_default(f->api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fileserver_options server = {f->blob.n, downloadfix_read, downloadfix_decide, f};
    f->files = fileserver_start(&server);
    downloadfix_point(f);
    f->service = servicefix_open(f->api, options);
}

static inline size_t downloadfix_entries(const char *path)
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

static inline void downloadfix_close(downloadfix *f)
{
    char command[128];
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
    fileserver_stop(&f->files);
    free(f->blob.p);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    assert_int_equal(system(command), 0);
}

static inline tinkc_code downloadfix_get(downloadfix *f, tinkc_progress *result,
                                         tinkc_error **error)
{
    return tinkc_download_checkpoint(result, f->service, PATH, f->target, &f->options,
                                     error);
}

/* It fails so, with this in its text, and leaves nothing. */
static inline void downloadfix_refused(downloadfix *f, tinkc_code code, const char *text)
{
    tinkc_error *error = NULL;
    assert_int_equal(downloadfix_get(f, NULL, &error), code);
    if (strstr(tinkc_error_message(error), text) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", tinkc_error_message(error), text);
    }
    tinkc_error_free(&error);
    assert_int_equal(downloadfix_entries(f->folder), 0);
}

static inline void downloadfix_content(const downloadfix *f)
{
    char path[160], *data = NULL;
    size_t n = 0;
    struct stat info;
    assert_int_equal(downloadfix_entries(f->folder), 1);
    assert_int_equal(downloadfix_entries(f->target), 3);
    (void)snprintf(path, sizeof(path), "%s/deep/er/adapter_model.safetensors", f->target);
    assert_int_equal(tk_file_read(&data, &n, path, WEIGHTS + 1, NULL), TINKC_OK);
    assert_int_equal(n, WEIGHTS);
    assert_memory_equal(data, downloadfix_weights(), WEIGHTS);
    tk_free(data);
    (void)snprintf(path, sizeof(path), "%s/adapter_config.json", f->target);
    assert_int_equal(tk_file_read(&data, &n, path, 100, NULL), TINKC_OK);
    assert_string_equal(data, "{\"r\": 32}");
    tk_free(data);
    (void)snprintf(path, sizeof(path), "%s/checkpoint_complete", f->target);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);
}

#endif
