/* The public pagers: three sources for the one walk of pager.c, each a list function of
 * the REST client that is waited for. Runs on the calling thread. */
#include "base/mem.h"
#include "client/core/core.h"
#include "client/core/service.h"
#include "client/future/tk_future.h"
#include "client/rest/pager.h"
#include "client/rest/rest.h"
#include "client/rest/rest_result.h"
#include "client/rest/rest_walk.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define PAGE_MAX         1000000
#define RUNS_PAGE        100
#define SESSIONS_PAGE    100
#define CHECKPOINTS_PAGE 1000

typedef enum what { RUNS, CHECKPOINTS, SESSIONS } what;

struct tinkc_pager {
    what what;
    tinkc_service *service; /* borrowed */
    tinkc_scope scope;
    char *project_id;
    tk_pager walk;
    union {
        void *any;
        tinkc_runs *runs;
        tinkc_checkpoints *checkpoints;
        tinkc_sessions *sessions;
    } page; /* owned */
    /* Of a server that has no list of all checkpoints: everything, asked for once. */
    bool is_walked;
    tk_rest_walk walked;
    size_t walked_at; /* where the page begins in it */
};

/* ---- sources ---- */

static tinkc_future *ask(const tinkc_pager *pager, const tinkc_list_options *options,
                         tk_result_kind *kind)
{
    switch (pager->what) {
    case RUNS:
        *kind = TK_RESULT_RUNS;
        return tinkc_rest_list_runs(pager->service, options);
    case CHECKPOINTS:
        *kind = TK_RESULT_CHECKPOINTS;
        return tinkc_rest_list_user_checkpoints(pager->service, options);
    case SESSIONS:
        break;
    }
    *kind = TK_RESULT_SESSIONS;
    return tinkc_rest_list_sessions(pager->service, options);
}

static tk_page describe(const tinkc_pager *pager)
{
    switch (pager->what) {
    case RUNS:
        return (tk_page){pager->page.runs->n, pager->page.runs->total, false};
    case CHECKPOINTS:
        return (tk_page){pager->page.checkpoints->n, pager->page.checkpoints->total,
                         false};
    case SESSIONS:
        break;
    }
    return (tk_page){pager->page.sessions->n, -1, false};
}

/* TINKC_E_LIMIT before the list was asked for is about an answer of the setup: asking for
 * fewer items would only repeat the setup. */
static bool was_sent(tinkc_future *future)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    (void)tinkc_future_wait(future, TINKC_FOREVER);
    return tinkc_future_status(&wait, future, NULL) == TINKC_OK && wait.attempts > 0;
}

static tk_page walked_page(tinkc_pager *pager, int64_t offset, int64_t limit)
{
    size_t all = pager->walked.n;
    size_t at = TK_MIN((uint64_t)offset, (uint64_t)all);
    pager->walked_at = at;
    return (tk_page){TK_MIN((size_t)limit, all - at), (int64_t)all, false};
}

static tinkc_code walk(tinkc_pager *pager, tk_err *err)
{
    tk_rest_walk walked = {0};
    tinkc_code code = tk_rest_walk_ask(&walked, pager->service, err);
    if (code != TINKC_OK) {
        tk_rest_walk_dispose(&walked);
        return code;
    }
    pager->walked = walked;
    pager->is_walked = true;
    return TINKC_OK;
}

static tinkc_code walked(tinkc_pager *pager, int64_t offset, int64_t limit, tk_page *out,
                         tk_err *err)
{
    tinkc_code code = pager->is_walked ? TINKC_OK : walk(pager, err);
    if (code == TINKC_OK) {
        *out = walked_page(pager, offset, limit);
    }
    return code;
}

/* Whether the server has shown that it lacks the list. */
static bool has_no_list(const tinkc_pager *pager)
{
    const tk_manners *manners = tk_core_manners(tk_service_handle(pager->service)->core);
    return pager->what == CHECKPOINTS &&
           tk_manners_get(manners, TK_MANNER_NO_CHECKPOINT_LIST) == TK_KNOWN_YES;
}

static tinkc_code fetch(void *user, int64_t offset, int64_t limit, tk_page *out,
                        tk_err *err)
{
    tinkc_pager *pager = user;
    tinkc_error *error = NULL;
    void *page = NULL;
    tk_result_kind kind;
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    options.limit = limit;
    options.offset = offset;
    options.scope = pager->scope;
    options.project_id = pager->project_id;
    if (pager->is_walked || has_no_list(pager)) {
        return walked(pager, offset, limit, out, err);
    }
    tinkc_future *future = ask(pager, &options, &kind);
    out->is_too_large = was_sent(future);
    tinkc_code code = tk_future_wait_take(&page, future, kind, &error);
    if (code == TINKC_E_UNSUPPORTED && pager->what == CHECKPOINTS) {
        tk_core *core = tk_service_handle(pager->service)->core;
        tk_manners_learn(tk_core_manners(core), tk_core_log(core),
                         TK_MANNER_NO_CHECKPOINT_LIST, true);
        tinkc_error_free(&error);
        return walked(pager, offset, limit, out, err);
    }
    if (code != TINKC_OK) {
        tk_error_read(err, error);
        tinkc_error_free(&error);
        return code;
    }
    tk_rest_result_free(pager->page.any);
    pager->page.any = page;
    *out = describe(pager);
    return TINKC_OK;
}

static const tinkc_checkpoint *checkpoint_at(const tinkc_pager *pager, size_t index)
{
    return pager->is_walked ? pager->walked.items[pager->walked_at + index]
                            : &pager->page.checkpoints->items[index];
}

static tk_str id_at(void *user, size_t index)
{
    const tinkc_pager *pager = user;
    switch (pager->what) {
    case RUNS:
        return tk_str_of(pager->page.runs->items[index].id);
    case CHECKPOINTS:
        return tk_str_of(checkpoint_at(pager, index)->path);
    case SESSIONS:
        break;
    }
    return tk_str_of(pager->page.sessions->ids[index]);
}

/* ---- life ---- */

static tinkc_code make(tinkc_pager **out, tinkc_service *service, what of,
                       const tinkc_pager_options *options, tk_err *err)
{
    static const int64_t pages[] = {RUNS_PAGE, CHECKPOINTS_PAGE, SESSIONS_PAGE};
    tinkc_pager_options mine = TINKC_PAGER_OPTIONS_INIT;
    if (out == NULL || service == NULL) {
        return tk_err_set(err, out == NULL ? TINKC_E_INVALID : TINKC_E_STATE,
                          "pager: no service, or no place for the result");
    }
    tinkc_code code = tk_types_options(&mine, sizeof(mine), options, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (mine.page < 0 || mine.page > PAGE_MAX || mine.limit < 0 || mine.offset < 0) {
        return tk_err_set(err, TINKC_E_INVALID, "page, limit or offset is out of range");
    }
    tinkc_pager *pager = tk_zalloc(sizeof(*pager));
    char *project_id = mine.project_id != NULL ? tk_strdup(mine.project_id) : NULL;
    if (pager == NULL || (mine.project_id != NULL && project_id == NULL)) {
        tk_free(pager);
        tk_free(project_id);
        return tk_err_nomem(err);
    }
    pager->what = of;
    pager->service = service;
    pager->scope = mine.scope;
    pager->project_id = project_id;
    tk_pager_source source = {fetch, id_at, pager};
    tk_pager_init(&pager->walk, &source, mine.page != 0 ? mine.page : pages[of],
                  mine.offset, mine.limit);
    *out = pager;
    return TINKC_OK;
}

static tinkc_code open_pager(tinkc_pager **out, tinkc_service *service, what of,
                             const tinkc_pager_options *options, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    return make(out, service, of, options, &err) == TINKC_OK ? TINKC_OK
                                                             : tk_error_give(error, &err);
}

tinkc_code tinkc_pager_runs(tinkc_pager **out, tinkc_service *service,
                            const tinkc_pager_options *options, tinkc_error **err)
{
    return open_pager(out, service, RUNS, options, err);
}

tinkc_code tinkc_pager_checkpoints(tinkc_pager **out, tinkc_service *service,
                                   const tinkc_pager_options *options, tinkc_error **err)
{
    return open_pager(out, service, CHECKPOINTS, options, err);
}

tinkc_code tinkc_pager_sessions(tinkc_pager **out, tinkc_service *service,
                                const tinkc_pager_options *options, tinkc_error **err)
{
    return open_pager(out, service, SESSIONS, options, err);
}

void tinkc_pager_close(tinkc_pager **pager_ref)
{
    tinkc_pager *pager = pager_ref != NULL ? *pager_ref : NULL;
    if (pager == NULL) {
        return;
    }
    *pager_ref = NULL;
    tk_pager_dispose(&pager->walk);
    tk_rest_result_free(pager->page.any);
    tk_rest_walk_dispose(&pager->walked);
    tk_free(pager->project_id);
    tk_free(pager);
}

/* ---- walking ---- */

static tinkc_code next(size_t *index, tinkc_pager *pager, what of, const void *out,
                       tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (pager == NULL || pager->what != of) {
        tk_err_set(&err, TINKC_E_STATE, "not a pager of this kind");
    } else if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (tk_pager_next(index, &pager->walk, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

tinkc_code tinkc_pager_next_run(const tinkc_run **out, tinkc_pager *pager,
                                tinkc_error **err)
{
    size_t index = 0;
    tinkc_code code = next(&index, pager, RUNS, out, err);
    if (code == TINKC_OK) {
        *out = &pager->page.runs->items[index];
    }
    return code;
}

tinkc_code tinkc_pager_next_checkpoint(const tinkc_checkpoint **out, tinkc_pager *pager,
                                       tinkc_error **err)
{
    size_t index = 0;
    tinkc_code code = next(&index, pager, CHECKPOINTS, out, err);
    if (code == TINKC_OK) {
        *out = checkpoint_at(pager, index);
    }
    return code;
}

tinkc_code tinkc_pager_next_session(const char **out, tinkc_pager *pager,
                                    tinkc_error **err)
{
    size_t index = 0;
    tinkc_code code = next(&index, pager, SESSIONS, out, err);
    if (code == TINKC_OK) {
        *out = pager->page.sessions->ids[index];
    }
    return code;
}

tinkc_code tinkc_pager_has_next(bool *out, tinkc_pager *pager, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    bool more = false;
    if (pager == NULL || out == NULL) {
        tk_err_set(&err, pager == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                   "no pager, or no place for the answer");
    } else if (tk_pager_peek(&more, &pager->walk, &err) == TINKC_OK) {
        *out = more;
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

int64_t tinkc_pager_total(const tinkc_pager *pager)
{
    return pager != NULL ? pager->walk.page.total : -1;
}
