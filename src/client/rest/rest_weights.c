/* Copies of checkpoints, URLs of external weights. */
#include <stdio.h>
#include <string.h>
#include <tinkc/weights.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "client/call/op_call.h"
#include "client/core/config_int.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/future/tk_future.h"
#include "client/rest/rest.h"
#include "client/rest/rest_found.h"
#include "client/rest/rest_result.h"
#include "client/values/types.h"
#include "wire/msg_external.h"
#include "wire/path.h"

#define TOKEN_HEADER "X-Tinker-Weights-Access-Token: "

static const tk_op_call_spec copy_spec = {"copy_weights",     TK_RESULT_TEXT,
                                          TK_EP_COPY_WEIGHTS, false,
                                          tk_rest_found_path, tk_free};
static const tk_op_call_spec urls_spec = {"external_urls",     TK_RESULT_FILE_URLS,
                                          TK_EP_EXTERNAL_URLS, false,
                                          tk_rest_found_urls,  tk_rest_result_free};

/* ---- copy ---- */

static tinkc_code read_copy(tk_copy_weights_request *out, tinkc_copy_options *o,
                            tinkc_service *service, const char *path, tk_err *err)
{
    tk_path parsed;
    tinkc_code code = tk_path_parse(&parsed, tk_str_of(path), err);
    if (code != TINKC_OK) {
        return code;
    }
    const char *project =
        o->project_id != NULL
            ? o->project_id
            : tk_core_config(tk_service_handle(service)->core)->project_id;
    if (project == NULL || project[0] == '\0') {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a copy needs a project: options or TINKER_PROJECT_ID");
    }
    if (o->ttl_seconds != -1 && o->ttl_seconds < 1) {
        tk_err_set(err, TINKC_E_INVALID, "must be at least 1, or -1 for none");
        tk_err_under(err, "ttl_seconds");
        return err->code;
    }
    *out = (tk_copy_weights_request){
        .source_path = {TK_SET, tk_str_of(path)},
        .destination_project_id = {TK_SET, tk_str_of(project)},
        .ttl_seconds = {o->ttl_seconds > 0 ? TK_SET : TK_UNSET, o->ttl_seconds}};
    return TINKC_OK;
}

/* The token of another account is a header, not a part of the body. */
static tinkc_code put_token(tk_buf *line, const char *token, tk_err *err)
{
    if (token == NULL) {
        return TINKC_OK;
    }
    tk_buf_puts(line, TOKEN_HEADER);
    tk_buf_puts(line, token);
    return tk_buf_status(line, err);
}

tinkc_future *tinkc_rest_copy_weights(tinkc_service *service, const char *path,
                                      const tinkc_copy_options *options)
{
    /* One key for every time that the request is sent; it has no prefix. */
    char key[sizeof("X-Idempotency-Key: ") + TK_UUID_TEXT_BYTES],
        uuid[TK_UUID_TEXT_BYTES];
    tk_copy_weights_request request = {0};
    tinkc_copy_options o = TINKC_COPY_OPTIONS_INIT;
    tk_err err = TK_ERR_INIT;
    tk_rand random;
    tk_buf line;
    if (service == NULL) {
        return tk_service_none(copy_spec.operation, copy_spec.kind);
    }
    tk_handle *handle = tk_service_handle(service);
    tk_buf_init(&line, 64 * TK_KIB);
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK) {
        code = read_copy(&request, &o, service, path, &err);
    }
    if (code == TINKC_OK) {
        code = put_token(&line, o.token, &err);
    }
    if (code == TINKC_OK) {
        code = tk_rand_init_os(&random, &err);
    }
    tinkc_future *future = NULL;
    if (code == TINKC_OK) {
        tk_uuid_make(uuid, &random);
        (void)snprintf(key, sizeof(key), "X-Idempotency-Key: %s", uuid);
        const tk_op_call_args args = {
            .schema = &tk_msg_copy_weights_request,
            .message = &request,
            .lines = {key, line.n > 0 ? tk_buf_cstr(&line) : NULL}};
        future = tk_op_call_run(handle, &copy_spec, &args);
    } else {
        future = tk_handle_refuse(handle, copy_spec.operation, copy_spec.kind, &err);
    }
    if (line.n > 0) {
        tk_mem_wipe(line.p, line.n);
    }
    tk_buf_dispose(&line);
    return future;
}

tinkc_code tinkc_rest_copy_weights_wait(char **out, tinkc_service *service,
                                        const char *path,
                                        const tinkc_copy_options *options,
                                        tinkc_error **err)
{
    return tk_text_wait(out, tinkc_rest_copy_weights(service, path, options), err);
}

/* ---- URLs ---- */

tinkc_future *tinkc_rest_external_urls(tinkc_service *service, const char *text)
{
    tk_buf arg;
    tk_path path;
    tk_err err = TK_ERR_INIT;
    if (service == NULL) {
        return tk_service_none(urls_spec.operation, urls_spec.kind);
    }
    tk_handle *handle = tk_service_handle(service);
    tk_buf_init(&arg, 64 * TK_KIB);
    tinkc_code code = tk_path_parse(&path, tk_str_of(text), &err);
    if (code == TINKC_OK && path.kind != TK_PATH_EXTERNAL_WEIGHTS) {
        code =
            tk_err_set(&err, TINKC_E_INVALID,
                       "only external weights (tinker://<run>/external_weights/<name>) "
                       "have files to fetch");
    }
    if (code == TINKC_OK) {
        code = tk_rest_put_checkpoint(&arg, text, &err);
    }
    const tk_op_call_args args = {.path_arg = tk_buf_cstr(&arg)};
    if (code == TINKC_OK) {
        code = tk_buf_status(&arg, &err);
    }
    tinkc_future *future =
        code == TINKC_OK
            ? tk_op_call_run(handle, &urls_spec, &args)
            : tk_handle_refuse(handle, urls_spec.operation, urls_spec.kind, &err);
    tk_buf_dispose(&arg);
    return future;
}

tinkc_code tinkc_rest_external_urls_wait(tinkc_file_urls **out, tinkc_service *service,
                                         const char *path, tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_rest_external_urls(service, path),
                               TK_RESULT_FILE_URLS, err);
}
