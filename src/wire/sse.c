/* The event stream parser. A line is parsed when it is complete, so that neither a
 * character nor a line end can be split. */
#include "wire/sse.h"

#include <string.h>

void tk_sse_init(tk_sse *sse, size_t max_bytes)
{
    *sse = (tk_sse){.max_bytes = max_bytes, .retry_ms = -1};
    tk_buf_init(&sse->line, max_bytes);
    tk_buf_init(&sse->type, max_bytes);
    tk_buf_init(&sse->data, max_bytes);
    tk_buf_init(&sse->id, max_bytes);
}

void tk_sse_dispose(tk_sse *sse)
{
    tk_buf_dispose(&sse->line);
    tk_buf_dispose(&sse->type);
    tk_buf_dispose(&sse->data);
    tk_buf_dispose(&sse->id);
}

static tinkc_code set(tk_buf *out, tk_str value, tk_err *err)
{
    tk_buf_clear(out);
    tk_buf_put(out, value.p, value.n);
    return tk_buf_status(out, err);
}

static tinkc_code add_data(tk_sse *sse, tk_str value, tk_err *err)
{
    if (sse->has_data) {
        tk_buf_putc(&sse->data, '\n');
    }
    sse->has_data = true;
    tk_buf_put(&sse->data, value.p, value.n);
    return tk_buf_status(&sse->data, err);
}

static tinkc_code take_field(tk_sse *sse, tk_str line, tk_err *err)
{
    tk_str value = line;
    tk_str name = tk_str_cut(&value, ':');
    if (value.n > 0 && value.p[0] == ' ') {
        value.p++;
        value.n--;
    }
    if (tk_str_is(name, "data")) {
        return add_data(sse, value, err);
    }
    if (tk_str_is(name, "event")) {
        return set(&sse->type, value, err);
    }
    if (tk_str_is(name, "id") && (value.n == 0 || memchr(value.p, 0, value.n) == NULL)) {
        return set(&sse->id, value, err);
    }
    if (tk_str_is(name, "retry")) {
        int64_t ms;
        if (value.n > 0 && value.p[0] != '-' && tk_str_to_i64(value, &ms)) {
            sse->retry_ms = ms;
        }
    }
    return TINKC_OK; /* comments start with a colon: a field without a name */
}

static tinkc_code dispatch(tk_sse *sse, tk_sse_fn fn, void *user, tk_err *err)
{
    bool more = true;
    if (sse->has_data) {
        tk_sse_event event = {tk_buf_str(&sse->type), tk_buf_str(&sse->data),
                              tk_buf_str(&sse->id)};
        more = fn(user, &event);
    }
    tk_buf_clear(&sse->type);
    tk_buf_clear(&sse->data);
    sse->has_data = false;
    return more ? TINKC_OK
                : tk_err_set(err, TINKC_E_CANCELLED, "the reader has had enough");
}

static tinkc_code end_line(tk_sse *sse, tk_sse_fn fn, void *user, tk_err *err)
{
    tk_str line = tk_buf_str(&sse->line);
    if (!sse->past_first_line && tk_str_has_prefix(line, "\xEF\xBB\xBF")) {
        line.p += 3; /* a byte order mark */
        line.n -= 3;
    }
    sse->past_first_line = true;
    tinkc_code code =
        line.n == 0 ? dispatch(sse, fn, user, err) : take_field(sse, line, err);
    tk_buf_clear(&sse->line);
    return code;
}

static size_t line_end(const char *p, size_t n)
{
    size_t at = 0;
    while (at < n && p[at] != '\n' && p[at] != '\r') {
        at++;
    }
    return at;
}

tinkc_code tk_sse_feed(tk_sse *sse, const char *p, size_t n, tk_sse_fn fn, void *user,
                       tk_err *err)
{
    while (n > 0) {
        if (sse->after_cr && *p == '\n') {
            sse->after_cr = false;
            p++;
            n--;
            continue;
        }
        sse->after_cr = false;
        size_t length = line_end(p, n);
        tk_buf_put(&sse->line, p, length);
        tinkc_code code = tk_buf_status(&sse->line, err);
        if (code != TINKC_OK) {
            return code;
        }
        p += length;
        n -= length;
        if (n == 0) {
            return TINKC_OK;
        }
        sse->after_cr = *p == '\r';
        p++;
        n--;
        code = end_line(sse, fn, user, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}
