/* From a decoded request to samples that run, and what their callbacks leave. */
#include "gateway/gw_exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

#define EVENT_BYTES (256 * TK_MIB) /* of one answer that is streamed */

/* ---- results ---- */

typedef struct copier {
    char *p; /* NULL: only the size is wanted */
    size_t n;
    bool overflows;
} copier;

static void *copy(copier *c, const void *from, size_t count, size_t size)
{
    size_t bytes = 0;
    if (from == NULL) {
        return NULL;
    }
    if (!tk_size_mul(&bytes, count, size) || bytes > SIZE_MAX / 2 - c->n - 16) {
        c->overflows = true;
        return NULL;
    }
    char *to = c->p != NULL ? c->p + c->n : NULL;
    if (to != NULL && bytes > 0) {
        memcpy(to, from, bytes);
    }
    c->n += (bytes + 15) / 16 * 16;
    return to;
}

static void copy_all(copier *c, gw_sample_result *to, const gw_sample_result *from,
                     size_t n_prompt)
{
    gw_sequence *sequences = copy(c, from->sequences, from->n, sizeof(*sequences));
    *to = *from;
    to->sequences = sequences;
    for (size_t i = 0; i < from->n; i++) {
        gw_sequence s = from->sequences[i];
        s.ids = copy(c, s.ids, s.n, sizeof(*s.ids));
        s.logprobs = copy(c, s.logprobs, s.n, sizeof(*s.logprobs));
        s.top_ids = copy(c, s.top_ids, s.n * s.k, sizeof(*s.top_ids));
        s.top_logprobs = copy(c, s.top_logprobs, s.n * s.k, sizeof(*s.top_logprobs));
        if (sequences != NULL) {
            sequences[i] = s;
        }
    }
    size_t cells = n_prompt * from->prompt_k;
    to->prompt_logprobs =
        copy(c, from->prompt_logprobs, n_prompt, sizeof(*to->prompt_logprobs));
    to->prompt_top_ids =
        copy(c, from->prompt_top_ids, cells, sizeof(*to->prompt_top_ids));
    to->prompt_top_logprobs =
        copy(c, from->prompt_top_logprobs, cells, sizeof(*to->prompt_top_logprobs));
}

static bool copy_result(gw_result *out, const gw_sample_result *from, size_t n_prompt)
{
    copier c = {NULL, 0, false};
    gw_sample_result ignored;
    copy_all(&c, &ignored, from, n_prompt);
    void *memory = !c.overflows ? tk_malloc(c.n + 1) : NULL;
    if (memory == NULL) {
        return false;
    }
    c = (copier){memory, 0, false};
    copy_all(&c, &out->view, from, n_prompt);
    out->memory = memory;
    return true;
}

/* ---- callbacks ---- */

static void on_token(void *user, size_t sequence, int32_t id, float logprob)
{
    const gw_job *job = user;
    gw_exchange *x = job->x;
    gw *gateway = x->gateway;
    size_t slot = (size_t)(job - x->jobs) * x->request.params.n + sequence;
    tk_mutex_lock(&gateway->lock);
    if (x->n_tokens == x->cap_tokens) {
        size_t cap = x->cap_tokens > 0 ? 2 * x->cap_tokens : 16;
        gw_token *tokens = tk_realloc_array(x->tokens, cap, sizeof(*tokens));
        if (tokens != NULL) {
            x->tokens = tokens;
            x->cap_tokens = cap;
        }
    }
    if (x->n_tokens < x->cap_tokens && slot < x->n_slots) {
        x->tokens[x->n_tokens++] = (gw_token){slot, id, logprob};
    } else {
        x->has_no_room = true;
    }
    gw_pool_wake(x);
    tk_mutex_unlock(&gateway->lock);
}

static void on_done(void *user, const gw_sample_result *result, const ca_fault *fault)
{
    gw_job *job = user;
    gw_exchange *x = job->x;
    gw *gateway = x->gateway;
    gw_result own = {.memory = NULL};
    ca_fault why = {.err = TK_ERR_INIT};
    tk_mutex_lock(&gateway->lock);
    job->sample = NULL; /* it must not be cancelled any more */
    job->has_ended = true;
    tk_mutex_unlock(&gateway->lock);
    if (result == NULL) {
        why = *fault;
        why.status = why.status != 0 ? why.status : 500;
    } else if (!copy_result(&own, result, job->plan.n)) {
        why.status = 500;
        (void)tk_err_nomem(&why.err);
    }
    tk_mutex_lock(&gateway->lock);
    job->result = own;
    job->fault = why;
    x->n_pending--;
    gw_pool_wake(x);
    tk_mutex_unlock(&gateway->lock);
}

/* ---- submission ---- */

void gw_exchange_cancel(gw_exchange *x)
{
    const gw_backend *backend = &x->gateway->config.backend;
    for (size_t i = 0; i < x->n_jobs; i++) {
        if (x->jobs[i].sample != NULL) {
            gw_sample *sample = x->jobs[i].sample;
            x->jobs[i].sample = NULL;
            backend->cancel(backend->user, sample);
        }
    }
}

static bool submit_job(gw_exchange *x, gw_job *job, ca_fault *fault)
{
    gw *gateway = x->gateway;
    const gw_backend *backend = &gateway->config.backend;
    const gw_sample_request request = {
        .ids = job->plan.ids,
        .n = job->plan.n,
        .params = &job->params,
        .is_streamed = x->is_fed,
    };
    const gw_listener listener = {
        .on_token = x->is_fed ? on_token : NULL, .on_done = on_done, .user = job};
    gw_sample *sample = NULL;
    tk_mutex_lock(&gateway->lock);
    x->n_pending++; /* before its callbacks */
    tk_mutex_unlock(&gateway->lock);
    bool ok =
        backend->sample(&sample, backend->user, x->model, &request, &listener, fault);
    tk_mutex_lock(&gateway->lock);
    if (!ok) {
        x->n_pending--;
    } else if (!job->has_ended) {
        job->sample = sample;
    }
    tk_mutex_unlock(&gateway->lock);
    return ok;
}

bool gw_exchange_submit(gw_exchange *x)
{
    gw *gateway = x->gateway;
    ca_fault fault = {.err = TK_ERR_INIT};
    bool ok = true;
    for (size_t i = 0; ok && i < x->n_jobs; i++) {
        ok = submit_job(x, &x->jobs[i], &fault);
    }
    if (!ok) {
        fault.status = fault.status != 0 ? fault.status : 500;
        tk_mutex_lock(&gateway->lock);
        gw_exchange_cancel(x);
        x->refusal = fault;
        tk_mutex_unlock(&gateway->lock);
    }
    return ok;
}

/* ---- prompts ---- */

/* Sets the limit of the answer to what the context leaves. */
static bool fit(gw_exchange *x, gw_job *job, ca_fault *fault)
{
    size_t context = x->model->context;
    job->params = x->request.params;
    if (x->is_dropping) {
        job->params.has_max_tokens = true;
        job->params.max_tokens = 1;
    }
    if (job->plan.n == 0) {
        *fault = (ca_fault){.status = 400, .err = TK_ERR_INIT};
        (void)tk_err_set(&fault->err, TINKC_E_INVALID, "the prompt has no tokens");
        return false;
    }
    if (context == 0) {
        return true;
    }
    size_t wanted = job->params.has_max_tokens ? job->params.max_tokens : 1;
    if (job->plan.n > context || wanted > context - job->plan.n) {
        ca_reply_too_long(fault, x->request.dialect,
                          job->params.has_max_tokens && !x->is_dropping
                              ? job->plan.n + TK_MIN(wanted, SIZE_MAX - job->plan.n)
                              : job->plan.n,
                          context);
        return false;
    }
    if (!job->params.has_max_tokens) {
        job->params.has_max_tokens = true;
        job->params.max_tokens = context - job->plan.n;
    }
    return true;
}

static bool put_prompt_text(gw_exchange *x, gw_job *job, const ca_prompt *prompt,
                            ca_fault *fault)
{
    tk_err err = TK_ERR_INIT;
    if (prompt->is_ids) {
        tk_tok_decode(x->model->tok, prompt->ids, prompt->n, false, &job->text);
    } else {
        tk_buf_put(&job->text, prompt->text.p, prompt->text.n);
    }
    return tk_buf_status(&job->text, &err) == TINKC_OK || gw_front_blame(fault, &err);
}

static bool make_job(gw_exchange *x, size_t index, ca_fault *fault)
{
    gw_job *job = &x->jobs[index];
    tk_err err = TK_ERR_INIT;
    job->x = x;
    tk_buf_init(&job->text, TK_CA_BODY_BYTES);
    job->ask = (gw_ask){.episode = tk_str_of(x->episode),
                        .model = x->model,
                        .request = &x->request,
                        .prompt = index};
    if (gw_episodes_plan(&job->plan, x->gateway->episodes, &job->ask, &err) != TINKC_OK) {
        return gw_front_blame(fault, &err);
    }
    if (!fit(x, job, fault)) {
        return false;
    }
    return !x->request.params.echo || x->request.n_prompts == 0 ||
           put_prompt_text(x, job, &x->request.prompts[index], fault);
}

static bool make_jobs(gw_exchange *x, ca_fault *fault)
{
    size_t n = x->request.dialect == CA_COMPLETIONS ? x->request.n_prompts : 1;
    x->jobs = tk_zarray(n, sizeof(*x->jobs));
    if (x->jobs == NULL) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_nomem(&err);
        return gw_front_blame(fault, &err);
    }
    x->n_jobs = n;
    for (size_t i = 0; i < n; i++) {
        if (!make_job(x, i, fault)) {
            return false;
        }
    }
    return true;
}

/* ---- answers ---- */

static void on_event(void *user, const ca_event *event)
{
    gw_slot *slot = user;
    gw_exchange *x = slot->x;
    if (x->events == NULL) {
        return;
    }
    const ca_tokens tokens = {.ids = slot->choice.ids + slot->n_shown,
                              .logprobs = slot->choice.logprobs + slot->n_shown,
                              .n = slot->choice.n - slot->n_shown};
    slot->n_shown = slot->choice.n;
    const char *id = event->kind == CA_EVENT_CALL
                         ? gw_choice_call_id(&slot->choice, event->call_index)
                         : NULL;
    ca_stream_event(&x->out, x->events, slot->index, event, id, &tokens);
}

static void on_text(void *user, tk_str text)
{
    gw_slot *slot = user;
    gw_exchange *x = slot->x;
    if (x->events == NULL) {
        return;
    }
    const ca_tokens tokens = {.ids = slot->choice.ids + slot->n_shown,
                              .logprobs = slot->choice.logprobs + slot->n_shown,
                              .n = slot->choice.n - slot->n_shown};
    slot->n_shown = slot->choice.n;
    ca_stream_text(&x->out, x->events, slot->index, text, &tokens);
}

static tinkc_code make_slots(gw_exchange *x, tk_err *err)
{
    size_t each = x->request.params.n;
    x->slots = tk_zarray(x->n_jobs * each, sizeof(*x->slots));
    if (x->slots == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < x->n_jobs * each; i++) {
        gw_slot *slot = &x->slots[i];
        slot->x = x;
        slot->job = &x->jobs[i / each];
        slot->index = i;
        const gw_choice_config config = {
            .model = x->model,
            .request = &x->request,
            .starts_thinking = x->model->format.is_thinking_prompted &&
                               ca_parser_prompt_thinks(&x->model->format,
                                                       tk_buf_str(&slot->job->plan.text)),
            .on_event = on_event,
            .on_text = on_text,
            .user = slot,
        };
        tinkc_code code = gw_choice_init(&slot->choice, &config, err);
        if (code != TINKC_OK) {
            return code;
        }
        x->n_slots++;
    }
    return TINKC_OK;
}

static tinkc_code make_reply(gw_exchange *x, tk_err *err)
{
    unsigned char random[16];
    tinkc_code code = tk_rand_entropy(random, sizeof(random), err);
    if (code != TINKC_OK) {
        return code;
    }
    x->reply = (ca_reply){
        .request = &x->request,
        .tok = x->model->tok,
        .created = tk_clock_wall_us(NULL) / 1000000,
        .model = x->request.model.n > 0 ? x->request.model : tk_str_of(x->model->name),
    };
    ca_reply_make_id(&x->reply, random);
    return x->request.is_streamed ? ca_stream_new(&x->events, &x->reply, err) : TINKC_OK;
}

/* ---- life ---- */

/* Counts what the answer may take: ids, scores, text. */
static bool count(gw_exchange *x, ca_fault *fault)
{
    size_t bytes = sizeof(*x);
    for (size_t i = 0; i < x->n_jobs; i++) {
        const gw_job *job = &x->jobs[i];
        size_t tokens = TK_MIN(job->params.max_tokens, (size_t)1 << 20);
        size_t each = 24 + 8 * job->params.top_logprobs;
        bytes += job->plan.n * (4 + 4 + 8 * job->params.prompt_top_logprobs) +
                 job->plan.text.n + tokens * each * job->params.n;
    }
    hd_budget *budget = x->gateway->config.budget;
    if (!hd_budget_take(budget, HD_PART_REQUESTS, bytes)) {
        *fault = (ca_fault){.err = TK_ERR_INIT};
        fault->status = hd_budget_refuse(budget, HD_PART_REQUESTS, bytes, "this request",
                                         &fault->err);
        return false;
    }
    x->counted = bytes;
    return true;
}

static bool prepare(gw_exchange *x, ca_fault *fault)
{
    const gw_backend *backend = &x->gateway->config.backend;
    const ca_params *params = &x->request.params;
    tk_err err = TK_ERR_INIT;
    x->model = backend->find(backend->user, x->request.model, fault);
    if (x->model == NULL) {
        return false;
    }
    const gw_config *config = &x->gateway->config;
    if (config->admit != NULL && x->episode[0] != '\0' &&
        !config->admit(config->admit_user, tk_str_of(x->episode), &x->request.params,
                       fault)) {
        return false;
    }
    x->is_dropping = params->has_max_tokens && params->max_tokens == 0;
    if (!make_jobs(x, fault) || !count(x, fault)) {
        return false;
    }
    x->is_fed = x->request.is_streamed && params->top_logprobs == 0 &&
                !params->prompt_logprobs && !x->is_dropping;
    if (make_reply(x, &err) != TINKC_OK || make_slots(x, &err) != TINKC_OK) {
        return gw_front_blame(fault, &err);
    }
    return true;
}

gw_exchange *gw_exchange_new(gw *gateway, ca_request *request, tk_str episode,
                             ca_fault *fault)
{
    gw_exchange *x = tk_zalloc(sizeof(*x));
    char *name =
        x != NULL ? tk_strndup(episode.p != NULL ? episode.p : "", episode.n) : NULL;
    if (name == NULL) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_nomem(&err);
        (void)gw_front_blame(fault, &err);
        tk_free(x);
        return NULL;
    }
    x->gateway = gateway;
    x->episode = name;
    x->request = *request;
    *request = (ca_request){0}; /* it is ours now */
    x->fault.err = (tk_err)TK_ERR_INIT;
    tk_list_init(&x->link);
    tk_list_init(&x->ready);
    tk_buf_init_quota(&x->out, EVENT_BYTES,
                      hd_budget_quota(gateway->config.budget, HD_PART_STREAMS));
    tk_buf_init_quota(&x->whole, TK_GW_REPEAT_BYTES,
                      hd_budget_quota(gateway->config.budget, HD_PART_STREAMS));
    if (!prepare(x, fault)) {
        gw_exchange_free(x);
        return NULL;
    }
    return x;
}

void gw_exchange_free(gw_exchange *x)
{
    if (x == NULL) {
        return;
    }
    for (size_t i = 0; i < x->n_slots; i++) {
        gw_choice_dispose(&x->slots[i].choice);
    }
    for (size_t i = 0; i < x->n_jobs; i++) {
        gw_plan_dispose(&x->jobs[i].plan);
        tk_buf_dispose(&x->jobs[i].text);
        tk_free(x->jobs[i].result.memory);
    }
    ca_stream_free(x->events);
    hd_stream_release(x->stream);
    hd_budget_give(x->gateway->config.budget, HD_PART_REQUESTS, x->counted);
    gw_model_release(x->model);
    ca_request_dispose(&x->request);
    gw_repeats_end(x->gateway->repeats, x->claim, NULL);
    tk_buf_dispose(&x->whole);
    tk_buf_dispose(&x->out);
    tk_free(x->tokens);
    tk_free(x->slots);
    tk_free(x->jobs);
    tk_free(x->episode);
    tk_free(x);
}
