/* See tokenizer_place.h.
 * Needs: text */
#include "client/hub/tokenizer_place.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "client/hub/hub.h"
#include "http/url.h"

#define PATH_MAX_BYTES (8 * TK_KIB)
#define REF_MAX_BYTES  (4 * TK_KIB)

/* Ends a chain of appends: the text belongs to the caller. */
static tinkc_code take(char **out, tk_buf *text, tk_err *err)
{
    size_t n;
    tk_buf_putc(text, '\0');
    tinkc_code code = tk_buf_status(text, err);
    *out = code == TINKC_OK ? tk_buf_take(text, &n) : NULL;
    tk_buf_dispose(text);
    return code;
}

/* base + tail, both may be empty. */
static tinkc_code join(char **out, const char *base, const char *tail, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, PATH_MAX_BYTES);
    tk_buf_puts(&text, base);
    tk_buf_puts(&text, tail);
    return take(out, &text, err);
}

/* ---- what the environment says ---- */

static tinkc_code find_hf_cache(char **out, const tk_env *env, const char *hf_home,
                                tk_err *err)
{
    static const char *const names[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const char *value = tk_env_get_nonempty(env, names[i]);
        if (value != NULL) {
            return join(out, value, "", err);
        }
    }
    return hf_home != NULL ? join(out, hf_home, "/hub", err) : TINKC_OK;
}

void tk_tokenizer_places_dispose(tk_tokenizer_places *places)
{
    tk_free(places->hf_cache);
    tk_free(places->cache);
    tk_free(places->hub_url);
    tk_hub_token_free(places->token);
    *places = (tk_tokenizer_places){.token = NULL};
}

tinkc_code tk_tokenizer_places_init(tk_tokenizer_places *out,
                                    const tinkc_tokenizer_options *options,
                                    const tk_env *env, tk_err *err)
{
    tk_tokenizer_places made = {.hub_is_off = options->offline || tk_hub_is_off(env)};
    char *hf_home = NULL;
    tinkc_code code = tk_hub_find_home(&hf_home, env, err);
    if (code == TINKC_OK) {
        code = find_hf_cache(&made.hf_cache, env, hf_home, err);
    }
    if (code == TINKC_OK) {
        code = options->cache_dir != NULL
                   ? join(&made.cache, options->cache_dir, "", err)
                   : tk_hub_find_cache(&made.cache, env, "tinkc", err);
    }
    if (code == TINKC_OK) {
        tk_err why = TK_ERR_INIT;
        code = tk_hub_find_url(&made.hub_url, options->hub_url, env, &why);
        bool later = code == TINKC_E_CONFIG && options->hub_url == NULL;
        code = later || code == TINKC_OK ? TINKC_OK
                                         : tk_err_set(err, code, "%s", why.message);
    }
    tk_free(hf_home);
    if (code != TINKC_OK) {
        tk_tokenizer_places_dispose(&made);
        return code;
    }
    *out = made;
    return TINKC_OK;
}

tinkc_code tk_tokenizer_places_find_token(tk_tokenizer_places *places,
                                          const tinkc_tokenizer_options *options,
                                          const tk_env *env, tk_err *err)
{
    tinkc_code code = places->hub_url != NULL
                          ? TINKC_OK
                          : tk_hub_find_url(&places->hub_url, options->hub_url, env, err);
    return code != TINKC_OK
               ? code
               : tk_hub_find_token(&places->token, options->hub_token, env, err);
}

/* ---- directories ---- */

bool tk_tokenizer_place_has(const char *directory)
{
    static const char *const names[] = {"tokenizer.json", "tiktoken.model"};
    struct stat info;
    bool found = false;
    int folder = open(directory, O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; folder >= 0 && !found && i < TK_ARRAY_LEN(names); i++) {
        found = fstatat(folder, names[i], &info, 0) == 0 && S_ISREG(info.st_mode);
    }
    if (folder >= 0) {
        close(folder);
    }
    return found;
}

/* "models--org--name", as Hugging Face writes it. */
static void put_folder(tk_buf *out, const tk_tokenizer_id *id)
{
    tk_buf_puts(out, "/models--");
    for (const char *c = id->id; *c != '\0'; c++) {
        if (*c == '/') {
            tk_buf_puts(out, "--");
        } else {
            tk_buf_putc(out, *c);
        }
    }
}

static bool is_commit(const char *text)
{
    return strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

/* What refs/<revision> names, into `revision`; as it is when there is no such file. */
static tinkc_code read_ref(tk_buf *revision, const char *folder, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tk_buf path;
    char *data = NULL;
    tk_buf_init(&path, PATH_MAX_BYTES);
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

tinkc_code tk_tokenizer_place_hf(char **out, char **where,
                                 const tk_tokenizer_places *places,
                                 const tk_tokenizer_id *id, tk_err *err)
{
    char *folder = NULL, *snapshot = NULL;
    tk_buf text, revision;
    tk_buf_init(&text, PATH_MAX_BYTES);
    tk_buf_init(&revision, REF_MAX_BYTES);
    tk_buf_puts(&text, places->hf_cache);
    put_folder(&text, id);
    tinkc_code code = take(&folder, &text, err);
    if (code == TINKC_OK) {
        tk_buf_puts(&revision, id->revision);
        code = is_commit(id->revision) ? TINKC_OK : read_ref(&revision, folder, err);
    }
    if (code == TINKC_OK && tk_tokenizer_rule_is_path(tk_buf_str(&revision), 1)) {
        tk_buf_init(&text, PATH_MAX_BYTES);
        tk_buf_printf(&text, "%s/snapshots/" TK_STR_FMT, folder,
                      TK_STR_ARG(tk_buf_str(&revision)));
        code = take(&snapshot, &text, err);
    }
    tk_buf_dispose(&revision);
    if (code != TINKC_OK) {
        tk_free(folder);
        return code;
    }
    if (snapshot != NULL && !tk_tokenizer_place_has(snapshot)) {
        tk_free(snapshot);
        snapshot = NULL;
    }
    *out = snapshot;
    *where = folder;
    return TINKC_OK;
}

tinkc_code tk_tokenizer_place_own(char **out, const tk_tokenizer_places *places,
                                  const tk_tokenizer_id *id, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, PATH_MAX_BYTES);
    tk_buf_printf(&text, "%s/hub", places->cache);
    put_folder(&text, id);
    tk_buf_putc(&text, '/');
    tk_url_escape(&text, tk_str_of(id->revision), "");
    return take(out, &text, err);
}
