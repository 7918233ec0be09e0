/* What the thread does with a batch: adds it up, writes it in one transaction, and tells
 * the console. When the disk does not take it, what it knows of runs goes on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "server/record/srv_rec_int.h"

#define TRIM_NS   (INT64_C(2000) * TK_NS_PER_MS)
#define TRIM_EACH (512 * TK_KIB) /* of entries */
#define DAY_MS    INT64_C(86400000)

/* ---- runs ---- */

static void free_run(srv_rec *rec, srv_rec_run *run)
{
    tk_list_remove(&run->link);
    tk_free(run->id);
    tk_free(run->session);
    tk_free(run->model);
    tk_free(run->name);
    tk_free(run->metadata);
    hd_budget_give(rec->config.budget, rec->config.part, run->bytes);
    tk_free(run);
}

void srv_rec_batch_free_runs(srv_rec *rec)
{
    while (!tk_list_is_empty(&rec->all)) {
        free_run(rec, TK_CONTAINER_OF(rec->all.next, srv_rec_run, link));
    }
}

static char *dup(tk_str text)
{
    return tk_strndup(text.p != NULL ? text.p : "", text.n);
}

static srv_rec_run *make_run(srv_rec *rec, const srv_rec_begin *begin, int64_t now_ms)
{
    tk_err ignored = TK_ERR_INIT;
    tk_str rest = begin->run;
    tk_str session = begin->session.n > 0 ? begin->session : tk_str_cut(&rest, ':');
    size_t bytes = sizeof(srv_rec_run) + begin->run.n + session.n + begin->model.n +
                   begin->name.n + begin->metadata.n + 5; /* with a NUL each */
    if (!hd_budget_take(rec->config.budget, rec->config.part, bytes)) {
        return NULL;
    }
    srv_rec_run *run = tk_zalloc(sizeof(*run));
    if (run == NULL) {
        hd_budget_give(rec->config.budget, rec->config.part, bytes);
        return NULL;
    }
    run->bytes = bytes;
    tk_list_init(&run->link);
    run->id = dup(begin->run);
    run->session = dup(session);
    run->model = dup(begin->model);
    run->name = dup(begin->name);
    run->metadata = dup(begin->metadata);
    run->rank = begin->rank;
    run->created_ms = run->updated_ms = now_ms;
    run->loss = (double)NAN;
    run->state = CON_IDLE;
    run->is_touched = true;
    if (run->id == NULL || run->session == NULL || run->model == NULL ||
        run->name == NULL || run->metadata == NULL ||
        tk_map_put(&rec->by_id, tk_str_of(run->id), run, &ignored) != TINKC_OK) {
        free_run(rec, run);
        return NULL;
    }
    tk_list_push_back(&rec->all, &run->link);
    return run;
}

/* Returns the run, which is made when its beginning was lost; NULL without memory. */
static srv_rec_run *find_run(srv_rec *rec, tk_str id, tk_str model, int64_t now_ms)
{
    srv_rec_run *run = tk_map_get(&rec->by_id, id);
    const srv_rec_begin begin = {.run = id, .model = model};
    return run != NULL ? run : make_run(rec, &begin, now_ms);
}

static void tell_state(srv_rec *rec, srv_rec_run *run, con_state state)
{
    run->state = state;
    if (rec->console != NULL) {
        con_note_run(rec->console, tk_str_of(run->id), state);
    }
}

/* Time never goes back within a run. */
static int64_t touch(srv_rec_run *run, int64_t time_ms)
{
    run->updated_ms = TK_MAX(run->updated_ms, time_ms);
    run->is_touched = true;
    return run->updated_ms;
}

/* ---- metrics ---- */

/* Returns the number of a metric, or SRV_REC_METRICS when the run has too many. */
static size_t number_of(srv_rec_run *run, tk_str name)
{
    char text[SRV_REC_NAME_BYTES];
    name = tk_utf8_cut(name, sizeof(text) - 1);
    (void)snprintf(text, sizeof(text), TK_STR_FMT, TK_STR_ARG(name));
    size_t i = 0;
    while (i < run->n_metrics && strcmp(run->names[i], text) != 0) {
        i++;
    }
    if (i == run->n_metrics && i < SRV_REC_METRICS) {
        memcpy(run->names[i], text, sizeof(text));
        run->n_metrics++;
    }
    return i;
}

typedef enum join { MEAN, SUM, MIN, MAX } join;

static join join_of(tk_str name)
{
    tk_str rest = name;
    (void)tk_str_cut(&rest, ':');
    return tk_str_is(rest, "sum") || tk_str_has_prefix(name, "seconds/") ? SUM
           : tk_str_is(rest, "min")                                      ? MIN
           : tk_str_is(rest, "max")                                      ? MAX
                                                                         : MEAN;
}

/* Adds a number of a part of the step, of this weight. */
static void collect(srv_rec_run *run, tk_str name, double value, double weight)
{
    size_t i = number_of(run, name);
    if (i == SRV_REC_METRICS || !isfinite(value)) {
        return;
    }
    srv_rec_summary *m = &run->metrics[i];
    join how = join_of(name);
    if (m->weight == 0.0 || how == SUM || how == MEAN) {
        m->sum += how == MEAN ? value * weight : value;
    } else {
        m->sum = how == MIN ? TK_MIN(m->sum, value) : TK_MAX(m->sum, value);
    }
    m->weight += how == MEAN ? weight : 1.0;
}

static void add_train(srv_rec_run *run, const srv_rec_entry *entry)
{
    const srv_rec_train *train = &entry->as.train;
    double weight = train->weight > 0.0 ? train->weight : 1.0;
    (void)touch(run, entry->time_ms);
    if (run->began_ns == 0) {
        run->began_ns = entry->mono_ns - (int64_t)(train->seconds * 1e9);
    }
    collect(run, TK_STR("loss"), train->loss_sum / weight, weight);
    for (size_t i = 0; i < train->n_metrics; i++) {
        collect(run, train->metrics[i].name, train->metrics[i].value, weight);
    }
    run->levels[0].tokens += (int64_t)TK_MIN(train->tokens, (uint64_t)INT32_MAX);
    collect(run, TK_STR("seconds/forward_backward"), train->seconds, 1.0);
}

/* Writes a full row of a level, and adds it to the next one. */
static tinkc_code put_row(srv_rec *rec, srv_rec_run *run, size_t level,
                          const srv_rec_row *row, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (atomic_load(&rec->works) && run->row > 0) {
        code = srv_rec_writer_put_row(&rec->writer, run->row, (int64_t)level, row, err);
    }
    if (level + 1 < SRV_REC_LEVELS) {
        srv_rec_row *next = &run->levels[level + 1];
        srv_rec_row_add(next, row);
        if (next->parts == SRV_REC_FAN) {
            tinkc_code above = put_row(rec, run, level + 1, next, err);
            *next = (srv_rec_row){0};
            code = code == TINKC_OK ? above : code;
        }
    }
    return code;
}

/* Takes the number of the step that has ended out of what was collected. */
static bool close_metric(srv_rec_run *run, size_t i, int64_t step, srv_rec_value *out)
{
    srv_rec_summary *m = &run->metrics[i];
    if (m->weight == 0.0) {
        return false;
    }
    double v = join_of(tk_str_of(run->names[i])) == MEAN ? m->sum / m->weight : m->sum;
    m->sum = m->weight = 0.0;
    if (!isfinite(v)) {
        return false;
    }
    m->min = m->n == 0 || v < m->min ? v : m->min;
    m->max = m->n == 0 || v > m->max ? v : m->max;
    m->first_step = m->n == 0 ? step : m->first_step;
    m->last_step = step;
    m->last = v;
    m->n++;
    *out = (srv_rec_value){1, v, v, v};
    return true;
}

static void tell_step(srv_rec *rec, const srv_rec_run *run, const srv_rec_row *row)
{
    con_value values[SRV_REC_METRICS];
    con_step step = {.run = tk_str_of(run->id),
                     .step = row->step,
                     .time_ms = row->time_ms,
                     .tokens = row->tokens,
                     .metrics = values};
    for (size_t i = 0; i < run->n_metrics; i++) {
        if (row->values[i].n > 0) {
            values[step.n_metrics++] =
                (con_value){tk_str_of(run->names[i]), row->values[i].mean};
        }
    }
    if (rec->console != NULL) {
        con_note_step(rec->console, &step);
    }
}

static void collect_step(srv_rec_run *run, const srv_rec_entry *entry)
{
    const srv_rec_optim *optim = &entry->as.optim;
    collect(run, TK_STR("lr"), optim->lr, 1.0);
    collect(run, TK_STR("grad_norm"), optim->grad_norm, 1.0);
    if (run->levels[0].tokens > 0) {
        collect(run, TK_STR("tokens"), (double)run->levels[0].tokens, 1.0);
    }
    collect(run, TK_STR("seconds/optim_step"), optim->seconds, 1.0);
    if (run->began_ns != 0) {
        collect(run, TK_STR("seconds"), (double)(entry->mono_ns - run->began_ns) / 1e9,
                1.0);
    }
    run->began_ns = entry->mono_ns;
}

static tinkc_code end_step(srv_rec *rec, srv_rec_run *run, const srv_rec_entry *entry,
                           tk_err *err)
{
    srv_rec_row *row = &run->levels[0];
    int64_t step = TK_MAX(entry->as.optim.step, run->step + 1);
    collect_step(run, entry);
    run->step = step;
    run->tokens += row->tokens;
    row->first = row->step = step;
    row->time_ms = touch(run, entry->time_ms);
    row->tokens = run->tokens;
    for (size_t i = 0; i < run->n_metrics; i++) {
        (void)close_metric(run, i, step, &row->values[i]);
        if (row->values[i].n > 0 && strcmp(run->names[i], "loss") == 0) {
            run->loss = row->values[i].mean;
        }
    }
    tinkc_code code = put_row(rec, run, 0, row, err);
    tell_step(rec, run, row);
    if (run->state != CON_TRAINING) {
        tell_state(rec, run, CON_TRAINING);
    }
    *row = (srv_rec_row){0};
    return code;
}

/* ---- the other entries ---- */

static void begin_run(srv_rec *rec, srv_rec_entry *entry)
{
    const srv_rec_begin *begin = &entry->as.begin;
    srv_rec_run *run = tk_map_get(&rec->by_id, begin->run);
    if (run == NULL) {
        run = make_run(rec, begin, entry->time_ms);
    }
    entry->is_lost = run == NULL;
}

/* The name of "weights/x". */
static void name_checkpoint(srv_rec_run *run, tk_str id)
{
    (void)tk_str_cut(&id, '/');
    id = tk_utf8_cut(id, sizeof(run->checkpoint) - 1);
    (void)snprintf(run->checkpoint, sizeof(run->checkpoint), TK_STR_FMT, TK_STR_ARG(id));
}

static tinkc_code write_run(srv_rec *rec, srv_rec_run *run, tk_err *err)
{
    if (!atomic_load(&rec->works)) {
        return TINKC_OK;
    }
    return srv_rec_writer_put_run(&rec->writer, run, err);
}

static tinkc_code add_checkpoint(srv_rec *rec, srv_rec_entry *entry, tk_err *err)
{
    srv_rec_run *run = find_run(rec, entry->as.at.run, TK_STR(""), entry->time_ms);
    if (run == NULL) {
        entry->is_lost = true;
        return TINKC_OK;
    }
    name_checkpoint(run, entry->as.at.id);
    (void)touch(run, entry->time_ms);
    tinkc_code code = run->row == 0 ? write_run(rec, run, err) : TINKC_OK;
    if (code == TINKC_OK && run->row > 0 && atomic_load(&rec->works)) {
        code = srv_rec_writer_put_checkpoint(&rec->writer, run->row, entry->as.at.id,
                                             entry->as.at.step, err);
    }
    return code;
}

/* ---- the batch ---- */

static tinkc_code apply_step(srv_rec *rec, srv_rec_entry *entry, tk_err *err)
{
    bool is_optim = entry->kind == SRV_REC_OPTIM;
    tk_str id = is_optim ? entry->as.optim.run : entry->as.train.run;
    tk_str model = is_optim ? entry->as.optim.model : entry->as.train.model;
    srv_rec_run *run = find_run(rec, id, model, entry->time_ms);
    if (run == NULL) {
        entry->is_lost = is_optim; /* a step counts once */
        return TINKC_OK;
    }
    if (!is_optim) {
        add_train(run, entry);
        return TINKC_OK;
    }
    tinkc_code code = run->row == 0 ? write_run(rec, run, err) : TINKC_OK;
    tinkc_code ended = end_step(rec, run, entry, err);
    return code == TINKC_OK ? ended : code;
}

static tinkc_code end_run(srv_rec *rec, const srv_rec_entry *entry, tk_err *err)
{
    void *found = tk_map_remove(&rec->by_id, entry->as.at.run);
    srv_rec_run *run = found;
    if (run == NULL) {
        return TINKC_OK;
    }
    /* one that was deleted stays away */
    bool is_there = run->row > 0 || run->is_touched;
    tinkc_code code = is_there ? write_run(rec, run, err) : TINKC_OK;
    free_run(rec, run);
    return code;
}

static tinkc_code apply(srv_rec *rec, srv_rec_entry *entry, tk_err *err)
{
    switch (entry->kind) {
    case SRV_REC_BEGIN:
        begin_run(rec, entry);
        return TINKC_OK;
    case SRV_REC_END:
        return end_run(rec, entry, err);
    case SRV_REC_TRAIN:
    case SRV_REC_OPTIM:
        return apply_step(rec, entry, err);
    case SRV_REC_CHECKPOINT:
        return add_checkpoint(rec, entry, err);
    case SRV_REC_SAMPLE:
        return srv_rec_batch_add_samples(rec, entry, err);
    }
    return TINKC_OK;
}

static tinkc_code write_touched(srv_rec *rec, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (tk_list *at = rec->all.next; at != &rec->all; at = at->next) {
        srv_rec_run *run = TK_CONTAINER_OF(at, srv_rec_run, link);
        if (run->is_touched && code == TINKC_OK) {
            code = write_run(rec, run, err);
            run->is_touched = code != TINKC_OK;
        }
    }
    return code;
}

/* Now and then: the limits, and how large it is. */
static tinkc_code trim(srv_rec *rec, tk_err *err)
{
    int64_t now = tk_clock_mono_ns(NULL), bytes = 0;
    bool recount = atomic_exchange(&rec->recount, false);
    if (now < rec->trim_ns && rec->since_trim < TRIM_EACH && !recount) {
        return TINKC_OK;
    }
    rec->trim_ns = now + TRIM_NS;
    rec->since_trim = 0;
    int64_t before_ms = tk_clock_wall_us(NULL) / 1000 - rec->config.keep_days * DAY_MS;
    tinkc_code code = srv_rec_writer_measure(&rec->writer, recount, &bytes, err);
    if (code == TINKC_OK) {
        code = srv_rec_writer_trim(&rec->writer, rec->config.limit_bytes, before_ms, err);
    }
    if (code == TINKC_OK) {
        code = srv_rec_writer_measure(&rec->writer, false, &bytes, err);
    }
    atomic_store(&rec->bytes, (uint64_t)bytes);
    return code;
}

/* Tells what can be read now. */
static void tell(srv_rec *rec, const srv_rec_entry *entry)
{
    const srv_rec_sample *sample = &entry->as.sample;
    bool is_begin = entry->kind == SRV_REC_BEGIN;
    tk_str id = is_begin ? entry->as.begin.run : entry->as.at.run;
    const srv_rec_run *run = NULL;
    if (rec->console == NULL || entry->kind == SRV_REC_TRAIN ||
        entry->kind == SRV_REC_OPTIM) {
        return;
    }
    if (entry->kind != SRV_REC_SAMPLE) {
        run = tk_map_get(&rec->by_id, id);
        con_note_run(rec->console, id, run != NULL ? run->state : CON_ENDED);
        return;
    }
    if (entry->group > 0) {
        con_note_samples(rec->console, entry->group, sample->n,
                         srv_rec_run_of(sample->path), sample->model);
    }
}

/* Tells and frees what was applied; what is not kept was never there. */
static void finish(srv_rec *rec, tk_list *applied, bool is_kept)
{
    tk_list *node;
    while ((node = tk_list_pop_front(applied)) != NULL) {
        srv_rec_entry *entry = TK_CONTAINER_OF(node, srv_rec_entry, link);
        bool is_undone = !is_kept && (entry->group > 0 || entry->kind == SRV_REC_OPTIM ||
                                      entry->kind == SRV_REC_CHECKPOINT);
        if (is_undone) {
            entry->group = 0;
        }
        if (entry->is_lost || is_undone) {
            atomic_fetch_add(&rec->dropped, 1);
        }
        tell(rec, entry);
        srv_rec_entry_free(rec, entry);
    }
}

bool srv_rec_batch_run(srv_rec *rec, tk_list *batch, bool last)
{
    tk_list *node;
    tk_list applied;
    tk_list_init(&applied);
    tk_err err = TK_ERR_INIT;
    tinkc_code code = TINKC_OK;
    bool is_busy;
    (void)srv_rec_disk_open(rec, &is_busy);
    bool is_open = atomic_load(&rec->works);
    if (is_open) {
        code = srv_rec_disk_begin(rec, &is_busy, &err);
    }
    if (is_busy && !last) {
        return false;
    }
    while ((node = tk_list_pop_front(batch)) != NULL) {
        srv_rec_entry *entry = TK_CONTAINER_OF(node, srv_rec_entry, link);
        tk_err why = TK_ERR_INIT;
        if (code != TINKC_OK || !is_open) {
            atomic_store(&rec->works, false); /* goes on without the disk */
        }
        tinkc_code one = apply(rec, entry, &why);
        if (code == TINKC_OK && one != TINKC_OK) {
            code = one;
            err = why;
        }
        tk_list_push_back(&applied, &entry->link);
        rec->since_trim += entry->bytes;
    }
    if (is_open && code == TINKC_OK) {
        code = write_touched(rec, &err);
    }
    if (is_open && code == TINKC_OK) {
        code = trim(rec, &err);
    }
    bool is_kept = is_open && srv_rec_disk_end(rec, code, &err);
    srv_rec_group_dispose(&rec->samples);
    finish(rec, &applied, is_kept);
    return true;
}

bool srv_rec_batch_rest(srv_rec *rec)
{
    int64_t now_ms = tk_clock_wall_us(NULL) / 1000;
    bool training = false;
    for (tk_list *at = rec->all.next; at != &rec->all; at = at->next) {
        srv_rec_run *run = TK_CONTAINER_OF(at, srv_rec_run, link);
        if (run->state == CON_TRAINING && now_ms - run->updated_ms > SRV_REC_IDLE_MS) {
            tell_state(rec, run, CON_IDLE);
        }
        training = training || run->state == CON_TRAINING;
    }
    return training;
}
