/* Samples on standard output: as text, one token per line, as JSON, or while they are
 * sampled.
 * Needs: text */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/cmd_sample.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_text.h"

/* ---- text ---- */

/* Shows a token on its line; `logprob` may be NULL. */
static void show_token(const cmd_model *model, int32_t token, const float *logprob,
                       const char *indent)
{
    size_t length = 0;
    char *text = cmd_model_decode(model, &token, 1, &length);
    cmd_print(stdout, "%s%8" PRId32 "  ", indent, token);
    if (logprob != NULL) {
        cmd_print(stdout, "%9.4f  ", (double)*logprob);
    } else {
        cmd_print(stdout, "%9s  ", "");
    }
    if (tinkc_tokenizer_is_special(model->tokenizer, token)) {
        cmd_print(stdout, "%s", tinkc_tokenizer_token(NULL, model->tokenizer, token));
    } else {
        cmd_text_put_visible(text != NULL ? text : "", length);
    }
    cmd_print(stdout, "\n");
    tinkc_text_free(&text);
}

/* Shows one token per line with its log-probability, and the likeliest ones of its
 * position under it. */
static void show_tokens(const cmd_model *model, const tinkc_samples *samples,
                        size_t index)
{
    size_t n = 0, n_logprobs = 0;
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, index);
    const float *logprobs = tinkc_samples_logprobs(&n_logprobs, samples, index);
    for (size_t i = 0; i < n; i++) {
        tinkc_topk row = {NULL, NULL, 0};
        show_token(model, tokens[i], i < n_logprobs ? &logprobs[i] : NULL, "");
        (void)tinkc_samples_sampled_topk(&row, samples, index, i, NULL);
        for (size_t j = 0; j < row.k; j++) {
            show_token(model, row.token_ids[j], &row.logprobs[j], "    ");
        }
    }
}

static int show_text(const cmd_model *model, const tinkc_samples *samples,
                     const cmd_args *args)
{
    size_t count = tinkc_samples_count(samples);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0, length = 0;
        const int32_t *tokens = tinkc_samples_tokens(&n, samples, i);
        if (count > 1) {
            cmd_print(stdout,
                      i > 0 ? "\nSample %zu (%zu tokens, %s):\n"
                            : "Sample %zu (%zu tokens, %s):\n",
                      i + 1, n, tinkc_samples_stop_text(samples, i));
        }
        if (cmd_has(args, "logprobs") || model->tokenizer == NULL ||
            tinkc_samples_sampled_topk_rows(samples, i) > 0) {
            show_tokens(model, samples, i);
            continue;
        }
        char *text = cmd_model_decode(model, tokens, n, &length);
        (void)cmd_model_put(text != NULL ? text : "", length);
        cmd_print(stdout, "\n");
        tinkc_text_free(&text);
    }
    return CMD_OK;
}

/* ---- JSON ---- */

static void put_row(cmd_json *json, const tinkc_topk *row)
{
    if (row->k == 0) {
        tk_json_put_null(&json->w);
        return;
    }
    tk_json_begin_array(&json->w);
    for (size_t j = 0; j < row->k; j++) {
        tk_json_begin_array(&json->w);
        tk_json_put_i64(&json->w, row->token_ids[j]);
        cmd_json_real(json, (double)row->logprobs[j]);
        tk_json_end_array(&json->w);
    }
    tk_json_end_array(&json->w);
}

/* The table of one sequence; null when there is none. */
static void put_sampled_topk(cmd_json *json, const tinkc_samples *samples, size_t index)
{
    size_t rows = tinkc_samples_sampled_topk_rows(samples, index);
    cmd_json_key(json, "topk_sampled_logprobs");
    if (rows == 0) {
        tk_json_put_null(&json->w);
        return;
    }
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < rows; i++) {
        tinkc_topk row = {NULL, NULL, 0};
        (void)tinkc_samples_sampled_topk(&row, samples, index, i, NULL);
        put_row(json, &row);
    }
    tk_json_end_array(&json->w);
}

static void put_sequence(cmd_json *json, const cmd_model *model,
                         const tinkc_samples *samples, size_t index)
{
    size_t n = 0, n_logprobs = 0, length = 0;
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, index);
    const float *logprobs = tinkc_samples_logprobs(&n_logprobs, samples, index);
    char *text = cmd_model_decode(model, tokens, n, &length);
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "stop_reason", tinkc_samples_stop_text(samples, index));
    cmd_json_key(json, "tokens");
    tk_json_put_i32s(&json->w, tokens, n);
    cmd_json_key(json, "logprobs");
    if (logprobs != NULL) {
        tk_json_put_f32s(&json->w, logprobs, n_logprobs, true);
    } else {
        tk_json_put_null(&json->w);
    }
    put_sampled_topk(json, samples, index);
    cmd_json_pair(json, "sequence_id", tinkc_samples_sequence_id(samples, index));
    cmd_json_key(json, "text");
    if (text != NULL) {
        tk_json_put_str(&json->w, (tk_str){text, length});
    } else {
        tk_json_put_null(&json->w);
    }
    tk_json_end_object(&json->w);
    tinkc_text_free(&text);
}

static void put_topk(cmd_json *json, const tinkc_samples *samples)
{
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < tinkc_samples_topk_rows(samples); i++) {
        tinkc_topk row = {NULL, NULL, 0};
        (void)tinkc_samples_topk(&row.token_ids, &row.logprobs, &row.k, samples, i, NULL);
        put_row(json, &row);
    }
    tk_json_end_array(&json->w);
}

static void put_tensor(cmd_json *json, const char *key, const tinkc_tensor *tensor)
{
    bool ints = tinkc_tensor_dtype(tensor) == TINKC_DTYPE_INT64;
    size_t n = tinkc_tensor_count(tensor);
    cmd_json_key(json, key);
    tk_json_begin_object(&json->w);
    cmd_json_key(json, "data");
    if (ints) {
        tk_json_put_i64s(&json->w, tinkc_tensor_i64(tensor), n);
    } else {
        tk_json_put_f32s(&json->w, tinkc_tensor_f32(tensor), n, true);
    }
    cmd_json_pair(json, "dtype", ints ? "int64" : "float32");
    cmd_json_key(json, "shape");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < tinkc_tensor_rank(tensor); i++) {
        tk_json_put_i64(&json->w, tinkc_tensor_dim(tensor, i));
    }
    tk_json_end_array(&json->w);
    tk_json_end_object(&json->w);
}

/* The draws; the key is left out when there are none. */
static void put_alt_tokens(cmd_json *json, const tinkc_samples *samples)
{
    const tinkc_tensor *tokens = tinkc_samples_alt_tokens(samples);
    const tinkc_tensor *logprobs = tinkc_samples_alt_logprobs(samples);
    if (tokens == NULL) {
        return;
    }
    cmd_json_key(json, "prompt_alt_tokens");
    tk_json_begin_object(&json->w);
    put_tensor(json, "tokens", tokens);
    put_tensor(json, "logprobs", logprobs);
    tk_json_end_object(&json->w);
}

/* Writes the keys of SampleResponse in the protocol, and the text. */
static int show_json(const cmd_model *model, const tinkc_samples *samples,
                     const cmd_args *args)
{
    cmd_json json;
    size_t n = 0;
    const float *prompt = tinkc_samples_prompt_logprobs(&n, samples);
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "sequences");
    tk_json_begin_array(&json.w);
    for (size_t i = 0; i < tinkc_samples_count(samples); i++) {
        put_sequence(&json, model, samples, i);
    }
    tk_json_end_array(&json.w);
    cmd_json_key(&json, "prompt_logprobs");
    if (prompt != NULL) {
        tk_json_put_f32s(&json.w, prompt, n, true);
    } else {
        tk_json_put_null(&json.w);
    }
    cmd_json_key(&json, "topk_prompt_logprobs");
    if (tinkc_samples_topk_rows(samples) > 0) {
        put_topk(&json, samples);
    } else {
        tk_json_put_null(&json.w);
    }
    put_alt_tokens(&json, samples);
    cmd_json_pair(&json, "type", "sample");
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

int cmd_sample_show(const cmd_model *model, const tinkc_samples *samples,
                    const cmd_args *args)
{
    cmd_json json;
    switch (cmd_format_of(args)) {
    case CMD_JSON:
        return show_json(model, samples, args);
    case CMD_JSONL:
        cmd_json_init(&json);
        for (size_t i = 0; i < tinkc_samples_count(samples); i++) {
            put_sequence(&json, model, samples, i);
            if (!cmd_json_line(&json)) {
                break;
            }
        }
        cmd_json_dispose(&json);
        return CMD_OK;
    case CMD_TABLE:
        break;
    }
    return show_text(model, samples, args);
}

/* ---- streaming ---- */

typedef struct streaming {
    tinkc_decoder *decoder; /* NULL: without a tokenizer the server's text is shown */
    bool is_json;
    bool ends_line; /* the last text ended with a line end */
} streaming;

/* Returns the text that this event completes. */
static const char *text_of(streaming *s, const tinkc_stream_event *event, size_t *n)
{
    if (s->decoder == NULL ||
        (event->kind == TINKC_STREAM_TOKEN && event->token_id < 0)) {
        const char *text = event->token != NULL ? event->token : "";
        *n = strlen(text);
        return text;
    }
    int32_t id = (int32_t)event->token_id;
    tinkc_code code = event->kind == TINKC_STREAM_DONE
                          ? tinkc_decoder_finish(s->decoder, NULL)
                          : tinkc_decoder_push(s->decoder, &id, 1, NULL);
    *n = 0;
    return code == TINKC_OK ? tinkc_decoder_text(n, s->decoder) : "";
}

static bool show_event_json(const tinkc_stream_event *event, const char *text, size_t n)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    if (event->kind == TINKC_STREAM_TOKEN) {
        cmd_json_key(&json, "token");
        cmd_json_count(&json, event->token_id);
        cmd_json_key(&json, "logprob");
        cmd_json_real(&json, event->logprob);
    } else {
        cmd_json_pair(&json, "stop_reason", event->finish_reason);
        cmd_json_key(&json, "total_tokens");
        cmd_json_count(&json, event->total_tokens);
    }
    cmd_json_key(&json, "text");
    tk_json_put_str(&json.w, (tk_str){text, n});
    tk_json_end_object(&json.w);
    bool ok = cmd_json_line(&json) && fflush(stdout) == 0;
    cmd_json_dispose(&json);
    return ok;
}

static bool show_event(streaming *s, const tinkc_stream_event *event)
{
    size_t n = 0;
    const char *text = text_of(s, event, &n);
    if (s->is_json) {
        return show_event_json(event, text, n);
    }
    s->ends_line = n > 0 ? text[n - 1] == '\n' : s->ends_line;
    return n == 0 || cmd_model_put(text, n);
}

int cmd_sample_stream(cmd_model *model, const tinkc_model_input *input,
                      const cmd_args *args)
{
    streaming s = {.is_json = cmd_wants_json(args)};
    tinkc_stream *stream = NULL;
    tinkc_error *error = NULL;
    const tinkc_stream_event *event = NULL;
    tinkc_code code = TINKC_OK;
    if (model->tokenizer != NULL) {
        code = tinkc_decoder_new(&s.decoder, model->tokenizer, true, &error);
    }
    if (code == TINKC_OK) {
        code = tinkc_stream_open(&stream, model->sampling, input, &model->params, &error);
    }
    bool is_read = true;
    while (code == TINKC_OK && is_read) {
        code = tinkc_stream_next(&event, stream, TINKC_FOREVER, &error);
        is_read = code != TINKC_OK || show_event(&s, event);
    }
    tinkc_stream_close(&stream);
    tinkc_decoder_free(&s.decoder);
    if (!s.is_json && !s.ends_line) {
        cmd_print(stdout, "\n");
    }
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail_error(&error, NULL);
    }
    tinkc_error_free(&error);
    return CMD_OK;
}
