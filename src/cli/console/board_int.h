/* What the files of the board share. */
#ifndef CLI_BOARD_INT_H
#define CLI_BOARD_INT_H

#include "base/err.h"
#include "base/thread.h"
#include "cli/console/board.h"
#include "cli/console/board_run.h"

typedef struct board_trouble {
    int64_t time_ms;
    char text[TK_ERR_MESSAGE_BYTES];
} board_trouble;

struct board {
    const char *const *paths; /* of the command line */
    size_t n_paths;
    int64_t started_ms;
    tk_mutex lock; /* guards everything below */
    tk_cond wake;
    board_run **runs; /* BOARD_RUNS_MAX */
    size_t n_runs;
    board_trouble troubles[CON_ERRORS_MAX]; /* the newest first */
    size_t n_troubles;
    con *console; /* NULL until the start */
    bool is_stopping, has_thread;
    tk_thread thread;
};

/* Functions of con_data (shown.c); `user` is the board. */
tinkc_code board_show_runs(void *user, con_runs *out, tk_arena *arena,
                           const con_runs_query *query, tk_err *err);
tinkc_code board_show_run(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                          tk_err *err);
tinkc_code board_show_series(void *user, con_series_list *out, tk_arena *arena,
                             const con_series_query *query, tk_err *err);
tinkc_code board_show_episodes(void *user, con_episodes *out, tk_arena *arena,
                               tk_err *err);
tinkc_code board_show_server(void *user, con_server *out, tk_arena *arena, tk_err *err);

/* The state of a run: it trains when its file grew within the last minute. */
con_state board_state(const board_run *run);

/* Writes the id of an episode: name of the run, number of the run, number of the line. */
#define BOARD_ID_BYTES 128
void board_episode_id(char out[BOARD_ID_BYTES], const board *b, size_t run, size_t index);

#endif
