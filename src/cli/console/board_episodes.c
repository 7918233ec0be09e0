/* Rollouts as episodes: the list, and one of them as the gateway exports it.
 * Needs: server */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/console/board_int.h"

#define EPISODES_SHOWN ((size_t)100000) /* of all runs together */

void board_episode_id(char out[BOARD_ID_BYTES], const board *b, size_t run, size_t index)
{
    (void)snprintf(out, BOARD_ID_BYTES, "%.64s %zu.%zu", b->runs[run]->name, run, index);
}

/* The runs, first the one whose rollouts grew last. NULL when memory ran out. */
static const size_t *order_runs(const board *b, tk_arena *arena)
{
    size_t *order = tk_arena_array(arena, b->n_runs + 1, sizeof(*order));
    for (size_t i = 0; i < b->n_runs && order != NULL; i++) {
        int64_t grew_ms = b->runs[i]->rollouts.mtime_ms;
        size_t at = i;
        while (at > 0 && b->runs[order[at - 1]]->rollouts.mtime_ms < grew_ms) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return order;
}

/* Newest first: the last lines of the run whose file changed last. */
tinkc_code board_show_episodes(void *user, con_episodes *out, tk_arena *arena,
                               tk_err *err)
{
    board *b = user;
    size_t n = 0, at = 0;
    tk_mutex_lock(&b->lock);
    for (size_t i = 0; i < b->n_runs; i++) {
        n += b->runs[i]->n_episodes;
    }
    n = TK_MIN(n, EPISODES_SHOWN);
    con_episode *all = tk_arena_array(arena, n + 1, sizeof(*all));
    const size_t *order = order_runs(b, arena);
    bool ok = all != NULL && order != NULL;
    for (size_t i = 0; i < b->n_runs && ok; i++) {
        const board_run *run = b->runs[order[i]];
        for (size_t k = run->n_episodes; k > 0 && at < n && ok; k--) {
            const board_episode *e = &run->episodes[k - 1];
            char id[BOARD_ID_BYTES];
            board_episode_id(id, b, order[i], k - 1);
            all[at] = (con_episode){.turns = e->turns,
                                    .used_ms = run->rollouts.mtime_ms,
                                    .reward = e->reward};
            ok = tk_arena_dup(arena, &all[at++].id, id, strlen(id));
        }
    }
    *out = (con_episodes){.p = all, .n = ok ? at : 0};
    tk_mutex_unlock(&b->lock);
    return ok ? TINKC_OK : tk_err_nomem(err);
}

/* Finds the line of an id, and copies what is needed to read it. */
static bool find(board *b, char **path, board_episode *out, tk_str id)
{
    uint64_t i = 0, k = 0;
    size_t from = id.n;
    while (from > 0 && id.p[from - 1] != ' ') {
        from--;
    }
    tk_str line = {id.p + from, id.n - from};
    tk_str run = tk_str_cut(&line, '.');
    bool found = line.p != NULL && tk_str_to_u64(run, &i) && tk_str_to_u64(line, &k);
    tk_mutex_lock(&b->lock);
    found = found && i < b->n_runs && k < b->runs[i]->n_episodes;
    if (found) {
        *out = b->runs[i]->episodes[k];
        *path = tk_strdup(b->runs[i]->rollouts_path);
    }
    tk_mutex_unlock(&b->lock);
    return found;
}

static void put_member(tk_json_writer *w, const tk_json *line, const char *from,
                       const char *to)
{
    const tk_json *value = tk_json_get(line, from);
    if (value != NULL) {
        tk_json_key(w, tk_str_of(to));
        tk_json_put_value(w, value);
    }
}

/* The line as an export: what else it says is the metadata. */
static tinkc_code put_line(tk_buf *out, tk_str id, const tk_json *line, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("id"));
    tk_json_put_str(&w, id);
    put_member(&w, line, "reward", "reward");
    tk_json_key(&w, TK_STR("metadata"));
    tk_json_begin_object(&w);
    put_member(&w, line, "episode", "episode");
    put_member(&w, line, "step", "step");
    put_member(&w, line, "end", "end");
    put_member(&w, line, "task", "task");
    put_member(&w, line, "stderr", "stderr");
    tk_json_end_object(&w);
    put_member(&w, line, "turns", "turns");
    put_member(&w, line, "sequences", "sequences");
    put_member(&w, line, "texts", "texts");
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}

tinkc_code board_episode_json(board *b, tk_buf *out, tk_str id, tk_err *err)
{
    char *path = NULL, *text = NULL;
    board_episode e = {.bytes = 0};
    const tk_json *line = NULL;
    tk_arena arena;
    if (!find(b, &path, &e, id)) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no such episode");
    }
    tk_arena_init(&arena, 0);
    tinkc_code code = path == NULL ? tk_err_nomem(err)
                                   : board_lines_at(&text, path, e.offset, e.bytes, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_json_parse(&line, &arena, text, e.bytes, TK_JSON_AS_WRITTEN, err);
    if (code == TINKC_OK) {
        code = put_line(out, id, line, err);
    }
out:
    tk_arena_dispose(&arena);
    tk_free(text);
    tk_free(path);
    return code;
}
