/* A thin layer over base/json.h. */
#include "console/con_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "httpd/hd_reply.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void con_json_begin(con_answer *answer, hd_request *request)
{
    answer->request = request;
    tk_buf_init_quota(&answer->buf, CON_ANSWER_BYTES, hd_request_quota(request));
    tk_json_writer_init(&answer->w, &answer->buf);
    tk_json_begin_object(&answer->w);
}

hd_verdict con_json_reply(con_answer *answer)
{
    tk_err err = TK_ERR_INIT;
    tk_json_end_object(&answer->w);
    if (tk_json_finish(&answer->w, &err) != TINKC_OK) {
        return con_json_fail(answer, &err);
    }
    (void)hd_reply_header(answer->request, "Cache-Control", "no-store");
    (void)hd_reply_header(answer->request, "X-Content-Type-Options", "nosniff");
    return hd_reply_buf(answer->request, 200, HD_TYPE_JSON, &answer->buf);
}

hd_verdict con_json_fail(con_answer *answer, const tk_err *err)
{
    tk_buf_dispose(&answer->buf);
    return hd_reply_error(answer->request, err);
}

void con_json_text(tk_json_writer *w, tk_str text)
{
    tk_buf buf;
    size_t at = 0;
    if (text.n == 0 || tk_utf8_is_valid(text)) {
        tk_json_put_str(w, text.n > 0 ? text : TK_STR(""));
        return;
    }
    tk_buf_init(&buf, 3 * text.n);
    while (at < text.n) {
        size_t n = tk_utf8_valid_prefix(text.p + at, text.n - at);
        tk_buf_put(&buf, text.p + at, n);
        at += n;
        if (at < text.n) {
            tk_buf_puts(&buf, replacement);
            at++;
        }
    }
    if (buf.failure != TINKC_OK) {
        tk_buf_fail(w->out, buf.failure);
    }
    tk_json_put_str(w, tk_buf_str(&buf));
    tk_buf_dispose(&buf);
}

void con_json_key(tk_json_writer *w, const char *key)
{
    tk_json_key(w, tk_str_of(key));
}

void con_json_str(tk_json_writer *w, const char *key, tk_str text)
{
    con_json_key(w, key);
    if (text.p == NULL) {
        tk_json_put_null(w);
    } else {
        con_json_text(w, text);
    }
}

void con_json_int(tk_json_writer *w, const char *key, int64_t value)
{
    con_json_key(w, key);
    if (value == CON_UNKNOWN) {
        tk_json_put_null(w);
    } else {
        tk_json_put_i64(w, value);
    }
}

void con_json_uint(tk_json_writer *w, const char *key, uint64_t value)
{
    con_json_key(w, key);
    tk_json_put_u64(w, value);
}

void con_json_put_num(tk_json_writer *w, double value)
{
    if (isfinite(value)) {
        tk_json_put_double(w, value);
    } else {
        tk_json_put_null(w);
    }
}

void con_json_num(tk_json_writer *w, const char *key, double value)
{
    con_json_key(w, key);
    con_json_put_num(w, value);
}

void con_json_bool(tk_json_writer *w, const char *key, bool value)
{
    con_json_key(w, key);
    tk_json_put_bool(w, value);
}

void con_json_object(tk_json_writer *w, const char *key, tk_str json, tk_arena *arena)
{
    const tk_json *value = NULL;
    tk_err ignored = TK_ERR_INIT;
    /* two levels of this answer are around it */
    const tk_json_limits limits = {.max_depth = TK_JSON_MAX_DEPTH / 2,
                                   .keeps_kinds = true};
    con_json_key(w, key);
    if (json.n > 0 &&
        tk_json_parse(&value, arena, json.p, json.n, &limits, &ignored) == TINKC_OK &&
        value->type == TK_JSON_OBJECT) {
        tk_json_put_value(w, value);
    } else {
        tk_json_put_null(w);
    }
}

bool con_json_query_int(hd_request *request, const char *name, int64_t min, int64_t max,
                        int64_t *out)
{
    tk_str text = hd_request_query(request, name);
    int64_t value = 0;
    if (text.p == NULL) {
        return true;
    }
    if (!tk_str_to_i64(text, &value) || value < min || value > max) {
        char blame[96];
        (void)snprintf(blame, sizeof(blame), "must be an integer from %lld to %lld",
                       (long long)min, (long long)max);
        (void)hd_reply_field(request, name, blame);
        return false;
    }
    *out = value;
    return true;
}

bool con_json_query_num(hd_request *request, const char *name, double *out)
{
    tk_str text = hd_request_query(request, name);
    double value = 0.0;
    if (text.p == NULL) {
        return true;
    }
    if (!tk_str_to_double(text, &value)) {
        (void)hd_reply_field(request, name, "must be a number");
        return false;
    }
    *out = value;
    return true;
}
