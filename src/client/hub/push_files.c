/* See push_files.h. The directory was unpacked by us and is the user's own; links are not
 * followed nevertheless. */
#include "client/hub/push_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/hub/push_name.h"

#define PIECE_BYTES   (48 * TK_KIB) /* whole groups of three, for base64 */
#define ARENA_BYTES   (64 * TK_MIB)
#define SHA1_BYTES    20
#define COMPLETE_NAME "checkpoint_complete"

/* ---- which ---- */

static bool matches_any(const char *const *patterns, size_t n, tk_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_push_matches(tk_str_of(patterns[i]), name)) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const tinkc_push_options *options, const char *name)
{
    static const char *const never[] = {".git",
                                        ".git/*",
                                        "*/.git",
                                        "**/.git/**",
                                        ".cache/huggingface",
                                        ".cache/huggingface/*",
                                        "*/.cache/huggingface",
                                        "**/.cache/huggingface/**"};
    tk_str text = tk_str_of(name);
    if (options->allow_n > 0) {
        if (!matches_any(options->allow, options->allow_n, text)) {
            return false;
        }
    } else if (strcmp(name, COMPLETE_NAME) == 0) {
        return false;
    }
    return !matches_any(options->ignore, options->ignore_n, text) &&
           !matches_any(never, TK_ARRAY_LEN(never), text);
}

/* ---- finding ---- */

typedef struct search {
    tk_push_files *files;
    const tinkc_push_options *options;
    const char *folder;
} search;

static tinkc_code grow(tk_push_files *files, tk_err *err)
{
    if (files->n < files->capacity) {
        return TINKC_OK;
    }
    size_t capacity = TK_MAX(2 * files->capacity, (size_t)16);
    if (capacity > TK_UNPACK_MAX_FILES * 2) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many files");
    }
    tk_push_file *items = tk_realloc_array(files->items, capacity, sizeof(*files->items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    files->items = items;
    files->capacity = capacity;
    return TINKC_OK;
}

static tinkc_code add(search *s, const char *name, uint64_t size, tk_err *err)
{
    tk_str kept, path;
    if (!is_wanted(s->options, name)) {
        return TINKC_OK;
    }
    tinkc_code code = grow(s->files, err);
    if (code != TINKC_OK) {
        return code;
    }
    char *joined = tk_file_join(s->folder, name);
    bool ok = joined != NULL &&
              tk_arena_dup(&s->files->arena, &kept, name, strlen(name)) &&
              tk_arena_dup(&s->files->arena, &path, joined, strlen(joined));
    tk_free(joined);
    if (!ok) {
        return tk_err_nomem(err);
    }
    s->files->items[s->files->n++] =
        (tk_push_file){.name = kept.p, .path = path.p, .size = size};
    return TINKC_OK;
}

static tinkc_code walk(search *s, const char *name, int depth, tk_err *err);

static tinkc_code visit(search *s, int folder, const char *below, const char *entry,
                        int depth, tk_err *err)
{
    struct stat info;
    if (strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0) {
        return TINKC_OK;
    }
    if (fstatat(folder, entry, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return tk_err_sys(err, errno, "%s", entry);
    }
    char *name = tk_file_join(below, entry);
    if (name == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    if (S_ISDIR(info.st_mode)) {
        code = walk(s, name, depth + 1, err);
    } else if (S_ISREG(info.st_mode)) {
        code = add(s, name, (uint64_t)info.st_size, err);
    }
    tk_free(name);
    return code;
}

static tinkc_code walk(search *s, const char *name, int depth, tk_err *err)
{
    if (depth > TK_UNPACK_MAX_DEPTH) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s: too many directories deep", name);
    }
    char *path = name[0] != '\0' ? tk_file_join(s->folder, name) : tk_strdup(s->folder);
    DIR *folder = path != NULL ? opendir(path) : NULL;
    int why = errno;
    tinkc_code code = TINKC_OK;
    if (folder == NULL) {
        code = path != NULL ? tk_err_sys(err, why, "%s", path) : tk_err_nomem(err);
    }
    struct dirent *entry;
    while (code == TINKC_OK && (entry = readdir(folder)) != NULL) {
        code = visit(s, dirfd(folder), name, entry->d_name, depth, err);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    tk_free(path);
    return code;
}

/* By the parts between slashes: what is in a directory comes before its longer
 * neighbours. */
static int by_name(const void *a, const void *b)
{
    const tk_push_file *x = a;
    const tk_push_file *y = b;
    const unsigned char *p = (const unsigned char *)x->name;
    const unsigned char *q = (const unsigned char *)y->name;
    while (*p != '\0' && *p == *q) {
        p++;
        q++;
    }
    int left = *p == '/' ? 1 : *p != '\0' ? *p + 1 : 0;
    int right = *q == '/' ? 1 : *q != '\0' ? *q + 1 : 0;
    return left - right;
}

tinkc_code tk_push_files_find(tk_push_files *out, const char *folder,
                              const tinkc_push_options *options, tk_err *err)
{
    search s = {.files = out, .options = options, .folder = folder};
    *out = (tk_push_files){.n = 0};
    tk_arena_init(&out->arena, ARENA_BYTES);
    tinkc_code code = walk(&s, "", 0, err);
    if (code == TINKC_OK && out->n == 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "the patterns leave no file to upload");
    }
    if (code == TINKC_OK) {
        qsort(out->items, out->n, sizeof(*out->items), by_name);
    }
    return code;
}

void tk_push_files_dispose(tk_push_files *files)
{
    tk_free(files->items);
    tk_arena_dispose(&files->arena);
    *files = (tk_push_files){.n = 0};
}

/* ---- reading ---- */

/* Up to n bytes, less only at the end; -1 with errno. */
static ssize_t read_full(int fd, char *p, size_t n)
{
    size_t have = 0;
    ssize_t got = 1;
    while (have < n && got > 0) {
        do {
            got = read(fd, p + have, n - have);
        } while (got < 0 && errno == EINTR);
        have += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ssize_t)have;
}

tinkc_code tk_push_file_read(const tk_push_file *file, tk_push_take_fn take, void *user,
                             tk_err *err)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return tk_err_sys(err, errno, "%s", file->name);
    }
    char *piece = tk_malloc(PIECE_BYTES);
    tinkc_code code = piece != NULL ? TINKC_OK : tk_err_nomem(err);
    uint64_t seen = 0;
    ssize_t got = 1;
    while (code == TINKC_OK && got > 0) {
        got = read_full(fd, piece, PIECE_BYTES);
        if (got < 0) {
            code = tk_err_sys(err, errno, "%s", file->name);
        } else if (got > 0) {
            seen += (uint64_t)got;
            code = take(user, piece, (size_t)got, err);
        }
    }
    if (code == TINKC_OK && seen != file->size) {
        code = tk_err_set(err, TINKC_E_IO, "%s: its size has changed", file->name);
    }
    tk_free(piece);
    close(fd);
    return code;
}

tinkc_code tk_push_file_sample(unsigned char sample[TK_PUSH_SAMPLE_BYTES], size_t *n,
                               const tk_push_file *file, tk_err *err)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return tk_err_sys(err, errno, "%s", file->name);
    }
    ssize_t got = read_full(fd, (char *)sample, TK_PUSH_SAMPLE_BYTES);
    int why = errno;
    close(fd);
    if (got < 0) {
        return tk_err_sys(err, why, "%s", file->name);
    }
    *n = (size_t)got;
    return TINKC_OK;
}

typedef struct hashing {
    tk_sha256 *sha;
    bool (*tick)(void *user);
    void *user;
} hashing;

static tinkc_code take_hash(void *user, const char *p, size_t n, tk_err *err)
{
    hashing *h = user;
    if (!h->tick(h->user)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    return tk_sha256_update(h->sha, p, n, err);
}

tinkc_code tk_push_file_hash(tk_push_file *file, bool (*tick)(void *user), void *user,
                             tk_err *err)
{
    hashing h = {.tick = tick, .user = user};
    if (file->sha256[0] != '\0') {
        return TINKC_OK;
    }
    char hex[TK_SHA256_HEX_BYTES];
    tinkc_code code = tk_sha256_new(&h.sha, err);
    if (code == TINKC_OK) {
        code = tk_push_file_read(file, take_hash, &h, err);
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(hex, h.sha, err);
    }
    tk_sha256_free(h.sha);
    if (code == TINKC_OK) {
        memcpy(file->sha256, hex, sizeof(hex));
    }
    return code;
}

static tinkc_code refused(tk_err *err)
{
    return tk_err_set(err, TINKC_E_INTERNAL, "libcrypto could not compute SHA-1");
}

static tinkc_code take_git(void *user, const char *p, size_t n, tk_err *err)
{
    return EVP_DigestUpdate(user, p, n) == 1 ? TINKC_OK : refused(err);
}

tinkc_code tk_push_file_git(char out[TK_PUSH_GIT_BYTES], const tk_push_file *file,
                            tk_err *err)
{
    char head[32];
    unsigned char digest[SHA1_BYTES];
    int head_n = snprintf(head, sizeof(head), "blob %" PRIu64, file->size);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    tinkc_code code = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha1(), NULL) == 1 &&
                              EVP_DigestUpdate(ctx, head, (size_t)head_n + 1) == 1
                          ? TINKC_OK
                          : refused(err);
    if (code == TINKC_OK) {
        code = tk_push_file_read(file, take_git, ctx, err);
    }
    if (code == TINKC_OK && EVP_DigestFinal_ex(ctx, digest, NULL) != 1) {
        code = refused(err);
    }
    EVP_MD_CTX_free(ctx);
    for (size_t i = 0; code == TINKC_OK && i < SHA1_BYTES; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
    }
    return code;
}
