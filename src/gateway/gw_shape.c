/* How each message of a request is rendered: as the agent sent it, with the reasoning that
 * it left out, or as it was sampled. */
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_prompt.h"

bool gw_shape_is_match(const gw_planner *p, const gw_node *node)
{
    size_t at = node->answer->n_messages;
    return node->answer->is_chat && at < p->n &&
           strcmp(node->after, p->digests[at + 1]) == 0;
}

tinkc_code gw_shape_init(gw_shape *s, size_t n, tk_err *err)
{
    s->owners = tk_array(n + 1, sizeof(*s->owners));
    s->raw = tk_zarray(n + 1, sizeof(*s->raw));
    return s->owners != NULL && s->raw != NULL ? TINKC_OK : tk_err_nomem(err);
}

void gw_shape_dispose(gw_shape *s)
{
    tk_free(s->owners);
    tk_free(s->raw);
}

static bool shape_eq(const gw_shape *a, const gw_shape *b, size_t n)
{
    return memcmp(a->owners, b->owners, n * sizeof(*a->owners)) == 0 &&
           memcmp(a->raw, b->raw, n * sizeof(*a->raw)) == 0;
}

static void shape_copy(gw_shape *to, const gw_shape *from, size_t n)
{
    memcpy(to->owners, from->owners, n * sizeof(*to->owners));
    memcpy(to->raw, from->raw, n * sizeof(*to->raw));
}

/* Every message that is an answer of ours belongs to the oldest turn that gave it: the
 * choice stays the same when more turns are added. */
void gw_shape_begin(const gw_planner *p, gw_shape *s)
{
    for (size_t i = 0; i < p->n; i++) {
        s->owners[i] = -1;
        s->raw[i] = false;
    }
    for (size_t i = 0; p->tree != NULL && i < p->tree->n; i++) {
        const gw_node *node = p->tree->nodes[i];
        if (gw_shape_is_match(p, node) && s->owners[node->answer->n_messages] < 0) {
            s->owners[node->answer->n_messages] = (int64_t)i;
        }
    }
}

/* Those of a turn and of the turns that it continued are rendered as they were then. */
void gw_shape_follow(const gw_planner *p, gw_shape *s, size_t turn, bool is_raw)
{
    size_t below = p->n; /* messages from here on are set */
    for (int64_t at = (int64_t)turn; at >= 0;) {
        const gw_answer *answer = p->tree->nodes[at]->answer;
        if (answer->n_messages < below) {
            below = answer->n_messages;
            s->owners[below] = at;
            s->raw[below] = is_raw;
        }
        is_raw = answer->parent_is_raw;
        at = answer->parent;
    }
}

/* ---- messages ---- */

/* The canonical form with reasoning; *has = it differs from the one without. */
static tinkc_code canonical(tk_buf *out, bool *has, const tk_json *message, tk_err *err)
{
    tk_buf bare;
    tk_buf_init(&bare, TK_GW_RECORD_BYTES);
    tk_buf_clear(out);
    ca_call_canonical(out, message, false);
    ca_call_canonical(&bare, message, true);
    tinkc_code code = tk_buf_status(&bare, err);
    if (code == TINKC_OK) {
        code = tk_buf_status(out, err);
    }
    *has = !tk_str_eq(tk_buf_str(&bare), tk_buf_str(out));
    tk_buf_dispose(&bare);
    return code;
}

tinkc_code gw_shape_reasoning(gw_reasoning *out, const tk_json **ours, gw_planner *p,
                              size_t at, const gw_node *node, tk_err *err)
{
    bool has = false, had = false;
    tk_buf before;
    tk_buf_init(&before, TK_GW_RECORD_BYTES);
    tinkc_code code =
        tk_json_parse(ours, &p->arena, node->message.p, node->message.n, NULL, err);
    if (code == TINKC_OK) {
        code = canonical(&before, &had, *ours, err);
    }
    if (code == TINKC_OK) {
        code = canonical(&p->scratch, &has, &p->chat->messages[at], err);
    }
    bool is_same = tk_str_eq(tk_buf_str(&before), tk_buf_str(&p->scratch));
    *out = is_same ? GW_REASONING_KEPT
           : has   ? GW_REASONING_CHANGED
                   : GW_REASONING_LEFT_OUT;
    tk_buf_dispose(&before);
    return code;
}

/* Gives a message the reasoning of `from` under this name. */
static tinkc_code give_reasoning(tk_json *message, tk_str name, const tk_json *from,
                                 tk_arena *arena, tk_err *err)
{
    const tk_json *text = tk_json_get(from, "reasoning_content");
    size_t n = message->as.object.n;
    if (text == NULL) {
        return TINKC_OK;
    }
    tk_json_member *members = tk_arena_array(arena, n + 1, sizeof(*members));
    if (members == NULL) {
        return tk_err_nomem(err);
    }
    memcpy(members, message->as.object.members, n * sizeof(*members));
    members[n] = (tk_json_member){name, *text};
    message->as.object.members = members;
    message->as.object.n = n + 1;
    return TINKC_OK;
}

/* Whether a message shows its reasoning to a template of the harmony family: those read
 * `thinking`, and refuse it beside content and calls. */
static bool is_thinking_wanted(const gw_planner *p, const tk_json *message)
{
    const tk_json *content = tk_json_get(message, "content");
    bool has_content =
        content != NULL && content->type == TK_JSON_STRING && content->as.string.n > 0;
    return p->ask->model->format.tools == CA_TOOLS_HARMONY &&
           tk_json_get(message, "thinking") == NULL &&
           !(has_content && tk_json_len(tk_json_get(message, "tool_calls")) > 0);
}

/* {"role": "assistant", "content": what was sampled} */
static tinkc_code make_raw(tk_json *message, gw_planner *p, const gw_node *node,
                           tk_err *err)
{
    tk_json_member *members = tk_arena_array(&p->arena, 2, sizeof(*members));
    tk_str content;
    tk_buf_clear(&p->scratch);
    tk_buf_put(&p->scratch, node->answer->prefill.p, node->answer->prefill.n);
    gw_tree_text(&p->scratch, node, p->ask->model, true);
    tinkc_code code = tk_buf_status(&p->scratch, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (members == NULL ||
        !tk_arena_dup(&p->arena, &content, p->scratch.p, p->scratch.n)) {
        return tk_err_nomem(err);
    }
    members[0] = (tk_json_member){
        TK_STR("role"), {.type = TK_JSON_STRING, .as.string = TK_STR("assistant")}};
    members[1] = (tk_json_member){TK_STR("content"),
                                  {.type = TK_JSON_STRING, .as.string = content}};
    *message = (tk_json){.type = TK_JSON_OBJECT};
    message->as.object.members = members;
    message->as.object.n = 2;
    return TINKC_OK;
}

/* The message of a turn of ours, with the reasoning that the agent left out. */
static tinkc_code make_own(tk_json *out, gw_planner *p, size_t at, tk_err *err)
{
    const gw_node *node = p->tree->nodes[p->want.owners[at]];
    if (p->want.raw[at]) {
        return make_raw(out, p, node, err);
    }
    gw_reasoning how;
    const tk_json *ours = NULL;
    tinkc_code code = gw_shape_reasoning(&how, &ours, p, at, node, err);
    if (code == TINKC_OK && how == GW_REASONING_LEFT_OUT) {
        code = give_reasoning(out, TK_STR("reasoning_content"), ours, &p->arena, err);
    }
    return code;
}

static tinkc_code make_message(tk_json *out, gw_planner *p, size_t at, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    *out = p->chat->messages[at];
    if (p->want.owners[at] >= 0) {
        code = make_own(out, p, at, err);
    }
    if (code == TINKC_OK && is_thinking_wanted(p, out)) {
        const tk_json from = *out;
        code = give_reasoning(out, TK_STR("thinking"), &from, &p->arena, err);
    }
    return code;
}

/* ---- text ---- */

static tinkc_code render_messages(gw_planner *p, tk_json *messages, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < p->n; i++) {
        code = make_message(&messages[i], p, i, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_chat chat = *p->chat; /* borrows all but the messages */
    chat.messages = messages;
    bool is_continued = p->ask->request->continue_final;
    tk_chat_how how = {.add_generation_prompt = !is_continued,
                       .continue_final = is_continued,
                       .has_now = p->ask->episode.n > 0,
                       .now_us = p->plan->born_ms * 1000};
    tk_buf_clear(&p->plan->text);
    return tk_chat_render(&p->plan->text, p->ask->model->tpl, &chat, &how, err);
}

bool gw_shape_is_rendered(const gw_planner *p)
{
    return p->is_rendered && shape_eq(&p->now, &p->want, p->n);
}

/* Renders the conversation in the shape `want`, unless that is what was rendered last. */
tinkc_code gw_shape_render(gw_planner *p, tk_err *err)
{
    if (gw_shape_is_rendered(p)) {
        return TINKC_OK;
    }
    tk_json *messages = tk_array(p->n + 1, sizeof(*messages));
    if (messages == NULL) {
        return tk_err_nomem(err);
    }
    p->renders++;
    p->is_rendered = false;
    tinkc_code code = render_messages(p, messages, err);
    if (code == TINKC_OK) {
        shape_copy(&p->now, &p->want, p->n);
        p->is_rendered = true;
    }
    tk_free(messages);
    return code;
}
