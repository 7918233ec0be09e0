/* Turns as records of the log: JSON, written from an answer, read into the tree. What is
 * in memory always came out of a record, so that memory and disk cannot differ.
 *
 * The files are not hostile, but may be damaged or of another version: everything is
 * checked before the tree changes. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_tree.h"

/* ---- writing ---- */

static void put_text(tk_json_writer *w, const char *key, tk_str text)
{
    if (text.n > 0) {
        tk_json_key(w, tk_str_of(key));
        tk_json_put_str(w, text);
    }
}

static void put_number(tk_json_writer *w, const char *key, int64_t value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_i64(w, value);
}

static void put_double(tk_json_writer *w, bool is_set, const char *key, double value)
{
    if (is_set && isfinite(value)) {
        tk_json_key(w, tk_str_of(key));
        tk_json_put_double(w, value);
    }
}

static void put_stops(tk_json_writer *w, const ca_params *params)
{
    if (params->n_stops > 0) {
        tk_json_key(w, TK_STR("stop"));
        tk_json_begin_array(w);
        for (size_t i = 0; i < params->n_stops; i++) {
            tk_json_put_str(w, params->stops[i]);
        }
        tk_json_end_array(w);
    }
    if (params->n_stop_ids > 0) {
        tk_json_key(w, TK_STR("stop_token_ids"));
        tk_json_put_i32s(w, params->stop_ids, params->n_stop_ids);
    }
}

/* The parameters that decide what is sampled. */
static void put_params(tk_json_writer *w, const ca_params *params)
{
    tk_json_key(w, TK_STR("params"));
    tk_json_begin_object(w);
    put_double(w, params->has_temperature, "temperature", params->temperature);
    put_double(w, params->has_top_p, "top_p", params->top_p);
    if (params->has_top_k) {
        put_number(w, "top_k", params->top_k);
    }
    if (params->has_max_tokens) {
        put_number(w, "max_tokens", (int64_t)params->max_tokens);
    }
    if (params->has_seed) {
        tk_json_key(w, TK_STR("seed"));
        tk_json_put_u64(w, params->seed);
    }
    put_number(w, "n", (int64_t)params->n);
    if (params->ignore_eos) {
        tk_json_key(w, TK_STR("ignore_eos"));
        tk_json_put_bool(w, true);
    }
    put_stops(w, params);
    tk_json_end_object(w);
}

/* The text of the last message, which the answer continues. */
static tk_str prefill_of(const gw_ask *ask)
{
    const tk_chat *chat = &ask->request->chat;
    tk_str text = {NULL, 0}, next;
    if (!ask->request->continue_final || chat->n == 0) {
        return text;
    }
    tk_chat_texts texts = {.message = &chat->messages[chat->n - 1]};
    while (tk_chat_text_next(&texts, &next)) {
        text = next;
    }
    return text;
}

/* The message as the agent has it now: what it sent and what goes back. */
static void put_message(tk_buf *out, const gw_turn *turn, size_t i)
{
    tk_str prefill = prefill_of(turn->ask);
    if (prefill.n == 0) {
        ca_output_write(out, &turn->outputs[i], NULL);
        return;
    }
    ca_output whole = turn->outputs[i]; /* borrows all but the text */
    tk_buf text;
    tk_buf_init(&text, TK_GW_RECORD_BYTES);
    tk_buf_put(&text, prefill.p, prefill.n);
    tk_buf_put(&text, whole.text.p, whole.text.n);
    if (text.failure != TINKC_OK) {
        tk_buf_fail(out, text.failure);
    }
    whole.text = text;
    ca_output_write(out, &whole, NULL);
    tk_buf_dispose(&text);
}

/* The digest of the messages with the one that goes back. */
static tinkc_code digest_after(gw_sha out, const gw_turn *turn, tk_str message,
                               tk_err *err)
{
    tk_arena arena;
    tk_buf scratch;
    const tk_json *value = NULL;
    tk_arena_init(&arena, TK_GW_EPISODE_BYTES);
    tk_buf_init(&scratch, TK_GW_RECORD_BYTES);
    tinkc_code code = tk_json_parse(&value, &arena, message.p, message.n, NULL, err);
    if (code == TINKC_OK) {
        code = gw_tree_chain(out, turn->plan->messages_sha, value, &scratch, err);
    }
    tk_buf_dispose(&scratch);
    tk_arena_dispose(&arena);
    return code;
}

/* Values that are not finite are not known: null. */
static void put_logprobs(tk_json_writer *w, const float *values, size_t n)
{
    size_t usual = 0;
    while (values != NULL && usual < n && !isinf(values[usual])) {
        usual++;
    }
    tk_json_key(w, TK_STR("logprobs"));
    if (usual == n) {
        tk_json_put_f32s(w, values, n, true);
        return;
    }
    tk_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        if (values == NULL || !isfinite(values[i])) {
            tk_json_put_null(w);
        } else {
            tk_json_put_double(w, (double)values[i]);
        }
    }
    tk_json_end_array(w);
}

static tinkc_code put_turn(tk_json_writer *w, const gw_turn *turn, size_t i, tk_err *err)
{
    const gw_sequence *sequence = &turn->sequences[i];
    gw_sha after = "";
    tk_buf message;
    tinkc_code code = TINKC_OK;
    tk_buf_init(&message, TK_GW_RECORD_BYTES);
    if (turn->outputs != NULL) {
        put_message(&message, turn, i);
        code = tk_buf_status(&message, err);
        if (code == TINKC_OK) {
            code = digest_after(after, turn, tk_buf_str(&message), err);
        }
    }
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("ids"));
    tk_json_put_i32s(w, sequence->ids, sequence->n);
    put_logprobs(w, sequence->logprobs, sequence->n);
    tk_json_key(w, TK_STR("is_stopped"));
    tk_json_put_bool(w, sequence->is_stopped);
    put_text(w, "message", tk_buf_str(&message));
    put_text(w, "after", tk_str_of(after));
    tk_json_end_object(w);
    tk_buf_dispose(&message);
    return code;
}

static void put_prompt(tk_json_writer *w, const gw_turn *turn)
{
    const gw_plan *plan = turn->plan;
    size_t shared = plan->parent >= 0 ? plan->n_shared : 0;
    put_number(w, "parent", plan->parent);
    put_number(w, "shared", (int64_t)shared);
    put_number(w, "origin", (int64_t)plan->origin);
    put_number(w, "raw", plan->parent_is_raw ? 1 : 0);
    put_number(w, "messages", (int64_t)plan->n_messages);
    put_number(w, "text_n", (int64_t)plan->text.n);
    put_number(w, "chat", turn->outputs != NULL ? 1 : 0);
    put_number(w, "born_ms", plan->born_ms);
    put_text(w, "text_sha", tk_str_of(plan->text_sha));
    put_text(w, "tokens_sha", tk_str_of(plan->tokens_sha));
    put_text(w, "why", tk_str_of(plan->why));
    put_text(w, "prefill", prefill_of(turn->ask));
    tk_json_key(w, TK_STR("ids"));
    tk_json_put_i32s(w, plan->ids + shared, plan->n - shared);
}

tinkc_code gw_record_answer(tk_buf *out, const gw_turn *turn, size_t first,
                            int64_t time_ms, tk_err *err)
{
    tk_json_writer w;
    tinkc_code code = TINKC_OK;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    put_number(&w, "turn", (int64_t)first);
    put_prompt(&w, turn);
    put_number(&w, "time_ms", time_ms);
    put_text(&w, "model", tk_str_of(turn->ask->model->name));
    put_text(&w, "weights", tk_str_of(turn->ask->model->weights));
    put_params(&w, &turn->ask->request->params);
    tk_json_key(&w, TK_STR("turns"));
    tk_json_begin_array(&w);
    for (size_t i = 0; code == TINKC_OK && i < turn->n; i++) {
        code = put_turn(&w, turn, i, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}

tinkc_code gw_record_mark(tk_buf *out, const gw_mark *mark, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    put_number(&w, "mark", mark->turn);
    if (mark->reward != NULL) {
        put_double(&w, true, "reward", *mark->reward);
    }
    put_text(&w, "metadata", mark->metadata);
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}
