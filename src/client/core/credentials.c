/* The file holds live keys: it is refused when its mode lets others read it. Its content
 * is hostile input like any other. */
#include "client/core/credentials.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_MAX_BYTES (256 * TK_KIB)
#define ARENA_BYTES    (4 * TK_MIB)

/* There, and for its owner only. */
static tinkc_code check_mode(bool *is_there, const char *path, tk_err *err)
{
    struct stat st;
    *is_there = stat(path, &st) == 0;
    if (!*is_there) {
        return errno == ENOENT || errno == ENOTDIR
                   ? TINKC_OK
                   : tk_err_set(err, TINKC_E_CONFIG, "%s cannot be looked at (error %d)",
                                path, errno);
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "%s can be used by others than its owner: chmod 600 it", path);
    }
    return TINKC_OK;
}

static const tk_json *text_at(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING ? value : NULL;
}

static tinkc_code find_key(char **out, const tk_json *json, const char *path, tk_err *err)
{
    const tk_json *keys = tk_json_get(json, "keys");
    const tk_json *name = text_at(json, "default");
    if (json->type != TK_JSON_OBJECT || (keys != NULL && keys->type != TK_JSON_OBJECT)) {
        return tk_err_set(err, TINKC_E_CONFIG, "%s is not a credentials file", path);
    }
    const tk_json *record =
        name != NULL && keys != NULL ? tk_json_get(keys, name->as.string.p) : NULL;
    if (record == NULL) {
        return TINKC_OK;
    }
    const tk_json *key = text_at(record, "key");
    if (key == NULL || key->as.string.n == 0) {
        return tk_err_set(err, TINKC_E_CONFIG, "%s: its default has no key", path);
    }
    *out = tk_strndup(key->as.string.p, key->as.string.n);
    return *out != NULL ? TINKC_OK : tk_err_nomem(err);
}

tinkc_code tk_credentials_read(char **out, const char *path, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    bool is_there = false;
    tk_err found = TK_ERR_INIT;
    tk_arena arena;
    const tk_json *json = NULL;
    *out = NULL;
    tk_arena_init(&arena, ARENA_BYTES);
    tinkc_code code = check_mode(&is_there, path, err);
    if (code != TINKC_OK || !is_there) {
        goto out;
    }
    code = tk_file_read(&text, &n, path, FILE_MAX_BYTES, &found);
    if (code == TINKC_OK) {
        code = tk_json_parse(&json, &arena, text, n, NULL, &found);
    }
    if (code != TINKC_OK) {
        code = code == TINKC_E_NOMEM
                   ? tk_err_nomem(err)
                   : tk_err_set(err, TINKC_E_CONFIG, "%s cannot be read: %s", path,
                                found.message);
        goto out;
    }
    code = find_key(out, json, path, err);
out:
    tk_arena_dispose(&arena);
    if (text != NULL) {
        tk_mem_wipe(text, n);
        tk_free(text);
    }
    return code;
}
