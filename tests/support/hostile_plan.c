/* The cases, their numbering and their names. See hostile_run.h. */
#include "support/hostile_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"

void hostile_plan_make(hostile_plan *plan, const char *directory)
{
    memset(plan->asks, 0, sizeof(plan->asks));
    hostile_seeds_load(&plan->seeds, directory);
    if (hostile_ops_n() > HOSTILE_OPS) {
        fprintf(stderr, "hostile: HOSTILE_OPS is too small\n");
        exit(1);
    }
    for (size_t i = 0; i < hostile_ops_n(); i++) {
        hostile_ask(plan->asks[i], hostile_op_at(i));
    }
}

void hostile_plan_dispose(hostile_plan *plan)
{
    hostile_seeds_dispose(&plan->seeds);
}

static size_t askers(const hostile_plan *plan, size_t key)
{
    size_t n = 0;
    for (size_t i = 0; i < hostile_ops_n(); i++) {
        n += plan->asks[i][key];
    }
    return n;
}

static bool fits(const hostile_source *source, size_t key, bool is_general)
{
    return source->keys[key] && source->is_general == is_general;
}

size_t hostile_plan_count(const hostile_plan *plan, size_t key, bool is_general)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->seeds.n; i++) {
        const hostile_source *source = &plan->seeds.items[i];
        n += fits(source, key, is_general) ? source->changes : 0;
    }
    return n * askers(plan, key);
}

/* Neighbours in the numbering are different operations. */
void hostile_plan_at(hostile_case *out, const hostile_plan *plan, size_t key,
                     bool is_general, size_t index)
{
    size_t nth = index % askers(plan, key);
    size_t left = index / askers(plan, key);
    size_t op = 0, source = 0;
    while (!plan->asks[op][key] || nth-- > 0) {
        op++;
    }
    while (!fits(&plan->seeds.items[source], key, is_general) ||
           left >= plan->seeds.items[source].changes) {
        bool counts = fits(&plan->seeds.items[source], key, is_general);
        left -= counts ? plan->seeds.items[source].changes : 0;
        source++;
    }
    *out = (hostile_case){hostile_op_at(op), key, &plan->seeds.items[source], left};
}

/* ---- a selection ---- */

/* `share` of the cases, one out of each part of equal size. */
static void walk_some(const hostile_plan *plan, size_t key, bool is_general, size_t share,
                      const hostile_walk *walk)
{
    size_t total = hostile_plan_count(plan, key, is_general);
    tk_rand rand;
    tk_rand_init(&rand, walk->seed * 1000 + key * 2 + is_general);
    share = TK_MIN(share, total);
    for (size_t i = 0; i < share; i++) {
        hostile_case it;
        size_t from = (size_t)((double)total * (double)i / (double)share);
        size_t to = (size_t)((double)total * (double)(i + 1) / (double)share);
        size_t index = from + (size_t)tk_rand_below(&rand, TK_MAX(to - from, (size_t)1));
        hostile_plan_at(&it, plan, key, is_general, TK_MIN(index, total - 1));
        walk->fn(walk->user, &it);
    }
}

/* The same number for each request, half of it for what only this request can get. What a
 * small one leaves goes to those after it. */
void hostile_plan_walk(const hostile_plan *plan, const hostile_walk *walk)
{
    size_t keys = 0, left = walk->answers;
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        keys += hostile_plan_count(plan, key, true) > 0;
    }
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        size_t general = hostile_plan_count(plan, key, true);
        size_t special = hostile_plan_count(plan, key, false);
        if (general == 0) {
            continue;
        }
        size_t share = left / keys--;
        size_t first = TK_MIN(share / 2, special);
        size_t second = TK_MIN(share - first, general);
        first = TK_MIN(share - second, special);
        walk_some(plan, key, false, first, walk);
        walk_some(plan, key, true, second, walk);
        left -= first + second;
    }
}

/* ---- all that a newer server could send ---- */

typedef struct newer_walk {
    size_t stride, n;
    void (*fn)(void *user, const hostile_case *it);
    void *user;
} newer_walk;

static void walk_source(newer_walk *walk, hostile_case *it)
{
    size_t first = hostile_mutate_newer(&it->source->seed);
    for (it->change = first; it->change < it->source->changes; it->change++) {
        if (walk->n++ % walk->stride == 0) {
            walk->fn(walk->user, it);
        }
    }
}

void hostile_plan_walk_newer(const hostile_plan *plan, size_t stride,
                             void (*fn)(void *user, const hostile_case *it), void *user)
{
    newer_walk walk = {.stride = stride, .fn = fn, .user = user};
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        for (size_t i = 0; i < plan->seeds.n && askers(plan, key) > 0; i++) {
            const hostile_source *source = &plan->seeds.items[i];
            size_t nth = 0, only = i % askers(plan, key);
            for (size_t op = 0; source->keys[key] && op < hostile_ops_n(); op++) {
                if (!plan->asks[op][key]) {
                    continue;
                }
                if (!source->is_general || nth == only) {
                    hostile_case it = {hostile_op_at(op), key, source, 0};
                    walk_source(&walk, &it);
                }
                nth++;
            }
        }
    }
}

/* ---- names ---- */

void hostile_case_name(char *out, size_t size, const hostile_case *it)
{
    (void)snprintf(out, size, "%s:%s:%s:%zu", hostile_key_name(it->key), it->op->name,
                   it->source->name, it->change);
}

static bool cut_part(tk_str *part, tk_str *rest)
{
    *part = tk_str_cut(rest, ':');
    return part->p != NULL;
}

bool hostile_case_parse(hostile_case *out, const hostile_plan *plan, const char *text)
{
    tk_str rest = tk_str_of(text), key, op, source;
    *out = (hostile_case){.key = HOSTILE_NO_KEY};
    if (!cut_part(&key, &rest) || !cut_part(&op, &rest) || !cut_part(&source, &rest) ||
        rest.p == NULL) {
        return false;
    }
    for (size_t i = 0; i < HOSTILE_KEYS; i++) {
        out->key = tk_str_is(key, hostile_key_name(i)) ? i : out->key;
    }
    for (size_t i = 0; i < hostile_ops_n(); i++) {
        out->op = tk_str_is(op, hostile_op_at(i)->name) ? hostile_op_at(i) : out->op;
    }
    for (size_t i = 0; i < plan->seeds.n; i++) {
        const hostile_source *item = &plan->seeds.items[i];
        out->source = tk_str_is(source, item->name) ? item : out->source;
    }
    out->change = strtoul(rest.p, NULL, 10);
    return out->key != HOSTILE_NO_KEY && out->op != NULL && out->source != NULL &&
           out->change < out->source->changes;
}
