/* Ids to text in pieces; see tok.h. */
#include "base/utf8.h"
#include "text/tok_int.h"

void tk_tok_stream_init(tk_tok_stream *stream, const tk_tok *tok, bool skip_special)
{
    *stream = (tk_tok_stream){.tok = tok, .skip_special = skip_special};
    tk_buf_init(&stream->held, TK_TOK_TEXT_MAX_BYTES);
}

void tk_tok_stream_push(tk_tok_stream *stream, const int32_t *ids, size_t n, tk_buf *out)
{
    tk_tok_decode(stream->tok, ids, n, stream->skip_special, &stream->held);
    size_t whole = tk_utf8_whole(stream->held.p, stream->held.n);
    tk_buf_put(out, stream->held.p, whole);
    tk_buf tail;
    tk_buf_init(&tail, TK_TOK_TEXT_MAX_BYTES);
    tk_buf_put(&tail, stream->held.p + whole, stream->held.n - whole);
    tk_buf_dispose(&stream->held);
    stream->held = tail;
}

void tk_tok_stream_finish(tk_tok_stream *stream, tk_buf *out)
{
    tk_buf_put(out, stream->held.p, stream->held.n);
    tk_buf_clear(&stream->held);
}

void tk_tok_stream_dispose(tk_tok_stream *stream)
{
    tk_buf_dispose(&stream->held);
}
