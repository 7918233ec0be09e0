/* The requests of agents over the store: plan, record, rewards, export. */
#include "gateway/gw_episode.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "gateway/gw_store.h"

#define RECORD_TRIES 4 /* when the episode is dropped again and again */

bool gw_episodes_is_name(tk_str name)
{
    if (name.n == 0 || name.n > TK_GW_ID_BYTES || tk_str_is(name, ".") ||
        tk_str_is(name, "..")) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c <= ' ' || c >= 0x7f || strchr("/?#%", c) != NULL) {
            return false;
        }
    }
    return true;
}

static tinkc_code check_name(tk_str name, tk_err *err)
{
    return gw_episodes_is_name(name)
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "the name of an episode is 1 to %d printable ASCII "
                            "characters without '/', '?', '#' and '%%'",
                            TK_GW_ID_BYTES);
}

static tinkc_code missing(tk_str name, tk_err *err)
{
    return tk_err_set(err, TINKC_E_MISSING, "there is no episode " TK_STR_FMT,
                      TK_STR_ARG(name));
}

/* Holds an episode that is there, reads its tree, and takes its lock. */
static tinkc_code enter(gw_episode **out, gw_episodes *episodes, tk_str name, gw_hold how,
                        tk_err *err)
{
    gw_episode *episode = NULL;
    tinkc_code code = gw_store_hold(&episode, episodes, name, how, err);
    if (code != TINKC_OK || episode == NULL) {
        return code != TINKC_OK ? code : missing(name, err);
    }
    tk_mutex_lock(&episode->lock);
    code = gw_store_load(episodes, episode, err);
    if (code != TINKC_OK) {
        tk_mutex_unlock(&episode->lock);
        gw_store_release(episodes, episode);
        return code;
    }
    *out = episode;
    return TINKC_OK;
}

/* Keeps what lists show of it, unless it could not be read. */
static void leave(gw_episodes *episodes, gw_episode *episode)
{
    if (episode->is_loaded) {
        tk_mutex_lock(&episodes->lock);
        episode->knows_reward = true;
        episode->n_turns = episode->tree.n;
        episode->reward = episode->tree.has_reward ? episode->tree.reward : (double)NAN;
        tk_mutex_unlock(&episodes->lock);
    }
    tk_mutex_unlock(&episode->lock);
    gw_store_release(episodes, episode);
}

/* Tells of a change that has succeeded. */
static void tell(const gw_episodes *episodes, tk_str name, tinkc_code code)
{
    if (code == TINKC_OK && episodes->on_change != NULL) {
        episodes->on_change(episodes->change_user, name);
    }
}

/* ---- plan ---- */

static tinkc_code plan_new(gw_plan *out, gw_episodes *episodes, const gw_ask *ask,
                           tk_err *err)
{
    tk_mutex_lock(&episodes->lock);
    bool is_full = ask->episode.n > 0 && episodes->all.count >= TK_GW_EPISODES_MAX;
    tk_mutex_unlock(&episodes->lock);
    if (is_full) {
        return tk_err_set(err, TINKC_E_LIMIT, "there are %d episodes, which is the limit",
                          TK_GW_EPISODES_MAX);
    }
    out->born_ms = gw_store_now(episodes);
    return gw_prompt_plan(out, NULL, ask, err);
}

static tinkc_code plan_known(gw_plan *out, gw_episodes *episodes, gw_episode *episode,
                             const gw_ask *ask, tk_err *err)
{
    tk_mutex_lock(&episode->lock);
    tinkc_code code = gw_store_load(episodes, episode, err);
    if (code == TINKC_OK) {
        out->birth = episode->birth;
        out->born_ms =
            episode->tree.born_ms != 0 ? episode->tree.born_ms : gw_store_now(episodes);
        code = gw_prompt_plan(out, &episode->tree, ask, err);
    }
    tk_mutex_unlock(&episode->lock);
    return code;
}

tinkc_code gw_episodes_plan(gw_plan *out, gw_episodes *episodes, const gw_ask *ask,
                            tk_err *err)
{
    gw_episode *episode = NULL;
    gw_plan plan = {.parent = -1, .why = ""};
    tinkc_code code =
        gw_store_vocabulary(plan.tokens_sha, episodes, ask->model->tok, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (ask->episode.n > 0) {
        code = check_name(ask->episode, err);
        if (code == TINKC_OK) {
            code = gw_store_hold(&episode, episodes, ask->episode, GW_HOLD_USE, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    code = episode != NULL ? plan_known(&plan, episodes, episode, ask, err)
                           : plan_new(&plan, episodes, ask, err);
    gw_store_release(episodes, episode);
    if (code != TINKC_OK) {
        gw_plan_dispose(&plan);
        return code;
    }
    *out = plan;
    return TINKC_OK;
}

/* ---- record ---- */

static tinkc_code check_room(gw_episodes *episodes, const gw_tree *tree,
                             const gw_turn *turn, tk_err *err)
{
    size_t n = turn->plan->n - turn->plan->n_shared;
    for (size_t i = 0; i < turn->n; i++) {
        n += turn->sequences[i].n;
    }
    if (turn->n == 0 || turn->n > TK_GW_TURNS_MAX - TK_MIN(tree->n, TK_GW_TURNS_MAX)) {
        return tk_err_set(err, TINKC_E_LIMIT, "an episode has at most %d turns",
                          TK_GW_TURNS_MAX);
    }
    if (n > TK_GW_EPISODE_IDS_MAX - TK_MIN(tree->n_ids, TK_GW_EPISODE_IDS_MAX)) {
        return tk_err_set(err, TINKC_E_LIMIT, "an episode keeps at most %lld tokens",
                          (long long)TK_GW_EPISODE_IDS_MAX);
    }
    tk_mutex_lock(&episodes->lock);
    bool is_full = episodes->log == NULL && episodes->bytes > episodes->max_bytes;
    tk_mutex_unlock(&episodes->lock);
    return is_full
               ? tk_err_set(err, TINKC_E_LIMIT, "the episodes in memory exceed %zu bytes",
                            episodes->max_bytes)
               : TINKC_OK;
}

/* Adds a record to the tree and to the log: to both or to neither. */
static tinkc_code add_record(gw_episodes *episodes, gw_episode *episode, tk_str record,
                             int64_t turn, tk_err *err)
{
    gw_saved saved;
    gw_record_save(&saved, &episode->tree, turn);
    tinkc_code code = gw_record_apply(&episode->tree, record, err);
    if (code == TINKC_OK) {
        code = gw_store_append(episodes, episode, record, err);
    }
    if (code != TINKC_OK) {
        gw_record_undo(&episode->tree, &saved);
    }
    return code;
}

static tinkc_code append_answer(gw_episodes *episodes, gw_episode *episode,
                                const gw_turn *turn, int64_t *ids, tk_err *err)
{
    tk_buf record;
    size_t first = episode->tree.n;
    tk_buf_init(&record, TK_GW_RECORD_BYTES);
    tinkc_code code = check_room(episodes, &episode->tree, turn, err);
    if (code == TINKC_OK) {
        code = gw_record_answer(&record, turn, first, gw_store_now(episodes), err);
    }
    if (code == TINKC_OK) {
        code =
            add_record(episodes, episode, tk_buf_str(&record), turn->plan->parent, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < turn->n; i++) {
        ids[i] = (int64_t)(first + i);
    }
    tk_buf_dispose(&record);
    return code;
}

/* A plan that was made before the episode was dropped has no parent any more. */
static gw_plan adopt(const gw_plan *plan, const gw_episode *episode)
{
    gw_plan own = *plan; /* borrows */
    if (plan->birth != episode->birth && plan->parent >= 0) {
        own.parent = -1;
        own.n_shared = 0;
        own.parent_is_raw = false;
        own.origin = GW_ORIGIN_BRANCH;
        own.why = "the episode was dropped meanwhile";
    }
    return own;
}

/* *is_dropped: it went while this turn was on its way. */
static tinkc_code record_once(bool *is_dropped, gw_episodes *episodes,
                              const gw_turn *turn, int64_t *ids, tk_err *err)
{
    gw_episode *episode = NULL;
    tk_err local = TK_ERR_INIT;
    tinkc_code code =
        gw_store_hold(&episode, episodes, turn->ask->episode, GW_HOLD_MAKE, &local);
    if (code == TINKC_OK) {
        tk_mutex_lock(&episode->lock);
        code = gw_store_load(episodes, episode, &local);
        if (code == TINKC_OK) {
            gw_plan plan = adopt(turn->plan, episode);
            gw_turn own = *turn;
            own.plan = &plan;
            code = append_answer(episodes, episode, &own, ids, &local);
        }
        leave(episodes, episode);
    }
    *is_dropped = code == TINKC_E_MISSING;
    return code == TINKC_OK ? code : tk_err_set(err, code, "%s", local.message);
}

tinkc_code gw_episodes_record(gw_episodes *episodes, const gw_turn *turn, int64_t *ids,
                              tk_err *err)
{
    tk_str name = turn->ask->episode;
    if (name.n == 0) {
        for (size_t i = 0; i < turn->n; i++) {
            ids[i] = -1;
        }
        return TINKC_OK;
    }
    tinkc_code code = check_name(name, err);
    bool is_dropped = code == TINKC_OK;
    for (int tries = 0; is_dropped && tries < RECORD_TRIES; tries++) {
        tk_err local = TK_ERR_INIT;
        code = record_once(&is_dropped, episodes, turn, ids, &local);
        if (code != TINKC_OK && (!is_dropped || tries + 1 == RECORD_TRIES)) {
            return tk_err_set(err, code, "%s", local.message);
        }
    }
    gw_episodes_tidy(episodes);
    tell(episodes, name, code);
    return code;
}

/* ---- rewards ---- */

static tinkc_code check_mark(const gw_mark *mark, tk_err *err)
{
    if (mark->reward != NULL && !isfinite(*mark->reward)) {
        return tk_err_set(err, TINKC_E_INVALID, "the reward is not finite");
    }
    if (mark->metadata.n > TK_GW_METADATA_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "metadata exceeds %lld bytes",
                          (long long)TK_GW_METADATA_BYTES);
    }
    if (mark->metadata.n == 0) {
        return TINKC_OK;
    }
    tk_arena arena;
    const tk_json *root = NULL;
    tk_arena_init(&arena, 0);
    tinkc_code code =
        tk_json_parse(&root, &arena, mark->metadata.p, mark->metadata.n, NULL, err);
    if (code == TINKC_OK && root->type != TK_JSON_OBJECT) {
        code = tk_err_set(err, TINKC_E_INVALID, "metadata is not an object");
    }
    tk_arena_dispose(&arena);
    return code;
}

static tinkc_code append_mark(gw_episodes *episodes, gw_episode *episode,
                              const gw_mark *mark, tk_err *err)
{
    tk_buf record;
    const gw_tree *tree = &episode->tree;
    if (mark->turn < -1 || mark->turn >= (int64_t)tree->n ||
        (mark->turn >= 0 && gw_tree_is_lost(tree->nodes[mark->turn]))) {
        return tk_err_set(err, TINKC_E_MISSING, "the episode %s has no turn %lld",
                          episode->id, (long long)mark->turn);
    }
    tk_buf_init(&record, TK_GW_RECORD_BYTES);
    tinkc_code code = gw_record_mark(&record, mark, err);
    if (code == TINKC_OK) {
        code = add_record(episodes, episode, tk_buf_str(&record), mark->turn, err);
    }
    tk_buf_dispose(&record);
    return code;
}

tinkc_code gw_episodes_mark(gw_episodes *episodes, tk_str name, const gw_mark *mark,
                            tk_err *err)
{
    gw_episode *episode = NULL;
    tinkc_code code = check_mark(mark, err);
    if (code == TINKC_OK) {
        code = enter(&episode, episodes, name, GW_HOLD_USE, err);
    }
    if (code == TINKC_OK) {
        code = append_mark(episodes, episode, mark, err);
        leave(episodes, episode);
        tell(episodes, name, code);
    }
    return code;
}

tinkc_code gw_episodes_reward(double *out, size_t *turns, gw_episodes *episodes,
                              tk_str name, tk_err *err)
{
    gw_episode *episode = NULL;
    tinkc_code code = enter(&episode, episodes, name, GW_HOLD_LOOK, err);
    if (code == TINKC_OK) {
        *out = episode->tree.has_reward ? episode->tree.reward : (double)NAN;
        *turns = episode->tree.n;
        leave(episodes, episode);
    }
    return code;
}

/* ---- export ---- */

tinkc_code gw_episodes_export(tk_buf *out, gw_episodes *episodes, tk_str name,
                              tk_err *err)
{
    gw_episode *episode = NULL;
    tinkc_code code = enter(&episode, episodes, name, GW_HOLD_USE, err);
    if (code == TINKC_OK) {
        code = gw_export_tree(out, &episode->tree, name, err);
        leave(episodes, episode);
    }
    return code;
}

/* The names of all episodes, each with a NUL. */
static tinkc_code list_names(tk_buf *out, gw_episodes *episodes, tk_err *err)
{
    size_t cursor = 0;
    tk_str name;
    tk_mutex_lock(&episodes->lock);
    while (tk_map_next(&episodes->all, &cursor, &name, NULL)) {
        tk_buf_put(out, name.p, name.n);
        tk_buf_putc(out, '\0');
    }
    tk_mutex_unlock(&episodes->lock);
    return tk_buf_status(out, err);
}

static tinkc_code write_line(bool *is_there, tk_file_writer *writer,
                             gw_episodes *episodes, const char *name, tk_err *err)
{
    tk_buf line;
    tk_err local = TK_ERR_INIT;
    tk_buf_init(&line, TK_GW_EXPORT_BYTES);
    tinkc_code code = gw_episodes_export(&line, episodes, tk_str_of(name), &local);
    *is_there = code == TINKC_OK;
    if (code == TINKC_OK) {
        tk_buf_putc(&line, '\n');
        code = tk_buf_status(&line, &local);
    }
    if (code == TINKC_OK) {
        code = tk_file_writer_put(writer, line.p, line.n, &local);
    }
    tk_buf_dispose(&line);
    return code == TINKC_OK || code == TINKC_E_MISSING /* was dropped meanwhile */
               ? TINKC_OK
               : tk_err_set(err, code, "%s", local.message);
}

tinkc_code gw_episodes_export_all(size_t *n, gw_episodes *episodes, const char *path,
                                  tk_err *err)
{
    tk_file_writer *writer = NULL;
    tk_buf names;
    size_t count = 0;
    tk_buf_init(&names, (TK_GW_ID_BYTES + 1) * (size_t)TK_GW_EPISODES_MAX);
    tinkc_code code = list_names(&names, episodes, err);
    if (code == TINKC_OK) {
        code = tk_file_writer_new(&writer, path, 0600, err);
    }
    for (size_t at = 0; code == TINKC_OK && at < names.n;) {
        bool is_there = false;
        code = write_line(&is_there, writer, episodes, names.p + at, err);
        count += is_there ? 1 : 0;
        at += strlen(names.p + at) + 1;
    }
    tk_buf_dispose(&names);
    if (code != TINKC_OK) {
        tk_file_writer_abort(writer);
        return code;
    }
    code = tk_file_writer_commit(writer, err);
    if (code == TINKC_OK && n != NULL) {
        *n = count;
    }
    return code;
}
