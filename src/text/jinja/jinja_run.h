/* Values of a template at run time, and the state of one render.
 *
 * All values live in the run's arena until the render ends; nothing is freed before.
 * Strings are views and immutable. Functions that can fail return false with run->err set
 * once, with the line of the template. Every piece of work is paid for with
 * tk_jrun_step, so that no template runs for ever. Thread: one per run. */
#ifndef TEXT_JINJA_RUN_H
#define TEXT_JINJA_RUN_H

#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_str.h"

typedef enum tk_jtype {
    TK_JT_UNDEFINED,
    TK_JT_NONE,
    TK_JT_BOOL,
    TK_JT_INT,
    TK_JT_FLOAT,
    TK_JT_STR,
    TK_JT_LIST,
    TK_JT_TUPLE,
    TK_JT_DICT,
    TK_JT_RANGE,
    TK_JT_NAMESPACE,
    TK_JT_LOOP,
    TK_JT_MACRO,
    TK_JT_FUNC,   /* a global function */
    TK_JT_METHOD, /* of a value */
    TK_JT_ITER,   /* what a generator gave: can be walked once */
    TK_JT_VIEW,   /* dict.items(), keys(), values() */
    TK_JT_CYCLER, /* cycler() and joiner() */
} tk_jtype;

typedef struct tk_jval tk_jval;
typedef struct tk_jlist tk_jlist;
typedef struct tk_jdict tk_jdict;
typedef struct tk_jrange tk_jrange;
typedef struct tk_jloop tk_jloop;
typedef struct tk_jmacro tk_jmacro;
typedef struct tk_jmethod tk_jmethod;
typedef struct tk_jview tk_jview;
typedef struct tk_jfunc tk_jfunc;
typedef struct tk_jrun tk_jrun;

/* What an undefined value remembers for the error text: 0 = a name, otherwise the type of
 * the object that had no such attribute, plus TK_JU_OBJECT, or plus TK_JU_UNSAFE. */
enum { TK_JU_OBJECT = 1, TK_JU_UNSAFE = 64, TK_JU_PARAM = 128, TK_JU_EMPTY = 129 };

struct tk_jval {
    tk_jtype type;
    uint32_t flag; /* STR: markup ("safe"); UNDEFINED: see above */
    union {
        bool b;
        int64_t i;
        double f;
        tk_str s;       /* STR; UNDEFINED: the name */
        tk_jlist *list; /* LIST, TUPLE, ITER, CYCLER */
        tk_jdict *dict; /* DICT, NAMESPACE */
        tk_jrange *range;
        tk_jloop *loop;
        tk_jmacro *macro;
        const tk_jfunc *func;
        tk_jmethod *method;
        tk_jview *view;
    } as;
};

struct tk_jlist {
    tk_jval *items;
    size_t n, cap;
    size_t at;   /* ITER: how many were taken; CYCLER: the current one */
    tk_err *why; /* ITER: what walking it raises, or NULL */
};

typedef struct tk_jentry {
    tk_jval key, value;
} tk_jentry;

struct tk_jdict {
    tk_jentry *entries; /* in order of insertion */
    size_t n, cap;
    uint32_t *slots; /* hash table of positions + 1, once there are many */
    size_t n_slots;
};

struct tk_jrange {
    int64_t start, stop, step;
    size_t n;
};

struct tk_jloop {
    const tk_jval *items;
    size_t n, at;
    int depth;
    tk_jval changed; /* last value that loop.changed saw; a tuple */
    bool has_changed;
    const tk_jnode *node; /* of a recursive loop, or NULL */
    struct tk_jscope *scope;
};

struct tk_jmacro {
    const tk_jnode *node; /* MACRO or CALLBLOCK */
    tk_str name;
    struct tk_jscope *scope; /* where it was defined */
};

struct tk_jmethod {
    tk_jval self;
    const tk_jfunc *func;
    tk_str name;
};

struct tk_jview {
    tk_jdict *dict;
    char what; /* 'i'tems, 'k'eys, 'v'alues */
};

typedef struct tk_jvar {
    tk_str name; /* interned */
    tk_jval value;
    bool is_missing; /* hidden, not set yet */
} tk_jvar;

typedef struct tk_jscope {
    struct tk_jscope *parent;
    tk_jvar *vars;
    size_t n, cap;
    bool is_captured; /* a macro keeps it */
} tk_jscope;

typedef enum tk_jflow { TK_JFLOW_NEXT, TK_JFLOW_BREAK, TK_JFLOW_CONTINUE } tk_jflow;

struct tk_jrun {
    tk_arena arena;
    tk_jdict *context;
    tk_jscope *scope;
    tk_buf *out;      /* where output goes now */
    tk_buf *root_out; /* where the template's own goes */
    size_t out_start; /* bytes that were in root_out before */
    const tk_jinja *tpl;
    const tk_jinja_job *job;
    size_t max_output;
    uint64_t steps_left;
    int depth;
    int line;
    tk_jflow flow;
    tk_err *err;
    char *room; /* where strings grow: see tk_jval_concat */
    size_t room_used, room_size;
};

/* Arguments of a call, evaluated. */
typedef struct tk_jargs {
    tk_jval *items; /* positional */
    size_t n;
    tk_jentry *named; /* keyword arguments; keys are STR */
    size_t n_named;
    int op; /* of the tk_jfunc */
} tk_jargs;

/* A function, method, filter or test. `self` is the object, the filtered value or the
 * tested value; unused by global functions. Parameter names, in order and between blanks,
 * let keyword arguments be found: "default_value boolean". */
struct tk_jfunc {
    const char *name;
    const char *params;
    /* NULL: jinja2 or Python has it, this does not */
    bool (*call)(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out);
    int min, max; /* number of arguments; max -1 = any, named ones too */
    int op;       /* for a function that serves several names */
};

/* The head of such a function. */
#define TK_JFUNC(name)                                                                   \
    static bool name(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out)

/* `name` calls the filter `of`, which is a generator in jinja2: it raises when it is
 * walked, not when it is made, so its error is kept until then. */
#define TK_JFUNC_LAZY(name, of)                                                          \
    TK_JFUNC(name)                                                                       \
    {                                                                                    \
        return tk_jfilter_lazily(run, of(run, self, args, out), out);                    \
    }

/* ---- run state (jinja_run.c) ---- */

bool tk_jrun_fail(tk_jrun *run, tinkc_code code, const char *format, ...) TK_PRINTF(3, 4);
bool tk_jrun_raise(tk_jrun *run, const char *format, ...)
    TK_PRINTF(2, 3); /* as an exception of jinja2 or Python: TINKC_E_INVALID */
bool tk_jrun_too_large(tk_jrun *run); /* an integer needs more than 64 bits */
bool tk_jrun_undefined(tk_jrun *run, tk_jval value); /* raises jinja2's UndefinedError */
TK_NODISCARD bool tk_jrun_step(tk_jrun *run, size_t n);
TK_NODISCARD bool tk_jrun_bytes(tk_jrun *run, size_t n); /* pays for that much text */
/* Pays for comparing each of n bytes with m others. */
TK_NODISCARD bool tk_jrun_product(tk_jrun *run, size_t n, size_t m);
TK_NODISCARD void *tk_jrun_alloc(tk_jrun *run, size_t n, size_t size);
TK_NODISCARD bool tk_jrun_enter(tk_jrun *run);
void tk_jrun_leave(tk_jrun *run);

/* ---- values (jinja_value.c) ---- */

tk_jval tk_jval_none(void);
tk_jval tk_jval_bool(bool value);
tk_jval tk_jval_int(int64_t value);
tk_jval tk_jval_float(double value);
tk_jval tk_jval_str(tk_str s); /* borrows */
tk_jval tk_jval_text(const char *text);
tk_jval tk_jval_undef(tk_str name, uint32_t flag);
TK_NODISCARD bool tk_jval_copy(tk_jrun *run, tk_str s, tk_jval *out);
TK_NODISCARD bool tk_jval_take(tk_jrun *run, tk_buf *buf, tk_jval *out); /* its text */
TK_NODISCARD bool tk_jval_concat(tk_jrun *run, tk_str a, tk_str b, tk_jval *out);

TK_NODISCARD bool tk_jlist_new(tk_jrun *run, tk_jlist **out, size_t room);
/* tk_jlist_new, and the list as a value: *list is new and empty. */
TK_NODISCARD bool tk_jlist_make(tk_jrun *run, tk_jtype type, tk_jlist **list,
                                tk_jval *out);
TK_NODISCARD bool tk_jlist_add(tk_jrun *run, tk_jlist *list, tk_jval value);
tk_jval tk_jval_list(tk_jlist *list, tk_jtype type);

TK_NODISCARD bool tk_jval_of_json(tk_jrun *run, const tk_json *json, tk_jval *out);

bool tk_jval_truth(const tk_jval *value);
bool tk_jval_is_number(const tk_jval *value);            /* bool too */
bool tk_jval_as_int(const tk_jval *value, int64_t *out); /* int or bool */
double tk_jval_as_double(const tk_jval *value);
const char *tk_jval_type_name(const tk_jval *value); /* as Python calls it */

/* Everything that a for loop would see. The array is borrowed or new. */
TK_NODISCARD bool tk_jval_iterate(tk_jrun *run, tk_jval value, tk_jlist *out);
/* -1 when it has no length. */
int64_t tk_jval_length(const tk_jval *value);

/* ---- dicts (jinja_dict.c) ---- */

TK_NODISCARD bool tk_jdict_new(tk_jrun *run, tk_jdict **out);
TK_NODISCARD bool tk_jdict_put(tk_jrun *run, tk_jdict *dict, tk_jval key, tk_jval value);
/* *out is NULL when the key is not there; false for a key that cannot be hashed. */
TK_NODISCARD bool tk_jdict_find(tk_jrun *run, const tk_jdict *dict, tk_jval key,
                                tk_jentry **out);
tk_jval *tk_jdict_get(const tk_jdict *dict, tk_str key); /* NULL: not there */
void tk_jdict_remove(tk_jdict *dict, tk_jentry *entry);
/* Whether it can be a key; false only when the run fails. */
TK_NODISCARD bool tk_jval_is_hashable(tk_jrun *run, const tk_jval *value, bool *out);

/* ---- equality and order (jinja_compare.c) ---- */

TK_NODISCARD bool tk_jval_equal(tk_jrun *run, const tk_jval *a, const tk_jval *b,
                                bool *out);
/* -1, 0, 1; raises TypeError when they have no order. */
TK_NODISCARD bool tk_jval_compare(tk_jrun *run, const tk_jval *a, const tk_jval *b,
                                  int *out);

/* ---- text of values (jinja_text.c) ---- */

TK_NODISCARD bool tk_jval_put(tk_jrun *run, tk_buf *out, const tk_jval *value);
TK_NODISCARD bool tk_jval_put_repr(tk_jrun *run, tk_buf *out, const tk_jval *value);
/* The text as a view: the value itself when it is a string. */
TK_NODISCARD bool tk_jval_to_str(tk_jrun *run, const tk_jval *value, tk_str *out);
TK_NODISCARD bool tk_jfilter_tojson(tk_jrun *run, tk_jval self, const tk_jargs *args,
                                    tk_jval *out);

/* ---- operators (jinja_op.c) ---- */

TK_NODISCARD bool tk_jval_binary(tk_jrun *run, int op, tk_jval a, tk_jval b,
                                 tk_jval *out);
TK_NODISCARD bool tk_jval_relate(tk_jrun *run, int op, tk_jval a, tk_jval b, bool *out);
TK_NODISCARD bool tk_jval_negate(tk_jrun *run, tk_jval a, bool plus, tk_jval *out);

/* ---- attributes and items (jinja_item.c) ---- */

TK_NODISCARD bool tk_jval_attr(tk_jrun *run, tk_jval object, tk_str name, tk_jval *out);
TK_NODISCARD bool tk_jval_item(tk_jrun *run, tk_jval object, tk_jval key, tk_jval *out);
/* Bounds are NONE when they are not given. */
TK_NODISCARD bool tk_jval_slice(tk_jrun *run, tk_jval object, const tk_jval bounds[3],
                                tk_jval *out);

/* ---- calls (jinja_call.c) ---- */

TK_NODISCARD bool tk_jval_call(tk_jrun *run, tk_jval callee, const tk_jargs *args,
                               tk_jval *out);
TK_NODISCARD bool tk_jfunc_call(tk_jrun *run, const tk_jfunc *func, tk_jval self,
                                const tk_jargs *args, tk_jval *out);
const tk_jfunc *tk_jinja_find_global(tk_str name);

/* Argument `index` of a function whose arguments tk_jfunc_call has put in order: its
 * value, or NULL when it was not given. */
const tk_jval *tk_jargs_at(const tk_jargs *args, size_t index);
/* The argument as bool, int (raises when it is not one) or text. */
bool tk_jargs_bool(const tk_jargs *args, size_t index, bool fallback);
TK_NODISCARD bool tk_jargs_int(tk_jrun *run, const tk_jargs *args, size_t index,
                               int64_t fallback, int64_t *out);
TK_NODISCARD bool tk_jargs_str(tk_jrun *run, const tk_jargs *args, size_t index,
                               tk_str *out); /* raises TypeError when it is not a str */

/* ---- filters, tests, methods ---- */

TK_NODISCARD bool tk_jinja_filter(tk_jrun *run, tk_str name, tk_jval self,
                                  const tk_jargs *args, tk_jval *out);
TK_NODISCARD bool tk_jinja_test(tk_jrun *run, tk_str name, tk_jval self,
                                const tk_jargs *args, bool *out);
/* A method of a value; NULL when its type has none of that name. *is_unsafe when it would
 * change the object. */
const tk_jfunc *tk_jinja_find_method(tk_jtype type, tk_str name, bool *is_unsafe);

/* jinja_seq.c: the value at a path "a.b.0" of an item. */
TK_NODISCARD bool tk_jval_path(tk_jrun *run, tk_jval item, tk_jval path, tk_jval *out);
/* jinja_seq.c: for TK_JFUNC_LAZY. Lack of memory, of steps and of support is an error at
 * once. */
TK_NODISCARD bool tk_jfilter_lazily(tk_jrun *run, bool ok, tk_jval *out);

extern const tk_jfunc tk_jmethods_str[], tk_jfilters_seq[], tk_jfilters_sort[],
    tk_jfilters_number[];
TK_NODISCARD bool tk_jval_percent(tk_jrun *run, tk_str format, tk_jval values,
                                  tk_jval *out);
TK_NODISCARD bool tk_jmethod_format(tk_jrun *run, tk_jval self, const tk_jargs *args,
                                    tk_jval *out);

/* ---- the tree (jinja_eval.c, jinja_exec.c) ---- */

TK_NODISCARD bool tk_jinja_eval(tk_jrun *run, const tk_jnode *node, tk_jval *out);
TK_NODISCARD bool tk_jinja_eval_args(tk_jrun *run, const tk_jnode *list, tk_jargs *out);
/* A chain of filters on what a block gave. */
TK_NODISCARD bool tk_jinja_eval_filters(tk_jrun *run, const tk_jnode *node, tk_jval self,
                                        tk_jval *out);
TK_NODISCARD bool tk_jinja_exec(tk_jrun *run, const tk_jnode *list);
/* Runs the body of `owner` in `scope` and gives its output as a value. */
TK_NODISCARD bool tk_jinja_capture(tk_jrun *run, const tk_jnode *owner, tk_jscope *scope,
                                   tk_jval *out);
/* Runs a for loop in `scope`; depth is 1, or one more in a recursive call. */
TK_NODISCARD bool tk_jinja_loop(tk_jrun *run, const tk_jnode *node, tk_jval iterable,
                                tk_jscope *scope, int depth);

TK_NODISCARD tk_jscope *tk_jscope_new(tk_jrun *run, tk_jscope *parent);
TK_NODISCARD bool tk_jscope_set(tk_jrun *run, tk_jscope *scope, tk_str name,
                                tk_jval value);
TK_NODISCARD bool tk_jscope_hide(tk_jrun *run, tk_jscope *scope, const tk_str *names,
                                 size_t n);
TK_NODISCARD bool tk_jscope_assign(tk_jrun *run, const tk_jnode *target, tk_jval value);

#endif
