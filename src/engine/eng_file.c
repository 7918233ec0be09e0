/* Reading small files whole. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "engine/eng_safetensors.h"

#define PIECE ((size_t)64 * TK_KIB)

static tinkc_code read_all(tk_buf *buf, FILE *file, const char *path, tk_err *err)
{
    for (;;) {
        char *room = tk_buf_reserve(buf, PIECE);
        if (room == NULL) {
            return buf->failure == TINKC_E_LIMIT
                       ? tk_err_set(err, TINKC_E_LIMIT, "%s: larger than expected", path)
                       : tk_err_nomem(err);
        }
        size_t n = fread(room, 1, PIECE, file);
        tk_buf_advance(buf, n);
        if (n < PIECE) {
            return ferror(file) == 0
                       ? TINKC_OK
                       : tk_err_set(err, TINKC_E_IO, "%s: read failed", path);
        }
    }
}

tinkc_code eng_file_read(tk_str *out, const char *path, size_t max_bytes, tk_err *err)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        char text[128];
        tinkc_code code = errno == ENOENT ? TINKC_E_MISSING : TINKC_E_IO;
        return tk_err_set(err, code, "%s: %s", path,
                          strerror_r(errno, text, sizeof(text)));
    }
    tk_buf buf;
    tk_buf_init(&buf, max_bytes + PIECE);
    tinkc_code code = read_all(&buf, file, path, err);
    (void)fclose(file);
    if (code == TINKC_OK && tk_buf_cstr(&buf) == NULL) {
        code = tk_err_nomem(err);
    }
    if (code == TINKC_OK) {
        out->p = tk_buf_take(&buf, &out->n);
    }
    tk_buf_dispose(&buf);
    return code;
}
