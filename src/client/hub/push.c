/* The steps of tinkc_push_checkpoint, one after the other, and what they share. On the
 * calling thread. */
#include <tinkc/push.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "client/core/service.h"
#include "client/hub/push_int.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define PATTERNS_MAX 1000
#define RETRIES_MAX  5 /* of one question to the hub */

/* ---- shared ---- */

static bool tell(void *user)
{
    tk_push *push = user;
    if (!push->is_stopped && push->options.fn != NULL) {
        push->is_stopped = !push->options.fn(&push->progress, push->options.user);
    }
    return !push->is_stopped;
}

tinkc_code tk_push_begin(tk_push *push, tinkc_push_stage stage, tk_err *err)
{
    push->progress = (tinkc_push_progress){.stage = stage, .total = -1};
    return tell(push) ? TINKC_OK
                      : tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
}

const char *tk_push_url(tk_buf *url, const tk_push *push, const char *format, ...)
{
    char tail[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(tail, sizeof(tail), format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof(tail)) {
        tk_buf_fail(url, TINKC_E_LIMIT);
    }
    tk_buf_puts(url, push->hub_url);
    tk_buf_puts(url, tail);
    return tk_buf_cstr(url);
}

/* ---- before anything is asked ---- */

static tinkc_code check_patterns(const char *const *patterns, size_t n, tk_err *err)
{
    if (n > PATTERNS_MAX || (n > 0 && patterns == NULL)) {
        return tk_err_set(err, TINKC_E_INVALID, "push: no patterns, or too many");
    }
    for (size_t i = 0; i < n; i++) {
        if (patterns[i] == NULL || strlen(patterns[i]) > TK_PUSH_PATTERN_MAX) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "push: a pattern is NULL or too long");
        }
    }
    return TINKC_OK;
}

static tinkc_code check_message(const char *message, tk_err *err)
{
    if (message == NULL) {
        return TINKC_OK;
    }
    if (strlen(message) > TK_PUSH_MESSAGE_MAX) {
        return tk_err_set(err, TINKC_E_INVALID, "push: the commit message is too long");
    }
    return tk_utf8_is_valid(tk_str_of(message))
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "push: the commit message is not UTF-8");
}

static tinkc_code check_options(const tinkc_push_options *options, tk_err *err)
{
    tinkc_code code = check_patterns(options->allow, options->allow_n, err);
    if (code == TINKC_OK) {
        code = check_patterns(options->ignore, options->ignore_n, err);
    }
    if (code == TINKC_OK && options->repo != NULL) {
        code = tk_push_check_repo(options->repo, err);
    }
    if (code == TINKC_OK && options->revision != NULL) {
        code = tk_push_check_revision(options->revision, err);
    }
    return code == TINKC_OK ? check_message(options->commit_message, err) : code;
}

static tinkc_code check_call(tk_push *push, tinkc_service *service, const char *path,
                             const tinkc_push_options *options, tk_err *err)
{
    if (service == NULL) {
        return tk_err_set(err, TINKC_E_STATE, "push: the handle is NULL or closed");
    }
    tinkc_code code =
        tk_types_options(&push->options, sizeof(push->options), options, err);
    if (code == TINKC_OK) {
        code = tk_push_source_read(&push->source, path != NULL ? path : "", err);
    }
    if (code == TINKC_OK) {
        code = check_options(&push->options, err);
    }
    if (code == TINKC_OK) {
        code = tk_core_check_blocking(tk_service_core(service), err);
    }
    push->service = service;
    push->path = path;
    return code;
}

static tinkc_code find_hub(tk_push *push, tk_err *err)
{
    tk_handle *handle = tk_service_handle(push->service);
    if (tk_hub_is_off(NULL)) {
        return tk_err_set(err, TINKC_E_STATE,
                          "the hub may not be asked: HF_HUB_OFFLINE or "
                          "TRANSFORMERS_OFFLINE is set");
    }
    tinkc_code code = tk_hub_find_url(&push->hub_url, push->options.hub_url, NULL, err);
    if (code == TINKC_OK) {
        code = tk_hub_find_token(&push->token, push->options.hub_token, NULL, err);
    }
    if (code == TINKC_OK) {
        code = tk_hub_pass_begin(&push->pass, handle->core, push->token, err);
    }
    int64_t retries = push->options.max_retries >= 0
                          ? push->options.max_retries
                          : tk_core_config(handle->core)->max_retries;
    push->peer = (tk_hub_peer){.handle = handle,
                               .url = push->hub_url,
                               .authorization = push->pass.authorization,
                               .tick = tell,
                               .user = push,
                               .retries = (int)TK_MIN(retries, (int64_t)RETRIES_MAX)};
    return code;
}

/* ---- the steps ---- */

static tinkc_code upload(tk_push *push, tk_err *err)
{
    tinkc_code code = tk_push_sort(push, err);
    return code == TINKC_OK ? tk_push_store(push, err) : code;
}

static const struct {
    tinkc_push_stage stage;
    tinkc_code (*run)(tk_push *push, tk_err *err);
} steps[] = {
    {TINKC_PUSH_LOGIN, tk_push_login},   {TINKC_PUSH_DOWNLOAD, tk_push_download},
    {TINKC_PUSH_CHECK, tk_push_prepare}, {TINKC_PUSH_REPO, tk_push_open_repo},
    {TINKC_PUSH_UPLOAD, upload},         {TINKC_PUSH_COMMIT, tk_push_commit},
};

static tinkc_code run(tk_push *push, tk_err *err)
{
    tinkc_code code = find_hub(push, err);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(steps); i++) {
        code = tk_push_begin(push, steps[i].stage, err);
        if (code == TINKC_OK) {
            code = steps[i].run(push, err);
        }
    }
    if (code != TINKC_OK && code != TINKC_E_CANCELLED && push->is_stopped) {
        tk_err_clear(err); /* what came of the stop in the middle of it */
        code = tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    return code;
}

/* ---- the result ---- */

typedef struct result {
    tinkc_pushed base;
    tk_arena arena;
} result;

static bool keep(const char **out, result *made, const char *text)
{
    tk_str copy;
    if (text == NULL) {
        return true;
    }
    bool ok = tk_arena_dup(&made->arena, &copy, text, strlen(text));
    *out = ok ? copy.p : NULL;
    return ok;
}

static tinkc_code give(tinkc_pushed **out, const tk_push *push, tk_err *err)
{
    if (out == NULL) {
        return TINKC_OK;
    }
    result *made = tk_zalloc(sizeof(*made));
    if (made == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&made->arena, 0);
    made->base.files = push->committed;
    made->base.uploaded = push->uploaded;
    *out = &made->base;
    if (keep(&made->base.repo, made, push->repo) &&
        keep(&made->base.revision, made, push->revision) &&
        keep(&made->base.commit_url, made, push->commit_url) &&
        keep(&made->base.pr_url, made, push->pr_url)) {
        return TINKC_OK;
    }
    tinkc_pushed_free(out);
    return tk_err_nomem(err);
}

void tinkc_pushed_free(tinkc_pushed **pushed)
{
    if (pushed == NULL || *pushed == NULL) {
        return;
    }
    result *made = TK_CONTAINER_OF(*pushed, result, base);
    *pushed = NULL;
    tk_arena_dispose(&made->arena);
    tk_free(made);
}

static void dispose(tk_push *push)
{
    tk_push_files_dispose(&push->files);
    tinkc_weights_info_free(&push->info);
    tk_staging_end(&push->stage, true);
    tk_hub_pass_end(&push->pass);
    tk_hub_token_free(push->token);
    tk_free(push->hub_url);
    tk_free(push->folder);
    tk_free(push->commit_url);
    tk_free(push->pr_url);
}

tinkc_code tinkc_push_checkpoint(tinkc_pushed **out, tinkc_service *service,
                                 const char *path, const tinkc_push_options *options,
                                 tinkc_error **error)
{
    tk_push push = {.options = TINKC_PUSH_OPTIONS_INIT};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = check_call(&push, service, path, options, &err);
    if (code == TINKC_OK) {
        code = run(&push, &err);
    }
    if (code == TINKC_OK) {
        code = give(out, &push, &err);
    }
    dispose(&push);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}
