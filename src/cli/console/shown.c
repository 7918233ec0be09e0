/* Two lists, each with the newest activity first, are merged; everything else is in one of
 * the two. A file comes before a run of the service with the same id.
 * Needs: server */
#include "cli/console/shown.h"

#include "base/mem.h"
#include "cli/console/board_int.h"

static tinkc_code show_runs(void *user, con_runs *out, tk_arena *arena,
                            const con_runs_query *query, tk_err *err)
{
    const shown *s = user;
    con_runs files = {.n = 0}, others = {.n = 0};
    size_t most = (size_t)query->offset + (size_t)query->limit, at = 0, a = 0, b = 0;
    const con_runs_query all = {.limit = (int64_t)most, .search = query->search};
    tinkc_code code = board_show_runs(s->board, &files, arena, &all, err);
    if (code == TINKC_OK) {
        code = remote_show_runs(s->remote, &others, arena, query->search, most, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    con_run *rows = tk_arena_array(arena, files.n + others.n + 1, sizeof(*rows));
    if (rows == NULL) {
        return tk_err_nomem(err);
    }
    *out = (con_runs){.p = rows, .total = files.total + others.total};
    for (; at < most && (a < files.n || b < others.n); at++) {
        bool is_file = b == others.n ||
                       (a < files.n && files.p[a].updated_ms >= others.p[b].updated_ms);
        const con_run *next = is_file ? &files.p[a++] : &others.p[b++];
        if (at >= (size_t)query->offset) {
            rows[out->n++] = *next;
        }
    }
    return TINKC_OK;
}

static tinkc_code show_run(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                           tk_err *err)
{
    const shown *s = user;
    tk_err own = TK_ERR_INIT;
    tinkc_code code = board_show_run(s->board, out, arena, id, &own);
    if (code == TINKC_E_MISSING) {
        return remote_show_run(s->remote, out, arena, id, err);
    }
    return code == TINKC_OK ? code : tk_err_set(err, code, "%s", own.message);
}

/* A service keeps no curves. */
static tinkc_code show_no_series(con_series_list *out, tk_arena *arena,
                                 const con_series_query *query, tk_err *err)
{
    con_series *all = tk_arena_array(arena, query->n_names + 1, sizeof(*all));
    if (all == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < query->n_names; i++) {
        all[i] = (con_series){.name = query->names[i]};
    }
    *out = (con_series_list){.p = all, .n = query->n_names};
    return TINKC_OK;
}

static tinkc_code show_series(void *user, con_series_list *out, tk_arena *arena,
                              const con_series_query *query, tk_err *err)
{
    const shown *s = user;
    tk_err own = TK_ERR_INIT;
    tinkc_code code = board_show_series(s->board, out, arena, query, &own);
    if (code == TINKC_E_MISSING && remote_has_run(s->remote, query->run)) {
        return show_no_series(out, arena, query, err);
    }
    return code == TINKC_OK ? code : tk_err_set(err, code, "%s", own.message);
}

static tinkc_code show_episodes(void *user, con_episodes *out, tk_arena *arena,
                                tk_err *err)
{
    const shown *s = user;
    return board_show_episodes(s->board, out, arena, err);
}

static tinkc_code show_server(void *user, con_server *out, tk_arena *arena, tk_err *err)
{
    const shown *s = user;
    tinkc_code code = board_show_server(s->board, out, arena, err);
    return code == TINKC_OK ? remote_show_server(s->remote, out, arena, err) : code;
}

con_data shown_data(shown *s)
{
    return (con_data){.user = s,
                      .kind = "console",
                      .runs = show_runs,
                      .run = show_run,
                      .series = show_series,
                      .episodes = show_episodes,
                      .server = show_server};
}
