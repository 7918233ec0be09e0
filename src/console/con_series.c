/* The route of metrics over steps, tokens or time. */
#include <math.h>

#include "console/con_int.h"
#include "console/con_json.h"
#include "httpd/hd_reply.h"

#define POINTS 1000

/* Splits "loss,lr" into names; answers and returns false when there are none or too many. */
static bool read_names(con_series_query *query, hd_request *request)
{
    tk_str rest = hd_request_query(request, "metric");
    tk_str *names = tk_arena_array(&request->arena, CON_NAMES_MAX, sizeof(*names));
    size_t n = 0;
    if (names == NULL) {
        (void)hd_reply_busy(request);
        return false;
    }
    while (rest.n > 0 && n < CON_NAMES_MAX) {
        tk_str name = tk_str_cut(&rest, ',');
        if (name.n > 0) {
            names[n++] = name;
        }
    }
    if (n == 0 || rest.n > 0) {
        (void)hd_reply_field(request, "metric",
                             n == 0 ? "must name a metric" : "has too many names");
        return false;
    }
    query->names = names;
    query->n_names = n;
    return true;
}

static bool read_query(con_series_query *query, hd_request *request)
{
    tk_str by = hd_request_query(request, "by");
    int64_t points = POINTS;
    *query = (con_series_query){
        .run = request->params[0],
        .by = tk_str_is(by, "time")     ? CON_BY_TIME
              : tk_str_is(by, "tokens") ? CON_BY_TOKENS
                                        : CON_BY_STEP,
        .from = -(double)INFINITY,
        .to = (double)INFINITY,
    };
    bool ok = read_names(query, request) &&
              con_json_query_int(request, "points", 1, CON_POINTS_MAX, &points) &&
              con_json_query_num(request, "from", &query->from) &&
              con_json_query_num(request, "to", &query->to);
    query->points = (size_t)points;
    return ok;
}

/* One array of a series: the integer or the number at an offset of each point. */
static void put_ints(tk_json_writer *w, const char *key, const con_series *series,
                     size_t offset)
{
    con_json_key(w, key);
    tk_json_begin_array(w);
    for (size_t i = 0; i < series->n; i++) {
        const char *at = (const char *)&series->p[i] + offset;
        tk_json_put_i64(w, *(const int64_t *)(const void *)at);
    }
    tk_json_end_array(w);
}

static void put_nums(tk_json_writer *w, const char *key, const con_series *series,
                     size_t offset)
{
    con_json_key(w, key);
    tk_json_begin_array(w);
    for (size_t i = 0; i < series->n; i++) {
        const char *at = (const char *)&series->p[i] + offset;
        con_json_put_num(w, *(const double *)(const void *)at);
    }
    tk_json_end_array(w);
}

static void put_series(tk_json_writer *w, const con_series *series)
{
    tk_json_begin_object(w);
    con_json_str(w, "name", series->name);
    con_json_int(w, "total", series->total);
    con_json_bool(w, "decimated", series->decimated);
    put_ints(w, "step", series, offsetof(con_point, step));
    put_ints(w, "time_ms", series, offsetof(con_point, time_ms));
    put_ints(w, "tokens", series, offsetof(con_point, tokens));
    put_nums(w, "min", series, offsetof(con_point, min));
    put_nums(w, "max", series, offsetof(con_point, max));
    put_nums(w, "mean", series, offsetof(con_point, mean));
    put_ints(w, "n", series, offsetof(con_point, n));
    tk_json_end_object(w);
}

hd_verdict con_series_get(con *console, hd_request *request)
{
    con_series_query query;
    con_series_list list = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (console->data.series == NULL) {
        return hd_reply_fail(request, 404, "there is no such run");
    }
    if (!read_query(&query, request)) {
        return HD_ANSWERED;
    }
    if (console->data.series(console->data.user, &list, &request->arena, &query, &err) !=
        TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_str(&answer.w, "run", query.run);
    con_json_str(&answer.w, "by",
                 query.by == CON_BY_TIME     ? TK_STR("time")
                 : query.by == CON_BY_TOKENS ? TK_STR("tokens")
                                             : TK_STR("step"));
    con_json_int(&answer.w, "last_step", list.last_step);
    con_json_key(&answer.w, "series");
    tk_json_begin_array(&answer.w);
    for (size_t i = 0; i < list.n; i++) {
        put_series(&answer.w, &list.p[i]);
    }
    tk_json_end_array(&answer.w);
    return con_json_reply(&answer);
}
