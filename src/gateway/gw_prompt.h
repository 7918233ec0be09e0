/* The parts of making a prompt: how the messages of a request are rendered (gw_shape.c),
 * where the ids that are held end in the text, and the ids after that (gw_border.c). Only
 * for gw_prompt.c, which says how they work together. Thread: one at a time. */
#ifndef GATEWAY_GW_PROMPT_H
#define GATEWAY_GW_PROMPT_H

#include "gateway/gw_tree.h"

typedef struct gw_shape { /* how each message is rendered */
    int64_t *owners;      /* turn that the message came from; -1 = the agent's own */
    bool *raw;            /* as it was sampled */
} gw_shape;

typedef struct gw_planner {
    gw_plan *plan;
    const gw_tree *tree; /* or NULL */
    const gw_ask *ask;
    const tk_chat *chat;
    size_t n;           /* messages */
    gw_sha *digests;    /* of the first i of them; n + 1 */
    gw_shape now, want; /* of plan->text, and of what is tried */
    bool is_rendered;
    tk_buf other_text; /* what was rendered before that, to come back to */
    gw_shape other;
    bool other_is_rendered;
    size_t renders;
    size_t found[TK_GW_CANDIDATES_MAX]; /* turns, the most promising first */
    size_t n_found;
    tk_arena arena; /* of messages that were changed */
    tk_buf scratch;
} gw_planner;

/* Returns whether the messages begin with those of a turn and its answer. */
bool gw_shape_is_match(const gw_planner *p, const gw_node *node);

TK_NODISCARD tinkc_code gw_shape_init(gw_shape *s, size_t n, tk_err *err);
void gw_shape_dispose(gw_shape *s); /* accepts a zeroed one */

/* Gives every message that is an answer of ours to the oldest turn that gave it: the
 * choice stays the same when more turns are added. */
void gw_shape_begin(const gw_planner *p, gw_shape *s);
/* Renders the answers of a turn and of the turns that it continued as they were then. */
void gw_shape_follow(const gw_planner *p, gw_shape *s, size_t turn, bool is_raw);

/* How the reasoning in a message compares with what went back. */
typedef enum gw_reasoning {
    GW_REASONING_LEFT_OUT,
    GW_REASONING_KEPT,
    GW_REASONING_CHANGED
} gw_reasoning;

/* Compares message `at` with the answer of a turn; *ours = that message, of the arena. */
TK_NODISCARD tinkc_code gw_shape_reasoning(gw_reasoning *out, const tk_json **ours,
                                           gw_planner *p, size_t at, const gw_node *node,
                                           tk_err *err);

/* Returns whether plan->text is the conversation in the shape p->want. */
bool gw_shape_is_rendered(const gw_planner *p);

/* Renders the conversation in the shape p->want into plan->text, unless that is what was
 * rendered last. */
TK_NODISCARD tinkc_code gw_shape_render(gw_planner *p, tk_err *err);

typedef enum gw_border {
    GW_BORDER_NONE,   /* the text does not begin with the prompt of the turn */
    GW_BORDER_PROMPT, /* it does, and what was sampled does not follow */
    GW_BORDER_FOUND
} gw_border;

/* Finds where the text of a turn ends in plan->text. */
TK_NODISCARD tinkc_code gw_border_find(gw_border *out, size_t *border, gw_planner *p,
                                       const gw_node *node, tk_err *err);
/* Encodes the text after the border. *found = false: the tokenizer cannot. On success the
 * caller disposes of *out. */
TK_NODISCARD tinkc_code gw_border_encode(bool *found, tk_tok_ids *out, gw_planner *p,
                                         size_t border, tk_err *err);
/* Makes the prompt of the ids of a turn and those of the rest. */
TK_NODISCARD tinkc_code gw_border_join(gw_planner *p, size_t turn, const tk_tok_ids *rest,
                                       tk_err *err);

#endif
