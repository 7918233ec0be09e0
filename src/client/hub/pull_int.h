/* What the files of a pull share. Thread: the one that called. */
#ifndef CLIENT_PULL_INT_H
#define CLIENT_PULL_INT_H

#include <tinkc/pull.h>

#include "client/hub/hub.h"
#include "client/hub/hub_call.h"

#define TK_PULL_FILES_MAX  4096
#define TK_PULL_BYTES_MAX  ((int64_t)1 << 44) /* of one model: 16 TiB */
#define TK_PULL_NAME_BYTES 256

typedef struct tk_pull_file {
    char name[TK_PULL_NAME_BYTES]; /* a plain word: safe in paths and URLs */
    char digest[65];               /* hex: its name among the blobs */
    bool has_sha256;               /* that is its SHA-256 */
    int64_t size;
} tk_pull_file;

typedef struct tk_pull {
    tinkc_pull_options options;
    tinkc_service *service; /* borrowed, or `own` */
    tinkc_service *own;
    char id[256], revision[128];
    char commit[41];
    char *hub_url, *token;
    tk_hub_pass pass;
    tk_hub_peer peer;
    tk_pull_file *files; /* owned */
    size_t n_files;
    char *folder;   /* models--...; NULL with options.directory */
    char *snapshot; /* where the files go */
    struct tk_fetch *fetch;
    uint64_t before; /* bytes of the files that are complete */
    tinkc_pull_progress progress;
    bool is_stopped;
} tk_pull;

/* Asks the hub for commit and files (pull_list.c). */
TK_NODISCARD tinkc_code tk_pull_list(tk_pull *pull, tk_err *err);

/* Brings one file into its place (pull_file.c). */
TK_NODISCARD tinkc_code tk_pull_get(tk_pull *pull, const tk_pull_file *file, tk_err *err);

/* Gives how many bytes of the file are here. */
TK_NODISCARD tinkc_code tk_pull_have(int64_t *out, const tk_pull *pull,
                                     const tk_pull_file *file, tk_err *err);

/* Tells the progress; false: the caller wants to stop. */
bool tk_pull_tell(void *user);

#endif
