/* The keys of the file, read through owner_file.h. */
#include "client/core/credentials.h"

#include "base/mem.h"
#include "client/core/owner_file.h"

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
    tk_owner_file file;
    *out = NULL;
    tinkc_code code = tk_owner_file_read(&file, path, err);
    if (code == TINKC_OK && file.json != NULL) {
        code = find_key(out, file.json, path, err);
    }
    tk_owner_file_dispose(&file);
    return code;
}
