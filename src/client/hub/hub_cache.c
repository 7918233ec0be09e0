/* See hub_cache.h. */
#include "client/hub/hub_cache.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/hub/hub.h"

#define REF_MAX_BYTES (4 * TK_KIB)

/* ---- names ---- */

static bool is_word(tk_str word)
{
    static const char others[] = "-_.";
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || memchr(others, c, 3) != NULL;
        bool is_double = i > 0 && c == '.' && word.p[i - 1] == '.';
        if (!is_plain || is_double) {
            return false;
        }
    }
    return word.n > 0 && word.p[0] != '.' && word.p[0] != '-';
}

bool tk_hub_cache_is_path(tk_str text, size_t most)
{
    tk_str rest = text;
    size_t n = 0;
    while (rest.p != NULL) {
        if (++n > most || !is_word(tk_str_cut(&rest, '/'))) {
            return false;
        }
    }
    return n > 0;
}

/* "--" replaces "/" in the names of cache directories, as at Hugging Face. */
bool tk_hub_cache_is_id(tk_str id)
{
    for (size_t i = 1; i < id.n; i++) {
        if (id.p[i] == '-' && id.p[i - 1] == '-') {
            return false;
        }
    }
    return tk_hub_cache_is_path(id, 2);
}

bool tk_hub_cache_is_commit(const char *text)
{
    return strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

/* ---- places ---- */

tinkc_code tk_hub_cache_find(char **out, const tk_env *env, tk_err *err)
{
    static const char *const names[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"};
    char *home = NULL;
    *out = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const char *value = tk_env_get_nonempty(env, names[i]);
        if (value != NULL) {
            *out = tk_strdup(value);
            return *out != NULL ? TINKC_OK : tk_err_nomem(err);
        }
    }
    tinkc_code code = tk_hub_find_home(&home, env, err);
    if (code == TINKC_OK && home != NULL) {
        *out = tk_file_join(home, "hub");
        code = *out != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    tk_free(home);
    return code;
}

/* As Hugging Face writes it. */
void tk_hub_cache_put_folder(tk_buf *out, const char *id)
{
    tk_buf_puts(out, "/models--");
    for (const char *c = id; *c != '\0'; c++) {
        if (*c == '/') {
            tk_buf_puts(out, "--");
        } else {
            tk_buf_putc(out, *c);
        }
    }
}

/* What refs/<revision> names, into `revision`; as it is when there is no such file. */
static tinkc_code read_ref(tk_buf *revision, const char *folder, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tk_buf path;
    char *data = NULL;
    tk_buf_init(&path, TK_HUB_PATH_BYTES);
    tk_buf_printf(&path, "%s/refs/" TK_STR_FMT, folder, TK_STR_ARG(tk_buf_str(revision)));
    tinkc_code code = tk_buf_cstr(&path) != NULL
                          ? tk_file_read(&data, NULL, path.p, REF_MAX_BYTES, &why)
                          : tk_buf_status(&path, &why);
    if (code == TINKC_OK) {
        tk_str commit = tk_str_trim(tk_str_of(data));
        tk_buf_clear(revision);
        tk_buf_put(revision, commit.p, commit.n);
    }
    tk_buf_dispose(&path);
    tk_free(data);
    return code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK;
}

tinkc_code tk_hub_cache_snapshot(char **out, const char *folder, const char *revision,
                                 tk_err *err)
{
    tk_buf name, path;
    *out = NULL;
    tk_buf_init(&name, REF_MAX_BYTES);
    tk_buf_init(&path, TK_HUB_PATH_BYTES);
    tk_buf_puts(&name, revision);
    tinkc_code code = tk_buf_status(&name, err);
    if (code == TINKC_OK && !tk_hub_cache_is_commit(revision)) {
        code = read_ref(&name, folder, err);
    }
    if (code == TINKC_OK) {
        code = tk_buf_status(&name, err);
    }
    if (code == TINKC_OK && tk_hub_cache_is_path(tk_buf_str(&name), 1)) {
        size_t n;
        tk_buf_printf(&path, "%s/snapshots/" TK_STR_FMT, folder,
                      TK_STR_ARG(tk_buf_str(&name)));
        tk_buf_putc(&path, '\0');
        code = tk_buf_status(&path, err);
        *out = code == TINKC_OK ? tk_buf_take(&path, &n) : NULL;
    }
    tk_buf_dispose(&name);
    tk_buf_dispose(&path);
    return code;
}
