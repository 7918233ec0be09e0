/* Joins a core and a context, and drives the core's loop for the futures that wait. */
#include "client/core/handle.h"

#include "base/mem.h"
#include "client/core/core.h"

/* ---- the driver that futures see ---- */

static tk_handle *of(tk_driver *driver)
{
    return TK_CONTAINER_OF(driver, tk_handle, driver);
}

static void driver_ref(tk_driver *driver)
{
    (void)tk_handle_ref(of(driver));
}

static void driver_unref(tk_driver *driver)
{
    tk_handle *handle = of(driver);
    tk_handle_unref(&handle);
}

static bool driver_drive(tk_driver *driver, int64_t max_ms)
{
    return tk_loop_drive(tk_core_loop(of(driver)->core), max_ms);
}

static bool driver_later(tk_driver *driver, tk_task *task)
{
    tk_loop *loop = tk_core_loop(of(driver)->core);
    bool inside = tk_loop_is_inside(loop);
    if (inside) {
        tk_loop_later(loop, task);
    }
    return inside;
}

static void driver_now(tk_driver *driver)
{
    tk_loop *loop = tk_core_loop(of(driver)->core);
    if (tk_loop_is_inside(loop)) {
        tk_loop_run_late(loop);
    }
}

static bool driver_is_inside(tk_driver *driver)
{
    return tk_loop_is_inside(tk_core_loop(of(driver)->core));
}

static const tk_driver_ops driver_ops = {driver_ref,   driver_unref, driver_drive,
                                         driver_later, driver_now,   driver_is_inside};

/* ---- life ---- */

tinkc_code tk_handle_new(tk_handle **out, tk_core *core, const tinkc_context *context,
                         tk_err *err)
{
    tk_context *copy = NULL;
    if (context != NULL) {
        tinkc_code code = tk_context_new(&copy, context, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    tk_handle *handle = tk_zalloc(sizeof(*handle));
    if (handle == NULL) {
        tk_context_free(&copy);
        return tk_err_nomem(err);
    }
    atomic_init(&handle->refs, 1);
    handle->core = tk_core_ref(core);
    handle->context = copy;
    handle->driver = (tk_driver){.ops = &driver_ops,
                                 .clock = tk_core_clock(core),
                                 .is_manual = tk_core_is_manual(core),
                                 .hooks = tk_core_hooks(core),
                                 .context = copy};
    *out = handle;
    return TINKC_OK;
}

tinkc_code tk_handle_with_context(tk_handle **out, const tk_handle *from,
                                  const tinkc_context *context, tk_err *err)
{
    static const tinkc_context empty = TINKC_CONTEXT_INIT;
    tinkc_code code = tk_core_check(from->core, err);
    return code == TINKC_OK
               ? tk_handle_new(out, from->core, context != NULL ? context : &empty, err)
               : code;
}

tk_handle *tk_handle_ref(tk_handle *handle)
{
    atomic_fetch_add(&handle->refs, 1);
    return handle;
}

void tk_handle_unref(tk_handle **handle_ref)
{
    tk_handle *handle = *handle_ref;
    *handle_ref = NULL;
    if (handle != NULL && atomic_fetch_sub(&handle->refs, 1) == 1) {
        tk_context_free(&handle->context);
        tk_core_unref(&handle->core);
        tk_free(handle);
    }
}

tinkc_future *tk_handle_refuse(tk_handle *handle, const char *operation,
                               tk_result_kind kind, const tk_err *err)
{
    return tk_future_refused(&handle->driver, operation, kind, err);
}
