/* Runs the checks of `tinkc doctor --deep` in order and removes what they made: also after
 * a failure and after Ctrl-C. */
#include "cli/doctor/deep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/frame/cmd_progress.h"

#define SLICE_MS  100   /* how often a wait looks for Ctrl-C */
#define REMOVE_MS 20000 /* for each thing that is removed at the end */

/* ---- what a check found ---- */

deep_verdict deep_note(deep *d, deep_verdict verdict, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(d->seen, sizeof(d->seen), format, list);
    va_end(list);
    return verdict;
}

deep_verdict deep_skip(deep *d, const char *reason)
{
    (void)snprintf(d->why, sizeof(d->why), "Not tried, because %s.", reason);
    return deep_note(d, DEEP_NOT_TRIED, "-");
}

/* Returns whether the server does not have the route of the request. */
static bool lacks_route(const tinkc_error *error)
{
    int status = tinkc_error_http_status(error);
    return tinkc_error_code(error) == TINKC_E_UNSUPPORTED || status == 404 ||
           status == 405 || status == 501;
}

deep_verdict deep_failed(deep *d)
{
    if (d->is_late) {
        (void)snprintf(d->why, sizeof(d->why),
                       "The server did not end the work in time.");
        return deep_note(d, DEEP_FAILED, "no end in time");
    }
    if (d->error == NULL) { /* after Ctrl-C, or found by the check itself */
        if (d->why[0] == '\0') {
            return deep_skip(d, "the conversation was interrupted");
        }
        return deep_note(d, DEEP_OFF, "%s", d->seen[0] != '\0' ? d->seen : "unusable");
    }
    bool lacks = lacks_route(d->error);
    int status = tinkc_error_http_status(d->error);
    (void)snprintf(d->why, sizeof(d->why),
                   lacks ? "The server does not offer this: %s"
                         : "The server did not do this: %s",
                   tinkc_error_message(d->error));
    deep_verdict verdict = lacks ? DEEP_NOT_OFFERED : DEEP_FAILED;
    return status > 0
               ? deep_note(d, verdict, "HTTP %d", status)
               : deep_note(d, verdict, "%s", tinkc_code_name(tinkc_error_code(d->error)));
}

deep_verdict deep_refused(deep *d)
{
    tinkc_code code = tinkc_error_code(d->error);
    bool is_refused = code == TINKC_E_BAD_REQUEST || code == TINKC_E_UNPROCESSABLE ||
                      (code == TINKC_E_REQUEST &&
                       tinkc_error_category(d->error) == TINKC_CATEGORY_USER);
    deep_verdict verdict = deep_failed(d);
    if (is_refused) {
        (void)snprintf(d->why, sizeof(d->why), "The server does not offer this: %s",
                       tinkc_error_message(d->error));
        return DEEP_NOT_OFFERED;
    }
    return verdict;
}

/* ---- waiting ---- */

bool deep_wait(deep *d, tinkc_future **future, bool makes)
{
    int64_t limit = d->is_cleaning ? REMOVE_MS : d->wait_ms;
    int64_t now = tk_clock_mono_ms(NULL);
    int64_t end = d->is_cleaning ? now + limit : TK_MIN(now + limit, d->end_ms);
    tinkc_code code = TINKC_E_TIMEOUT;
    tinkc_error_free(&d->error);
    d->is_late = false;
    while (!tinkc_future_is_done(*future) && (now = tk_clock_mono_ms(NULL)) < end &&
           (makes || d->is_cleaning || !cmd_interrupted())) {
        (void)tinkc_future_wait(*future, TK_MIN(SLICE_MS, end - now));
    }
    if (tinkc_future_is_done(*future)) {
        code = tinkc_future_wait(*future, 0);
        d->error = tinkc_future_take_error(*future);
    } else {
        d->is_late = now >= end;
        tinkc_future_cancel(*future);
    }
    if (code != TINKC_OK) {
        tinkc_future_free(future);
    }
    return code == TINKC_OK;
}

bool deep_done(deep *d, tinkc_future *future)
{
    bool ok = deep_wait(d, &future, false);
    tinkc_future_free(&future);
    return ok;
}

bool deep_text(deep *d, tinkc_future *future, char **out)
{
    bool ok = deep_wait(d, &future, true) &&
              tinkc_future_take_text(out, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    return ok;
}

/* ---- the end ---- */

typedef struct removal {
    size_t done, left;
    size_t lacks; /* of those left: the server cannot remove such things */
} removal;

static void count_removal(deep *d, removal *r, bool ok, const char *what)
{
    *(ok ? &r->done : &r->left) += 1;
    if (!ok) {
        r->lacks += lacks_route(d->error);
        (void)snprintf(d->why, sizeof(d->why), "Left at the server: %s (%s).", what,
                       d->is_late ? "no answer" : tinkc_error_message(d->error));
    }
}

/* Deletes the checkpoints, unloads the models, ends the second connection. */
static deep_verdict clean(deep *d)
{
    removal paths = {0}, models = {0};
    d->is_cleaning = true;
    tinkc_sampling_close(&d->sampler);
    for (size_t i = 0; i < DEEP_PATHS_MAX; i++) {
        if (d->paths[i] != NULL) {
            bool ok = deep_done(d, tinkc_rest_delete_checkpoint(d->service, d->paths[i]));
            count_removal(d, &paths, ok, d->paths[i]);
            tk_free(d->paths[i]);
            d->paths[i] = NULL;
        }
    }
    for (size_t i = 0; i < DEEP_MODELS_MAX; i++) {
        tinkc_training *model = d->models[i];
        if (model != NULL) {
            count_removal(d, &models, deep_drop(d, &model), "a loaded model");
        }
    }
    tinkc_service_close(&d->again);
    size_t left = paths.left + models.left;
    deep_verdict verdict = left == 0                            ? DEEP_OK
                           : left == paths.lacks + models.lacks ? DEEP_NOT_OFFERED
                                                                : DEEP_OFF;
    return deep_note(d, verdict, "%zu checkpoints deleted, %zu models unloaded, %zu left",
                     paths.done, models.done, left);
}

static const deep_check clean_checks[] = {
    {"clean up", "remove what the conversation made", "nothing left",
     "Everything that the conversation made is gone.",
     "Something that the conversation made is left at the server.", clean},
    {0},
};

/* ---- running ---- */

static const deep_check *const tables[] = {
    deep_model_checks,  deep_loss_checks, deep_exact_checks,
    deep_sample_checks, deep_stop_checks, deep_rest_checks,
};

static void run_check(deep *d, const deep_check *check)
{
    if (d->rows_n == DEEP_ROWS_MAX) {
        return;
    }
    deep_row *row = &d->rows[d->rows_n++];
    int64_t began = tk_clock_mono_ns(NULL);
    d->seen[0] = d->why[0] = '\0';
    cmd_progress("%s: %s", check->name, check->asked);
    if (cmd_interrupted() && check->run != clean) {
        row->verdict = deep_skip(d, "the conversation was interrupted");
    } else if (tk_clock_mono_ms(NULL) >= d->end_ms && check->run != clean) {
        row->verdict = deep_skip(d, "the time of --wait was over");
    } else {
        row->verdict = check->run(d);
    }
    row->check = check;
    row->ms = (double)(tk_clock_mono_ns(NULL) - began) / 1e6;
    const char *why = d->why[0] != '\0'          ? d->why
                      : row->verdict == DEEP_OFF ? check->bad
                                                 : check->good;
    (void)snprintf(row->seen, sizeof(row->seen), "%s",
                   d->seen[0] != '\0' ? d->seen : check->expected);
    (void)snprintf(row->why, sizeof(row->why), "%s", why);
    tk_utf8_scrub(row->seen, strlen(row->seen));
    tk_utf8_scrub(row->why, strlen(row->why));
}

static void close_all(deep *d)
{
    deep_batch_close(&d->first);
    deep_batch_close(&d->batch);
    deep_text_close(d);
    tinkc_error_free(&d->error);
}

static int verdict_of(const deep *d)
{
    char names[DEEP_TEXT_BYTES] = "";
    for (size_t i = 0; i < d->rows_n; i++) {
        const deep_row *row = &d->rows[i];
        if (row->verdict == DEEP_OFF || row->verdict == DEEP_FAILED) {
            size_t n = strlen(names);
            (void)snprintf(names + n, sizeof(names) - n, "%s%s", n > 0 ? ", " : "",
                           row->check->name);
        }
    }
    return names[0] == '\0' ? CMD_OK : cmd_fail("not as it should be: %s", names);
}

int deep_run(const cmd_args *args, const tinkc_config *config, tinkc_service *service,
             const char *base_model)
{
    deep *d = tk_zalloc(sizeof(*d)); /* too large for a stack */
    if (d == NULL) {
        return cmd_fail("out of memory");
    }
    int64_t began = tk_clock_mono_ms(NULL);
    d->args = args;
    d->config = config;
    d->service = service;
    d->base_model = base_model;
    d->wait_ms = cmd_int(args, "wait", DEEP_ALL_S) * 1000 / 2;
    d->end_ms = began + 2 * d->wait_ms;
    cmd_signal_catch();
    deep_text_open(d);
    for (size_t t = 0; t < TK_ARRAY_LEN(tables); t++) {
        for (const deep_check *check = tables[t]; check->name != NULL; check++) {
            run_check(d, check);
        }
    }
    run_check(d, clean_checks);
    cmd_progress_end();
    d->seconds = (double)(tk_clock_mono_ms(NULL) - began) / 1e3;
    bool was_interrupted = cmd_interrupted();
    cmd_signal_release();
    int result = deep_show(d);
    int verdict = verdict_of(d);
    close_all(d);
    tk_free(d);
    return was_interrupted ? CMD_INTERRUPTED : result != CMD_OK ? result : verdict;
}
