/* The store's start and end, episodes that are dropped, files that are given back. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gw_store.h"

#define TIDY_EVERY_MS 1000
#define MOVE_BYTES    (4 * TK_MIB) /* at one time: others wait for the lock */

/* ---- the start ---- */

/* A record again, copied to a later file before its own was removed. */
static bool replace_kept(gw_episode *episode, const gw_kept *kept)
{
    for (size_t i = episode->n_kept; i > 0; i--) {
        gw_kept *old = &episode->kept[i - 1];
        if (old->seq == kept->seq) {
            *old = *kept;
            return true;
        }
        if (old->seq < kept->seq) {
            return false;
        }
    }
    return false;
}

static tinkc_code keep(gw_episode *episode, const gw_kept *kept, tk_err *err)
{
    if (replace_kept(episode, kept)) {
        return TINKC_OK;
    }
    tinkc_code code = gw_store_reserve(episode, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t at = episode->n_kept++;
    while (at > 0 && episode->kept[at - 1].seq > kept->seq) {
        episode->kept[at] = episode->kept[at - 1];
        at--;
    }
    episode->kept[at] = *kept;
    episode->next_seq = TK_MAX(episode->next_seq, kept->seq + 1);
    return TINKC_OK;
}

static tinkc_code on_entry(void *user, const gw_entry *entry, gw_place place, tk_err *err)
{
    gw_episodes *episodes = user;
    gw_episode *episode = tk_map_get(&episodes->all, entry->id);
    bool is_same = episode != NULL && episode->birth == entry->birth;
    if (entry->kind != GW_KIND_DATA) {
        if (is_same && entry->kind == GW_KIND_DROP) {
            gw_store_remove(episodes, episode);
        }
        return TINKC_OK; /* not needed: files go oldest first */
    }
    if (episode != NULL && !is_same) { /* its drop was lost */
        gw_store_remove(episodes, episode);
        episode = NULL;
    }
    tinkc_code code = TINKC_OK;
    if (episode == NULL) {
        code = gw_store_add(&episode, episodes, entry->id, entry->birth, err);
    }
    gw_kept kept = {place, entry->seq};
    return code == TINKC_OK ? keep(episode, &kept, err) : code;
}

static void count_needed(gw_episodes *episodes)
{
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&episodes->all, &cursor, NULL, &value)) {
        const gw_episode *episode = value;
        for (size_t i = 0; i < episode->n_kept; i++) {
            gw_log_need(episodes->log, episode->kept[i].place);
        }
    }
}

static tinkc_code open_log(gw_episodes *episodes, const gw_episodes_config *config,
                           tk_err *err)
{
    gw_log_config how = {.dir = config->dir,
                         .segment_bytes = config->segment_bytes,
                         .log = config->log,
                         .on_entry = on_entry,
                         .user = episodes};
    tinkc_code code = gw_log_open(&episodes->log, &how, err);
    if (code == TINKC_OK) {
        count_needed(episodes);
    }
    return code;
}

tinkc_code gw_episodes_open(gw_episodes **out, const gw_episodes_config *config,
                            tk_err *err)
{
    gw_episodes *episodes = tk_zalloc(sizeof(*episodes));
    if (episodes == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&episodes->lock, err);
    if (code != TINKC_OK) {
        tk_free(episodes);
        return code;
    }
    episodes->on_change = config->on_change;
    episodes->change_user = config->change_user;
    episodes->max_bytes = config->max_bytes > 0 ? config->max_bytes : TK_GW_MEMORY_BYTES;
    episodes->keep_ms = config->keep_s > 0 ? config->keep_s * 1000 : 0;
    episodes->clock = config->clock;
    episodes->report = config->log;
    tk_map_init(&episodes->all, TK_MAP_BORROW_KEYS);
    tk_list_init(&episodes->loaded);
    code = tk_rand_init_os(&episodes->rand, err);
    if (code == TINKC_OK && config->dir != NULL) {
        code = open_log(episodes, config, err);
    }
    if (code != TINKC_OK) {
        gw_episodes_close(episodes);
        return code;
    }
    *out = episodes;
    return TINKC_OK;
}

void gw_episodes_close(gw_episodes *episodes)
{
    if (episodes == NULL) {
        return;
    }
    gw_log_close(episodes->log);
    episodes->log = NULL;
    size_t cursor = 0;
    void *value = NULL;
    while (tk_map_next(&episodes->all, &cursor, NULL, &value)) {
        gw_store_remove(episodes, value);
    }
    for (size_t i = 0; i < episodes->n_known; i++) {
        tk_tok_free(episodes->known[i].tok);
    }
    tk_map_dispose(&episodes->all);
    tk_mutex_dispose(&episodes->lock);
    tk_free(episodes);
}

/* ---- dropping ---- */

/* With the store's lock held. */
static tinkc_code drop_held(gw_episodes *episodes, gw_episode *episode, tk_err *err)
{
    gw_place place;
    gw_entry entry = {GW_KIND_DROP, episode->birth, episode->next_seq,
                      tk_str_of(episode->id)};
    if (episodes->log != NULL) {
        tinkc_code code =
            gw_log_append(&place, episodes->log, &entry, (tk_str){NULL, 0}, err);
        if (code != TINKC_OK) {
            return code;
        }
        gw_log_forget(episodes->log, place); /* files go oldest first */
    }
    gw_store_remove(episodes, episode);
    return TINKC_OK;
}

tinkc_code gw_episodes_drop(gw_episodes *episodes, tk_str name, tk_err *err)
{
    tk_mutex_lock(&episodes->lock);
    gw_episode *episode = tk_map_get(&episodes->all, name);
    tinkc_code code =
        episode != NULL ? drop_held(episodes, episode, err)
                        : tk_err_set(err, TINKC_E_MISSING,
                                     "there is no episode " TK_STR_FMT, TK_STR_ARG(name));
    tk_mutex_unlock(&episodes->lock);
    if (code == TINKC_OK) {
        gw_episodes_tidy(episodes);
    }
    return code;
}

static void drop_old(gw_episodes *episodes, int64_t now)
{
    size_t cursor = 0;
    void *value = NULL;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && tk_map_next(&episodes->all, &cursor, NULL, &value)) {
        gw_episode *episode = value;
        tk_err err = TK_ERR_INIT; /* the next tidy tries again */
        if (episode->holders == 0 && now - episode->used_ms > episodes->keep_ms) {
            code = drop_held(episodes, episode, &err);
        }
    }
}

/* ---- files ---- */

/* Copies a record to the end of the log. */
static tinkc_code move_record(gw_episodes *episodes, gw_episode *episode, gw_kept *kept,
                              tk_err *err)
{
    tk_buf body;
    gw_place place;
    gw_entry entry = {GW_KIND_DATA, episode->birth, kept->seq, tk_str_of(episode->id)};
    tk_buf_init(&body, TK_GW_RECORD_BYTES);
    tinkc_code code = gw_log_read(&body, episodes->log, kept->place, err);
    if (code == TINKC_OK) {
        code = gw_log_append(&place, episodes->log, &entry, tk_buf_str(&body), err);
    }
    if (code == TINKC_OK) {
        gw_log_forget(episodes->log, kept->place);
        kept->place = place;
    }
    tk_buf_dispose(&body);
    return code;
}

/* Copies what an episode has in a file. One that is in use stays where it is. *room = bytes
 * that may still be copied this time. */
static tinkc_code move_episode(gw_episodes *episodes, gw_episode *episode,
                               uint32_t segment, size_t *room, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < episode->n_kept; i++) {
        gw_kept *kept = &episode->kept[i];
        if (kept->place.segment != segment) {
            continue;
        }
        if (episode->holders > 0 || *room == 0) {
            return tk_err_set(err, TINKC_E_STATE, "the file is needed for now");
        }
        *room -= TK_MIN(*room, kept->place.n);
        code = move_record(episodes, episode, kept, err);
    }
    return code;
}

/* Removes the oldest file, when it is due. Copies are on disk before it goes. */
static bool remove_oldest(gw_episodes *episodes)
{
    uint32_t segment = 0;
    size_t cursor = 0, room = MOVE_BYTES;
    void *value = NULL;
    tk_err err = TK_ERR_INIT; /* the file stays until the next time */
    if (!gw_log_is_due(&segment, episodes->log)) {
        return false;
    }
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && tk_map_next(&episodes->all, &cursor, NULL, &value)) {
        code = move_episode(episodes, value, segment, &room, &err);
    }
    if (code == TINKC_OK) {
        code = gw_log_sync(episodes->log, &err);
    }
    if (code == TINKC_OK) {
        gw_log_remove(episodes->log, segment);
    }
    return code == TINKC_OK;
}

void gw_episodes_tidy(gw_episodes *episodes)
{
    int64_t now = gw_store_now(episodes);
    tk_mutex_lock(&episodes->lock);
    if (now - episodes->tidied_ms >= TIDY_EVERY_MS || now < episodes->tidied_ms) {
        episodes->tidied_ms = now;
        if (episodes->keep_ms > 0) {
            drop_old(episodes, now);
        }
        if (episodes->log != NULL) {
            (void)remove_oldest(episodes);
        }
    }
    tk_mutex_unlock(&episodes->lock);
}

/* ---- looking at them ---- */

void gw_episodes_each(gw_episodes *episodes,
                      bool (*each)(void *user, const gw_episode_info *info), void *user)
{
    size_t cursor = 0;
    void *value = NULL;
    bool goes_on = true;
    tk_mutex_lock(&episodes->lock);
    while (goes_on && tk_map_next(&episodes->all, &cursor, NULL, &value)) {
        const gw_episode *episode = value;
        gw_episode_info info = {
            .id = tk_str_of(episode->id),
            .turns = episode->knows_reward ? episode->n_turns : episode->n_kept,
            .used_ms = episode->used_ms,
            .reward = episode->knows_reward ? episode->reward : (double)NAN,
            .knows_reward = episode->knows_reward};
        goes_on = each(user, &info);
    }
    tk_mutex_unlock(&episodes->lock);
}

void gw_episodes_stats(gw_stats *out, gw_episodes *episodes)
{
    gw_log_stats log = {.bytes = 0};
    if (episodes->log != NULL) {
        gw_log_get_stats(&log, episodes->log);
    }
    tk_mutex_lock(&episodes->lock);
    *out = (gw_stats){.episodes = episodes->all.count,
                      .loaded = episodes->n_loaded,
                      .bytes = episodes->bytes,
                      .disk_bytes = log.bytes,
                      .damaged = log.damaged + episodes->lost,
                      .damaged_bytes = log.damaged_bytes};
    tk_mutex_unlock(&episodes->lock);
}
