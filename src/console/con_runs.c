/* The routes of runs: the list, and one with its metrics and checkpoints. */
#include "console/con_int.h"
#include "console/con_json.h"
#include "httpd/hd_reply.h"

#define LIMIT_MAX 500

static void put_state(tk_json_writer *w, con_state state)
{
    con_json_str(w, "state",
                 state == CON_TRAINING ? TK_STR("training")
                 : state == CON_IDLE   ? TK_STR("idle")
                                       : TK_STR("ended"));
}

/* The members of a run. */
static void put_run(tk_json_writer *w, const con_run *run, tk_arena *arena)
{
    con_json_str(w, "id", run->id);
    con_json_str(w, "name", run->name);
    con_json_str(w, "model", run->model);
    con_json_str(w, "session", run->session);
    con_json_str(w, "service", run->service);
    put_state(w, run->state);
    con_json_int(w, "created_ms", run->created_ms);
    con_json_int(w, "updated_ms", run->updated_ms);
    con_json_int(w, "step", run->step);
    con_json_int(w, "tokens", run->tokens);
    con_json_num(w, "loss", run->loss);
    con_json_int(w, "rank", run->rank);
    con_json_object(w, "metadata", run->metadata, arena);
    con_json_key(w, "spark");
    tk_json_begin_array(w);
    for (size_t i = 0; i < run->n_spark; i++) {
        con_json_put_num(w, run->spark[i]);
    }
    tk_json_end_array(w);
}

hd_verdict con_runs_list(con *console, hd_request *request)
{
    con_runs_query query = {.limit = 50, .search = hd_request_query(request, "search")};
    con_runs runs = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (!con_json_query_int(request, "limit", 1, LIMIT_MAX, &query.limit) ||
        !con_json_query_int(request, "offset", 0, INT32_MAX, &query.offset)) {
        return HD_ANSWERED;
    }
    if (console->data.runs != NULL &&
        console->data.runs(console->data.user, &runs, &request->arena, &query, &err) !=
            TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_key(&answer.w, "runs");
    tk_json_begin_array(&answer.w);
    for (size_t i = 0; i < runs.n; i++) {
        tk_json_begin_object(&answer.w);
        put_run(&answer.w, &runs.p[i], &request->arena);
        tk_json_end_object(&answer.w);
    }
    tk_json_end_array(&answer.w);
    con_json_int(&answer.w, "total", runs.total);
    return con_json_reply(&answer);
}

static void put_metric(tk_json_writer *w, const con_metric *metric)
{
    tk_json_begin_object(w);
    con_json_str(w, "name", metric->name);
    con_json_int(w, "n", metric->n);
    con_json_num(w, "last", metric->last);
    con_json_num(w, "min", metric->min);
    con_json_num(w, "max", metric->max);
    con_json_int(w, "first_step", metric->first_step);
    con_json_int(w, "last_step", metric->last_step);
    tk_json_end_object(w);
}

static void put_checkpoint(tk_json_writer *w, const con_checkpoint *at)
{
    tk_json_begin_object(w);
    con_json_str(w, "path", at->path);
    con_json_str(w, "id", at->id);
    con_json_str(w, "kind", at->is_sampler ? TK_STR("sampler") : TK_STR("training"));
    con_json_int(w, "created_ms", at->created_ms);
    con_json_int(w, "expires_ms", at->expires_ms);
    con_json_int(w, "size_bytes", at->size_bytes);
    con_json_bool(w, "public", at->is_public);
    con_json_int(w, "step", at->step);
    tk_json_end_object(w);
}

hd_verdict con_runs_get(con *console, hd_request *request)
{
    con_run_details details = {0};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (console->data.run == NULL) {
        return hd_reply_fail(request, 404, "there is no such run");
    }
    if (console->data.run(console->data.user, &details, &request->arena,
                          request->params[0], &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    put_run(&answer.w, &details.run, &request->arena);
    con_json_key(&answer.w, "metrics");
    tk_json_begin_array(&answer.w);
    for (size_t i = 0; i < details.n_metrics; i++) {
        put_metric(&answer.w, &details.metrics[i]);
    }
    tk_json_end_array(&answer.w);
    con_json_key(&answer.w, "checkpoints");
    tk_json_begin_array(&answer.w);
    for (size_t i = 0; i < details.n_checkpoints; i++) {
        put_checkpoint(&answer.w, &details.checkpoints[i]);
    }
    tk_json_end_array(&answer.w);
    con_json_bool(&answer.w, "actions", details.actions);
    return con_json_reply(&answer);
}
