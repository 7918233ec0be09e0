/* Pulls a model: checks the call, asks the hub for the list, looks whether the disk has
 * room, fetches file after file, and then lets the branch name the new snapshot. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/hub/hub_cache.h"
#include "client/hub/pull_int.h"
#include "client/transfer/fetch.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define DIR_MODE     0777 /* as the umask allows */
#define FILE_MODE    0666
#define RETRY_MS_MAX 3600000

/* ---- progress ---- */

bool tk_pull_tell(void *user)
{
    tk_pull *pull = user;
    pull->progress.done =
        pull->before + (pull->fetch != NULL ? tk_fetch_received(pull->fetch) : 0);
    if (!pull->is_stopped && pull->options.fn != NULL) {
        pull->is_stopped = !pull->options.fn(&pull->progress, pull->options.user);
    }
    return !pull->is_stopped;
}

/* ---- the call ---- */

static tinkc_code check_name(tk_pull *pull, const char *name, tk_err *err)
{
    const char *revision = pull->options.revision;
    revision = revision != NULL && revision[0] != '\0' ? revision : "main";
    if (name == NULL || strlen(name) >= sizeof(pull->id) ||
        !tk_hub_cache_is_id(tk_str_of(name))) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "\"%.256s\" is not the name of a model at the hub",
                          name != NULL ? name : "");
    }
    if (strlen(revision) >= sizeof(pull->revision) ||
        !tk_hub_cache_is_path(tk_str_of(revision), 8)) {
        return tk_err_set(err, TINKC_E_INVALID, "\"%.128s\" is not a revision", revision);
    }
    (void)snprintf(pull->id, sizeof(pull->id), "%s", name);
    (void)snprintf(pull->revision, sizeof(pull->revision), "%s", revision);
    return TINKC_OK;
}

static tinkc_code find_hub(tk_pull *pull, tk_err *err)
{
    if (tk_hub_is_off(NULL)) {
        return tk_err_set(err, TINKC_E_STATE,
                          "the hub may not be asked: HF_HUB_OFFLINE or "
                          "TRANSFORMERS_OFFLINE is set");
    }
    tinkc_code code = tk_hub_find_url(&pull->hub_url, pull->options.hub_url, NULL, err);
    if (code == TINKC_OK) {
        code = tk_hub_find_token(&pull->token, pull->options.hub_token, NULL, err);
    }
    if (code == TINKC_OK && pull->service == NULL) {
        code = tk_hub_open_way(&pull->own, err);
        pull->service = pull->own;
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_handle *handle = tk_service_handle(pull->service);
    int64_t retries = pull->options.max_retries >= 0
                          ? pull->options.max_retries
                          : tk_core_config(handle->core)->max_retries;
    code = tk_hub_pass_begin(&pull->pass, handle->core, pull->token, err);
    pull->peer = (tk_hub_peer){.handle = handle,
                               .url = pull->hub_url,
                               .authorization = pull->pass.authorization,
                               .tick = tk_pull_tell,
                               .user = pull,
                               .retries = (int)TK_MIN(retries, (int64_t)100)};
    return code;
}

/* ---- the place ---- */

/* Gives the folder of the model in the cache. */
static tinkc_code find_folder(tk_pull *pull, tk_err *err)
{
    char *cache = NULL;
    size_t n;
    tk_buf path;
    tinkc_code code = TINKC_OK;
    if (pull->options.cache_dir != NULL) {
        cache = tk_strdup(pull->options.cache_dir);
        code = cache != NULL ? TINKC_OK : tk_err_nomem(err);
    } else {
        code = tk_hub_cache_find(&cache, NULL, err);
    }
    if (code == TINKC_OK && cache == NULL) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "no place for models: set HF_HOME, HF_HUB_CACHE or HOME");
    }
    tk_buf_init(&path, TK_HUB_PATH_BYTES);
    if (code == TINKC_OK) {
        tk_buf_puts(&path, cache);
        tk_hub_cache_put_folder(&path, pull->id);
        tk_buf_putc(&path, '\0');
        code = tk_buf_status(&path, err);
        pull->folder = code == TINKC_OK ? tk_buf_take(&path, &n) : NULL;
    }
    tk_buf_dispose(&path);
    tk_free(cache);
    return code;
}

static tinkc_code make_below(const char *folder, const char *name, tk_err *err)
{
    char *path = tk_file_join(folder, name);
    tinkc_code code =
        path != NULL ? tk_file_mkdirs(path, DIR_MODE, err) : tk_err_nomem(err);
    tk_free(path);
    return code;
}

static tinkc_code make_place(tk_pull *pull, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (pull->options.directory != NULL) {
        pull->snapshot = tk_strdup(pull->options.directory);
        code = pull->snapshot != NULL ? TINKC_OK : tk_err_nomem(err);
        return code == TINKC_OK ? tk_file_mkdirs(pull->snapshot, DIR_MODE, err) : code;
    }
    code = find_folder(pull, err);
    if (code == TINKC_OK) {
        code = tk_hub_cache_snapshot(&pull->snapshot, pull->folder, pull->commit, err);
    }
    if (code == TINKC_OK) {
        code = make_below(pull->folder, "blobs", err);
    }
    return code == TINKC_OK ? tk_file_mkdirs(pull->snapshot, DIR_MODE, err) : code;
}

/* Looks whether the disk has room for what is missing, before the first byte. */
static tinkc_code check_room(const tk_pull *pull, tk_err *err)
{
    struct statvfs disk;
    uint64_t missing = 0;
    for (size_t i = 0; i < pull->n_files; i++) {
        int64_t have = 0;
        tinkc_code code = tk_pull_have(&have, pull, &pull->files[i], err);
        if (code != TINKC_OK) {
            return code;
        }
        missing += (uint64_t)(pull->files[i].size - have);
    }
    if (statvfs(pull->snapshot, &disk) != 0) {
        return TINKC_OK; /* writing will tell */
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return missing <= room
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_IO,
                            "%s needs %llu MiB more on the disk; %llu MiB are free in %s",
                            pull->id, (unsigned long long)(missing / TK_MIB + 1),
                            (unsigned long long)(room / TK_MIB), pull->snapshot);
}

/* The branch names the commit from now on. */
static tinkc_code write_ref(const tk_pull *pull, tk_err *err)
{
    if (pull->folder == NULL || tk_hub_cache_is_commit(pull->revision)) {
        return TINKC_OK;
    }
    char *refs = tk_file_join(pull->folder, "refs");
    char *path = refs != NULL ? tk_file_join(refs, pull->revision) : NULL;
    char *parent = path != NULL ? tk_file_parent(path) : NULL;
    tinkc_code code =
        parent != NULL ? tk_file_mkdirs(parent, DIR_MODE, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = tk_file_replace(path, pull->commit, strlen(pull->commit), FILE_MODE, err);
    }
    tk_free(refs);
    tk_free(path);
    tk_free(parent);
    return code;
}

/* ---- the steps ---- */

static tinkc_code get_all(tk_pull *pull, tk_err *err)
{
    tinkc_code code = find_hub(pull, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_pull_list(pull, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = make_place(pull, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_room(pull, err);
    for (size_t i = 0; code == TINKC_OK && i < pull->n_files; i++) {
        code = tk_pull_get(pull, &pull->files[i], err);
    }
    if (code == TINKC_OK) {
        code = write_ref(pull, err);
    }
out:
    if (code != TINKC_OK && code != TINKC_E_CANCELLED && pull->is_stopped) {
        tk_err_clear(err); /* what came of the stop in the middle of it */
        code = tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    return code;
}

static void dispose(tk_pull *pull)
{
    tk_hub_pass_end(&pull->pass);
    tk_hub_token_free(pull->token);
    tk_free(pull->hub_url);
    tk_free(pull->files);
    tk_free(pull->folder);
    tk_free(pull->snapshot);
    tinkc_service_close(&pull->own);
}

static tinkc_code prepare(tk_pull *pull, const char *name,
                          const tinkc_pull_options *options, tk_err *err)
{
    tinkc_code code =
        tk_types_options(&pull->options, sizeof(pull->options), options, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (pull->options.retry_ms < 0 || pull->options.retry_ms > RETRY_MS_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "pull: retry_ms is out of range");
    }
    return check_name(pull, name, err);
}

tinkc_code tinkc_pull_model(char **directory, tinkc_service *service, const char *name,
                            const tinkc_pull_options *options, tinkc_error **error)
{
    tk_pull pull = {.options = TINKC_PULL_OPTIONS_INIT,
                    .service = service,
                    .progress = {.total = -1}};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = prepare(&pull, name, options, &err);
    if (code == TINKC_OK && service != NULL) {
        code = tk_core_check_blocking(tk_service_core(service), &err);
    }
    if (code == TINKC_OK) {
        code = get_all(&pull, &err);
    }
    if (code == TINKC_OK && directory != NULL) {
        *directory = pull.snapshot;
        pull.snapshot = NULL;
    }
    dispose(&pull);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}

/* ---- without the hub ---- */

static bool has_file(const char *directory, const char *name)
{
    struct stat info;
    char *path = tk_file_join(directory, name);
    bool found = path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode);
    tk_free(path);
    return found;
}

static tinkc_code find(tk_pull *pull, tk_err *err)
{
    tinkc_code code = find_folder(pull, err);
    if (code == TINKC_OK) {
        code = tk_hub_cache_snapshot(&pull->snapshot, pull->folder, pull->revision, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    bool found = pull->snapshot != NULL && has_file(pull->snapshot, "config.json") &&
                 (has_file(pull->snapshot, "model.safetensors") ||
                  has_file(pull->snapshot, "model.safetensors.index.json"));
    return found ? TINKC_OK
                 : tk_err_set(err, TINKC_E_MISSING, "%s is not in the cache %s", pull->id,
                              pull->folder);
}

tinkc_code tinkc_pull_find(char **directory, const char *name,
                           const tinkc_pull_options *options, tinkc_error **error)
{
    tk_pull pull = {.options = TINKC_PULL_OPTIONS_INIT};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = directory != NULL ? prepare(&pull, name, options, &err)
                                        : tk_err_set(&err, TINKC_E_INVALID,
                                                     "pull: no place for the result");
    if (code == TINKC_OK) {
        code = find(&pull, &err);
    }
    if (code == TINKC_OK) {
        *directory = pull.snapshot;
        pull.snapshot = NULL;
    }
    dispose(&pull);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}
