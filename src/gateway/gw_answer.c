/* From tokens to the answer: the whole body at the end, or events while it is sampled. A
 * turn is recorded before its answer, or before the last event of a stream. */
#include "gateway/gw_exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "httpd/hd_reply.h"

#define BODY_BYTES (256 * TK_MIB)

bool gw_answer_is_gone(gw_exchange *x)
{
    return x->stream != NULL ? hd_stream_is_gone(x->stream) : hd_request_is_gone(x->http);
}

static void fail_with(gw_exchange *x, const tk_err *err)
{
    if (x->fault.status == 0) {
        (void)gw_front_blame(&x->fault, err);
    }
}

/* ---- streams ---- */

/* Before the results are there (of other threads until then) nothing is known of caches. */
static ca_usage usage_of(const gw_exchange *x, bool has_results)
{
    ca_usage usage = {0, 0, 0, 0};
    for (size_t i = 0; i < x->n_jobs; i++) {
        usage.prompt += x->jobs[i].plan.n;
        usage.cached += has_results ? x->jobs[i].result.view.cached : 0;
    }
    for (size_t i = 0; i < x->n_slots; i++) {
        usage.sampled += x->slots[i].choice.n;
        usage.reasoning += x->slots[i].choice.n_reasoning;
    }
    return usage;
}

static void set_prompts(gw_exchange *x, bool has_results)
{
    static const gw_sample_result none;
    for (size_t i = 0; i < x->n_jobs; i++) {
        gw_job *job = &x->jobs[i];
        const gw_sample_result *result = has_results ? &job->result.view : &none;
        job->prompt = (ca_tokens){
            .ids = job->plan.ids,
            .logprobs = result->prompt_logprobs,
            .top_ids = result->prompt_top_ids,
            .top_logprobs = result->prompt_top_logprobs,
            .n = job->plan.n,
            .k = result->prompt_k,
        };
    }
    x->reply.prompt = x->jobs[0].prompt;
    x->reply.prompt_text = tk_buf_str(&x->jobs[0].text);
}

static void open_stream(gw_exchange *x, bool has_results)
{
    const ca_usage usage = usage_of(x, has_results);
    if (x->is_open) {
        return;
    }
    x->is_open = true;
    set_prompts(x, has_results);
    ca_stream_begin(&x->out, x->events, &usage);
    for (size_t i = 0; x->request.params.echo && i < x->n_slots; i++) {
        const gw_job *job = x->slots[i].job;
        ca_stream_text(&x->out, x->events, i, tk_buf_str(&job->text), &job->prompt);
    }
}

/* Puts into the stream what it has room for. Returns false when nobody reads it. */
static bool send(gw_exchange *x)
{
    tk_err err = TK_ERR_INIT;
    bool is_read = true;
    if (x->stream == NULL) {
        return true;
    }
    if (tk_buf_status(&x->out, &err) != TINKC_OK) {
        fail_with(x, &err);
        tk_buf_clear(&x->out);
    }
    size_t n = TK_MIN(x->out.n, hd_stream_room(x->stream));
    if (x->claim.number != 0) {
        tk_buf_put(&x->whole, x->out.p, n);
    }
    bool is_gone = x->out.n > 0 && n == 0 && hd_stream_is_gone(x->stream);
    if (is_gone || (n > 0 && !hd_stream_put(x->stream, (tk_str){x->out.p, n}))) {
        tk_mutex_lock(&x->gateway->lock);
        x->is_gone = true;
        tk_mutex_unlock(&x->gateway->lock);
        n = x->out.n;
        is_read = false;
    }
    size_t left = x->out.n - n;
    if (left > 0 && n > 0) {
        memmove(x->out.p, x->out.p + n, left);
    }
    x->out.n = left;
    return is_read;
}

/* ---- tokens ---- */

typedef struct intake {
    gw_token *tokens; /* owned */
    size_t n;
    bool is_done, is_gone, has_no_room;
} intake;

static intake take(gw_exchange *x)
{
    tk_mutex_lock(&x->gateway->lock);
    intake in = {x->tokens, x->n_tokens, x->n_pending == 0, x->is_gone, x->has_no_room};
    x->tokens = NULL;
    x->n_tokens = 0;
    x->cap_tokens = 0;
    if (x->fault.status == 0) {
        x->fault = x->refusal;
    }
    tk_mutex_unlock(&x->gateway->lock);
    return in;
}

static void feed(gw_exchange *x, const intake *in)
{
    tk_err err = TK_ERR_INIT;
    if (in->has_no_room) {
        (void)tk_err_nomem(&err);
        fail_with(x, &err);
    }
    if (x->events != NULL && x->fault.status == 0 && !x->request.params.echo) {
        open_stream(x, false);
    }
    for (size_t i = 0; i < in->n && x->fault.status == 0; i++) {
        const gw_token *token = &in->tokens[i];
        if (x->events != NULL) {
            open_stream(x, false);
        }
        if (gw_choice_push(&x->slots[token->slot].choice, token->id, token->logprob,
                           &err) != TINKC_OK) {
            fail_with(x, &err);
        }
    }
}

/* ---- the end ---- */

/* Takes what did not come token by token. */
static tinkc_code complete(gw_exchange *x, gw_slot *slot, tk_err *err)
{
    const gw_sample_result *result = &slot->job->result.view;
    size_t at = slot->index % x->request.params.n;
    if (at >= result->n) {
        return tk_err_set(err, TINKC_E_STATE, "the backend gave %zu answers of %zu",
                          result->n, x->request.params.n);
    }
    const gw_sequence *from = &result->sequences[at];
    tinkc_code code = TINKC_OK;
    for (size_t i = slot->choice.n; code == TINKC_OK && i < from->n && !x->is_dropping;
         i++) {
        code = gw_choice_push(&slot->choice, from->ids[i],
                              from->logprobs != NULL ? from->logprobs[i] : 0, err);
    }
    return code == TINKC_OK
               ? gw_choice_finish(&slot->choice, from->is_stopped && !x->is_dropping, err)
               : code;
}

static tinkc_code record_job(gw_exchange *x, const gw_job *job, tk_err *err)
{
    size_t n = x->request.params.n;
    const gw_slot *slots = &x->slots[(size_t)(job - x->jobs) * n];
    bool has_outputs = x->request.dialect != CA_COMPLETIONS;
    ca_output *outputs = tk_zarray(n, sizeof(*outputs));
    int64_t *numbers = tk_zarray(n, sizeof(*numbers));
    tinkc_code code = TINKC_OK;
    if (outputs == NULL || numbers == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; has_outputs && i < n; i++) {
        outputs[i] = *gw_choice_output(&slots[i].choice); /* borrowed */
    }
    const gw_turn turn = {
        .ask = &job->ask,
        .plan = &job->plan,
        .sequences = job->result.view.sequences,
        .outputs = has_outputs ? outputs : NULL,
        .n = n,
    };
    code = gw_episodes_record(x->gateway->episodes, &turn, numbers, err);
    if (code == TINKC_OK && x->http != NULL) {
        char text[24];
        (void)snprintf(text, sizeof(text), "%lld", (long long)numbers[0]);
        (void)hd_reply_header(x->http, "X-Tinkc-Turn", text);
    }
out:
    tk_free(outputs);
    tk_free(numbers);
    return code;
}

static tinkc_code complete_all(gw_exchange *x, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < x->n_slots; i++) {
        code = complete(x, &x->slots[i], err);
    }
    bool is_kept = x->episode[0] != '\0' && !x->is_dropping;
    for (size_t i = 0; code == TINKC_OK && is_kept && i < x->n_jobs; i++) {
        code = record_job(x, &x->jobs[i], err);
    }
    return code;
}

static ca_choice choice_of(const gw_exchange *x, const gw_slot *slot)
{
    const gw_choice *c = &slot->choice;
    const gw_sequence *from =
        &slot->job->result.view.sequences[slot->index % x->request.params.n];
    return (ca_choice){
        .index = slot->index,
        .output = gw_choice_output(c),
        .text = tk_buf_str(&c->text),
        .call_ids = c->call_ptrs,
        .finish = gw_choice_reason(c),
        .stop = c->stop,
        .sampled = {.ids = c->ids,
                    .logprobs = c->logprobs,
                    .top_ids = from->top_ids,
                    .top_logprobs = from->top_logprobs,
                    .n = c->n,
                    .k = from->k},
        .prompt = &slot->job->prompt,
        .prompt_text = tk_buf_str(&slot->job->text),
    };
}

/* Tokens that gave no event, when somebody wants to know them. */
static void show_rest(gw_exchange *x, gw_slot *slot)
{
    const ca_params *params = &x->request.params;
    gw_choice *c = &slot->choice;
    if (slot->n_shown == c->n || !(params->logprobs || params->return_token_ids)) {
        return;
    }
    const ca_tokens tokens = {.ids = c->ids + slot->n_shown,
                              .logprobs = c->logprobs + slot->n_shown,
                              .n = c->n - slot->n_shown};
    slot->n_shown = c->n;
    if (c->parser == NULL) {
        ca_stream_text(&x->out, x->events, slot->index, TK_STR(""), &tokens);
    } else {
        ca_stream_event(&x->out, x->events, slot->index, NULL, NULL, &tokens);
    }
}

static void end_stream(gw_exchange *x)
{
    const ca_usage usage = usage_of(x, true);
    for (size_t i = 0; i < x->n_slots; i++) {
        const ca_choice choice = choice_of(x, &x->slots[i]);
        show_rest(x, &x->slots[i]);
        ca_stream_end(&x->out, x->events, &choice);
    }
    ca_stream_close(&x->out, x->events, &usage);
}

/* Gives the answer to those who wait for it. */
static void share(gw_exchange *x, const char *type, const tk_buf *body)
{
    const gw_reply reply = {200, tk_str_of(type), tk_buf_str(body)};
    gw_repeats_end(x->gateway->repeats, x->claim,
                   body->failure == TINKC_OK ? &reply : NULL);
    x->claim = (gw_claim){0};
}

static void reply_whole(gw_exchange *x)
{
    const ca_usage usage = usage_of(x, true);
    ca_choice *choices = tk_zarray(x->n_slots, sizeof(*choices));
    tk_buf body;
    tk_buf_init_quota(&body, BODY_BYTES, hd_request_quota(x->http));
    if (choices == NULL) {
        tk_buf_fail(&body, TINKC_E_NOMEM);
    }
    for (size_t i = 0; choices != NULL && i < x->n_slots; i++) {
        choices[i] = choice_of(x, &x->slots[i]);
    }
    if (choices != NULL) {
        set_prompts(x, true);
        ca_reply_body(&body, &x->reply, choices, x->n_slots, &usage);
    }
    tk_free(choices);
    if (body.failure == TINKC_OK) {
        share(x, HD_TYPE_JSON, &body);
    }
    (void)hd_reply_buf(x->http, 200, HD_TYPE_JSON, &body);
}

/* Every job has ended. */
static void finish(gw_exchange *x)
{
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < x->n_jobs && x->fault.status == 0; i++) {
        x->fault = x->jobs[i].fault;
    }
    if (x->fault.status == 0 && x->events != NULL) {
        open_stream(x, true);
    }
    if (x->fault.status == 0 && complete_all(x, &err) != TINKC_OK) {
        fail_with(x, &err);
    }
    if (x->http != NULL) {
        if (x->fault.status == 0) {
            reply_whole(x);
        } else {
            (void)gw_front_fail(x->http, x->request.dialect, &x->fault);
        }
        hd_request_resume(x->http);
        x->http = NULL;
    } else if (x->stream != NULL && x->fault.status == 0) {
        end_stream(x);
    } else if (x->stream != NULL) {
        ca_stream_fail(&x->out, x->events, &x->fault);
    }
    x->is_over = true;
}

/* Does what there is before the last job has ended. */
static void go_on(gw_exchange *x, const intake *in)
{
    bool is_read = true;
    if (!in->is_gone) {
        feed(x, in);
        is_read = send(x);
    }
    if (!in->is_done && (in->is_gone || !is_read || x->fault.status != 0)) {
        tk_mutex_lock(&x->gateway->lock);
        gw_exchange_cancel(x);
        tk_mutex_unlock(&x->gateway->lock);
    }
}

bool gw_answer_step(gw_exchange *x)
{
    intake in = take(x);
    if (!x->is_over) {
        go_on(x, &in);
    }
    tk_free(in.tokens);
    if (!in.is_done) {
        return false;
    }
    if (!x->is_over) {
        if (in.is_gone && x->fault.status == 0) {
            x->fault.status = 499;
            (void)tk_err_set(&x->fault.err, TINKC_E_CANCELLED, "the client has left");
        }
        finish(x);
    }
    if (send(x) && x->out.n > 0 && x->stream != NULL) {
        return false; /* its reader is slow */
    }
    if (x->claim.number != 0 && x->fault.status == 0) {
        share(x, GW_TYPE_EVENTS, &x->whole);
    }
    if (x->stream != NULL) {
        hd_stream_end(x->stream);
    }
    return true;
}
