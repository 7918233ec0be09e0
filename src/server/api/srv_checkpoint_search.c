/* Pages of the store are read until there is enough. The cursor holds the number of the
 * last row that was looked at. */
#include "server/api/srv_checkpoint_search.h"

#include <stdio.h>

#include "base/date.h"
#include "server/api/srv_checkpoint.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"
#include "wire/msg_search.h"

#define PAGE_ROWS 200
#define SCAN_ROWS 20000 /* after which the answer ends with a cursor */
#define OWNER     "local"

typedef struct search {
    srv *server;
    hd_request *request;
    tk_checkpoint_search_request msg;
    srv_store_filter filter;
    bool nothing; /* asks for what no checkpoint here has */
    size_t limit;
    int64_t scanned;
    int64_t last_row, last_us;
} search;

/* ---- from the request ---- */

static bool refuse(const search *s, const char *field, const char *text)
{
    (void)hd_reply_field(s->request, field, text);
    return false;
}

static bool read_type(search *s)
{
    static const tk_path_kind kinds[] = {TK_PATH_WEIGHTS, TK_PATH_SAMPLER_WEIGHTS,
                                         TK_PATH_EXTERNAL_WEIGHTS};
    if (s->msg.checkpoint_type.is != TK_SET) {
        return true;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        if (tk_str_is(s->msg.checkpoint_type.v, tk_path_checkpoint_type(kinds[i]))) {
            s->filter.has_kind = true;
            s->filter.kind = kinds[i];
            return true;
        }
    }
    return refuse(s, "checkpoint_type", "must be training, sampler or external");
}

static bool read_owner(search *s)
{
    const tk_search_owner *owner = &s->msg.owner;
    if (owner->type.is != TK_SET || tk_str_is(owner->type.v, "own") ||
        tk_str_is(owner->type.v, "accessible")) {
        return true;
    }
    if (!tk_str_is(owner->type.v, "user")) {
        return refuse(s, "owner.type", "must be own, accessible or user");
    }
    s->nothing = s->nothing || !srv_msg_has(&owner->owner_urns.v, TK_STR(OWNER));
    return true;
}

static bool read_cursor(search *s)
{
    const tk_json *row = s->msg.cursor.is == TK_SET
                             ? tk_json_get(s->msg.cursor.v, "last_checkpoint_uuid")
                             : NULL;
    if (s->msg.cursor.is != TK_SET) {
        return true;
    }
    if (row == NULL || row->type != TK_JSON_STRING ||
        !tk_str_to_i64(row->as.string, &s->filter.before_row) ||
        s->filter.before_row < 1) {
        return refuse(s, "cursor", "is not one of this server's");
    }
    return true;
}

/* Each checkpoint is compared with each of them. */
static bool is_short(const search *s)
{
    if (s->msg.user_metadata.v.n > TK_SRV_SEARCH_TERMS_MAX) {
        return refuse(s, "user_metadata", "has too many pairs to be searched for");
    }
    if (s->msg.project_ids.v.n > TK_SRV_SEARCH_TERMS_MAX) {
        return refuse(s, "project_ids", "are too many");
    }
    return s->msg.base_models.v.n <= TK_SRV_SEARCH_TERMS_MAX ||
           refuse(s, "base_models", "are too many");
}

static bool read_request(search *s)
{
    if (!srv_msg_decode(s->request, &tk_msg_checkpoint_search_request, &s->msg) ||
        !is_short(s)) {
        return false;
    }
    s->limit = (size_t)s->msg.limit.v;
    s->filter.page.limit = PAGE_ROWS;
    s->nothing = (s->msg.project_ids.is == TK_SET && s->msg.project_ids.v.n == 0) ||
                 (s->msg.base_models.is == TK_SET && s->msg.base_models.v.n == 0);
    return read_type(s) && read_owner(s) && read_cursor(s);
}

/* ---- matching ---- */

static bool has_pair(const tk_str_map *have, const tk_named_str *want)
{
    for (size_t i = 0; i < have->n; i++) {
        if (tk_str_eq(have->items[i].name, want->name) &&
            tk_str_eq(have->items[i].v, want->v)) {
            return true;
        }
    }
    return false;
}

static bool matches(const search *s, const tk_checkpoint *at, const tk_str *project_id)
{
    const tk_str_map *want = &s->msg.user_metadata.v;
    if (s->msg.project_ids.is == TK_SET &&
        !srv_msg_has(&s->msg.project_ids.v, *project_id)) {
        return false;
    }
    if (s->msg.base_models.is == TK_SET &&
        !srv_msg_has(&s->msg.base_models.v, at->base_model.v)) {
        return false;
    }
    for (size_t i = 0; i < want->n; i++) {
        if (!has_pair(&at->user_metadata.v, &want->items[i])) {
            return false;
        }
    }
    return true;
}

/* Adds those of a page that match, until there are enough; *n counts them. */
static tinkc_code take(search *s, tk_checkpoint *items, size_t *n,
                       const srv_store_checkpoints *page, tk_err *err)
{
    for (size_t i = 0; i < page->n && *n < s->limit; i++) {
        const srv_store_checkpoint *row = &page->p[i];
        if (!srv_checkpoint_fill(&items[*n], &s->request->arena, row)) {
            return tk_err_nomem(err);
        }
        *n += matches(s, &items[*n], &row->project_id);
        s->last_row = row->row;
        s->last_us = row->created_us;
        s->scanned++;
    }
    return TINKC_OK;
}

/* *more says whether there may be others after the last one that was looked at. */
static tinkc_code find(search *s, tk_checkpoint *items, size_t *n, bool *more,
                       tk_err *err)
{
    tinkc_code code = TINKC_OK;
    srv_store_checkpoints page;
    do {
        code = srv_store_list_checkpoints(&page, s->server->store, &s->request->arena,
                                          &s->filter, err);
        if (code == TINKC_OK) {
            code = take(s, items, n, &page, err);
        }
        if (code == TINKC_OK && page.n > 0) {
            s->filter.before_row = s->last_row;
        }
        *more = code == TINKC_OK && page.n > 0 &&
                (s->last_row != page.p[page.n - 1].row || page.n < (size_t)page.total);
    } while (code == TINKC_OK && *more && *n < s->limit && s->scanned < SCAN_ROWS);
    return code;
}

static bool fill_cursor(tk_f_raw *out, search *s)
{
    char text[160], date[TK_DATE_TEXT_BYTES] = "";
    tk_err ignored = TK_ERR_INIT;
    (void)!tk_date_format_micros(date, s->last_us);
    int n = snprintf(text, sizeof(text),
                     "{\"last_created_at\":\"%s\",\"last_checkpoint_uuid\":\"%lld\"}",
                     date, (long long)s->last_row);
    out->is = TK_SET;
    return tk_json_parse(&out->v, &s->request->arena, text, (size_t)n, NULL, &ignored) ==
           TINKC_OK;
}

hd_verdict srv_checkpoint_search(hd_request *request)
{
    search s = {.server = request->app, .request = request};
    tk_checkpoint_search_response reply = {.next_cursor = {TK_NULL, NULL}};
    tk_err err = TK_ERR_INIT;
    bool more = false;
    size_t n = 0;
    if (!read_request(&s)) {
        return HD_ANSWERED;
    }
    tk_checkpoint *items = tk_arena_array(&request->arena, s.limit, sizeof(*items));
    if (items == NULL) {
        return hd_reply_no_memory(request);
    }
    if (!s.nothing && find(&s, items, &n, &more, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (more && !fill_cursor(&reply.next_cursor, &s)) {
        return hd_reply_no_memory(request);
    }
    reply.checkpoints = items;
    reply.checkpoints_n = n;
    return srv_msg_reply(request, &tk_msg_checkpoint_search_response, &reply);
}
