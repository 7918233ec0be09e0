/* One walk over the list keeps the best candidate: by name before by run, the preferred
 * kind before the other, then the newest. */
#include "cli/frame/cmd_lookup.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/rest.h>

#include "base/mem.h"
#include "base/similar.h"
#include "base/str.h"
#include "cli/frame/cmd_rest.h"

#define LIST_MAX    100000
#define SIMILAR_MAX 1000 /* checkpoints, the newest first, among which to guess */
#define PREFIX_MIN  4    /* characters of the id of a run */

typedef enum step { STEP_NONE, STEP_LATEST, STEP_NUMBER } step;

/* What was typed, in parts. */
typedef struct pattern {
    tk_str run;  /* start of an id, or empty */
    tk_str kind; /* "weights", ..., or empty */
    tk_str name; /* empty: any */
    step step;
    int64_t number;
} pattern;

/* A checkpoint of a list, in parts. */
typedef struct parts {
    tk_str run, kind, name;
} parts;

typedef struct search {
    pattern by_name, by_run;
    cmd_want want;
    char *best;
    int rank; /* of the best: larger is better */
    int64_t time_us;
    char *other; /* CMD_EXACT: a second one; two runs with that start */
    bool is_split;
} search;

static tk_str last_part(tk_str *text, char separator)
{
    for (size_t i = text->n; i > 0; i--) {
        if (text->p[i - 1] == separator) {
            tk_str part = {text->p + i, text->n - i};
            text->n = i - 1;
            return part;
        }
    }
    tk_str all = *text;
    text->n = 0;
    return all;
}

/* "NAME", "NAME@40", "NAME@latest". Any other text after the last @ belongs to the
 * name. */
static void read_name(pattern *out, tk_str text)
{
    tk_str before = text;
    tk_str spec = last_part(&before, '@');
    out->name = text;
    if (before.n == 0) {
        return;
    }
    if (tk_str_is(spec, "latest")) {
        out->step = STEP_LATEST;
    } else if (tk_str_to_i64(spec, &out->number) && out->number >= 0) {
        out->step = STEP_NUMBER;
    } else {
        return;
    }
    out->name = before;
}

/* "RUN", "RUN/NAME", "RUN/KIND/NAME", and "KIND/NAME" as lists show it. */
static void read_typed(search *s, const char *typed)
{
    tk_str rest = tk_str_of(typed);
    tk_str first = tk_str_cut(&rest, '/');
    if (rest.p == NULL) {
        read_name(&s->by_name, first);
        s->by_run.run = first;
        return;
    }
    tk_str name = last_part(&rest, '/');
    if (rest.n == 0 &&
        (tk_str_is(first, "weights") || tk_str_is(first, "sampler_weights"))) {
        s->by_name.kind = first;
        read_name(&s->by_name, name);
        return;
    }
    s->by_run.run = first;
    s->by_run.kind = rest;
    read_name(&s->by_run, name);
}

/* What a list says becomes a part of requests: an id has no blanks or control
 * characters. */
static bool is_id(const char *text)
{
    size_t n = 0;
    while (text != NULL && text[n] > ' ' && text[n] <= '~') {
        n++;
    }
    return n > 0 && text[n] == '\0';
}

static bool read_parts(parts *out, const char *path)
{
    size_t scheme = is_id(path) ? cmd_rest_scheme(path) : 0;
    if (scheme == 0) {
        return false;
    }
    tk_str rest = tk_str_of(path + scheme);
    out->run = tk_str_cut(&rest, '/');
    out->name = last_part(&rest, '/');
    out->kind = rest;
    return out->run.n > 0 && out->name.n > 0;
}

/* The name of a step of `tinkc train` is NAME-000040. */
static bool is_step(tk_str name, tk_str of, int64_t *number)
{
    tk_str before = name;
    tk_str digits = last_part(&before, '-');
    return tk_str_eq(before, of) && digits.n >= 6 && tk_str_to_i64(digits, number) &&
           *number >= 0;
}

static bool is_named(const pattern *p, tk_str name)
{
    int64_t number = 0;
    bool is_one = p->step != STEP_NONE && is_step(name, p->name, &number);
    switch (p->step) {
    case STEP_NUMBER:
        return is_one && number == p->number;
    case STEP_LATEST:
        return is_one || tk_str_eq(name, p->name);
    case STEP_NONE:
        break;
    }
    return p->name.n == 0 || tk_str_eq(name, p->name);
}

static bool starts_with(tk_str text, tk_str start)
{
    return text.n >= start.n && memcmp(text.p, start.p, start.n) == 0;
}

static bool matches_run(const pattern *p, const parts *c)
{
    return p->run.n >= PREFIX_MIN && starts_with(c->run, p->run) &&
           (p->kind.n == 0 || tk_str_eq(p->kind, c->kind)) && is_named(p, c->name);
}

/* How well the checkpoint fits; 0: not at all. */
static int rank_of(const search *s, const parts *c)
{
    bool is_training = tk_str_is(c->kind, "weights");
    bool by_name = s->by_name.name.n > 0 && is_named(&s->by_name, c->name) &&
                   (s->by_name.kind.n == 0 || tk_str_eq(s->by_name.kind, c->kind));
    if (tk_str_is(c->kind, "external_weights") && s->want == CMD_SAMPLER) {
        return 0;
    }
    if (s->want == CMD_TRAINING && !is_training) {
        return 0;
    }
    if (!by_name && !matches_run(&s->by_run, c)) {
        return 0;
    }
    return 1 + (by_name ? 2 : 0) + (is_training ? 0 : 1);
}

static bool same_run(const char *a, const char *b)
{
    parts pa, pb;
    return read_parts(&pa, a) && read_parts(&pb, b) && tk_str_eq(pa.run, pb.run);
}

static bool keep(char **at, const char *path)
{
    char *text = tk_strdup(path);
    if (text != NULL) {
        tk_free(*at);
        *at = text;
    }
    return text != NULL;
}

static bool consider(search *s, const tinkc_checkpoint *c)
{
    parts p;
    int rank = read_parts(&p, c->path) ? rank_of(s, &p) : 0;
    if (rank == 0) {
        return true;
    }
    bool by_run = rank <= 2;
    if (s->best != NULL && by_run && s->rank <= 2 && !same_run(s->best, c->path)) {
        s->is_split = true;
        return keep(&s->other, c->path);
    }
    if (s->best != NULL && s->want == CMD_EXACT && (s->rank > 2) == (rank > 2) &&
        !keep(&s->other, c->path)) {
        return false;
    }
    bool is_better =
        s->best == NULL || rank > s->rank || (rank == s->rank && c->time_us > s->time_us);
    if (!is_better) {
        return true;
    }
    if (rank > 2 && s->rank <= 2 && s->best != NULL) { /* only the name counts now */
        s->is_split = false;
        tk_free(s->other);
        s->other = NULL;
    }
    if (s->other != NULL && s->best != NULL && strcmp(s->other, c->path) == 0 &&
        !keep(&s->other, s->best)) {
        return false;
    }
    s->rank = rank;
    s->time_us = c->time_us;
    return keep(&s->best, c->path);
}

static tinkc_code walk(search *s, tinkc_service *service, bool *has_memory,
                       tinkc_error **error)
{
    tinkc_pager *pager = NULL;
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.limit = LIST_MAX;
    *has_memory = true;
    tinkc_code code = tinkc_pager_checkpoints(&pager, service, &options, error);
    while (code == TINKC_OK && *has_memory && !cmd_interrupted()) {
        const tinkc_checkpoint *checkpoint = NULL;
        code = tinkc_pager_next_checkpoint(&checkpoint, pager, error);
        if (code == TINKC_OK) {
            *has_memory = consider(s, checkpoint);
        }
    }
    tinkc_pager_close(&pager);
    if (code == TINKC_E_MISSING) { /* the end of the list */
        tinkc_error_free(error);
        return TINKC_OK;
    }
    return code;
}

int cmd_lookup_checkpoint(cmd_lookup *out, tinkc_service *service, const char *typed,
                          cmd_want want)
{
    search s = {.want = want};
    tinkc_error *error = NULL;
    bool has_memory = true;
    int result = CMD_OK;
    read_typed(&s, typed);
    if (walk(&s, service, &has_memory, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, "Cannot look for the checkpoint %s", typed);
    } else if (!has_memory) {
        result = cmd_fail("out of memory");
    } else if (s.other != NULL && (s.is_split || want == CMD_EXACT)) {
        result = cmd_fail_hint("Write weights/NAME or sampler_weights/NAME, or the path.",
                               "'%s' may be %s or %s", typed, s.best, s.other);
    }
    if (result == CMD_OK) {
        out->path = s.best;
        out->by_name = s.rank > 2;
        s.best = NULL;
    }
    tk_free(s.best);
    tk_free(s.other);
    return result;
}

/* Keeps the name of the checkpoint if it is more like what was typed. */
static bool try_name(tk_similar *like, char **best, const tinkc_checkpoint *checkpoint)
{
    parts p;
    if (!read_parts(&p, checkpoint->path)) {
        return true;
    }
    char *name = tk_strndup(p.name.p, p.name.n);
    if (name == NULL) {
        return false;
    }
    tk_similar_try(like, name);
    if (like->best == name) {
        tk_free(*best);
        *best = name;
    } else {
        tk_free(name);
    }
    return true;
}

char *cmd_lookup_similar(tinkc_service *service, const char *typed)
{
    tinkc_pager *pager = NULL;
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    pattern wanted = {.step = STEP_NONE};
    char *best = NULL;
    read_name(&wanted, tk_str_of(typed));
    tk_similar like = {.typed = wanted.name};
    options.limit = SIMILAR_MAX;
    tinkc_code code = tinkc_pager_checkpoints(&pager, service, &options, NULL);
    while (code == TINKC_OK && !cmd_interrupted()) {
        const tinkc_checkpoint *checkpoint = NULL;
        code = tinkc_pager_next_checkpoint(&checkpoint, pager, NULL);
        if (code == TINKC_OK && !try_name(&like, &best, checkpoint)) {
            break;
        }
    }
    tinkc_pager_close(&pager);
    return best;
}

/* ---- runs ---- */

int cmd_lookup_run(char **out, tinkc_service *service, const char *typed)
{
    tinkc_pager *pager = NULL;
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    const tinkc_run *run = NULL;
    char *found = NULL, *other = NULL;
    options.limit = LIST_MAX;
    bool is_whole = strlen(typed) < PREFIX_MIN;
    tinkc_code code = tinkc_pager_runs(&pager, service, &options, NULL);
    while (code == TINKC_OK && !is_whole) {
        code = tinkc_pager_next_run(&run, pager, NULL);
        if (code != TINKC_OK || !is_id(run->id)) {
            continue;
        }
        is_whole = strcmp(run->id, typed) == 0;
        if (strncmp(run->id, typed, strlen(typed)) == 0 &&
            !keep(found == NULL ? &found : &other, run->id)) {
            break;
        }
    }
    tinkc_pager_close(&pager);
    int result = CMD_OK;
    if (!is_whole && other != NULL) {
        result = cmd_fail_hint("Give more of it.", "'%s' may be the run %s or %s", typed,
                               found, other);
    } else {
        *out = tk_strdup(is_whole || found == NULL ? typed : found);
        result = *out != NULL ? CMD_OK : cmd_fail("out of memory");
    }
    tk_free(found);
    tk_free(other);
    return result;
}
