/* Counters and their route, see srv_usage.h. */
#include "server/api/srv_usage.h"

#include <string.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "server/api/srv_rest.h"
#include "server/http/srv_reply.h"
#include "server/srv_int.h"

#define HOUR_US    (INT64_C(3600) * 1000000)
#define SPAN_MAX_H (14 * 24)
#define CACHED     256  /* added to the kind of a counter */
#define PENDING    4096 /* counters that wait to be written */

struct srv_usage {
    tk_mutex lock;
    tk_map pending; /* text of the counter -> entry; under lock */
};

typedef struct entry {
    srv_store_usage row; /* strings behind it */
    char text[];
} entry;

tinkc_code srv_usage_new(srv_usage **out, tk_err *err)
{
    srv_usage *usage = tk_zalloc(sizeof(*usage));
    if (usage == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&usage->lock, err);
    if (code != TINKC_OK) {
        tk_free(usage);
        return code;
    }
    tk_map_init(&usage->pending, TK_MAP_COPY_KEYS);
    *out = usage;
    return TINKC_OK;
}

static void free_entries(tk_map *map)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(map, &cursor, NULL, &value)) {
        tk_free(value);
    }
    tk_map_dispose(map);
}

void srv_usage_free(srv_usage *usage)
{
    if (usage == NULL) {
        return;
    }
    free_entries(&usage->pending);
    tk_mutex_dispose(&usage->lock);
    tk_free(usage);
}

/* ---- counting ---- */

static entry *make_entry(const srv_store_usage *row)
{
    size_t a = row->base_model.n, b = row->session_id.n;
    entry *made = tk_zalloc(sizeof(*made) + a + b + 1);
    if (made == NULL) {
        return NULL;
    }
    if (a > 0) {
        memcpy(made->text, row->base_model.p, a);
    }
    if (b > 0) {
        memcpy(made->text + a, row->session_id.p, b);
    }
    made->row = *row;
    made->row.base_model.p = made->text;
    made->row.session_id.p = made->text + a;
    return made;
}

/* Adds to the counter, which is made when there is none. Under the lock. */
static void count(tk_map *map, const srv_store_usage *row)
{
    tk_err ignored = TK_ERR_INIT;
    tk_buf key;
    tk_buf_init(&key, 4 * TK_KIB);
    tk_buf_printf(&key, "%lld %lld " TK_STR_FMT " " TK_STR_FMT, (long long)row->bucket_us,
                  (long long)row->kind, TK_STR_ARG(row->session_id),
                  TK_STR_ARG(row->base_model));
    entry *found = key.failure == TINKC_OK ? tk_map_get(map, tk_buf_str(&key)) : NULL;
    if (found != NULL) {
        found->row.amount += row->amount;
    } else if (key.failure == TINKC_OK && map->count < PENDING) {
        found = make_entry(row);
        if (found != NULL &&
            tk_map_put(map, tk_buf_str(&key), found, &ignored) != TINKC_OK) {
            tk_free(found);
        }
    }
    tk_buf_dispose(&key);
}

static void add(srv_usage *usage, int64_t kind, tk_str base_model, tk_str session,
                uint64_t amount)
{
    int64_t now = tk_clock_wall_us(NULL);
    const srv_store_usage row = {
        .bucket_us = now - now % HOUR_US,
        .base_model = base_model,
        .session_id = tk_str_cut(&session, ':'),
        .kind = kind,
        .amount = (int64_t)TK_MIN(amount, (uint64_t)INT32_MAX),
    };
    if (amount > 0) {
        tk_mutex_lock(&usage->lock);
        count(&usage->pending, &row);
        tk_mutex_unlock(&usage->lock);
    }
}

void srv_usage_add(srv_usage *usage, tk_billing_kind kind, tk_str base_model,
                   tk_str session, uint64_t amount)
{
    add(usage, (int64_t)kind, base_model, session, amount);
}

void srv_usage_add_cached(srv_usage *usage, tk_str base_model, tk_str session,
                          uint64_t amount)
{
    add(usage, TK_BILLING_SAMPLING_PREFILL + CACHED, base_model, session, amount);
}

tinkc_code srv_usage_write(srv_usage *usage, srv_store *store, tk_err *err)
{
    size_t cursor = 0, n = 0;
    void *value = NULL;
    tk_map taken;
    tk_mutex_lock(&usage->lock);
    taken = usage->pending;
    tk_map_init(&usage->pending, TK_MAP_COPY_KEYS);
    tk_mutex_unlock(&usage->lock);
    if (taken.count == 0) {
        tk_map_dispose(&taken);
        return TINKC_OK;
    }
    srv_store_usage *rows = tk_array(taken.count, sizeof(*rows));
    while (rows != NULL && tk_map_next(&taken, &cursor, NULL, &value)) {
        rows[n++] = ((const entry *)value)->row;
    }
    tinkc_code code =
        rows != NULL ? srv_store_add_usage(store, rows, n, err) : tk_err_nomem(err);
    if (code != TINKC_OK) {
        tk_mutex_lock(&usage->lock);
        for (cursor = 0; tk_map_next(&taken, &cursor, NULL, &value);) {
            count(&usage->pending, &((const entry *)value)->row);
        }
        tk_mutex_unlock(&usage->lock);
    }
    tk_free(rows);
    free_entries(&taken);
    return code;
}

/* ---- the route ---- */

/* An hour of the query; false: answered. */
static bool read_hour(int64_t *out, srv_request *request, const char *name)
{
    tk_err ignored = TK_ERR_INIT;
    tk_str text = srv_request_query(request, name);
    if (text.p == NULL || tk_date_parse(out, text, &ignored) != TINKC_OK ||
        *out % HOUR_US != 0) {
        (void)srv_reply_fail(request, 400, "%s must be a time at a full hour, UTC", name);
        return false;
    }
    return true;
}

static tk_billing_event event_of(const srv_store_usage *row)
{
    tk_billing_event event = {
        .bucket_start = {TK_SET, row->bucket_us},
        .bucket_end = {TK_SET, row->bucket_us + HOUR_US},
        .base_model = {TK_SET, row->base_model},
        .session_id = {row->session_id.n > 0 ? TK_SET : TK_NULL, row->session_id},
    };
    event.event_info.kind = (tk_billing_kind)(row->kind % CACHED);
    if (event.event_info.kind == TK_BILLING_CHECKPOINT) {
        event.event_info.count = (tk_f_i64){TK_SET, row->amount};
    } else {
        event.event_info.token_count = (tk_f_i64){TK_SET, row->amount};
    }
    if (event.event_info.kind == TK_BILLING_SAMPLING_PREFILL) {
        event.event_info.cached = (tk_f_bool){TK_SET, row->kind >= CACHED};
    }
    return event;
}

/* The sessions of the rows, each once, in the order of their first row. */
static tinkc_code collect_ids(tk_map *out, const srv_store_usages *list, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < list->n; i++) {
        tk_str id = list->p[i].session_id;
        if (!tk_map_has(out, id)) {
            code = tk_map_put(out, id, NULL, err);
        }
    }
    return code;
}

static tinkc_code read_sessions(tk_billing_response *reply, srv_request *request,
                                const tk_map *ids, tk_err *err)
{
    tk_named_billing_session *all =
        tk_arena_array(&request->arena, ids->count, sizeof(*all));
    size_t cursor = 0, n = 0;
    tk_str id;
    if (ids->count > 0 && all == NULL) {
        return tk_err_nomem(err);
    }
    while (tk_map_next(ids, &cursor, &id, NULL)) {
        tk_str metadata = {"", 0};
        tk_err why = TK_ERR_INIT;
        tinkc_code code = srv_store_session_metadata(&metadata, request->server->store,
                                                     &request->arena, id, &why);
        if (code == TINKC_E_MISSING) {
            continue;
        }
        if (code != TINKC_OK) {
            return tk_err_set(err, code, "%s", why.message);
        }
        all[n] = (tk_named_billing_session){.name = id};
        srv_rest_fill_metadata(&all[n++].session.user_metadata, &request->arena,
                               metadata);
    }
    reply->sessions = all;
    reply->sessions_n = n;
    return TINKC_OK;
}

/* Each session once, with its metadata. */
static tinkc_code fill_sessions(tk_billing_response *reply, srv_request *request,
                                const srv_store_usages *list, tk_err *err)
{
    tk_map ids;
    tk_map_init(&ids, TK_MAP_BORROW_KEYS);
    tinkc_code code = collect_ids(&ids, list, err);
    if (code == TINKC_OK) {
        code = read_sessions(reply, request, &ids, err);
    }
    tk_map_dispose(&ids);
    return code;
}

srv_verdict srv_usage_events(srv *server, srv_request *request)
{
    int64_t start = 0, end = 0;
    srv_store_usages list = {0};
    tk_err err = TK_ERR_INIT;
    if (!read_hour(&start, request, "starting_on") ||
        !read_hour(&end, request, "ending_before")) {
        return SRV_ANSWERED;
    }
    if (end <= start || (end - start) / HOUR_US > SPAN_MAX_H) {
        return srv_reply_fail(request, 400,
                              "ending_before must be up to 14 days after starting_on");
    }
    tinkc_code code = srv_usage_write(server->usage, server->store, &err);
    if (code == TINKC_OK) {
        const int64_t span[2] = {start, end};
        code = srv_store_list_usage(&list, server->store, &request->arena, span, &err);
    }
    tk_billing_event *events = tk_arena_array(&request->arena, list.n, sizeof(*events));
    if (code == TINKC_OK && list.n > 0 && events == NULL) {
        code = tk_err_nomem(&err);
    }
    for (size_t i = 0; code == TINKC_OK && i < list.n; i++) {
        events[i] = event_of(&list.p[i]);
    }
    tk_billing_response reply = {.data = events, .data_n = list.n};
    if (code == TINKC_OK) {
        code = fill_sessions(&reply, request, &list, &err);
    }
    return code == TINKC_OK ? srv_reply_msg(request, &tk_msg_billing_response, &reply)
                            : srv_reply_error(request, &err);
}
