/* Expressions of the tree to values. */
#include "text/jinja/jinja_run.h"

static bool eval_name(tk_jrun *run, tk_str name, tk_jval *out)
{
    size_t looked = 0;
    for (const tk_jscope *s = run->scope; s != NULL; s = s->parent) {
        for (size_t i = s->n; i-- > 0;) {
            if (s->vars[i].name.p == name.p) {
                *out = s->vars[i].is_missing ? tk_jval_undef(name, 0) : s->vars[i].value;
                return tk_jrun_step(run, 1 + (looked + s->n - i) / 8);
            }
        }
        looked += s->n + 1;
    }
    if (!tk_jrun_step(run, looked / 8)) {
        return false;
    }
    const tk_jval *value = tk_jdict_get(run->context, name);
    if (value != NULL) {
        *out = *value;
        return true;
    }
    const tk_jfunc *func = tk_jinja_find_global(name);
    *out = func != NULL ? (tk_jval){.type = TK_JT_FUNC, .as.func = func}
                        : tk_jval_undef(name, 0);
    return true;
}

static bool eval_list(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jlist *list;
    if (!tk_jlist_new(run, &list, 0)) {
        return false;
    }
    for (const tk_jnode *item = node->list; item != NULL; item = item->next) {
        tk_jval value;
        if (!tk_jinja_eval(run, item, &value) || !tk_jlist_add(run, list, value)) {
            return false;
        }
    }
    *out = tk_jval_list(list, node->kind == TK_J_LIST ? TK_JT_LIST : TK_JT_TUPLE);
    return true;
}

static bool eval_dict(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jdict *dict;
    if (!tk_jdict_new(run, &dict)) {
        return false;
    }
    for (const tk_jnode *key = node->list; key != NULL; key = key->next->next) {
        tk_jval k, v;
        if (!tk_jinja_eval(run, key, &k) || !tk_jinja_eval(run, key->next, &v) ||
            !tk_jdict_put(run, dict, k, v)) {
            return false;
        }
    }
    *out = (tk_jval){.type = TK_JT_DICT, .as.dict = dict};
    return true;
}

static bool eval_cond(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval test;
    if (!tk_jinja_eval(run, node->a, &test)) {
        return false;
    }
    if (tk_jval_truth(&test)) {
        return tk_jinja_eval(run, node->b, out);
    }
    if (node->c != NULL) {
        return tk_jinja_eval(run, node->c, out);
    }
    *out = tk_jval_undef(TK_STR("the inline if-expression evaluated to false and no else "
                                "section was defined."),
                         TK_JU_EMPTY);
    return true;
}

static bool eval_logic(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    if (!tk_jinja_eval(run, node->a, out)) {
        return false;
    }
    bool stops = tk_jval_truth(out) == (node->kind == TK_J_OR);
    return stops || tk_jinja_eval(run, node->b, out);
}

static bool eval_compare(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval left;
    if (!tk_jinja_eval(run, node->a, &left)) {
        return false;
    }
    bool holds = true;
    for (const tk_jnode *operand = node->list; holds && operand != NULL;
         operand = operand->next) {
        tk_jval right;
        if (!tk_jinja_eval(run, operand->a, &right) ||
            !tk_jval_relate(run, operand->op, left, right, &holds)) {
            return false;
        }
        left = right;
    }
    *out = tk_jval_bool(holds);
    return true;
}

static bool eval_concat(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval sum = tk_jval_str(TK_STR(""));
    for (const tk_jnode *item = node->list; item != NULL; item = item->next) {
        tk_jval value;
        tk_str text;
        if (!tk_jinja_eval(run, item, &value) || !tk_jval_to_str(run, &value, &text) ||
            !tk_jval_concat(run, sum.as.s, text, &sum)) {
            return false;
        }
    }
    *out = sum;
    return true;
}

static bool eval_slice(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval object, bounds[3] = {tk_jval_none(), tk_jval_none(), tk_jval_none()};
    const tk_jnode *parts[3] = {node->b, node->c, node->d};
    if (!tk_jinja_eval(run, node->a, &object)) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        if (parts[i] != NULL && !tk_jinja_eval(run, parts[i], &bounds[i])) {
            return false;
        }
    }
    return tk_jval_slice(run, object, bounds, out);
}

/* ---- calls ---- */

static bool add_star(tk_jrun *run, tk_jlist *items, tk_jval value)
{
    tk_jlist more;
    if (!tk_jval_iterate(run, value, &more)) {
        return false;
    }
    for (size_t i = 0; i < more.n; i++) {
        if (!tk_jlist_add(run, items, more.items[i])) {
            return false;
        }
    }
    return true;
}

static bool add_named(tk_jrun *run, tk_jdict *named, tk_jval key, tk_jval value)
{
    if (key.type != TK_JT_STR) {
        return tk_jrun_raise(run, "keywords must be strings");
    }
    if (tk_jdict_get(named, key.as.s) != NULL) {
        return tk_jrun_raise(run,
                             "got multiple values for keyword argument '" TK_STR_FMT "'",
                             TK_STR_ARG(key.as.s));
    }
    return tk_jdict_put(run, named, key, value);
}

static bool add_stars(tk_jrun *run, tk_jdict *named, tk_jval value)
{
    if (value.type != TK_JT_DICT) {
        return tk_jrun_raise(run, "argument after ** must be a mapping");
    }
    for (size_t i = 0; i < value.as.dict->n; i++) {
        tk_jentry *entry = &value.as.dict->entries[i];
        if (!add_named(run, named, entry->key, entry->value)) {
            return false;
        }
    }
    return true;
}

bool tk_jinja_eval_args(tk_jrun *run, const tk_jnode *list, tk_jargs *out)
{
    *out = (tk_jargs){.n = 0};
    if (list == NULL) {
        return true;
    }
    tk_jlist items = {.n = 0};
    tk_jdict named = {.n = 0};
    for (const tk_jnode *arg = list; arg != NULL; arg = arg->next) {
        tk_jval value;
        if (!tk_jinja_eval(run, arg->a, &value)) {
            return false;
        }
        bool ok = arg->op == '*'   ? add_star(run, &items, value)
                  : arg->op == 'D' ? add_stars(run, &named, value)
                  : arg->text.n > 0
                      ? add_named(run, &named, tk_jval_str(arg->text), value)
                      : tk_jlist_add(run, &items, value);
        if (!ok) {
            return false;
        }
    }
    *out = (tk_jargs){items.items, items.n, named.entries, named.n, 0};
    return true;
}

static bool eval_call(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval callee;
    tk_jargs args;
    if (!tk_jinja_eval(run, node->a, &callee) ||
        !tk_jinja_eval_args(run, node->list, &args)) {
        return false;
    }
    run->line = node->line;
    return tk_jval_call(run, callee, &args, out);
}

static bool apply_filter(tk_jrun *run, const tk_jnode *node, tk_jval self, tk_jval *out)
{
    tk_jargs args;
    if (!tk_jinja_eval_args(run, node->list, &args)) {
        return false;
    }
    run->line = node->line;
    if (node->func == NULL) {
        return tk_jinja_filter(run, node->text, self, &args, out);
    }
    return tk_jfunc_call(run, node->func, self, &args, out);
}

bool tk_jinja_eval_filters(tk_jrun *run, const tk_jnode *node, tk_jval self, tk_jval *out)
{
    tk_jval inner = self;
    if (node->a != NULL &&
        (!tk_jrun_enter(run) || !tk_jinja_eval_filters(run, node->a, self, &inner))) {
        return false;
    }
    if (node->a != NULL) {
        tk_jrun_leave(run);
    }
    return apply_filter(run, node, inner, out);
}

static bool eval_test(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval self;
    tk_jargs args;
    if (!tk_jinja_eval(run, node->a, &self) ||
        !tk_jinja_eval_args(run, node->list, &args)) {
        return false;
    }
    run->line = node->line;
    if (node->func == NULL) {
        return tk_jrun_raise(run, "No test named '" TK_STR_FMT "' found.",
                             TK_STR_ARG(node->text));
    }
    return tk_jfunc_call(run, node->func, self, &args, out);
}

static bool eval_two(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval a, b;
    if (!tk_jinja_eval(run, node->a, &a) || !tk_jinja_eval(run, node->b, &b)) {
        return false;
    }
    run->line = node->line;
    return node->kind == TK_J_ITEM ? tk_jval_item(run, a, b, out)
                                   : tk_jval_binary(run, node->op, a, b, out);
}

static bool eval_one(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    tk_jval a;
    if (!tk_jinja_eval(run, node->a, &a)) {
        return false;
    }
    run->line = node->line;
    if (node->kind == TK_J_NOT) {
        *out = tk_jval_bool(!tk_jval_truth(&a));
        return true;
    }
    if (node->kind == TK_J_ATTR) {
        return tk_jval_attr(run, a, node->text, out);
    }
    if (node->kind == TK_J_FILTER) {
        return apply_filter(run, node, a, out);
    }
    return tk_jval_negate(run, a, node->kind == TK_J_PLUS, out);
}

static bool eval_constant(const tk_jnode *node, tk_jval *out)
{
    *out = node->kind == TK_J_NONE    ? tk_jval_none()
           : node->kind == TK_J_BOOL  ? tk_jval_bool(node->flag)
           : node->kind == TK_J_INT   ? tk_jval_int(node->integer)
           : node->kind == TK_J_FLOAT ? tk_jval_float(node->real)
                                      : tk_jval_str(node->text);
    return true;
}

static bool eval(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    switch ((int)node->kind) {
    case TK_J_NONE:
    case TK_J_BOOL:
    case TK_J_INT:
    case TK_J_FLOAT:
    case TK_J_STRING:
        return eval_constant(node, out);
    case TK_J_NAME:
        return eval_name(run, node->text, out);
    case TK_J_LIST:
    case TK_J_TUPLE:
        return eval_list(run, node, out);
    case TK_J_DICT:
        return eval_dict(run, node, out);
    case TK_J_COND:
        return eval_cond(run, node, out);
    case TK_J_OR:
    case TK_J_AND:
        return eval_logic(run, node, out);
    case TK_J_COMPARE:
        return eval_compare(run, node, out);
    case TK_J_CONCAT:
        return eval_concat(run, node, out);
    case TK_J_SLICE:
        return eval_slice(run, node, out);
    case TK_J_CALL:
        return eval_call(run, node, out);
    case TK_J_TEST:
        return eval_test(run, node, out);
    case TK_J_BINARY:
    case TK_J_ITEM:
        return eval_two(run, node, out);
    default:
        return eval_one(run, node, out);
    }
}

bool tk_jinja_eval(tk_jrun *run, const tk_jnode *node, tk_jval *out)
{
    run->line = node->line;
    bool ok = tk_jrun_enter(run) && eval(run, node, out);
    tk_jrun_leave(run);
    return ok;
}
