/* Episodes by name, in memory and on disk. */
#include "gateway/gw_store.h"

#include <string.h>

#include "base/mem.h"

int64_t gw_store_now(const gw_episodes *episodes)
{
    return tk_clock_wall_us(episodes->clock) / 1000;
}

/* ---- one episode ---- */

static void episode_free(gw_episode *episode)
{
    gw_tree_dispose(&episode->tree);
    tk_mutex_dispose(&episode->lock);
    tk_free(episode->kept);
    tk_free(episode->id);
    tk_free(episode);
}

tinkc_code gw_store_add(gw_episode **out, gw_episodes *episodes, tk_str id,
                        uint64_t birth, tk_err *err)
{
    if (episodes->all.count >= TK_GW_EPISODES_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "there are %d episodes, which is the limit",
                          TK_GW_EPISODES_MAX);
    }
    gw_episode *episode = tk_zalloc(sizeof(*episode));
    if (episode == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&episode->lock, err);
    if (code != TINKC_OK) {
        tk_free(episode);
        return code;
    }
    tk_list_init(&episode->loaded);
    episode->birth = birth;
    episode->used_ms = gw_store_now(episodes);
    episode->id = tk_strndup(id.p, id.n);
    code = episode->id != NULL
               ? tk_map_put(&episodes->all, tk_str_of(episode->id), episode, err)
               : tk_err_nomem(err);
    if (code != TINKC_OK) {
        episode_free(episode);
        return code;
    }
    *out = episode;
    return TINKC_OK;
}

/* The tree leaves memory. With the store's lock held. */
static void uncount(gw_episodes *episodes, gw_episode *episode)
{
    if (tk_list_is_linked(&episode->loaded)) {
        tk_list_remove(&episode->loaded);
        episodes->bytes -= episode->bytes;
        episodes->n_loaded--;
        episode->bytes = 0;
    }
}

void gw_store_remove(gw_episodes *episodes, gw_episode *episode)
{
    if (!episode->is_dropped) {
        (void)tk_map_remove(&episodes->all, tk_str_of(episode->id));
        episode->is_dropped = true;
        for (size_t i = 0; episodes->log != NULL && i < episode->n_kept; i++) {
            gw_log_forget(episodes->log, episode->kept[i].place);
        }
    }
    if (episode->holders == 0) {
        uncount(episodes, episode);
        episode_free(episode);
    }
}

/* ---- holding ---- */

static uint64_t new_birth(gw_episodes *episodes)
{
    uint64_t birth = 0;
    while (birth == 0) {
        birth = tk_rand_u64(&episodes->rand);
    }
    return birth;
}

tinkc_code gw_store_hold(gw_episode **out, gw_episodes *episodes, tk_str id, gw_hold how,
                         tk_err *err)
{
    tk_mutex_lock(&episodes->lock);
    gw_episode *episode = tk_map_get(&episodes->all, id);
    tinkc_code code = TINKC_OK;
    if (episode == NULL && how == GW_HOLD_MAKE) {
        code = gw_store_add(&episode, episodes, id, new_birth(episodes), err);
    }
    if (code == TINKC_OK && episode != NULL) {
        episode->holders++;
        if (how != GW_HOLD_LOOK) {
            episode->used_ms = gw_store_now(episodes);
        }
    }
    *out = code == TINKC_OK ? episode : NULL;
    tk_mutex_unlock(&episodes->lock);
    return code;
}

/* Lets episodes leave memory, the one used longest ago first. */
static void evict(gw_episodes *episodes)
{
    tk_list *at = episodes->loaded.prev;
    while (episodes->log != NULL && episodes->bytes > episodes->max_bytes &&
           at != &episodes->loaded) {
        gw_episode *episode = TK_CONTAINER_OF(at, gw_episode, loaded);
        at = at->prev;
        if (episode->holders == 0) { /* so nobody has its lock */
            uncount(episodes, episode);
            gw_tree_dispose(&episode->tree);
            episode->is_loaded = false;
        }
    }
}

void gw_store_release(gw_episodes *episodes, gw_episode *episode)
{
    if (episode == NULL) {
        return;
    }
    tk_mutex_lock(&episode->lock);
    size_t bytes = episode->is_loaded ? gw_tree_bytes(&episode->tree) : 0;
    bool is_empty = episode->is_loaded && episode->tree.n == 0;
    tk_mutex_lock(&episodes->lock);
    uncount(episodes, episode);
    if (bytes > 0) {
        tk_list_push_front(&episodes->loaded, &episode->loaded);
        episode->bytes = bytes;
        episodes->bytes += bytes;
        episodes->n_loaded++;
    }
    tk_mutex_unlock(&episode->lock);
    episode->holders--;
    if (episode->holders == 0 &&
        (episode->is_dropped || (is_empty && episode->n_kept == 0))) {
        gw_store_remove(episodes, episode); /* also one that never got a turn */
    }
    evict(episodes);
    tk_mutex_unlock(&episodes->lock);
}

/* ---- records ---- */

tinkc_code gw_store_reserve(gw_episode *episode, tk_err *err)
{
    if (episode->n_kept < episode->cap_kept) {
        return TINKC_OK;
    }
    if (episode->n_kept >= TK_GW_RECORDS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "an episode has at most %d answers and rewards",
                          TK_GW_RECORDS_MAX);
    }
    size_t cap = episode->cap_kept + episode->cap_kept / 2 + 4;
    gw_kept *more = tk_realloc_array(episode->kept, cap, sizeof(*more));
    if (more == NULL) {
        return tk_err_nomem(err);
    }
    episode->kept = more;
    episode->cap_kept = cap;
    return TINKC_OK;
}

tinkc_code gw_store_append(gw_episodes *episodes, gw_episode *episode, tk_str body,
                           tk_err *err)
{
    gw_place place = {0, 0, 0};
    tk_mutex_lock(&episodes->lock);
    tinkc_code code = gw_store_reserve(episode, err);
    if (code == TINKC_OK && episode->is_dropped) {
        code =
            tk_err_set(err, TINKC_E_MISSING, "the episode %s was dropped", episode->id);
    }
    gw_entry entry = {GW_KIND_DATA, episode->birth, episode->next_seq,
                      tk_str_of(episode->id)};
    tk_mutex_unlock(&episodes->lock);
    if (code == TINKC_OK && episodes->log != NULL) {
        code = gw_log_append(&place, episodes->log, &entry, body, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    tk_mutex_lock(&episodes->lock);
    episode->kept[episode->n_kept++] = (gw_kept){place, entry.seq};
    episode->next_seq++;
    if (episode->is_dropped && episodes->log != NULL) {
        gw_log_forget(episodes->log, place);
    }
    tk_mutex_unlock(&episodes->lock);
    return TINKC_OK;
}

static tinkc_code load_record(gw_episodes *episodes, gw_episode *episode,
                              const gw_kept *kept, tk_buf *scratch, tk_err *err)
{
    tk_err local = TK_ERR_INIT;
    tk_buf_clear(scratch);
    tinkc_code code = gw_log_read(scratch, episodes->log, kept->place, &local);
    if (code == TINKC_OK) {
        code = gw_record_apply(&episode->tree, tk_buf_str(scratch), &local);
    }
    if (code == TINKC_E_DECODE || code == TINKC_E_PARSE) { /* the others are still good */
        tk_log_write(episodes->report, TINKC_LOG_WARN, "gateway", "episode %s: %s",
                     episode->id, local.message);
        tk_mutex_lock(&episodes->lock);
        episodes->lost++;
        tk_mutex_unlock(&episodes->lock);
        return TINKC_OK;
    }
    return code == TINKC_OK ? code : tk_err_set(err, code, "%s", local.message);
}

tinkc_code gw_store_load(gw_episodes *episodes, gw_episode *episode, tk_err *err)
{
    if (episode->is_loaded) {
        return TINKC_OK;
    }
    tk_buf scratch;
    tk_buf_init(&scratch, TK_GW_RECORD_BYTES);
    gw_tree_init(&episode->tree);
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < episode->n_kept; i++) {
        code = load_record(episodes, episode, &episode->kept[i], &scratch, err);
    }
    tk_buf_dispose(&scratch);
    if (code != TINKC_OK) {
        gw_tree_dispose(&episode->tree);
        return code;
    }
    episode->is_loaded = true;
    return TINKC_OK;
}

/* ---- tokenizers ---- */

/* Every token with its length, and whether it is special. */
static tinkc_code digest_tokens(gw_sha out, const tk_tok *tok, tk_err *err)
{
    tk_sha256 *sha = NULL;
    tk_buf chunk;
    tk_buf_init(&chunk, TK_MIB);
    tinkc_code code = tk_sha256_new(&sha, err);
    for (size_t i = 0; code == TINKC_OK && i < tk_tok_size(tok); i++) {
        tk_str token = tk_tok_token(tok, (int32_t)i);
        tk_buf_printf(&chunk, "%zu%c", token.n,
                      tk_tok_is_special(tok, (int32_t)i) ? '!' : ':');
        tk_buf_put(&chunk, token.p, token.n);
        if (chunk.n > 64 * TK_KIB || i + 1 == tk_tok_size(tok)) {
            code = tk_buf_status(&chunk, err);
            if (code == TINKC_OK) {
                code = tk_sha256_update(sha, chunk.p, chunk.n, err);
            }
            tk_buf_clear(&chunk);
        }
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(out, sha, err);
    }
    tk_sha256_free(sha);
    tk_buf_dispose(&chunk);
    return code;
}

static bool find_known(gw_sha out, const gw_episodes *episodes, const tk_tok *tok)
{
    for (size_t i = 0; i < episodes->n_known; i++) {
        if (episodes->known[i].tok == tok) {
            memcpy(out, episodes->known[i].sha, sizeof(gw_sha));
            return true;
        }
    }
    return false;
}

tinkc_code gw_store_vocabulary(gw_sha out, gw_episodes *episodes, tk_tok *tok,
                               tk_err *err)
{
    tk_mutex_lock(&episodes->lock);
    bool is_known = find_known(out, episodes, tok);
    tk_mutex_unlock(&episodes->lock);
    if (is_known) {
        return TINKC_OK;
    }
    tinkc_code code = digest_tokens(out, tok, err);
    if (code != TINKC_OK) {
        return code;
    }
    gw_sha again;
    tk_tok *old = NULL;
    tk_mutex_lock(&episodes->lock);
    if (!find_known(again, episodes, tok)) {
        if (episodes->n_known == TK_GW_TOKENIZERS_MAX) {
            old = episodes->known[0].tok;
            episodes->n_known--;
            memmove(&episodes->known[0], &episodes->known[1],
                    episodes->n_known * sizeof(episodes->known[0]));
        }
        gw_vocabulary *slot = &episodes->known[episodes->n_known++];
        slot->tok = tk_tok_ref(tok);
        memcpy(slot->sha, out, sizeof(gw_sha));
    }
    tk_mutex_unlock(&episodes->lock);
    tk_tok_free(old);
    return TINKC_OK;
}
