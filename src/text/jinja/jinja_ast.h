/* Tokens and syntax tree of a template: made by jinja_lex.c, jinja_parse.c, jinja_expr.c
 * and jinja_operand.c, annotated by jinja_scope.c, walked by jinja_eval.c and
 * jinja_exec.c. All of it lives in the template's arena; names are interned, so equal
 * names are equal pointers. Immutable once parsed. */
#ifndef TEXT_JINJA_AST_H
#define TEXT_JINJA_AST_H

#include "base/arena.h"
#include "base/map.h"
#include "text/jinja/jinja.h"

typedef enum tk_jtok_kind {
    TK_JTOK_EOF,
    TK_JTOK_DATA,
    TK_JTOK_BLOCK_BEGIN,
    TK_JTOK_BLOCK_END,
    TK_JTOK_VAR_BEGIN,
    TK_JTOK_VAR_END,
    TK_JTOK_NAME,
    TK_JTOK_STRING,
    TK_JTOK_INT,
    TK_JTOK_FLOAT,
    TK_JTOK_OP /* one of the operators, as text */
} tk_jtok_kind;

typedef struct tk_jtok {
    tk_jtok_kind kind;
    int line;
    tk_str text; /* DATA, NAME (interned), STRING (unescaped), OP */
    int64_t integer;
    double real;
} tk_jtok;

typedef enum tk_jkind {
    /* statements */
    TK_J_OUTPUT,      /* a: expression */
    TK_J_DATA,        /* text */
    TK_J_IF,          /* a: test, body, other: else */
    TK_J_FOR,         /* a: target, b: iterable, c: filter or NULL, body, other */
    TK_J_SET,         /* a: target, b: value */
    TK_J_SETBLOCK,    /* a: target, b: filter chain or NULL, body */
    TK_J_MACRO,       /* text: name, list: parameters (NAME with a: default), body */
    TK_J_CALLBLOCK,   /* a: call, list: parameters, body */
    TK_J_FILTERBLOCK, /* a: filter chain, body */
    TK_J_WITH,        /* list: ARG-like NAME with a: value; body */
    TK_J_GENERATION,  /* body */
    TK_J_BREAK,
    TK_J_CONTINUE,
    /* expressions */
    TK_J_NONE,
    TK_J_BOOL,
    TK_J_INT,
    TK_J_FLOAT,
    TK_J_STRING,
    TK_J_NAME,  /* text */
    TK_J_NSREF, /* text: name, attr */
    TK_J_LIST,  /* list */
    TK_J_TUPLE,
    TK_J_DICT, /* list: key, value, key, value ... */
    TK_J_COND, /* a: test, b: then, c: else or NULL */
    TK_J_OR,   /* a, b */
    TK_J_AND,
    TK_J_NOT,     /* a */
    TK_J_COMPARE, /* a, list: right sides with op */
    TK_J_BINARY,  /* a, b, op */
    TK_J_NEGATE,  /* a */
    TK_J_PLUS,    /* a */
    TK_J_CONCAT,  /* list */
    TK_J_ATTR,    /* a, text */
    TK_J_ITEM,    /* a, b */
    TK_J_SLICE,   /* a; b, c, d: bounds or NULL */
    TK_J_CALL,    /* a, list: arguments */
    TK_J_FILTER,  /* a (NULL: what a block gave), text, list: arguments, func */
    TK_J_TEST,    /* a, text, list: arguments, func */
    TK_J_OPERAND, /* in COMPARE: a, op */
    TK_J_ARG      /* a; text: keyword or empty; op: 0, '*', or 'D' for two stars */
} tk_jkind;

/* Operators of BINARY and OPERAND beyond the characters + - * / % < >. */
enum {
    TK_JOP_FLOORDIV = 256,
    TK_JOP_POW,
    TK_JOP_EQ,
    TK_JOP_NE,
    TK_JOP_LE,
    TK_JOP_GE,
    TK_JOP_IN,
    TK_JOP_NOTIN
};

typedef struct tk_jnode tk_jnode;

struct tk_jnode {
    tk_jkind kind;
    int line;
    int op;
    bool
        flag; /* BOOL: value; MACRO: uses varargs; FOR: recursive; IF: an elif; TUPLE: has
                  parentheses */
    bool uses_kwargs, uses_caller; /* MACRO, CALLBLOCK */
    tk_str text, attr;
    tk_jnode *a, *b, *c, *d;
    tk_jnode *list;  /* first of several, linked by next */
    tk_jnode *body;  /* statements, linked by next */
    tk_jnode *other; /* statements */
    tk_jnode *next;
    const void *func; /* FILTER, TEST: what the name means; NULL = nothing */
    int64_t integer;
    double real;
    /* Names that a scope opened by this node hides from the data, though they are set
     * only further down: jinja2 decides that when it compiles. */
    const tk_str *hidden;
    size_t n_hidden;
    const tk_str *hidden_else; /* FOR: of the else part */
    size_t n_hidden_else;
};

struct tk_jinja {
    tk_arena arena;
    tk_map names; /* interned; keys live in the arena */
    tk_jnode *body;
    const tk_str *hidden; /* as in tk_jnode, for the outermost scope */
    size_t n_hidden;
    bool has_generation;
    tk_str varargs, kwargs, caller, loop; /* interned: names that exist undeclared */
};

/* What the parser works on. */
typedef struct tk_jparse {
    tk_jinja *tpl;
    tk_jtok *toks;
    size_t n_toks, cap_toks;
    size_t at;
    int depth;
    int loops; /* around the current statement */
    int line;
    uint64_t compared; /* names, by jinja_scope.c */
    tk_err *err;
} tk_jparse;

/* All of these return false or NULL with p->err set. */
TK_NODISCARD bool tk_jinja_lex(tk_jparse *p, tk_str source);
TK_NODISCARD bool tk_jinja_intern(tk_jparse *p, tk_str *name);
bool tk_jinja_syntax(tk_jparse *p, int line, const char *format, ...) TK_PRINTF(3, 4);
/* With another code than TINKC_E_PARSE. */
bool tk_jinja_refuse(tk_jparse *p, tinkc_code code, int line, const char *format, ...)
    TK_PRINTF(4, 5);
/* One level deeper; the caller lowers p->depth again. `what`: "blocks". */
TK_NODISCARD bool tk_jinja_nest(tk_jparse *p, const char *what);
bool tk_jinja_oom(tk_jparse *p); /* no memory, or the template's arena is full */

TK_NODISCARD tk_jnode *tk_jnode_new(tk_jparse *p, tk_jkind kind);
TK_NODISCARD tk_jnode *tk_jnode_make(tk_jparse *p, tk_jkind kind, tk_jnode *a,
                                     tk_jnode *b);
/* Puts `node` at the end of a list whose last link is *tail. */
void tk_jnode_append(tk_jnode ***tail, tk_jnode *node);
bool tk_jtok_is(const tk_jparse *p, const char *op); /* current token is that operator */
bool tk_jtok_word(const tk_jparse *p, const char *word); /* ... is that name */
bool tk_jtok_skip(tk_jparse *p, const char *op);
bool tk_jtok_skip_word(tk_jparse *p, const char *word);
bool tk_jtok_expect(tk_jparse *p, const char *op);
const tk_jtok *tk_jtok_now(const tk_jparse *p);
const tk_jtok *tk_jtok_peek(const tk_jparse *p); /* the next one */
void tk_jtok_next(tk_jparse *p);
bool tk_jtok_unexpected(tk_jparse *p, const char *wanted);
TK_NODISCARD bool tk_jtok_name(tk_jparse *p, tk_str *out);

/* `with_cond`: whether "a if b else c" may be there without parentheses. */
TK_NODISCARD tk_jnode *tk_jinja_expr(tk_jparse *p, bool with_cond);
/* An operand with its sign, and with the filters and tests after it if `with_filter`. */
TK_NODISCARD tk_jnode *tk_jinja_unary(tk_jparse *p, bool with_filter);
/* An expression or a tuple without parentheses; `stop` is a word that ends it, or
 * NULL. */
TK_NODISCARD tk_jnode *tk_jinja_tuple(tk_jparse *p, bool with_cond, const char *stop);
/* Names that are assigned to: a, or "a, b". */
TK_NODISCARD tk_jnode *tk_jinja_target(tk_jparse *p, bool with_namespace,
                                       const char *stop);
/* Filters after `node`; starts at "|", or at a name when `inline_name`. */
TK_NODISCARD tk_jnode *tk_jinja_filters(tk_jparse *p, tk_jnode *node, bool inline_name);

/* Resolves filters and tests, finds the hidden names of every scope. */
TK_NODISCARD bool tk_jinja_scope(tk_jparse *p);

/* The table entry of a filter or test, NULL when there is none. */
const void *tk_jinja_find_filter(tk_str name);
const void *tk_jinja_find_test(tk_str name);

#endif
