/* A directory beside a target in which something is made before it is renamed into its
 * place: "<name>.tinkc-part-XXXXXX". Its maker holds a lock on it as long as it lives,
 * so that directories of a crashed program can be distinguished from those in use, by
 * any thread or process. Blocking: not for the loop thread. Thread: any; one thread at
 * a time for one directory. */
#ifndef CLIENT_STAGING_H
#define CLIENT_STAGING_H

#include "base/err.h"

typedef struct tk_staging {
    char *path; /* NULL: none */
    int lock;   /* descriptor of the directory, which holds the lock */
} tk_staging;

/* A new, empty one for the target `name` in `parent`, which must be there. On failure
 * nothing is left. TINKC_E_NOMEM, TINKC_E_IO. */
TK_NODISCARD tinkc_code tk_staging_make(tk_staging *out, const char *parent,
                                        const char *name, tk_err *err);

/* Removes those of the same target whose maker has ended, as far as it can. One that
 * holds an entry `keep` stays; NULL: none does. */
void tk_staging_sweep(const char *parent, const char *name, const char *keep);

/* Ends it; a zeroed one is fine. With `remove` and all that is in it, else as it is. */
void tk_staging_end(tk_staging *stage, bool remove);

/* Removes a file, or a directory with all that is in it; follows no links. */
void tk_staging_remove_tree(const char *path);

#endif
