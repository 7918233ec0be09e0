/* Owns the paths.
 * Needs: text */
#include "cli/data/data_files.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

static tinkc_code add(data_files *files, const char *path, tk_err *err)
{
    if (files->n == TK_DATA_FILES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu files",
                          (size_t)TK_DATA_FILES_MAX);
    }
    if (files->n == files->capacity) {
        size_t room = files->capacity * 2 + 8;
        char **paths = tk_realloc_array(files->paths, room, sizeof(*paths));
        if (paths == NULL) {
            return tk_err_nomem(err);
        }
        files->paths = paths;
        data_file *found = tk_realloc_array(files->found, room, sizeof(*found));
        if (found == NULL) {
            return tk_err_nomem(err);
        }
        files->found = found;
        files->capacity = room;
    }
    char *copy = tk_strdup(path);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    files->found[files->n] = (data_file){.path = copy};
    files->paths[files->n++] = copy;
    return TINKC_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static tinkc_code add_matches(data_files *files, const char *pattern, tk_err *err)
{
    glob_t found;
    int failed = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (failed == GLOB_NOSPACE) {
        return tk_err_nomem(err);
    }
    if (failed != 0) {
        return tk_err_set(err, TINKC_E_MISSING, "no file matches %s", pattern);
    }
    tinkc_code code = TINKC_OK;
    qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), by_bytes);
    for (size_t i = 0; code == TINKC_OK && i < found.gl_pathc; i++) {
        code = add(files, found.gl_pathv[i], err);
    }
    globfree(&found);
    return code;
}

tinkc_code data_files_add(data_files *files, const char *word, tk_err *err)
{
    bool is_pattern = strpbrk(word, "*?[") != NULL && access(word, F_OK) != 0;
    return is_pattern ? add_matches(files, word, err) : add(files, word, err);
}

void data_files_dispose(data_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        tk_free(files->paths[i]);
    }
    tk_free(files->paths);
    tk_free(files->found);
    memset(files, 0, sizeof(*files));
}
