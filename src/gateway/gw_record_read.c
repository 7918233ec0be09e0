/* Records of the log, read into the tree of an episode: gw_record_apply. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_tree.h"

static tinkc_code wrong(tk_err *err, const char *what)
{
    return tk_err_set(err, TINKC_E_DECODE, "a record of an episode: %s", what);
}

static int64_t number(const tk_json *object, const char *key)
{
    int64_t value = -1;
    (void)!tk_json_to_i64(tk_json_get(object, key), &value);
    return value;
}

static size_t count(const tk_json *object, const char *key)
{
    int64_t value = number(object, key);
    return value > 0 ? (size_t)value : 0;
}

static tk_str text(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string
                                                          : (tk_str){NULL, 0};
}

static bool keep(gw_tree *tree, tk_str *out, const tk_json *object, const char *key)
{
    tk_str value = text(object, key);
    *out = (tk_str){"", 0};
    return value.n == 0 || tk_arena_dup(&tree->arena, out, value.p, value.n);
}

static bool read_sha(gw_sha out, const tk_json *object, const char *key)
{
    tk_str value = text(object, key);
    if (value.n != 0 && value.n != sizeof(gw_sha) - 1) {
        return false;
    }
    memcpy(out, value.n > 0 ? value.p : "", value.n);
    out[value.n] = '\0';
    return true;
}

static tinkc_code read_ids(gw_tree *tree, const int32_t **out, size_t *n,
                           const tk_json *object, tk_err *err)
{
    const tk_json *array = tk_json_get(object, "ids");
    size_t length = tk_json_len(array);
    if (!tk_json_is_array(array) || (length > 0 && array->type != TK_JSON_INTS)) {
        return wrong(err, "ids is not an array of ids");
    }
    int32_t *ids = tk_arena_array(&tree->arena, length + 1, sizeof(*ids));
    if (ids == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < length; i++) {
        int64_t id = array->as.ints.items[i];
        if (id < INT32_MIN || id > INT32_MAX) {
            return wrong(err, "an id is out of range");
        }
        ids[i] = (int32_t)id;
    }
    *out = ids;
    *n = length;
    return TINKC_OK;
}

static tinkc_code read_logprobs(gw_tree *tree, gw_node *node, const tk_json *object,
                                tk_err *err)
{
    const tk_json *array = tk_json_get(object, "logprobs");
    if (tk_json_len(array) != node->n) {
        return wrong(err, "logprobs and ids differ in length");
    }
    float *values = tk_arena_array(&tree->arena, node->n + 1, sizeof(*values));
    if (values == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < node->n; i++) {
        tk_json item = tk_json_at(array, i);
        double value = NAN;
        (void)!tk_json_to_double(&item, &value);
        values[i] = (float)value;
    }
    node->logprobs = values;
    return TINKC_OK;
}

static tinkc_code read_turn(gw_tree *tree, gw_node **out, const gw_answer *answer,
                            const tk_json *object, tk_err *err)
{
    gw_node *node = tk_arena_zalloc(&tree->arena, sizeof(*node));
    if (node == NULL || !keep(tree, &node->message, object, "message")) {
        return tk_err_nomem(err);
    }
    node->answer = answer;
    node->metadata = (tk_str){"", 0};
    const tk_json *stopped = tk_json_get(object, "is_stopped");
    node->is_stopped =
        stopped != NULL && stopped->type == TK_JSON_BOOL && stopped->as.boolean;
    if (!read_sha(node->after, object, "after")) {
        return wrong(err, "a digest is wrong");
    }
    tinkc_code code = read_ids(tree, &node->ids, &node->n, object, err);
    if (code == TINKC_OK) {
        code = read_logprobs(tree, node, object, err);
    }
    *out = node;
    return code;
}

/* The shared ids are all ids of the parent. */
static bool is_parent_right(const gw_tree *tree, const gw_answer *answer)
{
    if (answer->parent < 0) {
        return answer->parent == -1 && answer->n_shared == 0;
    }
    return (size_t)answer->parent < tree->n &&
           gw_tree_length(tree->nodes[answer->parent]) == answer->n_shared;
}

/* Most turns of an episode have the tokenizer, model and weights of the one before. */
static bool keep_common(gw_tree *tree, gw_answer *answer, const tk_json *root)
{
    const gw_answer *last = tree->n > 0 ? tree->nodes[tree->n - 1]->answer : NULL;
    if (last != NULL && tk_str_eq(last->model, text(root, "model")) &&
        tk_str_eq(last->weights, text(root, "weights"))) {
        answer->model = last->model;
        answer->weights = last->weights;
        return true;
    }
    return keep(tree, &answer->model, root, "model") &&
           keep(tree, &answer->weights, root, "weights");
}

static tinkc_code keep_params(gw_tree *tree, gw_answer *answer, const tk_json *root,
                              tk_err *err)
{
    tk_buf out;
    tk_json_writer w;
    const tk_json *params = tk_json_get(root, "params");
    answer->params = (tk_str){"", 0};
    if (params == NULL) {
        return TINKC_OK;
    }
    tk_buf_init(&out, TK_GW_RECORD_BYTES);
    tk_json_writer_init(&w, &out);
    tk_json_put_value(&w, params);
    tinkc_code code = tk_json_finish(&w, err);
    if (code == TINKC_OK && !tk_arena_dup(&tree->arena, &answer->params, out.p, out.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&out);
    return code;
}

static tinkc_code read_answer(gw_tree *tree, gw_answer **out, const tk_json *root,
                              tk_err *err)
{
    gw_answer *answer = tk_arena_zalloc(&tree->arena, sizeof(*answer));
    if (answer == NULL || !keep_common(tree, answer, root) ||
        !keep(tree, &answer->why, root, "why") ||
        !keep(tree, &answer->prefill, root, "prefill")) {
        return tk_err_nomem(err);
    }
    int64_t origin = number(root, "origin");
    answer->parent = number(root, "parent");
    answer->n_shared = count(root, "shared");
    answer->origin = (gw_origin)origin;
    answer->parent_is_raw = count(root, "raw") != 0;
    answer->is_chat = count(root, "chat") != 0;
    answer->n_messages = count(root, "messages");
    answer->text_n = count(root, "text_n");
    answer->time_ms = number(root, "time_ms");
    if (origin < GW_ORIGIN_FIRST || origin > GW_ORIGIN_BRANCH ||
        !is_parent_right(tree, answer) || !read_sha(answer->text_sha, root, "text_sha") ||
        !read_sha(answer->tokens_sha, root, "tokens_sha")) {
        return wrong(err, "it does not fit the turns before it");
    }
    tinkc_code code = keep_params(tree, answer, root, err);
    if (code == TINKC_OK) {
        code = read_ids(tree, &answer->ids, &answer->n, root, err);
    }
    *out = answer;
    return code;
}

static tinkc_code make_room(gw_tree *tree, size_t more, tk_err *err)
{
    if (more > TK_GW_TURNS_MAX || tree->n + more > TK_GW_TURNS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "an episode has at most %d turns",
                          TK_GW_TURNS_MAX);
    }
    if (tree->n + more <= tree->cap) {
        return TINKC_OK;
    }
    size_t cap = tree->n + TK_MAX(more, tree->n / 2 + 8);
    gw_node **nodes = tk_realloc_array(tree->nodes, cap, sizeof(gw_node *));
    if (nodes == NULL) {
        return tk_err_nomem(err);
    }
    tree->nodes = nodes;
    tree->cap = cap;
    return TINKC_OK;
}

/* Turns whose records are damaged keep their numbers. */
static const gw_answer lost_answer = {.parent = -1};

bool gw_tree_is_lost(const gw_node *node)
{
    return node->answer == &lost_answer;
}

static tinkc_code add_lost(gw_tree *tree, size_t until, tk_err *err)
{
    tinkc_code code = make_room(tree, until - tree->n, err);
    while (code == TINKC_OK && tree->n < until) {
        gw_node *node = tk_arena_zalloc(&tree->arena, sizeof(*node));
        if (node == NULL) {
            return tk_err_nomem(err);
        }
        node->answer = &lost_answer;
        node->message = node->metadata = (tk_str){"", 0};
        tree->nodes[tree->n++] = node;
    }
    return code;
}

static tinkc_code apply_answer(gw_tree *tree, const tk_json *root, const tk_json *turns,
                               tk_err *err)
{
    gw_answer *answer = NULL;
    size_t n = tk_json_len(turns), n_ids;
    int64_t first = number(root, "turn");
    if (n == 0 || first < 0 || (size_t)first < tree->n || first > TK_GW_TURNS_MAX) {
        return wrong(err, "it does not follow the turns before it");
    }
    tinkc_code code = add_lost(tree, (size_t)first, err);
    if (code == TINKC_OK) {
        code = make_room(tree, n, err);
    }
    if (code == TINKC_OK) {
        code = read_answer(tree, &answer, root, err);
    }
    n_ids = code == TINKC_OK ? answer->n : 0;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        tk_json item = tk_json_at(turns, i);
        gw_node *node = NULL;
        code = read_turn(tree, &node, answer, &item, err);
        tree->nodes[tree->n + i] = node; /* counts when all are there */
        n_ids += code == TINKC_OK ? node->n : 0;
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (tree->born_ms == 0) {
        tree->born_ms = number(root, "born_ms");
    }
    if (answer->parent >= 0) {
        tree->nodes[answer->parent]->is_continued = true;
    }
    tree->n += n;
    tree->n_ids += n_ids;
    return TINKC_OK;
}

static tinkc_code apply_mark(gw_tree *tree, const tk_json *root, tk_err *err)
{
    int64_t turn = number(root, "mark");
    const tk_json *reward = tk_json_get(root, "reward");
    double value = 0;
    tk_str metadata;
    if (turn < -1 || (turn >= 0 && (size_t)turn >= tree->n) ||
        (reward != NULL && !tk_json_to_double(reward, &value))) {
        return wrong(err, "a reward does not fit the turns");
    }
    if (!keep(tree, &metadata, root, "metadata")) {
        return tk_err_nomem(err);
    }
    gw_node *node = turn >= 0 ? tree->nodes[turn] : NULL;
    if (reward != NULL) {
        *(node != NULL ? &node->reward : &tree->reward) = value;
        *(node != NULL ? &node->has_reward : &tree->has_reward) = true;
    }
    if (metadata.n > 0) {
        *(node != NULL ? &node->metadata : &tree->metadata) = metadata;
    }
    return TINKC_OK;
}

tinkc_code gw_record_apply(gw_tree *tree, tk_str record, tk_err *err)
{
    tk_arena arena;
    const tk_json *root = NULL;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&root, &arena, record.p, record.n, NULL, err);
    if (code == TINKC_OK) {
        const tk_json *turns = tk_json_get(root, "turns");
        code = turns != NULL ? apply_answer(tree, root, turns, err)
                             : apply_mark(tree, root, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

void gw_record_save(gw_saved *out, const gw_tree *tree, int64_t turn)
{
    *out = (gw_saved){.n = tree->n,
                      .n_ids = tree->n_ids,
                      .born_ms = tree->born_ms,
                      .turn = turn,
                      .has_reward = tree->has_reward,
                      .reward = tree->reward,
                      .metadata = tree->metadata};
    if (turn >= 0) {
        out->node = *tree->nodes[turn];
    }
}

void gw_record_undo(gw_tree *tree, const gw_saved *saved)
{
    tree->n = saved->n; /* what they took of the arena stays taken */
    tree->n_ids = saved->n_ids;
    tree->born_ms = saved->born_ms;
    tree->has_reward = saved->has_reward;
    tree->reward = saved->reward;
    tree->metadata = saved->metadata;
    if (saved->turn >= 0) {
        *tree->nodes[saved->turn] = saved->node;
    }
}
