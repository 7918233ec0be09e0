/* Text of values: str() and repr() as Python writes them, and the filter tojson, which
 * writes JSON as json.dumps does with the arguments that transformers gives it. Depth is
 * bounded by tk_jrun_enter. */
#include <math.h>
#include <string.h>

#include "base/json_num.h"
#include "text/jinja/jinja_run.h"

static void put_double(tk_buf *out, double value, bool is_json)
{
    if (isnan(value)) {
        tk_buf_puts(out, is_json ? "NaN" : "nan");
    } else if (isinf(value)) {
        tk_buf_puts(out, value < 0 ? "-" : "");
        tk_buf_puts(out, is_json ? "Infinity" : "inf");
    } else {
        char room[TK_JSON_NUM_BYTES];
        tk_buf_put(out, room, tk_json_num_put_double(room, value));
    }
}

static void put_int(tk_buf *out, int64_t value)
{
    char room[TK_JSON_NUM_BYTES];
    tk_buf_put(out, room, tk_json_num_put_i64(room, value));
}

static bool put_items(tk_jrun *run, tk_buf *out, const tk_jlist *list)
{
    for (size_t i = 0; i < list->n; i++) {
        tk_buf_puts(out, i > 0 ? ", " : "");
        if (!tk_jval_put_repr(run, out, &list->items[i])) {
            return false;
        }
    }
    return true;
}

static bool put_dict(tk_jrun *run, tk_buf *out, const tk_jdict *dict)
{
    tk_buf_putc(out, '{');
    for (size_t i = 0; i < dict->n; i++) {
        tk_buf_puts(out, i > 0 ? ", " : "");
        if (!tk_jval_put_repr(run, out, &dict->entries[i].key)) {
            return false;
        }
        tk_buf_puts(out, ": ");
        if (!tk_jval_put_repr(run, out, &dict->entries[i].value)) {
            return false;
        }
    }
    tk_buf_putc(out, '}');
    return true;
}

static bool put_view(tk_jrun *run, tk_buf *out, tk_jval value)
{
    char what = value.as.view->what;
    tk_buf_puts(out, what == 'i'   ? "dict_items(["
                     : what == 'k' ? "dict_keys(["
                                   : "dict_values([");
    tk_jlist items;
    if (!tk_jval_iterate(run, value, &items) || !put_items(run, out, &items)) {
        return false;
    }
    tk_buf_puts(out, "])");
    return true;
}

static bool put_sequence(tk_jrun *run, tk_buf *out, const tk_jval *value)
{
    bool is_list = value->type == TK_JT_LIST;
    tk_buf_putc(out, is_list ? '[' : '(');
    if (!put_items(run, out, value->as.list)) {
        return false;
    }
    tk_buf_puts(out, is_list ? "]" : value->as.list->n == 1 ? ",)" : ")");
    return true;
}

static void put_range(tk_buf *out, const tk_jrange *range)
{
    tk_buf_puts(out, "range(");
    put_int(out, range->start);
    tk_buf_puts(out, ", ");
    put_int(out, range->stop);
    if (range->step != 1) {
        tk_buf_puts(out, ", ");
        put_int(out, range->step);
    }
    tk_buf_putc(out, ')');
}

/* All but strings, which str() and repr() treat differently. */
static bool put_other(tk_jrun *run, tk_buf *out, const tk_jval *value)
{
    switch (value->type) {
    case TK_JT_NONE:
        tk_buf_puts(out, "None");
        return true;
    case TK_JT_BOOL:
        tk_buf_puts(out, value->as.b ? "True" : "False");
        return true;
    case TK_JT_INT:
        put_int(out, value->as.i);
        return true;
    case TK_JT_FLOAT:
        put_double(out, value->as.f, false);
        return true;
    case TK_JT_LIST:
    case TK_JT_TUPLE:
        return put_sequence(run, out, value);
    case TK_JT_DICT:
        return put_dict(run, out, value->as.dict);
    case TK_JT_NAMESPACE:
        tk_buf_puts(out, "<Namespace ");
        if (!put_dict(run, out, value->as.dict)) {
            return false;
        }
        tk_buf_putc(out, '>');
        return true;
    case TK_JT_VIEW:
        return put_view(run, out, *value);
    case TK_JT_RANGE:
        put_range(out, value->as.range);
        return true;
    case TK_JT_LOOP:
        tk_buf_printf(out, "<LoopContext %zu/%zu>", value->as.loop->at + 1,
                      value->as.loop->n);
        return true;
    case TK_JT_MACRO:
        tk_buf_printf(out, "<Macro '" TK_STR_FMT "'>", TK_STR_ARG(value->as.macro->name));
        return true;
    case TK_JT_UNDEFINED:
    case TK_JT_STR:
    case TK_JT_FUNC:
    case TK_JT_METHOD:
    case TK_JT_ITER:
    case TK_JT_CYCLER:
        break;
    }
    tk_buf_printf(out, "<%s object>", tk_jval_type_name(value));
    return true;
}

bool tk_jval_put_repr(tk_jrun *run, tk_buf *out, const tk_jval *value)
{
    bool ok = tk_jrun_enter(run);
    if (ok && value->type == TK_JT_STR) {
        ok = tk_jrun_bytes(run, value->as.s.n);
        if (ok && value->flag != 0) {
            tk_buf_puts(out, "Markup(");
        }
        tk_jstr_put_repr(out, value->as.s);
        if (ok && value->flag != 0) {
            tk_buf_putc(out, ')');
        }
    } else if (ok && value->type == TK_JT_UNDEFINED) {
        tk_buf_puts(out, "Undefined");
    } else if (ok) {
        ok = put_other(run, out, value);
    }
    tk_jrun_leave(run);
    return ok;
}

bool tk_jval_put(tk_jrun *run, tk_buf *out, const tk_jval *value)
{
    if (value->type == TK_JT_STR) {
        tk_buf_put(out, value->as.s.p, value->as.s.n);
        return tk_jrun_bytes(run, value->as.s.n);
    }
    if (value->type == TK_JT_UNDEFINED) {
        return true;
    }
    bool ok = tk_jrun_enter(run) && put_other(run, out, value);
    tk_jrun_leave(run);
    return ok;
}

bool tk_jval_to_str(tk_jrun *run, const tk_jval *value, tk_str *out)
{
    if (value->type == TK_JT_STR) {
        *out = value->as.s;
        return true;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_jval text;
    if (!tk_jval_put(run, &buf, value)) {
        tk_buf_dispose(&buf);
        return false;
    }
    if (!tk_jval_take(run, &buf, &text)) {
        return false;
    }
    *out = text.as.s;
    return true;
}

/* ---- JSON ---- */

typedef struct dumper {
    tk_jrun *run;
    tk_buf *out;
    bool ascii, sort;
    bool has_indent;
    tk_str indent;    /* of one level */
    tk_str item, key; /* separators */
    size_t level;
} dumper;

static bool dump(dumper *d, const tk_jval *value);

static void dump_u(tk_buf *out, uint32_t code)
{
    if (code >= 0x10000) {
        code -= 0x10000;
        tk_buf_printf(out, "\\u%04x\\u%04x", 0xd800U + (unsigned)(code >> 10),
                      0xdc00U + (unsigned)(code & 0x3ff));
    } else {
        tk_buf_printf(out, "\\u%04x", (unsigned)code);
    }
}

static bool dump_str(dumper *d, tk_str s)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    tk_buf_putc(d->out, '"');
    bool ok = tk_jrun_bytes(d->run, s.n);
    uint32_t code;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        const char *hit = code > 0 && code < 0x80 ? strchr(from, (int)code) : NULL;
        if (hit != NULL) {
            tk_buf_putc(d->out, '\\');
            tk_buf_putc(d->out, to[hit - from]);
        } else if (code < ' ' || (d->ascii && code > 0x7e)) {
            dump_u(d->out, code);
        } else {
            tk_buf_put(d->out, s.p, k);
        }
    }
    tk_buf_putc(d->out, '"');
    return ok;
}

static void dump_line(dumper *d)
{
    if (d->has_indent) {
        tk_buf_putc(d->out, '\n');
        for (size_t i = 0; i < d->level && d->indent.n > 0; i++) {
            tk_buf_put(d->out, d->indent.p, d->indent.n);
        }
    }
}

static bool dump_key(dumper *d, const tk_jval *key)
{
    if (key->type == TK_JT_STR) {
        return dump_str(d, key->as.s);
    }
    if (tk_jval_is_number(key) || key->type == TK_JT_NONE) {
        tk_buf_putc(d->out, '"');
        bool ok = dump(d, key);
        tk_buf_putc(d->out, '"');
        return ok;
    }
    return tk_jrun_raise(d->run, "keys must be str, int, float, bool or None, not %s",
                         tk_jval_type_name(key));
}

/* Entries by key: an insertion sort is enough for what templates sort, and is paid
 * for. */
static bool sort_entries(tk_jrun *run, const tk_jdict *dict, tk_jentry **out)
{
    tk_jentry *sorted = tk_jrun_alloc(run, dict->n + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < dict->n; i++) {
        size_t at = i;
        for (; at > 0; at--) {
            int order = 0;
            if (!tk_jval_compare(run, &dict->entries[i].key, &sorted[at - 1].key,
                                 &order)) {
                return false;
            }
            if (order >= 0) {
                break;
            }
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = dict->entries[i];
    }
    *out = sorted;
    return true;
}

static bool dump_dict(dumper *d, const tk_jdict *dict)
{
    tk_jentry *entries = dict->entries;
    if (d->sort && !sort_entries(d->run, dict, &entries)) {
        return false;
    }
    tk_buf_putc(d->out, '{');
    d->level++;
    for (size_t i = 0; i < dict->n; i++) {
        if (i > 0) {
            tk_buf_put(d->out, d->item.p, d->item.n);
        }
        dump_line(d);
        if (!dump_key(d, &entries[i].key)) {
            return false;
        }
        tk_buf_put(d->out, d->key.p, d->key.n);
        if (!dump(d, &entries[i].value)) {
            return false;
        }
    }
    d->level--;
    if (dict->n > 0) {
        dump_line(d);
    }
    tk_buf_putc(d->out, '}');
    return true;
}

static bool dump_list(dumper *d, const tk_jlist *list)
{
    tk_buf_putc(d->out, '[');
    d->level++;
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0) {
            tk_buf_put(d->out, d->item.p, d->item.n);
        }
        dump_line(d);
        if (!dump(d, &list->items[i])) {
            return false;
        }
    }
    d->level--;
    if (list->n > 0) {
        dump_line(d);
    }
    tk_buf_putc(d->out, ']');
    return true;
}

static bool dump_inside(dumper *d, const tk_jval *value)
{
    if (value->type == TK_JT_STR) {
        return dump_str(d, value->as.s);
    }
    if (value->type == TK_JT_NONE || value->type == TK_JT_BOOL) {
        tk_buf_puts(d->out, value->type == TK_JT_NONE ? "null"
                            : value->as.b             ? "true"
                                                      : "false");
        return true;
    }
    if (value->type == TK_JT_INT) {
        put_int(d->out, value->as.i);
        return true;
    }
    if (value->type == TK_JT_FLOAT) {
        put_double(d->out, value->as.f, true);
        return true;
    }
    if (value->type == TK_JT_LIST || value->type == TK_JT_TUPLE) {
        return dump_list(d, value->as.list);
    }
    if (value->type == TK_JT_DICT) {
        return dump_dict(d, value->as.dict);
    }
    return tk_jrun_raise(d->run, "Object of type %s is not JSON serializable",
                         tk_jval_type_name(value));
}

static bool dump(dumper *d, const tk_jval *value)
{
    bool ok = tk_jrun_enter(d->run) && dump_inside(d, value);
    tk_jrun_leave(d->run);
    return ok;
}

static bool separators_of(tk_jrun *run, const tk_jval *value, dumper *d)
{
    tk_jlist two;
    if (!tk_jval_iterate(run, *value, &two)) {
        return false;
    }
    if (two.n != 2 || two.items[0].type != TK_JT_STR || two.items[1].type != TK_JT_STR) {
        return tk_jrun_raise(run, "separators must be two strings");
    }
    d->item = two.items[0].as.s;
    d->key = two.items[1].as.s;
    return true;
}

static bool indent_of(tk_jrun *run, const tk_jval *value, dumper *d)
{
    int64_t n = 0;
    d->has_indent = true;
    d->item = TK_STR(",");
    if (value->type == TK_JT_STR) {
        d->indent = value->as.s;
        return true;
    }
    if (!tk_jval_as_int(value, &n)) {
        return tk_jrun_raise(run, "can't multiply sequence by non-int of type '%s'",
                             tk_jval_type_name(value));
    }
    static const char blanks[] =
        "                                                        ";
    if (n > (int64_t)sizeof(blanks) - 1) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "tojson: indent is too large");
    }
    d->indent = (tk_str){blanks, n > 0 ? (size_t)n : 0};
    return true;
}

bool tk_jfilter_tojson(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out)
{
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    dumper d = {.run = run,
                .out = &buf,
                .ascii = tk_jargs_bool(args, 0, false),
                .sort = tk_jargs_bool(args, 3, false),
                .item = TK_STR(", "),
                .key = TK_STR(": ")};
    const tk_jval *indent = tk_jargs_at(args, 1), *separators = tk_jargs_at(args, 2);
    bool ok =
        (indent == NULL || indent->type == TK_JT_NONE || indent_of(run, indent, &d)) &&
        (separators == NULL || separators->type == TK_JT_NONE ||
         separators_of(run, separators, &d)) &&
        dump(&d, &self);
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}
