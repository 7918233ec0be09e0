/* Directories of checkpoints that have no row: a save that was cut off between its files
 * and its row, or a removal between its row and its files. No client was answered with
 * them; they are removed when the store is opened. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store_int.h"

static tinkc_code read_dirs(tk_map *out, srv_store *store, tk_arena *arena, tk_err *err)
{
    srv_sql sql;
    tinkc_code code = TINKC_OK;
    srv_sql_begin(&sql, store->db, "SELECT dir FROM checkpoints");
    while (code == TINKC_OK && srv_sql_row(&sql)) {
        code = tk_map_put(out, srv_sql_get_text(&sql, arena, 0), store, err);
    }
    tinkc_code done = srv_sql_done(&sql, err);
    return code == TINKC_OK ? done : code;
}

static bool is_directory(DIR *parent, const char *name)
{
    struct stat st;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           fstatat(dirfd(parent), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

typedef struct walk {
    const tk_map *known;
    const char *root;
    size_t removed;
    bool starved; /* out of memory: something was left for the next start */
} walk;

/* `below` is "", "<run>" or "<run>/<kind>"; directories three levels down are
 * checkpoints. */
static void visit(walk *w, const char *below, int level)
{
    tk_buf path;
    tk_buf_init(&path, 4096);
    tk_buf_printf(&path, "%s/%s", w->root, below);
    const char *text = tk_buf_cstr(&path);
    DIR *dir = text != NULL ? opendir(text) : NULL;
    w->starved = w->starved || text == NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        tk_buf name;
        tk_buf_init(&name, 4096);
        tk_buf_printf(&name, "%s%s%s", below, level > 0 ? "/" : "", entry->d_name);
        const char *inner = is_directory(dir, entry->d_name) ? tk_buf_cstr(&name) : NULL;
        if (inner != NULL && level < 2) {
            visit(w, inner, level + 1);
        } else if (inner != NULL && !tk_map_has(w->known, tk_str_of(inner))) {
            tk_buf_clear(&path);
            tk_buf_printf(&path, "%s/%s", w->root, inner);
            const char *full = tk_buf_cstr(&path);
            w->starved = w->starved || full == NULL;
            if (full != NULL) {
                srv_files_remove_dir(full);
                w->removed++;
            }
        }
        w->starved = w->starved || name.failure != TINKC_OK;
        tk_buf_dispose(&name);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    tk_buf_dispose(&path);
}

tinkc_code srv_store_sweep(srv_store *store, size_t *removed, tk_err *err)
{
    tk_arena arena;
    tk_map known;
    tk_arena_init(&arena, 0);
    tk_map_init(&known, TK_MAP_BORROW_KEYS);
    tinkc_code code = read_dirs(&known, store, &arena, err);
    if (code == TINKC_OK) {
        walk w = {.known = &known, .root = store->checkpoints};
        visit(&w, "", 0);
        *removed = w.removed;
        code = w.starved ? tk_err_nomem(err) : TINKC_OK;
    }
    tk_map_dispose(&known);
    tk_arena_dispose(&arena);
    return code;
}
