/* Statements of the tree, and the scopes they open. Output goes to run->out; a body whose
 * output is a value (macro, set block, filter block) writes to its own buffer. */
#include <string.h>

#include "text/jinja/jinja_run.h"

/* ---- scopes ---- */

tk_jscope *tk_jscope_new(tk_jrun *run, tk_jscope *parent)
{
    tk_jscope *scope = tk_jrun_alloc(run, 1, sizeof(*scope));
    if (scope != NULL) {
        *scope = (tk_jscope){.parent = parent};
    }
    return scope;
}

static bool add_var(tk_jrun *run, tk_jscope *scope, tk_jvar var)
{
    for (size_t i = 0; i < scope->n; i++) {
        if (scope->vars[i].name.p == var.name.p) {
            scope->vars[i] = var;
            return tk_jrun_step(run, i / 8);
        }
    }
    if (scope->n == scope->cap) {
        size_t cap = scope->cap == 0 ? 4 : scope->cap * 2;
        tk_jvar *vars = tk_jrun_alloc(run, cap, sizeof(*vars));
        if (vars == NULL) {
            return false;
        }
        if (scope->n > 0) {
            memcpy(vars, scope->vars, scope->n * sizeof(*vars));
        }
        scope->vars = vars;
        scope->cap = cap;
    }
    scope->vars[scope->n++] = var;
    return tk_jrun_step(run, scope->n / 8);
}

bool tk_jscope_set(tk_jrun *run, tk_jscope *scope, tk_str name, tk_jval value)
{
    return add_var(run, scope, (tk_jvar){name, value, false});
}

bool tk_jscope_hide(tk_jrun *run, tk_jscope *scope, const tk_str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!add_var(run, scope, (tk_jvar){.name = names[i], .is_missing = true})) {
            return false;
        }
    }
    return true;
}

static bool assign_attr(tk_jrun *run, const tk_jnode *target, tk_jval value)
{
    tk_jval object;
    tk_jnode name = {.kind = TK_J_NAME, .line = target->line, .text = target->text};
    if (!tk_jinja_eval(run, &name, &object)) {
        return false;
    }
    if (object.type != TK_JT_NAMESPACE) {
        return tk_jrun_raise(run, "cannot assign attribute on non-namespace object");
    }
    return tk_jdict_put(run, object.as.dict, tk_jval_str(target->attr), value);
}

bool tk_jscope_assign(tk_jrun *run, const tk_jnode *target, tk_jval value)
{
    if (target->kind == TK_J_NAME) {
        return tk_jscope_set(run, run->scope, target->text, value);
    }
    if (target->kind == TK_J_NSREF) {
        return assign_attr(run, target, value);
    }
    tk_jlist items;
    if (value.type == TK_JT_UNDEFINED) {
        return tk_jrun_undefined(run, value);
    }
    if (!tk_jval_iterate(run, value, &items)) {
        return false;
    }
    size_t i = 0;
    for (const tk_jnode *item = target->list; item != NULL; item = item->next, i++) {
        if (i >= items.n) {
            return tk_jrun_raise(run, "not enough values to unpack (got %zu)", items.n);
        }
        if (!tk_jscope_assign(run, item, items.items[i])) {
            return false;
        }
    }
    return i == items.n ||
           tk_jrun_raise(run, "too many values to unpack (expected %zu)", i);
}

/* ---- bodies whose output is a value ---- */

static bool exec_in(tk_jrun *run, const tk_jnode *list, tk_jscope *scope)
{
    tk_jscope *outer = run->scope;
    run->scope = scope;
    bool ok = tk_jinja_exec(run, list);
    run->scope = outer;
    return ok;
}

bool tk_jinja_capture(tk_jrun *run, const tk_jnode *owner, tk_jscope *scope, tk_jval *out)
{
    if (!tk_jscope_hide(run, scope, owner->hidden, owner->n_hidden)) {
        return false;
    }
    tk_buf buf;
    tk_buf_init(&buf, run->max_output);
    tk_buf *outer = run->out;
    run->out = &buf;
    bool ok = exec_in(run, owner->body, scope);
    run->out = outer;
    if (!ok) {
        tk_buf_dispose(&buf);
        return false;
    }
    return tk_jval_take(run, &buf, out);
}

static bool capture_here(tk_jrun *run, const tk_jnode *owner, tk_jval *out)
{
    tk_jscope *scope = tk_jscope_new(run, run->scope);
    return scope != NULL && tk_jinja_capture(run, owner, scope, out);
}

/* ---- loops ---- */

static bool filter_items(tk_jrun *run, const tk_jnode *node, tk_jlist *items)
{
    tk_jlist kept = {.n = 0};
    tk_jscope *outer = run->scope;
    tk_jscope *scope = tk_jscope_new(run, outer);
    if (scope == NULL) {
        return false;
    }
    for (size_t i = 0; i < items->n; i++) {
        tk_jval test, item = items->items[i];
        run->scope = scope;
        bool ok =
            tk_jscope_assign(run, node->a, item) && tk_jinja_eval(run, node->c, &test);
        if (ok && node->a->kind == TK_J_TUPLE) { /* the loop sees what was taken apart */
            ok = tk_jinja_eval(run, node->a, &item);
        }
        run->scope = outer;
        if (!ok || (tk_jval_truth(&test) && !tk_jlist_add(run, &kept, item))) {
            return false;
        }
    }
    *items = kept;
    return true;
}

/* One round; *stop after a break. */
static bool loop_round(tk_jrun *run, const tk_jnode *node, tk_jval loop, bool *stop)
{
    tk_jloop *state = loop.as.loop;
    tk_jscope *scope = run->scope;
    if (!tk_jscope_hide(run, scope, node->hidden, node->n_hidden) ||
        !tk_jscope_set(run, scope, run->tpl->loop, loop) ||
        !tk_jscope_assign(run, node->a, state->items[state->at]) ||
        !tk_jinja_exec(run, node->body)) {
        return false;
    }
    *stop = run->flow == TK_JFLOW_BREAK;
    run->flow = TK_JFLOW_NEXT;
    return true;
}

static bool loop_rounds(tk_jrun *run, const tk_jnode *node, tk_jval loop)
{
    tk_jscope *outer = run->scope;
    bool ok = true, stop = false;
    tk_jscope *scope = NULL;
    for (tk_jloop *state = loop.as.loop; ok && !stop && state->at < state->n;
         state->at++) {
        if (scope == NULL || scope->is_captured) {
            scope = tk_jscope_new(run, outer);
            ok = scope != NULL;
        } else {
            scope->n = 0;
        }
        run->scope = scope;
        ok = ok && loop_round(run, node, loop, &stop);
    }
    run->scope = outer;
    return ok;
}

bool tk_jinja_loop(tk_jrun *run, const tk_jnode *node, tk_jval iterable, tk_jscope *scope,
                   int depth)
{
    tk_jscope *outer = run->scope;
    run->scope = scope;
    tk_jlist items;
    bool ok = tk_jval_iterate(run, iterable, &items) &&
              (node->c == NULL || filter_items(run, node, &items));
    tk_jloop *state = ok ? tk_jrun_alloc(run, 1, sizeof(*state)) : NULL;
    ok = ok && state != NULL;
    if (ok) {
        *state = (tk_jloop){.items = items.items,
                            .n = items.n,
                            .depth = depth,
                            .node = node->flag ? node : NULL,
                            .scope = scope};
        tk_jval loop = {.type = TK_JT_LOOP, .as.loop = state};
        ok = loop_rounds(run, node, loop);
    }
    if (ok && items.n == 0 && node->other != NULL) {
        tk_jscope *inner = tk_jscope_new(run, scope);
        ok = inner != NULL &&
             tk_jscope_hide(run, inner, node->hidden_else, node->n_hidden_else) &&
             exec_in(run, node->other, inner);
    }
    run->scope = outer;
    return ok;
}

static bool exec_for(tk_jrun *run, const tk_jnode *node)
{
    tk_jval iterable;
    return tk_jinja_eval(run, node->b, &iterable) &&
           tk_jinja_loop(run, node, iterable, run->scope, 1);
}

/* ---- the others ---- */

static bool check_output(tk_jrun *run)
{
    if (run->out->failure == TINKC_E_NOMEM) {
        tk_err_nomem(run->err);
        return false;
    }
    size_t start = run->out == run->root_out ? run->out_start : 0;
    if (run->out->failure != TINKC_OK || run->out->n - start > run->max_output) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "the output is too long");
    }
    return true;
}

static bool exec_output(tk_jrun *run, const tk_jnode *node)
{
    if (node->kind == TK_J_DATA) {
        tk_buf_put(run->out, node->text.p, node->text.n);
        return tk_jrun_bytes(run, node->text.n) && check_output(run);
    }
    tk_jval value;
    return tk_jinja_eval(run, node->a, &value) && tk_jval_put(run, run->out, &value) &&
           check_output(run);
}

static bool exec_if(tk_jrun *run, const tk_jnode *node)
{
    while (node != NULL) {
        tk_jval test;
        if (!tk_jinja_eval(run, node->a, &test)) {
            return false;
        }
        if (tk_jval_truth(&test)) {
            return tk_jinja_exec(run, node->body);
        }
        bool is_elif =
            node->other != NULL && node->other->kind == TK_J_IF && node->other->flag;
        if (!is_elif) {
            return tk_jinja_exec(run, node->other);
        }
        node = node->other;
    }
    return true;
}

static bool exec_set(tk_jrun *run, const tk_jnode *node)
{
    tk_jval value;
    return tk_jinja_eval(run, node->b, &value) && tk_jscope_assign(run, node->a, value);
}

static bool exec_setblock(tk_jrun *run, const tk_jnode *node)
{
    tk_jval value;
    if (!capture_here(run, node, &value) ||
        (node->b != NULL && !tk_jinja_eval_filters(run, node->b, value, &value))) {
        return false;
    }
    return tk_jscope_assign(run, node->a, value);
}

static bool exec_filterblock(tk_jrun *run, const tk_jnode *node)
{
    tk_jval value;
    return capture_here(run, node, &value) &&
           tk_jinja_eval_filters(run, node->a, value, &value) &&
           tk_jval_put(run, run->out, &value) && check_output(run);
}

static bool make_macro(tk_jrun *run, const tk_jnode *node, tk_str name, tk_jval *out)
{
    tk_jmacro *macro = tk_jrun_alloc(run, 1, sizeof(*macro));
    if (macro == NULL) {
        return false;
    }
    *macro = (tk_jmacro){node, name, run->scope};
    for (tk_jscope *s = run->scope; s != NULL && !s->is_captured; s = s->parent) {
        s->is_captured = true;
    }
    *out = (tk_jval){.type = TK_JT_MACRO, .as.macro = macro};
    return true;
}

static bool exec_macro(tk_jrun *run, const tk_jnode *node)
{
    tk_jval macro;
    return make_macro(run, node, node->text, &macro) &&
           tk_jscope_set(run, run->scope, node->text, macro);
}

static bool exec_callblock(tk_jrun *run, const tk_jnode *node)
{
    tk_jval callee, caller, result;
    tk_jargs args;
    if (!make_macro(run, node, TK_STR("caller"), &caller) ||
        !tk_jinja_eval(run, node->a->a, &callee) ||
        !tk_jinja_eval_args(run, node->a->list, &args)) {
        return false;
    }
    tk_jentry *named = tk_jrun_alloc(run, args.n_named + 1, sizeof(*named));
    if (named == NULL) {
        return false;
    }
    if (args.n_named > 0) {
        memcpy(named, args.named, args.n_named * sizeof(*named));
    }
    named[args.n_named] = (tk_jentry){tk_jval_text("caller"), caller};
    args.named = named;
    args.n_named++;
    return tk_jval_call(run, callee, &args, &result) &&
           tk_jval_put(run, run->out, &result) && check_output(run);
}

static bool exec_with(tk_jrun *run, const tk_jnode *node)
{
    tk_jscope *scope = tk_jscope_new(run, run->scope);
    if (scope == NULL || !tk_jscope_hide(run, scope, node->hidden, node->n_hidden)) {
        return false;
    }
    for (const tk_jnode *var = node->list; var != NULL; var = var->next) {
        tk_jval value;
        if (!tk_jinja_eval(run, var->a, &value) ||
            !tk_jscope_set(run, scope, var->text, value)) {
            return false;
        }
    }
    return exec_in(run, node->body, scope);
}

static bool exec_generation(tk_jrun *run, const tk_jnode *node)
{
    tk_jscope *scope = tk_jscope_new(run, run->scope);
    if (scope == NULL || !tk_jscope_hide(run, scope, node->hidden, node->n_hidden)) {
        return false;
    }
    size_t before = run->out->n;
    if (!exec_in(run, node->body, scope)) {
        return false;
    }
    if (run->job->spans != NULL && run->out == run->root_out) {
        tk_jinja_span span = {before - run->out_start, run->out->n - run->out_start};
        tk_buf_put(run->job->spans, &span, sizeof(span));
        return tk_buf_status(run->job->spans, run->err) == TINKC_OK;
    }
    return true;
}

static bool exec_one(tk_jrun *run, const tk_jnode *node)
{
    switch ((int)node->kind) {
    case TK_J_OUTPUT:
    case TK_J_DATA:
        return exec_output(run, node);
    case TK_J_IF:
        return exec_if(run, node);
    case TK_J_FOR:
        return exec_for(run, node);
    case TK_J_SET:
        return exec_set(run, node);
    case TK_J_SETBLOCK:
        return exec_setblock(run, node);
    case TK_J_MACRO:
        return exec_macro(run, node);
    case TK_J_CALLBLOCK:
        return exec_callblock(run, node);
    case TK_J_FILTERBLOCK:
        return exec_filterblock(run, node);
    case TK_J_WITH:
        return exec_with(run, node);
    case TK_J_GENERATION:
        return exec_generation(run, node);
    default:
        run->flow = node->kind == TK_J_BREAK ? TK_JFLOW_BREAK : TK_JFLOW_CONTINUE;
        return true;
    }
}

bool tk_jinja_exec(tk_jrun *run, const tk_jnode *list)
{
    bool ok = tk_jrun_enter(run);
    for (; ok && list != NULL && run->flow == TK_JFLOW_NEXT; list = list->next) {
        run->line = list->line;
        ok = exec_one(run, list);
    }
    tk_jrun_leave(run);
    return ok;
}
