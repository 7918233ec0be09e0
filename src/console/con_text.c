/* Bytes of a character that is not complete wait for the next token. */
#include "console/con_text.h"

#include <string.h>

#include "base/utf8.h"

#define PIECE_BYTES (16 * TK_MIB) /* of one token; they are a few bytes */

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* Moves whole characters, and replaced bytes, from `held` to `out`. */
static void take(tk_buf *out, tk_buf *held, bool last)
{
    size_t at = 0;
    while (at < held->n) {
        size_t left = held->n - at;
        size_t n = tk_utf8_len(held->p + at, left);
        if (n > 0) {
            tk_buf_put(out, held->p + at, n);
            at += n;
        } else if (!last && left < 4 && tk_utf8_whole(held->p + at, left) == 0) {
            break;
        } else {
            tk_buf_puts(out, replacement);
            at++;
        }
    }
    if (at > 0 && at < held->n) {
        memmove(held->p, held->p + at, held->n - at);
    }
    held->n -= at;
}

void con_text_put(tk_json_writer *w, const tk_str *bytes, size_t n)
{
    tk_buf held, piece;
    tk_buf_init(&held, PIECE_BYTES);
    tk_buf_init(&piece, 3 * PIECE_BYTES);
    tk_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        tk_buf_clear(&piece);
        tk_buf_put(&held, bytes[i].p, bytes[i].n);
        take(&piece, &held, i + 1 == n);
        if (held.failure != TINKC_OK || piece.failure != TINKC_OK) {
            tk_buf_fail(w->out, TINKC_E_NOMEM);
            break;
        }
        tk_json_put_str(w, piece.n > 0 ? tk_buf_str(&piece) : TK_STR(""));
    }
    tk_json_end_array(w);
    tk_buf_dispose(&held);
    tk_buf_dispose(&piece);
}
