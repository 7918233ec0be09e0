/* Requests to the service, one after the other: each ends after r->ask_ms at the latest, or
 * when remote_stop cancels it. What is kept is copied into an arena.
 * Needs: server */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tinkc/future.h>
#include <tinkc/rest.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/console/remote_int.h"

#define PAGE         100 /* runs of one request */
#define LIST_BYTES   ((size_t)32 * TK_MIB)
#define POINTS_BYTES ((size_t)2 * TK_MIB) /* checkpoints of one run */
/* of one run: all of them leave half of the list for the rest */
#define METADATA_BYTES (LIST_BYTES / 2 / REMOTE_RUNS_MAX)

/* ---- one request ---- */

static void begin_wait(remote *r, tinkc_future *future)
{
    tk_mutex_lock(&r->lock);
    r->asked = future;
    if (r->is_stopping) {
        tinkc_future_cancel(future);
    }
    tk_mutex_unlock(&r->lock);
}

/* Waits until the future is done: its result can be taken when this returns TINKC_OK. */
static tinkc_code await(remote *r, tinkc_future *future, tk_err *err)
{
    begin_wait(r, future);
    tinkc_code code = tinkc_future_wait(future, r->ask_ms);
    tk_mutex_lock(&r->lock);
    r->asked = NULL;
    tk_mutex_unlock(&r->lock);
    if (code == TINKC_OK) {
        return TINKC_OK;
    }
    if (future == NULL) {
        return tk_err_nomem(err);
    }
    if (!tinkc_future_is_done(future)) {
        tinkc_future_cancel(future);
        return tk_err_set(err, TINKC_E_TIMEOUT, "no answer within %g seconds",
                          (double)r->ask_ms / 1000);
    }
    return tk_err_set(err, code, "%s", tinkc_error_message(tinkc_future_error(future)));
}

static tinkc_code taken(tinkc_code code, tk_err *err)
{
    return code == TINKC_OK ? TINKC_OK
                            : tk_err_set(err, code, "the answer cannot be read: %s",
                                         tinkc_code_name(code));
}

/* ---- copies ---- */

static bool dup_text(tk_arena *arena, tk_str *out, const char *text)
{
    *out = (tk_str){NULL, 0};
    return text == NULL || tk_arena_dup(arena, out, text, strlen(text));
}

static int64_t ms_of(int64_t time_us)
{
    return time_us == TINKC_NO_TIME ? CON_UNKNOWN : time_us / 1000;
}

static bool dup_metadata(tk_arena *arena, tk_str *out, const tinkc_run *run)
{
    tk_buf buf;
    tk_json_writer w;
    tk_err ignored = TK_ERR_INIT;
    tk_buf_init(&buf, METADATA_BYTES);
    tk_json_writer_init(&w, &buf);
    tk_json_begin_object(&w);
    for (size_t i = 0; i < run->metadata_n; i++) {
        if (run->metadata[i].value != NULL) {
            tk_json_key(&w, tk_str_of(run->metadata[i].name));
            tk_json_put_str(&w, tk_str_of(run->metadata[i].value));
        }
    }
    if (run->is_corrupted) {
        tk_json_key(&w, TK_STR("corrupted"));
        tk_json_put_str(&w, TK_STR("yes"));
    }
    tk_json_end_object(&w);
    /* metadata that is too long to show is left out, not an error */
    bool is_whole = tk_json_finish(&w, &ignored) == TINKC_OK;
    *out = (tk_str){NULL, 0};
    bool ok = !is_whole || tk_arena_dup(arena, out, buf.p, buf.n);
    tk_buf_dispose(&buf);
    return ok;
}

static bool put_checkpoint(con_checkpoint *out, tk_arena *arena,
                           const tinkc_checkpoint *from)
{
    *out = (con_checkpoint){
        .is_sampler = from->type != TINKC_CHECKPOINT_TRAINING,
        .is_public = from->is_public,
        .created_ms = ms_of(from->time_us),
        .expires_ms = ms_of(from->expires_us),
        .size_bytes = from->size_bytes >= 0 ? from->size_bytes : CON_UNKNOWN,
        .step = CON_UNKNOWN,
    };
    return dup_text(arena, &out->path, from->path) && dup_text(arena, &out->id, from->id);
}

/* `name` of its metadata, else that of its last checkpoint, else its id. */
static const char *name_of(const tinkc_run *run)
{
    const tinkc_checkpoint *last = run->last_sampler_checkpoint != NULL
                                       ? run->last_sampler_checkpoint
                                       : run->last_checkpoint;
    for (size_t i = 0; i < run->metadata_n; i++) {
        const tinkc_pair *pair = &run->metadata[i];
        if (strcmp(pair->name, "name") == 0 && pair->value != NULL &&
            pair->value[0] != '\0') {
            return pair->value;
        }
    }
    const char *slash = last != NULL && last->id != NULL ? strrchr(last->id, '/') : NULL;
    return slash != NULL && slash[1] != '\0' ? slash + 1 : run->id;
}

static bool put_run(remote_run *out, tk_arena *arena, const tinkc_run *run)
{
    const tinkc_checkpoint *last[] = {run->last_checkpoint, run->last_sampler_checkpoint};
    *out =
        (remote_run){.shown = {.created_ms = CON_UNKNOWN,
                               .updated_ms = ms_of(run->last_request_us),
                               .step = CON_UNKNOWN,
                               .tokens = CON_UNKNOWN,
                               .rank = run->is_lora && run->lora_rank > 0 ? run->lora_rank
                                                                          : CON_UNKNOWN,
                               .loss = NAN}};
    bool ok = dup_text(arena, &out->shown.id, run->id) &&
              dup_text(arena, &out->shown.name, name_of(run)) &&
              dup_text(arena, &out->shown.model, run->base_model) &&
              dup_metadata(arena, &out->shown.metadata, run);
    for (size_t i = 0; i < TK_ARRAY_LEN(last) && ok; i++) {
        if (last[i] != NULL) {
            ok = put_checkpoint(&out->last[out->n_last++], arena, last[i]);
        }
    }
    if (out->n_last == 2 && out->last[0].created_ms < out->last[1].created_ms) {
        const con_checkpoint older = out->last[0]; /* the newest first */
        out->last[0] = out->last[1];
        out->last[1] = older;
    }
    return ok;
}

/* ---- runs ---- */

static bool has_run(const remote_runs *runs, const char *id)
{
    for (size_t i = 0; i < runs->n; i++) {
        if (tk_str_is(runs->p[i].shown.id, id)) {
            return true;
        }
    }
    return false;
}

/* Adds a page; a run that a page before had already has moved meanwhile. */
static tinkc_code add_page(remote_runs *out, const tinkc_runs *page, tk_err *err)
{
    bool ok = true;
    for (size_t i = 0; i < page->n && out->n < REMOTE_RUNS_MAX && ok; i++) {
        const tinkc_run *run = &page->items[i];
        if (run->id != NULL && run->id[0] != '\0' && !has_run(out, run->id)) {
            ok = put_run(&out->p[out->n], &out->arena, run);
            out->n += ok;
        }
    }
    out->total = TK_MAX(page->total, (int64_t)out->n);
    return ok ? TINKC_OK : tk_err_nomem(err);
}

/* Asks for one page; *n is how many it had. */
static tinkc_code ask_page(remote *r, remote_runs *out, int64_t offset, size_t *n,
                           tk_err *err)
{
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    tinkc_runs *page = NULL;
    options.limit = PAGE;
    options.offset = offset;
    tinkc_future *future = tinkc_rest_list_runs(r->service, &options);
    tinkc_code code = await(r, future, err);
    if (code == TINKC_OK) {
        code = taken(tinkc_future_take_runs(&page, future, NULL), err);
    }
    if (code == TINKC_OK) {
        *n = page->n;
        code = add_page(out, page, err);
    }
    tinkc_runs_free(&page);
    tinkc_future_free(&future);
    return code;
}

tinkc_code remote_ask_runs(remote *r, remote_runs *out, tk_err *err)
{
    size_t n = 0, asked = 0;
    tk_arena_init(&out->arena, LIST_BYTES);
    out->p = tk_arena_array(&out->arena, REMOTE_RUNS_MAX, sizeof(*out->p));
    tinkc_code code = out->p != NULL ? TINKC_OK : tk_err_nomem(err);
    while (code == TINKC_OK && asked < REMOTE_RUNS_MAX) {
        code = ask_page(r, out, (int64_t)asked, &n, err);
        asked += n;
        if (n == 0 || (int64_t)asked >= out->total) {
            break;
        }
    }
    return out->n > 0 ? TINKC_OK : code;
}

/* ---- checkpoints ---- */

static int by_age(const void *left, const void *right)
{
    const tinkc_checkpoint *const *a = left, *const *b = right;
    if ((*a)->time_us != (*b)->time_us) {
        return (*a)->time_us > (*b)->time_us ? -1 : 1;
    }
    return *a < *b ? -1 : *a > *b; /* as they came */
}

/* Copies the newest ones, as many as there is room for. */
static tinkc_code keep_newest(remote_points *out, const tinkc_checkpoints *all,
                              tk_err *err)
{
    size_t most = TK_MIN(all->n, (size_t)REMOTE_LISTED_MAX);
    const tinkc_checkpoint **sorted = tk_zarray(all->n + 1, sizeof(*sorted));
    out->p = tk_arena_array(&out->arena, most + 1, sizeof(*out->p));
    if (sorted == NULL || out->p == NULL) {
        tk_free(sorted);
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < all->n; i++) {
        sorted[i] = &all->items[i];
    }
    qsort(sorted, all->n, sizeof(*sorted), by_age);
    while (out->n < most &&
           put_checkpoint(&out->p[out->n], &out->arena, sorted[out->n])) {
        out->n++;
    }
    tk_free(sorted);
    return out->n > 0 || most == 0 ? TINKC_OK : tk_err_nomem(err);
}

tinkc_code remote_ask_points(remote *r, remote_points *out, const char *run, tk_err *err)
{
    tinkc_checkpoints *all = NULL;
    tinkc_future *future = tinkc_rest_list_checkpoints(r->service, run);
    tk_arena_init(&out->arena, POINTS_BYTES);
    tinkc_code code = await(r, future, err);
    if (code == TINKC_OK) {
        code = taken(tinkc_future_take_checkpoints(&all, future, NULL), err);
    }
    if (code == TINKC_OK) {
        code = keep_newest(out, all, err);
    }
    tinkc_checkpoints_free(&all);
    tinkc_future_free(&future);
    return code;
}

/* ---- sessions ---- */

static bool put_session(con_session *out, tk_arena *arena, const char *id,
                        const tinkc_session_info *info)
{
    *out = (con_session){.age_ms = CON_UNKNOWN,
                         .silent_ms = CON_UNKNOWN,
                         .models = (int64_t)info->run_ids_n,
                         .samplers = (int64_t)info->sampler_ids_n};
    return dup_text(arena, &out->id, id) &&
           dup_text(arena, &out->name, info->display_name);
}

/* A session that the service does not show, for whatever reason, is left out: it may have
 * ended since it was listed. Without an answer the others are not asked for either. */
static tinkc_code ask_session(remote *r, remote_sessions *out, const char *id)
{
    tk_err ignored = TK_ERR_INIT;
    tinkc_session_info *info = NULL;
    tinkc_future *future = tinkc_rest_get_session(r->service, id, TINKC_SCOPE_OWNED);
    tinkc_code code = await(r, future, &ignored);
    if (code == TINKC_OK) {
        code = tinkc_future_take_session_info(&info, future, NULL);
    }
    if (code == TINKC_OK && put_session(&out->p[out->n], &out->arena, id, info)) {
        out->n++;
    }
    tinkc_session_info_free(&info);
    tinkc_future_free(&future);
    bool is_silent = code == TINKC_E_CANCELLED || code == TINKC_E_TIMEOUT ||
                     code == TINKC_E_CONNECTION || code == TINKC_E_NOMEM;
    return is_silent ? code : TINKC_OK;
}

tinkc_code remote_ask_sessions(remote *r, remote_sessions *out)
{
    tk_err ignored = TK_ERR_INIT;
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    tinkc_sessions *ids = NULL;
    options.limit = REMOTE_SESSIONS_MAX;
    tinkc_future *future = tinkc_rest_list_sessions(r->service, &options);
    tk_arena_init(&out->arena, LIST_BYTES);
    out->p = tk_arena_array(&out->arena, REMOTE_SESSIONS_MAX, sizeof(*out->p));
    tinkc_code code = out->p != NULL ? await(r, future, &ignored) : TINKC_E_NOMEM;
    if (code == TINKC_OK) {
        code = tinkc_future_take_sessions(&ids, future, NULL);
    }
    for (size_t i = 0; code == TINKC_OK && i < ids->n && out->n < REMOTE_SESSIONS_MAX;
         i++) {
        code = ask_session(r, out, ids->ids[i]);
    }
    tinkc_sessions_free(&ids);
    tinkc_future_free(&future);
    return out->n > 0 ? TINKC_OK : code;
}
