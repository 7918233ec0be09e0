/* Operators of a template's expressions to syntax tree, with jinja2's order of
 * precedence: condition, or, and, not, comparison, + -, ~, * / // %, **, then the
 * operands of jinja_operand.c. */
#include "text/jinja/jinja_ast.h"

static int binary_op(const tk_jparse *p, const char *const *ops)
{
    for (; *ops != NULL; ops++) {
        if (tk_jtok_is(p, *ops)) {
            bool is_double = (*ops)[1] != '\0';
            return !is_double         ? (*ops)[0]
                   : (*ops)[0] == '/' ? TK_JOP_FLOORDIV
                                      : TK_JOP_POW;
        }
    }
    return 0;
}

/* Operands of `next` with the operators of `ops` between them, from left to right. */
static tk_jnode *parse_chain(tk_jparse *p, const char *const *ops,
                             tk_jnode *(*next)(tk_jparse *p))
{
    tk_jnode *left = next(p);
    for (int op; left != NULL && (op = binary_op(p, ops)) != 0;) {
        tk_jtok_next(p);
        tk_jnode *right = next(p);
        left = right != NULL ? tk_jnode_make(p, TK_J_BINARY, left, right) : NULL;
        if (left != NULL) {
            left->op = op;
        }
    }
    return left;
}

static tk_jnode *parse_unary(tk_jparse *p)
{
    return tk_jinja_unary(p, true);
}

static tk_jnode *parse_pow(tk_jparse *p)
{
    static const char *const ops[] = {"**", NULL};
    return parse_chain(p, ops, parse_unary);
}

static tk_jnode *parse_product(tk_jparse *p)
{
    static const char *const ops[] = {"*", "/", "//", "%", NULL};
    return parse_chain(p, ops, parse_pow);
}

static tk_jnode *parse_concat(tk_jparse *p)
{
    tk_jnode *first = parse_product(p);
    if (first == NULL || !tk_jtok_is(p, "~")) {
        return first;
    }
    tk_jnode *node = tk_jnode_new(p, TK_J_CONCAT);
    if (node == NULL) {
        return NULL;
    }
    tk_jnode **tail = &node->list;
    tk_jnode_append(&tail, first);
    while (tk_jtok_skip(p, "~")) {
        tk_jnode *item = parse_product(p);
        if (item == NULL) {
            return NULL;
        }
        tk_jnode_append(&tail, item);
    }
    return node;
}

static tk_jnode *parse_sum(tk_jparse *p)
{
    static const char *const ops[] = {"+", "-", NULL};
    return parse_chain(p, ops, parse_concat);
}

/* The comparison at the current token, which is skipped; 0 when there is none. */
static int compare_op(tk_jparse *p)
{
    static const struct {
        const char *text;
        int op;
    } ops[] = {{"==", TK_JOP_EQ}, {"!=", TK_JOP_NE}, {"<=", TK_JOP_LE},
               {">=", TK_JOP_GE}, {"<", '<'},        {">", '>'}};
    for (size_t i = 0; i < TK_ARRAY_LEN(ops); i++) {
        if (tk_jtok_skip(p, ops[i].text)) {
            return ops[i].op;
        }
    }
    if (tk_jtok_skip_word(p, "in")) {
        return TK_JOP_IN;
    }
    const tk_jtok *after = tk_jtok_peek(p);
    if (tk_jtok_word(p, "not") && after->kind == TK_JTOK_NAME &&
        tk_str_is(after->text, "in")) {
        tk_jtok_next(p);
        tk_jtok_next(p);
        return TK_JOP_NOTIN;
    }
    return 0;
}

static tk_jnode *parse_compare(tk_jparse *p)
{
    tk_jnode *left = parse_sum(p);
    tk_jnode *node = NULL, **tail = NULL;
    for (int op; left != NULL && (op = compare_op(p)) != 0;) {
        if (node == NULL) {
            node = tk_jnode_make(p, TK_J_COMPARE, left, NULL);
            if (node == NULL) {
                return NULL;
            }
            tail = &node->list;
        }
        tk_jnode *operand = tk_jnode_make(p, TK_J_OPERAND, parse_sum(p), NULL);
        if (operand == NULL || operand->a == NULL) {
            return NULL;
        }
        operand->op = op;
        tk_jnode_append(&tail, operand);
    }
    return node != NULL ? node : left;
}

static tk_jnode *parse_not(tk_jparse *p)
{
    if (!tk_jtok_skip_word(p, "not")) {
        return parse_compare(p);
    }
    if (!tk_jinja_nest(p, "expressions")) {
        return NULL;
    }
    tk_jnode *inner = parse_not(p);
    p->depth--;
    return inner != NULL ? tk_jnode_make(p, TK_J_NOT, inner, NULL) : NULL;
}

static tk_jnode *parse_and(tk_jparse *p)
{
    tk_jnode *left = parse_not(p);
    while (left != NULL && tk_jtok_skip_word(p, "and")) {
        tk_jnode *right = parse_not(p);
        left = right != NULL ? tk_jnode_make(p, TK_J_AND, left, right) : NULL;
    }
    return left;
}

static tk_jnode *parse_or(tk_jparse *p)
{
    tk_jnode *left = parse_and(p);
    while (left != NULL && tk_jtok_skip_word(p, "or")) {
        tk_jnode *right = parse_and(p);
        left = right != NULL ? tk_jnode_make(p, TK_J_OR, left, right) : NULL;
    }
    return left;
}

tk_jnode *tk_jinja_expr(tk_jparse *p, bool with_cond)
{
    if (!tk_jinja_nest(p, "expressions")) {
        return NULL;
    }
    tk_jnode *node = parse_or(p);
    while (with_cond && node != NULL && tk_jtok_skip_word(p, "if")) {
        tk_jnode *test = parse_or(p);
        tk_jnode *cond = test != NULL ? tk_jnode_make(p, TK_J_COND, test, node) : NULL;
        if (cond != NULL && tk_jtok_skip_word(p, "else")) {
            cond->c = tk_jinja_expr(p, true);
            cond = cond->c != NULL ? cond : NULL;
        }
        node = cond;
    }
    p->depth--;
    return node;
}
