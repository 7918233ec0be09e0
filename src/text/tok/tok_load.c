/* tokenizer.json, alone or with the files next to it, into a tokenizer: calls the loaders
 * in their order, applies the config. Also what a tokenizer is for its owners: references
 * and look-ups of single tokens. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rand.h"
#include "text/tok/tok_load.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

/* ---- for all loaders ---- */

tinkc_code tk_tok_load_refuse(const tk_tok_loader *l, const char *what, tk_str name)
{
    return tk_err_set(l->err, TINKC_E_UNSUPPORTED,
                      "tokenizer.json: %s%s" TK_STR_FMT " is not supported", what,
                      name.n > 0 ? " " : "", TK_STR_ARG(name));
}

tinkc_code tk_tok_load_bad(const tk_tok_loader *l, const char *what)
{
    return tk_err_set(l->err, TINKC_E_DECODE, "tokenizer.json: %s", what);
}

tk_str tk_tok_load_text(const tk_json *value)
{
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string
                                                          : (tk_str){NULL, 0};
}

bool tk_tok_load_is(const tk_json *value, const char *text)
{
    return value != NULL && value->type == TK_JSON_STRING &&
           tk_str_is(value->as.string, text);
}

bool tk_tok_load_true(const tk_json *value)
{
    return value != NULL && value->type == TK_JSON_BOOL && value->as.boolean;
}

tinkc_code tk_tok_load_new(tk_tok **out, tk_err *err)
{
    tk_tok *tok = tk_zalloc(sizeof(*tok));
    if (tok == NULL) {
        return tk_err_nomem(err);
    }
    atomic_init(&tok->owners, 1);
    tk_arena_init(&tok->arena, 0);
    tok->unk = -1;
    tok->raw_trie.empty = tok->normal_trie.empty = true;
    tinkc_code code = tk_rand_entropy(&tok->hash_key, sizeof(tok->hash_key), err);
    if (code == TINKC_OK) {
        code = tk_tok_work_pool_new(&tok->pool, err);
    }
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return code;
    }
    tk_uni_ready();
    *out = tok;
    return TINKC_OK;
}

tk_tok *tk_tok_ref(tk_tok *tok)
{
    if (tok != NULL) {
        atomic_fetch_add(&tok->owners, 1);
    }
    return tok;
}

void tk_tok_free(tk_tok *tok)
{
    if (tok == NULL || atomic_fetch_sub(&tok->owners, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < tok->n_stages; i++) {
        tk_tok_regex_free(tok->stages[i].regex);
    }
    tk_tok_added_dispose(&tok->raw_trie);
    tk_tok_added_dispose(&tok->normal_trie);
    tk_tok_config_dispose(&tok->config);
    tk_arena_dispose(&tok->arena);
    tk_tok_work_pool_free(tok->pool);
    tk_free(tok->entries);
    tk_free(tok->tokens.slots);
    tk_free(tok->raws.slots);
    tk_free(tok->briefs);
    tk_free(tok->merges);
    tk_free(tok->maybe);
    tk_free(tok->char_ids);
    tk_free(tok->whole);
    tk_free(tok->junctions);
    tk_free(tok->added);
    tk_free(tok);
}

/* ---- lookups ---- */

size_t tk_tok_size(const tk_tok *tok)
{
    return tok->n_entries;
}

static const tk_tok_entry *entry_at(const tk_tok *tok, int32_t id)
{
    return id >= 0 && (size_t)id < tok->n_entries ? &tok->entries[id] : NULL;
}

tk_str tk_tok_token(const tk_tok *tok, int32_t id)
{
    const tk_tok_entry *entry = entry_at(tok, id);
    return entry != NULL ? entry->token : (tk_str){NULL, 0};
}

int32_t tk_tok_id(const tk_tok *tok, tk_str token)
{
    return tk_tok_index_get(tok, token, false);
}

bool tk_tok_is_special(const tk_tok *tok, int32_t id)
{
    const tk_tok_entry *entry = entry_at(tok, id);
    return entry != NULL && entry->special;
}

const tk_tok_config *tk_tok_get_config(const tk_tok *tok)
{
    return &tok->config;
}

/* ---- tokenizer.json ---- */

static tinkc_code load(const tk_tok_loader *l)
{
    if (!tk_tok_load_is(tk_json_get(l->root, "version"), "1.0")) {
        return tk_tok_load_bad(l, "version is not 1.0");
    }
    static tinkc_code (*const steps[])(const tk_tok_loader *) = {
        tk_tok_parts_encode, tk_tok_parts_decode,     tk_tok_vocab_load,
        tk_tok_merges_load,  tk_tok_vocab_load_added, tk_tok_vocab_finish,
        tk_tok_parts_post};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < TK_ARRAY_LEN(steps) && code == TINKC_OK; i++) {
        code = steps[i](l);
    }
    if (code == TINKC_OK && l->tok->ignore_merges) {
        code = tk_tok_index_pieces(l->tok, l->err);
    }
    return code;
}

tinkc_code tk_tok_load_memory(tk_tok **out, tk_str json, tk_err *err)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_tok_loader l = {.err = err};
    tinkc_code code = tk_tok_load_new(&l.tok, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_json_parse(&l.root, &arena, json.p, json.n, NULL, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = load(&l);
    if (code == TINKC_OK) {
        *out = l.tok;
        l.tok = NULL;
    }
out:
    tk_arena_dispose(&arena);
    tk_tok_free(l.tok);
    return code;
}

tinkc_code tk_tok_load(tk_tok **out, const char *path, tk_err *err)
{
    char *json = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&json, &n, path, TK_TOK_FILE_MAX_BYTES, err);
    if (code == TINKC_OK) {
        code = tk_tok_load_memory(out, (tk_str){json, n}, err);
    }
    tk_free(json);
    return code;
}

/* ---- with its config ---- */

/* The Python classes that rebuild the post-processor from the config. */
static bool rebuilds(tk_str class)
{
    static const char *const names[] = {"Llama", "CodeLlama", "Gemma", "Cohere"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        if (tk_str_has_prefix(class, names[i])) {
            return true;
        }
    }
    return false;
}

static void set_around(tk_tok *tok, tk_tok_flag flag, const char *role, int32_t *ids,
                       size_t *n)
{
    tk_str token = tk_tok_config_special(&tok->config, role);
    int32_t id = token.p != NULL ? tk_tok_id(tok, token) : -1;
    if (flag != TK_TOK_UNSET) {
        *n = 0;
    }
    if (flag == TK_TOK_YES && id >= 0) {
        ids[0] = id;
        *n = 1;
    }
}

static void apply_config(tk_tok *tok)
{
    if (rebuilds(tok->config.tokenizer_class)) {
        set_around(tok, tok->config.add_bos, "bos_token", tok->before, &tok->n_before);
        set_around(tok, tok->config.add_eos, "eos_token", tok->after, &tok->n_after);
    }
}

/* The bytes of the files of one tokenizer; NULL = there is no such file. */
typedef struct files {
    char *vocabulary, *config, *jinja;
    size_t vocabulary_n, config_n, jinja_n;
    bool is_tiktoken;
} files;

static tinkc_code assemble(tk_tok **out, const files *f, tk_err *err)
{
    tk_tok_config config = {.n_specials = 0};
    tk_str vocabulary = {f->vocabulary, f->vocabulary_n};
    tk_tok *tok = NULL;
    tinkc_code code = tk_tok_config_parse(&config, (tk_str){f->config, f->config_n},
                                          (tk_str){f->jinja, f->jinja_n}, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = f->is_tiktoken ? tk_tok_tiktoken_load(&tok, vocabulary, &config, err)
                          : tk_tok_load_memory(&tok, vocabulary, err);
    if (code != TINKC_OK) {
        tk_tok_config_dispose(&config);
        return code;
    }
    tok->config = config;
    apply_config(tok);
    *out = tok;
    return TINKC_OK;
}

tinkc_code tk_tok_open_memory(tk_tok **out, tk_str json, tk_str config, tk_str jinja,
                              tk_err *err)
{
    files f = {.vocabulary_n = json.n, .config_n = config.n, .jinja_n = jinja.n};
    memcpy(&f.vocabulary, &json.p, sizeof(f.vocabulary));
    memcpy(&f.config, &config.p, sizeof(f.config));
    memcpy(&f.jinja, &jinja.p, sizeof(f.jinja));
    return assemble(out, &f, err);
}

static bool is_file(const char *path)
{
    struct stat st;
    return path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Reads dir/name when there is such a file. */
static tinkc_code read_beside(char **data, size_t *n, const char *dir, const char *name,
                              tk_err *err)
{
    char *path = tk_file_join(dir, name);
    tinkc_code code = path != NULL ? TINKC_OK : tk_err_nomem(err);
    if (code == TINKC_OK && is_file(path)) {
        code = tk_file_read(data, n, path, TK_TOK_CONFIG_MAX_BYTES, err);
    }
    tk_free(path);
    return code;
}

/* Returns the path of tokenizer.json in the directory, or of tiktoken.model when the
 * directory has only that. */
static char *find_vocabulary(const char *dir)
{
    char *json = tk_file_join(dir, "tokenizer.json");
    if (json == NULL || is_file(json)) {
        return json;
    }
    char *tiktoken = tk_file_join(dir, "tiktoken.model");
    bool counts = tiktoken == NULL || is_file(tiktoken);
    tk_free(counts ? json : tiktoken);
    return counts ? tiktoken : json;
}

/* Finds the path of the vocabulary, and the directory that has the other files. */
static tinkc_code find_files(const char *path, char **vocabulary, char **dir, tk_err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        *vocabulary = find_vocabulary(path);
        *dir = tk_strdup(path);
    } else {
        const char *slash = strrchr(path, '/');
        *vocabulary = tk_strdup(path);
        *dir = slash == NULL   ? tk_strdup(".")
               : slash == path ? tk_strdup("/")
                               : tk_strndup(path, (size_t)(slash - path));
    }
    return *vocabulary != NULL && *dir != NULL ? TINKC_OK : tk_err_nomem(err);
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && memcmp(path + n - m, end, m) == 0;
}

tinkc_code tk_tok_open(tk_tok **out, const char *path, tk_err *err)
{
    files f = {.vocabulary = NULL};
    char *vocabulary = NULL, *dir = NULL;
    tinkc_code code = find_files(path, &vocabulary, &dir, err);
    if (code != TINKC_OK) {
        goto out;
    }
    f.is_tiktoken =
        ends_with(vocabulary, "tiktoken.model") || ends_with(vocabulary, ".tiktoken");
    code = tk_file_read(&f.vocabulary, &f.vocabulary_n, vocabulary, TK_TOK_FILE_MAX_BYTES,
                        err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_beside(&f.config, &f.config_n, dir, "tokenizer_config.json", err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_beside(&f.jinja, &f.jinja_n, dir, "chat_template.jinja", err);
    if (code == TINKC_OK) {
        code = assemble(out, &f, err);
    }
out:
    tk_free(f.vocabulary);
    tk_free(f.config);
    tk_free(f.jinja);
    tk_free(vocabulary);
    tk_free(dir);
    return code;
}
