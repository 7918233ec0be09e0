/* The queue, the thread and its life. An entry is one block that holds everything. */
#include "server/record/srv_rec.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/record/srv_rec_int.h"

#define QUEUE_BYTES  (4 * TK_MIB) /* entries that wait */
#define SAMPLE_BYTES (3 * TK_MIB) /* samples find no room beyond this */
#define IDS_MAX      32768        /* of a prompt or an output that are kept */
#define BATCH_NS     (INT64_C(250) * TK_NS_PER_MS)
#define REST_NS      (INT64_C(5000) * TK_NS_PER_MS)
#define FLUSH_NS     (INT64_C(10000) * TK_NS_PER_MS)
#define BUSY_TIMES   5 /* of two seconds each: then it is worth a warning */

/* ---- entries ---- */

/* Returns an empty entry with `more` bytes after it, which are counted; NULL, and counts
 * the loss, when there is no room. */
static srv_rec_entry *make_entry(srv_rec *rec, srv_rec_kind kind, size_t more)
{
    size_t bytes = sizeof(srv_rec_entry) + more;
    srv_rec_entry *entry = NULL;
    tk_mutex_lock(&rec->lock);
    size_t most = kind == SRV_REC_SAMPLE ? SAMPLE_BYTES
                  : kind == SRV_REC_END  ? SIZE_MAX /* what is known of it would stay */
                                         : QUEUE_BYTES;
    bool fits = !rec->closing && rec->queued_bytes + bytes <= most;
    rec->queued_bytes += fits ? bytes : 0;
    tk_mutex_unlock(&rec->lock);
    if (fits && hd_budget_take(rec->config.budget, rec->config.part, bytes)) {
        entry = tk_malloc(bytes);
        if (entry == NULL) {
            hd_budget_give(rec->config.budget, rec->config.part, bytes);
        }
    }
    if (entry == NULL) {
        tk_mutex_lock(&rec->lock);
        rec->queued_bytes -= fits ? bytes : 0;
        tk_mutex_unlock(&rec->lock);
        atomic_fetch_add(&rec->dropped, 1);
        return NULL;
    }
    memset(entry, 0, sizeof(*entry));
    tk_list_init(&entry->link);
    entry->bytes = bytes;
    entry->kind = kind;
    entry->time_ms = tk_clock_wall_us(NULL) / 1000;
    entry->mono_ns = tk_clock_mono_ns(NULL);
    return entry;
}

void srv_rec_entry_free(srv_rec *rec, srv_rec_entry *entry)
{
    tk_mutex_lock(&rec->lock);
    rec->queued_bytes -= entry->bytes;
    tk_mutex_unlock(&rec->lock);
    hd_budget_give(rec->config.budget, rec->config.part, entry->bytes);
    tk_free(entry);
}

static void push(srv_rec *rec, srv_rec_entry *entry)
{
    tk_mutex_lock(&rec->lock);
    tk_list_push_back(&rec->queue, &entry->link);
    rec->added++;
    bool wake = rec->sleeping;
    rec->sleeping = false;
    tk_mutex_unlock(&rec->lock);
    if (wake) { /* once in a batch */
        tk_cond_signal(&rec->wake);
    }
}

/* Copies bytes to *at, which moves on; blocks stay aligned for numbers. */
static void *copy(char **at, const void *bytes, size_t n)
{
    void *out = *at;
    if (n > 0) {
        memcpy(out, bytes, n);
    }
    *at += (n + 7) / 8 * 8;
    return out;
}

static size_t room(size_t n)
{
    return (n + 7) / 8 * 8;
}

static tk_str copy_text(char **at, tk_str text)
{
    const char *p = copy(at, text.p, text.n);
    return (tk_str){p, text.n};
}

/* ---- recording ---- */

void srv_rec_begin_run(srv_rec *rec, const srv_rec_begin *begin)
{
    if (rec == NULL) {
        return;
    }
    srv_rec_entry *entry =
        make_entry(rec, SRV_REC_BEGIN,
                   room(begin->run.n) + room(begin->session.n) + room(begin->model.n) +
                       room(begin->name.n) + room(begin->metadata.n));
    if (entry != NULL) {
        char *at = (char *)(entry + 1);
        entry->as.begin = (srv_rec_begin){
            .run = copy_text(&at, begin->run),
            .session = copy_text(&at, begin->session),
            .model = copy_text(&at, begin->model),
            .name = copy_text(&at, begin->name),
            .metadata = copy_text(&at, begin->metadata),
            .rank = begin->rank,
        };
        push(rec, entry);
    }
}

static void add_at(srv_rec *rec, srv_rec_kind kind, tk_str run, tk_str id, int64_t step)
{
    srv_rec_entry *entry =
        rec != NULL ? make_entry(rec, kind, room(run.n) + room(id.n)) : NULL;
    if (entry != NULL) {
        char *at = (char *)(entry + 1);
        entry->as.at.run = copy_text(&at, run);
        entry->as.at.id = copy_text(&at, id);
        entry->as.at.step = step;
        push(rec, entry);
    }
}

void srv_rec_end_run(srv_rec *rec, tk_str run)
{
    add_at(rec, SRV_REC_END, run, TK_STR(""), 0);
}

void srv_rec_add_checkpoint(srv_rec *rec, tk_str run, tk_str id, int64_t step)
{
    add_at(rec, SRV_REC_CHECKPOINT, run, id, step);
}

void srv_rec_add_train(srv_rec *rec, const srv_rec_train *train)
{
    if (rec == NULL) {
        return;
    }
    size_t n = TK_MIN(train->n_metrics, (size_t)SRV_REC_METRICS);
    size_t more = room(train->run.n) + room(train->model.n) + n * sizeof(srv_rec_metric);
    for (size_t i = 0; i < n; i++) {
        more += room(train->metrics[i].name.n);
    }
    srv_rec_entry *entry = make_entry(rec, SRV_REC_TRAIN, more);
    if (entry == NULL) {
        return;
    }
    char *at = (char *)(entry + 1);
    srv_rec_metric *metrics = copy(&at, train->metrics, n * sizeof(*metrics));
    for (size_t i = 0; i < n; i++) {
        metrics[i].name = copy_text(&at, train->metrics[i].name);
    }
    entry->as.train = *train;
    entry->as.train.run = copy_text(&at, train->run);
    entry->as.train.model = copy_text(&at, train->model);
    entry->as.train.metrics = metrics;
    entry->as.train.n_metrics = n;
    push(rec, entry);
}

void srv_rec_add_optim(srv_rec *rec, const srv_rec_optim *optim)
{
    srv_rec_entry *entry =
        rec != NULL
            ? make_entry(rec, SRV_REC_OPTIM, room(optim->run.n) + room(optim->model.n))
            : NULL;
    if (entry != NULL) {
        char *at = (char *)(entry + 1);
        entry->as.optim = *optim;
        entry->as.optim.run = copy_text(&at, optim->run);
        entry->as.optim.model = copy_text(&at, optim->model);
        push(rec, entry);
    }
}

/* Copies the ids of all sequences to *at, then their logprobs: the database takes each as one
 * blob, out of the entry. */
static void copy_sequences(srv_rec_entry *entry, char **at, const srv_rec_sample *sample)
{
    srv_rec_sequence *sequences =
        copy(at, sample->sequences, sample->n * sizeof(*sequences));
    int32_t *ids = (int32_t *)(void *)*at;
    float *logprobs = (float *)(void *)(*at + room(entry->n_ids * sizeof(*ids)));
    *at = (char *)logprobs + room(entry->n_ids * sizeof(*logprobs));
    entry->ids = ids;
    entry->logprobs = logprobs;
    for (size_t i = 0; i < sample->n; i++) {
        const srv_rec_sequence *from = &sample->sequences[i];
        size_t n = TK_MIN(from->n, (size_t)IDS_MAX);
        if (n > 0) {
            memcpy(ids, from->ids, n * sizeof(*ids));
            memcpy(logprobs, from->logprobs, n * sizeof(*logprobs));
        }
        sequences[i] = (srv_rec_sequence){ids, logprobs, n, from->stopped};
        ids += n;
        logprobs += n;
    }
    entry->as.sample.sequences = sequences;
}

void srv_rec_add_sample(srv_rec *rec, const srv_rec_sample *sample)
{
    if (rec == NULL || rec->config.no_samples || sample->n == 0) {
        return;
    }
    size_t n_ids = 0;
    for (size_t i = 0; i < sample->n; i++) {
        n_ids += TK_MIN(sample->sequences[i].n, (size_t)IDS_MAX);
    }
    size_t skip = sample->n_prompt > IDS_MAX ? sample->n_prompt - IDS_MAX : 0;
    size_t n_prompt = sample->n_prompt - skip;
    srv_rec_entry *entry =
        make_entry(rec, SRV_REC_SAMPLE,
                   room(sample->model.n) + room(sample->path.n) +
                       room(sample->sampler.n) + room(n_prompt * sizeof(int32_t)) +
                       2 * room(n_ids * 4) + sample->n * sizeof(srv_rec_sequence));
    if (entry == NULL) {
        return;
    }
    char *at = (char *)(entry + 1);
    entry->n_prompt = sample->n_prompt;
    entry->n_ids = n_ids;
    entry->as.sample = *sample;
    copy_sequences(entry, &at, sample);
    entry->as.sample.n_prompt = n_prompt;
    entry->as.sample.prompt =
        copy(&at, sample->prompt + skip, n_prompt * sizeof(int32_t));
    entry->as.sample.model = copy_text(&at, sample->model);
    entry->as.sample.path = copy_text(&at, sample->path);
    entry->as.sample.sampler = copy_text(&at, sample->sampler);
    push(rec, entry);
}

void srv_rec_lose(srv_rec *rec)
{
    if (rec != NULL) {
        atomic_fetch_add(&rec->dropped, 1);
    }
}

/* ---- the thread ---- */

/* Waits for entries, then a little for more of them; returns false at the end. */
static bool take_batch(srv_rec *rec, tk_list *out, int64_t not_before, int64_t until)
{
    tk_mutex_lock(&rec->lock);
    while (tk_list_is_empty(&rec->queue) && !rec->closing) {
        rec->sleeping = true;
        bool woken = tk_cond_wait_until(&rec->wake, &rec->lock, until);
        if (!woken) {
            break;
        }
    }
    rec->sleeping = false;
    while (!rec->hurried && !rec->closing && !tk_list_is_empty(&rec->queue) &&
           tk_cond_wait_until(&rec->wake, &rec->lock, not_before)) {
    }
    rec->hurried = false;
    tk_list_splice_back(out, &rec->queue);
    bool more = !rec->closing || !tk_list_is_empty(out);
    tk_mutex_unlock(&rec->lock);
    return more;
}

/* Puts a batch that was not applied back before what has come since; how often in a row. */
static unsigned put_back(srv_rec *rec, tk_list *batch)
{
    tk_mutex_lock(&rec->lock);
    tk_list_splice_back(batch, &rec->queue);
    tk_list_splice_back(&rec->queue, batch);
    unsigned busy = ++rec->busy;
    tk_mutex_unlock(&rec->lock);
    tk_cond_broadcast(&rec->done);
    return busy;
}

static bool is_closing(srv_rec *rec)
{
    tk_mutex_lock(&rec->lock);
    bool closing = rec->closing;
    tk_mutex_unlock(&rec->lock);
    return closing;
}

static void run(void *user)
{
    srv_rec *rec = user;
    int64_t last = 0;
    bool training = false;
    for (;;) {
        tk_list batch;
        tk_list_init(&batch);
        int64_t now = tk_clock_mono_ns(NULL);
        if (!take_batch(rec, &batch, last + BATCH_NS,
                        training ? now + REST_NS : TK_FOREVER)) {
            break;
        }
        last = tk_clock_mono_ns(NULL);
        size_t n = 0;
        for (tk_list *at = batch.next; at != &batch; at = at->next) {
            n++;
        }
        if (n > 0 && !srv_rec_batch_run(rec, &batch, is_closing(rec))) {
            if (put_back(rec, &batch) == BUSY_TIMES) {
                srv_rec_disk_warn_busy(rec);
            }
            continue;
        }
        training = srv_rec_batch_rest(rec);
        tk_mutex_lock(&rec->lock);
        rec->finished += n;
        rec->busy = 0;
        tk_mutex_unlock(&rec->lock);
        tk_cond_broadcast(&rec->done);
    }
}

bool srv_rec_flush(srv_rec *rec)
{
    if (rec == NULL || !rec->runs) {
        return true;
    }
    int64_t until = tk_clock_mono_ns(NULL) + FLUSH_NS;
    tk_mutex_lock(&rec->lock);
    uint64_t wanted = rec->added;
    const unsigned busy = rec->busy;
    while (rec->finished < wanted && !rec->closing && rec->busy <= busy) {
        rec->hurried = true;
        tk_cond_broadcast(&rec->wake);
        if (!tk_cond_wait_until(&rec->done, &rec->lock, until)) {
            break;
        }
    }
    bool is_done = rec->finished >= wanted;
    tk_mutex_unlock(&rec->lock);
    return is_done;
}

/* ---- life ---- */

tinkc_code srv_rec_new(srv_rec **out, const srv_rec_config *config, tk_err *err)
{
    srv_rec *rec = tk_zalloc(sizeof(*rec));
    if (rec == NULL) {
        return tk_err_nomem(err);
    }
    rec->config = *config;
    rec->config.limit_bytes = config->limit_bytes > 0
                                  ? TK_MAX(config->limit_bytes, SRV_REC_LIMIT_MIN)
                                  : SRV_REC_LIMIT_BYTES;
    rec->config.keep_days = config->keep_days > 0 ? config->keep_days : SRV_REC_KEEP_DAYS;
    rec->config.retry_ns = config->retry_ns > 0 ? config->retry_ns : SRV_REC_RETRY_NS;
    tk_list_init(&rec->queue);
    tk_list_init(&rec->all);
    rec->writer.loaded = &rec->all;
    srv_rec_group_init(&rec->samples, 2 * QUEUE_BYTES,
                       hd_budget_quota(config->budget, config->part));
    tk_map_init(&rec->by_id, TK_MAP_BORROW_KEYS);
    tinkc_code code = tk_cond_init_with(&rec->wake, &rec->lock, err);
    if (code != TINKC_OK) {
        tk_free(rec);
        return code;
    }
    code = tk_cond_init_with(&rec->done, &rec->reading, err);
    if (code != TINKC_OK) {
        tk_cond_dispose(&rec->wake);
        tk_mutex_dispose(&rec->lock);
        tk_free(rec);
        return code;
    }
    rec->data = tk_strdup(config->data);
    rec->config.data = rec->data;
    if (rec->data == NULL) {
        srv_rec_free(rec);
        return tk_err_nomem(err);
    }
    bool is_busy;
    if (srv_rec_disk_open(rec, &is_busy) == TINKC_E_NOMEM) { /* a disk may come back */
        srv_rec_free(rec);
        return tk_err_nomem(err);
    }
    *out = rec;
    return TINKC_OK;
}

tinkc_code srv_rec_start(srv_rec *rec, con *console, tk_err *err)
{
    rec->console = console;
    tinkc_code code = tk_thread_start(&rec->thread, "tinkc-record", run, rec, err);
    rec->runs = code == TINKC_OK;
    return code;
}

void srv_rec_stop(srv_rec *rec)
{
    if (rec == NULL || !rec->runs) {
        return;
    }
    tk_mutex_lock(&rec->lock);
    rec->closing = true;
    tk_mutex_unlock(&rec->lock);
    tk_cond_broadcast(&rec->wake);
    tk_thread_join(&rec->thread);
    rec->runs = false;
    rec->console = NULL;
    tk_cond_broadcast(&rec->done);
}

void srv_rec_free(srv_rec *rec)
{
    tk_list *node;
    if (rec == NULL) {
        return;
    }
    srv_rec_stop(rec);
    while ((node = tk_list_pop_front(&rec->queue)) != NULL) {
        srv_rec_entry_free(rec, TK_CONTAINER_OF(node, srv_rec_entry, link));
    }
    srv_rec_batch_free_runs(rec);
    srv_rec_writer_close(&rec->writer);
    (void)sqlite3_close(rec->reader);
    tk_map_dispose(&rec->by_id);
    tk_free(rec->data);
    tk_cond_dispose(&rec->done);
    tk_cond_dispose(&rec->wake);
    tk_mutex_dispose(&rec->reading);
    tk_mutex_dispose(&rec->lock);
    tk_free(rec);
}

void srv_rec_get_stats(srv_rec *rec, srv_rec_stats *out)
{
    *out = (srv_rec_stats){0};
    if (rec != NULL) {
        bool works = atomic_load(&rec->works);
        *out = (srv_rec_stats){
            .samples = works && !rec->config.no_samples,
            .works = works,
            .dropped = atomic_load(&rec->dropped),
            .bytes = atomic_load(&rec->bytes),
            .limit_bytes = rec->config.limit_bytes,
            .keep_days = (uint64_t)rec->config.keep_days,
        };
    }
}
