/* Ids to text, whole or in pieces. Bytes are held back while more ids could change what
 * they mean: an unfinished character, a run of <0xHH>. */
#include "base/utf8.h"
#include "text/tok/tok_tables.h"

void tk_tok_stream_init(tk_tok_stream *stream, const tk_tok *tok, bool skip_special)
{
    *stream = (tk_tok_stream){.tok = tok, .skip_special = skip_special};
    tk_buf_init(&stream->held, TK_TOK_TEXT_MAX_BYTES);
}

void tk_tok_stream_dispose(tk_tok_stream *stream)
{
    tk_buf_dispose(&stream->held);
}

/* Text that no later id changes, but for what is taken off the front. */
static void put_text(tk_tok_stream *s, tk_str text, tk_buf *out)
{
    const tk_tok_decoder *d = &s->tok->decoder;
    while (!s->text_begun && text.n > 0) {
        s->text_begun = s->stripped >= d->strip_start || text.n < d->strip.n ||
                        memcmp(text.p, d->strip.p, d->strip.n) != 0;
        if (!s->text_begun) {
            text = (tk_str){text.p + d->strip.n, text.n - d->strip.n};
            s->stripped++;
        }
    }
    tk_buf_put(out, text.p, text.n);
}

/* A run of byte tokens is a text as a whole, or every byte of it is unreadable. */
static void end_run(tk_tok_stream *s, tk_buf *out)
{
    tk_str run = tk_buf_str(&s->held);
    if (tk_utf8_is_valid(run)) {
        put_text(s, run, out);
    } else {
        for (size_t i = 0; i < run.n; i++) {
            put_text(s, TK_STR("\xEF\xBF\xBD"), out);
        }
    }
    tk_buf_clear(&s->held);
}

static void put_token(tk_tok_stream *s, const tk_tok_entry *e, tk_buf *out)
{
    const tk_tok_decoder *d = &s->tok->decoder;
    switch (d->kind) {
    case TK_TOK_DECODE_SPACED:
        if (s->started) {
            tk_buf_putc(out, ' ');
        }
        tk_buf_put(out, e->text.p, e->text.n);
        break;
    case TK_TOK_DECODE_BYTES:
        tk_buf_put(&s->held, e->text.p, e->text.n);
        break;
    case TK_TOK_DECODE_TEXTS:
        if (d->byte_fallback && e->byte >= 0) {
            tk_buf_putc(&s->held, (char)(unsigned char)e->byte);
        } else {
            if (s->held.n > 0) {
                end_run(s, out);
            }
            put_text(s, e->text, out);
        }
        break;
    }
    s->started = true;
}

/* What has become certain of the held bytes; all of them at the end. */
static void release(tk_tok_stream *s, bool last, tk_buf *out)
{
    if (s->held.failure != TINKC_OK) {
        tk_buf_fail(out, s->held.failure);
    }
    if (s->tok->decoder.kind == TK_TOK_DECODE_TEXTS) {
        if (last && s->held.n > 0) {
            end_run(s, out);
        }
        return;
    }
    size_t taken = tk_tok_utf8_lossy(out, s->held.p, s->held.n, last);
    if (taken > 0) {
        memmove(s->held.p, s->held.p + taken, s->held.n - taken);
        s->held.n -= taken;
    }
}

void tk_tok_stream_push(tk_tok_stream *stream, const int32_t *ids, size_t n, tk_buf *out)
{
    const tk_tok *tok = stream->tok;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= tok->n_entries) {
            continue;
        }
        const tk_tok_entry *e = &tok->entries[ids[i]];
        if (e->token.p != NULL && !(stream->skip_special && e->special)) {
            put_token(stream, e, out);
        }
    }
    release(stream, false, out);
}

void tk_tok_stream_finish(tk_tok_stream *stream, tk_buf *out)
{
    release(stream, true, out);
    tk_buf_clear(&stream->held);
    stream->started = stream->text_begun = false;
    stream->stripped = 0;
}

void tk_tok_decode(const tk_tok *tok, const int32_t *ids, size_t n, bool skip_special,
                   tk_buf *out)
{
    tk_tok_stream stream;
    tk_tok_stream_init(&stream, tok, skip_special);
    tk_tok_stream_push(&stream, ids, n, out);
    tk_tok_stream_finish(&stream, out);
    tk_tok_stream_dispose(&stream);
}

void tk_tok_bytes(const tk_tok *tok, int32_t id, tk_buf *out)
{
    if (id < 0 || (size_t)id >= tok->n_entries || tok->entries[id].token.p == NULL) {
        return;
    }
    const tk_tok_entry *e = &tok->entries[id];
    bool is_text = tok->decoder.kind == TK_TOK_DECODE_TEXTS;
    if (is_text && tok->decoder.byte_fallback && e->byte >= 0) {
        tk_buf_putc(out, (char)(unsigned char)e->byte);
    } else {
        tk_buf_put(out, e->text.p, e->text.n);
    }
}
