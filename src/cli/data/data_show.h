/* Shows what training data becomes: texts with the trained parts marked, counts of tokens,
 * and how long the examples are. Thread: the main one. */
#ifndef CLI_DATA_SHOW_H
#define CLI_DATA_SHOW_H

#include "cli/data/data_read.h"
#include "cli/frame/cmd_json.h"

/* What to show. */
typedef struct data_view {
    const data_set *set;
    const data_files *files;
    const tinkc_tokenizer *tokenizer; /* NULL: there are no tokens */
    size_t from, rows;                /* examples to show, from 0 */
} data_view;

/* Shows the examples, each with its place and the trained parts between {+ and +}; then
 * the summary. Returns the exit code. */
int data_show_text(const data_view *view);

/* Shows the same as one JSON object. */
int data_show_json(const data_view *view, const cmd_args *args);

#endif
