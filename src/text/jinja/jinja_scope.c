/* What jinja2 decides when it compiles a template: which filters and tests exist, and
 * which names a scope hides from the data because it sets them (further down) before it
 * reads them. Scopes are those of the template, of a loop's body, of a macro and so on;
 * {% if %} opens none, and a name that is first set below an if is not hidden.
 * One walk per scope for its own names, then one per scope inside it. Names are searched
 * for from the front, which is fast for templates that people write: the others are
 * stopped by the number of names they compare. */
#include <string.h>

#include "base/mem.h"
#include "text/jinja/jinja_ast.h"

typedef struct name_use {
    tk_str name;
    bool is_hidden; /* set before it is read, and known to no scope around it */
} name_use;

typedef struct scope {
    const struct scope *parent;
    name_use *names;
    size_t n, cap;
    bool is_soft; /* inside an if: missing filters are an error only when they are used */
} scope;

static bool walk_list(tk_jparse *p, scope *s, tk_jnode *node);
static bool walk_expr(tk_jparse *p, scope *s, tk_jnode *node);
static bool open_scopes(tk_jparse *p, scope *s, tk_jnode *node);

/* Pays for what p->compared has grown to. */
static bool pay(tk_jparse *p)
{
    if (p->compared > TK_JINJA_MAX_COMPARED) {
        tk_err_set(p->err, TINKC_E_LIMIT, "template has too many names");
        return false;
    }
    return true;
}

static name_use *find(tk_jparse *p, const scope *s, tk_str name)
{
    size_t i = 0;
    while (i < s->n && s->names[i].name.p != name.p) {
        i++;
    }
    p->compared += i + 1;
    return i < s->n ? &s->names[i] : NULL;
}

/* find() for a name that is likely to be at `at`: an if compares all names of a scope
 * with all of each branch. */
static name_use *find_near(tk_jparse *p, const scope *s, size_t at, tk_str name)
{
    p->compared++;
    return at < s->n && s->names[at].name.p == name.p ? &s->names[at] : find(p, s, name);
}

static bool is_known_outside(tk_jparse *p, const scope *s, tk_str name)
{
    for (s = s->parent; s != NULL; s = s->parent) {
        if (find(p, s, name) != NULL) {
            return true;
        }
    }
    return false;
}

static bool add(tk_jparse *p, scope *s, name_use use)
{
    if (s->n == TK_JINJA_MAX_NAMES) {
        tk_err_set(p->err, TINKC_E_LIMIT, "template has too many names");
        return false;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 16 : s->cap * 2;
        name_use *names = tk_realloc_array(s->names, cap, sizeof(*names));
        if (names == NULL) {
            return tk_jinja_oom(p);
        }
        s->names = names;
        s->cap = cap;
    }
    s->names[s->n++] = use;
    return true;
}

/* A name that is not hidden: read first, or given by the scope itself. */
static bool declare(tk_jparse *p, scope *s, tk_str name)
{
    return add(p, s, (name_use){name, false});
}

static bool load(tk_jparse *p, scope *s, tk_str name)
{
    if (find(p, s, name) != NULL || is_known_outside(p, s, name)) {
        return pay(p);
    }
    return pay(p) && declare(p, s, name);
}

static bool store(tk_jparse *p, scope *s, tk_str name)
{
    if (find(p, s, name) != NULL) {
        return pay(p);
    }
    bool is_known = is_known_outside(p, s, name);
    return pay(p) && add(p, s, (name_use){name, !is_known});
}

static bool store_target(tk_jparse *p, scope *s, const tk_jnode *target)
{
    if (target->kind == TK_J_NAME) {
        return store(p, s, target->text);
    }
    if (target->kind == TK_J_NSREF) {
        return load(p, s, target->text);
    }
    for (const tk_jnode *item = target->list; item != NULL; item = item->next) {
        if (!store_target(p, s, item)) {
            return false;
        }
    }
    return true;
}

/* ---- expressions ---- */

static bool resolve(tk_jparse *p, const scope *s, tk_jnode *node)
{
    bool is_filter = node->kind == TK_J_FILTER;
    node->func =
        is_filter ? tk_jinja_find_filter(node->text) : tk_jinja_find_test(node->text);
    if (node->func == NULL && !s->is_soft && !tk_str_is(node->text, "from_json")) {
        return tk_jinja_syntax(p, node->line, "No %s named '" TK_STR_FMT "'.",
                               is_filter ? "filter" : "test", TK_STR_ARG(node->text));
    }
    return true;
}

static bool walk_exprs(tk_jparse *p, scope *s, tk_jnode *node)
{
    for (; node != NULL; node = node->next) {
        if (!walk_expr(p, s, node)) {
            return false;
        }
    }
    return true;
}

static bool walk_expr(tk_jparse *p, scope *s, tk_jnode *node)
{
    if (node == NULL) {
        return true;
    }
    if (node->kind == TK_J_NAME && !load(p, s, node->text)) {
        return false;
    }
    if (++p->depth > TK_JINJA_MAX_DEPTH) {
        return tk_jinja_refuse(p, TINKC_E_LIMIT, node->line, "expression is too long");
    }
    if ((node->kind == TK_J_FILTER || node->kind == TK_J_TEST) && !resolve(p, s, node)) {
        return false;
    }
    bool was_soft = s->is_soft;
    s->is_soft = was_soft || node->kind == TK_J_COND;
    bool ok = walk_expr(p, s, node->a) && walk_expr(p, s, node->b) &&
              walk_expr(p, s, node->c) && walk_expr(p, s, node->d) &&
              walk_exprs(p, s, node->list);
    s->is_soft = was_soft;
    p->depth--;
    return ok;
}

/* ---- statements that open no scope ---- */

static bool is_elif(const tk_jnode *node)
{
    return node != NULL && node->kind == TK_J_IF && node->flag;
}

/* Adds the name to those of all branches. `at` is its place in its branch: nearly always its
 * place in `all` too. */
static bool note_name(tk_jparse *p, scope *all, size_t at, name_use use)
{
    bool is_known = at < all->n && find_near(p, all, at, use.name) != NULL;
    return is_known || add(p, all, use);
}

/* Walks one branch as if there were no other after what came before the if. */
static bool walk_branch(tk_jparse *p, const scope *s, tk_jnode *body, scope *all)
{
    scope alone = {.parent = s->parent, .is_soft = true};
    bool ok = pay(p);
    for (size_t i = 0; ok && i < s->n; i++) {
        ok = add(p, &alone, s->names[i]);
    }
    ok = ok && walk_list(p, &alone, body);
    for (size_t i = 0; ok && i < alone.n; i++) {
        ok = note_name(p, all, i, alone.names[i]);
    }
    tk_free(alone.names);
    return ok;
}

/* Every branch sees what came before. A name that is first set in a branch, or in all of
 * them, may still come from outside: it is not hidden. */
static bool walk_if(tk_jparse *p, scope *s, tk_jnode *node)
{
    bool was_soft = s->is_soft;
    s->is_soft = true;
    scope all = {.parent = NULL};
    bool ok = true;
    for (tk_jnode *branch = node; ok && branch != NULL; branch = branch->other) {
        ok = walk_expr(p, s, branch->a) && walk_branch(p, s, branch->body, &all);
        if (!is_elif(branch->other)) {
            ok = ok && walk_branch(p, s, branch->other, &all);
            break;
        }
    }
    for (size_t i = 0; ok && i < all.n; i++) {
        tk_str name = all.names[i].name;
        ok = find_near(p, s, i, name) != NULL || declare(p, s, name);
    }
    tk_free(all.names);
    s->is_soft = was_soft;
    return ok;
}

static bool walk_stmt(tk_jparse *p, scope *s, tk_jnode *node)
{
    tk_jkind kind = node->kind;
    if (kind == TK_J_IF) {
        return walk_if(p, s, node);
    }
    if (kind == TK_J_FOR) {
        return walk_expr(p, s, node->b);
    }
    if (kind == TK_J_SET || kind == TK_J_SETBLOCK) {
        return walk_expr(p, s, node->b) && store_target(p, s, node->a);
    }
    if (kind == TK_J_MACRO) {
        return store(p, s, node->text);
    }
    if (kind == TK_J_WITH) {
        for (tk_jnode *var = node->list; var != NULL; var = var->next) {
            if (!walk_expr(p, s, var->a)) {
                return false;
            }
        }
        return true;
    }
    bool was_soft = s->is_soft;
    s->is_soft = was_soft && kind != TK_J_FILTERBLOCK;
    bool ok = walk_expr(p, s, node->a); /* of OUTPUT, CALLBLOCK, FILTERBLOCK */
    s->is_soft = was_soft;
    return ok;
}

static bool walk_list(tk_jparse *p, scope *s, tk_jnode *node)
{
    for (; node != NULL; node = node->next) {
        if (!walk_stmt(p, s, node)) {
            return false;
        }
    }
    return true;
}

/* ---- scopes inside ---- */

typedef struct opened {
    tk_jnode *body;
    const tk_jnode *target; /* loop variables, or NULL */
    const tk_jnode *params; /* of a macro or with, or NULL */
    tk_jnode *filter;       /* of a loop */
    const tk_str **hidden;
    size_t *n_hidden;
} opened;

static bool declare_params(tk_jparse *p, scope *s, const tk_jnode *param, bool defaults)
{
    for (const tk_jnode *at = param; at != NULL; at = at->next) {
        if (!declare(p, s, at->text)) {
            return false;
        }
    }
    for (const tk_jnode *at = param; defaults && at != NULL; at = at->next) {
        if (!walk_expr(p, s, at->a)) {
            return false;
        }
    }
    return true;
}

static bool keep_hidden(tk_jparse *p, const scope *s, const tk_str **out, size_t *n_out)
{
    tk_str *names = tk_arena_array(&p->tpl->arena, s->n + 1, sizeof(*names));
    if (names == NULL) {
        return tk_jinja_oom(p);
    }
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->names[i].is_hidden) {
            names[n++] = s->names[i].name;
        }
    }
    *out = names;
    *n_out = n;
    return true;
}

static bool open_one(tk_jparse *p, const scope *parent, const opened *o, bool is_macro)
{
    scope s = {.parent = parent};
    bool ok = true;
    if (o->target != NULL) {
        ok = store_target(p, &s, o->target) && declare(p, &s, p->tpl->loop);
        for (size_t i = 0; ok && i < s.n; i++) {
            s.names[i].is_hidden = false; /* every round sets them */
        }
    }
    ok = ok && walk_expr(p, &s, o->filter) &&
         declare_params(p, &s, o->params, is_macro) &&
         (!is_macro ||
          (declare(p, &s, p->tpl->varargs) && declare(p, &s, p->tpl->kwargs) &&
           declare(p, &s, p->tpl->caller))) &&
         walk_list(p, &s, o->body) && keep_hidden(p, &s, o->hidden, o->n_hidden) &&
         open_scopes(p, &s, o->body);
    tk_free(s.names);
    return ok;
}

static bool mentions(tk_jparse *p, const tk_jnode *node, const char *name)
{
    for (; node != NULL; node = node->next) {
        const tk_jnode *at = node;
        bool more;
        do { /* a chain of elif may be longer than the stack is deep */
            more = is_elif(at->other);
            p->compared++;
            if ((at->kind == TK_J_NAME && tk_str_is(at->text, name)) ||
                mentions(p, at->a, name) || mentions(p, at->b, name) ||
                mentions(p, at->c, name) || mentions(p, at->d, name) ||
                mentions(p, at->list, name) || mentions(p, at->body, name) ||
                (!more && mentions(p, at->other, name))) {
                return true;
            }
            at = at->other;
        } while (more);
    }
    return false;
}

static bool open_stmt(tk_jparse *p, const scope *s, tk_jnode *node)
{
    opened o = {.body = node->body, .hidden = &node->hidden, .n_hidden = &node->n_hidden};
    bool is_macro = node->kind == TK_J_MACRO || node->kind == TK_J_CALLBLOCK;
    if (node->kind == TK_J_FOR) {
        o.target = node->a;
        o.filter = node->c;
        opened other = {.body = node->other,
                        .hidden = &node->hidden_else,
                        .n_hidden = &node->n_hidden_else};
        return open_one(p, s, &o, false) && open_one(p, s, &other, false);
    }
    if (is_macro || node->kind == TK_J_WITH) {
        o.params = node->list;
    }
    if (!open_one(p, s, &o, is_macro)) {
        return false;
    }
    if (is_macro) { /* only now is it known that the tree is not too deep to search */
        node->flag = mentions(p, node->body, "varargs");
        node->uses_kwargs = mentions(p, node->body, "kwargs");
        node->uses_caller = mentions(p, node->body, "caller");
    }
    return pay(p);
}

static bool opens_scope(const tk_jnode *node)
{
    tk_jkind kind = node->kind;
    return kind == TK_J_FOR || kind == TK_J_MACRO || kind == TK_J_CALLBLOCK ||
           kind == TK_J_FILTERBLOCK || kind == TK_J_SETBLOCK || kind == TK_J_WITH ||
           kind == TK_J_GENERATION;
}

static bool open_branches(tk_jparse *p, scope *s, tk_jnode *branch)
{
    while (branch != NULL) {
        if (!open_scopes(p, s, branch->body)) {
            return false;
        }
        if (!is_elif(branch->other)) {
            return open_scopes(p, s, branch->other);
        }
        branch = branch->other;
    }
    return true;
}

static bool open_scopes(tk_jparse *p, scope *s, tk_jnode *node)
{
    for (; node != NULL; node = node->next) {
        if (node->kind == TK_J_IF ? !open_branches(p, s, node)
                                  : opens_scope(node) && !open_stmt(p, s, node)) {
            return false;
        }
    }
    return true;
}

bool tk_jinja_scope(tk_jparse *p)
{
    scope root = {.parent = NULL};
    p->depth = 0;
    bool ok = walk_list(p, &root, p->tpl->body) &&
              keep_hidden(p, &root, &p->tpl->hidden, &p->tpl->n_hidden) &&
              open_scopes(p, &root, p->tpl->body);
    tk_free(root.names);
    return ok;
}
