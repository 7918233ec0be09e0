/* Growth by doubling while it is small, by a quarter from LARGE on (large blocks move by
 * page tables, and a 100 MB body must not cost 200), clipped at the cap; one large
 * reservation gets its size, not the next power of two. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_CAPACITY ((size_t)256)
#define LARGE          (4 * TK_MIB)

void tk_buf_init(tk_buf *buf, size_t max_bytes)
{
    memset(buf, 0, sizeof(*buf));
    buf->max = max_bytes;
}

void tk_buf_init_quota(tk_buf *buf, size_t max_bytes, tk_quota *quota)
{
    tk_buf_init(buf, max_bytes);
    buf->quota = quota;
}

void tk_buf_dispose(tk_buf *buf)
{
    tk_quota_give(buf->quota, buf->capacity);
    tk_free(buf->p);
    tk_buf_init_quota(buf, buf->max, buf->quota);
}

void tk_buf_clear(tk_buf *buf)
{
    buf->n = 0;
    buf->failure = TINKC_OK;
}

void tk_buf_fail(tk_buf *buf, tinkc_code code)
{
    if (buf->failure == TINKC_OK) {
        buf->failure = code;
    }
}

/* Makes capacity at least `need` (already known to be within the cap, plus a NUL). */
static bool grow(tk_buf *buf, size_t need)
{
    size_t limit = buf->max < SIZE_MAX ? buf->max + 1 : buf->max;
    size_t more = buf->capacity < LARGE ? buf->capacity : buf->capacity / 4;
    size_t grown =
        more > limit - TK_MIN(buf->capacity, limit) ? limit : buf->capacity + more;
    size_t capacity = TK_MAX(TK_MIN(TK_MAX(grown, FIRST_CAPACITY), limit), need);
    if (!tk_quota_take(buf->quota, capacity - buf->capacity)) {
        tk_buf_fail(buf, TINKC_E_RATE_LIMIT);
        return false;
    }
    char *p = tk_realloc(buf->p, capacity);
    if (p == NULL) {
        tk_quota_give(buf->quota, capacity - buf->capacity);
        tk_buf_fail(buf, TINKC_E_NOMEM);
        return false;
    }
    buf->p = p;
    buf->capacity = capacity;
    return true;
}

char *tk_buf_reserve(tk_buf *buf, size_t n)
{
    if (buf->failure != TINKC_OK) {
        return NULL;
    }
    if (n > buf->max - buf->n) {
        tk_buf_fail(buf, TINKC_E_LIMIT);
        return NULL;
    }
    size_t need = TK_MAX(buf->n + n, 1);
    if (need > buf->capacity && !grow(buf, need)) {
        return NULL;
    }
    return buf->p + buf->n;
}

void tk_buf_advance(tk_buf *buf, size_t n)
{
    size_t room = TK_MIN(buf->capacity, buf->max);
    if (buf->failure == TINKC_OK && n <= room - buf->n) {
        buf->n += n;
    }
}

void tk_buf_put(tk_buf *buf, const void *data, size_t n)
{
    if (n == 0) {
        return;
    }
    char *room = tk_buf_reserve(buf, n);
    if (room != NULL) {
        memcpy(room, data, n);
        buf->n += n;
    }
}

void tk_buf_putc(tk_buf *buf, char c)
{
    char *room = tk_buf_reserve(buf, 1);
    if (room != NULL) {
        *room = c;
        buf->n++;
    }
}

void tk_buf_puts(tk_buf *buf, const char *text)
{
    tk_buf_put(buf, text, strlen(text));
}

void tk_buf_printf(tk_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        tk_buf_fail(buf, TINKC_E_INVALID);
    } else if (tk_buf_reserve(buf, (size_t)n) != NULL &&
               (buf->capacity > buf->n + (size_t)n ||
                grow(buf, buf->n + (size_t)n + 1))) {
        (void)vsnprintf(buf->p + buf->n, (size_t)n + 1, format, again);
        buf->n += (size_t)n;
    }
    va_end(again);
}

tinkc_code tk_buf_status(const tk_buf *buf, tk_err *err)
{
    switch ((int)buf->failure) {
    case TINKC_OK:
        return TINKC_OK;
    case TINKC_E_NOMEM:
        return tk_err_nomem(err);
    case TINKC_E_LIMIT:
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the limit of %zu bytes",
                          buf->max);
    case TINKC_E_RATE_LIMIT:
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "there is no memory left for it now");
    default:
        return tk_err_set(err, buf->failure, "value cannot be encoded");
    }
}

const char *tk_buf_cstr(tk_buf *buf)
{
    if (buf->failure != TINKC_OK) {
        return NULL;
    }
    if (buf->n + 1 > buf->capacity && !grow(buf, buf->n + 1)) {
        return NULL;
    }
    buf->p[buf->n] = '\0';
    return buf->p;
}

tk_str tk_buf_str(const tk_buf *buf)
{
    tk_str view = {buf->p, buf->n};
    return view;
}

char *tk_buf_take(tk_buf *buf, size_t *n_out)
{
    char *p = buf->failure == TINKC_OK && buf->n > 0 ? buf->p : NULL;
    *n_out = p != NULL ? buf->n : 0;
    if (p == NULL) {
        tk_free(buf->p);
    }
    tk_quota_give(buf->quota, buf->capacity);
    tk_buf_init_quota(buf, buf->max, buf->quota);
    return p;
}
