/* The tree itself: its memory, the ids and the text of a turn, digests of messages. */
#include "gateway/gw_tree.h"

#include <string.h>

#include "base/mem.h"

void gw_tree_init(gw_tree *tree)
{
    *tree = (gw_tree){.n = 0};
    tk_arena_init(&tree->arena, TK_GW_EPISODE_BYTES);
}

void gw_tree_dispose(gw_tree *tree)
{
    tk_arena_dispose(&tree->arena);
    tk_free(tree->nodes);
    *tree = (gw_tree){.n = 0};
}

size_t gw_tree_bytes(const gw_tree *tree)
{
    return TK_MAX(tree->arena.used_bytes, TK_ARENA_BLOCK_BYTES) +
           tree->cap * sizeof(*tree->nodes);
}

size_t gw_tree_length(const gw_node *node)
{
    return node->answer->n_shared + node->answer->n + node->n;
}

void gw_tree_ids(int32_t *out, const gw_tree *tree, size_t turn)
{
    /* A parent has a smaller number than its children: the walk ends. */
    for (int64_t at = (int64_t)turn; at >= 0; at = tree->nodes[at]->answer->parent) {
        const gw_node *node = tree->nodes[at];
        const gw_answer *answer = node->answer;
        int32_t *to = out + answer->n_shared;
        if (answer->n > 0) {
            memcpy(to, answer->ids, answer->n * sizeof(*to));
        }
        if (node->n > 0) {
            memcpy(to + answer->n, node->ids, node->n * sizeof(*to));
        }
    }
}

void gw_plan_decode(tk_tok_stream *stream, const tk_tok *tok, bool skip_special)
{
    tk_tok_stream_init(stream, tok, skip_special);
    stream->started = true;
    stream->text_begun = true;
}

static bool is_end(const gw_model *model, int32_t id)
{
    for (size_t i = 0; i < model->n_end_ids; i++) {
        if (model->end_ids[i] == id) {
            return true;
        }
    }
    return false;
}

void gw_tree_text(tk_buf *out, const gw_node *node, const gw_model *model, bool skip_end)
{
    tk_tok_stream stream;
    size_t n = node->n;
    if (skip_end && n > 0 && is_end(model, node->ids[n - 1])) {
        n--;
    }
    gw_plan_decode(&stream, model->tok, false);
    tk_tok_stream_push(&stream, node->ids, n, out);
    tk_tok_stream_finish(&stream, out);
    tk_tok_stream_dispose(&stream);
}

tinkc_code gw_tree_chain(gw_sha out, const gw_sha before, const tk_json *message,
                         tk_buf *scratch, tk_err *err)
{
    tk_buf_clear(scratch);
    tk_buf_puts(scratch, before);
    tk_buf_putc(scratch, '\n');
    ca_call_canonical(scratch, message, true);
    tinkc_code code = tk_buf_status(scratch, err);
    return code == TINKC_OK ? tk_sha256_hex(out, scratch->p, scratch->n, err) : code;
}
