/* An episode as JSON: every turn, and the sequences to train on.
 *
 * A sequence ends with a turn that none continues and holds the turns before it: each
 * prompt extends the ids before it, so all of them are one row of ids, with mask 1 on
 * exactly those that were sampled. Turns that several sequences share are in each of them;
 * "fresh" is the place after those that an earlier sequence has. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_tree.h"

static void put_key(tk_json_writer *w, const char *key)
{
    tk_json_key(w, tk_str_of(key));
}

static void put_i64(tk_json_writer *w, const char *key, int64_t value)
{
    put_key(w, key);
    tk_json_put_i64(w, value);
}

static void put_str(tk_json_writer *w, const char *key, tk_str value)
{
    put_key(w, key);
    tk_json_put_str(w, value);
}

static void put_reward(tk_json_writer *w, bool has, double reward)
{
    put_key(w, "reward");
    if (has) {
        tk_json_put_double(w, reward);
    } else {
        tk_json_put_null(w);
    }
}

/* A member whose value is JSON already; null when there is none. */
static tinkc_code put_json(tk_json_writer *w, const char *key, tk_str json, tk_err *err)
{
    tk_arena arena;
    const tk_json *value = NULL;
    put_key(w, key);
    if (json.n == 0) {
        tk_json_put_null(w);
        return TINKC_OK;
    }
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&value, &arena, json.p, json.n, NULL, err);
    if (code == TINKC_OK) {
        tk_json_put_value(w, value);
    }
    tk_arena_dispose(&arena);
    return code;
}

/* ---- turns ---- */

static const char *name_of(gw_origin origin)
{
    return origin == GW_ORIGIN_FIRST       ? "first"
           : origin == GW_ORIGIN_CONTINUED ? "continued"
                                           : "branch";
}

static tinkc_code put_turn(tk_json_writer *w, const gw_tree *tree, size_t turn,
                           tk_err *err)
{
    const gw_node *node = tree->nodes[turn];
    const gw_answer *answer = node->answer;
    tk_json_begin_object(w);
    put_i64(w, "turn", (int64_t)turn);
    put_i64(w, "parent", answer->parent);
    put_str(w, "origin", tk_str_of(name_of(answer->origin)));
    if (answer->why.n > 0) {
        put_str(w, "why", answer->why);
    }
    put_i64(w, "time_ms", answer->time_ms);
    put_str(w, "model", answer->model);
    put_str(w, "weights", answer->weights);
    put_i64(w, "prompt_tokens", (int64_t)(answer->n_shared + answer->n));
    put_i64(w, "sampled_tokens", (int64_t)node->n);
    put_str(w, "finish", node->is_stopped ? TK_STR("stop") : TK_STR("length"));
    put_reward(w, node->has_reward, node->reward);
    tinkc_code code = put_json(w, "params", answer->params, err);
    if (code == TINKC_OK) {
        code = put_json(w, "message", node->message, err);
    }
    if (code == TINKC_OK) {
        code = put_json(w, "metadata", node->metadata, err);
    }
    tk_json_end_object(w);
    return code;
}

/* ---- sequences ---- */

typedef struct row { /* one sequence, owned */
    int32_t *tokens, *mask;
    float *logprobs;
    int64_t *turns;
    size_t n, n_turns;
    size_t fresh;
} row;

static void row_dispose(row *r)
{
    tk_free(r->tokens);
    tk_free(r->mask);
    tk_free(r->logprobs);
    tk_free(r->turns);
}

static size_t count_turns(const gw_tree *tree, size_t leaf)
{
    size_t n = 0;
    for (int64_t at = (int64_t)leaf; at >= 0; at = tree->nodes[at]->answer->parent) {
        n++;
    }
    return n;
}

/* `is_used`: turns that an earlier sequence has. */
static tinkc_code row_fill(row *r, const gw_tree *tree, size_t leaf, bool *is_used,
                           tk_err *err)
{
    r->n = gw_tree_length(tree->nodes[leaf]);
    r->n_turns = count_turns(tree, leaf);
    r->tokens = tk_array(r->n + 1, sizeof(*r->tokens));
    r->mask = tk_zarray(r->n + 1, sizeof(*r->mask));
    r->logprobs = tk_zarray(r->n + 1, sizeof(*r->logprobs));
    r->turns = tk_array(r->n_turns, sizeof(*r->turns));
    if (r->tokens == NULL || r->mask == NULL || r->logprobs == NULL || r->turns == NULL) {
        return tk_err_nomem(err);
    }
    gw_tree_ids(r->tokens, tree, leaf);
    size_t place = r->n_turns;
    for (int64_t at = (int64_t)leaf; at >= 0; at = tree->nodes[at]->answer->parent) {
        const gw_node *node = tree->nodes[at];
        size_t end = gw_tree_length(node);
        for (size_t i = 0; i < node->n; i++) {
            r->mask[end - node->n + i] = 1;
            r->logprobs[end - node->n + i] = node->logprobs[i];
        }
        r->turns[--place] = at;
        r->fresh = is_used[at] ? TK_MAX(r->fresh, end) : r->fresh;
        is_used[at] = true;
    }
    return TINKC_OK;
}

/* The reward of the last turn that has one, else of the episode. */
static void put_row_reward(tk_json_writer *w, const gw_tree *tree, const row *r)
{
    for (size_t i = r->n_turns; i > 0; i--) {
        const gw_node *node = tree->nodes[r->turns[i - 1]];
        if (node->has_reward) {
            put_reward(w, true, node->reward);
            return;
        }
    }
    put_reward(w, tree->has_reward, tree->reward);
}

static tinkc_code put_sequence(tk_json_writer *w, const gw_tree *tree, size_t leaf,
                               bool *is_used, tk_err *err)
{
    row r = {.n = 0};
    tinkc_code code = row_fill(&r, tree, leaf, is_used, err);
    if (code == TINKC_OK) {
        tk_json_begin_object(w);
        put_key(w, "tokens");
        tk_json_put_i32s(w, r.tokens, r.n);
        put_key(w, "mask");
        tk_json_put_i32s(w, r.mask, r.n);
        put_key(w, "logprobs");
        tk_json_put_f32s(w, r.logprobs, r.n, true);
        put_i64(w, "fresh", (int64_t)r.fresh);
        put_key(w, "turns");
        tk_json_put_i64s(w, r.turns, r.n_turns);
        put_key(w, "weights");
        tk_json_begin_array(w);
        for (size_t i = 0; i < r.n_turns; i++) {
            tk_json_put_str(w, tree->nodes[r.turns[i]]->answer->weights);
        }
        tk_json_end_array(w);
        put_row_reward(w, tree, &r);
        tk_json_end_object(w);
    }
    row_dispose(&r);
    return code;
}

/* ---- the whole ---- */

static tinkc_code put_turns(tk_json_writer *w, const gw_tree *tree, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    size_t lost = 0;
    put_key(w, "turns");
    tk_json_begin_array(w);
    for (size_t i = 0; code == TINKC_OK && i < tree->n; i++) {
        if (gw_tree_is_lost(tree->nodes[i])) {
            lost++;
        } else {
            code = put_turn(w, tree, i, err);
        }
    }
    tk_json_end_array(w);
    if (lost > 0) {
        put_i64(w, "lost", (int64_t)lost);
    }
    return code;
}

static tinkc_code put_sequences(tk_json_writer *w, const gw_tree *tree, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    bool *is_used = tk_zarray(tree->n + 1, sizeof(*is_used));
    if (is_used == NULL) {
        return tk_err_nomem(err);
    }
    put_key(w, "sequences");
    tk_json_begin_array(w);
    for (size_t i = 0; code == TINKC_OK && w->out->failure == TINKC_OK && i < tree->n;
         i++) {
        if (!tree->nodes[i]->is_continued && !gw_tree_is_lost(tree->nodes[i])) {
            code = put_sequence(w, tree, i, is_used, err);
        }
    }
    tk_json_end_array(w);
    tk_free(is_used);
    return code;
}

tinkc_code gw_export_tree(tk_buf *out, const gw_tree *tree, tk_str id, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    put_str(&w, "id", id);
    put_reward(&w, tree->has_reward, tree->reward);
    tinkc_code code = put_json(&w, "metadata", tree->metadata, err);
    if (code == TINKC_OK) {
        code = put_turns(&w, tree, err);
    }
    if (code == TINKC_OK) {
        code = put_sequences(&w, tree, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}
