/* See tokenizer_lookup.h. Each place has a function that tries it, which finds the
 * tokenizer, notes why not, or ends the search.
 * Needs: text */
#include "client/hub/tokenizer_lookup.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "client/hub/hub.h"
#include "client/hub/hub_cache.h"
#include "client/hub/tokenizer_hub.h"
#include "client/hub/tokenizer_place.h"
#include "client/values/error.h"
#include "text/tok/tok_embed.h"

#define SUMMARY_MAX_BYTES TK_KIB

typedef struct lookup {
    const tk_tokenizer_search *search;
    tk_tokenizer_places places;
    tk_tokenizer_id id;
    bool has_id;       /* `id` names something at the hub */
    tk_tok *tok;       /* found */
    tinkc_error *told; /* why not, place by place: each is the cause of the next */
    tk_err worst;      /* reported in the end; TINKC_OK: TINKC_E_MISSING */
    tk_buf summary;
} lookup;

/* ---- notes ---- */

/* `place` in the summary; `why` in full among the causes. Only what a place cannot say
 * about the model itself (no connection, no permission) is worse than "missing". */
static tinkc_code note(lookup *self, const char *place, const tk_err *why, tk_err *err)
{
    bool is_absent = why->code == TINKC_E_MISSING || why->code == TINKC_E_NOT_FOUND ||
                     why->code == TINKC_E_INVALID;
    tk_buf_printf(&self->summary, "%s%s", self->summary.n > 0 ? "; " : "", place);
    if (why->http_status > 0) {
        tk_buf_printf(&self->summary, ": HTTP %d", why->http_status);
    } else {
        tk_buf_printf(&self->summary, ": %s", is_absent ? "no" : why->message);
    }
    if (!is_absent) {
        self->worst = *why;
    }
    self->told = tk_error_new(why, self->told);
    bool is_short =
        self->summary.failure == TINKC_E_NOMEM || self->told == tk_error_oom();
    return is_short ? tk_err_nomem(err) : TINKC_OK;
}

static tinkc_code note_absent(lookup *self, const char *place, const char *where,
                              tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    (void)tk_err_set(&why, TINKC_E_MISSING, "%s: no tokenizer there", where);
    return note(self, place, &why, err);
}

/* Whether an error ends the search: memory, the caller's will, and files that are there
 * but not good. */
static bool is_final(const tk_err *why)
{
    tinkc_code code = why->code;
    if (why->http_status >= 400) {
        return code == TINKC_E_NOMEM; /* a refusal: there are no files */
    }
    return code == TINKC_E_NOMEM || code == TINKC_E_CANCELLED || code == TINKC_E_PARSE ||
           code == TINKC_E_DECODE || code == TINKC_E_UNSUPPORTED || code == TINKC_E_LIMIT;
}

/* An error that ends the search, with the place in front. */
static tinkc_code end(tk_err *err, const char *place, const tk_err *why)
{
    if (why->code == TINKC_E_NOMEM || why->code == TINKC_E_CANCELLED) {
        *err = *why;
        return why->code;
    }
    return tk_err_set(err, why->code, "%s: %s", place, why->message);
}

/* ---- directories ---- */

static tinkc_code load(lookup *self, const char *directory, tk_err *err)
{
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_tokenizer_load_cached(&tokenizer, directory, &error);
    if (code != TINKC_OK) {
        tk_error_read(err, error);
        tinkc_error_free(&error);
        return code;
    }
    self->tok = tk_tokenizer_tok(tokenizer);
    return TINKC_OK;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return path != NULL && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A name that may be a directory: loads it, or notes that it is not one. */
static tinkc_code try_one(lookup *self, const char *name, tk_err *err)
{
    if (is_directory(name) && tk_tokenizer_place_has(name)) {
        return load(self, name, err);
    }
    bool is_meant = is_directory(name) || name[0] == '/' || name[0] == '.';
    return is_meant ? note_absent(self, "directory", name, err) : TINKC_OK;
}

/* A name from the server counts as a directory only when it is absolute: "org/name" is
 * not meant to be one of the current directory. */
static tinkc_code try_named(lookup *self, tk_err *err)
{
    const tk_tokenizer_search *s = self->search;
    const char *names[] = {s->options->tokenizer_id, s->server_id, s->model};
    const bool callers[] = {true, false, s->is_callers_word};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < TK_ARRAY_LEN(names) && self->tok == NULL; i++) {
        if (code == TINKC_OK && names[i] != NULL && (callers[i] || names[i][0] == '/')) {
            code = try_one(self, names[i], err);
        }
    }
    return code;
}

static tinkc_code try_hf_cache(lookup *self, tk_err *err)
{
    char *directory = NULL, *where = NULL;
    if (!self->has_id || self->places.hf_cache == NULL) {
        return TINKC_OK;
    }
    tinkc_code code =
        tk_tokenizer_place_hf(&directory, &where, &self->places, &self->id, err);
    if (code == TINKC_OK && directory != NULL) {
        code = load(self, directory, err);
    } else if (code == TINKC_OK) {
        code = note_absent(self, "Hugging Face's cache", where, err);
    }
    tk_free(directory);
    tk_free(where);
    return code;
}

static tinkc_code try_own_cache(lookup *self, tk_err *err)
{
    char *directory = NULL;
    if (!self->has_id || self->places.cache == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = tk_tokenizer_place_own(&directory, &self->places, &self->id, err);
    if (code == TINKC_OK && tk_tokenizer_place_has(directory)) {
        code = load(self, directory, err);
    } else if (code == TINKC_OK) {
        code = note_absent(self, "tinkc's cache", directory, err);
    }
    tk_free(directory);
    return code;
}

/* ---- the network ---- */

/* The server's files are of the model that it knows: not of another tokenizer that the
 * caller asks for. */
static tinkc_code try_server(lookup *self, tk_err *err)
{
    const tk_tokenizer_search *s = self->search;
    tk_str rest = tk_str_of(s->model);
    tk_str name = tk_str_cut(&rest, ':');
    char text[TK_TOKENIZER_ID_BYTES];
    bool may_ask = s->has_server && !s->options->offline &&
                   s->options->tokenizer_id == NULL && s->options->revision == NULL &&
                   name.n < sizeof(text) && tk_hub_cache_is_path(name, 3);
    if (!may_ask) {
        return TINKC_OK;
    }
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    tk_err why = TK_ERR_INIT;
    tinkc_code code =
        tk_tokenizer_hub_serve(&self->tok, s->handle, text, s->options, &why);
    if (code != TINKC_OK && is_final(&why)) {
        return end(err, "the server's files", &why);
    }
    return code == TINKC_OK ? code : note(self, "the server", &why, err);
}

/* The model that is built into `tinkc serve` may be served by any other program, which
 * has no files of its tokenizer. */
static tinkc_code try_embedded(lookup *self, tk_err *err)
{
    const tk_tokenizer_search *s = self->search;
    tk_str json, config,
        rest = tk_str_of(s->options->tokenizer_id != NULL ? s->options->tokenizer_id
                                                          : s->model);
    if (s->options->revision != NULL ||
        !tk_tok_embed_find(&json, &config, tk_str_cut(&rest, ':'))) {
        return TINKC_OK;
    }
    return tk_tok_open_memory(&self->tok, json, config, (tk_str){NULL, 0}, err);
}

static tinkc_code ask_hub(lookup *self, tk_err *err)
{
    const tk_tokenizer_search *s = self->search;
    tinkc_service *own = NULL;
    tk_handle *handle = s->handle;
    tinkc_code code =
        tk_tokenizer_places_find_token(&self->places, s->options, s->env, err);
    if (code == TINKC_OK && handle == NULL) {
        code = tk_hub_open_way(&own, err);
        handle = code == TINKC_OK ? tk_service_handle(own) : NULL;
    }
    if (code == TINKC_OK) {
        code = tk_tokenizer_hub_get(&self->tok, handle, &self->places, &self->id,
                                    s->options, err);
    }
    tinkc_service_close(&own);
    return code;
}

static tinkc_code try_hub(lookup *self, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tinkc_code code = TINKC_E_MISSING;
    const char *url = self->places.hub_url != NULL ? self->places.hub_url : "HF_ENDPOINT";
    if (!self->has_id) {
        return TINKC_OK;
    }
    if (self->places.hub_is_off) {
        (void)tk_err_set(&why, code, "%s: offline, nobody was asked", url);
    } else if (self->id.is_private) {
        (void)tk_err_set(&why, code, "%s: has no files of %s", url, self->id.id);
    } else {
        code = ask_hub(self, &why);
    }
    if (code != TINKC_OK && is_final(&why)) {
        return end(err, "the hub's files", &why);
    }
    const char *place = self->places.hub_is_off ? "the hub (offline)" : "the hub";
    return code == TINKC_OK ? code : note(self, place, &why, err);
}

/* ---- all places ---- */

static tinkc_code prepare(lookup *self, tk_err *err)
{
    const tk_tokenizer_search *s = self->search;
    const char *said =
        s->options->tokenizer_id != NULL ? s->options->tokenizer_id : s->server_id;
    if (said != NULL && said[0] == '/') {
        said = NULL; /* a directory: try_named has looked */
    }
    tk_err why = TK_ERR_INIT;
    tinkc_code code =
        tk_tokenizer_rule(&self->id, s->model, said, s->options->revision, &why);
    self->has_id = code == TINKC_OK;
    if (code != TINKC_OK && note(self, "a name at the hub", &why, err) != TINKC_OK) {
        return TINKC_E_NOMEM;
    }
    return tk_tokenizer_places_init(&self->places, s->options, s->env, err);
}

static tinkc_code search_all(lookup *self, tk_err *err)
{
    static tinkc_code (*const places[])(lookup *, tk_err *) = {
        try_named,  prepare,      try_hf_cache, try_own_cache,
        try_server, try_embedded, try_hub};
    for (size_t i = 0; i < TK_ARRAY_LEN(places) && self->tok == NULL; i++) {
        tinkc_code code = places[i](self, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (self->tok != NULL) {
        return TINKC_OK;
    }
    tk_err *worst = &self->worst;
    tinkc_code code = worst->code != TINKC_OK ? worst->code : TINKC_E_MISSING;
    (void)tk_err_set(err, code, "no tokenizer of %s%s%s%s: %s", self->search->model,
                     self->has_id ? " (at the hub: " : "",
                     self->has_id ? self->id.id : "", self->has_id ? ")" : "",
                     tk_buf_cstr(&self->summary) != NULL ? self->summary.p : "");
    err->http_status = worst->http_status;
    err->retry_after_ms = worst->retry_after_ms;
    return code;
}

static tinkc_code search_one(lookup *self, tk_err *err)
{
    const char *directory = self->search->options->directory;
    return directory != NULL ? load(self, directory, err) : search_all(self, err);
}

tinkc_code tk_tokenizer_lookup(tk_tok **out, const tk_tokenizer_search *search,
                               tinkc_error **error)
{
    lookup self = {.search = search, .worst = TK_ERR_INIT};
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&self.summary, SUMMARY_MAX_BYTES);
    tinkc_code code = search_one(&self, &err);
    if (code == TINKC_OK) {
        *out = self.tok;
        tinkc_error_free(&self.told);
    } else {
        *error = tk_error_new(&err, self.told);
    }
    tk_tokenizer_places_dispose(&self.places);
    tk_buf_dispose(&self.summary);
    return code;
}
