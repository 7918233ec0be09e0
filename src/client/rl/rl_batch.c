/* The episodes of a step, by task, until their groups are complete; see <tinkc/rl.h>.
 * Groups are kept in the order of their tasks, episodes at the place of their index, so
 * that what comes out does not depend on what finished first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/rl/rl.h"
#include "client/values/error.h"
#include "client/values/types.h"

/* An episode; what counting needs of its trajectory is computed when it is added. */
typedef struct slot {
    bool is_there, failed;
    int64_t version;
    double reward;
    tinkc_trajectory *trajectory; /* or NULL */
    size_t tokens, sampled, turns;
} slot;

typedef struct group {
    uint64_t task;
    size_t there; /* slots that are taken */
    slot *slots;  /* [group_size] */
} group;

struct tinkc_rl_batch {
    tinkc_rl_batch_options options;
    tinkc_rl_advantage_options advantages;
    group *groups; /* by task */
    size_t n, room;
    size_t episodes, tokens, complete;
};

/* ---- making and freeing ---- */

static void drop_group(group *g, size_t group_size)
{
    for (size_t i = 0; i < group_size; i++) {
        tinkc_trajectory_free(&g->slots[i].trajectory);
    }
    tk_free(g->slots);
}

tinkc_code tinkc_rl_batch_new(tinkc_rl_batch **out, const tinkc_rl_batch_options *options,
                              tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rl_batch_options o = TINKC_RL_BATCH_OPTIONS_INIT;
    tinkc_rl_advantage_options advantages = TINKC_RL_ADVANTAGE_OPTIONS_INIT;
    if (out == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "out must not be NULL");
    }
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK) {
        code = tk_rl_read_advantage_options(&advantages, o.advantages, &err);
    }
    if (code == TINKC_OK && (o.group_size == 0 || o.group_size > o.max_episodes)) {
        code = tk_err_set(&err, TINKC_E_INVALID, "group_size must be within 1..%zu",
                          o.max_episodes);
    }
    if (code == TINKC_OK && o.max_lag < -1) {
        code = tk_err_set(&err, TINKC_E_INVALID, "max_lag must be -1 or more");
    }
    tinkc_rl_batch *batch = code == TINKC_OK ? tk_zalloc(sizeof(*batch)) : NULL;
    if (code == TINKC_OK && batch == NULL) {
        code = tk_err_nomem(&err);
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    batch->options = o;
    batch->options.advantages = NULL; /* copied */
    batch->advantages = advantages;
    *out = batch;
    return TINKC_OK;
}

void tinkc_rl_batch_free(tinkc_rl_batch **batch)
{
    if (batch == NULL || *batch == NULL) {
        return;
    }
    for (size_t i = 0; i < (*batch)->n; i++) {
        drop_group(&(*batch)->groups[i], (*batch)->options.group_size);
    }
    tk_free((*batch)->groups);
    tk_free(*batch);
    *batch = NULL;
}

size_t tinkc_rl_batch_complete(const tinkc_rl_batch *batch)
{
    return batch != NULL ? batch->complete : 0;
}

/* ---- adding ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Turns that several sequences share count once. */
static tinkc_code count_turns(size_t *out, const tinkc_trajectory *t, tk_err *err)
{
    size_t n = 0, unique = 0;
    tinkc_sequence s;
    for (size_t i = 0; tinkc_trajectory_sequence(&s, t, i); i++) {
        n += s.n_turns;
    }
    int64_t *numbers = tk_array(n + 1, sizeof(*numbers));
    if (numbers == NULL) {
        return tk_err_nomem(err);
    }
    n = 0;
    for (size_t i = 0; tinkc_trajectory_sequence(&s, t, i); i++) {
        if (s.n_turns > 0) {
            memcpy(&numbers[n], s.turns, s.n_turns * sizeof(*numbers));
        }
        n += s.n_turns;
    }
    qsort(numbers, n, sizeof(*numbers), by_number);
    for (size_t i = 0; i < n; i++) {
        unique += i == 0 || numbers[i] != numbers[i - 1];
    }
    tk_free(numbers);
    *out = unique;
    return TINKC_OK;
}

/* Sampled tokens from `first` on; those before 1 have no position that predicts them. */
static size_t count_sampled(const tinkc_sequence *s, size_t first)
{
    size_t n = 0;
    for (size_t i = TK_MAX(first, 1); i < s->n; i++) {
        n += s->mask[i] != 0;
    }
    return n;
}

static tinkc_code measure(slot *out, const tinkc_trajectory *t, tk_err *err)
{
    tinkc_sequence s;
    for (size_t i = 0; tinkc_trajectory_sequence(&s, t, i); i++) {
        out->tokens += s.n;
        out->sampled += count_sampled(&s, s.fresh);
    }
    return count_turns(&out->turns, t, err);
}

/* The place of the task, or where it belongs. */
static size_t find(const tinkc_rl_batch *b, uint64_t task)
{
    size_t low = 0, high = b->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->groups[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static tinkc_code check_episode(const tinkc_rl_batch *b, const tinkc_rl_episode *e,
                                const tinkc_trajectory *t, tk_err *err)
{
    size_t at = find(b, e->task);
    if (e->index >= b->options.group_size) {
        return tk_err_set(err, TINKC_E_INVALID, "a group has %zu episodes",
                          b->options.group_size);
    }
    if (!e->failed && t == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "an episode needs a trajectory");
    }
    if (at < b->n && b->groups[at].task == e->task &&
        b->groups[at].slots[e->index].is_there) {
        return tk_err_set(err, TINKC_E_STATE, "the batch has this episode");
    }
    if (b->episodes >= b->options.max_episodes) {
        return tk_err_set(err, TINKC_E_LIMIT, "the batch has %zu episodes", b->episodes);
    }
    return e->failed ? TINKC_OK : tk_rl_check_reward(e->reward, err);
}

/* The group of a task, made when there is none; NULL without memory. */
static group *group_of(tinkc_rl_batch *b, uint64_t task)
{
    size_t at = find(b, task);
    if (at < b->n && b->groups[at].task == task) {
        return &b->groups[at];
    }
    if (b->n == b->room) {
        size_t room = b->room > 0 ? 2 * b->room : 8;
        group *more = tk_realloc_array(b->groups, room, sizeof(*more));
        if (more == NULL) {
            return NULL;
        }
        b->groups = more;
        b->room = room;
    }
    slot *slots = tk_zarray(b->options.group_size, sizeof(*slots));
    if (slots == NULL) {
        return NULL;
    }
    memmove(&b->groups[at + 1], &b->groups[at], (b->n - at) * sizeof(*b->groups));
    b->groups[at] = (group){.task = task, .slots = slots};
    b->n++;
    return &b->groups[at];
}

static tinkc_code add(tinkc_rl_batch *b, const tinkc_rl_episode *e, tinkc_trajectory *t,
                      tk_err *err)
{
    slot fresh = {.is_there = true,
                  .failed = e->failed,
                  .version = e->version,
                  .reward = e->reward,
                  .trajectory = t};
    tinkc_code code = check_episode(b, e, t, err);
    if (code == TINKC_OK) {
        code = measure(&fresh, t, err);
    }
    if (code == TINKC_OK && fresh.tokens > b->options.max_tokens - b->tokens) {
        code = tk_err_set(err, TINKC_E_LIMIT, "the batch would have more than %zu tokens",
                          b->options.max_tokens);
    }
    if (code == TINKC_OK) {
        group *g = group_of(b, e->task);
        if (g == NULL) {
            return tk_err_nomem(err);
        }
        g->slots[e->index] = fresh;
        g->there++;
        b->complete += g->there == b->options.group_size;
        b->episodes++;
        b->tokens += fresh.tokens;
    }
    return code;
}

tinkc_code tinkc_rl_batch_add(tinkc_rl_batch *batch, const tinkc_rl_episode *episode,
                              tinkc_trajectory **trajectory, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_rl_episode e = TINKC_RL_EPISODE_INIT;
    if (batch == NULL || episode == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "batch and episode must not be NULL");
    }
    tinkc_code code = tk_types_options(&e, sizeof(e), episode, &err);
    if (code == TINKC_OK) {
        code = add(batch, &e, trajectory != NULL ? *trajectory : NULL, &err);
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    if (trajectory != NULL) {
        *trajectory = NULL;
    }
    return TINKC_OK;
}

/* ---- taking ---- */

/* A step that is being made. */
typedef struct taking {
    const tinkc_rl_batch *batch;
    int64_t version;
    tinkc_rl_datums made; /* room for every sequence */
    size_t room;
    tinkc_rl_counts counts;
    double *all; /* [episodes] rewards that count */
    size_t all_n;
    double *rewards, *advantages; /* [group_size] of the group at hand */
    double *given;                /* [sequences of an episode] */
} taking;

static void stop_taking(taking *k)
{
    tk_free(k->all);
    tk_free(k->rewards);
    tk_free(k->advantages);
    tk_free(k->given);
}

static tinkc_code start_taking(taking *k, tk_err *err)
{
    const tinkc_rl_batch *b = k->batch;
    size_t longest = 0;
    for (size_t i = 0; i < b->n; i++) {
        for (size_t j = 0; j < b->options.group_size; j++) {
            size_t n = tinkc_trajectory_count(b->groups[i].slots[j].trajectory);
            longest = TK_MAX(longest, n);
            k->room += n;
        }
    }
    k->made.items = tk_zarray(k->room + 1, sizeof(tinkc_datum *));
    k->all = tk_array(b->episodes + 1, sizeof(*k->all));
    k->rewards = tk_array(b->options.group_size, sizeof(*k->rewards));
    k->advantages = tk_array(b->options.group_size, sizeof(*k->advantages));
    k->given = tk_array(longest + 1, sizeof(*k->given));
    return k->made.items != NULL && k->all != NULL && k->rewards != NULL &&
                   k->advantages != NULL && k->given != NULL
               ? TINKC_OK
               : tk_err_nomem(err);
}

static bool is_stale(const taking *k, const slot *s)
{
    int64_t lag = k->batch->options.max_lag;
    return lag >= 0 && s->version < k->version &&
           (uint64_t)k->version - (uint64_t)s->version > (uint64_t)lag;
}

static bool is_trained(const taking *k, const slot *s)
{
    return !s->failed && !is_stale(k, s);
}

/* Counts the episodes of a group; returns how many can be trained on, with their rewards
 * in k->rewards. */
static size_t count_group(taking *k, const group *g)
{
    tinkc_rl_counts *c = &k->counts;
    size_t n = 0;
    for (size_t i = 0; i < k->batch->options.group_size; i++) {
        const slot *s = &g->slots[i];
        c->episodes++;
        c->failed += s->failed;
        if (s->failed) {
            continue;
        }
        c->tokens += s->tokens;
        c->tokens_sampled += s->sampled;
        c->turns += s->turns;
        c->turns_max = TK_MAX(c->turns_max, s->turns);
        c->length_max = TK_MAX(c->length_max, s->sampled);
        k->all[k->all_n++] = s->reward;
        c->stale += is_stale(k, s);
        if (is_trained(k, s)) {
            k->rewards[n++] = s->reward;
        }
    }
    c->groups++;
    return n;
}

static tinkc_code name_episode(tk_err *err, uint64_t task, size_t index,
                               tinkc_error **error)
{
    tinkc_code code = tinkc_error_code(*error);
    (void)tk_err_set(err, code, "task %llu, episode %zu: %s", (unsigned long long)task,
                     index, tinkc_error_message(*error));
    tinkc_error_free(error);
    return code;
}

static tinkc_code add_datums(taking *k, const slot *s, double advantage,
                             tinkc_error **error)
{
    tinkc_trajectory_options o = TINKC_TRAJECTORY_OPTIONS_INIT;
    size_t n = tinkc_trajectory_count(s->trajectory), made = 0;
    tinkc_sequence sequence;
    for (size_t i = 0; i < n; i++) {
        k->given[i] = advantage;
    }
    o.advantages = k->given;
    o.repeat_shared = k->batch->options.repeat_shared;
    tinkc_code code = tinkc_trajectory_datums(
        &k->made.items[k->made.n], k->room - k->made.n, &made, s->trajectory, &o, error);
    if (code != TINKC_OK) {
        return code;
    }
    k->made.n += made;
    for (size_t i = 0; tinkc_trajectory_sequence(&sequence, s->trajectory, i); i++) {
        k->counts.tokens_trained +=
            count_sampled(&sequence, o.repeat_shared ? 0 : sequence.fresh);
    }
    return TINKC_OK;
}

static tinkc_code take_group(taking *k, const group *g, tk_err *err)
{
    bool differ = false;
    size_t n = count_group(k, g), at = 0, before = k->made.n;
    tinkc_error *error = NULL;
    if (n < 2) {
        k->counts.groups_small++;
        return TINKC_OK;
    }
    tinkc_code code = tinkc_rl_advantages(k->advantages, &differ, k->rewards, n,
                                          &k->batch->advantages, NULL);
    if (code != TINKC_OK || !differ) {
        k->counts.groups_equal++; /* all rewards were checked */
        return code;
    }
    for (size_t i = 0; i < k->batch->options.group_size; i++) {
        if (!is_trained(k, &g->slots[i])) {
            continue;
        }
        code = add_datums(k, &g->slots[i], k->advantages[at++], &error);
        if (code != TINKC_OK) {
            return name_episode(err, g->task, i, &error);
        }
    }
    if (k->made.n > before) {
        k->counts.groups_kept++;
    } else {
        k->counts.groups_small++; /* nothing in it was sampled */
    }
    return TINKC_OK;
}

static void count_rewards(taking *k)
{
    tinkc_rl_counts *c = &k->counts;
    c->reward_mean = c->reward_std = c->reward_min = c->reward_max = (double)NAN;
    c->datums = k->made.n;
    if (k->all_n == 0) {
        return;
    }
    tk_rl_moments(&c->reward_mean, &c->reward_std, k->all, k->all_n);
    for (size_t i = 0; i < k->all_n; i++) {
        c->reward_min = fmin(c->reward_min, k->all[i]); /* NaN counts as missing */
        c->reward_max = fmax(c->reward_max, k->all[i]);
    }
}

/* Removes the groups that were taken. */
static void forget_complete(tinkc_rl_batch *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        group *g = &b->groups[i];
        if (g->there < b->options.group_size) {
            b->groups[kept++] = *g;
            continue;
        }
        for (size_t j = 0; j < g->there; j++) {
            b->tokens -= g->slots[j].tokens;
        }
        b->episodes -= g->there;
        drop_group(g, b->options.group_size);
    }
    b->n = kept;
    b->complete = 0;
}

tinkc_code tinkc_rl_batch_take(tinkc_rl_datums *out, tinkc_rl_counts *counts,
                               tinkc_rl_batch *batch, int64_t version,
                               tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    taking k = {.batch = batch, .version = version, .counts = TINKC_RL_COUNTS_INIT};
    if (out == NULL || batch == NULL ||
        (counts != NULL && counts->size < sizeof(counts->size))) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "out and batch must not be NULL, counts have their size");
    }
    tinkc_code code = start_taking(&k, &err);
    for (size_t i = 0; code == TINKC_OK && i < batch->n; i++) {
        if (batch->groups[i].there == batch->options.group_size) {
            code = take_group(&k, &batch->groups[i], &err);
        }
    }
    if (code == TINKC_OK) {
        count_rewards(&k);
        forget_complete(batch);
        if (counts != NULL) {
            tk_rl_give(counts, &k.counts, sizeof(k.counts));
        }
        *out = k.made;
    } else {
        tinkc_rl_datums_free(&k.made);
        (void)tk_error_give(error, &err);
    }
    stop_taking(&k);
    return code;
}

void tinkc_rl_datums_free(tinkc_rl_datums *datums)
{
    if (datums == NULL) {
        return;
    }
    for (size_t i = 0; i < datums->n; i++) {
        tinkc_datum_free(&datums->items[i]);
    }
    tk_free(datums->items);
    *datums = (tinkc_rl_datums){NULL, 0};
}
