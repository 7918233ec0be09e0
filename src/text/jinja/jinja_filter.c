/* Filters on text and single values, and the table of all filters by name. What jinja2
 * has and templates for chats do not use (urlize, wordwrap ...) is known by name only. */
#include <string.h>

#include "text/jinja/jinja_run.h"

/* ---- text ---- */

enum { CASE_LOWER, CASE_UPPER, CASE_CAPITALIZE };

TK_JFUNC(do_case)
{
    static const tk_jstr_case how[] = {TK_JSTR_LOWER, TK_JSTR_UPPER, TK_JSTR_CAPITALIZE};
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jstr_put_case(&buf, s, how[args->op]);
    bool ok = tk_jval_take(run, &buf, out);
    out->flag = ok && self.type == TK_JT_STR ? self.flag : 0;
    return ok;
}

/* Words start after blanks and ( { [ < -. */
TK_JFUNC(do_title)
{
    (void)args;
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    bool starts = true;
    uint32_t code;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        bool is_gap = tk_jstr_space(s.p, s.n) > 0 ||
                      (code < 0x80 && code > 0 && strchr("-({[<", (int)code) != NULL);
        tk_jstr_put_case(&buf, (tk_str){s.p, k}, starts ? TK_JSTR_UPPER : TK_JSTR_LOWER);
        starts = is_gap;
    }
    return tk_jval_take(run, &buf, out);
}

TK_JFUNC(do_trim)
{
    tk_str s, set;
    const tk_jval *chars = tk_jargs_at(args, 0);
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    if (chars == NULL || chars->type == TK_JT_NONE) {
        s = tk_jstr_rstrip(tk_jstr_lstrip(s));
    } else if (!tk_jargs_str(run, args, 0, &set) || !tk_jrun_product(run, s.n, set.n)) {
        return false;
    } else {
        s = tk_jstr_rstrip_set(tk_jstr_lstrip_set(s, set), set);
    }
    *out = tk_jval_str(s);
    out->flag = self.type == TK_JT_STR ? self.flag : 0;
    return true;
}

TK_JFUNC(do_string)
{
    (void)args;
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s)) {
        return false;
    }
    *out = tk_jval_str(s);
    out->flag = self.type == TK_JT_STR ? self.flag : 0;
    return true;
}

enum { MARK_SAFE, MARK_ESCAPE, MARK_FORCE };

TK_JFUNC(do_markup)
{
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s)) {
        return false;
    }
    bool is_safe = self.type == TK_JT_STR && self.flag != 0;
    *out = tk_jval_str(s);
    if (args->op == MARK_FORCE || (args->op == MARK_ESCAPE && !is_safe)) {
        tk_buf buf;
        tk_buf_init(&buf, run->max_output);
        tk_jstr_put_escaped(&buf, s);
        if (!tk_jval_take(run, &buf, out)) {
            return false;
        }
    }
    out->flag = 1;
    return true;
}

TK_JFUNC(do_replace)
{
    tk_str s, from, to;
    int64_t count;
    const tk_jval *limit = tk_jargs_at(args, 2);
    if (!tk_jval_to_str(run, &self, &s) ||
        !tk_jval_to_str(run, tk_jargs_at(args, 0), &from) ||
        !tk_jval_to_str(run, tk_jargs_at(args, 1), &to)) {
        return false;
    }
    if (limit == NULL || limit->type == TK_JT_NONE) {
        count = -1;
    } else if (!tk_jargs_int(run, args, 2, -1, &count)) {
        return false;
    }
    tk_jval items[3] = {tk_jval_str(from), tk_jval_str(to), tk_jval_int(count)};
    tk_jargs placed = {.items = items, .n = 3};
    bool is_unsafe;
    const tk_jfunc *method =
        tk_jinja_find_method(TK_JT_STR, TK_STR("replace"), &is_unsafe);
    return method->call(run, tk_jval_str(s), &placed, out);
}

TK_JFUNC(do_indent)
{
    tk_str s, unit = TK_STR(" ");
    int64_t width = 4;
    const tk_jval *how = tk_jargs_at(args, 0);
    bool first = tk_jargs_bool(args, 1, false), blank = tk_jargs_bool(args, 2, false);
    if (self.type != TK_JT_STR) {
        return tk_jrun_raise(run, "unsupported operand type(s) for +=: '%s' and 'str'",
                             tk_jval_type_name(&self));
    }
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    if (how != NULL && how->type == TK_JT_STR) {
        unit = how->as.s;
        width = 1;
    } else if (!tk_jargs_int(run, args, 0, 4, &width)) {
        return false;
    }
    if (width > 1000) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "indent: width is too large");
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    for (bool is_first = true, more = true; more; is_first = false) {
        size_t n = 0, end = 0;
        uint32_t code;
        while (n < s.n && (end = tk_jstr_line_end((tk_str){s.p + n, s.n - n})) == 0) {
            n += tk_jstr_char(&code, (tk_str){s.p + n, s.n - n});
        }
        bool indents = is_first ? first : n > 0 || blank;
        for (int64_t k = 0; indents && k < width; k++) {
            tk_buf_put(&buf, unit.p, unit.n);
        }
        tk_buf_put(&buf, s.p, n);
        tk_buf_puts(&buf, end > 0 ? "\n" : "");
        s = (tk_str){s.p + n + end, s.n - n - end};
        more = end > 0;
    }
    bool ok = tk_jval_take(run, &buf, out) && tk_jrun_bytes(run, out->as.s.n);
    out->flag = ok ? self.flag : 0;
    return ok;
}

TK_JFUNC(do_format)
{
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s)) {
        return false;
    }
    tk_jval values;
    if (args->n_named > 0) {
        tk_jdict dict = {
            .entries = args->named, .n = args->n_named, .cap = args->n_named};
        values = (tk_jval){.type = TK_JT_DICT, .as.dict = &dict};
        return tk_jval_percent(run, s, values, out);
    }
    tk_jlist list = {.items = args->items, .n = args->n, .cap = args->n};
    values = tk_jval_list(&list, TK_JT_TUPLE);
    return tk_jval_percent(run, s, values, out);
}

TK_JFUNC(do_center)
{
    tk_jval items[1];
    int64_t width;
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jargs_int(run, args, 0, 80, &width)) {
        return false;
    }
    items[0] = tk_jval_int(width);
    tk_jargs placed = {.items = items, .n = 1};
    bool is_unsafe;
    const tk_jfunc *method =
        tk_jinja_find_method(TK_JT_STR, TK_STR("center"), &is_unsafe);
    placed.op = method->op;
    return method->call(run, tk_jval_str(s), &placed, out);
}

TK_JFUNC(do_wordcount)
{
    (void)args;
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    int64_t words = 0;
    bool inside = false;
    uint32_t code;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        bool is_word = tk_jstr_is_alpha(code) || tk_jstr_is_numeric(code) || code == '_';
        words += is_word && !inside;
        inside = is_word;
    }
    *out = tk_jval_int(words);
    return true;
}

TK_JFUNC(do_truncate)
{
    tk_str s, end = TK_STR("...");
    int64_t length, leeway;
    const tk_jval *tail = tk_jargs_at(args, 2);
    bool kill = tk_jargs_bool(args, 1, false);
    int64_t n = tk_jval_length(&self);
    if (n < 0) {
        return tk_jrun_raise(run, "object of type '%s' has no len()",
                             tk_jval_type_name(&self));
    }
    if (!tk_jval_to_str(run, &self, &s) || !tk_jargs_int(run, args, 0, 255, &length) ||
        !tk_jargs_int(run, args, 3, 5, &leeway) ||
        (tail != NULL && !tk_jval_to_str(run, tail, &end)) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    int64_t n_end = (int64_t)tk_jstr_count(end);
    if (length < n_end || leeway < 0) {
        return tk_jrun_raise(run, "expected length >= %lld, got %lld", (long long)n_end,
                             (long long)length);
    }
    *out = self;
    if (n - leeway <= length) {
        return true;
    }
    if (self.type != TK_JT_STR) {
        return tk_jrun_raise(run, "'%s' object cannot be truncated",
                             tk_jval_type_name(&self));
    }
    tk_str cut = {s.p, tk_jstr_offset(s, (size_t)(length - n_end))};
    size_t blank = kill ? SIZE_MAX : tk_jstr_rfind(cut, TK_STR(" "));
    if (blank != SIZE_MAX) {
        cut.n = blank;
    }
    return tk_jval_concat(run, cut, end, out);
}

TK_JFUNC(do_urlencode)
{
    (void)args;
    if (self.type == TK_JT_UNDEFINED || self.type >= TK_JT_LIST) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "urlencode of a collection");
    }
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c | 0x20U) - 'a' < 26U || c - (unsigned)'0' < 10U ||
                     (c != 0 && strchr("_.-~/", c) != NULL);
        if (plain) {
            tk_buf_putc(&buf, (char)c);
        } else {
            tk_buf_printf(&buf, "%%%02X", c);
        }
    }
    return tk_jval_take(run, &buf, out);
}

/* ---- values ---- */

TK_JFUNC(do_default)
{
    const tk_jval *value = tk_jargs_at(args, 0);
    bool falsy_too = tk_jargs_bool(args, 1, false);
    (void)run;
    bool is_missing =
        self.type == TK_JT_UNDEFINED || (falsy_too && !tk_jval_truth(&self));
    *out = !is_missing ? self : value != NULL ? *value : tk_jval_str(TK_STR(""));
    return true;
}

TK_JFUNC(do_attr)
{
    tk_str name;
    if (!tk_jval_to_str(run, tk_jargs_at(args, 0), &name)) {
        return false;
    }
    if (self.type == TK_JT_DICT) { /* attributes only, never items */
        bool is_unsafe = false;
        if (tk_jinja_find_method(TK_JT_DICT, name, &is_unsafe) == NULL) {
            *out = tk_jval_undef(name, TK_JU_OBJECT + TK_JT_DICT);
            return true;
        }
    }
    return tk_jval_attr(run, self, name, out);
}

TK_JFUNC(do_from_json)
{
    (void)args;
    if (run->job->strict) {
        return tk_jrun_raise(run, "No filter named 'from_json' found.");
    }
    tk_str text;
    const tk_json *json = NULL;
    if (!tk_jval_to_str(run, &self, &text) || !tk_jrun_bytes(run, text.n)) {
        return false;
    }
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&json, &run->arena, text.p != NULL ? text.p : "", text.n,
                      TK_JSON_AS_WRITTEN, &err) != TINKC_OK) {
        return tk_jrun_fail(run, err.code == TINKC_E_PARSE ? TINKC_E_INVALID : err.code,
                            "from_json: %s", err.message);
    }
    return tk_jval_of_json(run, json, out);
}

static const tk_jfunc filters[] = {
    {"tojson", "ensure_ascii indent separators sort_keys", tk_jfilter_tojson, 0, 4, 0},
    {"trim", "chars", do_trim, 0, 1, 0},
    {"string", "", do_string, 0, 0, 0},
    {"lower", "", do_case, 0, 0, CASE_LOWER},
    {"upper", "", do_case, 0, 0, CASE_UPPER},
    {"capitalize", "", do_case, 0, 0, CASE_CAPITALIZE},
    {"title", "", do_title, 0, 0, 0},
    {"replace", "old new count", do_replace, 2, 3, 0},
    {"default", "default_value boolean", do_default, 0, 2, 0},
    {"d", "default_value boolean", do_default, 0, 2, 0},
    {"safe", "", do_markup, 0, 0, MARK_SAFE},
    {"escape", "", do_markup, 0, 0, MARK_ESCAPE},
    {"e", "", do_markup, 0, 0, MARK_ESCAPE},
    {"forceescape", "", do_markup, 0, 0, MARK_FORCE},
    {"indent", "width first blank", do_indent, 0, 3, 0},
    {"format", "", do_format, 0, -1, 0},
    {"center", "width", do_center, 0, 1, 0},
    {"wordcount", "", do_wordcount, 0, 0, 0},
    {"truncate", "length killwords end leeway", do_truncate, 0, 4, 0},
    {"urlencode", "", do_urlencode, 0, 0, 0},
    {"attr", "name", do_attr, 1, 1, 0},
    {"filesizeformat", "", NULL, 0, -1, 0},
    {"pprint", "", NULL, 0, -1, 0},
    {"random", "", NULL, 0, -1, 0},
    {"striptags", "", NULL, 0, -1, 0},
    {"urlize", "", NULL, 0, -1, 0},
    {"wordwrap", "", NULL, 0, -1, 0},
    {"xmlattr", "", NULL, 0, -1, 0},
};

const void *tk_jinja_find_filter(tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(filters); i++) {
        if (tk_str_is(name, filters[i].name)) {
            return &filters[i];
        }
    }
    static const tk_jfunc *const more[] = {tk_jfilters_seq, tk_jfilters_sort,
                                           tk_jfilters_number};
    for (size_t i = 0; i < TK_ARRAY_LEN(more); i++) {
        for (const tk_jfunc *f = more[i]; f->name != NULL; f++) {
            if (tk_str_is(name, f->name)) {
                return f;
            }
        }
    }
    return NULL;
}

bool tk_jinja_filter(tk_jrun *run, tk_str name, tk_jval self, const tk_jargs *args,
                     tk_jval *out)
{
    static const tk_jfunc from_json = {"from_json", "", do_from_json, 0, 0, 0};
    const tk_jfunc *filter = tk_jinja_find_filter(name);
    if (filter == NULL && tk_str_is(name, "from_json")) {
        filter = &from_json;
    }
    if (filter == NULL) {
        return tk_jrun_raise(run, "No filter named '" TK_STR_FMT "' found.",
                             TK_STR_ARG(name));
    }
    return tk_jfunc_call(run, filter, self, args, out);
}
