/* A recorder over a directory of the test, and what was said to its log. */
#ifndef RECORD_RECFIX_H
#define RECORD_RECFIX_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/record/srv_rec_read.h"
#include "support/test.h"

typedef struct recfix {
    hd_budget memory;
    tk_log *log;
    atomic_int warnings;
    srv_rec *rec;
    char data[64];
    tk_arena arena;
} recfix;

static inline void recfix_log(tinkc_log_level level, const char *component,
                              const char *line, void *user)
{
    recfix *it = user;
    atomic_fetch_add(&it->warnings, level == TINKC_LOG_WARN);
}

#define RECFIX_LONG  102 /* a token of a million characters */
#define RECFIX_LARGE 103 /* one that is larger than all that is kept of a request */

/* The text of token 7 is "<b>7", and so on; 100 and 101 are bytes that are no text. */
static inline bool recfix_put(const void *tok, int32_t id, tk_buf *out)
{
    if (id >= RECFIX_LONG) {
        for (size_t i = 0; i < (id == RECFIX_LONG ? 1000000 : 5000000); i++) {
            tk_buf_puts(out, "\xC3\xA4");
        }
    } else if (id >= 100) {
        tk_buf_putc(out, id == 100 ? '\0' : (char)0xFF);
    } else {
        tk_buf_printf(out, "<B>%d", id);
    }
    return true;
}

static inline void recfix_open(recfix *it, const srv_rec_config *options)
{
    tk_err err = TK_ERR_INIT;
    srv_rec_config config = options != NULL ? *options : (srv_rec_config){0};
    hd_budget_init(&it->memory, TK_GIB, NULL);
    assert_int_equal(tk_log_new(&it->log, TINKC_LOG_DEBUG, recfix_log, it, &err),
                     TINKC_OK);
    config.data = it->data;
    config.log = it->log;
    config.budget = &it->memory;
    config.part = HD_PART_REQUESTS;
    config.put_token = recfix_put;
    assert_int_equal(srv_rec_new(&it->rec, &config, &err), TINKC_OK);
    assert_int_equal(srv_rec_start(it->rec, NULL, &err), TINKC_OK);
    tk_arena_init(&it->arena, TK_GIB);
}

static inline void recfix_close(recfix *it)
{
    srv_rec_free(it->rec);
    it->rec = NULL;
    tk_arena_dispose(&it->arena);
    tk_log_free(it->log);
    assert_int_equal(atomic_load(&it->memory.used), 0);
}

static inline void recfix_make(recfix *it)
{
    *it = (recfix){0};
    (void)snprintf(it->data, sizeof(it->data), "/tmp/tinkc-rec-XXXXXX");
    assert_non_null(mkdtemp(it->data));
}

static inline void recfix_remove(recfix *it)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", it->data);
    assert_int_equal(system(command), 0);
}

/* The size of the database with its log. */
static inline size_t recfix_size(const recfix *it)
{
    static const char *const names[] = {"console.db", "console.db-wal"};
    size_t all = 0;
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", it->data, names[i]);
        FILE *file = fopen(path, "rb");
        if (file != NULL) {
            assert_int_equal(fseek(file, 0, SEEK_END), 0);
            all += (size_t)ftell(file);
            (void)fclose(file);
        }
    }
    return all;
}

#define RECFIX_RUN   TK_STR("0f0c:train:0")
#define RECFIX_MODEL TK_STR("base")

/* One step of a run: the loss per token is `loss`. */
static inline void recfix_step_of(srv_rec *rec, tk_str run, int64_t step, double loss)
{
    const srv_rec_metric metrics[] = {{TK_STR("ppo_kl_div:mean"), loss / 2},
                                      {TK_STR("count:sum"), 1.0}};
    const srv_rec_train train = {.run = run,
                                 .model = RECFIX_MODEL,
                                 .loss_sum = loss * 4,
                                 .weight = 4,
                                 .tokens = 10,
                                 .seconds = 0.001,
                                 .metrics = metrics,
                                 .n_metrics = 2};
    const srv_rec_optim optim = {.run = run,
                                 .model = RECFIX_MODEL,
                                 .step = step,
                                 .lr = 1e-4,
                                 .grad_norm = loss * 2,
                                 .seconds = 0.0001};
    srv_rec_add_train(rec, &train);
    srv_rec_add_optim(rec, &optim);
}

static inline void recfix_step(srv_rec *rec, int64_t step, double loss)
{
    recfix_step_of(rec, RECFIX_RUN, step, loss);
}

static inline void recfix_begin(srv_rec *rec)
{
    const srv_rec_begin begin = {.run = RECFIX_RUN,
                                 .session = TK_STR("0f0c"),
                                 .model = RECFIX_MODEL,
                                 .name = TK_STR("demo"),
                                 .metadata = TK_STR("{\"a\":1}"),
                                 .rank = 8};
    srv_rec_begin_run(rec, &begin);
}

/* Reads the series of a run's metric. */
static inline con_series recfix_series_of(recfix *it, tk_str run, const char *name,
                                          con_by by, double from, double to,
                                          size_t points)
{
    tk_err err = TK_ERR_INIT;
    tk_str names[] = {tk_str_of(name)};
    con_series_list list = {0};
    const con_series_query query = {.run = run,
                                    .names = names,
                                    .n_names = 1,
                                    .by = by,
                                    .from = from,
                                    .to = to,
                                    .points = points};
    tk_arena_dispose(&it->arena);
    if (srv_rec_read_series(&list, it->rec, &it->arena, &query, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(list.n, 1);
    return list.p[0];
}

static inline con_series recfix_series(recfix *it, const char *name, con_by by,
                                       double from, double to, size_t points)
{
    return recfix_series_of(it, RECFIX_RUN, name, by, from, to, points);
}

/* The run, of which there is one. */
static inline con_runs recfix_runs(recfix *it)
{
    tk_err err = TK_ERR_INIT;
    con_runs runs = {0};
    const con_runs_query query = {.limit = 10, .search = TK_STR("")};
    assert_int_equal(srv_rec_read_runs(&runs, it->rec, &it->arena, &query, &err),
                     TINKC_OK);
    return runs;
}

static inline con_run recfix_only_run(recfix *it)
{
    con_runs runs = recfix_runs(it);
    assert_int_equal(runs.n, 1);
    assert_int_equal(runs.total, 1);
    return runs.p[0];
}

/* ---- samples ---- */

static inline void recfix_add_sample(srv_rec *rec, int32_t first, size_t n)
{
    static const int32_t prompt[] = {1, 2, 3};
    int32_t ids[3] = {first, 100, 101};
    float logprobs[3] = {-1.0F, -2.0F, -3.0F};
    srv_rec_sequence sequences[4];
    for (size_t i = 0; i < n; i++) {
        sequences[i] = (srv_rec_sequence){ids, logprobs, 3, i == 0};
    }
    const srv_rec_sample sample = {.model = RECFIX_MODEL,
                                   .path = TK_STR("tinker://0f0c:train:0/weights/x"),
                                   .sampler = TK_STR("s"),
                                   .tok = "",
                                   .prompt = prompt,
                                   .n_prompt = 3,
                                   .sequences = sequences,
                                   .n = n};
    srv_rec_add_sample(rec, &sample);
}

static inline con_samples recfix_samples(recfix *it, const con_samples_query *query)
{
    tk_err err = TK_ERR_INIT;
    con_samples out;
    assert_int_equal(srv_rec_read_samples(&out, it->rec, &it->arena, query, &err),
                     TINKC_OK);
    return out;
}

static const con_samples_query recfix_everything = {
    .limit = 100, .before = INT64_MAX, .group = CON_UNKNOWN};

#endif
