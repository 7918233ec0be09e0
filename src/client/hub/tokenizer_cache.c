/* The tokenizers that a process has loaded, by file or other key: at most
 * TK_TOK_CACHE_MAX, the one unused for longest goes first. Guarded by one lock, which is
 * not held while loading.
 * Needs: text */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"

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

/* One more file of the tokenizer; that there is none counts, too. */
static bool add_file(tk_tokenizer_stamp *sum, int folder, const char *name)
{
    struct stat info;
    bool found = fstatat(folder, name, &info, 0) == 0;
    uint64_t parts[] = {found ? (uint64_t)info.st_size + 1 : 0,
                        found ? (uint64_t)info.st_mtim.tv_sec : 0,
                        found ? (uint64_t)info.st_mtim.tv_nsec : 0};
    sum->a = (int64_t)((uint64_t)sum->a * 1000003 + parts[0]);
    sum->b = (int64_t)((uint64_t)sum->b * 1000003 + parts[1]);
    sum->c = (int64_t)((uint64_t)sum->c * 1000003 + parts[2]);
    return found;
}

/* The files that tk_tok_open reads: the vocabulary, and what lies beside it. */
static bool add_files(tk_tokenizer_stamp *sum, const char *path, const char *folder)
{
    static const char *const beside[] = {"tokenizer_config.json", "chat_template.jinja"};
    int fd = open(folder, O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool found = path != NULL ? add_file(sum, AT_FDCWD, path)
                              : add_file(sum, fd, "tokenizer.json") ||
                                    add_file(sum, fd, "tiktoken.model");
    for (size_t i = 0; i < TK_ARRAY_LEN(beside); i++) {
        (void)add_file(sum, fd, beside[i]);
    }
    close(fd);
    return found;
}

bool tk_tokenizer_cache_stamp(tk_tokenizer_stamp *out, const char *path)
{
    struct stat info;
    tk_tokenizer_stamp sum = {0, 0, 0};
    if (stat(path, &info) != 0) {
        return false;
    }
    char *parent = S_ISDIR(info.st_mode) ? NULL : tk_file_parent(path);
    bool is_whole = S_ISDIR(info.st_mode) || parent != NULL;
    bool found = is_whole && add_files(&sum, parent != NULL ? path : NULL,
                                       parent != NULL ? parent : path);
    tk_free(parent);
    if (found) {
        *out = sum;
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
