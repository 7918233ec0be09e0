/* The loop of the engine thread: which job or which samplers run next. */
#include "server/run/srv_engine.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "engine/eng_bytes.h"
#include "server/run/srv_busy.h"
#include "server/run/srv_model.h"
#include "server/run/srv_run.h"
#include "server/run/srv_state.h"

#define PREFILL_CHUNK  512
#define KV_FLOOR_BYTES (256 * TK_MIB)
#define KEPT_SHARE     8 /* of the memory: an eighth for activations of a training step */
#define WORK_SHARE     4 /* of the memory: more of it is freed after a training request */
#define OWED_MAX_NS    (INT64_C(5000) * TK_NS_PER_MS)

/* One per base model: its sampler, and the bytes of tokens for stop strings. */
typedef struct decoder {
    eng_sampler *sampler;
    const srv_base *base;
    tk_buf text;         /* of the last token asked for */
    uint64_t waits_from; /* samples from this id on have no room; 0 = all have room.
                          * Under the server's lock */
    size_t work_bytes;   /* counted for working memory. Under the server's lock */
    size_t floor_bytes;  /* of those, for samples. Under the server's lock */
    size_t kept_bytes;   /* of those, in use or kept by the model. Under the lock */
    size_t cache_bytes;  /* counted for keys and values */
    tk_heap claims;      /* of requests, the largest first (-bytes). Under the lock */
} decoder;

struct srv_engine {
    srv *server;
    tk_thread thread;
    bool runs;
    tk_cond wake;
    /* under the server's lock */
    tk_list samples; /* new ones */
    tk_list cancels; /* srv_sample.cancelled */
    tk_list active;  /* started ones */
    tk_list dropped; /* samplers to free */
    size_t n_samples;
    size_t turn; /* cursor into the map of models */
    srv_engine_stats stats;
    srv_busy busy;            /* written by the thread; read anywhere */
    atomic_size_t n_decoders; /* grows under the lock; read anywhere */
    /* the thread's own */
    decoder *decoders; /* room for all that the catalog may have: they do not move */
    int64_t owed_ns;   /* time that samplers get before the next job */
};

/* ---- called by other threads ---- */

void srv_engine_wake(srv_engine *engine)
{
    tk_cond_signal(&engine->wake);
}

bool srv_engine_add_sample(srv_engine *engine, srv_sample *sample)
{
    if (engine->n_samples + sample->request.num_samples > TK_SRV_SAMPLES_MAX) {
        return false;
    }
    engine->n_samples += sample->request.num_samples;
    tk_list_push_back(&engine->samples, &sample->link);
    tk_cond_signal(&engine->wake);
    return true;
}

void srv_engine_cancel_sample(srv_engine *engine, srv_sample *sample)
{
    if (!tk_list_is_linked(&sample->cancelled)) {
        tk_list_push_back(&engine->cancels, &sample->cancelled);
        tk_cond_signal(&engine->wake);
    }
}

bool srv_engine_has_samples(const srv_engine *engine)
{
    return engine->n_samples > 0;
}

srv_wait srv_engine_why(const srv_engine *engine, const srv_sample *sample)
{
    uint64_t from = 0;
    for (size_t i = 0; i < atomic_load(&engine->n_decoders); i++) {
        if (engine->decoders[i].base == sample->sampler->base) {
            from = engine->decoders[i].waits_from;
        }
    }
    if (from > 0 && sample->queue_id >= from) {
        return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "there is no room for more samples"};
    }
    if (sample->queue_id == 0 && engine->n_samples >= TK_SRV_SAMPLES_MAX) {
        return (srv_wait){TK_QUEUE_PAUSED_CAPACITY, "too many samples are waiting"};
    }
    return (srv_wait){TK_QUEUE_ACTIVE, NULL};
}

static decoder *decoder_of(srv_engine *engine, const srv_base *base)
{
    size_t i = 0, n = atomic_load(&engine->n_decoders);
    while (i + 1 < n && engine->decoders[i].base != base) {
        i++;
    }
    return &engine->decoders[i];
}

/* Counts what is kept and what the largest claim needs. */
static bool count_work(srv_engine *engine, decoder *d, size_t more)
{
    const tk_heap_node *first = tk_heap_min(&d->claims);
    size_t claimed = first != NULL ? (size_t)-first->deadline : 0;
    size_t bytes = TK_MAX(TK_MAX(d->kept_bytes, claimed), more);
    hd_budget *memory = &engine->server->memory;
    if (bytes > d->work_bytes &&
        !hd_budget_take(memory, SRV_PART_WORK, bytes - d->work_bytes)) {
        return false;
    }
    if (bytes < d->work_bytes) {
        hd_budget_give(memory, SRV_PART_WORK, d->work_bytes - bytes);
    }
    d->work_bytes = bytes;
    return true;
}

bool srv_engine_reserve(srv_engine *engine, const srv_base *base, size_t bytes)
{
    decoder *d = decoder_of(engine, base);
    bool fits = count_work(engine, d, bytes);
    d->floor_bytes = fits ? TK_MAX(d->floor_bytes, bytes) : d->floor_bytes;
    d->kept_bytes = TK_MAX(d->kept_bytes, d->floor_bytes);
    return fits;
}

bool srv_engine_claim(srv_engine *engine, const srv_base *base, tk_heap_node *claim,
                      size_t bytes)
{
    decoder *d = decoder_of(engine, base);
    bool fits = bytes <= INT64_MAX && count_work(engine, d, bytes);
    if (fits) {
        tk_heap_put(&d->claims, claim, -(int64_t)bytes);
    }
    return fits;
}

void srv_engine_keep(srv_engine *engine, const srv_base *base, const tk_heap_node *claim)
{
    decoder *d = decoder_of(engine, base);
    d->kept_bytes = TK_MAX(d->kept_bytes, (size_t)-claim->deadline);
}

void srv_engine_release(srv_engine *engine, const srv_base *base, tk_heap_node *claim)
{
    decoder *d = decoder_of(engine, base);
    if (claim->linked) {
        tk_heap_remove(&d->claims, claim);
        (void)count_work(engine, d, 0); /* not more than before */
    }
}

/* Returns what samples need with the weights that are there: of models, and of samplers
 * that are in memory. Thread: engine, under the lock. */
static size_t find_floor(srv *server, const srv_base *base)
{
    size_t rank = 0, cursor = 0;
    void *value = NULL;
    while (tk_map_next(&server->models, &cursor, NULL, &value)) {
        const srv_model *model = value;
        rank = model->base == base ? TK_MAX(rank, model->lora.rank) : rank;
    }
    for (tk_list *at = server->adapters.next; at != &server->adapters; at = at->next) {
        const srv_sampler *sampler = TK_CONTAINER_OF(at, srv_sampler, resident);
        rank = sampler->base == base ? TK_MAX(rank, sampler->rank) : rank;
    }
    return srv_engine_sample_work(server, base, rank);
}

void srv_engine_trim(srv_engine *engine, const srv_base *base, tk_heap_node *claim)
{
    srv *server = engine->server;
    decoder *d = decoder_of(engine, base);
    tk_mutex_lock(&server->lock);
    if (claim != NULL) {
        tk_heap_remove(&d->claims, claim);
    }
    d->floor_bytes = find_floor(server, base);
    const tk_heap_node *first = tk_heap_min(&d->claims);
    size_t most = d->floor_bytes;
    most = claim != NULL ? TK_MAX(most, server->memory.max / WORK_SHARE) : most;
    most = first != NULL ? TK_MAX(most, (size_t)-first->deadline) : most;
    tk_mutex_unlock(&server->lock);
    eng_model_trim(base->model, most);
    tk_mutex_lock(&server->lock);
    /* the floor may have risen meanwhile */
    d->kept_bytes = TK_MAX(TK_MIN(d->kept_bytes, most), d->floor_bytes);
    (void)count_work(engine, d, 0); /* not more than before */
    tk_mutex_unlock(&server->lock);
}

size_t srv_engine_sample_work(const srv *server, const srv_base *base, size_t rank)
{
    return eng_bytes_sample_work(base->model, rank, server->sequences, PREFILL_CHUNK);
}

void srv_engine_drop_sampler(srv_engine *engine, srv_sampler *sampler)
{
    tk_list_push_back(&engine->dropped, &sampler->dropped);
    tk_cond_signal(&engine->wake);
}

void srv_engine_count(srv_engine *engine, uint64_t trained, uint64_t prompt,
                      uint64_t cached, uint64_t sampled)
{
    tk_mutex_lock(&engine->server->lock);
    engine->stats.tokens_trained += trained;
    engine->stats.tokens_prompt += prompt;
    engine->stats.tokens_cached += cached;
    engine->stats.tokens_sampled += sampled;
    tk_mutex_unlock(&engine->server->lock);
}

void srv_engine_sample_ended(srv_engine *engine, const srv_sample *sample)
{
    engine->n_samples -= sample->request.num_samples;
    engine->stats.samples++;
}

void srv_engine_get_stats(srv_engine *engine, srv_engine_stats *out)
{
    tk_mutex_lock(&engine->server->lock);
    *out = engine->stats;
    out->samples_waiting = engine->n_samples;
    tk_mutex_unlock(&engine->server->lock);
}

double srv_engine_busy(const srv_engine *engine)
{
    return srv_busy_share(&engine->busy, tk_clock_mono_ns(NULL));
}

/* ---- samplers ---- */

static bool token_bytes(void *user, int32_t token, tk_str *out)
{
    decoder *d = user;
    tk_buf_clear(&d->text);
    if (d->base->tok == NULL || !srv_text_bytes(d->base->tok, token, &d->text)) {
        return false;
    }
    *out = tk_buf_str(&d->text);
    return d->text.failure == TINKC_OK;
}

/* Keys and values: room for one whole context at least, for a few hundred sequences of a
 * small model, and of a quarter of the server's memory one share: `n_bases` are there. */
static size_t kv_bytes(const srv_base *base, size_t n_bases, size_t memory)
{
    size_t most = memory / 4 / n_bases;
    size_t context = 0;
    if (!tk_size_mul(&context, base->info.context, base->info.layers) ||
        !tk_size_mul(&context, context, base->info.hidden * 2 * sizeof(float))) {
        context = most;
    }
    return TK_MIN(TK_MAX(context, KV_FLOOR_BYTES), most);
}

tinkc_code srv_engine_refuse_base(const srv *server, const char *name, size_t bytes,
                                  tk_err *err)
{
    size_t max = server->memory.max;
    size_t used = TK_MIN(max, atomic_load(&server->memory.used));
    return tk_err_set(err, TINKC_E_CONFIG,
                      "the model %s needs %zu MiB of memory; of the server's %zu MiB "
                      "%zu are left for it (--memory)",
                      name, bytes / TK_MIB + 1, max / TK_MIB, (max - used) / TK_MIB);
}

/* Counts what a base model needs before the first request: all of it or nothing. */
static tinkc_code reserve_base(srv *server, decoder *d, tk_err *err)
{
    const struct {
        unsigned part;
        size_t bytes;
    } needs[] = {
        {SRV_PART_MODELS, eng_bytes_model(d->base->model)},
        {SRV_PART_CACHE, d->cache_bytes},
        {SRV_PART_WORK, d->work_bytes},
    };
    size_t n = 0, all = 0;
    while (n < TK_ARRAY_LEN(needs) &&
           hd_budget_take(&server->memory, needs[n].part, needs[n].bytes)) {
        n++;
    }
    if (n == TK_ARRAY_LEN(needs)) {
        return TINKC_OK;
    }
    while (n > 0) {
        n--;
        hd_budget_give(&server->memory, needs[n].part, needs[n].bytes);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(needs); i++) {
        all += needs[i].bytes;
    }
    return srv_engine_refuse_base(server, d->base->name, all, err);
}

static void release_base(srv *server, const decoder *d)
{
    hd_budget_give(&server->memory, SRV_PART_MODELS, eng_bytes_model(d->base->model));
    hd_budget_give(&server->memory, SRV_PART_CACHE, d->cache_bytes);
    hd_budget_give(&server->memory, SRV_PART_WORK, d->work_bytes);
}

static tinkc_code open_sampler(decoder *d, size_t sequences, tk_err *err)
{
    tk_buf_init(&d->text, SRV_TOKEN_BYTES);
    const eng_sampler_config config = {
        .max_sequences = sequences,
        .max_kv_bytes = d->cache_bytes,
        .prefill_chunk = PREFILL_CHUNK,
        .token_bytes = d->base->tok != NULL ? token_bytes : NULL,
        .user = d,
    };
    return eng_sampler_new(&d->sampler, d->base->model, &config, err);
}

/* Fills a decoder that no other thread sees yet; `n_bases` share the cache. */
static tinkc_code open_decoder(srv *server, decoder *d, const srv_base *base,
                               size_t n_bases, tk_err *err)
{
    size_t work = srv_engine_sample_work(server, base, 0);
    *d = (decoder){.base = base,
                   .work_bytes = work,
                   .floor_bytes = work,
                   .kept_bytes = work,
                   .cache_bytes = kv_bytes(base, n_bases, server->memory.max)};
    tinkc_code code = reserve_base(server, d, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_model_limit_kept(base->model, server->memory.max / KEPT_SHARE);
    code = open_sampler(d, server->sequences, err);
    if (code != TINKC_OK) {
        tk_buf_dispose(&d->text);
        release_base(server, d);
    }
    return code;
}

tinkc_code srv_engine_add_base(srv_engine *engine, const srv_base *base, tk_err *err)
{
    srv *server = engine->server;
    size_t n = atomic_load(&engine->n_decoders);
    tinkc_code code = open_decoder(server, &engine->decoders[n], base, n + 1, err);
    if (code == TINKC_OK) {
        tk_mutex_lock(&server->lock);
        atomic_store(&engine->n_decoders, n + 1);
        tk_mutex_unlock(&server->lock);
    }
    return code;
}

static bool any_busy(const srv_engine *engine)
{
    for (size_t i = 0; i < atomic_load(&engine->n_decoders); i++) {
        if (eng_sampler_busy(engine->decoders[i].sampler)) {
            return true;
        }
    }
    return false;
}

static void step_samplers(srv_engine *engine)
{
    srv *server = engine->server;
    if (server->on_step != NULL) {
        server->on_step(server->hook_user, SRV_STEP_SAMPLE);
    }
    for (size_t i = 0; i < atomic_load(&engine->n_decoders); i++) {
        tk_err err = TK_ERR_INIT;
        if (eng_sampler_busy(engine->decoders[i].sampler) &&
            eng_sampler_step(engine->decoders[i].sampler, &err) != TINKC_OK &&
            err.code != TINKC_E_CANCELLED) { /* at the stop */
            tk_log_write(server->log, TINKC_LOG_ERROR, "engine", "sampling: %s",
                         err.message);
        }
        uint64_t waits = eng_sampler_first_waiting(engine->decoders[i].sampler);
        tk_mutex_lock(&server->lock);
        engine->decoders[i].waits_from = waits;
        tk_mutex_unlock(&server->lock);
    }
}

static void start_samples(srv_engine *engine, tk_list *samples)
{
    tk_list *node;
    while ((node = tk_list_pop_front(samples)) != NULL) {
        srv_sample *sample = TK_CONTAINER_OF(node, srv_sample, link);
        eng_sampler *sampler = NULL;
        for (size_t i = 0; i < atomic_load(&engine->n_decoders); i++) {
            if (engine->decoders[i].base == sample->sampler->base) {
                sampler = engine->decoders[i].sampler;
            }
        }
        tk_mutex_lock(&engine->server->lock);
        tk_list_push_back(&engine->active, &sample->link);
        tk_mutex_unlock(&engine->server->lock);
        srv_sample_start(sample, sampler);
    }
}

static void cancel_samples(srv_engine *engine)
{
    tk_list *node;
    do {
        tk_mutex_lock(&engine->server->lock);
        node = tk_list_pop_front(&engine->cancels);
        engine->stats.cancelled += node != NULL;
        tk_mutex_unlock(&engine->server->lock);
        if (node != NULL) {
            srv_sample_cancel(TK_CONTAINER_OF(node, srv_sample, cancelled));
        }
    } while (node != NULL);
}

/* ---- jobs ---- */

/* Returns what a model runs next: the rest of its request, or the next one. Under the
 * lock. */
static srv_job *next_of(srv_model *model, int64_t now)
{
    if (model->running != NULL) {
        return model->running->again_ns <= now ? model->running : NULL;
    }
    srv_order_node *node = srv_order_take(&model->order, now);
    if (node == NULL) {
        return NULL;
    }
    srv_job *job = TK_CONTAINER_OF(node, srv_job, order);
    job->began = true;
    model->running = job->kind == SRV_JOB_TRAIN ? job : NULL;
    return job;
}

/* Returns the next piece of work of the model whose turn it is. Under the lock. */
static srv_job *pick_job(srv_engine *engine, int64_t now)
{
    srv *server = engine->server;
    for (int pass = 0; pass < 2; pass++) {
        void *value = NULL;
        while (tk_map_next(&server->models, &engine->turn, NULL, &value)) {
            srv_job *job = next_of(value, now);
            if (job != NULL) {
                return job;
            }
        }
        engine->turn = 0;
    }
    return NULL;
}

static int64_t next_deadline(srv_engine *engine, int64_t now)
{
    int64_t first = TK_FOREVER;
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&engine->server->models, &cursor, NULL, &value)) {
        const srv_model *model = value;
        first = TK_MIN(first, model->running != NULL
                                  ? model->running->again_ns
                                  : srv_order_deadline(&model->order, now));
    }
    return first;
}

/* ---- the thread ---- */

typedef struct turn {
    srv_job *job;
    tk_list samples; /* new */
    tk_list dropped;
} turn;

/* Waits for something to do; returns false at the stop. */
static bool next_turn(srv_engine *engine, turn *out)
{
    srv *server = engine->server;
    tk_list_init(&out->samples);
    tk_list_init(&out->dropped);
    bool busy = any_busy(engine);
    if (!busy) {
        engine->owed_ns = 0; /* samplers without work are owed nothing */
    }
    tk_mutex_lock(&server->lock);
    for (;;) {
        int64_t now = tk_clock_mono_ns(NULL);
        bool stop = atomic_load(&server->stopping);
        bool wait = stop || (busy && engine->owed_ns > 0);
        out->job = wait ? NULL : pick_job(engine, now);
        tk_list_splice_back(&out->samples, &engine->samples);
        tk_list_splice_back(&out->dropped, &engine->dropped);
        if (stop || busy || out->job != NULL || !tk_list_is_empty(&out->samples) ||
            !tk_list_is_empty(&out->dropped) || !tk_list_is_empty(&engine->cancels)) {
            break;
        }
        (void)tk_cond_wait_until(&engine->wake, &server->lock,
                                 next_deadline(engine, now));
    }
    tk_mutex_unlock(&server->lock);
    return !atomic_load(&server->stopping) || out->job != NULL;
}

static void free_dropped(tk_list *dropped)
{
    tk_list *node;
    while ((node = tk_list_pop_front(dropped)) != NULL) {
        srv_sampler_free(TK_CONTAINER_OF(node, srv_sampler, dropped));
    }
}

static void run(void *user)
{
    srv_engine *engine = user;
    turn now;
    while (next_turn(engine, &now)) {
        free_dropped(&now.dropped);
        cancel_samples(engine);
        start_samples(engine, &now.samples);
        int64_t began = tk_clock_mono_ns(NULL);
        srv_busy_begin(&engine->busy, began);
        if (now.job != NULL) {
            bool done = srv_run_job(now.job);
            int64_t spent = tk_clock_mono_ns(NULL) - began;
            engine->owed_ns = TK_MIN(engine->owed_ns + spent, OWED_MAX_NS);
            tk_mutex_lock(&engine->server->lock);
            engine->stats.jobs += done;
            tk_mutex_unlock(&engine->server->lock);
        } else {
            step_samplers(engine);
            int64_t spent = tk_clock_mono_ns(NULL) - began;
            engine->owed_ns = TK_MAX(engine->owed_ns - spent, 0);
        }
        srv_busy_end(&engine->busy, tk_clock_mono_ns(NULL));
    }
    /* What came at the last moment goes back: srv_engine_free drops it. */
    tk_mutex_lock(&engine->server->lock);
    tk_list_splice_back(&engine->samples, &now.samples);
    tk_list_splice_back(&engine->dropped, &now.dropped);
    tk_mutex_unlock(&engine->server->lock);
}

/* ---- start and stop ---- */

static tinkc_code open_decoders(srv_engine *engine, tk_err *err)
{
    const srv_catalog *catalog = engine->server->catalog;
    engine->decoders = tk_zarray(catalog->max_bases, sizeof(*engine->decoders));
    if (engine->decoders == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < catalog->n_bases; i++) {
        tinkc_code code = open_decoder(engine->server, &engine->decoders[i],
                                       &catalog->bases[i], catalog->n_bases, err);
        if (code != TINKC_OK) {
            return code;
        }
        atomic_store(&engine->n_decoders, i + 1);
    }
    return TINKC_OK;
}

tinkc_code srv_engine_new(srv_engine **out, srv *server, tk_err *err)
{
    srv_engine *engine = tk_zalloc(sizeof(*engine));
    if (engine == NULL) {
        return tk_err_nomem(err);
    }
    engine->server = server;
    tk_list_init(&engine->samples);
    tk_list_init(&engine->cancels);
    tk_list_init(&engine->active);
    tk_list_init(&engine->dropped);
    tinkc_code code = tk_cond_init(&engine->wake, err);
    if (code != TINKC_OK) {
        tk_free(engine);
        return code;
    }
    code = open_decoders(engine, err);
    if (code == TINKC_OK) {
        *out = engine; /* before the thread, which uses it */
        code = tk_thread_start(&engine->thread, "tinkc-engine", run, engine, err);
        engine->runs = code == TINKC_OK;
    }
    if (code != TINKC_OK) {
        *out = NULL;
        srv_engine_free(engine);
    }
    return code;
}

static void drop_samples(tk_list *samples)
{
    tk_list *node;
    while ((node = tk_list_pop_front(samples)) != NULL) {
        srv_sample *sample = TK_CONTAINER_OF(node, srv_sample, link);
        if (--sample->sampler->owners == 0) {
            srv_sampler_free(sample->sampler);
        }
        srv_sample_free(sample);
    }
}

/* The engine adds nothing to these any more. */
static void end_streams(tk_list *samples)
{
    for (tk_list *at = samples->next; at != samples; at = at->next) {
        srv_sample *sample = TK_CONTAINER_OF(at, srv_sample, link);
        if (sample->stream != NULL) {
            hd_stream_end(sample->stream);
        }
        srv_sample_drop(sample);
    }
}

void srv_engine_stop(srv_engine *engine)
{
    if (engine == NULL || !engine->runs) {
        return;
    }
    tk_mutex_lock(&engine->server->lock);
    tk_cond_signal(&engine->wake);
    tk_mutex_unlock(&engine->server->lock);
    tk_thread_join(&engine->thread);
    engine->runs = false;
    end_streams(&engine->samples);
    end_streams(&engine->active);
}

void srv_engine_free(srv_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    for (size_t i = 0; i < atomic_load(&engine->n_decoders); i++) {
        eng_sampler_free(engine->decoders[i].sampler);
        tk_buf_dispose(&engine->decoders[i].text);
    }
    drop_samples(&engine->samples);
    drop_samples(&engine->active);
    free_dropped(&engine->dropped);
    tk_cond_dispose(&engine->wake);
    tk_free(engine->decoders);
    tk_free(engine);
}
