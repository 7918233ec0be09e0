/* tinker:// paths: what parses is put together again to the same text.
 *
 * Links: wire */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "fuzz.h"
#include "wire/path.h"

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_str text = {(const char *)data, size};
    tk_path path;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_path_parse(&path, text, &err);
    if (code != err.code) {
        fuzz_fail("the error does not tell what the call returned");
    }
    if (code != TINKC_OK) {
        return 0;
    }
    tk_buf again;
    tk_buf_init(&again, 64 * TK_MIB);
    tk_buf_puts(&again, "tinker://");
    tk_buf_put(&again, path.run.p, path.run.n);
    tk_buf_putc(&again, '/');
    if (!path.is_bare) {
        tk_buf_puts(&again, tk_path_kind_name(path.kind));
        tk_buf_putc(&again, '/');
    }
    tk_buf_put(&again, path.name.p, path.name.n);
    if (!tk_str_eq(tk_buf_str(&again), text)) {
        fuzz_fail("the parts are not the whole");
    }
    tk_buf_dispose(&again);
    return 0;
}
