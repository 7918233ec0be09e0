/* Server-sent events: fed at once, byte by byte, and split in two gives the same events.
 *
 * Links: wire */
#include "base/buf.h"
#include "base/limits.h"
#include "fuzz.h"
#include "wire/sse.h"

static bool note(void *user, const tk_sse_event *event)
{
    tk_buf *out = user;
    tk_buf_put(out, event->type.p, event->type.n);
    tk_buf_putc(out, '|');
    tk_buf_put(out, event->data.p, event->data.n);
    tk_buf_putc(out, '|');
    tk_buf_put(out, event->id.p, event->id.n);
    tk_buf_putc(out, ';');
    return true;
}

static tinkc_code feed(tk_buf *out, const char *p, size_t n, size_t piece)
{
    tk_sse sse;
    tinkc_code code = TINKC_OK;
    tk_sse_init(&sse, 4096);
    tk_buf_init(out, 64 * TK_MIB);
    for (size_t at = 0; at < n && code == TINKC_OK; at += piece) {
        code = tk_sse_feed(&sse, p + at, TK_MIN(piece, n - at), note, out, NULL);
    }
    tk_sse_dispose(&sse);
    return code;
}

int fuzz_record(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    size_t pieces[] = {size, 1, size / 2 + 1};
    tk_buf out[TK_ARRAY_LEN(pieces)];
    tinkc_code codes[TK_ARRAY_LEN(pieces)];
    if (size == 0) {
        return 0;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(pieces); i++) {
        codes[i] = feed(&out[i], p, size, pieces[i]);
        if (codes[i] != codes[0] ||
            !tk_str_eq(tk_buf_str(&out[i]), tk_buf_str(&out[0]))) {
            fuzz_fail("the events depend on where the bytes are split");
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(pieces); i++) {
        tk_buf_dispose(&out[i]);
    }
    return 0;
}
