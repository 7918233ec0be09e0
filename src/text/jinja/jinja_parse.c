/* Statements of a template to syntax tree, and the template object. Tags of jinja2 that
 * need a loader (include, import, extends, block) are refused by name. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/jinja/jinja_ast.h"

/* ---- shared by lexer and parsers ---- */

static bool fail(tk_jparse *p, tinkc_code code, int line, const char *format,
                 va_list list) TK_PRINTF(4, 0);

static bool fail(tk_jparse *p, tinkc_code code, int line, const char *format,
                 va_list list)
{
    char text[200];
    (void)vsnprintf(text, sizeof(text), format, list);
    tk_err_set(p->err, code, "template line %d: %s", line, text);
    return false;
}

bool tk_jinja_syntax(tk_jparse *p, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(p, TINKC_E_PARSE, line, format, list);
    va_end(list);
    return false;
}

bool tk_jinja_refuse(tk_jparse *p, tinkc_code code, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(p, code, line, format, list);
    va_end(list);
    return false;
}

bool tk_jinja_nest(tk_jparse *p, const char *what)
{
    return ++p->depth <= TK_JINJA_MAX_NESTING ||
           tk_jinja_refuse(p, TINKC_E_LIMIT, p->line, "%s nested too deep", what);
}

bool tk_jinja_oom(tk_jparse *p)
{
    const tk_arena *arena = &p->tpl->arena;
    if (arena->used_bytes > arena->max_bytes - TK_JINJA_SOURCE_MAX_BYTES) {
        tk_err_set(p->err, TINKC_E_LIMIT, "template is too large");
    } else {
        tk_err_nomem(p->err);
    }
    return false;
}

bool tk_jinja_intern(tk_jparse *p, tk_str *name)
{
    tk_str *known = tk_map_get(&p->tpl->names, *name);
    if (known != NULL) {
        *name = *known;
        return true;
    }
    tk_str *copy = tk_arena_alloc(&p->tpl->arena, sizeof(*copy));
    if (copy == NULL || !tk_arena_dup(&p->tpl->arena, copy, name->p, name->n)) {
        return tk_jinja_oom(p);
    }
    if (tk_map_put(&p->tpl->names, *copy, copy, p->err) != TINKC_OK) {
        return false;
    }
    *name = *copy;
    return true;
}

tk_jnode *tk_jnode_new(tk_jparse *p, tk_jkind kind)
{
    tk_jnode *node = tk_arena_zalloc(&p->tpl->arena, sizeof(*node));
    if (node == NULL) {
        tk_jinja_oom(p);
        return NULL;
    }
    node->kind = kind;
    node->line = p->line;
    return node;
}

void tk_jnode_append(tk_jnode ***tail, tk_jnode *node)
{
    **tail = node;
    *tail = &node->next;
}

tk_jnode *tk_jnode_make(tk_jparse *p, tk_jkind kind, tk_jnode *a, tk_jnode *b)
{
    tk_jnode *node = tk_jnode_new(p, kind);
    if (node != NULL) {
        node->a = a;
        node->b = b;
    }
    return node;
}

const tk_jtok *tk_jtok_now(const tk_jparse *p)
{
    return &p->toks[p->at];
}

const tk_jtok *tk_jtok_peek(const tk_jparse *p)
{
    return &p->toks[p->at + 1 < p->n_toks ? p->at + 1 : p->at];
}

void tk_jtok_next(tk_jparse *p)
{
    if (p->at + 1 < p->n_toks) {
        p->at++;
    }
    p->line = p->toks[p->at].line;
}

bool tk_jtok_is(const tk_jparse *p, const char *op)
{
    return tk_jtok_now(p)->kind == TK_JTOK_OP && tk_str_is(tk_jtok_now(p)->text, op);
}

bool tk_jtok_word(const tk_jparse *p, const char *word)
{
    return tk_jtok_now(p)->kind == TK_JTOK_NAME && tk_str_is(tk_jtok_now(p)->text, word);
}

bool tk_jtok_skip(tk_jparse *p, const char *op)
{
    bool is = tk_jtok_is(p, op);
    if (is) {
        tk_jtok_next(p);
    }
    return is;
}

bool tk_jtok_skip_word(tk_jparse *p, const char *word)
{
    bool is = tk_jtok_word(p, word);
    if (is) {
        tk_jtok_next(p);
    }
    return is;
}

bool tk_jtok_unexpected(tk_jparse *p, const char *wanted)
{
    const tk_jtok *t = tk_jtok_now(p);
    static const char *const names[] = {"end of template",
                                        "template data",
                                        "begin of statement block",
                                        "end of statement block",
                                        "begin of print statement",
                                        "end of print statement",
                                        "",
                                        "a string",
                                        "an integer",
                                        "a float",
                                        ""};
    const char *what = names[t->kind];
    char text[80];
    (void)snprintf(text, sizeof(text), "'%.*s'", (int)TK_MIN(t->text.n, (size_t)60),
                   t->text.p != NULL ? t->text.p : "");
    if (what[0] == '\0') {
        what = text;
    }
    return wanted != NULL
               ? tk_jinja_syntax(p, t->line, "expected %s, got %s", wanted, what)
               : tk_jinja_syntax(p, t->line, "unexpected %s", what);
}

bool tk_jtok_expect(tk_jparse *p, const char *op)
{
    char wanted[8];
    (void)snprintf(wanted, sizeof(wanted), "'%s'", op);
    return tk_jtok_skip(p, op) || tk_jtok_unexpected(p, wanted);
}

bool tk_jtok_name(tk_jparse *p, tk_str *out)
{
    if (tk_jtok_now(p)->kind != TK_JTOK_NAME) {
        return tk_jtok_unexpected(p, "a name");
    }
    *out = tk_jtok_now(p)->text;
    tk_jtok_next(p);
    return true;
}

/* ---- statements ---- */

/* Statements up to a block that starts with one of the words of `ends` (separated by
 * blanks), whose word is the current token then; ends NULL: up to the end of the
 * source. */
static bool parse_body(tk_jparse *p, tk_jnode **first, const char *ends);

static bool is_word_of(tk_str word, const char *words)
{
    tk_str rest = tk_str_of(words);
    while (rest.p != NULL) {
        if (tk_str_eq(tk_str_cut(&rest, ' '), word)) {
            return true;
        }
    }
    return false;
}

static bool expect_kind(tk_jparse *p, tk_jtok_kind kind, const char *what)
{
    if (tk_jtok_now(p)->kind != kind) {
        return tk_jtok_unexpected(p, what);
    }
    tk_jtok_next(p);
    return true;
}

static bool expect_word(tk_jparse *p, const char *word)
{
    return tk_jtok_skip_word(p, word) || tk_jtok_unexpected(p, word);
}

/* "%}", statements, and the word that ends them. */
static bool parse_block(tk_jparse *p, tk_jnode **body, const char *end)
{
    return expect_kind(p, TK_JTOK_BLOCK_END, "end of statement block") &&
           parse_body(p, body, end) && expect_word(p, end);
}

static bool parse_if(tk_jparse *p, tk_jnode *node)
{
    node->a = tk_jinja_tuple(p, false, NULL);
    if (node->a == NULL || !expect_kind(p, TK_JTOK_BLOCK_END, "end of statement block") ||
        !parse_body(p, &node->body, "elif else endif")) {
        return false;
    }
    while (tk_jtok_skip_word(p, "elif")) {
        tk_jnode *branch = tk_jnode_new(p, TK_J_IF);
        if (branch == NULL || (branch->a = tk_jinja_tuple(p, false, NULL)) == NULL ||
            !expect_kind(p, TK_JTOK_BLOCK_END, "end of statement block") ||
            !parse_body(p, &branch->body, "elif else endif")) {
            return false;
        }
        branch->flag = true;
        node->other = branch;
        node = branch;
    }
    return tk_jtok_skip_word(p, "else") ? parse_block(p, &node->other, "endif")
                                        : expect_word(p, "endif");
}

static bool parse_for(tk_jparse *p, tk_jnode *node)
{
    node->a = tk_jinja_target(p, false, "in");
    if (node->a != NULL && node->a->kind == TK_J_NAME &&
        tk_str_is(node->a->text, "loop")) {
        return tk_jinja_syntax(
            p, node->line, "Can't assign to special loop variable in for-loop target");
    }
    if (node->a == NULL || !expect_word(p, "in") ||
        (node->b = tk_jinja_tuple(p, false, "recursive")) == NULL) {
        return false;
    }
    if (tk_jtok_skip_word(p, "if") && (node->c = tk_jinja_expr(p, true)) == NULL) {
        return false;
    }
    node->flag = tk_jtok_skip_word(p, "recursive");
    if (!expect_kind(p, TK_JTOK_BLOCK_END, "end of statement block") ||
        (p->loops++, !parse_body(p, &node->body, "endfor else"))) {
        return false;
    }
    p->loops--;
    return tk_jtok_skip_word(p, "else") ? parse_block(p, &node->other, "endfor")
                                        : expect_word(p, "endfor");
}

static bool parse_set(tk_jparse *p, tk_jnode *node)
{
    node->a = tk_jinja_target(p, true, NULL);
    if (node->a == NULL) {
        return false;
    }
    if (tk_jtok_skip(p, "=")) {
        node->b = tk_jinja_tuple(p, true, NULL);
        return node->b != NULL;
    }
    node->kind = TK_J_SETBLOCK;
    if (tk_jtok_is(p, "|") && (node->b = tk_jinja_filters(p, NULL, false)) == NULL) {
        return false;
    }
    return parse_block(p, &node->body, "endset");
}

/* "(a, b=1)" */
static bool parse_signature(tk_jparse *p, tk_jnode **list)
{
    tk_jnode **tail = list;
    bool has_default = false;
    if (!tk_jtok_expect(p, "(")) {
        return false;
    }
    while (!tk_jtok_is(p, ")")) {
        if (*list != NULL && !tk_jtok_expect(p, ",")) {
            return false;
        }
        tk_jnode *param = tk_jnode_new(p, TK_J_NAME);
        if (param == NULL || !tk_jtok_name(p, &param->text)) {
            return false;
        }
        if (tk_jtok_skip(p, "=")) {
            has_default = true;
            if ((param->a = tk_jinja_expr(p, true)) == NULL) {
                return false;
            }
        } else if (has_default) {
            return tk_jinja_syntax(p, p->line,
                                   "non-default argument follows default argument");
        }
        *tail = param;
        tail = &param->next;
    }
    return tk_jtok_expect(p, ")");
}

/* A body that becomes a function in jinja2: break cannot leave it. */
static bool parse_function(tk_jparse *p, tk_jnode *node, const char *end)
{
    int loops = p->loops;
    p->loops = 0;
    bool ok = parse_block(p, &node->body, end);
    p->loops = loops;
    return ok;
}

static bool parse_macro(tk_jparse *p, tk_jnode *node)
{
    return tk_jtok_name(p, &node->text) && parse_signature(p, &node->list) &&
           parse_function(p, node, "endmacro");
}

static bool parse_callblock(tk_jparse *p, tk_jnode *node)
{
    if (tk_jtok_is(p, "(") && !parse_signature(p, &node->list)) {
        return false;
    }
    node->a = tk_jinja_expr(p, true);
    if (node->a == NULL) {
        return false;
    }
    if (node->a->kind != TK_J_CALL) {
        return tk_jinja_syntax(p, node->line, "expected call");
    }
    return parse_function(p, node, "endcall");
}

static bool parse_filterblock(tk_jparse *p, tk_jnode *node)
{
    node->a = tk_jinja_filters(p, NULL, true);
    return node->a != NULL && parse_block(p, &node->body, "endfilter");
}

static bool parse_with(tk_jparse *p, tk_jnode *node)
{
    tk_jnode **tail = &node->list;
    while (tk_jtok_now(p)->kind != TK_JTOK_BLOCK_END) {
        if (node->list != NULL && !tk_jtok_expect(p, ",")) {
            return false;
        }
        tk_jnode *var = tk_jnode_new(p, TK_J_NAME);
        if (var == NULL || !tk_jtok_name(p, &var->text) || !tk_jtok_expect(p, "=") ||
            (var->a = tk_jinja_expr(p, true)) == NULL) {
            return false;
        }
        *tail = var;
        tail = &var->next;
    }
    return parse_block(p, &node->body, "endwith");
}

/* Values between commas, printed one after the other. */
static bool parse_print(tk_jparse *p, tk_jnode *node)
{
    node->a = tk_jinja_tuple(p, true, NULL);
    if (node->a != NULL && node->a->kind == TK_J_TUPLE && !node->a->flag) {
        node->a->kind = TK_J_CONCAT;
    }
    return node->a != NULL;
}

static bool parse_generation(tk_jparse *p, tk_jnode *node)
{
    p->tpl->has_generation = true;
    return parse_function(p, node, "endgeneration");
}

static bool parse_jump(tk_jparse *p, tk_jnode *node)
{
    return p->loops > 0 ||
           tk_jinja_syntax(p, node->line, "break or continue outside a loop");
}

static const struct {
    const char *word;
    tk_jkind kind;
    bool (*parse)(tk_jparse *p, tk_jnode *node);
} statements[] = {
    {"if", TK_J_IF, parse_if},
    {"for", TK_J_FOR, parse_for},
    {"set", TK_J_SET, parse_set},
    {"macro", TK_J_MACRO, parse_macro},
    {"generation", TK_J_GENERATION, parse_generation},
    {"break", TK_J_BREAK, parse_jump},
    {"continue", TK_J_CONTINUE, parse_jump},
    {"call", TK_J_CALLBLOCK, parse_callblock},
    {"filter", TK_J_FILTERBLOCK, parse_filterblock},
    {"with", TK_J_WITH, parse_with},
    {"print", TK_J_OUTPUT, parse_print},
};

/* The word after "{%" is the current token. */
static tk_jnode *parse_statement(tk_jparse *p)
{
    tk_str word;
    if (!tk_jtok_name(p, &word)) {
        return NULL;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(statements); i++) {
        if (tk_str_is(word, statements[i].word)) {
            tk_jnode *node = tk_jnode_new(p, statements[i].kind);
            return node != NULL && statements[i].parse(p, node) ? node : NULL;
        }
    }
    if (is_word_of(word, "include import extends block from autoescape")) {
        tk_jinja_refuse(p, TINKC_E_UNSUPPORTED, p->line,
                        "{%% " TK_STR_FMT " %%} is not supported", TK_STR_ARG(word));
        return NULL;
    }
    tk_jinja_syntax(p, p->line, "Encountered unknown tag '" TK_STR_FMT "'.",
                    TK_STR_ARG(word));
    return NULL;
}

/* One piece of a body; *done when it is the tag that ends it. */
static tk_jnode *parse_piece(tk_jparse *p, const char *ends, bool *done)
{
    const tk_jtok *t = tk_jtok_now(p);
    tk_jnode *node = NULL;
    if (t->kind == TK_JTOK_DATA) {
        node = tk_jnode_new(p, TK_J_DATA);
        if (node != NULL) {
            node->text = t->text;
            tk_jtok_next(p);
        }
        return node;
    }
    if (t->kind == TK_JTOK_VAR_BEGIN) {
        tk_jtok_next(p);
        node = tk_jnode_new(p, TK_J_OUTPUT);
        bool ok = node != NULL && (node->a = tk_jinja_tuple(p, true, NULL)) != NULL &&
                  expect_kind(p, TK_JTOK_VAR_END, "end of print statement");
        return ok ? node : NULL;
    }
    tk_jtok_next(p); /* "{%" */
    if (ends != NULL && tk_jtok_now(p)->kind == TK_JTOK_NAME &&
        is_word_of(tk_jtok_now(p)->text, ends)) {
        *done = true;
        return NULL;
    }
    node = parse_statement(p);
    return node != NULL && expect_kind(p, TK_JTOK_BLOCK_END, "end of statement block")
               ? node
               : NULL;
}

static bool parse_body(tk_jparse *p, tk_jnode **first, const char *ends)
{
    if (!tk_jinja_nest(p, "blocks")) {
        return false;
    }
    tk_jnode **tail = first;
    bool done = false;
    while (tk_jtok_now(p)->kind != TK_JTOK_EOF) {
        tk_jnode *node = parse_piece(p, ends, &done);
        if (done) {
            break;
        }
        if (node == NULL) {
            return false;
        }
        *tail = node;
        tail = &node->next;
    }
    p->depth--;
    if (!done && ends != NULL) {
        return tk_jinja_syntax(p, p->line, "unexpected end of template, expected %s",
                               ends);
    }
    return true;
}

/* ---- the template ---- */

static bool parse_all(tk_jparse *p, tk_str source)
{
    tk_jinja *tpl = p->tpl;
    tpl->varargs = TK_STR("varargs");
    tpl->kwargs = TK_STR("kwargs");
    tpl->caller = TK_STR("caller");
    tpl->loop = TK_STR("loop");
    return tk_jinja_intern(p, &tpl->varargs) && tk_jinja_intern(p, &tpl->kwargs) &&
           tk_jinja_intern(p, &tpl->caller) && tk_jinja_intern(p, &tpl->loop) &&
           tk_jinja_lex(p, source) && parse_body(p, &p->tpl->body, NULL) &&
           tk_jinja_scope(p);
}

tinkc_code tk_jinja_parse(tk_jinja **out, tk_str source, tk_err *err)
{
    tk_err local = TK_ERR_INIT;
    if (err == NULL) {
        err = &local;
    }
    if (source.n > TK_JINJA_SOURCE_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "template is larger than %zu bytes",
                          TK_JINJA_SOURCE_MAX_BYTES);
    }
    size_t valid = tk_utf8_valid_prefix(source.p, source.n);
    if (valid < source.n) {
        return tk_err_at(err, TINKC_E_PARSE, valid, "template is not UTF-8");
    }
    tk_jinja *tpl = tk_zalloc(sizeof(*tpl));
    if (tpl == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&tpl->arena, TK_JINJA_TREE_MAX_BYTES);
    tk_map_init(&tpl->names, TK_MAP_BORROW_KEYS);
    tk_jparse p = {.tpl = tpl, .line = 1, .err = err};
    bool ok = parse_all(&p, source);
    tk_free(p.toks);
    tk_map_dispose(&tpl->names);
    if (!ok) {
        tk_jinja_free(tpl);
        return err->code;
    }
    *out = tpl;
    return TINKC_OK;
}

void tk_jinja_free(tk_jinja *tpl)
{
    if (tpl != NULL) {
        tk_arena_dispose(&tpl->arena);
        tk_free(tpl);
    }
}

bool tk_jinja_has_generation(const tk_jinja *tpl)
{
    return tpl->has_generation;
}
