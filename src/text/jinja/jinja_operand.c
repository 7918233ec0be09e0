/* Operands of a template's expressions to syntax tree: literals, names, tuples; what
 * follows a value (attribute, item, call), filters and tests; a sign before it all.
 * And the targets of assignments, which look like tuples. */
#include <string.h>

#include "text/jinja/jinja_ast.h"

/* ---- values ---- */

static tk_jnode *parse_list(tk_jparse *p, tk_jkind kind, const char *end)
{
    tk_jnode *node = tk_jnode_new(p, kind);
    tk_jnode **tail = node != NULL ? &node->list : NULL;
    while (node != NULL && !tk_jtok_is(p, end)) {
        if (node->list != NULL && !tk_jtok_expect(p, ",")) {
            return NULL;
        }
        if (tk_jtok_is(p, end)) {
            break;
        }
        tk_jnode *item = tk_jinja_expr(p, true);
        if (item == NULL) {
            return NULL;
        }
        tk_jnode_append(&tail, item);
        if (kind == TK_J_DICT) {
            tk_jnode *value = tk_jtok_expect(p, ":") ? tk_jinja_expr(p, true) : NULL;
            if (value == NULL) {
                return NULL;
            }
            tk_jnode_append(&tail, value);
        }
    }
    return node != NULL && tk_jtok_expect(p, end) ? node : NULL;
}

static tk_jnode *parse_name(tk_jparse *p)
{
    const tk_jtok *t = tk_jtok_now(p);
    bool is_true = tk_str_is(t->text, "true") || tk_str_is(t->text, "True");
    bool is_false = tk_str_is(t->text, "false") || tk_str_is(t->text, "False");
    bool is_none = tk_str_is(t->text, "none") || tk_str_is(t->text, "None");
    tk_jnode *node = tk_jnode_new(p, is_true || is_false ? TK_J_BOOL
                                     : is_none           ? TK_J_NONE
                                                         : TK_J_NAME);
    if (node != NULL) {
        node->flag = is_true;
        node->text = t->text;
        tk_jtok_next(p);
    }
    return node;
}

/* Adjacent strings are one. */
static tk_jnode *parse_strings(tk_jparse *p)
{
    tk_jnode *node = tk_jnode_new(p, TK_J_STRING);
    if (node == NULL) {
        return NULL;
    }
    node->text = tk_jtok_now(p)->text;
    tk_jtok_next(p);
    while (tk_jtok_now(p)->kind == TK_JTOK_STRING) {
        tk_str more = tk_jtok_now(p)->text;
        char *room = tk_arena_alloc(&p->tpl->arena, node->text.n + more.n + 1);
        if (room == NULL) {
            tk_jinja_oom(p);
            return NULL;
        }
        memcpy(room, node->text.p, node->text.n);
        memcpy(room + node->text.n, more.p, more.n);
        node->text = (tk_str){room, node->text.n + more.n};
        tk_jtok_next(p);
    }
    return node;
}

static bool is_tuple_end(const tk_jparse *p, const char *stop)
{
    const tk_jtok *t = tk_jtok_now(p);
    return t->kind == TK_JTOK_VAR_END || t->kind == TK_JTOK_BLOCK_END ||
           tk_jtok_is(p, ")") || (stop != NULL && tk_jtok_word(p, stop));
}

typedef enum tuple_form {
    TUPLE_PLAIN,
    TUPLE_NO_COND,
    TUPLE_TARGET,
    TUPLE_PARENS
} tuple_form;

static tk_jnode *parse_primary(tk_jparse *p);

static tk_jnode *parse_tuple(tk_jparse *p, tuple_form form, const char *stop)
{
    tk_jnode *first = NULL, **tail = &first;
    bool is_tuple = false;
    while (true) {
        if (first != NULL && !tk_jtok_expect(p, ",")) {
            return NULL;
        }
        if (is_tuple_end(p, stop)) {
            break;
        }
        tk_jnode *item = form == TUPLE_TARGET ? parse_primary(p)
                                              : tk_jinja_expr(p, form != TUPLE_NO_COND);
        if (item == NULL) {
            return NULL;
        }
        tk_jnode_append(&tail, item);
        if (!tk_jtok_is(p, ",")) {
            break;
        }
        is_tuple = true;
    }
    if (!is_tuple && first != NULL) {
        return first;
    }
    if (!is_tuple && form != TUPLE_PARENS) {
        tk_jtok_unexpected(p, "an expression");
        return NULL;
    }
    tk_jnode *node = tk_jnode_new(p, TK_J_TUPLE);
    if (node != NULL) {
        node->list = first;
    }
    return node;
}

static tk_jnode *parse_primary(tk_jparse *p)
{
    const tk_jtok *t = tk_jtok_now(p);
    if (t->kind == TK_JTOK_NAME) {
        return parse_name(p);
    }
    if (t->kind == TK_JTOK_STRING) {
        return parse_strings(p);
    }
    if (t->kind == TK_JTOK_INT || t->kind == TK_JTOK_FLOAT) {
        tk_jnode *node = tk_jnode_new(p, t->kind == TK_JTOK_INT ? TK_J_INT : TK_J_FLOAT);
        if (node != NULL) {
            node->integer = t->integer;
            node->real = t->real;
            tk_jtok_next(p);
        }
        return node;
    }
    if (tk_jtok_skip(p, "(")) {
        tk_jnode *node = parse_tuple(p, TUPLE_PARENS, NULL);
        if (node != NULL && node->kind == TK_J_TUPLE) {
            node->flag = true;
        }
        return node != NULL && tk_jtok_expect(p, ")") ? node : NULL;
    }
    if (tk_jtok_skip(p, "[")) {
        return parse_list(p, TK_J_LIST, "]");
    }
    if (tk_jtok_skip(p, "{")) {
        return parse_list(p, TK_J_DICT, "}");
    }
    tk_jtok_unexpected(p, NULL);
    return NULL;
}

/* ---- after a value ---- */

static bool parse_bound(tk_jparse *p, tk_jnode **out)
{
    if (tk_jtok_is(p, ":") || tk_jtok_is(p, "]") || tk_jtok_is(p, ",")) {
        return true;
    }
    *out = tk_jinja_expr(p, true);
    return *out != NULL;
}

/* One index or slice inside brackets, as an ITEM or SLICE of `node`. */
static tk_jnode *parse_subscript(tk_jparse *p, tk_jnode *node)
{
    tk_jnode *first = NULL;
    if (!parse_bound(p, &first)) {
        return NULL;
    }
    if (!tk_jtok_skip(p, ":")) {
        if (first == NULL) {
            tk_jtok_unexpected(p, "an index");
            return NULL;
        }
        return tk_jnode_make(p, TK_J_ITEM, node, first);
    }
    tk_jnode *slice = tk_jnode_make(p, TK_J_SLICE, node, first);
    if (slice == NULL || !parse_bound(p, &slice->c) ||
        (tk_jtok_skip(p, ":") && !parse_bound(p, &slice->d))) {
        return NULL;
    }
    return slice;
}

static tk_jnode *parse_brackets(tk_jparse *p, tk_jnode *node)
{
    node = parse_subscript(p, node);
    if (node != NULL && tk_jtok_is(p, ",") && node->kind == TK_J_ITEM) {
        tk_jnode *tuple = tk_jnode_new(p, TK_J_TUPLE);
        if (tuple == NULL) {
            return NULL;
        }
        tuple->list = node->b;
        tk_jnode **tail = &tuple->list->next;
        while (tk_jtok_skip(p, ",")) {
            tk_jnode *item = tk_jinja_expr(p, true);
            if (item == NULL) {
                return NULL;
            }
            tk_jnode_append(&tail, item);
        }
        node->b = tuple;
    }
    return node != NULL && tk_jtok_expect(p, "]") ? node : NULL;
}

static tk_jnode *parse_arg(tk_jparse *p, bool *only_keywords)
{
    tk_jnode *arg = tk_jnode_new(p, TK_J_ARG);
    if (arg == NULL) {
        return NULL;
    }
    if (tk_jtok_skip(p, "*")) {
        arg->op = '*';
    } else if (tk_jtok_skip(p, "**")) {
        arg->op = 'D';
        *only_keywords = true;
    } else if (tk_jtok_now(p)->kind == TK_JTOK_NAME &&
               tk_jtok_peek(p)->kind == TK_JTOK_OP &&
               tk_str_is(tk_jtok_peek(p)->text, "=")) {
        arg->text = tk_jtok_now(p)->text;
        tk_jtok_next(p);
        tk_jtok_next(p);
        *only_keywords = true;
    } else if (*only_keywords) {
        tk_jinja_syntax(p, arg->line, "invalid syntax for function call expression");
        return NULL;
    }
    arg->a = tk_jinja_expr(p, true);
    return arg->a != NULL ? arg : NULL;
}

/* "(" is the current token. */
static bool parse_args(tk_jparse *p, tk_jnode **list)
{
    bool only_keywords = false;
    tk_jnode **tail = list;
    if (!tk_jtok_expect(p, "(")) {
        return false;
    }
    while (!tk_jtok_is(p, ")")) {
        if (*list != NULL) {
            if (!tk_jtok_expect(p, ",")) {
                return false;
            }
            if (tk_jtok_is(p, ")")) {
                break;
            }
        }
        tk_jnode *arg = parse_arg(p, &only_keywords);
        if (arg == NULL) {
            return false;
        }
        tk_jnode_append(&tail, arg);
    }
    return tk_jtok_expect(p, ")");
}

static tk_jnode *parse_call(tk_jparse *p, tk_jnode *node)
{
    tk_jnode *call = tk_jnode_make(p, TK_J_CALL, node, NULL);
    return call != NULL && parse_args(p, &call->list) ? call : NULL;
}

static tk_jnode *parse_dot(tk_jparse *p, tk_jnode *node)
{
    const tk_jtok *t = tk_jtok_now(p);
    if (t->kind == TK_JTOK_NAME) {
        tk_jnode *attr = tk_jnode_make(p, TK_J_ATTR, node, NULL);
        if (attr != NULL) {
            attr->text = t->text;
            tk_jtok_next(p);
        }
        return attr;
    }
    if (t->kind == TK_JTOK_INT) {
        tk_jnode *index = parse_primary(p);
        return index != NULL ? tk_jnode_make(p, TK_J_ITEM, node, index) : NULL;
    }
    tk_jtok_unexpected(p, "name or number");
    return NULL;
}

static tk_jnode *parse_postfix(tk_jparse *p, tk_jnode *node)
{
    while (node != NULL) {
        if (tk_jtok_skip(p, ".")) {
            node = parse_dot(p, node);
        } else if (tk_jtok_skip(p, "[")) {
            node = parse_brackets(p, node);
        } else if (tk_jtok_is(p, "(")) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

/* A name that may have dots in it. */
static bool dotted_name(tk_jparse *p, tk_str *name)
{
    if (!tk_jtok_name(p, name)) {
        return false;
    }
    if (tk_jtok_is(p, ".")) {
        return tk_jinja_refuse(p, TINKC_E_UNSUPPORTED, p->line,
                               "a filter or test with a dot is not supported");
    }
    return true;
}

tk_jnode *tk_jinja_filters(tk_jparse *p, tk_jnode *node, bool inline_name)
{
    while (tk_jtok_is(p, "|") || inline_name) {
        if (!inline_name) {
            tk_jtok_next(p);
        }
        inline_name = false;
        tk_jnode *filter = tk_jnode_make(p, TK_J_FILTER, node, NULL);
        if (filter == NULL || !dotted_name(p, &filter->text) ||
            (tk_jtok_is(p, "(") && !parse_args(p, &filter->list))) {
            return NULL;
        }
        node = filter;
    }
    return node;
}

/* Whether what follows the name of a test is its argument without parentheses. */
static bool is_test_operand(const tk_jparse *p)
{
    const tk_jtok *t = tk_jtok_now(p);
    if (t->kind == TK_JTOK_NAME) {
        return !tk_jtok_word(p, "else") && !tk_jtok_word(p, "or") &&
               !tk_jtok_word(p, "and");
    }
    return t->kind == TK_JTOK_STRING || t->kind == TK_JTOK_INT ||
           t->kind == TK_JTOK_FLOAT || tk_jtok_is(p, "[") || tk_jtok_is(p, "{");
}

static bool parse_test_args(tk_jparse *p, tk_jnode *test)
{
    if (tk_jtok_is(p, "(")) {
        return parse_args(p, &test->list);
    }
    if (!is_test_operand(p)) {
        return true;
    }
    if (tk_jtok_word(p, "is")) {
        return tk_jinja_syntax(p, p->line, "You cannot chain multiple tests with is");
    }
    tk_jnode *arg = tk_jnode_new(p, TK_J_ARG);
    if (arg == NULL) {
        return false;
    }
    arg->a = parse_postfix(p, parse_primary(p));
    test->list = arg;
    return arg->a != NULL;
}

static tk_jnode *parse_test(tk_jparse *p, tk_jnode *node)
{
    tk_jtok_next(p);
    bool is_negated = tk_jtok_skip_word(p, "not");
    tk_jnode *test = tk_jnode_make(p, TK_J_TEST, node, NULL);
    if (test == NULL || !dotted_name(p, &test->text) || !parse_test_args(p, test)) {
        return NULL;
    }
    return is_negated ? tk_jnode_make(p, TK_J_NOT, test, NULL) : test;
}

static tk_jnode *parse_after(tk_jparse *p, tk_jnode *node)
{
    while (node != NULL) {
        if (tk_jtok_is(p, "|")) {
            node = tk_jinja_filters(p, node, false);
        } else if (tk_jtok_word(p, "is")) {
            node = parse_test(p, node);
        } else if (tk_jtok_is(p, "(")) {
            node = parse_call(p, node);
        } else {
            break;
        }
    }
    return node;
}

tk_jnode *tk_jinja_unary(tk_jparse *p, bool with_filter)
{
    if (!tk_jinja_nest(p, "expressions")) {
        return NULL;
    }
    tk_jnode *node;
    bool is_minus = tk_jtok_is(p, "-");
    if (is_minus || tk_jtok_is(p, "+")) {
        node = tk_jnode_new(p, is_minus ? TK_J_NEGATE : TK_J_PLUS);
        tk_jtok_next(p);
        if (node != NULL && (node->a = tk_jinja_unary(p, false)) == NULL) {
            node = NULL;
        }
    } else {
        node = parse_primary(p);
    }
    node = parse_postfix(p, node);
    if (with_filter) {
        node = parse_after(p, node);
    }
    p->depth--;
    return node;
}

tk_jnode *tk_jinja_tuple(tk_jparse *p, bool with_cond, const char *stop)
{
    return parse_tuple(p, with_cond ? TUPLE_PLAIN : TUPLE_NO_COND, stop);
}

static bool is_target(const tk_jnode *node)
{
    if (node->kind == TK_J_TUPLE) {
        for (const tk_jnode *item = node->list; item != NULL; item = item->next) {
            if (!is_target(item)) {
                return false;
            }
        }
        return true;
    }
    return node->kind == TK_J_NAME;
}

tk_jnode *tk_jinja_target(tk_jparse *p, bool with_namespace, const char *stop)
{
    const tk_jtok *after = tk_jtok_peek(p);
    if (with_namespace && tk_jtok_now(p)->kind == TK_JTOK_NAME &&
        after->kind == TK_JTOK_OP && tk_str_is(after->text, ".")) {
        tk_jnode *node = tk_jnode_new(p, TK_J_NSREF);
        if (node == NULL || !tk_jtok_name(p, &node->text) || !tk_jtok_expect(p, ".") ||
            !tk_jtok_name(p, &node->attr)) {
            return NULL;
        }
        return node;
    }
    tk_jnode *node = parse_tuple(p, TUPLE_TARGET, stop);
    if (node != NULL && !is_target(node)) {
        tk_jinja_syntax(p, node->line, "can't assign to that");
        return NULL;
    }
    return node;
}
