/* tinkc_service_get_tokenizer, and the common part of its relatives for clients.
 * Needs: text */
#include "client/hub/tokenizer_get.h"

#include "client/core/service.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* ---- the common part ---- */

tinkc_code tk_tokenizer_get_prepare(tinkc_tokenizer_options *out,
                                    tinkc_tokenizer **result, tk_handle *handle,
                                    const tinkc_tokenizer_options *options, tk_err *err)
{
    if (result == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "no place for the result");
    }
    tinkc_code code = tk_types_options(out, sizeof(*out), options, err);
    return code == TINKC_OK && handle != NULL ? tk_core_check_blocking(handle->core, err)
                                              : code;
}

tinkc_code tk_tokenizer_get_search(tinkc_tokenizer **out, const tk_tokenizer_search *what,
                                   tinkc_error **error)
{
    tk_tok *tok = NULL;
    tinkc_error *own = NULL;
    tinkc_code code = tk_tokenizer_lookup(&tok, what, &own);
    if (code == TINKC_OK) {
        *out = tk_tokenizer_of(tok);
    } else if (error != NULL) {
        *error = own;
        own = NULL;
    }
    tinkc_error_free(&own);
    return code;
}

/* ---- for a client ---- */

static tinkc_code prepare_client(tinkc_tokenizer_options *out, bool *asks,
                                 tinkc_tokenizer **result, tk_handle *handle,
                                 const tinkc_tokenizer_options *options, tk_err *err)
{
    if (handle == NULL) {
        return tk_err_set(err, TINKC_E_STATE,
                          "get_tokenizer: the handle is NULL or closed");
    }
    tinkc_code code = tk_tokenizer_get_prepare(out, result, handle, options, err);
    if (code != TINKC_OK) {
        return code;
    }
    *asks = out->directory == NULL && out->tokenizer_id == NULL;
    if (*asks && out->offline) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "offline, the server cannot be asked which tokenizer it is: "
                          "give directory or tokenizer_id");
    }
    return TINKC_OK;
}

tinkc_code tk_tokenizer_get_of_client(
    tinkc_tokenizer **out, tk_handle *handle, const tinkc_tokenizer_options *options,
    tinkc_code (*ask)(tinkc_tokenizer **out, void *client,
                      const tinkc_tokenizer_options *options, tinkc_error **error),
    void *client, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_tokenizer_options o = TINKC_TOKENIZER_OPTIONS_INIT;
    bool asks = false;
    if (prepare_client(&o, &asks, out, handle, options, &err) != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    if (asks) {
        return ask(out, client, &o, error);
    }
    /* The caller named the tokenizer or its directory: the model's name plays no part. */
    tk_tokenizer_search what = {.handle = handle,
                                .is_callers_word = true,
                                .model =
                                    o.tokenizer_id != NULL ? o.tokenizer_id : o.directory,
                                .options = &o};
    return tk_tokenizer_get_search(out, &what, error);
}

/* ---- by name ---- */

tinkc_code tinkc_service_get_tokenizer(tinkc_tokenizer **out, tinkc_service *service,
                                       const char *model,
                                       const tinkc_tokenizer_options *options,
                                       tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_tokenizer_options o = TINKC_TOKENIZER_OPTIONS_INIT;
    tk_handle *handle = service != NULL ? tk_service_handle(service) : NULL;
    tinkc_code code = tk_tokenizer_get_prepare(&o, out, handle, options, &err);
    if (code == TINKC_OK && (model == NULL || model[0] == '\0')) {
        code = tk_err_set(&err, TINKC_E_INVALID, "get_tokenizer: no model");
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    tk_tokenizer_search what = {.handle = handle,
                                .has_server = service != NULL,
                                .is_callers_word = true,
                                .model = model,
                                .options = &o};
    return tk_tokenizer_get_search(out, &what, error);
}
