/* One sample: parameters, the future or the stream, its result.
 * Needs: text server */
#include <math.h>
#include <string.h>
#include <tinkc/future.h>
#include <tinkc/stream.h>

#include "base/mem.h"
#include "cli/gateway/gate.h"

typedef struct gate_sample {
    gate *gate;
    gw_listener listener;
    gw_model *model; /* one ownership */
    size_t n_prompt;
    tk_list link, cancelled;
    /* under the gate's lock */
    size_t owners; /* the operation, its start, the canceller, the events of a stream */
    tinkc_future *future; /* until it is done */
    bool is_done;
    /* of a stream; events may still come while a cancel ends it on another thread */
    bool is_stream;
    tk_mutex calling; /* of what follows */
    bool is_over;     /* on_done comes: no more tokens */
    bool is_bad, is_stopped;
    int32_t *ids;
    float *logprobs;
    size_t n, cap;
} gate_sample;

static void release(gate_sample *s)
{
    gate *g = s->gate;
    tk_mutex_lock(&g->lock);
    bool is_last = --s->owners == 0;
    tk_mutex_unlock(&g->lock);
    if (!is_last) {
        return;
    }
    tinkc_future_free(&s->future);
    gw_model_release(s->model);
    tk_mutex_dispose(&s->calling);
    tk_free(s->ids);
    tk_free(s->logprobs);
    tk_free(s);
}

/* ---- the result ---- */

/* One row of each position; gaps are as our server writes them. */
typedef struct table {
    int32_t *ids;
    float *logprobs;
} table;

static void put_row(table *t, size_t row, size_t k, const tinkc_topk *from)
{
    for (size_t i = 0; i < k; i++) {
        bool has = i < from->k;
        t->ids[row * k + i] = has ? from->token_ids[i] : 0;
        t->logprobs[row * k + i] = has ? from->logprobs[i] : -99999.0F;
    }
}

static bool make_table(table *t, size_t rows, size_t k)
{
    t->ids = tk_array(TK_MAX(rows * k, 1), sizeof(*t->ids));
    t->logprobs = tk_array(TK_MAX(rows * k, 1), sizeof(*t->logprobs));
    return t->ids != NULL && t->logprobs != NULL;
}

static void free_table(const table *t)
{
    tk_free(t->ids);
    tk_free(t->logprobs);
}

static size_t widest(const tinkc_samples *samples, size_t index, size_t rows)
{
    size_t k = 0;
    for (size_t i = 0; i < rows; i++) {
        tinkc_topk row = {NULL, NULL, 0};
        (void)tinkc_samples_sampled_topk(&row, samples, index, i, NULL);
        k = TK_MAX(k, row.k);
    }
    return k;
}

static bool read_sequence(gw_sequence *out, table *t, const tinkc_samples *samples,
                          size_t index)
{
    size_t n_logprobs = 0;
    size_t rows = tinkc_samples_sampled_topk_rows(samples, index);
    *out = (gw_sequence){.is_stopped = tinkc_samples_stop_reason(samples, index) !=
                                       TINKC_STOP_LENGTH};
    out->ids = tinkc_samples_tokens(&out->n, samples, index);
    out->logprobs = tinkc_samples_logprobs(&n_logprobs, samples, index);
    if (n_logprobs != out->n) {
        out->logprobs = NULL;
    }
    size_t k = rows == out->n ? widest(samples, index, rows) : 0;
    if (k == 0) {
        return true;
    }
    if (!make_table(t, rows, k)) {
        return false;
    }
    for (size_t i = 0; i < rows; i++) {
        tinkc_topk row = {NULL, NULL, 0};
        (void)tinkc_samples_sampled_topk(&row, samples, index, i, NULL);
        put_row(t, i, k, &row);
    }
    out->top_ids = t->ids;
    out->top_logprobs = t->logprobs;
    out->k = k;
    return true;
}

static bool read_prompt(gw_sample_result *out, table *t, const tinkc_samples *samples,
                        size_t n_prompt)
{
    size_t n = 0, k = 0;
    size_t rows = tinkc_samples_topk_rows(samples);
    out->prompt_logprobs = tinkc_samples_prompt_logprobs(&n, samples);
    if (n != n_prompt) {
        out->prompt_logprobs = NULL;
    }
    tinkc_topk row;
    for (size_t i = 0; rows == n_prompt && i < rows; i++) {
        row = (tinkc_topk){NULL, NULL, 0};
        (void)tinkc_samples_topk(&row.token_ids, &row.logprobs, &row.k, samples, i, NULL);
        k = TK_MAX(k, row.k);
    }
    if (k == 0) {
        return true;
    }
    if (!make_table(t, rows, k)) {
        return false;
    }
    for (size_t i = 0; i < rows; i++) {
        row = (tinkc_topk){NULL, NULL, 0};
        (void)tinkc_samples_topk(&row.token_ids, &row.logprobs, &row.k, samples, i, NULL);
        put_row(t, i, k, &row);
    }
    out->prompt_top_ids = t->ids;
    out->prompt_top_logprobs = t->logprobs;
    out->prompt_k = k;
    return true;
}

static void fail(const gate_sample *s, int status, const char *text)
{
    ca_fault fault = {.status = status, .err = TK_ERR_INIT};
    (void)tk_err_set(&fault.err, status == 500 ? TINKC_E_NOMEM : TINKC_E_DECODE, "%s",
                     text);
    s->listener.on_done(s->listener.user, NULL, &fault);
}

/* The tokens first, for a listener that wants them one by one. */
static void give(const gate_sample *s, const gw_sample_result *result)
{
    for (size_t i = 0; s->listener.on_token != NULL && !s->is_stream && i < result->n;
         i++) {
        const gw_sequence *from = &result->sequences[i];
        for (size_t k = 0; k < from->n; k++) {
            s->listener.on_token(s->listener.user, i, from->ids[k],
                                 from->logprobs != NULL ? from->logprobs[k] : NAN);
        }
    }
    s->listener.on_done(s->listener.user, result, NULL);
}

static void give_samples(const gate_sample *s, const tinkc_samples *samples)
{
    size_t n = tinkc_samples_count(samples);
    gw_sequence *sequences = tk_zarray(TK_MAX(n, 1), sizeof(*sequences));
    table *tables = tk_zarray(n + 1, sizeof(*tables));
    bool ok = sequences != NULL && tables != NULL;
    gw_sample_result result = {.sequences = sequences, .n = n};
    for (size_t i = 0; ok && i < n; i++) {
        ok = read_sequence(&sequences[i], &tables[i], samples, i);
    }
    ok = ok && read_prompt(&result, &tables[n], samples, s->n_prompt);
    int64_t cached = tinkc_samples_cache_hits(samples);
    result.cached = cached > 0 ? (size_t)cached : 0;
    if (ok) {
        give(s, &result);
    } else {
        fail(s, 500, "out of memory");
    }
    for (size_t i = 0; tables != NULL && i <= n; i++) {
        free_table(&tables[i]);
    }
    tk_free(tables);
    tk_free(sequences);
}

static void give_stream(const gate_sample *s)
{
    const gw_sequence sequence = {
        .ids = s->ids, .logprobs = s->logprobs, .n = s->n, .is_stopped = s->is_stopped};
    const gw_sample_result result = {.sequences = &sequence, .n = 1};
    if (s->is_bad) {
        fail(s, 502, "the Tinker server streamed text without token ids");
    } else {
        give(s, &result);
    }
}

/* On the thread of the loop, or of the canceller. */
static void on_done(tinkc_future *future, void *user)
{
    gate_sample *s = user;
    tinkc_error *error = tinkc_future_take_error(future);
    tinkc_samples *samples = NULL;
    ca_fault fault;
    tk_mutex_lock(&s->calling);
    s->is_over = true;
    tk_mutex_unlock(&s->calling);
    tk_mutex_lock(&s->gate->lock);
    s->is_done = true;
    tk_list_remove(&s->link);
    tinkc_future *own = s->future; /* a stream is released when nobody has it */
    s->future = NULL;
    tk_mutex_unlock(&s->gate->lock);
    if (error == NULL && !s->is_stream) {
        (void)tinkc_future_take_samples(&samples, future, &error);
    }
    if (error != NULL && !(s->is_stream && s->is_bad)) {
        (void)gate_model_blame(&fault, &error);
        s->listener.on_done(s->listener.user, NULL, &fault);
    } else if (s->is_stream) {
        give_stream(s);
    } else {
        give_samples(s, samples);
    }
    tinkc_error_free(&error);
    tinkc_samples_free(&samples);
    tinkc_future_free(&own);
    release(s);
}

/* ---- a stream ---- */

static bool keep(gate_sample *s, int32_t id, float logprob)
{
    if (s->n == s->cap) {
        size_t cap = s->cap > 0 ? 2 * s->cap : 64;
        int32_t *ids = tk_realloc_array(s->ids, cap, sizeof(*ids));
        s->ids = ids != NULL ? ids : s->ids;
        float *logprobs =
            ids != NULL ? tk_realloc_array(s->logprobs, cap, sizeof(*logprobs)) : NULL;
        if (logprobs == NULL) {
            return false;
        }
        s->logprobs = logprobs;
        s->cap = cap;
    }
    s->ids[s->n] = id;
    s->logprobs[s->n++] = logprob;
    return true;
}

/* With `calling` held. Returns false to end the stream. */
static bool take_event(gate_sample *s, const tinkc_stream_event *event)
{
    if (s->is_over) {
        return false;
    }
    if (event->kind == TINKC_STREAM_DONE) {
        s->is_stopped =
            event->finish_reason == NULL || strcmp(event->finish_reason, "length") != 0;
        return true;
    }
    s->is_bad = !(event->token_id >= 0 && event->token_id <= INT32_MAX &&
                  keep(s, (int32_t)event->token_id, (float)event->logprob));
    if (!s->is_bad) {
        s->listener.on_token(s->listener.user, 0, (int32_t)event->token_id,
                             (float)event->logprob);
    }
    return !s->is_bad;
}

static bool on_event(const tinkc_stream_event *event, void *user)
{
    gate_sample *s = user;
    tk_mutex_lock(&s->calling);
    bool goes_on = take_event(s, event);
    tk_mutex_unlock(&s->calling);
    return goes_on;
}

/* No event comes any more. */
static void on_free(void *user)
{
    release(user);
}

/* ---- parameters ---- */

typedef struct stops {
    const char **texts;
    int32_t *ids;
    tk_arena arena;
} stops;

static bool put_text(stops *to, tinkc_sampling_params *out, tk_str text)
{
    tk_str copy;
    if (text.n == 0) {
        return true;
    }
    if (!tk_arena_dup(&to->arena, &copy, text.p, text.n)) {
        return false;
    }
    to->texts[out->stop_texts_n++] = copy.p;
    return true;
}

/* A server takes texts or tokens: with texts, those of the tokens. */
static bool put_stops(stops *to, tinkc_sampling_params *out, const ca_params *p,
                      const gw_model *model)
{
    size_t n_end = p->ignore_eos ? 0 : model->n_end_ids;
    size_t n = p->n_stops + p->n_stop_ids + n_end;
    tk_arena_init(&to->arena, TK_MIB);
    to->texts = tk_arena_array(&to->arena, n + 1, sizeof(*to->texts));
    to->ids = tk_arena_array(&to->arena, n + 1, sizeof(*to->ids));
    bool ok = to->texts != NULL && to->ids != NULL;
    if (!ok) {
        return false;
    }
    if (p->n_stops == 0 && n > 0) {
        out->stop_tokens = to->ids;
        for (size_t i = 0; i < n_end; i++) {
            to->ids[out->stop_tokens_n++] = model->end_ids[i];
        }
        for (size_t i = 0; i < p->n_stop_ids; i++) {
            to->ids[out->stop_tokens_n++] = p->stop_ids[i];
        }
        return true;
    }
    if (n > 0 || p->ignore_eos) {
        out->stop_texts = to->texts;
    }
    for (size_t i = 0; ok && i < p->n_stops; i++) {
        ok = put_text(to, out, p->stops[i]);
    }
    for (size_t i = 0; ok && i < n_end; i++) {
        ok = put_text(to, out, tk_tok_token(model->tok, model->end_ids[i]));
    }
    for (size_t i = 0; ok && i < p->n_stop_ids; i++) {
        ok = put_text(to, out, tk_tok_token(model->tok, p->stop_ids[i]));
    }
    return ok;
}

static tinkc_sampling_params params_of(const ca_params *p)
{
    tinkc_sampling_params out = TINKC_SAMPLING_PARAMS_INIT;
    if (p->has_max_tokens) {
        out.max_tokens = p->max_tokens <= INT64_MAX ? (int64_t)p->max_tokens : INT64_MAX;
    }
    out.has_seed = p->has_seed;
    out.seed = p->seed;
    out.temperature = p->has_temperature ? p->temperature : 1.0;
    out.top_p = p->has_top_p ? p->top_p : 1.0;
    out.top_k = p->has_top_k && p->top_k > 0 ? p->top_k : -1;
    return out;
}

/* ---- start ---- */

static tinkc_future *submit(gate_sample *s, const tinkc_model_input *prompt,
                            const tinkc_sampling_params *params, const ca_params *p)
{
    const gate_sampler *sampler = s->model->sampler;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    if (s->is_stream) {
        return tinkc_sampling_stream(sampler->sampling, prompt, params, on_event, s);
    }
    options.num_samples = (int64_t)p->n;
    options.prompt_logprobs = p->prompt_logprobs ? TINKC_CHOICE_YES : TINKC_CHOICE_NO;
    options.topk_prompt_logprobs = (int64_t)p->prompt_top_logprobs;
    options.topk_sample_logprobs = (int64_t)p->top_logprobs;
    return tinkc_sampling_sample(sampler->sampling, prompt, params, &options);
}

/* Makes the future and lets it call back. */
static bool begin(gate_sample *s, const gw_sample_request *request, ca_fault *fault)
{
    tinkc_model_input *prompt = NULL;
    tinkc_error *error = NULL;
    stops stop;
    tinkc_sampling_params params = params_of(request->params);
    bool ok = put_stops(&stop, &params, request->params, s->model);
    tinkc_code code =
        ok ? tinkc_model_input_from_tokens(&prompt, request->ids, request->n, &error)
           : TINKC_E_NOMEM;
    if (code == TINKC_OK) {
        s->future = submit(s, prompt, &params, request->params);
        code = s->future != NULL ? TINKC_OK : TINKC_E_NOMEM;
    }
    if (code == TINKC_OK && s->is_stream) {
        s->owners++; /* nobody else knows it yet, except its events */
        code = tinkc_future_on_free(s->future, on_free, s, &error);
        s->owners -= code != TINKC_OK;
    }
    if (code == TINKC_OK) {
        tinkc_future *future = s->future; /* on_done takes ours away */
        code = tinkc_future_on_done(future, on_done, s, &error);
    }
    if (code != TINKC_OK && error == NULL) {
        *fault = (ca_fault){.status = 500, .err = TK_ERR_INIT};
        (void)tk_err_nomem(&fault->err);
    } else if (code != TINKC_OK) {
        (void)gate_model_blame(fault, &error);
    }
    tinkc_model_input_free(&prompt);
    tk_arena_dispose(&stop.arena);
    return code == TINKC_OK;
}

static void queue_cancel(gate *g, gate_sample *s)
{
    if (!s->is_done && !tk_list_is_linked(&s->cancelled)) {
        s->owners++;
        tk_list_push_back(&g->cancelled, &s->cancelled);
        tk_cond_signal(&g->wake);
    }
}

/* The operation runs, unless it has ended meanwhile. */
static void enter(gate *g, gate_sample *s)
{
    tk_mutex_lock(&g->lock);
    if (!s->is_done) {
        tk_list_push_back(&g->running, &s->link);
        if (g->is_stopping) {
            queue_cancel(g, s);
        }
    }
    tk_mutex_unlock(&g->lock);
}

/* To a Tinker server a list of stops is what it stops at besides the end of the text. */
static bool can_be_asked(const ca_params *p, ca_fault *fault)
{
    if (!p->ignore_eos || (p->n_stops == 0 && p->n_stop_ids == 0)) {
        return true;
    }
    *fault = (ca_fault){.status = 400, .field = "ignore_eos", .err = TK_ERR_INIT};
    (void)tk_err_set(&fault->err, TINKC_E_INVALID,
                     "ignore_eos beside stops cannot be asked of a Tinker server, which "
                     "ends at the end of the text, too; `tinkc serve` itself can do it");
    return false;
}

bool gate_sample_start(gw_sample **out, void *user, gw_model *model,
                       const gw_sample_request *request, const gw_listener *listener,
                       ca_fault *fault)
{
    gate *g = user;
    if (!can_be_asked(request->params, fault)) {
        return false;
    }
    gate_sample *s = tk_zalloc(sizeof(*s));
    if (s == NULL) {
        *fault = (ca_fault){.status = 500, .err = TK_ERR_INIT};
        (void)tk_err_nomem(&fault->err);
        return false;
    }
    *s = (gate_sample){.gate = g,
                       .listener = *listener,
                       .model = gw_model_retain(model),
                       .owners = 2,
                       .n_prompt = request->n,
                       .is_stream = request->is_streamed && request->params->n == 1};
    tk_list_init(&s->link);
    tk_list_init(&s->cancelled);
    tk_err err = TK_ERR_INIT;
    if (tk_mutex_init(&s->calling, &err) != TINKC_OK) {
        *fault = (ca_fault){.status = 500, .err = err};
        gw_model_release(s->model);
        tk_free(s);
        return false;
    }
    *out = (gw_sample *)s;
    bool ok = begin(s, request, fault);
    if (ok) {
        enter(g, s);
    } else {
        release(s); /* there is no operation */
    }
    release(s);
    return ok;
}

/* ---- cancelling ---- */

void gate_sample_cancel(void *user, gw_sample *sample)
{
    gate *g = user;
    tk_mutex_lock(&g->lock);
    queue_cancel(g, (gate_sample *)sample);
    tk_mutex_unlock(&g->lock);
}

void gate_sample_cancel_all(gate *g)
{
    for (tk_list *at = g->running.next; at != &g->running; at = at->next) {
        queue_cancel(g, TK_CONTAINER_OF(at, gate_sample, link));
    }
}

void gate_sample_run_canceller(void *user)
{
    gate *g = user;
    tk_mutex_lock(&g->lock);
    for (;;) {
        tk_list *node = tk_list_pop_front(&g->cancelled);
        if (node == NULL && g->is_closing) {
            break;
        }
        if (node == NULL) {
            tk_cond_wait(&g->wake, &g->lock);
            continue;
        }
        gate_sample *s = TK_CONTAINER_OF(node, gate_sample, cancelled);
        tinkc_future *future = tinkc_future_ref(s->future); /* NULL: it is done */
        tk_mutex_unlock(&g->lock);
        tinkc_future_cancel(future); /* calls on_done */
        tinkc_future_free(&future);
        release(s);
        tk_mutex_lock(&g->lock);
    }
    tk_mutex_unlock(&g->lock);
}
