/* Opens base models from the program and from directories, each with its tokenizer. */
#include "server/run/srv_catalog.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/eng_pool.h"
#include "server/run/srv_embed.h"

/* A start writes only the files that differ, so that it does not wait for the disk. */
static tinkc_code publish(const char *path, tk_str content, tk_err *err)
{
    tk_file_writer *writer = NULL;
    tinkc_code code = tk_file_writer_new(&writer, path, 0600, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_file_writer_put(writer, content.p, content.n, err);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    return tk_file_writer_publish(writer, err);
}

static tinkc_code write_file(const char *dir, const char *name, tk_str content,
                             tk_err *err)
{
    char *path = tk_file_join(dir, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    char *old = NULL;
    size_t n = 0;
    tk_err ignored = TK_ERR_INIT;
    bool same = tk_file_read(&old, &n, path, content.n, &ignored) == TINKC_OK &&
                n == content.n && memcmp(old, content.p, n) == 0;
    tinkc_code code = same ? TINKC_OK : publish(path, content, err);
    tk_free(old);
    tk_free(path);
    return code;
}

static tinkc_code absolute(char **out, const char *path, tk_err *err)
{
    char full[PATH_MAX];
    if (realpath(path, full) == NULL) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no directory %s", path);
    }
    *out = tk_strdup(full);
    return *out != NULL ? TINKC_OK : tk_err_nomem(err);
}

static tinkc_code unpack_tokenizer(char **out, const char *data, const srv_embed *embed,
                                   tk_err *err)
{
    char *dir = tk_file_join(data, "tokenizers/" SRV_EMBED_NAME);
    if (dir == NULL) {
        return tk_err_nomem(err);
    }
    const struct {
        const char *name;
        tk_str content;
    } files[] = {
        {"tokenizer.json", embed->tokenizer},
        {"tokenizer_config.json", embed->tokenizer_config},
        {"config.json", embed->config},
    };
    tinkc_code code = tk_file_mkdirs(dir, 0700, err);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(files); i++) {
        code = write_file(dir, files[i].name, files[i].content, err);
    }
    if (code == TINKC_OK) {
        code = absolute(out, dir, err);
    }
    tk_free(dir);
    return code;
}

static tinkc_code open_embedded(srv_catalog *catalog, const char *data, tk_err *err)
{
    srv_embed embed;
    srv_embed_get(&embed);
    srv_base *base = &catalog->bases[catalog->n_bases++];
    base->is_embedded = true;
    const eng_model_memory memory = {embed.config, embed.generation_config, embed.weights,
                                     catalog->weights};
    base->name = tk_strdup(SRV_EMBED_NAME);
    if (base->name == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = eng_model_open_memory(&base->model, catalog->pool, &memory, err);
    if (code != TINKC_OK) {
        goto out;
    }
    eng_model_get_info(base->model, &base->info);
    code = srv_text_load_memory(&base->tok, embed.tokenizer, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = unpack_tokenizer(&base->tokenizer_dir, data, &embed, err);
out:
    return code;
}

/* Returns the size of the directory's weights, as far as they can be seen. */
static size_t file_bytes(const char *dir)
{
    size_t total = 0;
    DIR *list = opendir(dir);
    const struct dirent *entry;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        struct stat info;
        size_t n = strlen(entry->d_name);
        const size_t ending = sizeof(".safetensors") - 1;
        if (n > ending && strcmp(entry->d_name + n - ending, ".safetensors") == 0 &&
            fstatat(dirfd(list), entry->d_name, &info, 0) == 0 && info.st_size > 0) {
            total += (size_t)info.st_size;
        }
    }
    if (list != NULL) {
        (void)closedir(list);
    }
    return total;
}

/* Returns what the weights will take, as far as it can be told. */
static size_t weight_bytes(const char *dir, eng_weights weights)
{
    tk_err ignored = TK_ERR_INIT; /* opening the model finds and says the same */
    size_t bytes = 0;
    bool same = weights == ENG_WEIGHTS_FILE ||
                eng_model_measure(&bytes, dir, weights, &ignored) != TINKC_OK;
    return same ? file_bytes(dir) : bytes;
}

/* Reads the model and its tokenizer from its directory. */
static tinkc_code open_files(srv_base *base, eng_pool *pool, eng_weights weights,
                             tk_err *err)
{
    tinkc_code code =
        eng_model_open(&base->model, pool, base->tokenizer_dir, weights, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_model_get_info(base->model, &base->info);
    char *path = tk_file_join(base->tokenizer_dir, "tokenizer.json");
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    /* Without it only stop strings are refused. */
    code = srv_text_load(&base->tok, path, err);
    tk_free(path);
    return code;
}

static tinkc_code open_directory(srv_catalog *catalog, const srv_pair *pair,
                                 size_t memory, tk_err *err)
{
    srv_base *base = &catalog->bases[catalog->n_bases++];
    base->name = tk_strdup(pair->name);
    if (base->name == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = absolute(&base->tokenizer_dir, pair->value, err);
    size_t bytes =
        code == TINKC_OK ? weight_bytes(base->tokenizer_dir, catalog->weights) : 0;
    if (bytes > memory) { /* before they are read */
        return tk_err_set(err, TINKC_E_CONFIG,
                          "the weights of the model %s have %zu MiB; the server's memory "
                          "is %zu MiB (--memory)",
                          pair->name, bytes / TK_MIB, memory / TK_MIB);
    }
    return code == TINKC_OK ? open_files(base, catalog->pool, catalog->weights, err)
                            : code;
}

/* ---- later ---- */

static bool is_stopped(void *user)
{
    return eng_pool_is_stopped(user);
}

/* One thread of its own reads and packs: the engine's pool computes meanwhile. */
static tinkc_code open_beside(srv_base *base, srv_catalog *catalog, tk_err *err)
{
    eng_pool *pool = NULL;
    tinkc_code code = eng_pool_new(&pool, 1, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_set_stop(pool, is_stopped, catalog->pool);
    code = open_files(base, pool, catalog->weights, err);
    if (code == TINKC_OK) {
        eng_model_set_pool(base->model, catalog->pool);
    }
    eng_pool_free(pool);
    return code;
}

static void dispose(srv_base *base)
{
    srv_text_free(base->tok);
    eng_model_free(base->model);
    tk_free(base->tokenizer_dir);
    tk_free(base->name);
    *base = (srv_base){0};
}

tinkc_code srv_catalog_load(srv_base **out, srv_catalog *catalog, const srv_pair *pair,
                            tk_err *err)
{
    if (catalog->n_bases == catalog->max_bases ||
        atomic_load(&catalog->n_names) == catalog->max_names) {
        return tk_err_set(err, TINKC_E_LIMIT, "the server has %zu models already",
                          catalog->n_bases);
    }
    srv_base *base = &catalog->bases[catalog->n_bases];
    base->name = tk_strdup(pair->name);
    base->tokenizer_dir = tk_strdup(pair->value);
    tinkc_code code = base->name != NULL && base->tokenizer_dir != NULL
                          ? open_beside(base, catalog, err)
                          : tk_err_nomem(err);
    if (code != TINKC_OK) {
        dispose(base);
        return code;
    }
    catalog->n_bases++;
    *out = base;
    return TINKC_OK;
}

void srv_catalog_unload(srv_catalog *catalog)
{
    dispose(&catalog->bases[--catalog->n_bases]);
}

/* ---- names ---- */

tinkc_code srv_catalog_add(srv_catalog *catalog, const char *name, srv_base *base,
                           tk_err *err)
{
    size_t n = atomic_load(&catalog->n_names);
    if (n == catalog->max_names) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "the server has %zu names of models already", n);
    }
    if (name[0] == '\0' || srv_catalog_find(catalog, tk_str_of(name)) != NULL) {
        return tk_err_set(err, TINKC_E_CONFIG, "the model name \"%s\" is %s", name,
                          name[0] == '\0' ? "empty" : "used twice");
    }
    char *copy = tk_strdup(name);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    catalog->names[n] = (srv_name){copy, base};
    atomic_store(&catalog->n_names, n + 1);
    return TINKC_OK;
}

void srv_kernels(char *out, size_t size)
{
    size_t n = 0;
    const char *name;
    out[0] = '\0';
    for (size_t i = 0; (name = eng_kern_name(i)) != NULL && n < size; i++) {
        int more = snprintf(out + n, size - n, "%s%s", i > 0 ? ", " : "", name);
        n += more > 0 ? (size_t)more : 0;
    }
}

static tinkc_code choose_kernel(const char *name, tk_err *err)
{
    char have[64];
    if (name == NULL || eng_kern_select(name)) {
        return TINKC_OK;
    }
    srv_kernels(have, sizeof(have));
    return tk_err_set(err, TINKC_E_CONFIG,
                      "this machine or build has no kernels \"%s\": it has %s", name,
                      have);
}

static tinkc_code choose_weights(srv_catalog *catalog, const char *name, tk_err *err)
{
    bool int8 = name != NULL && strcmp(name, "int8") == 0;
    if (name != NULL && !int8 && strcmp(name, "file") != 0) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "there are no weights \"%s\": it is file or int8", name);
    }
    catalog->weights = int8 ? ENG_WEIGHTS_INT8 : ENG_WEIGHTS_FILE;
    return TINKC_OK;
}

static tinkc_code fill(srv_catalog *catalog, const srv_options *options, size_t memory,
                       tk_err *err)
{
    tinkc_code code = choose_kernel(options->kernel, err);
    if (code == TINKC_OK) {
        code = choose_weights(catalog, options->weights, err);
    }
    if (code == TINKC_OK) {
        code = eng_pool_new(&catalog->pool, options->threads, err);
    }
    if (code == TINKC_OK) {
        code = open_embedded(catalog, options->data, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < options->n_models; i++) {
        code = open_directory(catalog, &options->models[i], memory, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < catalog->n_bases; i++) {
        code = srv_catalog_add(catalog, catalog->bases[i].name, &catalog->bases[i], err);
    }
    for (size_t i = 0; code == TINKC_OK && i < options->n_aliases; i++) {
        const srv_pair *alias = &options->aliases[i];
        srv_base *base = srv_catalog_find(catalog, tk_str_of(alias->value));
        if (base == NULL) {
            return tk_err_set(err, TINKC_E_CONFIG, "alias %s: there is no model %s",
                              alias->name, alias->value);
        }
        code = srv_catalog_add(catalog, alias->name, base, err);
    }
    return code;
}

tinkc_code srv_catalog_new(srv_catalog **out, const srv_options *options, size_t memory,
                           tk_err *err)
{
    srv_catalog *catalog = tk_zalloc(sizeof(*catalog));
    if (catalog == NULL) {
        return tk_err_nomem(err);
    }
    catalog->max_bases = options->n_models + 1 + TK_SRV_LOADS_MAX;
    catalog->max_names = catalog->max_bases + options->n_aliases;
    catalog->bases = tk_zarray(catalog->max_bases, sizeof(*catalog->bases));
    catalog->names = tk_zarray(catalog->max_names, sizeof(*catalog->names));
    tinkc_code code = catalog->bases != NULL && catalog->names != NULL
                          ? fill(catalog, options, memory, err)
                          : tk_err_nomem(err);
    if (code != TINKC_OK) {
        srv_catalog_free(catalog);
        return code;
    }
    *out = catalog;
    return TINKC_OK;
}

void srv_catalog_free(srv_catalog *catalog)
{
    if (catalog == NULL) {
        return;
    }
    for (size_t i = 0; i < catalog->n_names; i++) {
        tk_free(catalog->names[i].name);
    }
    for (size_t i = 0; i < catalog->n_bases; i++) {
        dispose(&catalog->bases[i]);
    }
    eng_pool_free(catalog->pool);
    tk_free(catalog->names);
    tk_free(catalog->bases);
    tk_free(catalog);
}

srv_base *srv_catalog_find(const srv_catalog *catalog, tk_str name)
{
    size_t n = atomic_load(&catalog->n_names);
    for (size_t i = 0; i < n; i++) {
        if (tk_str_is(name, catalog->names[i].name)) {
            return catalog->names[i].base;
        }
    }
    return NULL;
}

srv_base *srv_catalog_find_directory(const srv_catalog *catalog, const char *dir)
{
    for (size_t i = 0; i < catalog->n_bases; i++) {
        srv_base *base = &catalog->bases[i];
        if (!base->is_embedded && strcmp(base->tokenizer_dir, dir) == 0) {
            return base;
        }
    }
    return NULL;
}
