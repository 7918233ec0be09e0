/* The events of a sample that is streamed (docs/protocol.md Appendix B): one per token,
 * then one that ends it. Runs on the engine thread. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_sample.h"
#include "wire/msg_sample.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static bool put_event(srv_sample *sample, const tk_stream_event *event)
{
    tk_err err = TK_ERR_INIT;
    tk_buf buf;
    tk_buf_init(&buf, SRV_TOKEN_BYTES);
    tk_buf_puts(&buf, "data: ");
    bool more = tk_schema_encode(&buf, &tk_msg_stream_event, event, &err) == TINKC_OK;
    tk_buf_puts(&buf, "\n\n");
    more = more && buf.failure == TINKC_OK &&
           hd_stream_put(sample->stream, tk_buf_str(&buf));
    tk_buf_dispose(&buf);
    return more;
}

/* Takes the text that was not sent yet: whole characters only. A character that is cut
 * short waits for the next token, unless there is none; bytes that are not UTF-8 are
 * replaced. */
static void take_text(srv_sample *sample, tk_buf *out, bool is_last)
{
    tk_buf *held = &sample->held;
    size_t at = 0;
    while (at < held->n) {
        size_t left = held->n - at;
        size_t n = tk_utf8_len(held->p + at, left);
        if (n > 0) {
            tk_buf_put(out, held->p + at, n);
            at += n;
        } else if (tk_utf8_whole(held->p + at, left) == 0) {
            tk_buf_puts(out, is_last ? replacement : "");
            at += is_last ? left : 0;
            break;
        } else {
            tk_buf_puts(out, replacement);
            at++;
        }
    }
    size_t left = held->n - at;
    if (left > 0) {
        memmove(held->p, held->p + at, left);
    }
    held->n = left;
}

void srv_sample_stream_token(srv_sample *sample, int32_t token, float logprob,
                             bool is_last)
{
    const tk_tok *tok = sample->sampler->base->tok;
    tk_buf text;
    tk_buf_init(&text, SRV_TOKEN_BYTES);
    if (tok != NULL) {
        (void)srv_text_bytes(tok, token, &sample->held);
        take_text(sample, &text, is_last);
    }
    const tk_stream_event event = {
        .token = {tok != NULL ? TK_SET : TK_UNSET, tk_buf_str(&text)},
        .token_id = {TK_SET, token},
        .index = {TK_SET, (int64_t)sample->n_streamed},
        .logprob = {TK_SET, (double)logprob},
    };
    sample->n_streamed++;
    bool is_whole = sample->held.failure == TINKC_OK && text.failure == TINKC_OK;
    if (!is_whole || !put_event(sample, &event)) {
        hd_stream_end(sample->stream); /* a client that still reads gets the end */
        sample->abandoned = true;
    }
    tk_buf_dispose(&text);
}

void srv_sample_stream_done(srv_sample *sample, const eng_sample_result *result,
                            const tk_err *err)
{
    tk_stream_event event = {0};
    tk_json text = {.type = TK_JSON_STRING};
    char message[TK_ERR_MESSAGE_BYTES];
    if (result != NULL) {
        const char *reason = result->sequences[0].stopped ? "stop" : "length";
        event.finish_reason = (tk_f_str){TK_SET, tk_str_of(reason)};
        event.total_tokens = (tk_f_i64){TK_SET, (int64_t)result->sequences[0].n};
        event.prompt_cache_hit_tokens =
            (tk_f_i64){TK_SET, (int64_t)result->prompt_cache_hit_tokens};
    } else {
        (void)snprintf(message, sizeof(message), "%s", err->message);
        hd_reply_hide_paths(message);
        text.as.string = tk_str_of(message);
        event.error = (tk_f_raw){TK_SET, &text};
    }
    (void)put_event(sample, &event);
    hd_stream_end(sample->stream);
}
