/* The tokenizers that a process has loaded, by file: at most TK_TOK_CACHE_MAX, the one
 * unused for longest goes first. Guarded by one lock, which is not held while loading. */
#if TINKC_HAVE_TEXT
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "client/error.h"
#include "client/tokenizer.h"

typedef struct slot {
    char *path; /* NULL = free */
    struct timespec changed;
    off_t bytes;
    tk_tok *tok;
    uint64_t used; /* the larger, the later */
} slot;

static slot slots[TK_TOK_CACHE_MAX];
static uint64_t uses;
static tk_mutex lock = TK_MUTEX_INIT;

static bool is_same(const slot *s, const char *path, const struct stat *file)
{
    return s->path != NULL && tk_str_is(tk_str_of(s->path), path) &&
           s->bytes == file->st_size && s->changed.tv_sec == file->st_mtim.tv_sec &&
           s->changed.tv_nsec == file->st_mtim.tv_nsec;
}

static void empty(slot *s)
{
    tk_free(s->path);
    tk_tok_free(s->tok);
    *s = (slot){.path = NULL};
}

static tk_tok *find(const char *path, const struct stat *file)
{
    tk_tok *found = NULL;
    tk_mutex_lock(&lock);
    for (size_t i = 0; i < TK_TOK_CACHE_MAX && found == NULL; i++) {
        if (is_same(&slots[i], path, file)) {
            slots[i].used = ++uses;
            found = tk_tok_ref(slots[i].tok);
        }
    }
    tk_mutex_unlock(&lock);
    return found;
}

/* Without memory for the path it is not kept: the caller has it all the same. */
static void keep(const char *path, const struct stat *file, tk_tok *tok)
{
    char *copy = tk_strdup(path);
    if (copy == NULL) {
        return;
    }
    tk_mutex_lock(&lock);
    slot *oldest = &slots[0];
    for (size_t i = 0; i < TK_TOK_CACHE_MAX; i++) {
        bool stale = slots[i].path != NULL && tk_str_is(tk_str_of(slots[i].path), path);
        if (stale) {
            empty(&slots[i]);
        }
        if (slots[i].used < oldest->used) {
            oldest = &slots[i];
        }
    }
    empty(oldest);
    *oldest = (slot){copy, file->st_mtim, file->st_size, tk_tok_ref(tok), ++uses};
    tk_mutex_unlock(&lock);
}

tinkc_code tinkc_tokenizer_load_cached(tinkc_tokenizer **out, const char *path,
                                       tinkc_error **err)
{
    struct stat file;
    if (out == NULL || path == NULL || stat(path, &file) != 0) {
        return tinkc_tokenizer_load(out, path, err);
    }
    if (S_ISDIR(file.st_mode)) {
        char *inside = tk_file_join(path, "tokenizer.json");
        if (inside != NULL && stat(inside, &file) != 0) {
            (void)stat(path, &file);
        }
        tk_free(inside);
    }
    tk_tok *tok = find(path, &file);
    if (tok != NULL) {
        *out = tk_tokenizer_of(tok);
        return TINKC_OK;
    }
    tinkc_code code = tinkc_tokenizer_load(out, path, err);
    if (code == TINKC_OK) {
        keep(path, &file, tk_tokenizer_tok(*out));
    }
    return code;
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
