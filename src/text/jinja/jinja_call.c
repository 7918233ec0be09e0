/* Calls: argument matching, macros, and the global functions of the environment. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/date.h"
#include "text/jinja/jinja_run.h"

#define MAX_PARAMS 8

/* ---- arguments ---- */

const tk_jval *tk_jargs_at(const tk_jargs *args, size_t index)
{
    /* The flag marks a gap before a keyword argument. */
    bool is_given = index < args->n && args->items[index].flag != UINT32_MAX;
    return is_given ? &args->items[index] : NULL;
}

bool tk_jargs_bool(const tk_jargs *args, size_t index, bool fallback)
{
    const tk_jval *value = tk_jargs_at(args, index);
    return value != NULL ? tk_jval_truth(value) : fallback;
}

bool tk_jargs_int(tk_jrun *run, const tk_jargs *args, size_t index, int64_t fallback,
                  int64_t *out)
{
    const tk_jval *value = tk_jargs_at(args, index);
    *out = fallback;
    if (value == NULL || tk_jval_as_int(value, out)) {
        return true;
    }
    return tk_jrun_raise(run, "'%s' object cannot be interpreted as an integer",
                         tk_jval_type_name(value));
}

bool tk_jargs_str(tk_jrun *run, const tk_jargs *args, size_t index, tk_str *out)
{
    const tk_jval *value = tk_jargs_at(args, index);
    if (value == NULL || value->type != TK_JT_STR) {
        return tk_jrun_raise(run, "argument must be str, not %s",
                             value != NULL ? tk_jval_type_name(value) : "missing");
    }
    *out = value->as.s;
    return true;
}

/* Puts keyword arguments in their places. */
static bool place_named(tk_jrun *run, const tk_jfunc *func, const tk_jargs *args,
                        tk_jval *items, size_t *n)
{
    for (size_t i = 0; i < args->n_named; i++) {
        tk_str want = args->named[i].key.as.s, rest = tk_str_of(func->params);
        size_t at = 0;
        bool found = false;
        while (rest.p != NULL && rest.n > 0 && !found) {
            found = tk_str_eq(tk_str_cut(&rest, ' '), want);
            at += !found;
        }
        if (!found || at >= MAX_PARAMS) {
            return tk_jrun_raise(
                run, "%s() got an unexpected keyword argument '" TK_STR_FMT "'",
                func->name, TK_STR_ARG(want));
        }
        if (at < args->n) {
            return tk_jrun_raise(run,
                                 "%s() got multiple values for argument '" TK_STR_FMT "'",
                                 func->name, TK_STR_ARG(want));
        }
        while (*n < at) {
            items[(*n)++] = (tk_jval){.type = TK_JT_UNDEFINED, .flag = UINT32_MAX};
        }
        items[at] = args->named[i].value;
        *n = TK_MAX(*n, at + 1);
    }
    return true;
}

bool tk_jfunc_call(tk_jrun *run, const tk_jfunc *func, tk_jval self, const tk_jargs *args,
                   tk_jval *out)
{
    if (!tk_jrun_step(run, 1)) {
        return false;
    }
    if (func->call == NULL) {
        return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "%s is not supported", func->name);
    }
    if (func->max < 0) {
        return func->call(run, self, args, out);
    }
    tk_jval items[MAX_PARAMS];
    size_t n = args->n;
    if (n > (size_t)func->max) {
        return tk_jrun_raise(run, "%s() takes at most %d arguments (%zu given)",
                             func->name, func->max, n);
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = args->items[i];
    }
    if (!place_named(run, func, args, items, &n)) {
        return false;
    }
    tk_jargs placed = {.items = items, .n = n};
    for (int i = 0; i < func->min; i++) {
        if (tk_jargs_at(&placed, (size_t)i) == NULL) {
            return tk_jrun_raise(run, "%s() is missing a required argument", func->name);
        }
    }
    placed.op = func->op;
    return func->call(run, self, &placed, out);
}

/* ---- macros ---- */

static const tk_jval *named_arg(const tk_jargs *args, tk_str name)
{
    for (size_t i = 0; i < args->n_named; i++) {
        if (tk_str_eq(args->named[i].key.as.s, name)) {
            return &args->named[i].value;
        }
    }
    return NULL;
}

static bool bind_param(tk_jrun *run, tk_jscope *scope, const tk_jnode *param,
                       const tk_jval *given)
{
    if (given != NULL) {
        return tk_jscope_set(run, scope, param->text, *given);
    }
    if (param->a == NULL) {
        return tk_jscope_set(run, scope, param->text,
                             tk_jval_undef(param->text, TK_JU_PARAM));
    }
    tk_jval value;
    tk_jscope *outer = run->scope;
    run->scope = scope;
    bool ok = tk_jscope_hide(run, scope, &param->text, 1) &&
              tk_jinja_eval(run, param->a, &value);
    run->scope = outer;
    return ok && tk_jscope_set(run, scope, param->text, value);
}

static bool is_param(const tk_jnode *node, tk_str name)
{
    for (const tk_jnode *param = node->list; param != NULL; param = param->next) {
        if (tk_str_eq(param->text, name)) {
            return true;
        }
    }
    return false;
}

static bool bind_rest(tk_jrun *run, tk_jscope *scope, const tk_jmacro *macro,
                      const tk_jargs *args, size_t n_params)
{
    const tk_jnode *node = macro->node;
    if (node->flag) {
        tk_jlist *rest;
        if (!tk_jlist_new(run, &rest, 0)) {
            return false;
        }
        for (size_t i = n_params; i < args->n; i++) {
            if (!tk_jlist_add(run, rest, args->items[i])) {
                return false;
            }
        }
        if (!tk_jscope_set(run, scope, run->tpl->varargs,
                           tk_jval_list(rest, TK_JT_TUPLE))) {
            return false;
        }
    } else if (args->n > n_params) {
        return tk_jrun_raise(run,
                             "macro '" TK_STR_FMT "' takes not more than %zu argument(s)",
                             TK_STR_ARG(macro->name), n_params);
    }
    tk_jdict *named;
    if (!tk_jdict_new(run, &named)) {
        return false;
    }
    for (size_t i = 0; i < args->n_named; i++) {
        tk_jval key = args->named[i].key;
        if (!tk_jrun_step(run, 1 + n_params / 8)) {
            return false;
        }
        if (is_param(node, key.as.s) ||
            (node->uses_caller && tk_str_is(key.as.s, "caller"))) {
            continue;
        }
        if (!node->uses_kwargs) {
            return tk_jrun_raise(
                run, "macro '" TK_STR_FMT "' takes no keyword argument '" TK_STR_FMT "'",
                TK_STR_ARG(macro->name), TK_STR_ARG(key.as.s));
        }
        if (!tk_jdict_put(run, named, key, args->named[i].value)) {
            return false;
        }
    }
    return !node->uses_kwargs ||
           tk_jscope_set(run, scope, run->tpl->kwargs,
                         (tk_jval){.type = TK_JT_DICT, .as.dict = named});
}

static bool bind_all(tk_jrun *run, tk_jscope *scope, const tk_jmacro *macro,
                     const tk_jargs *args)
{
    size_t i = 0;
    for (const tk_jnode *param = macro->node->list; param != NULL; param = param->next) {
        const tk_jval *named = named_arg(args, param->text);
        if (!tk_jrun_step(run, 1 + args->n_named / 8)) {
            return false;
        }
        if (i < args->n && named != NULL) {
            return tk_jrun_raise(run,
                                 "macro '" TK_STR_FMT
                                 "' got multiple values for argument '" TK_STR_FMT "'",
                                 TK_STR_ARG(macro->name), TK_STR_ARG(param->text));
        }
        if (!bind_param(run, scope, param, i < args->n ? &args->items[i] : named)) {
            return false;
        }
        i++;
    }
    if (macro->node->uses_caller && !is_param(macro->node, TK_STR("caller"))) {
        const tk_jval *caller = named_arg(args, TK_STR("caller"));
        if (!tk_jscope_set(run, scope, run->tpl->caller,
                           caller != NULL ? *caller
                                          : tk_jval_undef(TK_STR("caller"), 0))) {
            return false;
        }
    }
    return bind_rest(run, scope, macro, args, i);
}

static bool call_macro(tk_jrun *run, const tk_jmacro *macro, const tk_jargs *args,
                       tk_jval *out)
{
    tk_jscope *scope = tk_jscope_new(run, macro->scope);
    if (scope == NULL || !bind_all(run, scope, macro, args)) {
        return false;
    }
    int line = run->line;
    tk_jflow flow = run->flow;
    run->flow = TK_JFLOW_NEXT;
    bool ok = tk_jrun_enter(run) && tk_jinja_capture(run, macro->node, scope, out);
    tk_jrun_leave(run);
    run->flow = flow;
    if (ok) {
        run->line = line;
    }
    return ok;
}

/* loop(...) of a recursive loop. */
static bool call_loop(tk_jrun *run, tk_jloop *loop, const tk_jargs *args, tk_jval *out)
{
    if (loop->node == NULL || args->n != 1) {
        return tk_jrun_raise(run,
                             "The loop must have the 'recursive' marker to be called "
                             "recursively.");
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_buf *outer = run->out;
    run->out = &buf;
    bool ok =
        tk_jinja_loop(run, loop->node, args->items[0], loop->scope, loop->depth + 1);
    run->out = outer;
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}

bool tk_jval_call(tk_jrun *run, tk_jval callee, const tk_jargs *args, tk_jval *out)
{
    if (callee.type == TK_JT_MACRO) {
        return call_macro(run, callee.as.macro, args, out);
    }
    if (callee.type == TK_JT_FUNC) {
        return tk_jfunc_call(run, callee.as.func, tk_jval_none(), args, out);
    }
    if (callee.type == TK_JT_METHOD) {
        return tk_jfunc_call(run, callee.as.method->func, callee.as.method->self, args,
                             out);
    }
    if (callee.type == TK_JT_LOOP) {
        return call_loop(run, callee.as.loop, args, out);
    }
    if (callee.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, callee);
    }
    return tk_jrun_raise(run, "'%s' object is not callable", tk_jval_type_name(&callee));
}

/* ---- global functions ---- */

TK_JFUNC(do_range)
{
    (void)self;
    int64_t a, b, step;
    if (!tk_jargs_int(run, args, 0, 0, &a) || !tk_jargs_int(run, args, 1, 0, &b) ||
        !tk_jargs_int(run, args, 2, 1, &step)) {
        return false;
    }
    if (args->n == 1) {
        b = a;
        a = 0;
    }
    if (step == 0) {
        return tk_jrun_raise(run, "range() arg 3 must not be zero");
    }
    int64_t distance = 0;
    if (step == INT64_MIN || (step > 0 ? __builtin_sub_overflow(b, a, &distance)
                                       : __builtin_sub_overflow(a, b, &distance))) {
        return tk_jrun_raise(run, "Range too big.");
    }
    int64_t stride = step > 0 ? step : -step;
    int64_t n = distance > 0 ? (distance - 1) / stride + 1 : 0;
    if (n > TK_JINJA_MAX_RANGE) {
        return tk_jrun_raise(run, "Range too big. The sandbox blocks ranges larger than "
                                  "MAX_RANGE (100000).");
    }
    tk_jrange *range = tk_jrun_alloc(run, 1, sizeof(*range));
    if (range == NULL) {
        return false;
    }
    *range = (tk_jrange){.start = a, .stop = b, .step = step, .n = (size_t)n};
    *out = (tk_jval){.type = TK_JT_RANGE, .as.range = range};
    return true;
}

static bool put_pairs(tk_jrun *run, tk_jdict *dict, tk_jval from)
{
    if (from.type == TK_JT_DICT) {
        tk_jview view = {from.as.dict, 'i'};
        from = (tk_jval){.type = TK_JT_VIEW, .as.view = &view};
        return put_pairs(run, dict, from);
    }
    tk_jlist pairs, pair;
    if (from.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, from);
    }
    if (!tk_jval_iterate(run, from, &pairs)) {
        return false;
    }
    for (size_t i = 0; i < pairs.n; i++) {
        if (!tk_jval_iterate(run, pairs.items[i], &pair)) {
            return false;
        }
        if (pair.n != 2) {
            return tk_jrun_raise(run,
                                 "dictionary update sequence element #%zu has length "
                                 "%zu; 2 is required",
                                 i, pair.n);
        }
        if (!tk_jdict_put(run, dict, pair.items[0], pair.items[1])) {
            return false;
        }
    }
    return true;
}

static bool make_dict(tk_jrun *run, const tk_jargs *args, tk_jtype type, tk_jval *out)
{
    tk_jdict *dict;
    if (!tk_jdict_new(run, &dict)) {
        return false;
    }
    if (args->n > 1) {
        return tk_jrun_raise(run, "dict expected at most 1 argument, got %zu", args->n);
    }
    if (args->n == 1 && !put_pairs(run, dict, args->items[0])) {
        return false;
    }
    for (size_t i = 0; i < args->n_named; i++) {
        if (!tk_jdict_put(run, dict, args->named[i].key, args->named[i].value)) {
            return false;
        }
    }
    *out = (tk_jval){.type = type, .as.dict = dict};
    return true;
}

TK_JFUNC(do_dict)
{
    (void)self;
    return make_dict(run, args, TK_JT_DICT, out);
}

TK_JFUNC(do_namespace)
{
    (void)self;
    return make_dict(run, args, TK_JT_NAMESPACE, out);
}

TK_JFUNC(do_raise)
{
    (void)self;
    (void)out;
    tk_str text;
    const tk_jval *message = tk_jargs_at(args, 0);
    if (!tk_jval_to_str(run, message, &text)) {
        return false;
    }
    return tk_jrun_raise(run, TK_STR_FMT, TK_STR_ARG(text));
}

TK_JFUNC(do_cycler)
{
    (void)self;
    tk_jlist *list;
    if (args->n == 0) {
        return tk_jrun_raise(run, "at least one item has to be provided");
    }
    if (!tk_jlist_new(run, &list, args->n)) {
        return false;
    }
    for (size_t i = 0; i < args->n; i++) {
        if (!tk_jlist_add(run, list, args->items[i])) {
            return false;
        }
    }
    *out = tk_jval_list(list, TK_JT_CYCLER);
    return true;
}

/* ---- time ---- */

static bool now_fields(const tk_jrun *run, struct tm *out)
{
    int64_t us = run->job->has_now ? run->job->now_us : tk_clock_wall_us(NULL);
    memset(out, 0, sizeof(*out));
    if (!run->job->has_now) {
        time_t seconds = (time_t)(us / 1000000);
        return localtime_r(&seconds, out) != NULL;
    }
    tk_date_fields f;
    if (!tk_date_to_fields(&f, us)) {
        return false;
    }
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool is_leap = (f.year % 4 == 0 && f.year % 100 != 0) || f.year % 400 == 0;
    *out = (struct tm){.tm_year = f.year - 1900,
                       .tm_mon = f.month - 1,
                       .tm_mday = f.day,
                       .tm_hour = f.hour,
                       .tm_min = f.minute,
                       .tm_sec = f.second,
                       .tm_wday = f.weekday,
                       .tm_yday =
                           before[f.month - 1] + f.day - 1 + (is_leap && f.month > 2)};
    return true;
}

/* One letter of strftime in the C locale, `bare`: without zeros or blanks in front; false
 * when the letter is not known. */
static bool put_time(tk_buf *out, char c, bool bare, const struct tm *t)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    int hour12 = t->tm_hour % 12 == 0 ? 12 : t->tm_hour % 12;
    const struct {
        char letter;
        int value, width;
        bool blank;
    } numbers[] = {
        {'Y', t->tm_year + 1900, 4, false},
        {'m', t->tm_mon + 1, 2, false},
        {'d', t->tm_mday, 2, false},
        {'e', t->tm_mday, 2, true},
        {'H', t->tm_hour, 2, false},
        {'I', hour12, 2, false},
        {'M', t->tm_min, 2, false},
        {'S', t->tm_sec, 2, false},
        {'y', t->tm_year % 100, 2, false},
        {'j', t->tm_yday + 1, 3, false},
        {'w', t->tm_wday, 1, false},
        {'u', t->tm_wday == 0 ? 7 : t->tm_wday, 1, false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(numbers); i++) {
        if (numbers[i].letter == c) {
            tk_buf_printf(out, numbers[i].blank ? "%*d" : "%0*d",
                          bare ? 0 : numbers[i].width, numbers[i].value);
            return true;
        }
    }
    if (c == 'B' || c == 'b' || c == 'h') {
        tk_buf_put(out, months[t->tm_mon], c == 'B' ? strlen(months[t->tm_mon]) : 3);
    } else if (c == 'A' || c == 'a') {
        tk_buf_put(out, days[t->tm_wday], c == 'A' ? strlen(days[t->tm_wday]) : 3);
    } else if (c == 'p') {
        tk_buf_puts(out, t->tm_hour < 12 ? "AM" : "PM");
    } else if (c == '%' || c == 'n' || c == 't') {
        tk_buf_putc(out, c == 'n' ? '\n' : c == 't' ? '\t' : '%');
    } else {
        return false;
    }
    return true;
}

static bool put_strftime(tk_jrun *run, tk_buf *out, tk_str format, const struct tm *t)
{
    static const struct {
        char letter;
        const char *means;
    } groups[] = {{'F', "%Y-%m-%d"},
                  {'T', "%H:%M:%S"},
                  {'D', "%m/%d/%y"},
                  {'R', "%H:%M"},
                  {'x', "%m/%d/%y"},
                  {'X', "%H:%M:%S"},
                  {'c', "%a %b %e %H:%M:%S %Y"},
                  {'r', "%I:%M:%S %p"}};
    for (size_t i = 0; i < format.n; i++) {
        if (format.p[i] != '%' || i + 1 == format.n) {
            tk_buf_putc(out, format.p[i]);
            continue;
        }
        bool bare = format.p[i + 1] == '-' && i + 2 < format.n;
        i += bare ? 2 : 1;
        char c = format.p[i];
        const char *means = NULL;
        for (size_t k = 0; k < TK_ARRAY_LEN(groups); k++) {
            means = groups[k].letter == c && !bare ? groups[k].means : means;
        }
        bool ok = means != NULL ? put_strftime(run, out, tk_str_of(means), t)
                                : put_time(out, c, bare, t);
        if (!ok) {
            return tk_jrun_fail(run, TINKC_E_UNSUPPORTED, "strftime_now: %%%c", c);
        }
    }
    return true;
}

TK_JFUNC(do_strftime)
{
    (void)self;
    tk_str format;
    struct tm now;
    if (!tk_jargs_str(run, args, 0, &format)) {
        return false;
    }
    if (!now_fields(run, &now)) {
        return tk_jrun_raise(run, "strftime_now: no such time");
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    if (!put_strftime(run, &buf, format, &now)) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}

static const tk_jfunc globals[] = {
    {"range", "", do_range, 1, 3, 0},
    {"dict", "", do_dict, 0, -1, 0},
    {"namespace", "", do_namespace, 0, -1, 0},
    {"raise_exception", "message", do_raise, 1, 1, 0},
    {"strftime_now", "format", do_strftime, 1, 1, 0},
    {"cycler", "", do_cycler, 0, -1, 0},
    {"joiner", "", NULL, 0, -1, 0},
    {"lipsum", "", NULL, 0, -1, 0},
};

const tk_jfunc *tk_jinja_find_global(tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(globals); i++) {
        if (tk_str_is(name, globals[i].name)) {
            return &globals[i];
        }
    }
    return NULL;
}
