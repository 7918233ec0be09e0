/* What `tinkc console` shows: the runs whose files were named on the command line, or are in
 * directories that were, as functions of the console (con_data.h). A thread looks at the files
 * once a second and tells the console what is new. Thread: any. */
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "console/con.h"

#define BOARD_RUNS_MAX 1000

typedef struct board board;

/* Reads the files that `paths` names (borrowed, n of them): files of metrics, directories of
 * runs, and directories with such in them. TINKC_E_MISSING, TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code board_new(board **out, const char *const *paths, size_t n,
                                  tk_err *err);

/* Tells the console of changes from now on. The console outlives board_stop. */
TK_NODISCARD tinkc_code board_start(board *b, con *console, tk_err *err);
void board_stop(board *b);

/* Writes one episode as the gateway exports it (docs/internals/gateway.md). TINKC_E_MISSING. */
TK_NODISCARD tinkc_code board_episode_json(board *b, tk_buf *out, tk_str id, tk_err *err);

/* Accepts NULL. */
void board_free(board *b);

/* Whether the text has the part, without regard to case (ASCII); "" is in every text. */
bool board_contains(tk_str text, tk_str part);

#endif
