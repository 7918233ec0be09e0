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
#include "client/hub/hub_cache.h"
#include "http/url.h"

#define PATH_MAX_BYTES (8 * TK_KIB)

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
    tinkc_code code = tk_hub_cache_find(&made.hf_cache, env, err);
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

tinkc_code tk_tokenizer_place_hf(char **out, char **where,
                                 const tk_tokenizer_places *places,
                                 const tk_tokenizer_id *id, tk_err *err)
{
    char *folder = NULL, *snapshot = NULL;
    tk_buf text;
    tk_buf_init(&text, PATH_MAX_BYTES);
    tk_buf_puts(&text, places->hf_cache);
    tk_hub_cache_put_folder(&text, id->id);
    tinkc_code code = take(&folder, &text, err);
    if (code == TINKC_OK) {
        code = tk_hub_cache_snapshot(&snapshot, folder, id->revision, err);
    }
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
    tk_hub_cache_put_folder(&text, id->id);
    tk_buf_putc(&text, '/');
    tk_url_escape(&text, tk_str_of(id->revision), "");
    return take(out, &text, err);
}
