/* The border between the ids that a turn has and the text that is new, and the ids of that
 * text. */
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_prompt.h"

/* Finds where the text of a turn ends in the rendered text. */
tinkc_code gw_border_find(gw_border *out, size_t *border, gw_planner *p,
                          const gw_node *node, tk_err *err)
{
    const tk_buf *text = &p->plan->text;
    size_t n = node->answer->text_n;
    gw_sha sha;
    *out = GW_BORDER_NONE;
    if (text->n < n || n == 0) {
        return TINKC_OK;
    }
    tinkc_code code = tk_sha256_hex(sha, text->p, n, err);
    if (code != TINKC_OK || strcmp(sha, node->answer->text_sha) != 0) {
        return code;
    }
    *out = GW_BORDER_PROMPT;
    tk_buf_clear(&p->scratch);
    gw_tree_text(&p->scratch, node, p->ask->model, false);
    code = tk_buf_status(&p->scratch, err);
    if (code == TINKC_OK && text->n - n >= p->scratch.n &&
        (p->scratch.n == 0 || memcmp(text->p + n, p->scratch.p, p->scratch.n) == 0)) {
        *out = GW_BORDER_FOUND;
        *border = n + p->scratch.n;
    }
    return code;
}

/* ---- ids ---- */

/* Whether ids, decoded after other text, give exactly this text. */
static tinkc_code gives_text(bool *out, gw_planner *p, const tk_tok_ids *ids, tk_str text,
                             tk_err *err)
{
    tk_tok_stream stream;
    tk_buf_clear(&p->scratch);
    gw_plan_decode(&stream, p->ask->model->tok, false);
    tk_tok_stream_push(&stream, ids->ids, ids->n, &p->scratch);
    tk_tok_stream_finish(&stream, &p->scratch);
    tk_tok_stream_dispose(&stream);
    *out = tk_str_eq(tk_buf_str(&p->scratch), text);
    return tk_buf_status(&p->scratch, err);
}

/* Of the whole text, the ids from the border on, when one of them begins there. */
static tinkc_code encode_from(bool *found, tk_tok_ids *out, gw_planner *p, size_t border,
                              tk_err *err)
{
    tk_tok_ids all = {NULL, 0, 0, NULL};
    tk_str text = tk_buf_str(&p->plan->text);
    tinkc_code code = tk_tok_encode_how(p->ask->model->tok, text,
                                        (tk_tok_how){.offsets = true}, &all, err);
    size_t first = 0;
    while (code == TINKC_OK && first < all.n && all.offsets[2 * first] < border) {
        first++;
    }
    *found = code == TINKC_OK && first < all.n && all.offsets[2 * first] == border;
    if (*found) {
        out->n = all.n - first;
        out->ids = tk_memdup(all.ids + first, out->n * sizeof(*all.ids));
        code = out->ids != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    tk_tok_ids_dispose(&all);
    return code;
}

/* Encodes the text after the border. A tokenizer that puts a blank in front of every text
 * would put it inside this one: then the ids come out of the whole text. */
tinkc_code gw_border_encode(bool *found, tk_tok_ids *out, gw_planner *p, size_t border,
                            tk_err *err)
{
    tk_str rest = {p->plan->text.p + border, p->plan->text.n - border};
    *found = true;
    if (rest.n == 0) {
        return TINKC_OK;
    }
    tinkc_code code = tk_tok_encode(p->ask->model->tok, rest, out, err);
    if (code == TINKC_OK) {
        code = gives_text(found, p, out, rest, err);
    }
    if (code == TINKC_OK && !*found) {
        tk_tok_ids_dispose(out);
        *out = (tk_tok_ids){NULL, 0, 0, NULL};
        code = encode_from(found, out, p, border, err);
    }
    return code;
}

/* The prompt is the ids of a turn and those of the rest. */
tinkc_code gw_border_join(gw_planner *p, size_t turn, const tk_tok_ids *rest, tk_err *err)
{
    gw_plan *plan = p->plan;
    size_t n = gw_tree_length(p->tree->nodes[turn]);
    plan->ids = tk_array(n + rest->n + 1, sizeof(*plan->ids));
    if (plan->ids == NULL) {
        return tk_err_nomem(err);
    }
    gw_tree_ids(plan->ids, p->tree, turn);
    if (rest->n > 0) {
        memcpy(plan->ids + n, rest->ids, rest->n * sizeof(*rest->ids));
    }
    plan->n = n + rest->n;
    plan->n_shared = n;
    plan->parent = (int64_t)turn;
    plan->origin = GW_ORIGIN_CONTINUED;
    plan->why = "";
    return TINKC_OK;
}
