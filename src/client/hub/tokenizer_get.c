/* tinkc_*_get_tokenizer: asks the server which model it is, then searches.
 * Needs: text */
#include <string.h>

#include <tinkc/rest.h>

#include "client/call/op_call.h"
#include "client/core/error.h"
#include "client/core/service.h"
#include "client/hub/tokenizer_lookup.h"
#include "client/rest/rest_result.h"
#include "client/sampling/sampling_int.h"
#include "client/training/training.h"
#include "client/training/training_result.h"
#include "client/values/types.h"

/* ---- what all three do first and last ---- */

static tinkc_code prepare(tinkc_tokenizer_options *out, tinkc_tokenizer **result,
                          tk_core *core, const tinkc_tokenizer_options *options,
                          tk_err *err)
{
    if (result == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "no place for the result");
    }
    tinkc_code code = tk_types_options(out, sizeof(*out), options, err);
    if (code == TINKC_OK && core != NULL && tk_loop_is_inside(tk_core_loop(core))) {
        code = tk_err_set(err, TINKC_E_STATE, "this call waits: not from a callback");
    }
    return code;
}

static tinkc_code search(tinkc_tokenizer **out, const tk_tokenizer_search *what,
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

/* For a client that knows its model only by the server's word: *asks says whether that
 * word is needed. `core` NULL: there is no handle. */
static tinkc_code prepare_client(tinkc_tokenizer_options *out, bool *asks,
                                 tinkc_tokenizer **result, tk_core *core,
                                 const tinkc_tokenizer_options *options, tk_err *err)
{
    if (core == NULL) {
        return tk_err_set(err, TINKC_E_STATE,
                          "get_tokenizer: the handle is NULL or closed");
    }
    tinkc_code code = prepare(out, result, core, options, err);
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

/* The caller named the tokenizer or its directory: the model's name plays no part. */
static tk_tokenizer_search named(tk_core *core, const tinkc_tokenizer_options *options)
{
    const char *name =
        options->tokenizer_id != NULL ? options->tokenizer_id : options->directory;
    return (tk_tokenizer_search){
        .core = core, .is_callers_word = true, .model = name, .options = options};
}

/* ---- training ---- */

static tinkc_code search_training(tinkc_tokenizer **out, tinkc_training *training,
                                  const tinkc_tokenizer_options *options,
                                  tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_model_info *info = NULL;
    tinkc_code code = tinkc_training_get_info_wait(&info, training, error);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tokenizer_search what = {.core = training->core,
                                .has_server = true,
                                .model = tinkc_model_info_model_name(info),
                                .server_id = tk_training_info_tokenizer(info),
                                .options = options};
    if (what.model == NULL && what.server_id == NULL) {
        (void)tk_err_set(&err, TINKC_E_DECODE,
                         "the server names neither the model nor its tokenizer");
        code = tk_error_give(error, &err);
    } else {
        what.model = what.model != NULL ? what.model : what.server_id;
        code = search(out, &what, error);
    }
    tinkc_model_info_free(&info);
    return code;
}

tinkc_code tinkc_training_get_tokenizer(tinkc_tokenizer **out, tinkc_training *training,
                                        const tinkc_tokenizer_options *options,
                                        tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_tokenizer_options o = TINKC_TOKENIZER_OPTIONS_INIT;
    bool asks = false;
    tk_core *core = training != NULL ? training->core : NULL;
    if (prepare_client(&o, &asks, out, core, options, &err) != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    if (asks) {
        return search_training(out, training, &o, error);
    }
    tk_tokenizer_search what = named(core, &o);
    return search(out, &what, error);
}

/* ---- sampling ---- */

static const tk_op_call_spec sampler_spec = {
    "get_sampler", TK_RESULT_SAMPLER_INFO,      TK_EP_SAMPLER,
    false,         tk_rest_result_sampler_info, tk_rest_result_free};

static tinkc_code search_sampling(tinkc_tokenizer **out, tinkc_sampling *sampling,
                                  const tinkc_tokenizer_options *options,
                                  tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_sampler_info *info = NULL;
    tinkc_future *future = tk_op_call_run(sampling->core, &sampler_spec,
                                          &(tk_op_call_args){.path_arg = sampling->id});
    tinkc_code code = tk_future_wait_take(&info, future, TK_RESULT_SAMPLER_INFO, error);
    if (code != TINKC_OK) {
        return code;
    }
    if (info->base_model == NULL) {
        (void)tk_err_set(&err, TINKC_E_DECODE, "the server does not name the model");
        code = tk_error_give(error, &err);
    } else {
        tk_tokenizer_search what = {.core = sampling->core,
                                    .has_server = true,
                                    .model = info->base_model,
                                    .options = options};
        code = search(out, &what, error);
    }
    tinkc_sampler_info_free(&info);
    return code;
}

tinkc_code tinkc_sampling_get_tokenizer(tinkc_tokenizer **out, tinkc_sampling *sampling,
                                        const tinkc_tokenizer_options *options,
                                        tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_tokenizer_options o = TINKC_TOKENIZER_OPTIONS_INIT;
    bool asks = false;
    tk_core *core = sampling != NULL ? sampling->core : NULL;
    if (prepare_client(&o, &asks, out, core, options, &err) != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    if (asks) {
        return search_sampling(out, sampling, &o, error);
    }
    tk_tokenizer_search what = named(core, &o);
    return search(out, &what, error);
}

/* ---- by name ---- */

tinkc_code tinkc_service_get_tokenizer(tinkc_tokenizer **out, tinkc_service *service,
                                       const char *model,
                                       const tinkc_tokenizer_options *options,
                                       tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_tokenizer_options o = TINKC_TOKENIZER_OPTIONS_INIT;
    tk_core *core = service != NULL ? tk_service_core(service) : NULL;
    tinkc_code code = prepare(&o, out, core, options, &err);
    if (code == TINKC_OK && (model == NULL || model[0] == '\0')) {
        code = tk_err_set(&err, TINKC_E_INVALID, "get_tokenizer: no model");
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    tk_tokenizer_search what = {.core = core,
                                .has_server = service != NULL,
                                .is_callers_word = true,
                                .model = model,
                                .options = &o};
    return search(out, &what, error);
}
