/* A training checkpoint as temporary external weights, for servers that have no archives:
 * it is loaded into a new model, exported, and the export is deleted in the end. Blocking:
 * not for the loop thread. */
#ifndef CLIENT_EXPORT_H
#define CLIENT_EXPORT_H

#include <tinkc/service.h>

#include "base/err.h"

#define TK_EXPORT_TTL_S 3600 /* as the official program's */

typedef struct tk_export {
    tinkc_service *service;
    bool (*tick)(void *user); /* while waiting; false: give up */
    void *user;
    tinkc_training *training; /* or NULL */
    char *path;               /* tinker://<run>/external_weights/..., owned; or NULL */
} tk_export;

/* Exports the checkpoint `path`; `e` has service, tick and user. On failure too
 * tk_export_end is called. */
TK_NODISCARD tinkc_code tk_export_make(tk_export *e, const char *path, tk_err *err);

/* Deletes the export, unloads the model. What cannot be deleted expires after an hour. */
void tk_export_end(tk_export *e);

#endif
