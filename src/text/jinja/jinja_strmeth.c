/* Methods of str. Results of a safe ("markup") string are safe again where Python's
 * Markup class says so: strip, case and split keep it. */
#include <string.h>

#include "base/utf8.h"
#include "text/jinja/jinja_run.h"

static bool give(tk_jval self, tk_str s, tk_jval *out)
{
    *out = tk_jval_str(s);
    out->flag = self.flag;
    return true;
}

static bool is_given(const tk_jargs *args, size_t index)
{
    const tk_jval *value = tk_jargs_at(args, index);
    return value != NULL && value->type != TK_JT_NONE;
}

enum { LEFT = 1, RIGHT = 2 };

TK_JFUNC(do_strip)
{
    tk_str s = self.as.s, set;
    if (!tk_jrun_bytes(run, s.n)) {
        return false;
    }
    if (!is_given(args, 0)) {
        s = (args->op & LEFT) != 0 ? tk_jstr_lstrip(s) : s;
        return give(self, (args->op & RIGHT) != 0 ? tk_jstr_rstrip(s) : s, out);
    }
    if (!tk_jargs_str(run, args, 0, &set) || !tk_jrun_product(run, s.n, set.n)) {
        return false;
    }
    s = (args->op & LEFT) != 0 ? tk_jstr_lstrip_set(s, set) : s;
    return give(self, (args->op & RIGHT) != 0 ? tk_jstr_rstrip_set(s, set) : s, out);
}

TK_JFUNC(do_case)
{
    if (!tk_jrun_bytes(run, self.as.s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jstr_put_case(&buf, self.as.s, (tk_jstr_case)args->op);
    if (!tk_jval_take(run, &buf, out)) {
        return false;
    }
    out->flag = self.flag;
    return true;
}

/* ---- searching ---- */

/* The part of the text that optional arguments start and end (from `index`) name. */
static bool window(tk_jrun *run, tk_str s, const tk_jargs *args, size_t index,
                   tk_str *out, size_t *skipped)
{
    int64_t n = (int64_t)tk_jstr_count(s), start = 0, end = n;
    if ((is_given(args, index) && !tk_jargs_int(run, args, index, 0, &start)) ||
        (is_given(args, index + 1) && !tk_jargs_int(run, args, index + 1, n, &end)) ||
        !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    start = start < 0 ? TK_MAX(start + n, 0) : start;
    end = end < 0 ? TK_MAX(end + n, 0) : TK_MIN(end, n);
    *skipped = (size_t)start;
    if (start > end) {
        *out = (tk_str){NULL, 0};
        return true;
    }
    size_t from = tk_jstr_offset(s, (size_t)start), to = tk_jstr_offset(s, (size_t)end);
    *out = (tk_str){s.p + from, to - from};
    return true;
}

static bool ends_so(tk_str s, tk_str with, bool at_start)
{
    return s.n >= with.n && (with.n == 0 || memcmp(at_start ? s.p : s.p + s.n - with.n,
                                                   with.p, with.n) == 0);
}

TK_JFUNC(do_ends)
{
    tk_str s;
    size_t skipped;
    if (!window(run, self.as.s, args, 1, &s, &skipped)) {
        return false;
    }
    const tk_jval *with = tk_jargs_at(args, 0);
    tk_jval one = *with;
    tk_jlist list = {.items = &one, .n = 1};
    if (with->type == TK_JT_TUPLE) {
        list = *with->as.list;
    }
    bool holds = false;
    for (size_t i = 0; i < list.n && !holds; i++) {
        if (!tk_jrun_step(run, 1)) {
            return false;
        }
        if (list.items[i].type != TK_JT_STR) {
            return tk_jrun_raise(run,
                                 "%s first arg must be str or a tuple of str, not %s",
                                 args->op == LEFT ? "startswith" : "endswith",
                                 tk_jval_type_name(&list.items[i]));
        }
        holds = s.p != NULL && ends_so(s, list.items[i].as.s, args->op == LEFT);
    }
    *out = tk_jval_bool(holds);
    return true;
}

/* (needle, start, end): what is searched for, and the part of the text that is
 * searched. */
static bool search_args(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_str *s,
                        tk_str *needle, size_t *skipped)
{
    return tk_jargs_str(run, args, 0, needle) &&
           window(run, self.as.s, args, 1, s, skipped);
}

enum { FIND, RFIND, INDEX, RINDEX };

TK_JFUNC(do_find)
{
    tk_str s, needle;
    size_t skipped;
    if (!search_args(run, self, args, &s, &needle, &skipped)) {
        return false;
    }
    bool from_end = args->op == RFIND || args->op == RINDEX;
    if (from_end && !tk_jrun_product(run, s.n, needle.n)) {
        return false;
    }
    size_t at = s.p == NULL && self.as.s.p != NULL ? SIZE_MAX
                : from_end                         ? tk_jstr_rfind(s, needle)
                                                   : tk_jstr_find(s, needle, 0);
    if (at == SIZE_MAX && (args->op == INDEX || args->op == RINDEX)) {
        return tk_jrun_raise(run, "substring not found");
    }
    *out = tk_jval_int(
        at == SIZE_MAX ? -1 : (int64_t)(tk_jstr_count((tk_str){s.p, at}) + skipped));
    return true;
}

TK_JFUNC(do_count)
{
    tk_str s, needle;
    size_t skipped;
    if (!search_args(run, self, args, &s, &needle, &skipped)) {
        return false;
    }
    int64_t n = 0;
    if (needle.n == 0) {
        n = (int64_t)tk_jstr_count(s) + 1;
    } else {
        for (size_t at = 0; (at = tk_jstr_find(s, needle, at)) != SIZE_MAX;
             at += needle.n) {
            n++;
        }
    }
    *out = tk_jval_int(n);
    return true;
}

/* ---- cutting ---- */

static bool add_part(tk_jrun *run, tk_jval self, tk_jlist *list, tk_str part)
{
    tk_jval value;
    return give(self, part, &value) && tk_jlist_add(run, list, value);
}

static bool split_space(tk_jrun *run, tk_jval self, int64_t max, tk_jlist *list)
{
    tk_str s = tk_jstr_lstrip(self.as.s);
    while (s.n > 0) {
        if (max >= 0 && (int64_t)list->n == max) {
            return add_part(run, self, list, s);
        }
        size_t n = 0;
        uint32_t code;
        while (n < s.n && tk_jstr_space(s.p + n, s.n - n) == 0) {
            n += tk_jstr_char(&code, (tk_str){s.p + n, s.n - n});
        }
        if (!add_part(run, self, list, (tk_str){s.p, n})) {
            return false;
        }
        s = tk_jstr_lstrip((tk_str){s.p + n, s.n - n});
    }
    return true;
}

static void flip(tk_jlist *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        tk_jval other = list->items[i];
        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = other;
    }
}

static bool rsplit_space(tk_jrun *run, tk_jval self, int64_t max, tk_jlist *list)
{
    tk_str s = tk_jstr_rstrip(self.as.s);
    while (s.n > 0) {
        size_t n = max >= 0 && (int64_t)list->n == max ? 0 : s.n;
        while (n > 0 && tk_jstr_space_before(s.p, n) == 0) {
            n--;
        }
        if (!add_part(run, self, list, (tk_str){s.p + n, s.n - n})) {
            return false;
        }
        s = tk_jstr_rstrip((tk_str){s.p, n});
    }
    flip(list);
    return true;
}

static bool split_at(tk_jrun *run, tk_jval self, tk_str by, int64_t max, tk_jlist *list)
{
    tk_str s = self.as.s;
    for (size_t at; (max < 0 || (int64_t)list->n < max) &&
                    (at = tk_jstr_find(s, by, 0)) != SIZE_MAX;) {
        if (!add_part(run, self, list, (tk_str){s.p, at})) {
            return false;
        }
        s.p += at + by.n;
        s.n -= at + by.n;
    }
    return add_part(run, self, list, s);
}

static bool rsplit_at(tk_jrun *run, tk_jval self, tk_str by, int64_t max, tk_jlist *list)
{
    tk_str s = self.as.s;
    for (size_t at; (max < 0 || (int64_t)list->n < max) &&
                    (at = tk_jstr_rfind(s, by)) != SIZE_MAX;) {
        if (!add_part(run, self, list, (tk_str){s.p + at + by.n, s.n - at - by.n})) {
            return false;
        }
        s.n = at;
    }
    if (!add_part(run, self, list, s)) {
        return false;
    }
    flip(list);
    return true;
}

TK_JFUNC(do_split)
{
    tk_str by;
    int64_t max;
    tk_jlist *list;
    bool right = args->op == RIGHT;
    if (!tk_jargs_int(run, args, 1, -1, &max) || !tk_jlist_new(run, &list, 0) ||
        !tk_jrun_bytes(run, self.as.s.n)) {
        return false;
    }
    *out = tk_jval_list(list, TK_JT_LIST);
    if (!is_given(args, 0)) {
        return right ? rsplit_space(run, self, max, list)
                     : split_space(run, self, max, list);
    }
    if (!tk_jargs_str(run, args, 0, &by)) {
        return false;
    }
    if (by.n == 0) {
        return tk_jrun_raise(run, "empty separator");
    }
    if (!right) {
        return split_at(run, self, by, max, list);
    }
    return tk_jrun_product(run, self.as.s.n, by.n) && rsplit_at(run, self, by, max, list);
}

TK_JFUNC(do_splitlines)
{
    tk_jlist *list;
    bool keep = tk_jargs_bool(args, 0, false);
    if (!tk_jlist_new(run, &list, 0) || !tk_jrun_bytes(run, self.as.s.n)) {
        return false;
    }
    *out = tk_jval_list(list, TK_JT_LIST);
    tk_str s = self.as.s;
    while (s.n > 0) {
        size_t n = 0, end = 0;
        uint32_t code;
        while (n < s.n && (end = tk_jstr_line_end((tk_str){s.p + n, s.n - n})) == 0) {
            n += tk_jstr_char(&code, (tk_str){s.p + n, s.n - n});
        }
        if (!add_part(run, self, list, (tk_str){s.p, keep ? n + end : n})) {
            return false;
        }
        s.p += n + end;
        s.n -= n + end;
    }
    return true;
}

TK_JFUNC(do_partition)
{
    tk_str by, s = self.as.s;
    tk_jlist *list;
    if (!tk_jargs_str(run, args, 0, &by) || !tk_jlist_new(run, &list, 3) ||
        !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    if (by.n == 0) {
        return tk_jrun_raise(run, "empty separator");
    }
    bool right = args->op == RIGHT;
    if (right && !tk_jrun_product(run, s.n, by.n)) {
        return false;
    }
    size_t at = right ? tk_jstr_rfind(s, by) : tk_jstr_find(s, by, 0);
    tk_str none = {"", 0};
    tk_str parts[3] = {right ? none : s, none, right ? s : none};
    if (at != SIZE_MAX) {
        parts[0] = (tk_str){s.p, at};
        parts[1] = by;
        parts[2] = (tk_str){s.p + at + by.n, s.n - at - by.n};
    }
    *out = tk_jval_list(list, TK_JT_TUPLE);
    return add_part(run, self, list, parts[0]) && add_part(run, self, list, parts[1]) &&
           add_part(run, self, list, parts[2]);
}

TK_JFUNC(do_remove)
{
    tk_str affix, s = self.as.s;
    if (!tk_jargs_str(run, args, 0, &affix) || !tk_jrun_bytes(run, affix.n)) {
        return false;
    }
    if (affix.n > 0 && ends_so(s, affix, args->op == LEFT)) {
        s.p += args->op == LEFT ? affix.n : 0;
        s.n -= affix.n;
    }
    return give(self, s, out);
}

/* ---- making ---- */

TK_JFUNC(do_replace)
{
    tk_str s = self.as.s, from, to;
    int64_t count;
    if (!tk_jargs_str(run, args, 0, &from) || !tk_jargs_str(run, args, 1, &to) ||
        !tk_jargs_int(run, args, 2, -1, &count) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    size_t at = 0;
    uint32_t code;
    while (count != 0) {
        size_t hit = tk_jstr_find(s, from, at);
        if (hit == SIZE_MAX) {
            break;
        }
        tk_buf_put(&buf, s.p + at, hit - at);
        tk_buf_put(&buf, to.p, to.n);
        at = hit + from.n;
        count--;
        if (from.n == 0) { /* between all characters */
            size_t k = tk_jstr_char(&code, (tk_str){s.p + at, s.n - at});
            if (k == 0) {
                at = s.n + 1;
                break;
            }
            tk_buf_put(&buf, s.p + at, k);
            at += k;
        }
    }
    if (at < s.n) {
        tk_buf_put(&buf, s.p + at, s.n - at);
    }
    bool ok = tk_jval_take(run, &buf, out);
    out->flag = ok ? self.flag : 0;
    return ok && tk_jrun_bytes(run, out->as.s.n);
}

TK_JFUNC(do_join)
{
    tk_jlist items;
    if (!tk_jval_iterate(run, *tk_jargs_at(args, 0), &items)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    bool ok = true;
    for (size_t i = 0; ok && i < items.n; i++) {
        if (items.items[i].type != TK_JT_STR) {
            ok = tk_jrun_raise(run, "sequence item %zu: expected str instance, %s found",
                               i, tk_jval_type_name(&items.items[i]));
            break;
        }
        if (i > 0) {
            tk_buf_put(&buf, self.as.s.p, self.as.s.n);
        }
        tk_buf_put(&buf, items.items[i].as.s.p, items.items[i].as.s.n);
        ok = tk_jrun_bytes(run, self.as.s.n + items.items[i].as.s.n + 16);
    }
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}

TK_JFUNC(do_pad)
{
    int64_t width;
    tk_str fill = TK_STR(" ");
    if (!tk_jargs_int(run, args, 0, 0, &width) ||
        (tk_jargs_at(args, 1) != NULL && !tk_jargs_str(run, args, 1, &fill))) {
        return false;
    }
    if (tk_jstr_count(fill) != 1) {
        return tk_jrun_raise(run,
                             "The fill character must be exactly one character long");
    }
    int64_t n = (int64_t)tk_jstr_count(self.as.s), pad = width > n ? width - n : 0;
    if ((uint64_t)pad > run->max_output) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "a text is too long");
    }
    int64_t left = args->op == LEFT    ? 0
                   : args->op == RIGHT ? pad
                                       : pad / 2 + (pad & width & 1);
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    for (int64_t i = 0; i <= pad; i++) {
        if (i == left) {
            tk_buf_put(&buf, self.as.s.p, self.as.s.n);
        }
        if (i < pad) {
            tk_buf_put(&buf, fill.p, fill.n);
        }
    }
    return tk_jval_take(run, &buf, out) && tk_jrun_bytes(run, out->as.s.n);
}

TK_JFUNC(do_zfill)
{
    int64_t width;
    tk_str s = self.as.s;
    if (!tk_jargs_int(run, args, 0, 0, &width)) {
        return false;
    }
    bool sign = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+');
    int64_t n = (int64_t)tk_jstr_count(s);
    if (width > (int64_t)run->max_output) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "a text is too long");
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_buf_put(&buf, s.p, sign);
    for (int64_t i = n; i < width; i++) {
        tk_buf_putc(&buf, '0');
    }
    tk_buf_put(&buf, s.p + sign, s.n - sign);
    return tk_jval_take(run, &buf, out) && tk_jrun_bytes(run, out->as.s.n);
}

/* ---- asking ---- */

static bool is_alnum(uint32_t c)
{
    return tk_jstr_is_alpha(c) || tk_jstr_is_numeric(c);
}

static bool is_blank(uint32_t c)
{
    char utf8[4] = {0};
    size_t n = tk_utf8_encode(utf8, c);
    return tk_jstr_space(utf8, n) > 0;
}

TK_JFUNC(do_is)
{
    tk_str s = self.as.s;
    bool (*const kinds[])(uint32_t) = {tk_jstr_is_digit, tk_jstr_is_alpha, is_alnum,
                                       is_blank, tk_jstr_is_numeric};
    bool holds = s.n > 0;
    uint32_t code;
    for (size_t k; holds && (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        holds = kinds[args->op](code);
    }
    *out = tk_jval_bool(holds);
    return tk_jrun_bytes(run, self.as.s.n);
}

TK_JFUNC(do_is_case)
{
    *out = tk_jval_bool(tk_jstr_is_case(self.as.s, args->op == 'u'));
    return tk_jrun_bytes(run, self.as.s.n);
}

const tk_jfunc tk_jmethods_str[] = {
    {"strip", "", do_strip, 0, 1, LEFT | RIGHT},
    {"lstrip", "", do_strip, 0, 1, LEFT},
    {"rstrip", "", do_strip, 0, 1, RIGHT},
    {"split", "sep maxsplit", do_split, 0, 2, LEFT},
    {"rsplit", "sep maxsplit", do_split, 0, 2, RIGHT},
    {"splitlines", "keepends", do_splitlines, 0, 1, 0},
    {"startswith", "", do_ends, 1, 3, LEFT},
    {"endswith", "", do_ends, 1, 3, RIGHT},
    {"replace", "", do_replace, 2, 3, 0},
    {"join", "", do_join, 1, 1, 0},
    {"lower", "", do_case, 0, 0, TK_JSTR_LOWER},
    {"casefold", "", do_case, 0, 0, TK_JSTR_FOLD},
    {"upper", "", do_case, 0, 0, TK_JSTR_UPPER},
    {"title", "", do_case, 0, 0, TK_JSTR_TITLE},
    {"capitalize", "", do_case, 0, 0, TK_JSTR_CAPITALIZE},
    {"swapcase", "", do_case, 0, 0, TK_JSTR_SWAP},
    {"find", "", do_find, 1, 3, FIND},
    {"rfind", "", do_find, 1, 3, RFIND},
    {"index", "", do_find, 1, 3, INDEX},
    {"rindex", "", do_find, 1, 3, RINDEX},
    {"count", "", do_count, 1, 3, 0},
    {"partition", "", do_partition, 1, 1, LEFT},
    {"rpartition", "", do_partition, 1, 1, RIGHT},
    {"removeprefix", "", do_remove, 1, 1, LEFT},
    {"removesuffix", "", do_remove, 1, 1, RIGHT},
    {"format", "", tk_jmethod_format, 0, -1, 0},
    {"center", "", do_pad, 1, 2, LEFT | RIGHT},
    {"ljust", "", do_pad, 1, 2, LEFT},
    {"rjust", "", do_pad, 1, 2, RIGHT},
    {"zfill", "", do_zfill, 1, 1, 0},
    {"isdigit", "", do_is, 0, 0, 0},
    {"isalpha", "", do_is, 0, 0, 1},
    {"isalnum", "", do_is, 0, 0, 2},
    {"isspace", "", do_is, 0, 0, 3},
    {"isnumeric", "", do_is, 0, 0, 4},
    {"isupper", "", do_is_case, 0, 0, 'u'},
    {"islower", "", do_is_case, 0, 0, 'l'},
    {"encode", "", NULL, 0, -1, 0},
    {"expandtabs", "", NULL, 0, -1, 0},
    {"format_map", "", NULL, 0, -1, 0},
    {"isascii", "", NULL, 0, -1, 0},
    {"isdecimal", "", NULL, 0, -1, 0},
    {"isidentifier", "", NULL, 0, -1, 0},
    {"isprintable", "", NULL, 0, -1, 0},
    {"istitle", "", NULL, 0, -1, 0},
    {"maketrans", "", NULL, 0, -1, 0},
    {"translate", "", NULL, 0, -1, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
