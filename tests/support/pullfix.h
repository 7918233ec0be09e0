/* A scripted hub with one repository, "org/m": config.json, tokenizer.json, and weights whose
 * SHA-256 the hub names; and a directory for the cache. */
#ifndef SUPPORT_PULLFIX_H
#define SUPPORT_PULLFIX_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "support/fakeapi.h"
#include "support/test.h"

#define PULLFIX_COMMIT  "0123456789abcdef0123456789abcdef01234567"
#define PULLFIX_BLOB    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PULLFIX_LIST    "/api/models/org/m/revision/main"
#define PULLFIX_RESOLVE "/org/m/resolve/" PULLFIX_COMMIT "/"
#define PULLFIX_WEIGHTS PULLFIX_RESOLVE "model.safetensors"
#define PULLFIX_FOLDER  "models--org--m"
#define PULLFIX_SNAP    PULLFIX_FOLDER "/snapshots/" PULLFIX_COMMIT
#define PULLFIX_BYTES   200000

typedef struct pullfix {
    fakeapi *hub;
    char dir[64];  /* the cache */
    char *weights; /* PULLFIX_BYTES bytes */
    char sha[TK_SHA256_HEX_BYTES];
} pullfix;

/* The hub lists these files, as JSON objects. */
static inline void pullfix_list(pullfix *f, const char *siblings)
{
    char body[4096];
    (void)snprintf(body, sizeof(body),
                   "{\"id\":\"org/m\",\"sha\":\"" PULLFIX_COMMIT "\",\"siblings\":[%s]}",
                   siblings);
    fakeapi_default(f->hub, "GET", PULLFIX_LIST, &(fakeapi_step){.body = body});
}

static inline void pullfix_entry(char *out, size_t size, const char *name, long long n,
                                 const char *sha)
{
    (void)snprintf(out, size,
                   "{\"rfilename\":\"%s\",\"size\":%lld,\"blobId\":\"" PULLFIX_BLOB
                   "\"%s%s%s}",
                   name, n, sha != NULL ? ",\"lfs\":{\"sha256\":\"" : "",
                   sha != NULL ? sha : "", sha != NULL ? "\"}" : "");
}

/* The weights and config.json, the weights with this digest; and more entries. */
static inline void pullfix_usual(pullfix *f, const char *sha, const char *more)
{
    char weights[512], all[2048];
    pullfix_entry(weights, sizeof(weights), "model.safetensors", PULLFIX_BYTES, sha);
    (void)snprintf(all, sizeof(all),
                   "{\"rfilename\":\"config.json\",\"size\":2,\"blobId\":\"" PULLFIX_BLOB
                   "\"},%s%s",
                   weights, more);
    pullfix_list(f, all);
}

static inline void pullfix_open(pullfix *f)
{
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/tinkc-pull-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->weights = malloc(PULLFIX_BYTES);
    assert_non_null(f->weights);
    for (size_t i = 0; i < PULLFIX_BYTES; i++) {
        f->weights[i] = (char)(i * 7 + i / 251);
    }
    assert_int_equal(tk_sha256_hex(f->sha, f->weights, PULLFIX_BYTES, NULL), TINKC_OK);
    f->hub = fakeapi_start();
    pullfix_usual(f, f->sha, "");
    fakeapi_default(f->hub, "GET", PULLFIX_RESOLVE "config.json",
                    &(fakeapi_step){.body = "{}"});
    fakeapi_default(f->hub, "GET", PULLFIX_WEIGHTS,
                    &(fakeapi_step){.body = f->weights, .body_n = PULLFIX_BYTES});
}

static inline void pullfix_close(pullfix *f)
{
    char command[96];
    fakeapi_stop(&f->hub);
    free(f->weights);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
}

/* The next answer with the weights: the rest from `from` on, as a range. */
static inline void pullfix_range(pullfix *f, size_t from)
{
    char range[96];
    (void)snprintf(range, sizeof(range), "content-range: bytes %zu-%d/%d\r\n", from,
                   PULLFIX_BYTES - 1, PULLFIX_BYTES);
    fakeapi_reply(f->hub, "GET", PULLFIX_WEIGHTS,
                  &(fakeapi_step){.status = 206,
                                  .headers = range,
                                  .body = f->weights + from,
                                  .body_n = PULLFIX_BYTES - from});
}

/* The next answer with the weights ends after `cut` bytes. */
static inline void pullfix_cut(pullfix *f, size_t cut)
{
    fakeapi_reply(f->hub, "GET", PULLFIX_WEIGHTS,
                  &(fakeapi_step){.body = f->weights,
                                  .body_n = PULLFIX_BYTES,
                                  .fault = FAKEAPI_CUT_BODY,
                                  .cut = cut});
}

static inline const char *pullfix_path(const pullfix *f, const char *name)
{
    static char path[4][256];
    static unsigned at;
    at = (at + 1) % 4;
    (void)snprintf(path[at], sizeof(path[at]), "%s/%s", f->dir, name);
    return path[at];
}

/* The size of a file of the cache, through links; -1: it is not there. */
static inline long pullfix_size(const pullfix *f, const char *name)
{
    struct stat info;
    return stat(pullfix_path(f, name), &info) == 0 ? (long)info.st_size : -1;
}

static inline const char *pullfix_partial(const pullfix *f)
{
    static char name[160];
    (void)snprintf(name, sizeof(name), PULLFIX_FOLDER "/blobs/%s.incomplete", f->sha);
    return name;
}

/* The weights of the snapshot are whole. */
static inline void pullfix_whole(const pullfix *f)
{
    char *data = NULL;
    size_t n = 0;
    assert_int_equal(tk_file_read(&data, &n,
                                  pullfix_path(f, PULLFIX_SNAP "/model.safetensors"),
                                  2 * PULLFIX_BYTES, NULL),
                     TINKC_OK);
    assert_int_equal(n, PULLFIX_BYTES);
    assert_memory_equal(data, f->weights, n);
    tk_free(data);
}

#endif
