/* What download.c and download_external.c share: one download. On the thread that called
 * the library. */
#ifndef CLIENT_DOWNLOAD_INT_H
#define CLIENT_DOWNLOAD_INT_H

#include <tinkc/download.h>
#include <tinkc/weights.h>

#include "base/buf.h"
#include "base/err.h"
#include "client/transfer/fetch.h"

#define TK_DOWNLOAD_DIR_MODE 0777 /* as the umask allows */

typedef struct tk_download {
    tinkc_service *service;
    tinkc_download_options options;
    const char *from; /* checkpoint path or URL */
    tk_fetch *fetch;
    tinkc_progress progress;
    int connections;       /* of earlier starts */
    uint64_t before;       /* bytes of the files before this one */
    const char *external;  /* path of external weights; NULL: an archive or a URL */
    bool temporary;        /* they are an export of ours, which lives for an hour */
    tinkc_file_urls *urls; /* of their files, as they were answered last */
    const char *file;      /* of them, that is fetched */
    bool located;          /* its link was used */
} tk_download;

/* Reports the progress; false: the caller wants to stop. `user` is the download. */
bool tk_download_tell(void *user);

/* Waits until a future is done; cancels it when the caller wants to stop. */
void tk_download_wait(tk_download *d, tinkc_future *future);

/* Fails for a link of http that a server of https gave. */
TK_NODISCARD tinkc_code tk_download_check_scheme(const tk_download *d, const char *url,
                                                 tk_err *err);

/* Fetches the archive of the checkpoint and unpacks it into `folder`, which it makes. */
TK_NODISCARD tinkc_code tk_download_unpack(tk_download *d, const char *folder,
                                           tk_err *err);

/* Fetches one file, d->file of external weights or the URL d->from, to `file`. */
TK_NODISCARD tinkc_code tk_download_get_file(tk_download *d, const char *file,
                                             tk_err *err);

/* Finds the link of d->file, as tk_fetch_options.locate does; download_external.c. */
TK_NODISCARD tinkc_code tk_download_locate_file(void *user, tk_buf *url,
                                                int64_t *expires_us, tk_err *err);

/* Puts the files of the checkpoint into `folder`, which it makes, in the way that the
 * server has; download_external.c. */
TK_NODISCARD tinkc_code tk_download_fill(tk_download *d, const char *folder, tk_err *err);

#endif
