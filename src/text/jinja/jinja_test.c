/* Tests: what may follow "is", and what select and its relatives take by name. */
#include "text/jinja/jinja_run.h"

enum {
    IS_DEFINED,
    IS_UNDEFINED,
    IS_NONE,
    IS_BOOLEAN,
    IS_TRUE,
    IS_FALSE,
    IS_INTEGER,
    IS_FLOAT,
    IS_NUMBER,
    IS_STRING,
    IS_MAPPING,
    IS_ITERABLE,
    IS_SEQUENCE,
    IS_CALLABLE,
    IS_ESCAPED
};

static bool is_iterable(const tk_jval *v)
{
    return v->type == TK_JT_UNDEFINED || v->type == TK_JT_STR || v->type == TK_JT_LIST ||
           v->type == TK_JT_TUPLE || v->type == TK_JT_DICT || v->type == TK_JT_RANGE ||
           v->type == TK_JT_ITER || v->type == TK_JT_VIEW || v->type == TK_JT_LOOP;
}

/* What has len() and [], which is what jinja2 tries. */
static bool is_sequence(const tk_jval *v)
{
    return v->type == TK_JT_UNDEFINED || v->type == TK_JT_STR || v->type == TK_JT_LIST ||
           v->type == TK_JT_TUPLE || v->type == TK_JT_DICT || v->type == TK_JT_RANGE;
}

TK_JFUNC(do_kind)
{
    (void)run;
    tk_jtype t = self.type;
    const bool answers[] = {
        [IS_DEFINED] = t != TK_JT_UNDEFINED,
        [IS_UNDEFINED] = t == TK_JT_UNDEFINED,
        [IS_NONE] = t == TK_JT_NONE,
        [IS_BOOLEAN] = t == TK_JT_BOOL,
        [IS_TRUE] = t == TK_JT_BOOL && self.as.b,
        [IS_FALSE] = t == TK_JT_BOOL && !self.as.b,
        [IS_INTEGER] = t == TK_JT_INT,
        [IS_FLOAT] = t == TK_JT_FLOAT,
        [IS_NUMBER] = tk_jval_is_number(&self),
        [IS_STRING] = t == TK_JT_STR,
        [IS_MAPPING] = t == TK_JT_DICT,
        [IS_ITERABLE] = is_iterable(&self),
        [IS_SEQUENCE] = is_sequence(&self),
        [IS_CALLABLE] = t == TK_JT_MACRO || t == TK_JT_FUNC || t == TK_JT_METHOD ||
                        t == TK_JT_LOOP || t == TK_JT_UNDEFINED,
        [IS_ESCAPED] = t == TK_JT_STR && self.flag != 0,
    };
    *out = tk_jval_bool(answers[args->op]);
    return true;
}

TK_JFUNC(do_relate)
{
    bool holds = false;
    bool ok = tk_jval_relate(run, args->op, self, *tk_jargs_at(args, 0), &holds);
    *out = tk_jval_bool(holds);
    return ok;
}

static bool has_rest(tk_jrun *run, tk_jval self, tk_jval by, int64_t wanted, tk_jval *out)
{
    tk_jval rest;
    bool holds = false;
    if (!tk_jval_binary(run, '%', self, by, &rest) ||
        !tk_jval_relate(run, TK_JOP_EQ, rest, tk_jval_int(wanted), &holds)) {
        return false;
    }
    *out = tk_jval_bool(holds);
    return true;
}

TK_JFUNC(do_parity)
{
    return has_rest(run, self, tk_jval_int(2), args->op, out);
}

TK_JFUNC(do_divisible)
{
    return has_rest(run, self, *tk_jargs_at(args, 0), 0, out);
}

TK_JFUNC(do_sameas)
{
    const tk_jval *other = tk_jargs_at(args, 0);
    bool same = self.type == other->type;
    if (same && (self.type == TK_JT_LIST || self.type == TK_JT_DICT ||
                 self.type == TK_JT_TUPLE || self.type == TK_JT_NAMESPACE)) {
        same = self.as.dict == other->as.dict;
    } else if (same && !tk_jval_equal(run, &self, other, &same)) {
        return false;
    }
    *out = tk_jval_bool(same);
    return true;
}

TK_JFUNC(do_letters)
{
    tk_str s;
    if (!tk_jval_to_str(run, &self, &s) || !tk_jrun_bytes(run, s.n)) {
        return false;
    }
    *out = tk_jval_bool(tk_jstr_is_case(s, args->op == 'u'));
    return true;
}

TK_JFUNC(do_exists)
{
    if (self.type != TK_JT_STR) {
        bool is_hashable = false;
        *out = tk_jval_bool(false);
        return tk_jval_is_hashable(run, &self, &is_hashable) &&
               (is_hashable ||
                tk_jrun_raise(run, "unhashable type: '%s'", tk_jval_type_name(&self)));
    }
    *out = tk_jval_bool((args->op == 'f' ? tk_jinja_find_filter(self.as.s)
                                         : tk_jinja_find_test(self.as.s)) != NULL);
    return true;
}

static const tk_jfunc tests[] = {
    {"defined", "", do_kind, 0, 0, IS_DEFINED},
    {"undefined", "", do_kind, 0, 0, IS_UNDEFINED},
    {"none", "", do_kind, 0, 0, IS_NONE},
    {"boolean", "", do_kind, 0, 0, IS_BOOLEAN},
    {"true", "", do_kind, 0, 0, IS_TRUE},
    {"false", "", do_kind, 0, 0, IS_FALSE},
    {"integer", "", do_kind, 0, 0, IS_INTEGER},
    {"float", "", do_kind, 0, 0, IS_FLOAT},
    {"number", "", do_kind, 0, 0, IS_NUMBER},
    {"string", "", do_kind, 0, 0, IS_STRING},
    {"mapping", "", do_kind, 0, 0, IS_MAPPING},
    {"iterable", "", do_kind, 0, 0, IS_ITERABLE},
    {"sequence", "", do_kind, 0, 0, IS_SEQUENCE},
    {"callable", "", do_kind, 0, 0, IS_CALLABLE},
    {"escaped", "", do_kind, 0, 0, IS_ESCAPED},
    {"eq", "b", do_relate, 1, 1, TK_JOP_EQ},
    {"equalto", "b", do_relate, 1, 1, TK_JOP_EQ},
    {"==", "b", do_relate, 1, 1, TK_JOP_EQ},
    {"ne", "b", do_relate, 1, 1, TK_JOP_NE},
    {"!=", "b", do_relate, 1, 1, TK_JOP_NE},
    {"lt", "b", do_relate, 1, 1, '<'},
    {"lessthan", "b", do_relate, 1, 1, '<'},
    {"<", "b", do_relate, 1, 1, '<'},
    {"le", "b", do_relate, 1, 1, TK_JOP_LE},
    {"<=", "b", do_relate, 1, 1, TK_JOP_LE},
    {"gt", "b", do_relate, 1, 1, '>'},
    {"greaterthan", "b", do_relate, 1, 1, '>'},
    {">", "b", do_relate, 1, 1, '>'},
    {"ge", "b", do_relate, 1, 1, TK_JOP_GE},
    {">=", "b", do_relate, 1, 1, TK_JOP_GE},
    {"in", "seq", do_relate, 1, 1, TK_JOP_IN},
    {"odd", "", do_parity, 0, 0, 1},
    {"even", "", do_parity, 0, 0, 0},
    {"divisibleby", "num", do_divisible, 1, 1, 0},
    {"sameas", "other", do_sameas, 1, 1, 0},
    {"upper", "", do_letters, 0, 0, 'u'},
    {"lower", "", do_letters, 0, 0, 'l'},
    {"filter", "", do_exists, 0, 0, 'f'},
    {"test", "", do_exists, 0, 0, 't'},
};

const void *tk_jinja_find_test(tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(tests); i++) {
        if (tk_str_is(name, tests[i].name)) {
            return &tests[i];
        }
    }
    return NULL;
}

bool tk_jinja_test(tk_jrun *run, tk_str name, tk_jval self, const tk_jargs *args,
                   bool *out)
{
    const tk_jfunc *test = tk_jinja_find_test(name);
    tk_jval answer;
    if (test == NULL) {
        return tk_jrun_raise(run, "No test named '" TK_STR_FMT "' found.",
                             TK_STR_ARG(name));
    }
    if (!tk_jfunc_call(run, test, self, args, &answer)) {
        return false;
    }
    *out = tk_jval_truth(&answer);
    return true;
}
