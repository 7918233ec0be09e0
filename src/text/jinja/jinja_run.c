/* State of one render: errors with the template's line, the budget of steps, memory. And
 * the render itself. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/jinja/jinja_run.h"

static bool fail(tk_jrun *run, tinkc_code code, const char *format, va_list list)
    TK_PRINTF(3, 0);

static bool fail(tk_jrun *run, tinkc_code code, const char *format, va_list list)
{
    char text[TK_ERR_MESSAGE_BYTES];
    (void)vsnprintf(text, sizeof(text), format, list);
    tk_err_set(run->err, code, "template line %d: %s", run->line, text);
    return false;
}

bool tk_jrun_fail(tk_jrun *run, tinkc_code code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(run, code, format, list);
    va_end(list);
    return false;
}

bool tk_jrun_raise(tk_jrun *run, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fail(run, TINKC_E_INVALID, format, list);
    va_end(list);
    return false;
}

bool tk_jrun_too_large(tk_jrun *run)
{
    return tk_jrun_fail(run, TINKC_E_LIMIT, "an integer needs more than 64 bits");
}

bool tk_jrun_undefined(tk_jrun *run, tk_jval value)
{
    if (value.flag == TK_JU_PARAM) {
        return tk_jrun_raise(run, "parameter '" TK_STR_FMT "' was not provided",
                             TK_STR_ARG(value.as.s));
    }
    if (value.flag == TK_JU_EMPTY) {
        return tk_jrun_raise(run, TK_STR_FMT, TK_STR_ARG(value.as.s));
    }
    if (value.flag == 0) {
        return tk_jrun_raise(run, "'" TK_STR_FMT "' is undefined",
                             TK_STR_ARG(value.as.s));
    }
    bool is_unsafe = value.flag >= TK_JU_UNSAFE;
    tk_jval of = {.type =
                      (tk_jtype)(value.flag - (is_unsafe ? TK_JU_UNSAFE : TK_JU_OBJECT))};
    if (is_unsafe) {
        return tk_jrun_raise(
            run, "access to attribute '" TK_STR_FMT "' of '%s' object is unsafe.",
            TK_STR_ARG(value.as.s), tk_jval_type_name(&of));
    }
    return tk_jrun_raise(run, "'%s%s' has no attribute '" TK_STR_FMT "'",
                         of.type == TK_JT_NONE ? "None" : tk_jval_type_name(&of),
                         of.type == TK_JT_NONE ? "" : " object", TK_STR_ARG(value.as.s));
}

bool tk_jrun_step(tk_jrun *run, size_t n)
{
    if (n > run->steps_left) {
        run->steps_left = 0;
        return tk_jrun_fail(run, TINKC_E_LIMIT, "the template runs for too long");
    }
    run->steps_left -= n;
    return true;
}

bool tk_jrun_bytes(tk_jrun *run, size_t n)
{
    return tk_jrun_step(run, n / 16);
}

bool tk_jrun_product(tk_jrun *run, size_t n, size_t m)
{
    size_t bytes = 0;
    return tk_jrun_bytes(run, tk_size_mul(&bytes, n, m) ? bytes : SIZE_MAX);
}

void *tk_jrun_alloc(tk_jrun *run, size_t n, size_t size)
{
    void *p = tk_arena_array(&run->arena, n, size);
    if (p == NULL) {
        size_t want = 0;
        bool is_limit = !tk_size_mul(&want, n, size) ||
                        want > run->arena.max_bytes - run->arena.used_bytes;
        if (is_limit) {
            tk_jrun_fail(run, TINKC_E_LIMIT, "the template needs too much memory");
        } else {
            tk_err_nomem(run->err);
        }
    }
    return p;
}

bool tk_jrun_enter(tk_jrun *run)
{
    if (run->depth >= TK_JINJA_MAX_DEPTH) {
        return tk_jrun_fail(run, TINKC_E_LIMIT, "the template recurses too deep");
    }
    run->depth++;
    return tk_jrun_step(run, 1);
}

void tk_jrun_leave(tk_jrun *run)
{
    run->depth--;
}

static bool fill_context(tk_jrun *run)
{
    if (!tk_jdict_new(run, &run->context)) {
        return false;
    }
    for (size_t i = 0; i < run->job->n_vars; i++) {
        const tk_jinja_var *var = &run->job->vars[i];
        tk_jval value;
        if (!tk_jval_of_json(run, var->value, &value) ||
            !tk_jdict_put(run, run->context, tk_jval_str(var->name), value)) {
            return false;
        }
    }
    return true;
}

static bool run_all(tk_jrun *run, const tk_jinja *tpl)
{
    if (!fill_context(run)) {
        return false;
    }
    run->scope = tk_jscope_new(run, NULL);
    return run->scope != NULL &&
           tk_jscope_hide(run, run->scope, tpl->hidden, tpl->n_hidden) &&
           tk_jinja_exec(run, tpl->body);
}

tinkc_code tk_jinja_render(tk_buf *out, const tk_jinja *tpl, const tk_jinja_job *job,
                           tk_err *err)
{
    tk_err local = TK_ERR_INIT;
    if (err == NULL) {
        err = &local;
    }
    tk_jrun run = {.tpl = tpl,
                   .job = job,
                   .out = out,
                   .root_out = out,
                   .out_start = out->n,
                   .max_output = job->max_output_bytes > 0 ? job->max_output_bytes
                                                           : TK_JINJA_MAX_OUTPUT_BYTES,
                   .steps_left = job->max_steps > 0 ? job->max_steps : TK_JINJA_MAX_STEPS,
                   .line = 1,
                   .err = err};
    tk_arena_init(&run.arena, job->max_memory_bytes > 0 ? job->max_memory_bytes
                                                        : TK_JINJA_MAX_MEMORY_BYTES);
    size_t spans_before = job->spans != NULL ? job->spans->n : 0;
    bool ok = run_all(&run, tpl);
    if (ok && tk_buf_status(out, err) != TINKC_OK) {
        ok = false;
    }
    tk_arena_dispose(&run.arena);
    if (!ok) {
        if (out->failure == TINKC_OK) {
            out->n = run.out_start;
        }
        if (job->spans != NULL) {
            job->spans->n = spans_before;
        }
        return err->code != TINKC_OK ? err->code
                                     : tk_err_set(err, TINKC_E_INTERNAL,
                                                  "template failed without a reason");
    }
    return TINKC_OK;
}
