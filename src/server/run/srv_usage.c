/* Counters in memory, by their text, until they are written. */
#include "server/run/srv_usage.h"

#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"

#define PENDING 4096 /* counters that wait to be written */

struct srv_usage {
    tk_mutex lock;
    tk_map pending; /* text of the counter -> entry; under lock */
};

typedef struct entry {
    srv_store_usage row; /* its strings are in `text` */
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
        .bucket_us = now - now % SRV_USAGE_HOUR_US,
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
    add(usage, TK_BILLING_SAMPLING_PREFILL + SRV_USAGE_CACHED, base_model, session,
        amount);
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

void srv_usage_flush(srv_usage *usage, srv_store *store, tk_log *log)
{
    tk_err err = TK_ERR_INIT;
    if (srv_usage_write(usage, store, &err) != TINKC_OK) {
        tk_log_write(log, TINKC_LOG_WARN, "usage", "%s", err.message);
    }
}
