/* See tokenizer_hub.h. Files come into memory (each has its limit), then into a directory
 * with a random name, which is renamed when its tokenizer could be loaded.
 * Needs: text */
#include "client/hub/tokenizer_hub.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "client/hub/hub.h"
#include "client/hub/hub_call.h"
#include "client/transfer/fetch.h"
#include "client/transfer/staging.h"
#include "http/url.h"

#define URL_MAX_BYTES (8 * TK_KIB)
#define PIECE_BYTES   (64 * TK_KIB)
#define MAX_FAILURES  3
#define DIR_MODE      0777 /* as the umask allows */
#define FILE_MODE     0666

/* What a tokenizer is made of; the first vocabulary that is there counts. */
static const struct {
    const char *name;
    bool is_vocabulary;
    size_t max_bytes;
} files[] = {
    {"tokenizer_config.json", false, TK_TOK_CONFIG_MAX_BYTES},
    {"chat_template.jinja", false, TK_TOK_CONFIG_MAX_BYTES},
    {"tokenizer.json", true, TK_TOK_FILE_MAX_BYTES},
    {"tiktoken.model", true, TK_TOK_FILE_MAX_BYTES},
};

/* ---- one file ---- */

typedef struct pull {
    const char *url;  /* or a path of the service's server */
    const char *name; /* of the file, for the progress */
    const tinkc_tokenizer_options *options;
    tk_fetch *fetch;
} pull;

static tinkc_code locate(void *user, tk_buf *url, int64_t *expires_us, tk_err *err)
{
    const pull *self = user;
    (void)err;
    tk_buf_puts(url, self->url);
    *expires_us = INT64_MAX;
    return TINKC_OK;
}

static bool tell(void *user)
{
    const pull *self = user;
    if (self->options->fn == NULL) {
        return true;
    }
    tinkc_progress progress = {.received = tk_fetch_received(self->fetch),
                               .total = tk_fetch_total(self->fetch),
                               .file = self->name,
                               .connections = tk_fetch_connections(self->fetch)};
    return self->options->fn(&progress, self->options->user);
}

/* Appends all of it to *out. */
static tinkc_code pull_all(pull *self, tk_handle *handle, const char *authorization,
                           tk_buf *out, tk_err *err)
{
    tk_fetch_options options = {.handle = handle,
                                .locate = locate,
                                .tick = tell,
                                .user = self,
                                .retry_ms = TK_HUB_RETRY_MS,
                                .max_failures = MAX_FAILURES,
                                .from_service = self->url[0] == '/',
                                .authorization = authorization};
    tinkc_code code = tk_fetch_new(&self->fetch, &options, err);
    size_t n = 1;
    while (code == TINKC_OK && n > 0) {
        char *room = tk_buf_reserve(out, PIECE_BYTES);
        if (room == NULL) {
            code = tk_buf_status(out, err);
            break;
        }
        code = tk_fetch_read(&n, self->fetch, room, PIECE_BYTES, err);
        if (code == TINKC_OK) {
            tk_buf_advance(out, n);
        }
    }
    tk_fetch_free(&self->fetch);
    return code;
}

/* ---- the service's own server ---- */

static tinkc_code pull_served(tk_buf *out, tk_handle *handle, const char *model,
                              const char *name, const tinkc_tokenizer_options *options,
                              tk_err *err)
{
    tk_buf path;
    tk_buf_init(&path, URL_MAX_BYTES);
    tk_buf_puts(&path, "/tinkc/v1/models/");
    tk_url_escape(&path, tk_str_of(model), "/");
    tk_buf_putc(&path, '/');
    tk_buf_puts(&path, name);
    pull self = {.url = tk_buf_cstr(&path), .name = name, .options = options};
    tinkc_code code = self.url != NULL ? pull_all(&self, handle, NULL, out, err)
                                       : tk_buf_status(&path, err);
    tk_buf_dispose(&path);
    return code;
}

/* The files of a tokenizer, as a server gave them. */
typedef struct served {
    tk_buf json, config, jinja; /* of the last two, empty = there is none */
} served;

/* One that need not be there. */
static tinkc_code pull_beside(tk_buf *out, tk_handle *handle, const char *model,
                              const char *name, const tinkc_tokenizer_options *options,
                              tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tinkc_code code = pull_served(out, handle, model, name, options, &why);
    if (code == TINKC_E_NOT_FOUND) {
        tk_buf_clear(out);
        return TINKC_OK;
    }
    if (code != TINKC_OK) {
        *err = why;
    }
    return code;
}

static tk_str view(const tk_buf *buf)
{
    return buf->n > 0 ? tk_buf_str(buf) : (tk_str){NULL, 0};
}

/* Key and stamp of what a server gave: the same bytes are the same tokenizer. */
static tinkc_code stamp_served(tk_buf *key, tk_tokenizer_stamp *stamp, const served *s,
                               tk_err *err)
{
    const tk_buf *const parts[] = {&s->json, &s->config, &s->jinja};
    char hex[TK_SHA256_HEX_BYTES];
    tk_sha256 *sha = NULL;
    tinkc_code code = tk_sha256_new(&sha, err);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(parts); i++) {
        if (parts[i]->n > 0) {
            code = tk_sha256_update(sha, parts[i]->p, parts[i]->n, err);
        }
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(hex, sha, err);
    }
    tk_sha256_free(sha);
    if (code == TINKC_OK) {
        tk_buf_printf(key, "sha256:%s", hex);
        *stamp = (tk_tokenizer_stamp){(int64_t)s->json.n, (int64_t)s->config.n,
                                      (int64_t)s->jinja.n};
        code = tk_buf_cstr(key) != NULL ? TINKC_OK : tk_buf_status(key, err);
    }
    return code;
}

static tinkc_code open_served(tk_tok **out, const served *s, tk_err *err)
{
    tk_tokenizer_stamp stamp;
    tk_buf key;
    tk_tok *tok = NULL;
    tk_buf_init(&key, TK_KIB);
    tinkc_code code = stamp_served(&key, &stamp, s, err);
    if (code == TINKC_OK) {
        tok = tk_tokenizer_cache_find(key.p, &stamp);
    }
    if (code == TINKC_OK && tok == NULL) {
        code = tk_tok_open_memory(&tok, tk_buf_str(&s->json), view(&s->config),
                                  view(&s->jinja), err);
        if (code == TINKC_OK) {
            code = tk_tokenizer_cache_keep(key.p, &stamp, tok, err);
        }
    }
    tk_buf_dispose(&key);
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return code;
    }
    *out = tok;
    return TINKC_OK;
}

tinkc_code tk_tokenizer_hub_serve(tk_tok **out, tk_handle *handle, const char *model,
                                  const tinkc_tokenizer_options *options, tk_err *err)
{
    served s;
    tk_buf_init(&s.json, TK_TOK_FILE_MAX_BYTES);
    tk_buf_init(&s.config, TK_TOK_CONFIG_MAX_BYTES);
    tk_buf_init(&s.jinja, TK_TOK_CONFIG_MAX_BYTES);
    tinkc_code code = pull_served(&s.json, handle, model, "tokenizer.json", options, err);
    if (code == TINKC_OK) {
        code =
            pull_beside(&s.config, handle, model, "tokenizer_config.json", options, err);
    }
    if (code == TINKC_OK) {
        code = pull_beside(&s.jinja, handle, model, "chat_template.jinja", options, err);
    }
    if (code == TINKC_OK) {
        code = open_served(out, &s, err);
    }
    tk_buf_dispose(&s.json);
    tk_buf_dispose(&s.config);
    tk_buf_dispose(&s.jinja);
    return code;
}

/* ---- the hub ---- */

typedef struct hub {
    tk_handle *handle;
    const tk_tokenizer_places *places;
    const tk_tokenizer_id *id;
    const tinkc_tokenizer_options *options;
    tk_hub_pass pass;
    tk_staging stage; /* the directory that is being filled */
    char *parent;     /* of its place in the cache; NULL: no cache */
} hub;

static tinkc_code pull_hub_file(hub *self, tk_buf *out, const char *name, tk_err *err)
{
    tk_buf url;
    tk_buf_init(&url, URL_MAX_BYTES);
    tk_buf_printf(&url, "%s/%s/resolve/", self->places->hub_url, self->id->id);
    tk_url_escape(&url, tk_str_of(self->id->revision), "");
    tk_buf_printf(&url, "/%s", name);
    pull one = {.url = tk_buf_cstr(&url), .name = name, .options = self->options};
    tinkc_code code =
        one.url != NULL ? pull_all(&one, self->handle, self->pass.authorization, out, err)
                        : tk_buf_status(&url, err);
    tk_buf_dispose(&url);
    return code;
}

/* Into the stage. TINKC_E_NOT_FOUND when the hub has none. */
static tinkc_code get_file(hub *self, size_t i, tk_err *err)
{
    tk_buf data;
    tk_buf_init(&data, files[i].max_bytes);
    tinkc_code code = pull_hub_file(self, &data, files[i].name, err);
    char *path = NULL;
    if (code == TINKC_OK) {
        path = tk_file_join(self->stage.path, files[i].name);
        code = path != NULL ? tk_file_replace(path, data.p, data.n, FILE_MODE, err)
                            : tk_err_nomem(err);
    }
    tk_free(path);
    tk_buf_dispose(&data);
    return code;
}

static tinkc_code get_files(hub *self, tk_err *err)
{
    bool has_vocabulary = false;
    for (size_t i = 0; i < TK_ARRAY_LEN(files) && !has_vocabulary; i++) {
        tk_err why = TK_ERR_INIT;
        tinkc_code code = get_file(self, i, &why);
        has_vocabulary = code == TINKC_OK && files[i].is_vocabulary;
        bool is_last = i + 1 == TK_ARRAY_LEN(files);
        if (code != TINKC_OK && (code != TINKC_E_NOT_FOUND || is_last)) {
            *err = why;
            return code;
        }
    }
    return TINKC_OK;
}

/* ---- the directory ---- */

/* Best effort: a cache that cannot be written costs the next download, no more. One that
 * another process has filled meanwhile is as good as ours. */
static bool install(hub *self, const char *directory)
{
    tk_err ignored = TK_ERR_INIT;
    if (rename(self->stage.path, directory) != 0) { /* stays the user's own: 0700 */
        return false;
    }
    (void)!tk_file_sync_directory(self->parent, &ignored);
    return true;
}

/* In the parent of its place, which is made; those that lie there are of the same
 * model. */
static tinkc_code stage_in(hub *self, tk_err *err)
{
    tinkc_code code = tk_file_mkdirs(self->parent, DIR_MODE, err);
    if (code == TINKC_OK) {
        tk_staging_sweep(self->parent, "", NULL);
        code = tk_staging_make(&self->stage, self->parent, "", err);
    }
    return code;
}

static tinkc_code stage_near(hub *self, const char *directory, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    if (directory != NULL) {
        self->parent = tk_file_parent(directory);
        tinkc_code code =
            self->parent != NULL ? stage_in(self, &why) : tk_err_nomem(&why);
        if (code == TINKC_OK || code == TINKC_E_NOMEM) {
            return code == TINKC_OK ? code : tk_err_nomem(err);
        }
    }
    return tk_staging_make(&self->stage, "/tmp", "", err);
}

static tinkc_code get_into(tk_tok **out, hub *self, const char *directory, tk_err *err)
{
    tk_tok *tok = NULL;
    tinkc_code code = get_files(self, err);
    if (code == TINKC_OK) {
        code = tk_tok_open(&tok, self->stage.path, err);
    }
    bool is_kept = code == TINKC_OK && directory != NULL && install(self, directory);
    tk_tokenizer_stamp stamp;
    if (is_kept && tk_tokenizer_cache_stamp(&stamp, directory)) {
        code = tk_tokenizer_cache_keep(directory, &stamp, tok, err);
    }
    tk_staging_end(&self->stage, !is_kept);
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return code;
    }
    *out = tok;
    return TINKC_OK;
}

tinkc_code tk_tokenizer_hub_get(tk_tok **out, tk_handle *handle,
                                const tk_tokenizer_places *places,
                                const tk_tokenizer_id *id,
                                const tinkc_tokenizer_options *options, tk_err *err)
{
    hub self = {.handle = handle, .places = places, .id = id, .options = options};
    char *directory = NULL;
    tinkc_code code = tk_hub_pass_begin(&self.pass, handle->core, places->token, err);
    if (code == TINKC_OK && places->cache != NULL) {
        code = tk_tokenizer_place_own(&directory, places, id, err);
    }
    if (code == TINKC_OK) {
        code = stage_near(&self, directory, err);
    }
    if (code == TINKC_OK) {
        code = get_into(out, &self, directory, err);
    }
    tk_hub_pass_end(&self.pass);
    tk_free(self.parent);
    tk_free(directory);
    return code;
}
