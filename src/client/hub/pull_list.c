/* The files of a repository, as the hub lists them with sizes and digests. Names become
 * paths here and parts of URLs: what could lead anywhere else is refused. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/hub/hub_cache.h"
#include "client/hub/pull_int.h"

#define WHAT    "asking the hub for the files"
#define RETRIES 3 /* nothing has arrived that would be worth a long wait */

static bool ends_with(tk_str name, const char *end)
{
    size_t n = strlen(end);
    return name.n > n && memcmp(name.p + name.n - n, end, n) == 0;
}

static bool is_needed(tk_str name)
{
    static const char *const ends[] = {".json", ".safetensors", ".jinja", ".model",
                                       ".txt"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ends); i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a name stays below the directory and is printable; most of these are not
 * needed. */
static bool is_harmless(tk_str name)
{
    tk_str rest = name;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || c == 0x7f || c == '\\') {
            return false;
        }
    }
    while (rest.p != NULL) {
        tk_str part = tk_str_cut(&rest, '/');
        if (part.n == 0 || tk_str_is(part, ".") || tk_str_is(part, "..")) {
            return false;
        }
    }
    return true;
}

static bool is_hex(const char *text, size_t n)
{
    return text != NULL && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* The digests: SHA-256 of a file in the large storage, else git's of the blob. */
static tinkc_code read_digest(tk_pull_file *out, const tk_json *entry, tk_err *err)
{
    const tk_json *lfs = tk_json_get(entry, "lfs");
    const char *sha256 = lfs != NULL ? tk_hub_text(lfs, "sha256") : NULL;
    const char *blob = tk_hub_text(entry, "blobId");
    const tk_json *size = tk_json_get(entry, "size");
    out->has_sha256 = is_hex(sha256, 64);
    if (!out->has_sha256 && !is_hex(blob, 40)) {
        return tk_hub_bad_answer(err, WHAT, "has a file without a digest");
    }
    (void)snprintf(out->digest, sizeof(out->digest), "%s",
                   out->has_sha256 ? sha256 : blob);
    if (size == NULL || !tk_json_to_i64(size, &out->size) || out->size < 0 ||
        out->size > TK_PULL_BYTES_MAX) {
        return tk_hub_bad_answer(err, WHAT, "has a file without a size");
    }
    return TINKC_OK;
}

static tinkc_code add(tk_pull *pull, const tk_json *entry, tk_err *err)
{
    const char *text = tk_hub_text(entry, "rfilename");
    if (text == NULL || !is_harmless(tk_str_of(text))) {
        return tk_hub_bad_answer(err, WHAT, "has a file name that is refused");
    }
    tk_str name = tk_str_of(text);
    if (!is_needed(name) || name.n >= TK_PULL_NAME_BYTES ||
        !tk_hub_cache_is_path(name, 1)) {
        return TINKC_OK;
    }
    for (size_t i = 0; i < pull->n_files; i++) {
        if (strcmp(pull->files[i].name, text) == 0) {
            return tk_hub_bad_answer(err, WHAT, "has a file twice");
        }
    }
    tk_pull_file *file = &pull->files[pull->n_files];
    (void)snprintf(file->name, sizeof(file->name), "%s", text);
    tinkc_code code = read_digest(file, entry, err);
    pull->n_files += code == TINKC_OK;
    return code;
}

/* config.json comes last: with it a snapshot is a model. */
static void put_config_last(tk_pull *pull)
{
    for (size_t i = 0; i + 1 < pull->n_files; i++) {
        if (strcmp(pull->files[i].name, "config.json") == 0) {
            tk_pull_file last = pull->files[pull->n_files - 1];
            pull->files[pull->n_files - 1] = pull->files[i];
            pull->files[i] = last;
        }
    }
}

static tinkc_code check_files(tk_pull *pull, tk_err *err)
{
    bool has_weights = false;
    int64_t total = 0;
    for (size_t i = 0; i < pull->n_files; i++) {
        has_weights =
            has_weights || ends_with(tk_str_of(pull->files[i].name), ".safetensors");
        total += pull->files[i].size;
        if (total > TK_PULL_BYTES_MAX) {
            return tk_hub_bad_answer(err, WHAT, "has more bytes than a model may have");
        }
    }
    if (!has_weights) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED, "%s has no safetensors files",
                          pull->id);
    }
    pull->progress.total = total;
    pull->progress.files_n = pull->n_files;
    put_config_last(pull);
    return TINKC_OK;
}

static tinkc_code read_answer(tk_pull *pull, const tk_json *json, tk_err *err)
{
    const char *commit = tk_hub_text(json, "sha");
    const tk_json *list = tk_json_get(json, "siblings");
    size_t n = list != NULL ? tk_json_len(list) : 0;
    if (!is_hex(commit, 40)) {
        return tk_hub_bad_answer(err, WHAT, "has no commit");
    }
    if (n > TK_PULL_FILES_MAX) {
        return tk_hub_bad_answer(err, WHAT, "has too many files");
    }
    (void)snprintf(pull->commit, sizeof(pull->commit), "%s", commit);
    pull->files = tk_zarray(n + 1, sizeof(*pull->files));
    if (pull->files == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        tk_json entry = tk_json_at(list, i);
        code = add(pull, &entry, err);
    }
    return code == TINKC_OK ? check_files(pull, err) : code;
}

tinkc_code tk_pull_list(tk_pull *pull, tk_err *err)
{
    const tk_json *json = NULL;
    tk_arena arena;
    tk_buf url;
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_arena_init(&arena, TK_HUB_ANSWER_BYTES);
    tk_buf_printf(&url, "%s/api/models/%s/revision/%s?blobs=true", pull->hub_url,
                  pull->id, pull->revision);
    const tk_hub_call call = {.what = WHAT,
                              .method = TK_HTTP_GET,
                              .url = tk_buf_cstr(&url),
                              .with_token = true};
    tk_hub_peer peer = pull->peer;
    peer.retries = TK_MIN(peer.retries, RETRIES);
    tinkc_code code = call.url != NULL
                          ? tk_hub_ask(&json, NULL, &arena, &peer, &call, err)
                          : tk_buf_status(&url, err);
    if (code == TINKC_OK) {
        code = read_answer(pull, json, err);
    }
    tk_arena_dispose(&arena);
    tk_buf_dispose(&url);
    return code;
}
