/* Metrics of a step as a line of JSON; see <tinkc/rl.h>. */
#include <math.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/rl/rl.h"
#include "client/values/error.h"
#include "client/values/types.h"

#define REPORT_MAX_BYTES TK_MIB

void tinkc_rl_report_init(tinkc_rl_report *out)
{
    if (out != NULL) {
        *out = (tinkc_rl_report){.size = sizeof(*out),
                                 .loss = (double)NAN,
                                 .rate = (double)NAN,
                                 .seconds = (double)NAN};
    }
}

static void put_number(tk_json_writer *w, const char *key, double value)
{
    if (isfinite(value)) {
        tk_json_key(w, tk_str_of(key));
        tk_json_put_double(w, value);
    }
}

static void put_count(tk_json_writer *w, const char *key, size_t value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_u64(w, value);
}

static void put_counts(tk_json_writer *w, const tinkc_rl_counts *c)
{
    size_t ended = c->episodes - c->failed;
    put_number(w, "reward/mean", c->reward_mean);
    put_number(w, "reward/std", c->reward_std);
    put_number(w, "reward/min", c->reward_min);
    put_number(w, "reward/max", c->reward_max);
    put_count(w, "episodes", c->episodes);
    put_count(w, "episodes/failed", c->failed);
    put_count(w, "episodes/stale", c->stale);
    put_count(w, "groups", c->groups);
    put_count(w, "groups/kept", c->groups_kept);
    put_count(w, "groups/equal", c->groups_equal);
    put_count(w, "groups/small", c->groups_small);
    put_count(w, "datums", c->datums);
    put_count(w, "tokens", c->tokens);
    put_count(w, "tokens/sampled", c->tokens_sampled);
    put_count(w, "tokens/trained", c->tokens_trained);
    if (ended > 0) {
        put_number(w, "turns/mean", (double)c->turns / (double)ended);
        put_count(w, "turns/max", c->turns_max);
        put_number(w, "length/mean", (double)c->tokens_sampled / (double)ended);
        put_count(w, "length/max", c->length_max);
    }
}

static void put_gap(tk_json_writer *w, const tinkc_rl_gap *gap)
{
    put_number(w, "gap/kl", gap->kl);
    put_number(w, "gap/k3", gap->k3);
    put_number(w, "gap/abs", gap->abs_mean);
    put_number(w, "gap/max", gap->abs_max);
    put_number(w, "gap/clipped", gap->clipped);
    put_count(w, "gap/tokens", gap->tokens);
    put_number(w, "entropy", gap->entropy);
}

/* The parts as this version knows them. */
typedef struct parts {
    tinkc_rl_report report;
    tinkc_rl_counts counts;
    tinkc_rl_gap gap;
} parts;

static tinkc_code read_parts(parts *out, const tinkc_rl_report *report, tk_err *err)
{
    parts p = {.counts = TINKC_RL_COUNTS_INIT, .gap = TINKC_RL_GAP_INIT};
    tinkc_rl_report_init(&p.report);
    tinkc_code code = tk_types_options(&p.report, sizeof(p.report), report, err);
    if (code == TINKC_OK) {
        code = tk_types_options(&p.counts, sizeof(p.counts), p.report.counts, err);
    }
    if (code == TINKC_OK) {
        code = tk_types_options(&p.gap, sizeof(p.gap), p.report.gap, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < p.report.more_n; i++) {
        if (p.report.more == NULL || p.report.more[i].name == NULL) {
            code = tk_err_set(err, TINKC_E_INVALID, "number %zu has no name", i);
        }
    }
    *out = p;
    return code;
}

static void put_report(tk_json_writer *w, const parts *p)
{
    tk_json_begin_object(w);
    tk_json_key(w, tk_str_of("step"));
    tk_json_put_i64(w, p->report.step);
    put_number(w, "loss", p->report.loss);
    put_number(w, "lr", p->report.rate);
    put_number(w, "seconds", p->report.seconds);
    if (p->report.counts != NULL) {
        put_counts(w, &p->counts);
    }
    if (p->report.gap != NULL) {
        put_gap(w, &p->gap);
    }
    for (size_t i = 0; i < p->report.more_n; i++) {
        put_number(w, p->report.more[i].name, p->report.more[i].value);
    }
    tk_json_end_object(w);
}

tinkc_code tinkc_rl_report_json(char **out, size_t *n, const tinkc_rl_report *report,
                                tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    parts p;
    tk_buf buf;
    tk_json_writer w;
    size_t length = 0;
    if (out == NULL || report == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "out and report must not be NULL");
    }
    tk_buf_init(&buf, REPORT_MAX_BYTES);
    tk_json_writer_init(&w, &buf);
    tinkc_code code = read_parts(&p, report, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    put_report(&w, &p);
    code = tk_json_finish(&w, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_buf_putc(&buf, '\0');
    code = tk_buf_status(&buf, &err);
    if (code != TINKC_OK) {
        goto out;
    }
    *out = tk_buf_take(&buf, &length);
    if (n != NULL) {
        *n = length - 1;
    }
out:
    tk_buf_dispose(&buf);
    return tk_error_give(error, &err);
}
