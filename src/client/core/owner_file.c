/* The mode is looked at before the content; text and parsed JSON are wiped. */
#include "client/core/owner_file.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"

#define FILE_MAX_BYTES (256 * TK_KIB)
#define ARENA_BYTES    (4 * TK_MIB)

/* There, and for its owner only. */
static tinkc_code check_mode(bool *is_there, const char *path, tk_err *err)
{
    struct stat st;
    *is_there = stat(path, &st) == 0;
    if (!*is_there) {
        return errno == ENOENT || errno == ENOTDIR
                   ? TINKC_OK
                   : tk_err_set(err, TINKC_E_CONFIG, "%s cannot be looked at (error %d)",
                                path, errno);
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "%s can be used by others than its owner: chmod 600 it", path);
    }
    return TINKC_OK;
}

tinkc_code tk_owner_file_read(tk_owner_file *out, const char *path, tk_err *err)
{
    bool is_there = false;
    tk_err found = TK_ERR_INIT;
    *out = (tk_owner_file){.json = NULL};
    tk_arena_init(&out->arena, ARENA_BYTES);
    tinkc_code code = check_mode(&is_there, path, err);
    if (code != TINKC_OK || !is_there) {
        return code;
    }
    code = tk_file_read(&out->text, &out->n, path, FILE_MAX_BYTES, &found);
    if (code == TINKC_OK) {
        code = tk_json_parse(&out->json, &out->arena, out->text, out->n, NULL, &found);
    }
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    out->json = NULL;
    return code == TINKC_E_NOMEM
               ? tk_err_nomem(err)
               : tk_err_set(err, TINKC_E_CONFIG, "%s cannot be read: %s", path,
                            found.message);
}

void tk_owner_file_dispose(tk_owner_file *file)
{
    tk_arena_wipe(&file->arena);
    tk_arena_dispose(&file->arena);
    if (file->text != NULL) {
        tk_mem_wipe(file->text, file->n);
        tk_free(file->text);
    }
    *file = (tk_owner_file){.json = NULL};
}
