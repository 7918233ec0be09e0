/* Shared by the steps of a push: what it is about, and what is known so far. The thread
 * of the call. */
#ifndef CLIENT_PUSH_INT_H
#define CLIENT_PUSH_INT_H

#include <tinkc/push.h>

#include "client/hub/hub.h"
#include "client/hub/hub_call.h"
#include "client/hub/push_card.h"
#include "client/hub/push_files.h"
#include "client/hub/push_name.h"
#include "client/transfer/staging.h"

#define TK_PUSH_REPO_BYTES (2 * TK_PUSH_NAME_MAX + 2)

typedef struct tk_push {
    tinkc_service *service;
    tinkc_push_options options;
    const char *path;
    tk_push_source source;
    char *hub_url, *token;
    tk_hub_pass pass;
    tk_hub_peer peer; /* its tick tells the progress */
    tinkc_push_progress progress;
    bool is_stopped;                 /* the callback ended it, and is not run again */
    char user[TK_PUSH_NAME_MAX + 1]; /* whose token it is */
    tk_staging stage;                /* the private directory */
    char *folder;                    /* the checkpoint in it */
    tinkc_weights_info *info;        /* NULL: the server does not say */
    tk_push_facts facts;
    char repo[TK_PUSH_REPO_BYTES];           /* with its owner */
    char revision[TK_PUSH_REVISION_MAX + 1]; /* "main" when there is none */
    tk_push_files files;
    char *commit_url, *pr_url;
    size_t committed;
    uint64_t uploaded;
} tk_push;

/* Begins a stage: TINKC_E_CANCELLED when the callback says so. */
TK_NODISCARD tinkc_code tk_push_begin(tk_push *push, tinkc_push_stage stage, tk_err *err);

/* "<hub>/<...>": the text is the buffer's. NULL when that failed. */
const char *tk_push_url(tk_buf *url, const tk_push *push, const char *format, ...)
    TK_PRINTF(3, 4);

/* ---- push_repo.c ---- */

/* Fills `user`: TINKC_E_AUTH when the hub does not know the token. */
TK_NODISCARD tinkc_code tk_push_login(tk_push *push, tk_err *err);

/* The repository is there, holds no other checkpoint, and has the branch. */
TK_NODISCARD tinkc_code tk_push_open_repo(tk_push *push, tk_err *err);

/* ---- push_local.c ---- */

/* Downloads into the private directory. */
TK_NODISCARD tinkc_code tk_push_download(tk_push *push, tk_err *err);

/* Checks what came, completes it, names it: fills facts, repo, revision and files. */
TK_NODISCARD tinkc_code tk_push_prepare(tk_push *push, tk_err *err);

/* ---- push_lfs.c ---- */

/* Sends the large files that are not left out to where the hub wants them. */
TK_NODISCARD tinkc_code tk_push_store(tk_push *push, tk_err *err);

/* ---- push_commit.c ---- */

/* Asks which files are large, and which the hub has or does not want. */
TK_NODISCARD tinkc_code tk_push_sort(tk_push *push, tk_err *err);

/* Makes the commit; none when nothing is left for it. */
TK_NODISCARD tinkc_code tk_push_commit(tk_push *push, tk_err *err);

#endif
