/* The route of episodes: a page of the list, and the histogram of all rewards. */
#include <math.h>

#include "console/con_int.h"
#include "console/con_json.h"
#include "httpd/hd_reply.h"

#define LIMIT     200
#define LIMIT_MAX 1000

typedef struct asked {
    int64_t limit, offset;
    double min, max;
    bool is_ranged; /* only those with a reward */
} asked;

typedef struct range {
    double min, max;
    size_t n;
} range;

static range range_of(const con_episodes *all)
{
    range r = {0};
    for (size_t i = 0; i < all->n; i++) {
        double reward = all->p[i].reward;
        if (isfinite(reward)) {
            r.min = r.n == 0 || reward < r.min ? reward : r.min;
            r.max = r.n == 0 || reward > r.max ? reward : r.max;
            r.n++;
        }
    }
    return r;
}

/* Returns how many bars: fewer than the most when there are few rewards. */
static size_t bars_of(const range *r)
{
    size_t n = r->min < r->max ? 2 : 1;
    while (n > 1 && n < CON_BARS_MAX && n * n < 4 * r->n) {
        n++;
    }
    return n;
}

static void put_histogram(tk_json_writer *w, const con_episodes *all)
{
    size_t counts[CON_BARS_MAX] = {0};
    const range r = range_of(all);
    size_t n = bars_of(&r);
    con_json_key(w, "histogram");
    if (r.n == 0) {
        tk_json_put_null(w);
        return;
    }
    for (size_t i = 0; i < all->n; i++) {
        double reward = all->p[i].reward;
        if (isfinite(reward)) {
            /* halves, so that the difference of two large numbers is finite */
            double share =
                r.min < r.max ? (reward / 2 - r.min / 2) / (r.max / 2 - r.min / 2) : 0.0;
            size_t bar = (size_t)(share * (double)n);
            counts[TK_MIN(bar, n - 1)]++;
        }
    }
    tk_json_begin_object(w);
    con_json_num(w, "min", r.min);
    con_json_num(w, "max", r.max);
    con_json_key(w, "counts");
    tk_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        tk_json_put_u64(w, counts[i]);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
}

static bool is_asked(const con_episode *episode, const asked *query)
{
    return !query->is_ranged ||
           (episode->reward >= query->min && episode->reward <= query->max);
}

static void put_episode(tk_json_writer *w, const con_episode *episode)
{
    tk_json_begin_object(w);
    con_json_str(w, "id", episode->id);
    con_json_int(w, "turns", episode->turns);
    con_json_int(w, "used_ms", episode->used_ms);
    con_json_num(w, "reward", episode->reward);
    tk_json_end_object(w);
}

static void put_page(tk_json_writer *w, const con_episodes *all, const asked *query)
{
    int64_t total = 0;
    con_json_key(w, "episodes");
    tk_json_begin_array(w);
    for (size_t i = 0; i < all->n; i++) {
        if (is_asked(&all->p[i], query)) {
            if (total >= query->offset && total - query->offset < query->limit) {
                put_episode(w, &all->p[i]);
            }
            total++;
        }
    }
    tk_json_end_array(w);
    con_json_int(w, "total", total);
    con_json_bool(w, "more", total - query->limit > query->offset);
}

hd_verdict con_episodes_list(con *console, hd_request *request)
{
    asked query = {.limit = LIMIT, .min = -(double)INFINITY, .max = (double)INFINITY};
    con_episodes all = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (!con_json_query_int(request, "limit", 1, LIMIT_MAX, &query.limit) ||
        !con_json_query_int(request, "before", 0, INT32_MAX, &query.offset) ||
        !con_json_query_num(request, "min", &query.min) ||
        !con_json_query_num(request, "max", &query.max)) {
        return HD_ANSWERED;
    }
    query.is_ranged = isfinite(query.min) || isfinite(query.max);
    if (console->data.episodes != NULL &&
        console->data.episodes(console->data.user, &all, &request->arena, &err) !=
            TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    put_page(&answer.w, &all, &query);
    put_histogram(&answer.w, &all);
    return con_json_reply(&answer);
}
