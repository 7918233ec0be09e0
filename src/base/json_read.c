/* The JSON reader: recursive descent, one pass, values into the caller's arena.
 *
 * Members and mixed elements gather on two heap stacks of the reader, because their
 * number is known only at the closing bracket, and are then copied to the arena in one
 * piece. An array that starts with a number is first scanned for its end: if nothing but
 * numbers can be in it, it is read straight into a packed arena array. The stacks die
 * with the call; the arena's quota and its limit count them too. */
#include "base/json_num.h"
#include "base/json_packed.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/utf8.h"

typedef struct stack {
    void *items;
    size_t n, capacity, item_size;
} stack;

typedef struct reader {
    const char *text;
    const char *p;
    const char *end;
    tk_arena *arena;
    size_t depth, max_depth;
    bool keeps_kinds;
    stack values;    /* tk_json: elements of the open mixed arrays */
    stack members;   /* tk_json_member: members of the open objects */
    tk_buf unquoted; /* the string being read, when it has escapes */
    tk_err *err;
} reader;

static tinkc_code read_value(reader *r, tk_json *out);

/* ---- failing ---- */

static tinkc_code fail(reader *r, const char *at, const char *what)
{
    size_t offset = (size_t)(at - r->text);
    return tk_err_at(r->err, TINKC_E_PARSE, offset, "JSON: %s at byte %zu", what, offset);
}

/* At the read position; the end of the text is the more helpful thing to say. */
static tinkc_code fail_here(reader *r, const char *what)
{
    return fail(r, r->p, r->p < r->end ? what : "unexpected end of text");
}

static tinkc_code no_room(reader *r)
{
    return tk_err_at(r->err, TINKC_E_NOMEM, (size_t)(r->p - r->text), "out of memory");
}

/* ---- memory ---- */

static tinkc_code over_limit(reader *r)
{
    return tk_err_at(r->err, TINKC_E_LIMIT, (size_t)(r->p - r->text),
                     "JSON: value needs more than the limit of %zu bytes",
                     r->arena->max_bytes);
}

/* What the limit leaves beside the stacks. */
static size_t room_left(const reader *r)
{
    size_t most = r->arena->max_bytes != 0 ? r->arena->max_bytes : TK_ARENA_MAX_BYTES;
    size_t left = most - r->arena->used_bytes;
    size_t stacks = r->values.capacity * r->values.item_size +
                    r->members.capacity * r->members.item_size;
    return left > stacks ? left - stacks : 0;
}

static tinkc_code arena_array(reader *r, void **out, size_t count, size_t size)
{
    if (count > room_left(r) / size) {
        return over_limit(r);
    }
    *out = tk_arena_array(r->arena, count, size);
    return *out != NULL ? TINKC_OK : no_room(r);
}

static tinkc_code push(reader *r, stack *s, const void *item)
{
    if (s->n == s->capacity) {
        size_t capacity = s->capacity != 0 ? s->capacity * 2 : 16;
        size_t more = (capacity - s->capacity) * s->item_size;
        if (more > room_left(r)) {
            return over_limit(r);
        }
        if (!tk_quota_take(r->arena->quota, more)) {
            r->arena->refused = true;
            return no_room(r);
        }
        void *items = tk_realloc_array(s->items, capacity, s->item_size);
        if (items == NULL) {
            tk_quota_give(r->arena->quota, more);
            return no_room(r);
        }
        s->items = items;
        s->capacity = capacity;
    }
    memcpy((char *)s->items + s->n * s->item_size, item, s->item_size);
    s->n++;
    return TINKC_OK;
}

static void free_stack(reader *r, stack *s)
{
    tk_quota_give(r->arena->quota, s->capacity * s->item_size);
    tk_free(s->items);
}

/* Moves what lies above `base` into the arena. */
static tinkc_code pop_to_arena(reader *r, stack *s, size_t base, void **out,
                               size_t *n_out)
{
    size_t n = s->n - base;
    void *items = NULL;
    if (n > 0) {
        tinkc_code rc = arena_array(r, &items, n, s->item_size);
        if (rc != TINKC_OK) {
            return rc;
        }
        memcpy(items, (char *)s->items + base * s->item_size, n * s->item_size);
        s->n = base;
    }
    *out = items;
    *n_out = n;
    return TINKC_OK;
}

/* ---- text ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(reader *r)
{
    while (r->p < r->end && is_space(*r->p)) {
        r->p++;
    }
}

static bool at_char(const reader *r, char c)
{
    return r->p < r->end && *r->p == c;
}

static bool at_number(const reader *r)
{
    return r->p < r->end && (*r->p == '-' || (*r->p >= '0' && *r->p <= '9'));
}

/* ---- strings ---- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The code unit of the \uXXXX at p, or -1. */
static int32_t unicode_escape(const reader *r, const char *p)
{
    if (r->end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

static tinkc_code read_unicode_escape(reader *r)
{
    int32_t unit = unicode_escape(r, r->p);
    if (unit < 0) {
        return fail(r, r->p, "\\u needs four hexadecimal digits");
    }
    uint32_t c = (uint32_t)unit;
    const char *start = r->p;
    r->p += 6;
    if (c >= 0xD800 && c < 0xE000) {
        int32_t second = c < 0xDC00 ? unicode_escape(r, r->p) : -1;
        if (second < 0xDC00 || second > 0xDFFF) {
            return fail(r, start, "half of a surrogate pair");
        }
        c = 0x10000 + ((c - 0xD800) << 10) + ((uint32_t)second - 0xDC00);
        r->p += 6;
    }
    char bytes[4];
    tk_buf_put(&r->unquoted, bytes, tk_utf8_encode(bytes, c));
    return TINKC_OK;
}

/* One escape at the read position, decoded into r->unquoted. */
static tinkc_code read_escape(reader *r)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (r->end - r->p < 2) {
        r->p = r->end;
        return fail_here(r, "");
    }
    char c = r->p[1];
    if (c == 'u') {
        return read_unicode_escape(r);
    }
    const char *name = c != '\0' ? strchr(names, c) : NULL;
    if (name == NULL) {
        return fail(r, r->p, "unknown escape");
    }
    tk_buf_putc(&r->unquoted, values[name - names]);
    r->p += 2;
    return TINKC_OK;
}

/* Moves past plain and valid non-ASCII text to the closing quote or an escape. */
static tinkc_code skip_string_text(reader *r)
{
    for (;;) {
        r->p = tk_json_text_plain_end(r->p, r->end);
        if (r->p == r->end || (unsigned char)*r->p < 0x20) {
            return fail_here(r, "control character in a string");
        }
        if (*r->p == '"' || *r->p == '\\') {
            return TINKC_OK;
        }
        size_t n = tk_utf8_len(r->p, (size_t)(r->end - r->p));
        if (n == 0) {
            return fail(r, r->p, "invalid UTF-8");
        }
        r->p += n;
    }
}

static tinkc_code finish_string(reader *r, const char *p, size_t n, tk_str *out)
{
    void *copy;
    tinkc_code rc = arena_array(r, &copy, n + 1, 1);
    if (rc == TINKC_OK) {
        if (n > 0) {
            memcpy(copy, p, n);
        }
        ((char *)copy)[n] = '\0';
        out->p = copy;
        out->n = n;
        r->p++;
    }
    return rc;
}

/* At the opening quote. */
static tinkc_code read_string(reader *r, tk_str *out)
{
    const char *run = ++r->p;
    tinkc_code rc = skip_string_text(r);
    if (rc != TINKC_OK) {
        return rc;
    }
    if (*r->p == '"') {
        return finish_string(r, run, (size_t)(r->p - run), out);
    }
    tk_buf_clear(&r->unquoted);
    while (*r->p != '"') {
        tk_buf_put(&r->unquoted, run, (size_t)(r->p - run));
        rc = read_escape(r);
        run = r->p;
        if (rc == TINKC_OK) {
            rc = skip_string_text(r);
        }
        if (rc != TINKC_OK) {
            return rc;
        }
    }
    tk_buf_put(&r->unquoted, run, (size_t)(r->p - run));
    if (r->unquoted.failure != TINKC_OK) {
        r->arena->refused |= r->unquoted.failure == TINKC_E_RATE_LIMIT;
        return no_room(r);
    }
    return finish_string(r, r->unquoted.p, r->unquoted.n, out);
}

/* ---- arrays ---- */

static tinkc_code enter(reader *r)
{
    if (r->depth == r->max_depth) {
        return tk_err_at(r->err, TINKC_E_LIMIT, (size_t)(r->p - r->text),
                         "JSON: nested deeper than the limit of %zu", r->max_depth);
    }
    r->depth++;
    r->p++;
    return TINKC_OK;
}

static tinkc_code read_number(reader *r, tk_json *out)
{
    const char *at = r->p;
    const char *fault = tk_json_num_read(&at, r->end, out);
    r->p = at;
    return fault != NULL ? fail_here(r, fault) : TINKC_OK;
}

/* After an element: consumes a comma or the closing bracket; true at the bracket. */
static tinkc_code read_separator(reader *r, char closing, bool *closed, const char *what)
{
    skip_space(r);
    *closed = at_char(r, closing);
    if (!*closed && !at_char(r, ',')) {
        return fail_here(r, what);
    }
    r->p++;
    return TINKC_OK;
}

/* Reads `count` numbers into a packed array; leaves *out unchanged when they cannot be
 * packed. */
static tinkc_code read_packed(reader *r, tk_json *out, size_t count)
{
    void *cells;
    tinkc_code rc = arena_array(r, &cells, count, sizeof(int64_t));
    bool real = false;
    bool closed = false;
    for (size_t n = 0; rc == TINKC_OK && !closed; n++) {
        n = real ? n : tk_json_packed_read_ints(cells, n, &r->p, r->end);
        skip_space(r);
        tk_json number;
        if (!at_number(r)) {
            return fail_here(r, "expected a value");
        }
        rc = read_number(r, &number);
        bool is_mixed = rc == TINKC_OK && n > 0 && real != (number.type == TK_JSON_REAL);
        if (rc == TINKC_OK && ((is_mixed && r->keeps_kinds) ||
                               !tk_json_packed_store(cells, n, &real, &number))) {
            tk_arena_shrink_last(r->arena, cells, count * sizeof(int64_t), 0);
            return TINKC_OK;
        }
        if (rc == TINKC_OK) {
            rc = read_separator(r, ']', &closed, "expected ',' or ']'");
        }
    }
    if (rc == TINKC_OK && real) {
        *out = (tk_json){.type = TK_JSON_REALS, .as.reals = {cells, count}};
    } else if (rc == TINKC_OK) {
        *out = (tk_json){.type = TK_JSON_INTS, .as.ints = {cells, count}};
    }
    return rc;
}

static tinkc_code read_items(reader *r, tk_json *out)
{
    size_t base = r->values.n;
    bool closed = false;
    tinkc_code rc = TINKC_OK;
    while (rc == TINKC_OK && !closed) {
        tk_json item;
        rc = read_value(r, &item);
        if (rc == TINKC_OK) {
            rc = push(r, &r->values, &item);
        }
        if (rc == TINKC_OK) {
            rc = read_separator(r, ']', &closed, "expected ',' or ']'");
        }
    }
    void *items;
    size_t n;
    if (rc == TINKC_OK) {
        rc = pop_to_arena(r, &r->values, base, &items, &n);
    }
    if (rc == TINKC_OK) {
        *out = (tk_json){.type = TK_JSON_ARRAY, .as.array = {items, n}};
    }
    return rc;
}

static tinkc_code read_array(reader *r, tk_json *out)
{
    tinkc_code rc = enter(r);
    if (rc != TINKC_OK) {
        return rc;
    }
    skip_space(r);
    *out = (tk_json){.type = TK_JSON_ARRAY};
    if (at_char(r, ']')) {
        r->p++;
    } else {
        const char *first = r->p;
        size_t count = at_number(r) ? tk_json_packed_count(first, r->end) : 0;
        if (count > 0) {
            rc = read_packed(r, out, count);
        }
        if (rc == TINKC_OK && out->type == TK_JSON_ARRAY) {
            r->p = first;
            rc = read_items(r, out);
        }
    }
    r->depth--;
    return rc;
}

/* ---- objects and the rest ---- */

static tinkc_code read_member(reader *r)
{
    tk_json_member member;
    skip_space(r);
    if (!at_char(r, '"')) {
        return fail_here(r, "expected a key");
    }
    tinkc_code rc = read_string(r, &member.key);
    if (rc == TINKC_OK) {
        skip_space(r);
        if (!at_char(r, ':')) {
            return fail_here(r, "expected ':'");
        }
        r->p++;
        rc = read_value(r, &member.value);
    }
    return rc == TINKC_OK ? push(r, &r->members, &member) : rc;
}

static tinkc_code read_object(reader *r, tk_json *out)
{
    tinkc_code rc = enter(r);
    if (rc != TINKC_OK) {
        return rc;
    }
    size_t base = r->members.n;
    skip_space(r);
    bool closed = at_char(r, '}');
    r->p += closed;
    while (rc == TINKC_OK && !closed) {
        rc = read_member(r);
        if (rc == TINKC_OK) {
            rc = read_separator(r, '}', &closed, "expected ',' or '}'");
        }
    }
    void *members;
    size_t n;
    if (rc == TINKC_OK) {
        rc = pop_to_arena(r, &r->members, base, &members, &n);
    }
    if (rc == TINKC_OK) {
        *out = (tk_json){.type = TK_JSON_OBJECT, .as.object = {members, n}};
    }
    r->depth--;
    return rc;
}

/* The fault is put on the word's first character: a truncated word is a wrong word. */
static tinkc_code read_word(reader *r, const char *word, tk_json_type type, tk_json *out)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0) {
        return fail(r, r->p, "expected a value");
    }
    *out = (tk_json){.type = type, .as.boolean = word[0] == 't'};
    r->p += n;
    return TINKC_OK;
}

static tinkc_code read_value(reader *r, tk_json *out)
{
    skip_space(r);
    if (at_number(r)) {
        return read_number(r, out);
    }
    switch (r->p < r->end ? *r->p : '\0') {
    case '{':
        return read_object(r, out);
    case '[':
        return read_array(r, out);
    case '"':
        out->type = TK_JSON_STRING;
        return read_string(r, &out->as.string);
    case 't':
        return read_word(r, "true", TK_JSON_BOOL, out);
    case 'f':
        return read_word(r, "false", TK_JSON_BOOL, out);
    case 'n':
        return read_word(r, "null", TK_JSON_NULL, out);
    default:
        return fail_here(r, "expected a value");
    }
}

static tinkc_code read_document(reader *r, const tk_json **out)
{
    tk_json value;
    tinkc_code rc = read_value(r, &value);
    if (rc != TINKC_OK) {
        return rc;
    }
    skip_space(r);
    if (r->p < r->end) {
        return fail(r, r->p, "text after the value");
    }
    void *root;
    rc = arena_array(r, &root, 1, sizeof(tk_json));
    if (rc == TINKC_OK) {
        memcpy(root, &value, sizeof(value));
        *out = root;
    }
    return rc;
}

tinkc_code tk_json_parse(const tk_json **out, tk_arena *arena, const char *text, size_t n,
                         const tk_json_limits *limits, tk_err *err)
{
    *out = NULL;
    size_t max_bytes =
        limits != NULL && limits->max_bytes != 0 ? limits->max_bytes : TK_JSON_MAX_BYTES;
    size_t max_depth =
        limits != NULL && limits->max_depth != 0 ? limits->max_depth : TK_JSON_MAX_DEPTH;
    if (n > max_bytes) {
        return tk_err_at(err, TINKC_E_LIMIT, max_bytes,
                         "JSON: larger than the limit of %zu bytes", max_bytes);
    }
    reader r = {.text = n > 0 ? text : "",
                .arena = arena,
                .max_depth = TK_MIN(max_depth, TK_JSON_MAX_DEPTH),
                .keeps_kinds = limits != NULL && limits->keeps_kinds,
                .values.item_size = sizeof(tk_json),
                .members.item_size = sizeof(tk_json_member),
                .err = err};
    r.p = r.text;
    r.end = r.text + n;
    tk_buf_init_quota(&r.unquoted, TK_MAX(n, 1), arena->quota);
    tinkc_code rc = read_document(&r, out);
    tk_buf_dispose(&r.unquoted);
    free_stack(&r, &r.members);
    free_stack(&r, &r.values);
    return rc;
}
