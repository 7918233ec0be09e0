/* Stop strings are looked for in the text with the special tokens in it, as engines do. */
#include "gateway/gw_choice.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "gateway/gw_episode.h"

#define PIECE_BYTES (1 * TK_MIB)

/* ---- ids of calls ---- */

static bool grow_call_ids(gw_choice *c, tk_err *err)
{
    if (c->n_call_ids < c->cap_call_ids) {
        return true;
    }
    size_t cap = c->cap_call_ids > 0 ? 2 * c->cap_call_ids : 4;
    void *ids = tk_realloc_array(c->call_ids, cap, sizeof(*c->call_ids));
    if (ids != NULL) {
        c->call_ids = ids;
    }
    void *ptrs =
        ids != NULL ? tk_realloc_array(c->call_ptrs, cap, sizeof(*c->call_ptrs)) : NULL;
    if (ptrs == NULL) {
        (void)tk_err_nomem(err);
        return false;
    }
    c->call_ptrs = ptrs;
    c->cap_call_ids = cap;
    for (size_t i = 0; i < c->n_call_ids; i++) {
        c->call_ptrs[i] = c->call_ids[i];
    }
    return true;
}

/* Failure leaves the choice without the id, which gw_choice_finish notices. */
static void add_call_id(gw_choice *c, const ca_call *call)
{
    tk_err err = TK_ERR_INIT;
    unsigned char random[16];
    if (!grow_call_ids(c, &err) ||
        tk_rand_entropy(random, sizeof(random), &err) != TINKC_OK) {
        return;
    }
    char *id = c->call_ids[c->n_call_ids];
    if (call->id != NULL && call->id[0] != '\0' && strlen(call->id) < GW_CALL_ID_BYTES) {
        (void)snprintf(id, GW_CALL_ID_BYTES, "%s", call->id);
    } else {
        ca_reply_make_call_id(id, c->config.request->dialect, random);
    }
    c->call_ptrs[c->n_call_ids++] = id;
}

const char *gw_choice_call_id(const gw_choice *c, size_t call)
{
    return call < c->n_call_ids ? c->call_ids[call] : "";
}

/* ---- text that is decided ---- */

static void on_parsed(const ca_event *event, void *user)
{
    gw_choice *c = user;
    if (event->kind == CA_EVENT_REASONING) {
        c->n_reasoning = c->n;
    } else if (event->kind == CA_EVENT_CALL) {
        add_call_id(c, event->call);
    }
    if (c->config.on_event != NULL) {
        c->config.on_event(c->config.user, event);
    }
}

static tinkc_code pass_on(gw_choice *c, tk_str text, bool is_special, tk_err *err)
{
    if (text.n == 0) {
        return TINKC_OK;
    }
    if (c->parser != NULL) {
        return ca_parser_feed(c->parser, text, is_special, err);
    }
    if (is_special) {
        return TINKC_OK;
    }
    tk_buf_put(&c->text, text.p, text.n);
    if (c->config.on_text != NULL) {
        c->config.on_text(c->config.user, text);
    }
    return tk_buf_status(&c->text, err);
}

/* Passes on the first `n` bytes of what waits. */
static tinkc_code flush(gw_choice *c, size_t n, tk_err *err)
{
    tk_buf *pending = &c->pending;
    size_t at = 0;
    size_t span = 0;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && at < n) {
        bool is_special = span < c->n_spans && c->spans[span].from == at;
        size_t to = is_special          ? c->spans[span].to
                    : span < c->n_spans ? TK_MIN(n, c->spans[span].from)
                                        : n;
        code = pass_on(c, (tk_str){pending->p + at, to - at}, is_special, err);
        span += is_special;
        at = to;
    }
    if (at < pending->n && at > 0) {
        memmove(pending->p, pending->p + at, pending->n - at);
    }
    pending->n -= at;
    memmove(c->spans, c->spans + span, (c->n_spans - span) * sizeof(*c->spans));
    c->n_spans -= span;
    for (size_t i = 0; i < c->n_spans; i++) {
        c->spans[i].from -= at;
        c->spans[i].to -= at;
    }
    return code;
}

/* Returns `at`, or the beginning of the special token that it is in. */
static size_t before_special(const gw_choice *c, size_t at)
{
    for (size_t i = 0; i < c->n_spans; i++) {
        if (c->spans[i].from < at && at < c->spans[i].to) {
            return c->spans[i].from;
        }
    }
    return at;
}

/* ---- stop strings ---- */

/* Finds the first of the stop strings in what waits; false when there is none. */
static bool find_stop(const gw_choice *c, size_t *at, tk_str *stop)
{
    const ca_params *params = &c->config.request->params;
    const tk_buf *pending = &c->pending;
    for (*at = 0; *at < pending->n; (*at)++) {
        size_t left = pending->n - *at;
        for (size_t i = 0; i < params->n_stops; i++) {
            *stop = params->stops[i];
            if (stop->n > 0 && stop->n <= left &&
                memcmp(pending->p + *at, stop->p, stop->n) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Returns how much of what waits cannot be the beginning of a stop string. */
static size_t decided(const gw_choice *c)
{
    const ca_params *params = &c->config.request->params;
    const tk_buf *pending = &c->pending;
    for (size_t at = 0; at < pending->n; at++) {
        size_t left = pending->n - at;
        for (size_t i = 0; i < params->n_stops; i++) {
            tk_str stop = params->stops[i];
            if (left < stop.n && memcmp(pending->p + at, stop.p, left) == 0) {
                return before_special(c, at);
            }
        }
    }
    return pending->n;
}

static tinkc_code add(gw_choice *c, tk_str text, bool is_special, tk_err *err)
{
    if (c->config.request->params.n_stops == 0) {
        return pass_on(c, text, is_special, err);
    }
    if (text.n == 0) {
        return TINKC_OK;
    }
    if (is_special) {
        if (c->n_spans == GW_SPANS_MAX) {
            tinkc_code code = flush(c, c->pending.n, err);
            if (code != TINKC_OK) {
                return code;
            }
        }
        c->spans[c->n_spans++] = (gw_span){c->pending.n, c->pending.n + text.n};
    }
    tk_buf_put(&c->pending, text.p, text.n);
    if (c->pending.failure != TINKC_OK) {
        return tk_buf_status(&c->pending, err);
    }
    size_t at = 0;
    tk_str stop = {NULL, 0};
    if (find_stop(c, &at, &stop)) {
        c->stop = stop;
        return flush(c, before_special(c, at), err);
    }
    return flush(c, decided(c), err);
}

/* ---- tokens ---- */

static bool is_listed(const int32_t *ids, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Whether a token that is not special ends the answer, and is not shown. */
static bool is_end(const gw_choice *c, int32_t id)
{
    const ca_params *params = &c->config.request->params;
    const gw_model *model = c->config.model;
    return is_listed(params->stop_ids, params->n_stop_ids, id) ||
           (!params->ignore_eos && is_listed(model->end_ids, model->n_end_ids, id));
}

static tinkc_code decode(gw_choice *c, int32_t id, tk_err *err)
{
    const tk_tok *tok = c->config.model->tok;
    bool is_special = tk_tok_is_special(tok, id);
    tk_buf_clear(&c->piece);
    if (!is_special) {
        if (is_end(c, id)) {
            return TINKC_OK;
        }
        tk_tok_stream_push(&c->decoder, &id, 1, &c->piece);
        tinkc_code code = tk_buf_status(&c->piece, err);
        return code == TINKC_OK ? add(c, tk_buf_str(&c->piece), false, err) : code;
    }
    tk_tok_stream_finish(&c->decoder, &c->piece);
    tk_tok_stream_dispose(&c->decoder);
    gw_plan_decode(&c->decoder, tok, false);
    tinkc_code code = tk_buf_status(&c->piece, err);
    if (code == TINKC_OK) {
        code = add(c, tk_buf_str(&c->piece), false, err);
    }
    if (code == TINKC_OK && c->stop.p == NULL) {
        code = add(c, tk_tok_token(tok, id), true, err);
    }
    return code;
}

static tinkc_code keep(gw_choice *c, int32_t id, float logprob, tk_err *err)
{
    if (c->n == c->cap) {
        size_t cap = c->cap > 0 ? 2 * c->cap : 64;
        int32_t *ids = tk_realloc_array(c->ids, cap, sizeof(*ids));
        if (ids != NULL) {
            c->ids = ids;
        }
        float *logprobs =
            ids != NULL ? tk_realloc_array(c->logprobs, cap, sizeof(*logprobs)) : NULL;
        if (logprobs == NULL) {
            return tk_err_nomem(err);
        }
        c->logprobs = logprobs;
        c->cap = cap;
    }
    c->ids[c->n] = id;
    c->logprobs[c->n++] = logprob;
    return TINKC_OK;
}

tinkc_code gw_choice_push(gw_choice *c, int32_t id, float logprob, tk_err *err)
{
    tinkc_code code = keep(c, id, logprob, err);
    return code == TINKC_OK && c->stop.p == NULL ? decode(c, id, err) : code;
}

tinkc_code gw_choice_finish(gw_choice *c, bool is_stopped, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    c->is_stopped = is_stopped;
    c->is_finished = true;
    if (c->stop.p == NULL) {
        tk_buf_clear(&c->piece);
        tk_tok_stream_finish(&c->decoder, &c->piece);
        code = tk_buf_status(&c->piece, err);
        if (code == TINKC_OK) {
            code = add(c, tk_buf_str(&c->piece), false, err);
        }
        if (code == TINKC_OK && c->stop.p == NULL) {
            code = flush(c, c->pending.n, err);
        }
    }
    if (code == TINKC_OK && c->parser != NULL) {
        code = ca_parser_finish(c->parser, err);
    }
    const ca_output *output = gw_choice_output(c);
    if (code == TINKC_OK && output != NULL && output->n_calls != c->n_call_ids) {
        code = tk_err_nomem(err);
    }
    return code;
}

ca_finish gw_choice_reason(const gw_choice *c)
{
    const ca_output *output = gw_choice_output(c);
    if (c->stop.p != NULL) {
        return CA_FINISH_STOP_STRING;
    }
    if (!c->is_stopped) {
        return CA_FINISH_LENGTH;
    }
    return output != NULL && output->n_calls > 0 ? CA_FINISH_CALLS : CA_FINISH_STOP;
}

const ca_output *gw_choice_output(const gw_choice *c)
{
    return c->parser != NULL ? ca_parser_output(c->parser) : NULL;
}

/* ---- life ---- */

static const tk_json *tools_of(const ca_request *request)
{
    const tk_json *found = NULL;
    for (size_t i = 0; i < request->chat.n_vars; i++) {
        if (tk_str_is(request->chat.vars[i].name, "tools")) {
            found = request->chat.vars[i].value;
        }
    }
    return found;
}

tinkc_code gw_choice_init(gw_choice *c, const gw_choice_config *config, tk_err *err)
{
    *c = (gw_choice){.config = *config};
    tk_buf_init(&c->piece, PIECE_BYTES);
    tk_buf_init(&c->pending, TK_CA_OUTPUT_BYTES);
    tk_buf_init(&c->text, TK_CA_OUTPUT_BYTES);
    gw_plan_decode(&c->decoder, config->model->tok, false);
    if (config->request->dialect == CA_COMPLETIONS) {
        return TINKC_OK;
    }
    const ca_parser_config parser = {
        .format = config->model->format,
        .look_for_calls = config->request->has_tools,
        .starts_thinking = config->starts_thinking,
        .tools = tools_of(config->request),
        .on_event = on_parsed,
        .user = c,
    };
    tinkc_code code = ca_parser_new(&c->parser, &parser, err);
    if (code != TINKC_OK) {
        gw_choice_dispose(c);
    }
    return code;
}

void gw_choice_dispose(gw_choice *c)
{
    if (c->config.model != NULL) {
        tk_tok_stream_dispose(&c->decoder);
    }
    ca_parser_free(c->parser);
    tk_buf_dispose(&c->piece);
    tk_buf_dispose(&c->pending);
    tk_buf_dispose(&c->text);
    tk_free(c->ids);
    tk_free(c->logprobs);
    tk_free(c->call_ids);
    tk_free(c->call_ptrs);
    *c = (gw_choice){0};
}
