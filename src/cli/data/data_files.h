/* The files that a command line names: patterns are replaced by the files that they match,
 * for shells that do not do that and for patterns in quotes. Thread: one. */
#ifndef CLI_DATA_FILES_H
#define CLI_DATA_FILES_H

#include "base/err.h"
#include "cli/data/data_load.h"

typedef struct data_files {
    char **paths;     /* owned */
    data_file *found; /* owned: what was found in each, once they are read */
    size_t n, capacity;
} data_files;

/* Adds what one word of the command line names: "-", a file, or a pattern with *, ? or
 * [...], whose matches are added in the order of their bytes. TINKC_E_MISSING: a pattern
 * matches nothing; TINKC_E_LIMIT: too many files; TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_files_add(data_files *files, const char *word, tk_err *err);

/* Accepts a zeroed list. */
void data_files_dispose(data_files *files);

#endif
