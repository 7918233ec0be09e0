/* The tokenizers that a process has loaded, by file or other key: at most
 * TK_TOK_CACHE_MAX, the one unused for longest goes first. Guarded by one lock, which is
 * not held while loading. */
#if TINKC_HAVE_TEXT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "client/error.h"
#include "client/tokenizer.h"

typedef struct slot {
    char *key; /* NULL = free */
    tk_tokenizer_stamp stamp;
    tk_tok *tok;
    uint64_t used; /* the larger, the later */
} slot;

static slot slots[TK_TOK_CACHE_MAX];
static uint64_t uses;
static tk_mutex lock = TK_MUTEX_INIT;

static bool is_key(const slot *s, const char *key)
{
    return s->key != NULL && tk_str_is(tk_str_of(s->key), key);
}

static bool is_same(const tk_tokenizer_stamp *x, const tk_tokenizer_stamp *y)
{
    return x->a == y->a && x->b == y->b && x->c == y->c;
}

static void empty(slot *s)
{
    tk_free(s->key);
    tk_tok_free(s->tok);
    *s = (slot){.key = NULL};
}

tk_tok *tk_tokenizer_cache_find(const char *key, const tk_tokenizer_stamp *stamp)
{
    tk_tok *found = NULL;
    tk_mutex_lock(&lock);
    for (size_t i = 0; i < TK_TOK_CACHE_MAX && found == NULL; i++) {
        if (is_key(&slots[i], key) && is_same(&slots[i].stamp, stamp)) {
            slots[i].used = ++uses;
            found = tk_tok_ref(slots[i].tok);
        }
    }
    tk_mutex_unlock(&lock);
    return found;
}

tinkc_code tk_tokenizer_cache_keep(const char *key, const tk_tokenizer_stamp *stamp,
                                   tk_tok *tok, tk_err *err)
{
    char *copy = tk_strdup(key);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    tk_mutex_lock(&lock);
    slot *oldest = &slots[0];
    for (size_t i = 0; i < TK_TOK_CACHE_MAX; i++) {
        if (is_key(&slots[i], key)) {
            empty(&slots[i]);
        }
        if (slots[i].used < oldest->used) {
            oldest = &slots[i];
        }
    }
    empty(oldest);
    *oldest = (slot){copy, *stamp, tk_tok_ref(tok), ++uses};
    tk_mutex_unlock(&lock);
    return TINKC_OK;
}

/* In a directory its vocabulary. */
static bool look(struct stat *out, const char *path)
{
    static const char *const vocabularies[] = {"tokenizer.json", "tiktoken.model"};
    bool found = stat(path, out) == 0;
    int folder =
        found && S_ISDIR(out->st_mode) ? open(path, O_DIRECTORY | O_CLOEXEC) : -1;
    for (size_t i = 0; folder >= 0 && i < TK_ARRAY_LEN(vocabularies); i++) {
        if (fstatat(folder, vocabularies[i], out, 0) == 0) {
            break;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return found;
}

bool tk_tokenizer_cache_stamp(tk_tokenizer_stamp *out, const char *path)
{
    struct stat file;
    bool found = look(&file, path);
    if (found) {
        *out = (tk_tokenizer_stamp){(int64_t)file.st_size, (int64_t)file.st_mtim.tv_sec,
                                    (int64_t)file.st_mtim.tv_nsec};
    }
    return found;
}

tinkc_code tinkc_tokenizer_load_cached(tinkc_tokenizer **out, const char *path,
                                       tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_tokenizer_stamp stamp;
    if (out == NULL || path == NULL || !tk_tokenizer_cache_stamp(&stamp, path)) {
        return tinkc_tokenizer_load(out, path, error);
    }
    tk_tok *tok = tk_tokenizer_cache_find(path, &stamp);
    tinkc_code code = TINKC_OK;
    if (tok == NULL) {
        code = tk_tok_open(&tok, path, &err);
        if (code == TINKC_OK) {
            code = tk_tokenizer_cache_keep(path, &stamp, tok, &err);
        }
    }
    if (code != TINKC_OK) {
        tk_tok_free(tok);
        return tk_error_give(error, &err);
    }
    *out = tk_tokenizer_of(tok);
    return TINKC_OK;
}

void tinkc_tokenizer_cache_clear(void)
{
    tk_mutex_lock(&lock);
    for (size_t i = 0; i < TK_TOK_CACHE_MAX; i++) {
        empty(&slots[i]);
    }
    tk_mutex_unlock(&lock);
}

#endif
