/* See export.h. The calls are those of the public API; a progress function that says stop
 * cancels the one that is waited for. */
#include "client/transfer/export.h"

#include <tinkc/rest.h>
#include <tinkc/training.h>

#include "client/values/error.h"

#define NAME     "download"
#define WAIT_MS  200
#define END_MS   10000 /* for each request of the end */
#define METADATA "created_by"
#define CREATED  "tinkc checkpoint download"

static void wait_for(const tk_export *e, tinkc_future *future)
{
    while (tinkc_future_wait(future, WAIT_MS) == TINKC_E_TIMEOUT &&
           !tinkc_future_is_done(future)) {
        if (e->tick != NULL && !e->tick(e->user)) {
            tinkc_future_cancel(future);
        }
    }
}

static tinkc_code fail(tinkc_error **error, tk_err *err)
{
    tk_error_read(err, *error);
    tinkc_error_free(error);
    return err->code;
}

tinkc_code tk_export_make(tk_export *e, const char *path, tk_err *err)
{
    const tinkc_pair metadata = {METADATA, CREATED};
    tinkc_error *error = NULL;
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.metadata = &metadata;
    options.metadata_n = 1;
    tinkc_future *future =
        tinkc_service_create_training_from_state(e->service, path, &options);
    wait_for(e, future);
    tinkc_code code = tinkc_future_take_training(&e->training, future, &error);
    tinkc_future_free(&future);
    if (code != TINKC_OK) {
        return fail(&error, err);
    }
    tinkc_save_options save = TINKC_SAVE_OPTIONS_INIT;
    save.ttl_seconds = TK_EXPORT_TTL_S;
    future = tinkc_training_save_weights_external(e->training, NAME, &save);
    wait_for(e, future);
    code = tinkc_future_take_text(&e->path, future, &error);
    tinkc_future_free(&future);
    return code == TINKC_OK ? TINKC_OK : fail(&error, err);
}

/* Waits for a request whose result does not matter, and not for long: the caller may have
 * given up because the server does not answer. */
static void finish(tinkc_future *future)
{
    if (tinkc_future_wait(future, END_MS) == TINKC_E_TIMEOUT &&
        !tinkc_future_is_done(future)) {
        tinkc_future_cancel(future);
    }
    tinkc_future_free(&future);
}

void tk_export_end(tk_export *e)
{
    if (e->path != NULL) {
        finish(tinkc_rest_delete_checkpoint(e->service, e->path));
    }
    if (e->training != NULL) {
        finish(tinkc_training_unload(e->training));
    }
    tinkc_text_free(&e->path);
    tinkc_training_close(&e->training);
}
