/* One run of `tinkc console`: the metrics file of `tinkc train` or `tinkc rl`, and the
 * rollouts beside it, read as they grow. Memory is bounded by the limits below; what goes
 * beyond them is not read. Thread: under the lock of the board. */
#ifndef CLI_BOARD_RUN_H
#define CLI_BOARD_RUN_H

#include "base/json.h"
#include "cli/console/board_lines.h"
#include "console/con_data.h"

#define BOARD_NAME_BYTES   64
#define BOARD_METRICS_MAX  256
#define BOARD_VALUES_MAX   ((size_t)8 << 20) /* of all metrics of a run */
#define BOARD_EPISODES_MAX ((size_t)1 << 20)

typedef struct board_value {
    int64_t step, time_ms, tokens;
    double value;
} board_value;

typedef struct board_series {
    char name[BOARD_NAME_BYTES];
    board_value *p;
    size_t n, capacity;
    double min, max;
} board_series;

typedef struct board_episode { /* a line of the rollouts */
    uint64_t offset;
    uint32_t bytes;
    int32_t turns;
    int64_t step;
    double reward; /* NAN: none */
} board_episode;

typedef struct board_run {
    char *id, *name; /* path of the metrics, "/" as ":"; what people see */
    char *metrics_path, *rollouts_path; /* the second may be NULL */
    board_lines metrics, rollouts;
    board_series *series; /* BOARD_METRICS_MAX */
    size_t n_series, n_values;
    double seconds; /* of all steps so far */
    int64_t tokens, step, began_ms;
    board_episode *episodes;
    size_t n_episodes, episode_capacity;
    bool is_full;   /* a limit was reached */
    con_state told; /* the state that the page was told last */
} board_run;

/* Owned by the caller. NULL when memory ran out. */
board_run *board_run_new(const char *metrics, const char *rollouts);
void board_run_free(board_run *run);

typedef struct board_news {
    void (*step)(void *user, const board_run *run, const tk_json *line);
    void (*episode)(void *user, const board_run *run, size_t index);
    void *user;
} board_news;

/* Reads what was added, and tells of each line. A run that began again is empty before. */
TK_NODISCARD tinkc_code board_run_read(board_run *run, const board_news *news,
                                       tk_err *err);

const board_series *board_run_find(const board_run *run, tk_str name);

#endif
