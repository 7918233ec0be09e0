/* The prompt of a request: which turn it continues, and the ids that are new.
 *
 * The text of a prompt is known, because it was rendered before it was encoded; only its
 * digest is kept. The text of what was sampled comes from its ids, all of them at once,
 * special tokens as text. A turn is continued when the conversation, rendered now, begins
 * with both; the ids held stay as they are, and only the text after them is encoded, alone,
 * so nothing merges across the border.
 *
 * An answer is rendered first from the message that the agent sent (with the reasoning that
 * it left out), then as it was sampled, because templates write tool calls in their own
 * way. How it was rendered is remembered with the turn that continued it, for those
 * after. Renders are counted: TK_GW_RENDERS_MAX for one request. */
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_prompt.h"

static const char *const WHY_MESSAGES = "no earlier turn has these messages";
static const char *const WHY_TEMPLATE = "the template renders an earlier turn otherwise";
static const char *const WHY_TOKENIZER = "the earlier turns have another tokenizer";
static const char *const WHY_REASONING = "the reasoning of an earlier turn was changed";
static const char *const WHY_EFFORT = "too many turns are rendered otherwise";
static const char *const WHY_JOIN = "the tokenizer cannot continue at this place";

/* ---- what matches ---- */

static tinkc_code digest_messages(gw_planner *p, tk_err *err)
{
    p->digests = tk_array(p->n + 1, sizeof(*p->digests));
    if (p->digests == NULL) {
        return tk_err_nomem(err);
    }
    p->digests[0][0] = '\0';
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < p->n; i++) {
        code = gw_tree_chain(p->digests[i + 1], p->digests[i], &p->chat->messages[i],
                             &p->scratch, err);
    }
    return code;
}

/* The longest first; of equal ones the newest, which an agent that asked twice has. */
static void insert_candidate(gw_planner *p, size_t turn)
{
    size_t messages = p->tree->nodes[turn]->answer->n_messages, at = p->n_found;
    while (at > 0 && p->tree->nodes[p->found[at - 1]]->answer->n_messages <= messages) {
        at--;
    }
    if (at >= TK_GW_CANDIDATES_MAX) {
        return;
    }
    size_t last = TK_MIN(p->n_found, (size_t)TK_GW_CANDIDATES_MAX - 1);
    memmove(&p->found[at + 1], &p->found[at], (last - at) * sizeof(p->found[0]));
    p->found[at] = turn;
    p->n_found = last + 1;
}

static void find_candidates(gw_planner *p)
{
    for (size_t i = 0; p->tree != NULL && i < p->tree->n; i++) {
        if (gw_shape_is_match(p, p->tree->nodes[i])) {
            insert_candidate(p, i);
        }
    }
}

/* ---- a turn that may be continued ---- */

/* Text and shape change places with the other ones. */
static void swap_texts(gw_planner *p)
{
    tk_buf text = p->plan->text;
    gw_shape shape = p->now;
    bool is_rendered = p->is_rendered;
    p->plan->text = p->other_text;
    p->now = p->other;
    p->is_rendered = p->other_is_rendered;
    p->other_text = text;
    p->other = shape;
    p->other_is_rendered = is_rendered;
}

/* Tries a candidate in one shape; plan->ids is set when it is continued. */
static tinkc_code try_shape(gw_border *state, gw_planner *p, size_t turn, bool is_raw,
                            tk_err *err)
{
    bool found = false;
    size_t border = 0;
    tk_tok_ids rest = {NULL, 0, 0, NULL};
    *state = GW_BORDER_PROMPT; /* a template that refuses one form may take the other */
    gw_shape_begin(p, &p->want);
    gw_shape_follow(p, &p->want, turn, is_raw);
    if (p->renders >= TK_GW_RENDERS_MAX && !gw_shape_is_rendered(p)) {
        *state = GW_BORDER_NONE;
        p->plan->why = WHY_EFFORT;
        return TINKC_OK;
    }
    tinkc_code code = gw_shape_render(p, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = gw_border_find(state, &border, p, p->tree->nodes[turn], err);
    if (code != TINKC_OK || *state != GW_BORDER_FOUND) {
        return code;
    }
    code = gw_border_encode(&found, &rest, p, border, err);
    if (code == TINKC_OK && found) {
        code = gw_border_join(p, turn, &rest, err);
    } else {
        p->plan->why = WHY_JOIN;
    }
    p->plan->parent_is_raw = code == TINKC_OK && found && is_raw;
    tk_tok_ids_dispose(&rest);
    return code;
}

/* Whether a turn may be rendered as it was sampled, with those before it as they were then:
 * not where the agent changed the reasoning, which such a form would hide. In the other form
 * its own message is rendered, and the text decides. */
static tinkc_code check_reasoning(bool *out, gw_planner *p, size_t turn, bool is_raw,
                                  tk_err *err)
{
    *out = true;
    tinkc_code code = TINKC_OK;
    for (int64_t at = (int64_t)turn; code == TINKC_OK && *out && at >= 0;) {
        const gw_node *node = p->tree->nodes[at];
        gw_reasoning how = GW_REASONING_KEPT;
        const tk_json *ours = NULL;
        /* One that does not match went on inside the message of a later turn. */
        if (is_raw && gw_shape_is_match(p, node)) {
            code =
                gw_shape_reasoning(&how, &ours, p, node->answer->n_messages, node, err);
        }
        *out = how != GW_REASONING_CHANGED;
        is_raw = node->answer->parent_is_raw;
        at = node->answer->parent;
    }
    return code;
}

/* A template that refuses a shape has not refused the conversation. */
static bool is_refusal(tinkc_code code)
{
    return code == TINKC_E_INVALID || code == TINKC_E_UNSUPPORTED;
}

static tinkc_code try_candidate(gw_planner *p, size_t turn, tk_err *err)
{
    bool is_allowed = false;
    tinkc_code code = TINKC_OK;
    if (strcmp(p->tree->nodes[turn]->answer->tokens_sha, p->plan->tokens_sha) != 0) {
        p->plan->why = WHY_TOKENIZER;
        return TINKC_OK;
    }
    p->plan->why = WHY_TEMPLATE;
    gw_border state = GW_BORDER_PROMPT;
    for (int raw = 0; raw < 2 && state == GW_BORDER_PROMPT; raw++) {
        tk_err local = TK_ERR_INIT;
        code = check_reasoning(&is_allowed, p, turn, raw == 1, err);
        if (code != TINKC_OK || !is_allowed) {
            p->plan->why = WHY_REASONING;
            return code;
        }
        if (raw == 1) {
            swap_texts(p); /* the usual shape is the one of other candidates, too */
        }
        code = try_shape(&state, p, turn, raw == 1, &local);
        if (raw == 1 && p->plan->ids == NULL) {
            swap_texts(p);
        }
        if (code != TINKC_OK && !is_refusal(code)) {
            return tk_err_set(err, code, "%s", local.message);
        }
    }
    return TINKC_OK;
}

/* ---- all of it ---- */

static tinkc_code encode_whole(gw_planner *p, bool add_special, tk_err *err)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tinkc_code code =
        tk_tok_encode_how(p->ask->model->tok, tk_buf_str(&p->plan->text),
                          (tk_tok_how){.add_special = add_special}, &ids, err);
    if (code != TINKC_OK) {
        tk_tok_ids_dispose(&ids);
        return code;
    }
    p->plan->ids = ids.ids;
    p->plan->n = ids.n;
    return TINKC_OK;
}

static tinkc_code plan_branch(gw_planner *p, const char *why, tk_err *err)
{
    bool is_first = p->tree == NULL || p->tree->n == 0;
    p->plan->origin = is_first ? GW_ORIGIN_FIRST : GW_ORIGIN_BRANCH;
    p->plan->why = is_first ? "" : why;
    gw_shape_begin(p, &p->want);
    tinkc_code code = gw_shape_render(p, err);
    return code == TINKC_OK ? encode_whole(p, false, err) : code;
}

static tinkc_code prepare(gw_planner *p, tk_err *err)
{
    if (p->ask->model->tpl == NULL) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the model %s has no chat template: use completions",
                          p->ask->model->name);
    }
    if (p->n > TK_GW_MESSAGES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "a conversation has at most %d messages",
                          TK_GW_MESSAGES_MAX);
    }
    tinkc_code code = gw_shape_init(&p->now, p->n, err);
    if (code == TINKC_OK) {
        code = gw_shape_init(&p->want, p->n, err);
    }
    if (code == TINKC_OK) {
        code = gw_shape_init(&p->other, p->n, err);
    }
    return code == TINKC_OK && p->ask->episode.n > 0 ? digest_messages(p, err) : code;
}

static tinkc_code plan_chat(gw_planner *p, tk_err *err)
{
    const char *why = NULL; /* of the most promising candidate */
    tinkc_code code = prepare(p, err);
    if (code != TINKC_OK) {
        return code;
    }
    find_candidates(p);
    for (size_t i = 0; code == TINKC_OK && i < p->n_found && p->plan->ids == NULL; i++) {
        code = try_candidate(p, p->found[i], err);
        why = why == NULL ? p->plan->why : why;
    }
    if (code == TINKC_OK && p->plan->ids == NULL) {
        code = plan_branch(p, why != NULL ? why : WHY_MESSAGES, err);
    }
    if (code == TINKC_OK && p->digests != NULL) {
        p->plan->n_messages = p->n - (p->ask->request->continue_final && p->n > 0);
        memcpy(p->plan->messages_sha, p->digests[p->plan->n_messages], sizeof(gw_sha));
    }
    return code;
}

/* ---- completions ---- */

/* Whether a prompt of ids begins with all ids of a turn. */
static bool has_ids(int32_t *room, const gw_tree *tree, size_t turn,
                    const ca_prompt *prompt)
{
    size_t n = gw_tree_length(tree->nodes[turn]);
    if (n > prompt->n || n == 0) {
        return false;
    }
    gw_tree_ids(room, tree, turn);
    return memcmp(room, prompt->ids, n * sizeof(*room)) == 0;
}

static tinkc_code plan_ids(gw_planner *p, const ca_prompt *prompt, tk_err *err)
{
    gw_plan *plan = p->plan;
    size_t best = 0;
    int32_t *room = tk_array(prompt->n + 1, sizeof(*room));
    plan->ids = tk_array(prompt->n + 1, sizeof(*plan->ids));
    if (room == NULL || plan->ids == NULL) {
        tk_free(room);
        return tk_err_nomem(err);
    }
    for (size_t i = 0; p->tree != NULL && i < p->tree->n; i++) {
        const gw_node *node = p->tree->nodes[i];
        size_t n = gw_tree_length(node);
        if (n >= best && strcmp(node->answer->tokens_sha, plan->tokens_sha) == 0 &&
            has_ids(room, p->tree, i, prompt)) {
            best = n;
            plan->parent = (int64_t)i;
        }
    }
    tk_free(room);
    if (prompt->n > 0) {
        memcpy(plan->ids, prompt->ids, prompt->n * sizeof(*prompt->ids));
    }
    plan->n = prompt->n;
    plan->n_shared = best;
    return TINKC_OK;
}

/* The text of a completion continues a turn that it begins with. */
static tinkc_code try_text(gw_planner *p, size_t turn, tk_err *err)
{
    gw_border state = GW_BORDER_NONE;
    bool found = false;
    size_t border = 0;
    tk_tok_ids rest = {NULL, 0, 0, NULL};
    const gw_node *node = p->tree->nodes[turn];
    if (strcmp(node->answer->tokens_sha, p->plan->tokens_sha) != 0) {
        return TINKC_OK;
    }
    tinkc_code code = gw_border_find(&state, &border, p, node, err);
    if (code == TINKC_OK && state == GW_BORDER_FOUND) {
        code = gw_border_encode(&found, &rest, p, border, err);
    }
    if (code == TINKC_OK && found) {
        code = gw_border_join(p, turn, &rest, err);
    }
    tk_tok_ids_dispose(&rest);
    return code;
}

static tinkc_code plan_text(gw_planner *p, const ca_prompt *prompt, tk_err *err)
{
    tk_buf_put(&p->plan->text, prompt->text.p, prompt->text.n);
    tinkc_code code = tk_buf_status(&p->plan->text, err);
    size_t tried = 0;
    bool add_special = !p->ask->request->params.no_special;
    if (!add_special && p->ask->episode.n > 0 && code == TINKC_OK) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "add_special_tokens: an episode continues texts whose ids have "
                          "special tokens; false works without one");
    }
    for (size_t i = p->tree != NULL ? p->tree->n : 0; code == TINKC_OK && i > 0; i--) {
        const gw_answer *answer = p->tree->nodes[i - 1]->answer;
        if (!answer->is_chat && answer->text_n > 0 && answer->text_n <= prompt->text.n &&
            p->plan->ids == NULL && tried++ < TK_GW_CANDIDATES_MAX) {
            code = try_text(p, i - 1, err);
        }
    }
    return code == TINKC_OK && p->plan->ids == NULL ? encode_whole(p, add_special, err)
                                                    : code;
}

static tinkc_code plan_completion(gw_planner *p, tk_err *err)
{
    const ca_prompt *prompt = &p->ask->request->prompts[p->ask->prompt];
    tinkc_code code =
        prompt->is_ids ? plan_ids(p, prompt, err) : plan_text(p, prompt, err);
    gw_plan *plan = p->plan;
    bool is_first = p->tree == NULL || p->tree->n == 0;
    plan->origin = plan->parent >= 0 ? GW_ORIGIN_CONTINUED
                   : is_first        ? GW_ORIGIN_FIRST
                                     : GW_ORIGIN_BRANCH;
    plan->why = plan->origin == GW_ORIGIN_BRANCH ? WHY_MESSAGES : "";
    return code;
}

tinkc_code gw_prompt_plan(gw_plan *plan, const gw_tree *tree, const gw_ask *ask,
                          tk_err *err)
{
    gw_planner p = {.plan = plan,
                    .tree = tree,
                    .ask = ask,
                    .chat = &ask->request->chat,
                    .n = ask->request->chat.n};
    plan->parent = -1;
    plan->why = "";
    tk_arena_init(&p.arena, TK_GW_EPISODE_BYTES);
    tk_buf_init(&p.scratch, TK_TOK_TEXT_MAX_BYTES);
    tk_buf_init(&plan->text, TK_JINJA_MAX_OUTPUT_BYTES + 1);
    tk_buf_init(&p.other_text, TK_JINJA_MAX_OUTPUT_BYTES + 1);
    tinkc_code code = ask->request->dialect == CA_COMPLETIONS ? plan_completion(&p, err)
                                                              : plan_chat(&p, err);
    if (code == TINKC_OK && plan->text.n > 0) {
        code = tk_sha256_hex(plan->text_sha, plan->text.p, plan->text.n, err);
    }
    gw_shape_dispose(&p.now);
    gw_shape_dispose(&p.want);
    gw_shape_dispose(&p.other);
    tk_buf_dispose(&p.other_text);
    tk_free(p.digests);
    tk_arena_dispose(&p.arena);
    tk_buf_dispose(&p.scratch);
    return code;
}

void gw_plan_dispose(gw_plan *plan)
{
    tk_free(plan->ids);
    tk_buf_dispose(&plan->text);
    plan->ids = NULL;
    plan->n = 0;
}
