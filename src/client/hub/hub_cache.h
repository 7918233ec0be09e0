/* The cache of Hugging Face's programs on this machine, and what may be a part of its
 * paths:
 *
 *   <cache>/models--<org>--<name>/refs/<revision>             the commit of a branch
 *                                 snapshots/<commit>/<file>   links to
 *                                 blobs/<digest>
 *
 * Reads files, writes nothing. Thread: any. */
#ifndef CLIENT_HUB_CACHE_H
#define CLIENT_HUB_CACHE_H

#include "base/buf.h"
#include "base/env.h"
#include "base/err.h"

#define TK_HUB_PATH_BYTES (8 * TK_KIB)

/* The cache's directory: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE or "hub" in the directory of
 * Hugging Face's programs; *out is NULL when no variable names one. `env` NULL: the
 * process's own. The caller frees it. */
TK_NODISCARD tinkc_code tk_hub_cache_find(char **out, const tk_env *env, tk_err *err);

/* Appends "/models--org--name". */
void tk_hub_cache_put_folder(tk_buf *out, const char *id);

/* The directory of a revision in `folder` (a models--... directory), or NULL with TINKC_OK
 * when it is a branch that the cache does not know. Whether the directory is there is not
 * looked at. The caller frees it. */
TK_NODISCARD tinkc_code tk_hub_cache_snapshot(char **out, const char *folder,
                                              const char *revision, tk_err *err);

bool tk_hub_cache_is_commit(const char *text); /* 40 hex digits */

/* Up to `most` parts between slashes, each of letters, digits, "-", "_" and ".", none
 * that leads out of a directory. */
bool tk_hub_cache_is_path(tk_str text, size_t most);

/* "org/name" or "name", as the hub allows them. */
bool tk_hub_cache_is_id(tk_str id);

#endif
