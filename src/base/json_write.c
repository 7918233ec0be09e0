/* The JSON writer: puts separators, escapes strings, formats numbers; see json.h.
 *
 * A call in the wrong place fails the buffer, so a document that comes out is well-formed
 * as far as it goes; tk_json_finish says whether it is whole. Arrays of numbers are
 * formatted block-wise on the stack: appending a block to the buffer costs one check. */
#include <math.h>

#include "base/base64.h"
#include "base/json_num.h"
#include "base/json_text.h"
#include "base/utf8.h"

#define BLOCK_BYTES 4096

void tk_json_writer_init(tk_json_writer *w, tk_buf *out)
{
    memset(w, 0, sizeof(*w));
    w->out = out;
}

static bool in_object(const tk_json_writer *w)
{
    unsigned level = w->depth - 1;
    return w->depth > 0 && (w->is_object[level / 64] >> (level % 64) & 1) != 0;
}

/* Called before each value; false when a value is not allowed here. */
static bool open_value(tk_json_writer *w)
{
    bool misplaced = w->depth == 0 ? w->need_comma : in_object(w) && !w->after_key;
    if (misplaced) {
        tk_buf_fail(w->out, TINKC_E_INVALID);
    }
    if (w->out->failure != TINKC_OK) {
        return false;
    }
    if (w->need_comma && !w->after_key) {
        tk_buf_putc(w->out, ',');
    }
    w->after_key = false;
    w->need_comma = true;
    return true;
}

static void begin(tk_json_writer *w, char bracket, bool object)
{
    if (w->depth == TK_JSON_MAX_DEPTH) {
        tk_buf_fail(w->out, TINKC_E_LIMIT);
    }
    if (!open_value(w)) {
        return;
    }
    uint64_t bit = UINT64_C(1) << (w->depth % 64);
    uint64_t *word = &w->is_object[w->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    w->depth++;
    w->need_comma = false;
    tk_buf_putc(w->out, bracket);
}

static void end(tk_json_writer *w, char bracket, bool object)
{
    if (w->depth == 0 || in_object(w) != object || w->after_key) {
        tk_buf_fail(w->out, TINKC_E_INVALID);
    }
    if (w->out->failure == TINKC_OK) {
        w->depth--;
        w->need_comma = true;
        tk_buf_putc(w->out, bracket);
    }
}

void tk_json_begin_object(tk_json_writer *w)
{
    begin(w, '{', true);
}

void tk_json_end_object(tk_json_writer *w)
{
    end(w, '}', true);
}

void tk_json_begin_array(tk_json_writer *w)
{
    begin(w, '[', false);
}

void tk_json_end_array(tk_json_writer *w)
{
    end(w, ']', false);
}

tinkc_code tk_json_finish(tk_json_writer *w, tk_err *err)
{
    if (w->out->failure == TINKC_OK && (w->depth > 0 || !w->need_comma)) {
        tk_buf_fail(w->out, TINKC_E_INVALID);
    }
    return tk_buf_status(w->out, err);
}

/* ---- strings ---- */

static void put_escape(tk_buf *out, char c)
{
    static const char values[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    static const char hex[] = "0123456789abcdef";
    const char *value = c != '\0' ? strchr(values, c) : NULL;
    if (value != NULL) {
        char escape[2] = {'\\', names[value - values]};
        tk_buf_put(out, escape, sizeof(escape));
    } else {
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4 & 15], hex[c & 15]};
        tk_buf_put(out, escape, sizeof(escape));
    }
}

static void put_quoted(tk_buf *out, tk_str text)
{
    tk_buf_putc(out, '"');
    const char *run = text.n > 0 ? text.p : "";
    const char *stop = run + text.n;
    for (const char *p = run;;) {
        p = tk_json_text_plain_end(p, stop);
        size_t n = p < stop ? tk_utf8_len(p, (size_t)(stop - p)) : 0;
        if (n > 1) {
            p += n;
            continue;
        }
        tk_buf_put(out, run, (size_t)(p - run));
        if (p == stop) {
            break;
        }
        if (n == 0) {
            tk_buf_fail(out, TINKC_E_INVALID);
            return;
        }
        put_escape(out, *p);
        run = ++p;
    }
    tk_buf_putc(out, '"');
}

void tk_json_key(tk_json_writer *w, tk_str key)
{
    if (!in_object(w) || w->after_key) {
        tk_buf_fail(w->out, TINKC_E_INVALID);
    }
    if (w->out->failure != TINKC_OK) {
        return;
    }
    if (w->need_comma) {
        tk_buf_putc(w->out, ',');
    }
    put_quoted(w->out, key);
    tk_buf_putc(w->out, ':');
    w->after_key = true;
}

void tk_json_put_str(tk_json_writer *w, tk_str value)
{
    if (open_value(w)) {
        put_quoted(w->out, value);
    }
}

void tk_json_put_base64(tk_json_writer *w, const void *data, size_t n)
{
    if (!open_value(w)) {
        return;
    }
    tk_buf_putc(w->out, '"');
    tk_base64_encode(w->out, data, n);
    tk_buf_putc(w->out, '"');
}

/* ---- scalars ---- */

void tk_json_put_null(tk_json_writer *w)
{
    if (open_value(w)) {
        tk_buf_puts(w->out, "null");
    }
}

void tk_json_put_bool(tk_json_writer *w, bool value)
{
    if (open_value(w)) {
        tk_buf_puts(w->out, value ? "true" : "false");
    }
}

void tk_json_put_i64(tk_json_writer *w, int64_t value)
{
    char text[TK_JSON_NUM_BYTES];
    if (open_value(w)) {
        tk_buf_put(w->out, text, tk_json_num_put_i64(text, value));
    }
}

void tk_json_put_u64(tk_json_writer *w, uint64_t value)
{
    char text[TK_JSON_NUM_BYTES];
    if (open_value(w)) {
        tk_buf_put(w->out, text, tk_json_num_put_u64(text, value));
    }
}

void tk_json_put_double(tk_json_writer *w, double value)
{
    char text[TK_JSON_NUM_BYTES];
    if (!isfinite(value)) {
        tk_buf_fail(w->out, TINKC_E_INVALID);
    } else if (open_value(w)) {
        tk_buf_put(w->out, text, tk_json_num_put_double(text, value));
    }
}

/* ---- arrays of numbers ---- */

/* Text that is collected before it goes to the buffer. */
typedef struct block {
    tk_buf *out;
    size_t n;
    char text[BLOCK_BYTES];
} block;

static bool block_begin(block *b, tk_json_writer *w)
{
    if (!open_value(w)) {
        return false;
    }
    b->out = w->out;
    b->text[0] = '[';
    b->n = 1;
    return true;
}

/* Where the next element goes. */
static char *block_room(block *b)
{
    if (b->n > BLOCK_BYTES - TK_JSON_NUM_BYTES - 1) {
        tk_buf_put(b->out, b->text, b->n);
        b->n = 0;
    }
    return b->text + b->n;
}

static void block_added(block *b, size_t n)
{
    b->n += n;
    b->text[b->n++] = ',';
}

/* The last comma becomes the closing bracket; it is still in the block. */
static void block_end(block *b, size_t count)
{
    b->n -= count > 0;
    b->text[b->n++] = ']';
    tk_buf_put(b->out, b->text, b->n);
}

void tk_json_put_i32s(tk_json_writer *w, const int32_t *values, size_t n)
{
    block b;
    if (!block_begin(&b, w)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char *room = block_room(&b);
        block_added(&b, tk_json_num_put_i64(room, values[i]));
    }
    block_end(&b, n);
}

void tk_json_put_i64s(tk_json_writer *w, const int64_t *values, size_t n)
{
    block b;
    if (!block_begin(&b, w)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char *room = block_room(&b);
        block_added(&b, tk_json_num_put_i64(room, values[i]));
    }
    block_end(&b, n);
}

void tk_json_put_f32s(tk_json_writer *w, const float *values, size_t n, bool nan_is_null)
{
    block b;
    if (!block_begin(&b, w)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char *room = block_room(&b);
        if (isfinite(values[i])) {
            block_added(&b, tk_json_num_put_float(room, values[i]));
        } else if (nan_is_null && isnan(values[i])) {
            memcpy(room, "null", 4);
            block_added(&b, 4);
        } else {
            tk_buf_fail(w->out, TINKC_E_INVALID);
            return;
        }
    }
    block_end(&b, n);
}

void tk_json_put_doubles(tk_json_writer *w, const double *values, size_t n)
{
    block b;
    if (!block_begin(&b, w)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            tk_buf_fail(w->out, TINKC_E_INVALID);
            return;
        }
        char *room = block_room(&b);
        block_added(&b, tk_json_num_put_double(room, values[i]));
    }
    block_end(&b, n);
}

/* ---- whole values ---- */

static void put_items(tk_json_writer *w, const tk_json *array)
{
    tk_json_begin_array(w);
    for (size_t i = 0; i < array->as.array.n && w->out->failure == TINKC_OK; i++) {
        tk_json_put_value(w, &array->as.array.items[i]);
    }
    tk_json_end_array(w);
}

static void put_members(tk_json_writer *w, const tk_json *object)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < object->as.object.n && w->out->failure == TINKC_OK; i++) {
        const tk_json_member *member = &object->as.object.members[i];
        tk_json_key(w, member->key);
        tk_json_put_value(w, &member->value);
    }
    tk_json_end_object(w);
}

void tk_json_put_value(tk_json_writer *w, const tk_json *value)
{
    switch (value->type) {
    case TK_JSON_NULL:
        tk_json_put_null(w);
        break;
    case TK_JSON_BOOL:
        tk_json_put_bool(w, value->as.boolean);
        break;
    case TK_JSON_INT:
        tk_json_put_i64(w, value->as.integer);
        break;
    case TK_JSON_UINT:
        tk_json_put_u64(w, value->as.uinteger);
        break;
    case TK_JSON_REAL:
        tk_json_put_double(w, value->as.real);
        break;
    case TK_JSON_STRING:
        tk_json_put_str(w, value->as.string);
        break;
    case TK_JSON_ARRAY:
        put_items(w, value);
        break;
    case TK_JSON_INTS:
        tk_json_put_i64s(w, value->as.ints.items, value->as.ints.n);
        break;
    case TK_JSON_REALS:
        tk_json_put_doubles(w, value->as.reals.items, value->as.reals.n);
        break;
    case TK_JSON_OBJECT:
        put_members(w, value);
        break;
    }
}
