/* What the page of `tinkc console` shows: the runs of the files and those of a service, as
 * one list. Thread: any. */
#ifndef CLI_SHOWN_H
#define CLI_SHOWN_H

#include "cli/console/board.h"
#include "cli/console/remote.h"

typedef struct shown { /* both are borrowed */
    board *board;
    remote *remote;
} shown;

/* Functions of the console; `s` outlives them. */
con_data shown_data(shown *s);

#endif
