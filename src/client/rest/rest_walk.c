/* Walks the runs with the pager of runs, then sorts what their checkpoints are. */
#include "client/rest/rest_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "client/values/error.h"

#define FIRST_ROOM 16

static tinkc_code keep(tk_rest_walk *walk, tinkc_checkpoints *list, tk_err *err)
{
    if (walk->n + list->n > TK_WALK_MAX_CHECKPOINTS ||
        walk->lists_n == TK_WALK_MAX_RUNS) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "the server lists checkpoints only for one run at a time, and "
                          "has too many runs or checkpoints for that");
    }
    if (walk->lists_n == walk->lists_room) {
        size_t room = walk->lists_room > 0 ? walk->lists_room * 2 : FIRST_ROOM;
        tinkc_checkpoints **lists =
            tk_realloc_array(walk->lists, room, sizeof(*walk->lists));
        if (lists == NULL) {
            return tk_err_nomem(err);
        }
        walk->lists = lists;
        walk->lists_room = room;
    }
    walk->lists[walk->lists_n++] = list;
    walk->n += list->n;
    return TINKC_OK;
}

static tinkc_code ask_run(tk_rest_walk *walk, tinkc_service *service, const char *run,
                          tk_err *err)
{
    tinkc_checkpoints *list = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_rest_list_checkpoints_wait(&list, service, run, &error);
    if (code == TINKC_OK) {
        code = keep(walk, list, err);
        if (code != TINKC_OK) {
            tinkc_checkpoints_free(&list);
        }
    } else {
        tk_error_read(err, error);
    }
    tinkc_error_free(&error);
    return code;
}

/* The newest first; the same time: by path, so that every walk gives the same order. */
static int newest_first(const void *a, const void *b)
{
    const tinkc_checkpoint *x = *(const tinkc_checkpoint *const *)a;
    const tinkc_checkpoint *y = *(const tinkc_checkpoint *const *)b;
    if (x->time_us != y->time_us) {
        return x->time_us > y->time_us ? -1 : 1;
    }
    return strcmp(x->path != NULL ? x->path : "", y->path != NULL ? y->path : "");
}

static tinkc_code sort(tk_rest_walk *walk, tk_err *err)
{
    size_t n = 0;
    if (walk->n == 0) {
        return TINKC_OK;
    }
    walk->items = tk_realloc_array(NULL, walk->n, sizeof(*walk->items));
    if (walk->items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < walk->lists_n; i++) {
        for (size_t k = 0; k < walk->lists[i]->n; k++) {
            walk->items[n++] = &walk->lists[i]->items[k];
        }
    }
    qsort(walk->items, n, sizeof(const tinkc_checkpoint *), newest_first);
    return TINKC_OK;
}

tinkc_code tk_rest_walk_ask(tk_rest_walk *walk, tinkc_service *service, tk_err *err)
{
    tinkc_pager *runs = NULL;
    tinkc_error *error = NULL;
    const tinkc_run *run = NULL;
    tinkc_code code = tinkc_pager_runs(&runs, service, NULL, &error);
    while (code == TINKC_OK) {
        code = tinkc_pager_next_run(&run, runs, &error);
        if (code == TINKC_OK) {
            code = ask_run(walk, service, run->id, err);
        }
    }
    if (code == TINKC_E_MISSING && error != NULL) { /* the end of the runs */
        code = sort(walk, err);
    } else if (error != NULL) {
        tk_error_read(err, error);
    }
    tinkc_error_free(&error);
    tinkc_pager_close(&runs);
    return code;
}

void tk_rest_walk_dispose(tk_rest_walk *walk)
{
    for (size_t i = 0; i < walk->lists_n; i++) {
        tinkc_checkpoints_free(&walk->lists[i]);
    }
    tk_free(walk->lists);
    tk_free(walk->items);
    *walk = (tk_rest_walk){0};
}
